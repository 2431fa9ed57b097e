"""What FairLogisticRegression finds, against independent fits, by property and by known truth."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contracts import rows_of
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from unsway import (
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairLogisticRegression,
    FairTarget,
    Parity,
    fit_surrogate,
    make_synthetic,
    score_gap,
    selection_rate_difference,
)
from unsway.criteria import FittedCriterion
from unsway.grouping import Grouping

# A propensity with one exact answer, whatever the order of the rows.
EXACT = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
CRITERIA = {
    "parity": Parity(),
    "equal_opportunity": EqualOpportunity(),
    "equalized_odds": EqualizedOdds(),
    "direct_effect": DirectEffect(propensity=EXACT, max_extreme_share=0.7),
    "direct_effect_function": DirectEffect(
        propensity=EXACT, max_extreme_share=0.7, norm="function"
    ),
}
every_criterion = pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(2_000, random_state=0)


def fit(data, criterion=None, rows=slice(None), **settings):
    settings = {"tol": 1e-10, **settings}
    weights = settings.pop("sample_weight", None)
    model = FairLogisticRegression(criterion or Parity(), **settings)
    return model.fit(
        data.X[rows], data.y[rows], sensitive_features=data.z[rows], sample_weight=weights
    )


def assert_same_model(one, other, atol=1e-8):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=0, atol=atol)


# --- against scikit-learn ------------------------------------------------------------------------


@every_criterion
def test_no_strength_gives_scikit_learns_unpenalised_fit(data, criterion):
    plain = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    plain.fit(data.X, data.y)
    assert_same_model(fit(data, criterion, strength=0.0, tol=1e-6), plain, atol=1e-6)


def test_no_strength_with_l2_gives_scikit_learns_fit_at_its_c(data):
    l2 = 0.05
    ridge = LogisticRegression(C=1 / (l2 * 2_000), tol=1e-10, solver="newton-cholesky")
    ridge.fit(data.X, data.y)
    assert_same_model(fit(data, strength=0.0, l2=l2, tol=1e-8), ridge, atol=1e-6)


def test_no_strength_without_intercept_gives_scikit_learns_fit(data):
    through_origin = LogisticRegression(
        C=np.inf, tol=1e-10, solver="newton-cholesky", fit_intercept=False
    )
    through_origin.fit(data.X, data.y)
    model = fit(data, strength=0.0, fit_intercept=False)
    np.testing.assert_allclose(model.coef_, through_origin.coef_, atol=1e-6)
    assert model.intercept_.tolist() == [0.0]


def test_l2_leaves_the_intercept_free(data):
    model = fit(data, strength=0.0, l2=1e6)
    assert abs(model.coef_).max() < 1e-6
    assert model.intercept_[0] == pytest.approx(logit(data.y.mean()), abs=1e-6)


def test_log_loss_is_that_of_the_training_rows(data):
    model = fit(data)
    assert model.log_loss_ == pytest.approx(log_loss(data.y, model.predict_proba(data.X)), rel=1e-9)


# --- what must not matter ------------------------------------------------------------------------


@every_criterion
def test_a_weight_is_a_number_of_repeated_rows(data, criterion):
    weights = np.random.default_rng(0).integers(0, 4, len(data.y))
    repeated = np.repeat(np.arange(len(data.y)), weights)
    assert_same_model(fit(data, criterion, sample_weight=weights), fit(data, criterion, repeated))


@every_criterion
def test_the_size_of_the_weights_does_not_matter(data, criterion):
    weights = np.random.default_rng(1).uniform(0.5, 2, len(data.y))
    larger = fit(data, criterion, sample_weight=1_000 * weights)
    assert_same_model(fit(data, criterion, sample_weight=weights), larger)


@every_criterion
def test_the_order_of_the_rows_does_not_matter(data, criterion):
    shuffled = np.random.default_rng(2).permutation(len(data.y))
    assert_same_model(fit(data, criterion), fit(data, criterion, shuffled))


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect()], ids=repr)
def test_the_units_of_the_columns_do_not_matter(data, criterion):
    units = 10.0 ** np.linspace(-6, 6, data.X.shape[1])
    rescaled = FairLogisticRegression(criterion, tol=1e-10)
    rescaled.fit(data.X * units, data.y, sensitive_features=data.z)
    rescaled.coef_ *= units
    assert_same_model(fit(data, criterion), rescaled)


@every_criterion
def test_which_group_is_called_one_does_not_matter(data, criterion):
    swapped = FairLogisticRegression(criterion, tol=1e-10, groups=Grouping(reference=1))
    swapped.fit(data.X, data.y, sensitive_features=data.z)
    assert_same_model(fit(data, criterion), swapped)


def test_a_column_twice_changes_no_score(data):
    doubled = np.column_stack([data.X, data.X[:, 0], np.ones(len(data.y))])
    model = FairLogisticRegression(Parity(), tol=1e-10)
    model.fit(doubled, data.y, sensitive_features=data.z)
    scores = fit(data).decision_function(data.X)
    np.testing.assert_allclose(model.decision_function(doubled), scores, atol=1e-8)


@cache
def tables():
    data = make_synthetic(500, random_state=3)
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    z, y = pd.Series(data.z, name="group"), pd.Series(data.y, name="label")
    return {
        "numpy": (data.X, data.y, data.z),
        "pandas": (frame, y, z),
        "pandas_frames": (frame, y.to_frame(), z.to_frame()),
        "polars": (pl.DataFrame(dict(frame)), pl.Series("label", data.y), pl.Series(data.z)),
        "pyarrow": (pa.table(dict(frame)), pa.chunked_array([data.y]), pa.array(data.z)),
    }


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect()], ids=repr)
@pytest.mark.parametrize("kind", ["pandas", "pandas_frames", "polars", "pyarrow"])
def test_the_kind_of_table_does_not_matter(kind, criterion):
    X, y, z = tables()["numpy"]
    by_array = FairLogisticRegression(criterion).fit(X, y, sensitive_features=z)
    table, label, group = tables()[kind]
    by_table = FairLogisticRegression(criterion).fit(table, label, sensitive_features=group)
    assert_same_model(by_array, by_table, atol=1e-12)
    np.testing.assert_allclose(by_table.predict_proba(table), by_array.predict_proba(X))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_every_frame_leaves_its_column_names(kind):
    table, label, group = tables()[kind]
    model = FairLogisticRegression(Parity()).fit(table, label, sensitive_features=group)
    assert model.feature_names_in_[-1] == "proxy_1"


def test_text_labels_come_back_from_predict(data):
    words = np.where(data.y == 1, "hired", "declined")
    model = FairLogisticRegression(Parity(), tol=1e-10)
    model.fit(data.X, words, sensitive_features=data.z)
    assert_same_model(fit(data), model)
    assert model.classes_.tolist() == ["declined", "hired"]
    np.testing.assert_array_equal(model.predict(data.X) == "hired", fit(data).predict(data.X) == 1)


def test_a_text_z_with_a_stated_level_gives_the_model_of_its_0_and_1(data):
    words = np.where(data.z == 1, "Male", "Female")
    model = FairLogisticRegression(
        DirectEffect(propensity=EXACT), groups=Grouping(reference="Female"), tol=1e-10
    )
    model.fit(data.X, data.y, sensitive_features=words)
    assert_same_model(fit(data, DirectEffect(propensity=EXACT)), model)
    assert model.sensitive_levels_ == ("Female", "Male")


def test_a_boolean_z_gives_the_model_of_its_0_and_1(data):
    model = FairLogisticRegression(Parity(), tol=1e-10)
    model.fit(data.X, data.y, sensitive_features=data.z.astype(bool))
    assert_same_model(fit(data), model)


@pytest.mark.parametrize(
    "z",
    [
        pd.Series(pd.Categorical(["a", "b"] * 50)),
        pd.Series(["a", "b"] * 50, dtype="string"),
        pl.Series(["a", "b"] * 50, dtype=pl.Categorical),
        pa.array(["a", "b"] * 50).dictionary_encode(),
    ],
    ids=["pandas_categorical", "pandas_string", "polars_categorical", "pyarrow_dictionary"],
)
def test_every_kind_of_text_column_gives_the_same_model(z):
    data = make_synthetic(100, random_state=4)
    model = FairLogisticRegression(Parity(), l2=0.1, groups=Grouping(reference="a"))
    model.fit(data.X, data.y, sensitive_features=z)
    plain = FairLogisticRegression(Parity(), l2=0.1)
    plain.fit(data.X, data.y, sensitive_features=np.arange(100) % 2)
    assert_same_model(plain, model)


# --- the penalty ---------------------------------------------------------------------------------


@every_criterion
def test_more_strength_never_leaves_more_penalty(data, criterion):
    strengths = [*np.arange(10) / 10, 0.975]
    fitted = criterion.fit(rows_of(data.X, data.y, data.z))  # strength 0 alone would not fit it
    penalties = [fit(data, fitted, strength=strength).penalty_ for strength in strengths]
    assert np.diff(penalties).max() < 0


@every_criterion
def test_the_penalty_reported_is_that_of_the_training_scores(data, criterion):
    model = fit(data, criterion)
    rows = rows_of(data.X, data.y, data.z)
    penalty = criterion.fit(rows).penalty(rows)
    scores = model.predict_proba(data.X)[:, 1]
    assert model.penalty_ == pytest.approx(float(penalty.value(scores)), rel=1e-9)
    assert list(model.statistics_) == list(penalty.names)


def test_parity_reports_the_gap_of_its_scores(data):
    model = fit(data)
    scores = model.predict_proba(data.X)[:, 1]
    gap = score_gap(data.y, scores, sensitive_features=data.z)
    assert model.statistics_ == pytest.approx({"gap": gap})


def test_statistics_are_the_surrogates_coefficients_of_the_scores(data):
    criterion = DirectEffect(2, 1, propensity=EXACT)
    model = fit(data, criterion)
    z = data.z.astype(float)
    surrogate = fit_surrogate(
        model.predict_proba(data.X)[:, 1],
        criterion.fit(rows_of(data.X, data.y, z)).row_values,
        z,
        outcome_degree=2,
        effect_degree=1,
    )
    expected = [*surrogate.outcome_coefficients[1:], *surrogate.effect_coefficients]
    names = ["alpha_1", "alpha_2", "beta_0", "beta_1"]
    assert model.statistics_ == pytest.approx(dict(zip(names, expected, strict=True)), abs=1e-9)


def test_the_default_is_the_fair_target_at_full_strength(data):
    default = FairLogisticRegression(tol=1e-10)
    default.fit(data.X, data.y, sensitive_features=data.z)
    assert default.strength_ == 1.0
    assert_same_model(default, fit(data, FairTarget(), strength=1.0), atol=0)


@every_criterion
def test_a_fitted_criterion_gives_the_model_of_the_unfitted_one(data, criterion):
    fitted = criterion.fit(rows_of(data.X, data.y, data.z))
    assert_same_model(fit(data, fitted), fit(data, criterion), atol=0)


# --- the method ----------------------------------------------------------------------------------


def test_a_warm_start_takes_fewer_steps_to_the_same_place(data):
    cold = fit(data, strength=0.9)
    warm = fit(data, strength=0.85, warm_start=True)
    warm.set_params(strength=0.9).fit(data.X, data.y, sensitive_features=data.z)
    assert warm.n_iter_ < cold.n_iter_
    assert_same_model(warm, cold)


def test_a_warm_start_at_the_optimum_takes_no_step(data):
    model = fit(data, warm_start=True)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert model.n_iter_.tolist() == [0]


def test_a_warm_start_drops_the_intercept_when_it_is_no_longer_fitted(data):
    model = fit(data, warm_start=True).set_params(fit_intercept=False)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert_same_model(model, fit(data, fit_intercept=False))


def test_n_iter_is_the_number_of_steps_that_were_needed(data):
    model = fit(data)
    steps = int(model.n_iter_[0])
    assert_same_model(fit(data, max_iter=steps), model, atol=0)
    with pytest.warns(ConvergenceWarning):
        assert fit(data, max_iter=steps - 1).n_iter_.tolist() == [steps - 1]


def test_too_few_steps_warn_where_fit_was_called(data):
    model = FairLogisticRegression(Parity(), max_iter=1)
    message = r"stopped after 1 Newton steps with a gradient of .*Raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(data.X, data.y, sensitive_features=data.z)
    assert caught[0].filename == __file__
    assert model.n_iter_.tolist() == [1]


def test_a_path_gives_the_models_of_separate_fits(data):
    strengths = [0.0, 0.5, 0.9]
    path = FairLogisticRegression(CRITERIA["direct_effect"], tol=1e-10).fit_path(
        data.X, data.y, strengths, sensitive_features=data.z
    )
    for strength, model in zip(strengths, path, strict=True):
        assert model.strength == strength
        assert_same_model(model, fit(data, CRITERIA["direct_effect"], strength=strength))


def test_more_columns_than_a_hessian_can_hold_still_fit():
    n, p = 300, 2_500
    rng = np.random.default_rng(5)
    X, z = rng.standard_normal((n, p)), np.arange(n) % 2
    y = (X[:, 0] + z + rng.standard_normal(n) > 0).astype(int)
    tracemalloc.start()
    try:
        model = FairLogisticRegression(Parity(), l2=0.1).fit(X, y, sensitive_features=z)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < p * p * 8 / 4  # a quarter of one p×p matrix
    assert model.coef_[0].argmax() == 0


def test_the_wide_method_ends_where_the_dense_one_does(monkeypatch, data):
    dense = fit(data, strength=0.9, l2=0.01, tol=1e-9)
    monkeypatch.setattr("unsway.core.newton.MAX_DENSE_COLUMNS", 1)
    assert_same_model(fit(data, strength=0.9, l2=0.01, tol=1e-9), dense, atol=1e-6)


# --- predictions ---------------------------------------------------------------------------------


def test_predictions_need_no_sensitive_attribute(data):
    model = fit(data, CRITERIA["direct_effect"])
    np.testing.assert_array_equal(
        model.predict(data.X[:5]), (model.decision_function(data.X[:5]) > 0).astype(int)
    )


def test_probabilities_sum_to_one_and_follow_the_margin(data):
    model = fit(data)
    probabilities = model.predict_proba(data.X)
    margin = data.X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(probabilities[:, 1], expit(margin), rtol=1e-12)


def test_the_smaller_probability_of_a_far_margin_is_accurate(data):
    model = fit(data)
    model.coef_, model.intercept_ = np.zeros((1, 16)), np.array([50.0])
    small, large = model.predict_proba(data.X[:1])[0]
    assert large == 1
    assert small == pytest.approx(np.exp(-50.0), rel=1e-12)


# --- a world whose truth is known ----------------------------------------------------------------


@cache
def world(seed):
    return make_synthetic(20_000, random_state=seed)


def mean_coefficients(model, data):
    return {
        role: model.coef_[0, data.columns(role)].mean() for role in ("safe", "indirect", "proxy")
    }


@pytest.mark.parametrize("seed", [0, 1])
def test_the_direct_effect_model_finds_the_fair_coefficients(seed):
    found = mean_coefficients(fit(world(seed), DirectEffect(), strength=0.9), world(seed))
    assert found["safe"] == pytest.approx(0.25, abs=0.03)
    assert found["indirect"] == pytest.approx(0.25, abs=0.03)
    assert abs(found["proxy"]) <= 0.04


@pytest.mark.parametrize("seed", [0, 1])
def test_the_blind_model_leans_on_the_proxies(seed):
    found = mean_coefficients(fit(world(seed), strength=0.0), world(seed))
    assert found["proxy"] > 0.08
    assert found["indirect"] > 0.33


@pytest.mark.parametrize("seed", [0, 1])
def test_strong_parity_selects_both_groups_alike(seed):
    data = world(seed)
    scores = fit(data, Parity(), strength=0.975).predict_proba(data.X)[:, 1]
    difference = selection_rate_difference(data.y, scores, sensitive_features=data.z)
    assert abs(difference) <= 0.03


@pytest.mark.parametrize("seed", [0, 1])
def test_the_direct_effect_model_keeps_the_gap_of_the_fair_score(seed):
    data = world(seed)
    scores = fit(data, DirectEffect(), strength=0.9).predict_proba(data.X)[:, 1]
    gap = score_gap(data.y, scores, sensitive_features=data.z)
    assert gap == pytest.approx(data.effects.explained, abs=0.03)


def test_the_order_of_rows_does_not_matter_to_the_default_criterion():
    data = make_synthetic(2_000, random_state=7)
    order = np.random.default_rng(0).permutation(2_000)
    one, other = (
        FairLogisticRegression(strength=0.9).fit(
            data.X[rows], data.y[rows], sensitive_features=data.z[rows]
        )
        for rows in (np.arange(2_000), order)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def test_the_origin_of_the_columns_does_not_matter():
    data = make_synthetic(2_000, random_state=7)
    one, other = (
        FairLogisticRegression(Parity(), strength=0.9).fit(
            data.X + shift, data.y, sensitive_features=data.z
        )
        for shift in (0, 1e6)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)


# --- levels that few rows share ------------------------------------------------------------------


def people_of_many_levels(n_rows=1_500, n_levels=350, seed=0):
    """Return one-hot levels, most of them rare and of one label; labels and z."""
    rng = np.random.default_rng(seed)
    level = np.minimum((rng.pareto(0.7, n_rows) * 3).astype(int), n_levels - 1)
    level[:n_levels] = np.arange(n_levels)
    z = rng.integers(0, 2, n_rows)
    margin = 2 * rng.normal(size=n_levels)[level] + 2 * z - 1
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-margin))).astype(int)
    return np.eye(n_levels)[level], y, z


def test_rare_levels_give_finite_coefficients_and_a_warning_that_says_what_to_do():
    X, y, z = people_of_many_levels()
    shifted = FittedCriterion(FairTarget(), np.tile([0.35, 0.65], (len(z), 1)))
    with pytest.warns(ConvergenceWarning, match=r"l2=6\.7e-04 was used.*set l2"):
        model = FairLogisticRegression(shifted).fit(X, y, sensitive_features=z)
    assert abs(model.decision_function(X)).max() < 20
    assert np.isfinite([model.log_loss_, model.penalty_]).all()
    regularised = FairLogisticRegression(shifted, l2=1 / 1_500).fit(X, y, sensitive_features=z)
    assert np.array_equal(model.coef_, regularised.coef_)


def test_rare_levels_leave_a_model_of_plain_labels_as_it_is():
    X, y, z = people_of_many_levels()
    shifted = FittedCriterion(FairTarget(), np.tile([0.35, 0.65], (len(z), 1)))
    model = FairLogisticRegression(shifted, strength=0.0).fit(X, y, sensitive_features=z)
    assert model.n_iter_[0] < 30
    assert abs(model.coef_).max() < 30
