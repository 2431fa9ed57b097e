"""MarginalizedClassifier averages over z, keeps scikit-learn's contract and refuses bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from contracts import CONTAINERS, EXACT, each_container, mixed_columns, size_of
from scikit_learn_contract import (
    MakesUpSensitive,
    assert_cross_validate_cuts_roles,
    checks_of,
    frame_of,
)
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import make_synthetic, make_world, score_gap
from unsway.grouping import Grouping
from unsway.models.marginalized import LEARNERS, MarginalizedClassifier
from unsway.models.wrapping import TableBoosting, with_sensitive_column

exact = LogisticRegression(solver="newton-cholesky", C=1e6, tol=1e-12)
each_learner = pytest.mark.parametrize("learner", LEARNERS)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_000, random_state=0)


# --- what it computes ----------------------------------------------------------------------------


def test_one_model_is_averaged_over_both_values_of_its_last_column(data):
    model = MarginalizedClassifier(exact, weights=(0.3, 0.7))
    model.fit(data.X, data.y, sensitive_features=data.z)
    alone = clone(exact).fit(np.column_stack([data.X, data.z]), data.y)
    zero, one = (
        alone.predict_proba(np.column_stack([data.X, np.full(1_000, level)]))[:, 1]
        for level in (0, 1)
    )
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], 0.3 * zero + 0.7 * one)
    np.testing.assert_allclose(model.estimator_.coef_, alone.coef_)


def test_separate_models_are_averaged(data):
    model = MarginalizedClassifier(exact, learner="separate")
    model.fit(data.X, data.y, sensitive_features=data.z)
    scores = [
        clone(exact).fit(data.X[rows], data.y[rows]).predict_proba(data.X)[:, 1]
        for rows in (data.z == 0, data.z == 1)
    ]
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], np.mean(scores, axis=0))
    assert len(model.estimators_) == 2
    assert not hasattr(model, "estimator_")


def test_a_refit_with_the_other_learner_forgets_the_first(data):
    model = MarginalizedClassifier(exact).fit(data.X, data.y, sensitive_features=data.z)
    model.set_params(learner="separate").fit(data.X, data.y, sensitive_features=data.z)
    assert not hasattr(model, "estimator_")
    expected = MarginalizedClassifier(exact, learner="separate")
    expected.fit(data.X, data.y, sensitive_features=data.z)
    np.testing.assert_array_equal(model.predict_proba(data.X), expected.predict_proba(data.X))


def test_prevalence_weighs_the_levels_by_their_weighted_shares():
    X, y, z = np.arange(8.0)[:, None], [0, 1] * 4, [0, 0, 0, 0, 0, 0, 1, 1]
    model = MarginalizedClassifier(exact, weights="prevalence")
    assert model.fit(X, y, sensitive_features=z).weights_ == (0.75, 0.25)
    weighted = model.fit(X, y, sensitive_features=z, sample_weight=[1] * 6 + [3] * 2)
    assert weighted.weights_ == (0.5, 0.5)


def test_swapping_the_groups_changes_nothing_at_equal_weights(data):
    one = MarginalizedClassifier(exact).fit(data.X, data.y, sensitive_features=data.z)
    other = MarginalizedClassifier(exact).fit(data.X, data.y, sensitive_features=1 - data.z)
    np.testing.assert_allclose(
        one.predict_proba(data.X), other.predict_proba(data.X), rtol=0, atol=1e-9
    )


@each_learner
@pytest.mark.parametrize(
    "world", ["paper", "no_direct_effect", "opposed_effects", "many_noise_features"]
)
def test_the_gap_is_symnie_within_two_standard_errors_where_the_model_is_right(world, learner):
    left, blind = [], []
    for seed in range(8):
        train = make_world(world, 4_000, random_state=seed)
        fresh = make_world(world, 20_000, random_state=100 + seed)
        model = MarginalizedClassifier(exact, learner=learner)
        model.fit(train.X, train.y, sensitive_features=train.z)
        plain = clone(exact).fit(train.X, train.y)
        for found, scorer in ((left, model), (blind, plain)):
            p = scorer.predict_proba(fresh.X)[:, 1]
            found.append(score_gap(None, p, sensitive_features=fresh.z) - fresh.effects.explained)
    error = np.std(left, ddof=1) / np.sqrt(len(left))
    assert error < 0.01
    assert abs(np.mean(left)) < 2 * error
    if world != "no_direct_effect":
        assert abs(np.mean(blind)) > 8 * error  # the test would notice a direct effect


def test_the_score_comes_near_the_true_fair_score():
    train, fresh = (make_synthetic(n, random_state=n) for n in (8_000, 8_001))
    model = MarginalizedClassifier(exact).fit(train.X, train.y, sensitive_features=train.z)
    error = model.predict_proba(fresh.X)[:, 1] - fresh.fair_score
    assert np.sqrt(np.mean(error**2)) < 0.03  # a blind model: .09


# --- tables --------------------------------------------------------------------------------------


def test_the_sensitive_column_gets_a_name_no_other_column_has():
    frame = pd.DataFrame({"sensitive_features": [1.0, 2.0], "sensitive_features_": [3.0, 4.0]})
    table = with_sensitive_column(frame, np.array([0.0, 1.0]))
    assert table.columns[-1] == "sensitive_features__"
    assert table.iloc[:, -1].tolist() == [0.0, 1.0]


def test_a_frame_keeps_its_index_beside_the_sensitive_column():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 5, 7])
    table = with_sensitive_column(frame, np.array([0.0, 1.0, 0.0]))
    assert table.index.tolist() == [7, 5, 7]
    assert table["sensitive_features"].tolist() == [0.0, 1.0, 0.0]


def test_numbered_columns_get_a_number_more():
    table = with_sensitive_column(pd.DataFrame(np.zeros((2, 3))), np.array([0.0, 1.0]))
    assert table.columns.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("kind", "result"), [("float32", "f"), ("int64", "f"), ("U5", "O")])
def test_an_array_keeps_what_it_holds_beside_the_sensitive_column(kind, result):
    table = with_sensitive_column(np.array([["1"], ["2"]]).astype(kind), np.array([0.0, 1.0]))
    assert table.dtype.kind == result
    assert table[:, -1].tolist() == [0.0, 1.0]


@each_container
@each_learner
def test_every_container_gives_the_same_scores(container, learner):
    columns, z = mixed_columns()
    y = np.random.default_rng(1).integers(0, 2, len(z))
    model = MarginalizedClassifier(learner=learner)
    scores = model.fit(container(columns), y, sensitive_features=z).predict_proba(
        container(columns)
    )
    array = CONTAINERS["numpy"](columns)
    expected = MarginalizedClassifier(learner=learner).fit(array, y, sensitive_features=z)
    np.testing.assert_allclose(scores, expected.predict_proba(array))
    assert np.ptp(scores[:, 1]) > 0.1


def test_numbers_in_a_frame_reach_the_inner_model_by_name(data):
    frame = frame_of(data)
    model = MarginalizedClassifier(exact).fit(frame, data.y, sensitive_features=data.z)
    assert model.feature_names_in_.tolist() == list(data.feature_names)
    assert model.n_features_in_ == 16
    inner = model.estimator_.feature_names_in_.tolist()
    assert inner == [*data.feature_names, "sensitive_features"]


def test_the_default_treats_a_column_of_very_many_levels_as_codes():
    names = np.array([[f"n{k}"] for k in range(300)], dtype=object)
    assert TableBoosting().fit(names, [0, 1] * 150).predict_proba(names).shape == (300, 2)


# --- scikit-learn's contract ---------------------------------------------------------------------


class WithSensitive(MakesUpSensitive, MarginalizedClassifier):
    pass


@pytest.mark.parametrize(("estimator", "check"), checks_of(WithSensitive(EXACT)))
def test_the_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)


def test_text_labels_and_levels_are_understood(data):
    y, z = np.array(["no", "yes"])[data.y], np.array(["F", "M"])[data.z]
    model = MarginalizedClassifier(exact, groups=Grouping(reference="F")).fit(
        data.X, y, sensitive_features=z
    )
    coded = MarginalizedClassifier(exact).fit(data.X, data.y, sensitive_features=data.z)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.estimator_.classes_.tolist() == ["no", "yes"]
    assert model.sensitive_levels_ == ("F", "M")
    np.testing.assert_array_equal(model.predict_proba(data.X), coded.predict_proba(data.X))
    np.testing.assert_array_equal(model.predict(data.X) == "yes", coded.predict(data.X) == 1)


@each_learner
def test_weights_reach_the_last_step_of_a_pipeline(data, learner, routing):
    weights = np.random.default_rng(0).integers(1, 4, 1_000)
    inner = make_pipeline("passthrough", clone(exact))
    model = MarginalizedClassifier(inner, learner=learner)
    model.fit(data.X, data.y, sensitive_features=data.z, sample_weight=weights)
    rows = np.repeat(np.arange(1_000), weights)
    repeated = MarginalizedClassifier(inner, learner=learner)
    repeated.fit(data.X[rows], data.y[rows], sensitive_features=data.z[rows])
    np.testing.assert_allclose(
        model.predict_proba(data.X), repeated.predict_proba(data.X), rtol=0, atol=1e-8
    )


def test_grid_search_reaches_the_inner_model_and_routes_sensitive_features(data, routing):
    model = MarginalizedClassifier(LogisticRegression())
    model.set_fit_request(sensitive_features=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"marginalizedclassifier__estimator__C": [1e-6, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss", error_score="raise")
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert search.best_params_ == {"marginalizedclassifier__estimator__C": 1.0}


def test_cross_validate_cuts_sensitive_features_with_the_rows(data, routing):
    model = MarginalizedClassifier(exact).set_fit_request(sensitive_features=True)
    assert_cross_validate_cuts_roles(model, data, sensitive_features=data.z)


@each_learner
def test_a_pickled_model_is_small_and_gives_the_same_probabilities(learner):
    data = make_synthetic(5_000, random_state=2)
    model = MarginalizedClassifier(exact, learner=learner)
    stored = pickle.dumps(model.fit(data.X, data.y, sensitive_features=data.z))
    assert size_of(model) < 5_000  # less than a byte a row
    again = pickle.loads(stored)  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


def test_a_failed_refit_leaves_the_model_as_it_was(data):
    model = MarginalizedClassifier(exact).fit(data.X, data.y, sensitive_features=data.z)
    before = model.predict_proba(data.X)
    with pytest.raises(ValueError, match="single class"):
        model.fit(data.X[:, :3], np.zeros(1_000), sensitive_features=data.z)
    np.testing.assert_array_equal(model.predict_proba(data.X), before)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"weights": (0.5, 0.6)}, ValueError, r"must sum to 1; got \(0.5, 0.6\)"),
        ({"weights": (-0.5, 1.5)}, ValueError, "must not be negative"),
        ({"weights": (np.nan, 1.0)}, ValueError, "must sum to 1"),
        ({"weights": (1.0,)}, TypeError, "must be a pair of numbers"),
        ({"weights": 0.5}, TypeError, "must be a pair of numbers"),
        ({"weights": "equal"}, ValueError, "unknown weights 'equal'"),
        ({"learner": "both"}, ValueError, "unknown learner 'both'; choose from single, separate"),
        ({"estimator": SGDClassifier()}, TypeError, "SGDClassifier has no predict_proba"),
        ({"estimator": LogisticRegression}, TypeError, "must be a scikit-learn classifier"),
        ({"estimator": "logistic"}, TypeError, "must be a scikit-learn classifier"),
    ],
)
def test_bad_settings_are_refused(data, settings, error, message):
    model = MarginalizedClassifier(**settings)
    with pytest.raises(error, match=message):
        model.fit(data.X, data.y, sensitive_features=data.z)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sensitive_features": None}, TypeError, "sensitive_features is required"),
        (
            {"sensitive_features": np.arange(1_000) % 3},
            ValueError,
            "needs a sensitive attr",
        ),
        ({"y": np.zeros(1_000)}, ValueError, "y has a single class"),
        ({"y": np.arange(1_000)}, ValueError, "1000 classes, more than 100"),
        ({"sample_weight": -np.ones(1_000)}, ValueError, "1000 negative values"),
    ],
)
def test_bad_roles_are_refused(data, change, error, message):
    roles = {"y": data.y, "sensitive_features": data.z} | change
    with pytest.raises(error, match=message):
        MarginalizedClassifier(exact).fit(data.X, **roles)


def test_x_with_the_sensitive_attribute_is_refused(data):
    X = np.column_stack([data.X, 5 - 2 * data.z])
    with pytest.raises(ValueError, match="X contains the sensitive attribute: 'column 16'"):
        MarginalizedClassifier(exact).fit(X, data.y, sensitive_features=data.z)


def test_separate_models_need_both_classes_in_each_group(data):
    y = np.where(data.z == 1, 1, data.y)
    model = MarginalizedClassifier(exact, learner="separate")
    with pytest.raises(ValueError, match=r"the group of 1, which .* no row of class 0"):
        model.fit(data.X, y, sensitive_features=data.z)


@pytest.mark.parametrize("inner", [KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())])
def test_weights_for_a_model_that_takes_none_are_refused(data, inner):
    with pytest.raises(TypeError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        MarginalizedClassifier(inner).fit(
            data.X, data.y, sensitive_features=data.z, sample_weight=np.ones(1_000)
        )


def test_the_inner_model_says_whether_missing_values_may_stand(data):
    X = np.where(data.X > 2, np.nan, data.X)
    boosting = HistGradientBoostingClassifier(max_iter=5)
    model = MarginalizedClassifier(boosting).fit(X, data.y, sensitive_features=data.z)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="contains NaN"):
        MarginalizedClassifier(exact).fit(X, data.y, sensitive_features=data.z)
    assert not MarginalizedClassifier(exact).__sklearn_tags__().input_tags.allow_nan
