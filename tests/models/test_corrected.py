"""DirectEffectCorrector: the fair score's gap, scikit-learn's contract, bad input."""

import pickle

import numpy as np
import pytest
from contracts import (
    CONTAINERS,
    EXACT,
    direct_effect,
    each_container,
    mixed_columns,
    rows_of,
    size_of,
)
from scikit_learn_contract import CHECKED, MakesUpSensitive, checks_of, frame_of
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import DirectEffect, Parity, Propensity, make_synthetic, make_world, score_gap
from unsway.effects import fit_surrogate
from unsway.grouping import Grouping
from unsway.models.corrected import DirectEffectCorrector

exact = LogisticRegression(solver="newton-cholesky", C=1e6, tol=1e-12)
SPLINE = {"norm": "function", "basis": "spline"}
quick = DirectEffect(5, 2, propensity=exact, **SPLINE)  # the default but for its propensity


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_000, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    model = DirectEffectCorrector(exact, criterion=quick)
    return model.fit(data.X, data.y, sensitive_features=data.z)


# --- what it computes ----------------------------------------------------------------------------


def test_without_calibration_the_score_is_the_formula(data):
    model = DirectEffectCorrector(exact, criterion=quick, strength=0.7, calibrate=False)
    model.fit(data.X, data.y, sensitive_features=data.z)
    z, b = data.z.astype(float), clone(exact).fit(data.X, data.z).predict_proba(data.X)[:, 1]
    b = np.clip(b, 1e-3, 1 - 1e-3)
    labels = fit_surrogate(
        data.y.astype(float), b, z, outcome_degree=5, effect_degree=2, basis="spline"
    )
    p = clone(exact).fit(data.X, data.y).predict_proba(data.X)[:, 1]
    np.testing.assert_allclose(
        model.fair_score(data.X), p + 0.7 * (0.5 - b) * labels.effect(b), rtol=0, atol=1e-8
    )


def test_a_calibrated_score_averages_to_the_labels_fair_curve_at_each_propensity(data, fitted):
    b = fitted.propensity_.predict(data.X)
    scores = fit_surrogate(
        fitted.fair_score(data.X),
        b,
        data.z.astype(float),
        outcome_degree=5,
        effect_degree=2,
        basis="spline",
    )
    np.testing.assert_allclose(scores.outcome(b, b), fitted.surrogate_.fair(b), rtol=0, atol=1e-8)


def test_strength_zero_is_the_estimator_itself(data):
    model = DirectEffectCorrector(exact, criterion=quick, strength=0)
    model.fit(data.X, data.y, sensitive_features=data.z)
    alone = clone(exact).fit(data.X, data.y)
    np.testing.assert_array_equal(model.predict_proba(data.X), alone.predict_proba(data.X))


def test_the_score_moves_by_strength_times_the_correction(data, fitted):
    half = clone(fitted).set_params(strength=0.5)
    half.fit(data.X, data.y, sensitive_features=data.z)
    moved = half.fair_score(data.X) - half.estimator_.predict_proba(data.X)[:, 1]
    np.testing.assert_allclose(moved, 0.5 * fitted.correction(data.X), rtol=0, atol=1e-12)
    assert np.abs(moved).max() > 0.02


def test_swapping_the_groups_changes_nothing(data, fitted):
    other = clone(fitted).fit(data.X, data.y, sensitive_features=1 - data.z)
    np.testing.assert_allclose(
        other.fair_score(data.X), fitted.fair_score(data.X), rtol=0, atol=1e-7
    )


def test_a_fitted_criterion_gives_what_an_unfitted_one_gives(data, fitted):
    shared = quick.fit(rows_of(data.X, data.y, data.z))
    model = DirectEffectCorrector(exact, criterion=shared)
    model.fit(data.X, data.y, sensitive_features=data.z)
    np.testing.assert_array_equal(model.fair_score(data.X), fitted.fair_score(data.X))


