"""The direct effect as a penalty, against what it says it is."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import (
    KnownScore,
    assert_close,
    direct_effect,
    make_people,
    penalty_of,
    rows_of,
    surrogate_of,
)
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import SplineTransformer

from unsway import FairLogisticRegression, score_gap
from unsway.criteria import DirectEffect, FittedCriterion, Parity
from unsway.datasets import make_synthetic, make_world
from unsway.effects import Propensity

DEGREES = [(1, 0), (2, 0), (2, 1), (3, 2)]
each_degree = pytest.mark.parametrize("degrees", DEGREES, ids=str)
each_weighting = pytest.mark.parametrize("weighted", [False, True])


def powers(b, degree):
    return np.column_stack([b**k for k in range(degree + 1)])


def least_squares(target, outcome, effect, z, weights):
    """Return α̃ and β̃ from NumPy's least squares on the outcome and effect functions of b."""
    root = np.sqrt(weights)
    gamma = np.hstack([outcome, z[:, None] * effect]) * root[:, None]
    zeta = np.linalg.lstsq(gamma, target * root, rcond=None)[0]
    return zeta[: outcome.shape[1]], zeta[outcome.shape[1] :]


def fair_coefficients(people, degrees, weights):
    """Return γ of the labels."""
    bases = powers(people.b, degrees[0]), powers(people.b, degrees[1])
    alpha, beta = least_squares(people.y, *bases, people.z, weights)
    return alpha + np.pad(beta, (0, len(alpha) - len(beta))) / 2


def curve_distance(people, outcome, effect, weights):
    """Return Var(surrogate of the scores − the labels' fair curve) / Var(b)."""
    alpha, beta = least_squares(people.y, outcome, effect, people.z, weights)
    fair = outcome @ alpha + effect @ beta / 2
    alpha, beta = least_squares(people.scores, outcome, effect, people.z, weights)
    difference = outcome @ alpha + people.z * (effect @ beta) - fair
    return np.cov(difference, aweights=weights, ddof=0) / np.cov(people.b, aweights=weights, ddof=0)


@each_weighting
@each_degree
def test_statistics_are_the_least_squares_coefficients_of_the_scores(degrees, weighted):
    people = make_people(80, seed=4)
    weights = people.weights if weighted else None
    penalty = penalty_of(direct_effect(*degrees), people, weights)
    bases = powers(people.b, degrees[0]), powers(people.b, degrees[1])
    w = people.weights if weighted else np.ones(80)
    alpha, beta = least_squares(people.scores, *bases, people.z, w)
    assert_close(penalty.statistics(people.scores), np.r_[alpha[1:], beta], 1e-9)


@each_weighting
@each_degree
@pytest.mark.parametrize("form", ["match", "interval", "paper"])
def test_coefficient_norm_is_the_papers_sum(form, degrees, weighted):
    people = make_people(80, seed=5)
    weights = people.weights if weighted else np.ones(80)
    gamma = fair_coefficients(people, degrees, weights)[1:]
    bases = powers(people.b, degrees[0]), powers(people.b, degrees[1])
    alpha, beta = least_squares(people.scores, *bases, people.z, weights)
    alpha = alpha[1:]
    distance = {
        "match": alpha - gamma,
        "paper": (abs(alpha) > abs(gamma)) * (alpha - gamma),
        "interval": alpha - np.clip(alpha, np.minimum(0, gamma), np.maximum(0, gamma)),
    }[form]
    penalty = penalty_of(direct_effect(*degrees, form=form), people, weights)
    assert_close(penalty.value(people.scores), (distance**2).sum() + (beta**2).sum(), 1e-8)


@each_weighting
@each_degree
def test_function_norm_is_the_mean_squared_difference_of_the_curves(degrees, weighted):
    people = make_people(80, seed=6)
    weights = people.weights if weighted else np.ones(80)
    penalty = penalty_of(direct_effect(*degrees, norm="function"), people, weights)
    bases = powers(people.b, degrees[0]), powers(people.b, degrees[1])
    assert_close(penalty.value(people.scores), curve_distance(people, *bases, weights), 1e-9)


def test_function_norm_of_splines_is_that_of_scikit_learns_splines():
    people = make_people(300, seed=7)
    bases = []
    for degree in (5, 3):
        knots = np.quantile(people.b, np.linspace(0, 1, degree - 1), method="hazen")
        bases.append(SplineTransformer(knots=knots[:, None]).fit_transform(people.b[:, None]))
    found = penalty_of(direct_effect(5, 3, norm="function", basis="spline"), people)
    assert_close(found.value(people.scores), curve_distance(people, *bases, np.ones(300)), 1e-7)


