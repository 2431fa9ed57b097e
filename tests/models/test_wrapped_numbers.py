"""Fair targets and averages over z for any regressor of counts and amounts."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from amounts import POWERS, each_log_link, each_loss, people
from contracts import mixed_columns
from scikit_learn_contract import CHECKED_NUMBERS, MakesUpSensitive, checks_of
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.metrics import d2_tweedie_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import FairTarget, FairTargetRegressor, MarginalizedRegressor
from unsway.effects import nuisance

BOTH = (FairTargetRegressor, MarginalizedRegressor)
each_wrapper = pytest.mark.parametrize("wrapper", BOTH)


class TargetsWithSensitive(MakesUpSensitive, FairTargetRegressor):
    pass


class MarginalizedWithSensitive(MakesUpSensitive, MarginalizedRegressor):
    pass


class TestCheck:
    """scikit-learn's own checks."""

    @pytest.mark.parametrize(
        ("estimator", "check"),
        [
            *checks_of(
                TargetsWithSensitive(LinearRegression(), criterion=CHECKED_NUMBERS), "fair target-"
            ),
            *checks_of(MarginalizedWithSensitive(LinearRegression()), "averaged-"),
        ],
    )
    def test_the_estimator_passes_scikit_learns_check(self, estimator, check, monkeypatch):
        monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
        check(estimator)