class Told(ClassifierMixin, BaseEstimator):
    """Knows E[y | X] where b is the first column: P(y=1 | X, z) = .2 + .3b + .2u + .2z."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        score = 0.2 + 0.5 * X[:, 0] + 0.2 * X[:, 1]
        return np.column_stack([1 - score, score])


def constant_effect(n, seed):
    """Draw a world in which b, E[y | X] and a constant MFCDE are right, and its fair score."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0.1, 0.9, n), rng.random(n)])
    z = rng.random(n) < X[:, 0]
    fair = 0.3 + 0.3 * X[:, 0] + 0.2 * X[:, 1]
    return X, rng.random(n) < fair + 0.2 * (z - 0.5), z, fair


@pytest.mark.parametrize("calibrate", [False, True])
def test_the_score_is_the_fair_score_where_every_part_is_right(calibrate):
    X, y, z, fair = constant_effect(200_000, 0)
    model = DirectEffectCorrector(Told(), criterion=direct_effect(), calibrate=calibrate)
    found = model.fit(X, y, sensitive_features=z).fair_score(X)
    assert np.abs(found - fair).max() < 0.01
    assert np.abs(Told().fit(X, y).predict_proba(X)[:, 1] - fair).max() > 0.07


def test_the_gap_is_symnie_within_two_standard_errors_where_every_part_is_right():
    symnie = 0.3 * (0.8**2 / 12) / 0.25  # .3·(E[b | z=1] − E[b | z=0]) = .3·var(b)/var(z)
    left = []
    for seed in range(20):
        X, y, z, _ = constant_effect(4_000, seed)
        fresh, _, groups, _ = constant_effect(50_000, 100 + seed)
        model = DirectEffectCorrector(Told(), criterion=direct_effect())
        p = model.fit(X, y, sensitive_features=z).predict_proba(fresh)[:, 1]
        left.append(score_gap(None, p, sensitive_features=groups) - symnie)
    error = np.std(left, ddof=1) / np.sqrt(len(left))
    assert error < 0.0025
    assert abs(np.mean(left)) < 2 * error


@pytest.mark.parametrize(
    "world", ["paper", "no_direct_effect", "opposed_effects", "many_noise_features"]
)
def test_the_gap_is_symnie_within_two_standard_errors_in_linear_worlds(world):
    left, blind = [], []
    for seed in range(8):
        train = make_world(world, 6_000, random_state=seed)
        fresh = make_world(world, 20_000, random_state=100 + seed)
        model = DirectEffectCorrector(exact, criterion=quick, max_clipped_share=0.05)
        model.fit(train.X, train.y, sensitive_features=train.z)
        plain = model.estimator_.predict_proba(fresh.X)[:, 1]
        for found, p in ((left, model.fair_score(fresh.X)), (blind, plain)):
            found.append(score_gap(None, p, sensitive_features=fresh.z) - fresh.effects.explained)
    error = np.std(left, ddof=1) / np.sqrt(len(left))
    assert error < 0.015
    assert abs(np.mean(left)) < 2 * error
    if world != "no_direct_effect":
        assert abs(np.mean(blind)) > 6 * error  # the test would notice a direct effect


def test_the_score_comes_nearer_to_the_true_fair_score():
    train, fresh = (make_synthetic(n, random_state=n) for n in (8_000, 8_001))
    model = DirectEffectCorrector(exact, criterion=quick)
    model.fit(train.X, train.y, sensitive_features=train.z)
    corrected, blind = (
        np.sqrt(np.mean((scorer.predict_proba(fresh.X)[:, 1] - fresh.fair_score) ** 2))
        for scorer in (model, model.estimator_)
    )
    assert corrected < 0.6 * blind


# --- scores outside [0, 1] -----------------------------------------------------------------------


