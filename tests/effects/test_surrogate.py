"""The surrogate: what z and the propensity score say about a label or a score."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, make_people
from scipy.special import expit

from unsway.datasets import make_synthetic
from unsway.effects import (
    IllPosedSurrogateError,
    ScoreBasis,
    SurrogateDesign,
    fit_surrogate,
)

PEOPLE = make_people(120, seed=2)
B, Z, Y, WEIGHTS = PEOPLE.b, PEOPLE.z, PEOPLE.y, PEOPLE.weights

DESIGNS = [
    {"outcome_degree": 1, "effect_degree": 0},
    {"outcome_degree": 1, "effect_degree": 1},
    {"outcome_degree": 3, "effect_degree": 1},
    {"outcome_degree": 0, "effect_degree": 2},
    {"outcome_degree": 5, "effect_degree": 3, "basis": "spline"},
]
each_design = pytest.mark.parametrize("design", DESIGNS, ids=str)


def columns_of(design):
    """Return Γ, written out a second time for powers of b."""
    highest = max(design["outcome_degree"], design["effect_degree"])
    outcome = [B**k for k in range(highest + 1)]
    effect = [Z * B**k for k in range(design["effect_degree"] + 1)]
    return np.column_stack(outcome + effect), highest + 1


def test_on_four_rows_the_effect_is_as_by_hand():
    # at b = .2 the groups differ by .2, at b = .8 by .6: MFCDE(b) = 1/15 + 2b/3
    b, z = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 1.0, 0.0, 1.0])
    fitted = fit_surrogate(np.array([0.1, 0.3, 0.2, 0.8]), b, z, effect_degree=1)
    assert_close(fitted.effect(np.array([0.2, 0.5, 0.8])), [0.2, 0.4, 0.6], 1e-12)
    assert_close(fitted.effect_coefficients, [1 / 15, 2 / 3], 1e-12)
    assert_close(fitted.outcome_coefficients, [1 / 15, 1 / 6], 1e-12)


def test_on_four_rows_the_fair_target_is_as_by_hand():
    # half of the effect is given to z = 0 and taken from z = 1
    b, z = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 1.0, 0.0, 1.0])
    y = np.array([0.1, 0.3, 0.2, 0.8])
    fitted = fit_surrogate(y, b, z, effect_degree=1)
    assert_close(fitted.fair_target(y, z, b), [0.2, 0.2, 0.5, 0.5], 1e-12)
    assert_close(fitted.fair(b), [0.2, 0.2, 0.5, 0.5], 1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("design", DESIGNS[:-1], ids=str)
def test_coefficients_are_those_of_numpys_least_squares(design, weights):
    gamma, cut = columns_of(design)
    root = np.ones(120) if weights is None else np.sqrt(weights)
    expected = np.linalg.lstsq(gamma * root[:, None], Y * root, rcond=None)[0]
    fitted = fit_surrogate(Y, B, Z, sample_weight=weights, **design)
    assert_close(fitted.outcome_coefficients, expected[:cut], 1e-8)
    assert_close(fitted.effect_coefficients, expected[cut:], 1e-8)


@each_design
def test_weights_equal_repeated_rows(design):
    copies = PEOPLE.repeated()
    weighted = fit_surrogate(Y, B, Z, sample_weight=WEIGHTS, **design)
    copied = fit_surrogate(copies.y, copies.b, copies.z, **design)
    assert_close(weighted.effect(B), copied.effect(B), 1e-8)
    assert_close(weighted.fair(B), copied.fair(B), 1e-8)


@each_design
def test_row_order_does_not_matter(design):
    order = np.random.default_rng(0).permutation(120)
    one = fit_surrogate(Y, B, Z, **design)
    other = fit_surrogate(Y[order], B[order], Z[order], **design)
    assert_close(one.effect(B), other.effect(B), 1e-8)


@each_design
def test_the_effect_is_the_difference_of_the_groups_curves(design):
    fitted = fit_surrogate(Y, B, Z, **design)
    difference = fitted.outcome(np.ones(120), B) - fitted.outcome(np.zeros(120), B)
    assert_close(fitted.effect(B), difference, 1e-12)


@each_design
def test_the_fair_curve_lies_halfway_between_the_groups(design):
    fitted = fit_surrogate(Y, B, Z, **design)
    halfway = (fitted.outcome(np.ones(120), B) + fitted.outcome(np.zeros(120), B)) / 2
    assert_close(fitted.fair(B), halfway, 1e-12)


@pytest.mark.parametrize("design", DESIGNS[:-1], ids=str)
def test_fair_coefficients_draw_the_fair_curve(design):
    fitted = fit_surrogate(Y, B, Z, **design)
    curve = np.polynomial.polynomial.polyval(B, fitted.fair_coefficients)
    assert_close(curve, fitted.fair(B), 1e-12)


def test_splines_have_no_fair_coefficients():
    fitted = fit_surrogate(Y, B, Z, **DESIGNS[-1])
    with pytest.raises(ValueError, match=r"exist for polynomials only; use fair\(b\)"):
        _ = fitted.fair_coefficients


@each_design
def test_the_gap_of_the_fair_target_is_the_labels_less_the_mean_of_both_direct_effects(design):
    fitted = fit_surrogate(Y, B, Z, **design)
    target, effect = fitted.fair_target(Y, Z, B), fitted.effect(B)

    def by_group(values):
        return values[Z == 1].mean(), values[Z == 0].mean()

    expected = np.subtract(*by_group(Y)) - sum(by_group(effect)) / 2
    assert_close(np.subtract(*by_group(target)), expected, 1e-12)


@each_design
def test_rows_of_the_design_turn_any_target_into_its_coefficients(design):
    decomposed = SurrogateDesign.of(B, Z, sample_weight=WEIGHTS, **design)
    fitted = decomposed.fit(PEOPLE.scores)
    expected = np.r_[fitted.outcome_coefficients, fitted.effect_coefficients]
    assert_close(decomposed.coefficient_rows().T @ PEOPLE.scores, expected, 1e-8)


@each_design
def test_orthonormal_rows_are_orthonormal_in_the_weights_with_a_constant_first(design):
    rows = SurrogateDesign.of(B, Z, sample_weight=WEIGHTS, **design).orthonormal_rows()
    assert_close(rows.T @ (rows / WEIGHTS[:, None]), np.eye(rows.shape[1]), 1e-12)
    assert np.ptp(rows[:, 0] / WEIGHTS) < 1e-14


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_splines_of_degree_up_to_three_are_the_powers(degree):
    one, other = (ScoreBasis.of(kind, degree, B)(B) for kind in ("polynomial", "spline"))
    assert (one == other).all()
    assert one.shape == (120, degree + 1)


@pytest.mark.parametrize("degree", [4, 5, 8])
def test_each_further_degree_of_a_spline_is_one_knot_more(degree):
    basis = ScoreBasis.of("spline", degree, B)
    assert len(basis.knots) == 8 + degree - 3
    assert basis.degree == degree
    assert np.linalg.matrix_rank(basis(B)) == degree + 1


def test_knots_lie_at_the_quantiles_of_the_scores():
    scores = np.random.default_rng(0).random(99)
    inner = ScoreBasis.of("spline", 6, scores).knots[4:-4]
    assert_close(inner, np.quantile(scores, [0.25, 0.5, 0.75], method="hazen"), 1e-12)


def test_a_spline_contains_every_cubic():
    basis = ScoreBasis.of("spline", 6, B)(B)
    for cubic in (np.ones(120), B, B**2, B**3):
        _, left, *_ = np.linalg.lstsq(basis, cubic, rcond=None)
        assert left[0] < 1e-20


def test_a_spline_is_flat_beyond_the_scores_it_was_made_for():
    basis = ScoreBasis.of("spline", 5, np.linspace(0.2, 0.8, 50))
    assert (basis(np.array([0.0, 1.0])) == basis(np.array([0.2, 0.8]))).all()


def test_few_distinct_scores_leave_a_spline_fewer_knots():
    basis = ScoreBasis.of("spline", 8, np.tile([0.2, 0.5, 0.8], 30))
    assert basis.degree + 1 == basis(np.array([0.3])).shape[1] < 9


def test_a_spline_follows_a_curve_that_a_line_misses():
    rng = np.random.default_rng(0)
    b = rng.uniform(0.05, 0.95, 2_000)
    z = (rng.random(2_000) < b).astype(float)
    effect = 0.3 * np.sin(6 * b)
    target = b + z * effect + rng.normal(scale=0.05, size=2_000)
    error = {
        basis: abs(
            fit_surrogate(target, b, z, outcome_degree=d + 1, effect_degree=d, basis=basis).effect(
                b
            )
            - effect
        ).max()
        for basis, d in (("polynomial", 1), ("spline", 5))
    }
    assert error["spline"] < 0.05 < 0.2 < error["polynomial"]


@pytest.fixture(scope="module")
def batches():
    """Return fair-target gap and both direct effects of ten batches of the paper's world."""
    found = []
    for seed in range(10):
        data = make_synthetic(20_000, random_state=seed)
        z, b = data.z.astype(float), data.propensity
        expected = expit(data.X @ data.coefficients + 1.25 * z)  # E[y|X,z]: y without its noise
        fitted = fit_surrogate(expected, b, z, outcome_degree=6, effect_degree=5, basis="spline")
        target, effect = fitted.fair_target(expected, z, b), fitted.effect(b)
        gap = target[z == 1].mean() - target[z == 0].mean()
        found.append((gap, effect[z == 0].mean(), effect[z == 1].mean()))
    return np.array(found), data.effects


