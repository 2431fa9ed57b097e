"""Cross-fitted nuisances: rows never predicted by a model that saw them, and stacked models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from contracts import (
    KnownScore,
    assert_close,
    each_container,
    make_people,
    mixed_columns,
    rows_of,
)
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway.core import SquaredError
from unsway.effects.nuisance import MIN_LEVEL_ROWS, CrossFit, Nuisances
from unsway.folds import fold_numbers
from unsway.outcome import Outcome
from unsway.tables import take


class Seen(RegressorMixin, BaseEstimator):
    """Predicts for each row (told by the first column) how often it was trained on."""

    def fit(self, X, y):
        self.rows_ = np.bincount(X[:, 0].astype(int), minlength=10_000)
        return self

    def predict(self, X):
        return self.rows_[X[:, 0].astype(int)].astype(float)


def cross_fit(people, weights=None, **options):
    chosen = {"propensity_model": LogisticRegression(), "outcome_model": LogisticRegression()}
    return CrossFit.of(people.checked(weights), **{**chosen, **options})


def rows_of_numbers(X, y, z):
    """Return rows whose outcome is a number, not a label."""
    return replace(rows_of(X, y, z), outcome=Outcome(values=y, loss=SquaredError()))


PEOPLE = make_people(200)


# --- nuisances -----------------------------------------------------------------------------------


def test_effect_and_mean_follow_from_the_outcome_means():
    found = Nuisances(np.array([0.25, 0.5]), np.array([[0.1, 0.5], [0.2, 0.1]]))
    assert_close(found.effect, [0.4, -0.1], 1e-15)
    assert_close(found.mean, [0.1 + 0.25 * 0.4, 0.15], 1e-15)


def test_cross_fitting_is_what_a_loop_over_the_folds_gives():
    X, y, z = PEOPLE.X, PEOPLE.y, PEOPLE.z
    found = cross_fit(PEOPLE, cv=3, seed=4).fit()
    folds = fold_numbers(X, z, 3, 4)
    for fold in range(3):
        train, test = folds != fold, folds == fold
        b = LogisticRegression().fit(X[train], z[train]).predict_proba(X[test])[:, 1]
        assert_close(found.propensity[test], b, 1e-12)
        for level in (0, 1):
            own = train & (z == level)
            mu = LogisticRegression().fit(X[own], y[own]).predict_proba(X[test])[:, 1]
            assert_close(found.outcome[test, level], mu, 1e-12)


def test_one_fold_predicts_the_rows_it_saw():
    found = cross_fit(PEOPLE, cv=1).fit()
    model = LogisticRegression().fit(PEOPLE.X, PEOPLE.z)
    assert_close(found.propensity, model.predict_proba(PEOPLE.X)[:, 1], 1e-12)


def test_weights_reach_every_model():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rows = PEOPLE.checked(PEOPLE.weights)
    found = CrossFit.of(rows, propensity_model=model, outcome_model=model, cv=1).fit()
    for level in (0, 1):
        own = PEOPLE.z == level
        twin = make_pipeline(StandardScaler(), LogisticRegression())
        twin.fit(
            PEOPLE.X[own], PEOPLE.y[own], logisticregression__sample_weight=PEOPLE.weights[own]
        )
        assert_close(found.outcome[:, level], twin.predict_proba(PEOPLE.X)[:, 1], 1e-12)


@pytest.mark.parametrize("resampled", [False, True])
def test_no_model_predicts_a_row_it_was_trained_on(resampled):
    z = np.tile([0.0, 1.0], 60)
    X = np.arange(120.0)[:, None]
    rows = np.random.default_rng(0).integers(0, 120, 120) if resampled else np.arange(120)
    fitter = CrossFit.of(
        rows_of_numbers(X, z, z), propensity_model=Seen(), outcome_model=Seen(), cv=4
    )
    found = fitter.fit(rows)
    assert found.outcome.shape == (120, 2)
    assert not found.outcome.any()
    assert found.n_clipped == 120


def test_with_one_fold_every_row_was_seen_as_often_as_it_occurs():
    z = np.tile([0.0, 1.0], 60)
    rows = np.random.default_rng(0).integers(0, 120, 120)
    given = rows_of_numbers(np.arange(120.0)[:, None], z, z)
    fitter = CrossFit.of(given, propensity_model=Seen(), cv=1, outcome_model=Seen())
    found = fitter.fit(rows)
    seen = np.bincount(rows, minlength=120)[rows]
    assert_close(found.outcome[:, 0], np.where(z[rows] == 0, seen, 0), 1e-15)
    assert_close(found.outcome[:, 1], np.where(z[rows] == 1, seen, 0), 1e-15)


def test_a_replicate_is_fitted_on_the_rows_drawn():
    rows = np.random.default_rng(1).integers(0, 200, 200)
    found = cross_fit(PEOPLE, cv=1).fit(rows)
    model = LogisticRegression().fit(PEOPLE.X[rows], PEOPLE.z[rows])
    assert_close(found.propensity, model.predict_proba(PEOPLE.X[rows])[:, 1], 1e-12)


def test_propensities_are_clipped_and_the_clipped_are_counted():
    separated = make_people(200, separation=8.0)
    free = cross_fit(separated, clip=1e-12).fit()
    found = cross_fit(separated, clip=0.1).fit()
    outside = (free.propensity < 0.1) | (free.propensity > 0.9)
    assert found.n_clipped == outside.sum() > 0
    assert_close(found.propensity, np.clip(free.propensity, 0.1, 0.9), 1e-12)


def test_a_propensity_of_exactly_zero_or_one_is_clipped_and_counted():
    X = PEOPLE.X.copy()
    X[:5, 0], X[5:8, 0] = 0, 1
    rows = rows_of(X, PEOPLE.y, PEOPLE.z)
    found = CrossFit.of(rows, propensity_model=KnownScore(), needs_outcome=False, clip=1e-3).fit()
    assert found.n_clipped == 8
    assert found.propensity[:8].tolist() == [0.001] * 5 + [0.999] * 3
    assert_close(found.propensity[8:], X[8:, 0], 1e-15)


def test_without_outcome_models_the_outcome_means_are_missing():
    found = cross_fit(PEOPLE, needs_outcome=False).fit()
    assert np.isnan(found.outcome).all()
    assert found.shares["outcome z=0"] == ()


def test_folds_follow_their_rows_in_whatever_order_these_come():
    order = np.random.default_rng(2).permutation(200)
    found = cross_fit(PEOPLE).fit()
    moved = PEOPLE.rows(order)
    other = cross_fit(moved).fit()
    assert_close(other.propensity, found.propensity[order], 1e-6)
    assert_close(other.outcome, found.outcome[order], 1e-6)


def test_a_user_who_routes_metadata_is_not_disturbed():
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_fit(PEOPLE, PEOPLE.weights, cv=1).fit()
    expected = cross_fit(PEOPLE, PEOPLE.weights, cv=1).fit()
    assert_close(found.propensity, expected.propensity, 1e-15)


# --- other rows ----------------------------------------------------------------------------------


def test_other_rows_are_predicted_by_the_mean_of_the_folds_models():
    fitter = cross_fit(PEOPLE, cv=3, clip=1e-9)
    _, models = fitter.fit_models()
    new = make_people(30, seed=5)
    parts = [
        LogisticRegression().fit(PEOPLE.X[train], PEOPLE.z[train]).predict_proba(new.X)[:, 1]
        for train in (fitter.folds != fold for fold in range(3))
    ]
    found = models.predict(new.X)
    assert_close(found.propensity, np.mean(parts, axis=0), 1e-12)
    assert found.outcome.shape == (30, 2)


@each_container
def test_default_models_predict_other_rows_of_the_same_kind_of_table(container):
    columns, z = mixed_columns()
    table = container(columns)
    _, models = CrossFit.of(rows_of(table, np.tile([0, 1, 1], 80), z), cv=2).fit_models()
    whole = models.predict(table)
    part = models.predict(take(table, np.arange(7)))
    assert_close(part.propensity, whole.propensity[:7], 1e-12)
    assert_close(part.outcome, whole.outcome[:7], 1e-12)
    assert np.ptp(whole.propensity) > 0.2


# --- models --------------------------------------------------------------------------------------


@each_container
def test_default_learners_take_numbers_categories_and_holes(container):
    columns, z = mixed_columns()
    y = np.tile([0.0, 1.0, 1.0], 80)
    found = CrossFit.of(rows_of(container(columns), y, z), cv=2).fit()
    assert ((found.propensity > 0) & (found.propensity < 1)).all()
    assert ((found.outcome > 0) & (found.outcome < 1)).all()
    assert len(found.shares["propensity"]) == 2


@pytest.mark.parametrize("binary", [True, False])
def test_a_column_known_for_one_row_alone_is_no_obstacle(binary):
    rare = np.full(200, np.nan)
    rare[17] = 5.0
    X = np.column_stack([PEOPLE.X, rare])
    rows = (rows_of if binary else rows_of_numbers)(X, PEOPLE.y, PEOPLE.z)
    found = CrossFit.of(rows, cv=2).fit()
    assert np.isfinite(found.outcome).all()


def test_a_regressor_may_stand_for_the_propensity():
    found = cross_fit(PEOPLE, propensity_model=LinearRegression(), cv=1, clip=0.01)
    model = LinearRegression().fit(PEOPLE.X, PEOPLE.z)
    expected = np.clip(model.predict(PEOPLE.X), 0.01, 0.99)
    assert_close(found.fit().propensity, expected, 1e-12)


def test_stacked_models_predict_with_their_shares():
    models = [LogisticRegression(), DummyClassifier(strategy="prior")]
    fitter = cross_fit(PEOPLE, propensity_model=models, cv=3)
    found = fitter.fit()
    parts = [cross_fit(PEOPLE, propensity_model=model, cv=3).fit().propensity for model in models]
    shares = found.shares["propensity"]
    assert sum(shares) == pytest.approx(1)
    assert shares[0] > 0.8
    assert_close(found.propensity, shares[0] * parts[0] + shares[1] * parts[1], 1e-12)


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 0}, "cv must be an integer of at least 1; got 0"),
        ({"cv": 2.5}, "cv must be an integer of at least 1; got 2.5"),
        ({"clip": 0}, "clip must be a finite number above 0 and below 0.5; got 0"),
        ({"clip": 0.5}, "clip must be a finite number above 0 and below 0.5"),
        ({"clip": np.nan}, "clip must be a finite number above 0 and below 0.5"),
        ({"seed": -1}, "random_state must be an integer of at least 0; got -1"),
        ({"seed": None}, "random_state must be an integer of at least 0; got None"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cross_fit(PEOPLE, **options)


@pytest.mark.parametrize("role", ["propensity_model", "outcome_model"])
def test_one_fold_cannot_choose_between_models(role):
    with pytest.raises(ValueError, match="cv=1 predicts the rows a model was trained on"):
        cross_fit(PEOPLE, cv=1, **{role: [LogisticRegression(), LogisticRegression(C=2)]})
    with pytest.raises(ValueError, match="cv=1 predicts the rows a model was trained on"):
        cross_fit(PEOPLE, cv=1, **{role: None})


def test_a_level_with_too_few_rows_is_refused_by_its_number():
    z = (np.arange(200) < MIN_LEVEL_ROWS - 1).astype(float)
    for sensitive in (z, 1 - z):
        with pytest.raises(ValueError, match="a sensitive level has 19 rows; at least 20"):
            CrossFit.of(rows_of(PEOPLE.X, PEOPLE.y, sensitive))
    with pytest.raises(ValueError, match=r"has 19 rows; at least 24 are needed .* with cv=12"):
        CrossFit.of(rows_of(PEOPLE.X, PEOPLE.y, z), cv=12)


def test_rows_without_weight_do_not_count_for_a_level():
    weights = np.where((PEOPLE.z == 1) & (np.cumsum(PEOPLE.z) > 5), 0.0, 1.0)
    with pytest.raises(ValueError, match="a sensitive level has 5 rows; at least 20"):
        cross_fit(PEOPLE, weights=weights)


def test_infinity_is_refused_by_the_name_of_its_column_whatever_the_models():
    X = PEOPLE.X.copy()
    X[3, 1] = np.inf
    model = HistGradientBoostingClassifier()
    rows = rows_of(X, PEOPLE.y, PEOPLE.z)
    for chosen in (None, model):
        with pytest.raises(ValueError, match="X contains infinity in 'column 1'"):
            CrossFit.of(rows, propensity_model=chosen, outcome_model=chosen)


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="X has no column; at least one covariate is needed"):
        CrossFit.of(rows_of(PEOPLE.X[:, :0], PEOPLE.y, PEOPLE.z))


def test_an_outcome_of_any_scale_is_predicted_in_its_scale():
    found = CrossFit.of(
        rows_of_numbers(PEOPLE.X, 1000 + PEOPLE.y, PEOPLE.z),
        cv=2,
        propensity_model=LogisticRegression(),
        outcome_model=DummyRegressor(),
    ).fit()
    assert ((found.outcome >= 1000) & (found.outcome <= 1001)).all()