def test_function_norm_on_a_line_weighs_slope_and_effect_by_their_spread():
    # R = ((α̃₁−γ₁)²·var b + 2(α̃₁−γ₁)β̃·cov(b,z) + β̃²·var z) / var b
    people = make_people(80, seed=8)
    gamma = fair_coefficients(people, (1, 0), np.ones(80))[1]
    alpha, beta = least_squares(
        people.scores, powers(people.b, 1), powers(people.b, 0), people.z, np.ones(80)
    )
    spread = np.cov(people.b, people.z, ddof=0)
    apart = np.array([alpha[1] - gamma, beta[0]])
    expected = apart @ spread @ apart / spread[0, 0]
    found = penalty_of(direct_effect(norm="function"), people).value(people.scores)
    assert_close(found, expected, 1e-10)


def test_both_norms_are_the_squared_difference_of_slopes_where_z_does_nothing():
    people = make_people(80, seed=9)
    scores = 0.1 + 0.7 * people.b
    expected = (0.7 - fair_coefficients(people, (1, 0), np.ones(80))[1]) ** 2
    for options in ({"norm": "function"}, {"form": "match"}):
        found = penalty_of(direct_effect(**options), people).value(scores)
        assert_close(found, expected, 1e-10)


@pytest.mark.parametrize("basis", ["polynomial", "spline"])
def test_function_norm_in_units_of_the_spread_of_b_is_the_same_for_any_line_of_it(basis):
    people = make_people(80, seed=10)
    criterion = direct_effect(4, 1, norm="function", basis=basis)

    def distance(b):
        fitted = FittedCriterion(criterion, b, Propensity())
        return fitted.penalty(rows_of(None, people.y, people.z)).value(people.scores) * b.var()

    expected = distance(people.b)
    for line in (1 - people.b, 0.1 + 0.9 * people.b, 0.25 + 0.5 * people.b):
        assert_close(distance(line), expected, 1e-7)


@each_weighting
def test_function_norm_knows_the_largest_curvature_of_its_statistics(weighted):
    people = make_people(80, seed=10)
    weights = people.weights if weighted else np.ones(80)
    penalty = penalty_of(direct_effect(2, 1, norm="function"), people, weights)
    scaled = penalty.matrix / np.sqrt(weights)[:, None]
    assert penalty.spectral == pytest.approx(np.linalg.eigvalsh(scaled @ scaled.T)[-1], rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"form": form} for form in ("interval", "match", "paper")]
    + [{"norm": "function"}, {"norm": "function", "basis": "spline"}],
    ids=str,
)
@pytest.mark.parametrize("degrees", [(1, 0), (3, 1)], ids=str)
def test_the_fair_curve_itself_costs_nothing(options, degrees):
    people = make_people(80, seed=11)
    fitted = direct_effect(*degrees, **options).fit(rows_of(people.X, people.y, people.z))
    fair = surrogate_of(fitted, people.y, people.z).fair(people.b)
    found = fitted.penalty(rows_of(None, people.y, people.z)).value(fair)
    assert found == pytest.approx(0.0, abs=1e-18)


@pytest.mark.parametrize("form", ["interval", "paper"])
def test_constant_scores_cost_nothing_in_the_one_sided_forms(form):
    people = make_people(80, seed=12)
    penalty = penalty_of(direct_effect(form=form), people)
    assert penalty.value(np.full(80, 0.4)) == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("options", [{"form": "match"}, {"norm": "function"}], ids=str)
def test_constant_scores_cost_the_squared_fair_slope_in_the_two_sided_ones(options):
    people = make_people(80, seed=12)
    slope = fair_coefficients(people, (1, 0), np.ones(80))[1]
    penalty = penalty_of(direct_effect(**options), people)
    assert penalty.value(np.full(80, 0.4)) == pytest.approx(slope**2, rel=1e-9)


@pytest.fixture(scope="module")
def synthetic():
    """Return the paper's world with its true propensity in front of the covariates."""
    data = make_synthetic(100_000, random_state=4)
    X = np.column_stack([data.propensity, data.X])
    return data, direct_effect(), X, data.z.astype(float), data.y.astype(float)


@pytest.mark.parametrize("outcome_degree", [1, 2, 3])
def test_with_the_true_propensity_a_blind_score_has_no_effect_of_z(synthetic, outcome_degree):
    data, _, X, z, _ = synthetic
    surrogate = surrogate_of(
        direct_effect(outcome_degree).fit(rows_of(X, np.zeros_like(z), z)), data.fair_score, z
    )
    left = z - data.propensity
    residual = data.fair_score - surrogate.outcome(z, data.propensity)
    standard_error = np.sqrt((left**2 * residual**2).sum()) / (left**2).sum()
    assert abs(surrogate.effect_coefficients[0]) < 4 * standard_error < 0.02