def certain(n=400):
    """Return rows whose labels follow X alone, so that any correction leaves [0, 1]."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.1, 0.9, n), rng.normal(size=n)])
    z = rng.random(n) < X[:, 0]
    return X, (X[:, 1] > 0) | (z & (rng.random(n) < 0.1)), z


def test_scores_outside_zero_and_one_are_clipped_with_a_warning_that_gives_their_share():
    X, y, z = certain()
    model = DirectEffectCorrector(exact, criterion=direct_effect())
    with pytest.warns(UserWarning, match=r"% of the corrected scores lie outside \[0, 1\]"):
        model.fit(X, y, sensitive_features=z)
    scores = model.fair_score(X)
    assert ((scores < 0) | (scores > 1)).any()
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], np.clip(scores, 0, 1))
    assert model.clipped_share_ == np.mean((scores < 0) | (scores > 1))


def test_the_warning_is_the_users_to_set():
    X, y, z = certain()
    model = DirectEffectCorrector(exact, criterion=direct_effect(), max_clipped_share=1)
    assert model.fit(X, y, sensitive_features=z).clipped_share_ > 0.02


# --- scikit-learn's contract ---------------------------------------------------------------------


class WithSensitive(MakesUpSensitive, DirectEffectCorrector):
    pass


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(WithSensitive(EXACT, criterion=CHECKED["DirectEffect"], max_clipped_share=1)),
)
def test_the_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)


def test_text_labels_and_levels_are_understood(data, fitted):
    y, z = np.array(["no", "yes"])[data.y], np.array(["F", "M"])[data.z]
    model = (
        clone(fitted)
        .set_params(groups=Grouping(reference="F"))
        .fit(data.X, y, sensitive_features=z)
    )
    assert model.classes_.tolist() == model.estimator_.classes_.tolist() == ["no", "yes"]
    assert model.sensitive_levels_ == ("F", "M")
    np.testing.assert_array_equal(model.fair_score(data.X), fitted.fair_score(data.X))
    np.testing.assert_array_equal(model.predict(data.X) == "yes", fitted.predict(data.X) == 1)


def test_weights_reach_the_last_step_of_a_pipeline_and_count_as_repeated_rows(data, routing):
    weights = np.random.default_rng(0).integers(1, 4, 1_000)
    criterion = DirectEffect(2, 1, propensity=exact)
    inner = make_pipeline("passthrough", clone(exact))
    model = DirectEffectCorrector(inner, criterion=criterion)
    model.fit(data.X, data.y, sensitive_features=data.z, sample_weight=weights)
    rows = np.repeat(np.arange(1_000), weights)
    repeated = clone(model).fit(data.X[rows], data.y[rows], sensitive_features=data.z[rows])
    np.testing.assert_allclose(
        model.fair_score(data.X), repeated.fair_score(data.X), rtol=0, atol=1e-7
    )
    assert model.clipped_share_ == pytest.approx(repeated.clipped_share_)


def test_grid_search_routes_sensitive_features_and_reaches_strength(data, routing):
    model = DirectEffectCorrector(exact, criterion=quick, max_clipped_share=1)
    model.set_fit_request(sensitive_features=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"directeffectcorrector__strength": [0.0, 0.5, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise")
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_set_params_reaches_the_estimator_and_the_propensity():
    model = DirectEffectCorrector(clone(exact), criterion=clone(quick))
    model.set_params(estimator__C=0.5, criterion__propensity__C=0.25)
    assert (model.estimator.C, model.criterion.propensity.C) == (0.5, 0.25)


def test_a_pickled_model_holds_no_row_and_gives_the_same_scores():
    data = make_synthetic(20_000, random_state=2)
    model = DirectEffectCorrector(exact, criterion=quick)
    stored = pickle.dumps(model.fit(data.X, data.y, sensitive_features=data.z))
    assert size_of(model) < 10_000  # half a byte a row
    again = pickle.loads(stored)  # noqa: S301
    np.testing.assert_array_equal(again.fair_score(data.X), model.fair_score(data.X))


def test_fitting_changes_no_parameter(data):
    estimator, criterion = clone(exact), clone(quick)
    model = DirectEffectCorrector(estimator, criterion=criterion)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert model.estimator is estimator
    assert model.criterion is criterion
    assert not hasattr(estimator, "coef_")
    assert not hasattr(criterion.propensity, "coef_")


@each_container
def test_every_container_gives_the_same_scores(container):
    columns, z = mixed_columns()
    y = np.random.default_rng(1).integers(0, 2, len(z))
    criterion = DirectEffect(propensity=Propensity(Cs=(1.0,), cv=2))
    model = DirectEffectCorrector(criterion=criterion, max_clipped_share=1)
    scores = model.fit(container(columns), y, sensitive_features=z).fair_score(container(columns))
    array = CONTAINERS["numpy"](columns)
    expected = clone(model).fit(array, y, sensitive_features=z).fair_score(array)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)  # the propensity's tolerance
    assert np.ptp(scores) > 0.1


def test_names_of_columns_are_kept(data):
    frame = frame_of(data)
    model = DirectEffectCorrector(exact, criterion=quick)
    model.fit(frame, data.y, sensitive_features=data.z)
    assert model.feature_names_in_.tolist() == list(data.feature_names)
    with pytest.raises(ValueError, match="feature names should match"):
        model.correction(frame.rename(columns={"safe_0": "unheard_of"}))


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"strength": 1.5}, ValueError, "strength must be a finite number of at least 0"),
        ({"strength": -0.1}, ValueError, "a finite number of at least 0 .*at most 1; got -0.1"),
        (
            {"strength": float("nan")},
            ValueError,
            "a finite number of at least 0 .*at most 1; got nan",
        ),
        ({"strength": "full"}, TypeError, "strength must be a number"),
        ({"max_clipped_share": 2}, ValueError, "max_clipped_share must be a finite"),
        ({"calibrate": "isotonic"}, TypeError, "calibrate must be True or False"),
        ({"criterion": Parity()}, TypeError, "criterion must be a DirectEffect"),
        ({"criterion": DirectEffect}, TypeError, "criterion must be a DirectEffect"),
        ({"estimator": SGDClassifier()}, TypeError, "SGDClassifier has no predict_proba"),
        ({"estimator": LogisticRegression}, TypeError, "must be a scikit-learn classifier"),
    ],
)
def test_bad_settings_are_refused(data, settings, error, message):
    with pytest.raises(error, match=message):
        DirectEffectCorrector(**settings).fit(data.X, data.y, sensitive_features=data.z)


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
        ({"y": np.arange(1_000) % 3}, ValueError, "Only binary classification"),
        ({"sample_weight": np.zeros(1_000)}, ValueError, "zero for every row"),
    ],
)
def test_bad_roles_are_refused(data, change, error, message):
    roles = {"y": data.y, "sensitive_features": data.z} | change
    with pytest.raises(error, match=message):
        DirectEffectCorrector(exact).fit(data.X, **roles)


def test_x_with_the_sensitive_attribute_is_refused(data):
    X = np.column_stack([data.X, 5 - 2 * data.z])
    with pytest.raises(ValueError, match="X contains the sensitive attribute: 'column 16'"):
        DirectEffectCorrector(exact).fit(X, data.y, sensitive_features=data.z)


def test_weights_for_a_model_that_takes_none_are_refused(data):
    with pytest.raises(TypeError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        DirectEffectCorrector(KNeighborsClassifier()).fit(
            data.X, data.y, sensitive_features=data.z, sample_weight=np.ones(1_000)
        )


def test_a_criterion_fitted_on_other_rows_is_refused(data):
    other = quick.fit(rows_of(data.X[:500], data.y[:500], data.z[:500]))
    with pytest.raises(ValueError, match="fitted on 500 rows but there are 1000 to train on"):
        DirectEffectCorrector(exact, criterion=other).fit(data.X, data.y, sensitive_features=data.z)


def test_a_failed_refit_leaves_the_model_as_it_was(data, fitted):
    before = fitted.fair_score(data.X)
    with pytest.raises(ValueError, match="single class"):
        fitted.fit(data.X[:, :3], np.zeros(1_000), sensitive_features=data.z)
    np.testing.assert_array_equal(fitted.fair_score(data.X), before)
