"""How strong an omitted variable must be to change what is said about the effect of z."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from contracts import each_container, mixed_columns
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unsway.effects.confounding import (
    ImpossibleConfounderError,
    adjusted_effect,
    benchmark_strength,
    e_value,
    effect_bounds,
    extreme_robustness_value,
    partial_r2,
    robustness_value,
)
from unsway.effects.sensitivity import Benchmark, sensitivity


def world(n=300, seed=0, confounding=0.6):
    """Return X, y, z and the confounder U that a study would not have measured."""
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(n, 2)), rng.normal(size=n)
    z = (X[:, 0] + confounding * u + rng.normal(size=n) > 0).astype(int)
    y = 0.5 * z + X @ [1.0, 0.5] + confounding * u + rng.normal(size=n)
    return X, y, z, u


def ols(design, y, weights=None):
    """Return coefficients, standard errors and residual sum of squares, by the normal equations."""
    weights = np.ones(len(y)) if weights is None else weights
    gram = design.T @ (design * weights[:, None])
    found = np.linalg.solve(gram, design.T @ (weights * y))
    rss = weights @ (y - design @ found) ** 2
    dof = (weights > 0).sum() - design.shape[1]
    return found, np.sqrt(np.diag(np.linalg.inv(gram)) * rss / dof), rss


def of_constant(*columns):
    return np.column_stack([np.ones(len(columns[0])), *columns])


def strength_of(u, X, y, z):
    """Return what u explains of z given X, and of y given X and z."""
    z_left, z_then = ols(of_constant(X), z)[2], ols(of_constant(X, u), z)[2]
    y_left, y_then = ols(of_constant(X, z), y)[2], ols(of_constant(X, z, u), y)[2]
    return 1 - z_then / z_left, 1 - y_then / y_left


def test_a_robustness_value_by_hand():
    # |t|/√dof = 1.5, so ½(√(1.5⁴ + 4·1.5²) − 1.5²) = ½(3.75 − 2.25)
    assert robustness_value(-3.0, 4) == pytest.approx(0.75, abs=1e-15)


def test_half_the_effect_takes_the_robustness_value_of_half_the_t_statistic():
    assert robustness_value(4.0, 50, q=0.5) == pytest.approx(robustness_value(2.0, 50), rel=1e-14)


def test_an_effect_that_is_not_significant_has_no_robustness_at_that_level():
    assert robustness_value(1.5, 100, alpha=0.05) == 0.0
    assert extreme_robustness_value(1.5, 100, alpha=0.05) == 0.0
    assert robustness_value(1.5, 100) > 0.1


@given(st.floats(0.1, 60), st.integers(3, 500), st.floats(0.1, 1), st.sampled_from([1, 0.5, 0.05]))
def test_a_confounder_of_the_robustness_value_just_brings_the_bound_to_the_aim(t, dof, q, alpha):
    found = robustness_value(t, dof, q, alpha)
    low, _ = effect_bounds(t, 1.0, dof, found, found, alpha)
    aim = (1 - q) * t
    if found > 0:
        assert low == pytest.approx(aim, abs=1e-8 * max(1, t))
    else:
        assert low <= aim + 1e-9


@given(st.floats(0.1, 60), st.integers(3, 500), st.sampled_from([1, 0.5, 0.05]))
def test_a_confounder_of_the_extreme_value_that_may_explain_all_of_y_does_too(t, dof, alpha):
    found = extreme_robustness_value(t, dof, alpha=alpha)
    if found > 0:
        low, _ = effect_bounds(t, 1.0, dof, found, 1.0, alpha)
        assert low == pytest.approx(0, abs=1e-8 * max(1, t))
        assert found <= robustness_value(t, dof, alpha=alpha) + 1e-12


def test_the_partial_r2_is_the_share_of_the_squares_that_z_explains():
    X, y, z, _ = world()
    share = 1 - ols(of_constant(X, z), y)[2] / ols(of_constant(X), y)[2]
    assert sensitivity(X, y, sensitive_features=z).partial_r2 == pytest.approx(share, rel=1e-10)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_adjusted_effect_is_that_of_the_regression_with_the_confounder(seed):
    X, y, z, u = world(seed=seed)
    found = sensitivity(X, y, sensitive_features=z, benchmarks=())
    whole = sensitivity(np.column_stack([X, u]), y, sensitive_features=z, benchmarks=())
    strength = strength_of(u, X, y, z)
    adjusted = found.adjusted(*strength)
    assert adjusted.estimate == pytest.approx(whole.effect.estimate, rel=1e-9)
    assert adjusted.se == pytest.approx(whole.effect.se, rel=1e-9)
    assert adjusted.low == pytest.approx(whole.effect.low, rel=1e-9)
    low, high = found.bounds(*strength)
    assert low == pytest.approx(whole.effect.estimate, rel=1e-9)
    assert high == pytest.approx(2 * found.effect.estimate - low, rel=1e-9)


def test_a_confounder_that_hid_the_effect_raises_it_and_signs_are_kept():
    lower, _ = adjusted_effect(-0.1, 0.02, 100, 0.2, 0.04)
    higher, _ = adjusted_effect(-0.1, 0.02, 100, 0.2, 0.04, reduce=False)
    assert (lower, higher) == pytest.approx((-0.08, -0.12), abs=1e-15)


def test_the_adjusted_standard_error_by_hand():
    # .3·√(.81/.81·10/9) = .3·√(10/9)
    assert adjusted_effect(0.1, 0.3, 10, 0.19, 0.19)[1] == pytest.approx(0.1**0.5, abs=1e-15)


def test_a_benchmark_by_hand():
    # k·r/(1−r) = ½; ((1+√¼)²/(1−¼))·(.2/.8) = ¾
    assert benchmark_strength(1 / 3, 0.2) == pytest.approx((0.5, 0.75), abs=1e-12)


def test_a_confounder_cannot_explain_more_of_y_than_there_is():
    assert benchmark_strength(0.1, 0.9, 3)[1] == 1.0
    assert benchmark_strength(0.1, 1.0, 1)[1] == 1.0


@pytest.mark.parametrize(("r2_z", "strength"), [(0.5, 1.0), (0.3, 3.0), (0.9, 0.5)])
def test_a_confounder_that_would_explain_more_than_all_of_z_is_refused(r2_z, strength):
    with pytest.raises(ImpossibleConfounderError, match=r"no confounder is .* times as strong"):
        benchmark_strength(r2_z, 0.2, strength)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: robustness_value(2.0, 1), "dof must be a finite number above 1"),
        (lambda: robustness_value(np.nan, 10), "t_statistic must be a finite number"),
        (lambda: robustness_value(2.0, 10, q=0), "q must be a finite number above 0"),
        (lambda: partial_r2(2.0, np.inf), "dof must be a finite number above 1"),
        (
            lambda: robustness_value(2.0, 10, alpha=0),
            "alpha must be a finite number above 0 and at most 1",
        ),
        (
            lambda: adjusted_effect(1, 1, 10, 1.0, 0.5),
            "r2_z must be a finite number of at least 0 and below 1",
        ),
        (
            lambda: adjusted_effect(1, 1, 10, 0.5, 1.1),
            "r2_y must be a finite number of at least 0 and at most 1",
        ),
        (lambda: effect_bounds(1, 1, 10, np.nan, 0.5), "r2_z must be"),
        (lambda: effect_bounds(1, 1, 10, 0.5, 2.0), "r2_y must be"),
        (lambda: adjusted_effect(1, 0, 10, 0.5, 0.1), "se must be a finite number above 0"),
        (
            lambda: benchmark_strength(0.1, 0.1, -1),
            "strength must be a finite number of at least 0",
        ),
    ],
)
def test_numbers_that_make_no_sense_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_e_value_of_smoking_and_lung_cancer_is_the_one_the_evalue_package_prints():
    found = e_value(10.73, 8.02, 14.36)
    assert (found.estimate, found.limit) == pytest.approx((20.94777, 15.52336), abs=5e-6)


def test_a_protective_ratio_has_the_e_value_of_its_inverse():
    # 1/.8 = 1.25: 1.25 + √(1.25·.25); the limit nearest to 1 is .91
    found = e_value(0.8, 0.71, 0.91)
    assert found.estimate == pytest.approx(1.25 + np.sqrt(0.3125), rel=1e-12)
    assert found.limit == pytest.approx(e_value(1 / 0.91).estimate, rel=1e-12)


def test_an_interval_that_holds_one_needs_no_confounder():
    assert e_value(1.3, 0.9, 1.9).limit == 1.0
    assert e_value(0.7, 0.4, 1.1).limit == 1.0


def test_an_odds_ratio_stands_for_itself_where_the_outcome_is_rare_else_for_its_root():
    common = e_value(4.0, 2.25, 9.0, scale="odds_ratio")
    assert common == e_value(2.0, 1.5, 3.0)
    assert e_value(4.0, 2.25, scale="odds_ratio", rare=True) == e_value(4.0, 2.25)


def test_a_difference_of_risks_is_turned_into_their_ratio():
    found = e_value(0.1, -0.3, 0.2, scale="risk_difference", base_risk=0.2)
    assert found.ratio == pytest.approx(1.5, rel=1e-15)
    assert found.limit == 1.0


def test_without_an_interval_there_is_no_e_value_of_its_limit():
    assert e_value(2.0).limit is None
    assert e_value(2.0, high=3.0).limit is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0.0,), {}, "a ratio is positive"),
        ((2.0, 2.5), {}, "low ≤ estimate ≤ high"),
        ((np.nan,), {}, "low ≤ estimate ≤ high"),
        ((2.0,), {"scale": "hazard"}, "unknown scale 'hazard'"),
        ((0.1,), {"scale": "risk_difference"}, "needs a base_risk"),
        ((0.1,), {"scale": "risk_difference", "base_risk": 1.2}, "needs a base_risk"),
        ((-0.3,), {"scale": "risk_difference", "base_risk": 0.2}, "is no risk"),
    ],
)
def test_an_effect_without_an_e_value_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        e_value(*arguments, **options)


def test_the_effect_and_its_error_are_those_of_least_squares():
    X, y, z, _ = world()
    coefficients, errors, _ = ols(of_constant(z, X), y)
    found = sensitivity(X, y, sensitive_features=z)
    assert found.dof == 296
    assert found.effect.estimate == pytest.approx(coefficients[1], rel=1e-10)
    assert found.effect.se == pytest.approx(errors[1], rel=1e-10)


def test_weights_are_those_of_the_squares_and_their_scale_does_not_matter():
    X, y, z, _ = world()
    weights = np.random.default_rng(1).uniform(0, 2, len(y))
    weights[:20] = 0
    coefficients, errors, _ = ols(of_constant(z, X), y, weights)
    for scale in (1, 1000):
        found = sensitivity(X, y, sensitive_features=z, sample_weight=scale * weights)
        assert found.dof == 276
        assert found.effect.estimate == pytest.approx(coefficients[1], rel=1e-9)
        assert found.effect.se == pytest.approx(errors[1], rel=1e-9)


def test_a_row_without_weight_counts_as_absent():
    X, y, z, _ = world()
    weights = (np.arange(len(y)) >= 40).astype(float)
    found = sensitivity(X, y, sensitive_features=z, sample_weight=weights)
    kept = sensitivity(X[40:], y[40:], sensitive_features=z[40:])
    assert found.to_frame().drop(columns="benchmark").to_numpy() == pytest.approx(
        kept.to_frame().drop(columns="benchmark").to_numpy(), rel=1e-9, abs=1e-12, nan_ok=True
    )


def test_collinear_and_constant_columns_change_nothing_and_cost_no_degree_of_freedom():
    X, y, z, _ = world()
    more = np.column_stack([X, X @ [2.0, -1.0] + 3, np.ones(len(X))])
    lean = sensitivity(X, y, sensitive_features=z, benchmarks=())
    full = sensitivity(more, y, sensitive_features=z, benchmarks=())
    assert full.dof == lean.dof
    assert full.effect.estimate == pytest.approx(lean.effect.estimate, rel=1e-9)
    assert full.robustness_value == pytest.approx(lean.robustness_value, rel=1e-9)


def test_a_column_that_others_determine_explains_nothing_by_itself_but_with_them_it_does():
    X, y, z, _ = world()
    doubled = np.column_stack([X, X[:, 0]])
    groups = {"copy": 2, "both": [0, 2]}
    alone, both = sensitivity(
        doubled, y, sensitive_features=z, benchmarks=groups, strengths=[1]
    ).benchmarks
    (single,) = sensitivity(X, y, sensitive_features=z, benchmarks=[0], strengths=[1]).benchmarks
    assert (alone.r2_z, alone.r2_y) == pytest.approx((0, 0), abs=1e-12)
    assert (both.r2_z, both.r2_y) == pytest.approx((single.r2_z, single.r2_y), rel=1e-9)


def test_all_levels_of_a_category_make_one_benchmark():
    X, y, z, _ = world()
    letters = np.array(["a", "b", "c"], dtype=object)[np.digitize(X[:, 1], [-0.5, 0.5])]
    table = np.column_stack([X[:, 0].astype(object), letters])
    (found,) = sensitivity(
        table, y, sensitive_features=z, benchmarks=["column 1"], strengths=[1]
    ).benchmarks
    dummies = letters[:, None] == ["b", "c"]
    expected = benchmark_strength(*strength_of(dummies, X[:, :1], y, z))
    assert (found.r2_z, found.r2_y) == pytest.approx(expected, rel=1e-9)


def test_a_benchmark_may_be_named_by_the_name_or_the_position_of_its_column():
    X, y, z, _ = world()
    for benchmarks in ("column 1", 1, [np.int64(1)], {"column 1": 1}, {"column 1": ["column 1"]}):
        found = sensitivity(X, y, sensitive_features=z, benchmarks=benchmarks, strengths=[1])
        assert [row.benchmark for row in found.benchmarks] == ["column 1"]


@each_container
def test_any_table_gives_a_benchmark_per_column(container):
    columns, z = mixed_columns()
    y = np.random.default_rng(0).normal(size=len(z))
    found = sensitivity(container(columns), y, sensitive_features=z, strengths=[1])
    assert len(found.benchmarks) == len(columns)
    assert np.isfinite(found.effect.se)


def test_a_missing_value_is_marked_by_a_column_that_belongs_to_its_own():
    X, y, z, _ = world()
    holes = X.copy()
    holes[::7, 1] = np.nan
    found = sensitivity(holes, y, sensitive_features=z, strengths=[1])
    assert found.dof == 295
    filled = np.where(np.isnan(holes[:, 1]), 0, holes[:, 1])
    both = np.column_stack([filled, np.isnan(holes[:, 1])])
    expected = benchmark_strength(*strength_of(both, X[:, :1], y, z))
    assert (found.benchmarks[1].r2_z, found.benchmarks[1].r2_y) == pytest.approx(expected, rel=1e-9)


def test_many_rows_are_read_in_parts_with_the_same_result(monkeypatch):
    X, y, z, _ = world()
    whole = sensitivity(X, y, sensitive_features=z, strengths=[1])
    module = import_module("unsway.effects.sensitivity")  # its name is also the function's
    monkeypatch.setattr(module, "CHUNK", 7)
    parts = sensitivity(sparse.csr_matrix(X), y, sensitive_features=z, strengths=[1])
    assert parts.effect.estimate == pytest.approx(whole.effect.estimate, rel=1e-10)
    assert parts.benchmarks[1].estimate == pytest.approx(whole.benchmarks[1].estimate, rel=1e-9)


def test_a_benchmark_too_strong_to_exceed_is_said_to_be_so():
    X, y, z, _ = world()
    found = sensitivity(X, y, sensitive_features=z, benchmarks=[0], strengths=[1, 50])
    assert [bool(np.isnan(row.estimate)) for row in found.benchmarks] == [False, True]
    assert "50 x column 0: no confounder can be as strong" in repr(found)


def test_a_binary_outcome_gets_an_e_value_and_others_none():
    X, y, z, _ = world()
    positive = y > np.median(y)
    found = sensitivity(X, positive, sensitive_features=z)
    words = sensitivity(X, np.where(positive, "yes", "no"), sensitive_features=z)
    base = positive.mean() - found.effect.estimate * z.mean()
    assert found.e_value is not None
    assert found.e_value.ratio == pytest.approx(1 + found.effect.estimate / base, rel=1e-12)
    assert words.e_value == found.e_value
    assert sensitivity(X, y, sensitive_features=z).e_value is None


def test_the_words_say_what_it_takes():
    X, y, z, _ = world()
    found = sensitivity(X, y, sensitive_features=z, strengths=[1])
    assert "To bring the effect to zero, an unmeasured confounder or mediator" in repr(found)
    assert f"{found.robustness_value:.2%} of what is left of both z and y" in repr(found)
    assert "\n  1 x column 0: " in repr(found)
    assert "To take 50% off" in repr(sensitivity(X, y, sensitive_features=z, q=0.5))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_begins_with_the_effect_as_measured(backend):
    pytest.importorskip(backend)
    X, y, z, _ = world()
    found = sensitivity(X, y, sensitive_features=z, strengths=[1, 2])
    frame = found.to_frame(backend)
    assert frame.shape == (5, 8)
    names = getattr(frame, "column_names", None) or list(frame.columns)
    assert names == list(Benchmark.__dataclass_fields__)
    first = [np.asarray(frame[name])[0] for name in ("benchmark", "r2_z", "estimate")]
    assert first == ["(none)", 0.0, found.effect.estimate]


def test_the_order_of_rows_does_not_matter():
    X, y, z, _ = world()
    one = sensitivity(X, y, sensitive_features=z)
    other = sensitivity(X[::-1], y[::-1], sensitive_features=z[::-1])
    assert other.robustness_value == pytest.approx(one.robustness_value, rel=1e-10)
    assert other.benchmarks[0].r2_y == pytest.approx(one.benchmarks[0].r2_y, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmarks": ["income"]}, "benchmark 'income' is no column of X"),
        ({"benchmarks": {"none": []}}, "benchmark 'none' has no columns"),
        ({"q": -1}, "q must be a finite number above 0"),
        ({"alpha": 2}, "alpha must be a finite number above 0 and at most 1"),
        ({"strengths": [-1]}, "strength must be a finite number of at least 0"),
        ({"sensitive_features": np.zeros(300)}, "single level"),
        ({"y": np.ones(300)}, "y is the same for every row"),
        ({"y": np.ones(3)}, "y has 3 rows but X has 300"),
        ({"sample_weight": -np.ones(300)}, "negative values"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(change, message):
    X, y, z, _ = world()
    arguments = {"X": X, "y": y, "sensitive_features": z, **change}
    with pytest.raises(ValueError, match=message):
        sensitivity(**arguments)


def test_covariates_that_determine_z_or_y_are_refused():
    X, y, z, _ = world()
    with pytest.raises(ValueError, match="X contains the sensitive attribute"):
        sensitivity(np.column_stack([X, z]), y, sensitive_features=z)
    with pytest.raises(ValueError, match="X determines sensitive_features"):
        sensitivity(np.column_stack([X, X[:, 0] + z]), y, sensitive_features=z)
    with pytest.raises(ValueError, match="z and X determine y"):
        sensitivity(X, z + X[:, 0], sensitive_features=z)


def test_too_few_rows_for_the_columns_are_refused_with_the_count():
    X, y, z = np.eye(6)[:, :4], np.arange(6.0), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="leaves 0 degrees of freedom; at least 2"):
        sensitivity(X, y, sensitive_features=z)