@pytest.mark.parametrize(
    ("position", "name"), list(enumerate(["explained", "direct_reference", "direct_group"]))
)
def test_with_the_true_propensity_the_papers_truths_are_found(batches, position, name):
    found, truth = batches
    standard_error = found[:, position].std(ddof=1) / np.sqrt(len(found))
    assert abs(found[:, position].mean() - getattr(truth, name)) < 4 * standard_error < 0.05


def test_an_unknown_basis_is_refused_with_the_choices():
    with pytest.raises(
        ValueError, match=r"unknown basis 'fourier'; choose from polynomial, spline"
    ):
        fit_surrogate(Y, B, Z, basis="fourier")


def test_too_few_rows_are_refused_with_both_numbers():
    with pytest.raises(IllPosedSurrogateError, match=r"2 rows cannot determine 3 surrogate"):
        fit_surrogate(Y[:2], B[:2], Z[:2])


@pytest.mark.parametrize("group", [0, 1])
def test_a_single_group_is_refused(group):
    with pytest.raises(IllPosedSurrogateError, match=rf"z is {group} for every row"):
        fit_surrogate(Y, B, np.full(120, float(group)))


@pytest.mark.parametrize("reverse", [False, True])
def test_groups_without_overlap_are_refused_whichever_lies_above(reverse):
    scores = np.where((Z == 1) != reverse, 0.6, 0.1) + 0.2 * PEOPLE.scores
    with pytest.raises(IllPosedSurrogateError, match="the groups do not overlap"):
        fit_surrogate(Y, scores, Z)


def test_a_constant_score_is_refused_with_its_value():
    with pytest.raises(IllPosedSurrogateError, match=r"the propensity score is 0.5 for every row"):
        fit_surrogate(Y, np.full(120, 0.5), Z)


def test_a_refusal_is_a_value_error():
    assert issubclass(IllPosedSurrogateError, ValueError)
