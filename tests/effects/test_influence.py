"""Effects from given nuisances: by hand, by another formula, and influence as a derivative."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from contracts import assert_close, make_people

from unsway.effects.influence import (
    EFFECTS,
    Mean,
    augmented_effect,
    doubly_robust,
    surrogate_effects,
    weighting,
)
from unsway.effects.nuisance import Nuisances

ESTIMATORS = {
    "doubly_robust": doubly_robust,
    "weighting": weighting,
    "surrogate": partial(surrogate_effects, outcome_degree=2, effect_degree=1),
    "flat surrogate": partial(surrogate_effects, outcome_degree=1, effect_degree=0),
}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def people_and_nuisances(n=60, seed=0):
    """Return people and nuisances that are wrong, so that nothing holds by their being right."""
    people = make_people(n, seed)
    rng = np.random.default_rng([seed, 1])
    b = np.clip(people.b + rng.normal(0, 0.05, n), 0.1, 0.9)
    return people, Nuisances(b, rng.uniform(0.1, 0.9, (n, 2)))


def values(found):
    return np.array([found[name].value for name in EFFECTS])


def take(nuisances, rows):
    return Nuisances(nuisances.propensity[rows], nuisances.outcome[rows])


# --- by hand -------------------------------------------------------------------------------------

Y = np.array([1.0, 0.0, 1.0, 1.0])
Z = np.array([0.0, 0.0, 1.0, 1.0])
HAND = Nuisances(
    np.array([0.5, 0.2, 0.5, 0.8]),
    np.array([[0.5, 0.75], [0.25, 0.5], [0.5, 0.75], [0.5, 1.0]]),
)


def test_four_rows_give_the_doubly_robust_effects_worked_out_by_hand():
    found = doubly_robust(Y, Z, np.ones(4), HAND)
    # m(1,0): rows 3, 4 give (1−b)/b·(y−μ₁) = 1·.25 + .25·0, rows 1, 2 give μ₁ = .75 + .5; over 2
    m10 = (0.25 + 0 + 0.75 + 0.5) / 2
    # m(0,1): rows 1, 2 give b/(1−b)·(y−μ₀) = 1·.5 + .25·(−.25), rows 3, 4 give μ₀; over 2
    m01 = (0.5 - 0.0625 + 0.5 + 0.5) / 2
    m00, m11 = 0.5, 1.0
    assert found["total"].value == pytest.approx(0.5)
    assert found["direct_reference"].value == pytest.approx(m10 - m00)
    assert found["direct_group"].value == pytest.approx(m11 - m01)
    assert found["indirect_reference"].value == pytest.approx(m01 - m00)
    assert found["indirect_group"].value == pytest.approx(m11 - m10)
    # τ̂ = ¼, ¼, ¼, ½; less .5/.5 and −.25/.8 in the first two rows, plus .25/.5 in the third
    assert found["direct_everyone"].value == pytest.approx((1.25 - 1 + 0.3125 + 0.5) / 4)
    # m̂ = .625, .3, .625, .9; z−b = −.5, −.2, .5, .2
    top = -0.5 * 0.375 + 0.2 * 0.3 + 0.5 * 0.375 + 0.2 * 0.1
    assert found["direct_overlap"].value == pytest.approx(top / 0.58)


def test_four_rows_give_the_weighted_effects_worked_out_by_hand():
    found = weighting(Y, Z, np.ones(4), HAND)
    # the z=0 rows weigh b/(1−b) = 1 and ¼ when moved to z=1, so m(0,1) = 1/1.25
    assert found["direct_group"].value == pytest.approx(1 - 0.8)
    assert found["direct_reference"].value == pytest.approx(1 - 0.5)
    # with 1/(1−b) = 2 and 1.25 the mean under z=0 is 2/3.25; with b it is .5/.7
    assert found["direct_everyone"].value == pytest.approx(1 - 2 / 3.25)
    assert found["direct_overlap"].value == pytest.approx(1 - 0.5 / 0.7)


def test_the_augmented_effect_of_four_rows_is_worked_out_by_hand():
    expected = [0.25 - 1, 0.25 + 0.3125, 0.25 + 0.5, 0.5]
    assert_close(augmented_effect(Y, Z, HAND), expected, 1e-12)


def test_a_mean_and_its_error_are_those_of_any_textbook():
    values_ = np.array([1.0, 2.0, 3.0, 6.0])
    found = Mean.of(values_, np.ones(4))
    assert found.value == 3
    assert_close(found.influence, values_ - 3, 1e-15)
    assert found.se == pytest.approx(np.std(values_) / 2)


def test_a_ratio_has_the_error_of_the_delta_method():
    top, bottom = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0])
    found = Mean.of(top, bottom)
    assert found.value == pytest.approx(7 / 4)
    assert found.se == pytest.approx(np.sqrt(np.sum((top - 1.75 * bottom) ** 2)) / 4)


def test_the_whole_difference_has_the_error_of_two_samples():
    people, nuisances = people_and_nuisances()
    found = doubly_robust(people.y, people.z, np.ones(60), nuisances)["total"]
    groups = [people.y[people.z == level] for level in (0, 1)]
    assert found.value == pytest.approx(groups[1].mean() - groups[0].mean())
    assert found.se == pytest.approx(np.sqrt(sum(np.var(group) / len(group) for group in groups)))


def test_the_surrogate_averages_the_fitted_line_over_those_concerned():
    people, nuisances = people_and_nuisances()
    b, z, w = nuisances.propensity, people.z, people.weights
    design = np.column_stack([np.ones(60), b, b**2, z, z * b])
    root = np.sqrt(w)[:, None]
    beta = np.linalg.lstsq(design * root, people.y * root.ravel(), rcond=None)[0][3:]
    curve = beta[0] + beta[1] * b
    found = ESTIMATORS["surrogate"](people.y, z, w / w.mean(), nuisances)
    for name, share in (
        ("direct_reference", w * (1 - z)),
        ("direct_group", w * z),
        ("direct_everyone", w),
        ("direct_overlap", w * b * (1 - b)),
    ):
        assert found[name].value == pytest.approx(np.average(curve, weights=share))


def test_a_flat_surrogate_has_the_robust_error_of_its_coefficient():
    people, nuisances = people_and_nuisances()
    design = np.column_stack([np.ones(60), nuisances.propensity, people.z])
    inverse = np.linalg.inv(design.T @ design)
    residual = people.y - design @ (inverse @ design.T @ people.y)
    hc0 = inverse @ (design.T * residual**2) @ design @ inverse
    found = ESTIMATORS["flat surrogate"](people.y, people.z, np.ones(60), nuisances)
    for name in ("direct_reference", "direct_group", "direct_everyone", "direct_overlap"):
        assert found[name].se == pytest.approx(np.sqrt(hc0[2, 2]))


# --- derivatives ---------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize("weighted", [False, True])
def test_influence_is_the_derivative_with_respect_to_a_rows_weight(estimator, weighted):
    people, nuisances = people_and_nuisances(n=40)
    weights = people.weights if weighted else np.ones(40)
    weights = weights / weights.mean()

    def at(changed):
        return values(estimator(people.y, people.z, changed / changed.mean(), nuisances))

    found = estimator(people.y, people.z, weights, nuisances)
    for row in range(0, 40, 3):
        step = np.zeros(40)
        step[row] = 1e-5 * weights[row]
        numerical = (at(weights + step) - at(weights - step)) / 2e-5
        influence = np.array([found[name].influence[row] for name in EFFECTS])
        assert_close(numerical, influence / 40, 1e-8)


@each_estimator
def test_influence_adds_up_to_zero(estimator):
    people, nuisances = people_and_nuisances()
    found = estimator(people.y, people.z, people.weights / people.weights.mean(), nuisances)
    for effect in found.values():
        assert abs(effect.influence.mean()) < 1e-10


@each_estimator
def test_leaving_a_row_out_moves_an_estimate_by_its_influence_to_first_order(estimator):
    people, nuisances = people_and_nuisances(n=2000)
    found = estimator(people.y, people.z, np.ones(2000), nuisances)
    for row in (0, 7, 99):
        rows = np.delete(np.arange(2000), row)
        without = estimator(people.y[rows], people.z[rows], np.ones(1999), take(nuisances, rows))
        for name in EFFECTS:
            moved = found[name].value - without[name].value
            assert moved == pytest.approx(found[name].influence[row] / 2000, rel=0.05, abs=1e-5)


# --- identities ----------------------------------------------------------------------------------


@each_estimator
def test_the_whole_difference_splits_in_two_ways_row_by_row(estimator):
    people, nuisances = people_and_nuisances()
    found = estimator(people.y, people.z, people.weights / people.weights.mean(), nuisances)
    for left, right in (
        ("direct_reference", "indirect_group"),
        ("direct_group", "indirect_reference"),
    ):
        total = found[left] + found[right]
        assert total.value == pytest.approx(found["total"].value)
        assert_close(total.influence, found["total"].influence, 1e-12)
    mean = (found["indirect_reference"] + found["indirect_group"]) * 0.5
    assert_close(mean.influence, found["explained"].influence, 1e-12)
    assert mean.value == pytest.approx(found["explained"].value)


@each_estimator
def test_a_weight_counts_as_a_repeated_row(estimator):
    people, nuisances = people_and_nuisances()
    weights = people.weights
    rows = np.repeat(np.arange(60), weights.astype(int))
    weighted = estimator(people.y, people.z, weights / weights.mean(), nuisances)
    repeated = estimator(people.y[rows], people.z[rows], np.ones(len(rows)), take(nuisances, rows))
    assert_close(values(weighted), values(repeated), 1e-12)


@each_estimator
def test_a_weight_of_zero_leaves_a_row_out_errors_included(estimator):
    people, nuisances = people_and_nuisances()
    weights = np.where(np.arange(60) % 5 == 4, 0.0, 1.0)
    rows = np.flatnonzero(weights)
    zero = estimator(people.y, people.z, weights / weights.mean(), nuisances)
    out = estimator(people.y[rows], people.z[rows], np.ones(len(rows)), take(nuisances, rows))
    assert_close(values(zero), values(out), 1e-12)
    for name in EFFECTS:
        assert zero[name].se == pytest.approx(out[name].se, rel=1e-10)


@each_estimator
def test_turning_z_around_turns_signs_and_exchanges_the_groups(estimator):
    people, nuisances = people_and_nuisances()
    turned = Nuisances(1 - nuisances.propensity, nuisances.outcome[:, ::-1])
    found = estimator(people.y, people.z, np.ones(60), nuisances)
    other = estimator(people.y, 1 - people.z, np.ones(60), turned)
    for name, twin in {
        "direct_reference": "direct_group",
        "direct_group": "direct_reference",
        "indirect_reference": "indirect_group",
        "indirect_group": "indirect_reference",
    }.items():
        assert other[name].value == pytest.approx(-found[twin].value, abs=1e-10)
        assert other[name].se == pytest.approx(found[twin].se)
    for name in ("total", "explained", "direct_everyone", "direct_overlap"):
        assert other[name].value == pytest.approx(-found[name].value, abs=1e-10)
        assert other[name].se == pytest.approx(found[name].se)


@each_estimator
def test_effects_are_in_the_units_of_y_and_know_no_origin(estimator):
    people, nuisances = people_and_nuisances()
    moved = Nuisances(nuisances.propensity, 3 - 10 * nuisances.outcome)
    found = estimator(people.y, people.z, np.ones(60), nuisances)
    other = estimator(3 - 10 * people.y, people.z, np.ones(60), moved)
    assert_close(values(other), -10 * values(found), 1e-10)
    for name in EFFECTS:
        assert other[name].se == pytest.approx(10 * found[name].se)


def test_perfect_outcome_means_make_the_propensity_irrelevant():
    people, nuisances = people_and_nuisances()
    mu = np.column_stack([people.X[:, 1], people.X[:, 1] ** 2])
    y = np.where(people.z == 1, mu[:, 1], mu[:, 0])
    found = doubly_robust(y, people.z, np.ones(60), Nuisances(nuisances.propensity, mu))
    effect = mu[:, 1] - mu[:, 0]
    assert found["direct_reference"].value == pytest.approx(effect[people.z == 0].mean())
    assert found["direct_group"].value == pytest.approx(effect[people.z == 1].mean())
    assert found["direct_everyone"].value == pytest.approx(effect.mean())