def test_a_blind_score_is_steeper_than_the_fair_curve_by_half_the_effect(synthetic):
    # E[p|b] = E[y|z=0,b] + b·MFCDE(b): the slope α₁ + β₀, not α₁
    data, criterion, X, z, y = synthetic
    fitted = criterion.fit(rows_of(X, np.zeros_like(z), z))
    labels = surrogate_of(fitted, y, z)
    margin = data.X @ data.coefficients
    at_one, at_zero = (1 / (1 + np.exp(-margin - shift)) for shift in (1.25, 0.0))
    blind = data.propensity * at_one + (1 - data.propensity) * at_zero
    slope = surrogate_of(fitted, blind, z).outcome_coefficients[1]
    expected = labels.outcome_coefficients[1] + labels.effect_coefficients[0]
    assert slope == pytest.approx(expected, abs=0.02)
    assert slope > labels.fair_coefficients[1] + 0.1


def test_the_oracle_fair_score_costs_less_than_a_blind_one(synthetic):
    data, criterion, X, z, y = synthetic
    penalty = criterion.fit(rows_of(X, np.zeros_like(z), z)).penalty(rows_of(None, y, z))
    blind = LogisticRegression().fit(data.X, data.y).predict_proba(data.X)[:, 1]
    assert penalty.value(data.fair_score) < penalty.value(blind) / 20


def test_a_bare_classifier_is_wrapped_in_a_propensity():
    people = make_people(80)
    fitted = DirectEffect(propensity=LogisticRegression()).fit(people.checked())
    assert isinstance(fitted.model, Propensity)
    expected = LogisticRegression().fit(people.X, people.z).predict_proba(people.X)[:, 1]
    assert_close(fitted.row_values, expected, 1e-12)


def test_a_given_propensity_is_copied_before_it_is_fitted():
    people, given = make_people(80), Propensity(KnownScore(), clip=0.2)
    fitted = DirectEffect(propensity=given).fit(rows_of(people.X, people.y, people.z))
    assert not hasattr(given, "model_")
    assert_close(fitted.row_values, np.clip(people.b, 0.2, 0.8), 1e-12)


def test_without_a_choice_the_propensity_is_the_default_one():
    people = make_people(200, seed=1)
    fitted = DirectEffect().fit(rows_of(people.X, people.y, people.z))
    assert_close(fitted.row_values, Propensity().fit_predict(people.X, people.z), 1e-12)


def test_out_of_fold_scores_are_kept_at_the_rows_and_not_recomputed():
    people = make_people(200, seed=1)
    propensity = Propensity(LogisticRegression(), cross_fit=True)
    fitted = DirectEffect(propensity=propensity).fit(rows_of(people.X, people.y, people.z))
    rows = np.arange(0, 200, 3)
    assert (fitted.take(rows).row_values == fitted.row_values[rows]).all()
    assert abs(fitted.at(people.X).row_values - fitted.row_values).max() > 1e-4


def test_sample_weights_reach_the_propensity():
    people = make_people(200, seed=1)
    weights = 1 + 9 * people.z
    fitted = DirectEffect(propensity=LogisticRegression()).fit(people.checked(weights))
    expected = LogisticRegression().fit(people.X, people.z, weights).predict_proba(people.X)[:, 1]
    assert_close(fitted.row_values, expected, 1e-12)


def test_the_scores_of_people_do_not_show_in_a_printed_criterion():
    people = make_people(80)
    assert "array" not in repr(direct_effect().fit(rows_of(people.X, people.y, people.z)))


# --- the base rate -------------------------------------------------------------------------------

BOTH_NORMS = [{"norm": "coefficient"}, {"norm": "function"}]
each_norm = pytest.mark.parametrize("options", BOTH_NORMS, ids=str)


@each_weighting
@each_norm
def test_a_fair_base_rate_adds_the_squared_distance_of_the_means(options, weighted):
    people = make_people(80, seed=13)
    weights = people.weights if weighted else None
    free, fair = (
        penalty_of(direct_effect(base_rate=base_rate, **options), people, weights)
        for base_rate in ("free", "fair")
    )
    gamma = fair_coefficients(people, (1, 0), people.weights if weighted else np.ones(80))
    apart = np.average(people.scores - gamma[0] - gamma[1] * people.b, weights=weights)
    added = fair.value(people.scores) - free.value(people.scores)
    assert added == pytest.approx(apart**2, rel=1e-9)
    assert fair.names == (*free.names, "base_rate")
    assert fair.statistics(people.scores)[-1] == pytest.approx(
        np.average(people.scores, weights=weights)
    )