def generalised_linear(loss):
    options = {"alpha": 0, "solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1_000}
    return {
        "squared_error": lambda: LinearRegression(),
        "poisson": lambda: PoissonRegressor(**options),
        "gamma": lambda: GammaRegressor(**options),
        "tweedie": lambda: TweedieRegressor(power=1.5, link="log", **options),
    }[loss]()


def fair_means(X):
    return np.exp(X @ [0.4, -0.3]) * (1 + np.exp(0.4)) / 2


@each_wrapper
@each_loss
def test_it_comes_closer_to_the_fair_means_than_the_estimator_alone(wrapper, loss):
    X, y, z, exposure = people(loss, 8_000)
    e = None if loss == "squared_error" else exposure
    rates = y if e is None else y / e
    model = wrapper(generalised_linear(loss), loss=loss, rebalance=False)
    model.fit(X, y, sensitive_features=z, exposure=e)
    alone = generalised_linear(loss).fit(X, rates, sample_weight=e)
    error, plain = (
        np.sqrt(np.mean((each.predict(X) - fair_means(X)) ** 2)) for each in (model, alone)
    )
    assert error < 0.7 * plain


@each_loss
@pytest.mark.filterwarnings("ignore:y has .* counts that are not whole")
def test_at_strength_0_the_estimator_is_fitted_on_y_as_given(loss):
    X, y, z, exposure = people(loss, unit=1e3)
    model = FairTargetRegressor(generalised_linear(loss), loss=loss, strength=0)
    model.fit(X, y, sensitive_features=z, exposure=exposure)
    alone = generalised_linear(loss).fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.balance_ is None


def test_one_model_is_averaged_over_both_values_of_its_last_column():
    X, y, z, _ = people("squared_error")
    model = MarginalizedRegressor(LinearRegression(), weights=(0.3, 0.7))
    model.fit(X, y, sensitive_features=z)
    alone = LinearRegression().fit(np.column_stack([X, z]), y)
    zero, one = (alone.predict(np.column_stack([X, np.full(len(X), k)])) for k in (0, 1))
    np.testing.assert_allclose(model.predict(X), 0.3 * zero + 0.7 * one)


def test_separate_models_are_averaged():
    X, y, z, exposure = people("poisson")
    model = MarginalizedRegressor(
        generalised_linear("poisson"), loss="poisson", learner="separate", rebalance=False
    ).fit(X, y, sensitive_features=z, exposure=exposure)
    rates, levels = y / exposure, [np.flatnonzero(z == level) for level in (0, 1)]
    means = [
        generalised_linear("poisson")
        .fit(X[rows], rates[rows], sample_weight=exposure[rows])
        .predict(X)
        for rows in levels
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(means, axis=0))
    assert len(model.estimators_) == 2


@each_wrapper
@each_log_link
def test_the_total_is_kept_by_default(wrapper, loss):
    X, y, z, exposure = people(loss)
    model = wrapper(loss=loss).fit(X, y, sensitive_features=z, exposure=exposure)
    assert model.predict(X, exposure=exposure).sum() == pytest.approx(y.sum())
    assert model.balance_ != pytest.approx(1, abs=1e-4)


@each_wrapper
def test_the_mean_of_numbers_is_kept_where_it_is_asked_for(wrapper):
    X, y, z, _ = people("squared_error")
    model = wrapper(rebalance=True).fit(X, y, sensitive_features=z)
    assert model.predict(X).mean() == pytest.approx(y.mean())
    assert wrapper().fit(X, y, sensitive_features=z).balance_ is None


@each_wrapper
def test_an_exposure_is_a_weight_of_rates(wrapper):
    X, y, z, exposure = people("poisson")
    model = wrapper(generalised_linear("poisson"), loss="poisson")
    counts = clone(model).fit(X, y, sensitive_features=z, exposure=exposure)
    rates = model.fit(X, y / exposure, sensitive_features=z, sample_weight=exposure)
    np.testing.assert_allclose(counts.predict(X), rates.predict(X))
    np.testing.assert_allclose(counts.predict(X, exposure=exposure), exposure * rates.predict(X))


@each_log_link
def test_targets_of_counts_and_amounts_are_not_negative_by_default(loss):
    seen = []

    class Looks(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(y.min())
            return super().fit(X, y, sample_weight)

    X, y, z, exposure = people(loss)
    y = y + (loss == "gamma")
    for criterion in (None, FairTarget(multiplicative=False)):
        model = FairTargetRegressor(Looks(), loss=loss, criterion=criterion)
        model.fit(X, y, sensitive_features=z, exposure=exposure)
    assert seen[0] >= 0
    assert seen[1] < 0 or loss == "gamma"


def test_half_the_strength_leaves_a_larger_gap():
    X, y, z, _ = people("poisson")
    whole = FairTargetRegressor(generalised_linear("poisson"), loss="poisson")
    model = clone(whole).fit(X, y, sensitive_features=z)
    half = clone(whole).set_params(strength=0.5).fit(X, y, sensitive_features=z)
    gaps = [p[z == 1].mean() - p[z == 0].mean() for p in (model.predict(X), half.predict(X))]
    assert gaps[0] < gaps[1]


@each_wrapper
def test_missing_values_and_text_are_taken_by_default(wrapper):
    columns, z = mixed_columns(300)
    frame, y = pd.DataFrame(columns), np.random.default_rng(0).poisson(1.0, 300)
    model = wrapper(loss="poisson").fit(frame, y, sensitive_features=z)
    assert (model.predict(frame) > 0).all()


@each_wrapper
def test_a_pipeline_gets_its_weights(wrapper):
    X, y, z, exposure = people("poisson")
    pipeline = make_pipeline(StandardScaler(), generalised_linear("poisson"))
    model = wrapper(pipeline, loss="poisson")
    model.fit(X, y, sensitive_features=z, exposure=exposure)
    alone = clone(model).set_params(estimator=generalised_linear("poisson"))
    alone.fit(X, y, sensitive_features=z, exposure=exposure)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-6)


@each_wrapper
@each_loss
def test_the_score_is_scikit_learns(wrapper, loss):
    X, y, z, _ = people(loss)
    model = wrapper(generalised_linear(loss), loss=loss).fit(X, y, sensitive_features=z)
    expected = d2_tweedie_score(y, model.predict(X), power=POWERS[loss])
    assert model.score(X, y) == pytest.approx(expected)


@each_wrapper
def test_it_is_pickled_with_its_predictions(wrapper):
    X, y, z, _ = people("gamma")
    model = wrapper(loss="gamma").fit(X, y, sensitive_features=z)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - its own bytes
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@each_wrapper
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HistGradientBoostingRegressor, "must be a scikit-learn regressor"),
        (3, "must be a scikit-learn regressor"),
        (KNeighborsRegressor(), "takes no sample_weight"),
    ],
)
def test_an_estimator_that_cannot_serve_is_refused(wrapper, estimator, message):
    X, y, z, exposure = people("poisson", 100)
    with pytest.raises(TypeError, match=message):
        wrapper(estimator, loss="poisson").fit(X, y, sensitive_features=z, exposure=exposure)


def test_settings_that_cannot_serve_are_refused():
    X, y, z, _ = people("poisson", 100)
    for model, message in (
        (MarginalizedRegressor(learner="both"), "learner"),
        (MarginalizedRegressor(weights=(0.2, 0.2)), "must sum to 1"),
        (FairTargetRegressor(strength=2), "strength"),
        (FairTargetRegressor(loss="log_loss"), "use a classifier"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, sensitive_features=z)
    with pytest.raises(TypeError, match="must be a FairTarget"):
        FairTargetRegressor(criterion=generalised_linear("poisson")).fit(X, y, sensitive_features=z)
    with pytest.raises(TypeError, match="rebalance"):
        MarginalizedRegressor(rebalance="yes").fit(X, y, sensitive_features=z)