@each_norm
def test_a_fair_base_rate_leaves_the_fair_curve_itself_free_of_cost(options):
    people = make_people(80, seed=11)
    fitted = direct_effect(base_rate="fair", **options).fit(rows_of(people.X, people.y, people.z))
    fair = surrogate_of(fitted, people.y, people.z).fair(people.b)
    penalty = fitted.penalty(rows_of(None, people.y, people.z))
    assert penalty.value(fair) == pytest.approx(0.0, abs=1e-18)
    assert penalty.value(fair + 0.1) == pytest.approx(0.01, rel=1e-9)


@each_weighting
def test_the_function_norm_knows_its_largest_curvature_with_a_fair_base_rate_too(weighted):
    people = make_people(80, seed=10)
    weights = people.weights if weighted else np.ones(80)
    penalty = penalty_of(direct_effect(2, 1, norm="function", base_rate="fair"), people, weights)
    scaled = penalty.matrix / np.sqrt(weights)[:, None]
    assert penalty.spectral == pytest.approx(np.linalg.eigvalsh(scaled @ scaled.T)[-1], rel=1e-9)


def base_rates(world, base_rate):
    """Return the mean of a model's scores, of the fair target's surrogate and of the labels."""
    data = make_world(world, 6_000, random_state=5)
    criterion = DirectEffect(
        base_rate=base_rate, propensity=LogisticRegression(), max_extreme_share=1.0
    )
    model = FairLogisticRegression(criterion, strength=0.975)
    p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    z, y = data.z.astype(float), data.y.astype(float)
    fitted = criterion.fit(rows_of(data.X, np.zeros_like(z), z))
    return p.mean(), surrogate_of(fitted, y, z).fair(fitted.row_values).mean(), y.mean()


def test_a_fair_base_rate_moves_the_mean_score_where_a_group_is_small():
    free, fair, labels = base_rates("imbalanced", "free")
    assert free == pytest.approx(labels, abs=0.01)
    assert fair > labels + 0.05
    assert base_rates("imbalanced", "fair")[0] == pytest.approx(fair, abs=0.01)


@pytest.mark.parametrize("world", ["paper", "no_direct_effect", "opposed_effects"])
def test_a_fair_base_rate_is_that_of_the_labels_where_the_groups_are_of_one_size(world):
    score, fair, labels = base_rates(world, "fair")
    assert fair == pytest.approx(labels, abs=0.003)
    assert score == pytest.approx(labels, abs=0.003)


# --- one side and two ----------------------------------------------------------------------------


def left_by(world, criterion, strength=0.9):
    """Return the direct effect left in logistic regression."""
    data = make_world(world, 6_000, random_state=6)
    model = FairLogisticRegression(criterion, strength)
    p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    return score_gap(data.y, p, sensitive_features=data.z) - data.effects.explained


@pytest.mark.parametrize("world", ["paper", "opposed_effects"])
@pytest.mark.parametrize("options", [{}, {"norm": "function"}], ids=str)
def test_the_two_sided_penalty_removes_the_effect_whichever_way_it_points(world, options):
    criterion = DirectEffect(propensity=LogisticRegression(), **options)
    assert abs(left_by(world, Parity(), 0.0)) > 0.1
    assert abs(left_by(world, criterion)) < 0.03


@pytest.mark.parametrize("form", ["interval", "paper"])
def test_a_one_sided_penalty_does_nothing_where_the_effects_oppose(form):
    criterion = DirectEffect(propensity=LogisticRegression(), form=form)
    blind, penalised = (left_by("opposed_effects", criterion, s) for s in (0.0, 0.9))
    assert penalised == pytest.approx(blind, abs=0.01)


def test_the_two_sided_form_is_the_default():
    people = make_people(80, seed=12)
    default, match = direct_effect(), direct_effect(form="match")
    assert default.form == "match"
    assert penalty_of(default, people).value(people.scores) == penalty_of(match, people).value(
        people.scores
    )


def test_an_unknown_base_rate_is_refused_with_the_choices():
    people = make_people(80)
    with pytest.raises(ValueError, match=r"unknown base_rate 'fixed'; choose from free, fair"):
        direct_effect(base_rate="fixed").fit(rows_of(people.X, people.y, people.z))
