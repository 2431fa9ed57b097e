"""The training objective: value, gradient and Hessian in the margin."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from contracts import (
    assert_close,
    by_torch,
    direct_effect,
    each_autodiff,
    full_hessian,
    jax_float64,
    make_people,
    numerical_derivative,
    objective_of,
    objectives,
    penalty_of,
    shifted_objective,
    varied,
)
from hypothesis import given
from sklearn.metrics import log_loss

from unsway.core import Distance, LogLoss, Losses, Objective, Penalty, check_strength
from unsway.core.curvature import diagonal
from unsway.core.loss import LARGEST_MARGIN

LOG3 = np.log(3.0)


def objective_on(people, strength=0.9, weights=None, criterion=None):
    penalty = penalty_of(criterion or direct_effect(2, 1), people, weights)
    return objective_of(penalty, people.y, strength, weights)


@pytest.fixture
def four_rows():
    """Return an objective on four rows whose scores are ¾, ¾, ½, ½ at the margin log 3, 0."""
    matrix = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    penalty = Penalty(matrix, Distance.of(["match"], np.zeros(1)), names=("gap",))
    objective = objective_of(penalty, np.array([1.0, 1.0, 0.0, 1.0]), strength=0.5)
    return objective, np.array([LOG3, LOG3, 0.0, 0.0])


def test_value_on_four_rows_is_as_by_hand(four_rows):
    objective, margin = four_rows
    by_hand = 0.5 * (2 * np.log(4 / 3) + 2 * np.log(2)) / 4 + 0.5 * 0.25**2
    assert objective.value(margin) == pytest.approx(by_hand, rel=1e-14)


def test_gradient_on_four_rows_is_as_by_hand(four_rows):
    # ½(p−y) + ½·4·p′·A·2·gap, with p′ = 3/16 at ¾ and gap ¼
    objective, margin = four_rows
    assert_close(objective.expand(margin).gradient, [-0.03125, -0.03125, 0.125, -0.375], 1e-14)


def test_curvature_parts_on_four_rows_are_as_by_hand(four_rows):
    objective, margin = four_rows
    expansion = objective.expand(margin)
    assert_close(expansion.utility_curvature, [3 / 32, 3 / 32, 1 / 8, 1 / 8], 1e-14)
    assert_close(expansion.bend, [-3 / 64, -3 / 64, 0.0, 0.0], 1e-14)  # ½·4·p″·A·2·gap
    assert expansion.stiffness.tolist() == [4.0]


@varied
@given(objectives())
def test_gradient_agrees_with_finite_differences(case):
    objective, margin = case
    numerical = numerical_derivative(lambda s: objective.total_weight * objective.value(s), margin)
    assert_close(objective.expand(margin).gradient, numerical, 1e-5)


@varied
@given(objectives())
def test_hessian_agrees_with_finite_differences_of_the_gradient(case):
    objective, margin = case
    numerical = numerical_derivative(lambda s: objective.expand(s).gradient, margin)
    assert_close(full_hessian(objective, objective.expand(margin)), numerical, 1e-5)


def autodiff_of(objective, margin, autodiff):
    """Return value, gradient and Hessian of W·f by an autodiff library."""

    def build(asarray):
        there = replace(
            objective,
            penalty=objective.penalty.map(asarray),
            target=asarray(objective.target),
            **{
                name: asarray(getattr(objective, name))
                for name in ("sample_weight", "shift")
                if getattr(objective, name) is not None
            },
        )
        return lambda s: there.total_weight * there.value(s)

    return autodiff(build, margin)


def assert_autodiff_agrees(objective, margin, autodiff):
    value, gradient, hessian = autodiff_of(objective, margin, autodiff)
    expansion = objective.expand(margin)
    whole = expansion.losses.whole(objective.strength)
    assert_close(value, objective.total_weight * whole, 1e-9)
    assert_close(gradient, expansion.gradient, 1e-9)
    assert_close(hessian, full_hessian(objective, expansion), 1e-9)


@varied
@given(objectives())
def test_gradient_and_hessian_agree_with_torch(case):
    objective, margin = case
    assert_autodiff_agrees(objective, margin, by_torch)


@each_autodiff
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["coefficient", "function"])
def test_gradient_and_hessian_agree_with_either_autodiff(autodiff, weighted, norm):
    people = make_people(24, seed=2)
    weights = people.weights if weighted else None
    objective = objective_on(people, 0.9, weights, direct_effect(2, 1, norm=norm))
    assert_autodiff_agrees(objective, people.margin, autodiff)


@each_autodiff
def test_autodiff_is_right_where_training_starts_at_the_margin_zero(autodiff):
    people = make_people(24, seed=2)
    objective = objective_on(people, criterion=direct_effect(form="match"))
    assert_autodiff_agrees(objective, np.zeros(24), autodiff)


@each_autodiff
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.7, 1.0])
def test_shifted_labels_agree_with_either_autodiff(autodiff, weighted, strength):
    people = make_people(24, seed=2)
    objective = shifted_objective(people, strength, people.weights if weighted else None)
    assert_autodiff_agrees(objective, people.margin, autodiff)


@pytest.mark.parametrize("make", [objective_on, shifted_objective])
def test_expanding_gives_the_same_numbers_in_every_library(make):
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    people = make_people(24, seed=4)
    objective = make(people, weights=people.weights)
    expected = objective.expand(people.margin)
    with jax_float64(jax):
        for convert in (torch.as_tensor, jax.numpy.asarray):
            there = replace(
                objective,
                penalty=objective.penalty.map(convert),
                target=convert(people.y),
                sample_weight=convert(people.weights),
                shift=None if objective.shift is None else convert(objective.shift),
            )
            found = there.expand(convert(people.margin))
            for name in ("gradient", "utility_curvature", "bend", "density", "stiffness"):
                assert_close(np.asarray(getattr(found, name)), getattr(expected, name), 1e-12)


def test_weights_equal_repeated_rows():
    people = make_people(40, seed=6)
    repeated = people.repeated()
    weighted = objective_on(people, weights=people.weights)
    copied = objective_on(repeated)
    owner = np.repeat(np.arange(40), people.weights.astype(int))
    summed = np.bincount(owner, copied.expand(repeated.margin).gradient)
    assert weighted.total_weight == copied.total_weight
    assert weighted.value(people.margin) == pytest.approx(copied.value(repeated.margin), rel=1e-12)
    assert_close(weighted.expand(people.margin).gradient, summed, 1e-10)


def test_row_order_does_not_matter():
    people = make_people(40, seed=7)
    order = np.random.default_rng(0).permutation(40)
    shuffled = people.rows(order)
    one, other = objective_on(people), objective_on(shuffled)
    assert one.value(people.margin) == pytest.approx(other.value(shuffled.margin), rel=1e-12)
    assert_close(
        other.expand(shuffled.margin).gradient, one.expand(people.margin).gradient[order], 1e-10
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_without_strength_the_objective_is_the_log_loss_of_scikit_learn(weighted):
    people = make_people(40, seed=8)
    weights = people.weights if weighted else None
    objective = objective_on(people, 0.0, weights)
    expected = log_loss(people.y, people.scores, sample_weight=weights)
    assert objective.value(people.margin) == pytest.approx(expected, rel=1e-12)


def test_without_strength_the_derivatives_are_the_log_losses():
    people = make_people(40, seed=8)
    expansion = objective_on(people, 0.0).expand(people.margin)
    p = people.scores
    assert_close(expansion.gradient, p - people.y, 1e-13)
    assert_close(expansion.utility_curvature + expansion.bend, p * (1 - p), 1e-13)
    assert not expansion.stiffness.any()


def test_the_whole_loss_weighs_its_two_halves():
    people = make_people(40, seed=9)
    objective = objective_on(people, 0.7)
    losses = objective.losses(people.margin)
    assert losses == objective.expand(people.margin).losses
    assert objective.value(people.margin) == pytest.approx(losses.whole(0.7), rel=1e-14)
    assert losses.penalty == pytest.approx(float(objective.penalty.value(people.scores)))


def test_losses_of_two_and_one_at_a_quarter_are_one_and_three_quarters():
    assert Losses(utility=2.0, penalty=1.0).whole(0.25) == 1.75


def test_another_strength_changes_nothing_else():
    people = make_people(20, seed=9)
    objective = objective_on(people, 0.7)
    assert objective.at(0.2) == replace(objective, strength=0.2)
    assert objective.at(0.2).penalty is objective.penalty


@pytest.mark.parametrize("weighted", [False, True])
def test_extreme_margins_stay_finite(weighted):
    people = make_people(40, seed=10)
    margin = np.where(people.scores > 0.5, 800.0, -800.0)
    objective = objective_on(people, weights=people.weights if weighted else None)
    expansion = objective.expand(margin)
    arrays = (value for value in vars(expansion).values() if isinstance(value, np.ndarray))
    assert all(np.isfinite(array).all() for array in arrays)
    wrong = (margin > 0) != (people.y == 1)
    weights = people.weights if weighted else np.ones(40)
    assert expansion.losses.utility == pytest.approx(800 * np.average(wrong, weights=weights))


class Workers:
    """Two threads that add up small arrays, as workers on two machines would."""

    def __init__(self):
        self.barrier = threading.Barrier(2, timeout=5)
        self.parts = {}

    def reduce(self, own):
        self.barrier.wait()
        self.parts[threading.get_ident()] = own
        self.barrier.wait()
        total = sum(self.parts.values())
        self.barrier.wait()
        return total


@pytest.mark.parametrize("norm", ["coefficient", "function"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_workers_find_what_one_finds(norm, weighted):
    people = make_people(40, seed=11)
    weights = people.weights if weighted else None
    whole = objective_on(people, 0.9, weights, direct_effect(2, 1, norm=norm))
    expected = whole.expand(people.margin)
    workers = Workers()

    def work(rows):
        penalty = replace(whole.penalty, matrix=whole.penalty.matrix[rows], reduce=workers.reduce)
        part = objective_of(
            penalty, people.y[rows], 0.9, None if weights is None else weights[rows]
        )
        expansion = part.expand(people.margin[rows])
        return part.total_weight, expansion, diagonal(part, expansion)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, (slice(0, 15), slice(15, 40))))
    joined = {
        name: np.concatenate([getattr(expansion, name) for _, expansion, _ in found])
        for name in ("gradient", "utility_curvature", "bend")
    }
    assert [total for total, _, _ in found] == [whole.total_weight] * 2
    assert found[0][1].losses.utility == pytest.approx(expected.losses.utility, rel=1e-12)
    for name, rows in joined.items():
        assert_close(rows, getattr(expected, name), 1e-10)
    assert_close(np.concatenate([rows for *_, rows in found]), diagonal(whole, expected), 1e-10)


def test_an_objective_can_be_pickled():
    people = make_people(20, seed=12)
    objective = objective_on(people)
    again = pickle.loads(pickle.dumps(objective))  # noqa: S301
    assert again.value(people.margin) == objective.value(people.margin)


@pytest.mark.parametrize("strength", [-0.1, 1.0, 1.5, float("nan")])
def test_a_strength_outside_its_range_is_refused_with_its_value(strength):
    with pytest.raises(ValueError, match=rf"at least 0 and below 1; got {strength}"):
        check_strength(strength)
    with pytest.raises(ValueError, match=r"strength must be at least 0 and below 1"):
        objective_on(make_people(20), strength)


# --- shifted labels ------------------------------------------------------------------------------


@pytest.fixture
def two_rows():
    """Return the log-loss on two rows of score ¾ and ½, their labels shifted by −.4 and +.2."""
    objective = objective_of(
        Penalty.none(2), np.array([1.0, 0.0]), 0.5, shift=np.array([-0.4, 0.2])
    )
    return objective, np.array([LOG3, 0.0])


def test_value_and_derivatives_of_shifted_labels_are_as_by_hand(two_rows):
    objective, margin = two_rows  # the targets are .8 and .1
    expansion = objective.expand(margin)
    assert objective.value(margin) == pytest.approx((np.log(4) - 0.8 * LOG3 + np.log(2)) / 2)
    assert_close(expansion.gradient, [0.75 - 0.8, 0.5 - 0.1], 1e-14)
    assert_close(expansion.utility_curvature, [3 / 16, 1 / 4], 1e-14)
    assert not expansion.bend.any()
    assert expansion.statistics.shape == expansion.stiffness.shape == (0,)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_a_shift_mixes_the_log_losses_of_both_labels(strength, weighted):
    people = make_people(40, seed=13)
    weights = people.weights if weighted else np.ones(40)
    objective = shifted_objective(people, strength, weights if weighted else None)
    plain, fair = (
        np.average(np.logaddexp(0, people.margin) - target * people.margin, weights=weights)
        for target in (people.y, people.y + objective.shift)
    )
    losses = objective.losses(people.margin)
    assert losses == objective.expand(people.margin).losses
    assert (losses.utility, losses.penalty) == (pytest.approx(plain), pytest.approx(fair))
    expected = (1 - strength) * plain + strength * fair
    assert objective.value(people.margin) == pytest.approx(expected, rel=1e-13)
    assert losses.whole(strength) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_without_strength_shifted_labels_are_the_plain_ones(weighted):
    people = make_people(40, seed=8)
    weights = people.weights if weighted else None
    shifted, plain = shifted_objective(people, 0.0, weights), objective_on(people, 0.0, weights)
    found, expected = (each.expand(people.margin) for each in (shifted, plain))
    for name in ("gradient", "utility_curvature", "bend"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert shifted.value(people.margin) == plain.value(people.margin)


def test_the_strength_moves_the_gradient_of_shifted_labels_and_not_their_curvature():
    people = make_people(40, seed=14)
    none, whole = (shifted_objective(people, s).expand(people.margin) for s in (0.0, 1.0))
    objective = shifted_objective(people)
    assert_close(none.gradient - whole.gradient, objective.shift, 1e-13)
    np.testing.assert_array_equal(none.utility_curvature, whole.utility_curvature)
    targets = people.y + objective.shift
    assert targets.min() < 0
    assert targets.max() > 1  # none is clipped
    np.testing.assert_allclose(objective.at(1.0).shifted_target(), targets)


def test_weights_on_shifted_labels_equal_repeated_rows():
    people = make_people(40, seed=6)
    repeated = people.repeated()
    weighted, copied = shifted_objective(people, 0.7, people.weights), shifted_objective(repeated)
    owner = np.repeat(np.arange(40), people.weights.astype(int))
    summed = np.bincount(owner, copied.expand(repeated.margin).gradient)
    assert weighted.value(people.margin) == pytest.approx(copied.value(repeated.margin), rel=1e-12)
    assert_close(weighted.expand(people.margin).gradient, summed, 1e-12)


def test_two_workers_find_what_one_finds_of_shifted_labels():
    people = make_people(40, seed=11)
    whole = shifted_objective(people, 0.7, people.weights)
    workers = Workers()

    def work(rows):
        penalty = replace(whole.penalty, matrix=whole.penalty.matrix[rows], reduce=workers.reduce)
        part = objective_of(penalty, people.y[rows], 0.7, people.weights[rows], whole.shift[rows])
        return part.expand(people.margin[rows])

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, (slice(0, 15), slice(15, 40))))
    expected = whole.expand(people.margin)
    assert found[0].losses.penalty == pytest.approx(expected.losses.penalty, rel=1e-12)
    assert_close(np.concatenate([each.gradient for each in found]), expected.gradient, 1e-12)


def test_the_second_loss_is_called_what_it_is():
    people = make_people(20)
    assert shifted_objective(people).fairness_name == "fair_log_loss"
    assert objective_on(people).fairness_name == "penalty"


def test_the_whole_strength_is_for_shifted_labels_only():
    people = make_people(20)
    assert shifted_objective(people, 1.0).strength == 1.0
    with pytest.raises(ValueError, match=r"at least 0 and below 1; got 1\.0"):
        objective_on(people, 0.5).at(1.0)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
def test_a_strength_outside_its_range_is_refused_for_shifted_labels_too(strength):
    with pytest.raises(ValueError, match=rf"at least 0 and at most 1; got {strength}"):
        shifted_objective(make_people(20), strength)


def test_a_penalty_and_a_shift_together_are_refused():
    with pytest.raises(ValueError, match=r"a penalty or a shift, not both"):
        replace(objective_on(make_people(20)), shift=np.zeros(20))


def test_margins_without_end_earn_no_more_than_a_score_of_one_in_a_million():
    target, shift = np.array([0.0, 1.0, 1.0, 0.0]), np.array([-0.2, 0.3, -0.1, 0.0])
    objective = objective_of(Penalty.none(4), target, 1.0, shift=shift)
    far, further = (size * np.array([-1.0, 1.0, 1.0, -1.0]) for size in (LARGEST_MARGIN, 1e4))
    fair, beyond = (objective.losses(margin).penalty for margin in (far, further))
    assert fair == pytest.approx(float(objective.mean_loss(far, target + shift)))
    assert beyond > fair  # the third row, whose target lies inside [0, 1], is as wrong as it was


def test_a_margin_on_the_wrong_side_of_a_target_outside_costs_what_it_costs():
    objective = objective_of(
        Penalty.none(2), np.array([0.0, 1.0]), 1.0, shift=np.array([-0.2, 0.3])
    )
    margin = np.array([100.0, -100.0])
    assert objective.losses(margin) == objective.expand(margin).losses


@pytest.mark.parametrize("margin", [[-3.0, 2.0], [-40.0, 40.0]], ids=["in reach", "held"])
def test_both_losses_of_shifted_labels_are_those_of_their_targets(margin):
    y, shift, margin = np.array([0.0, 1.0]), np.array([-0.3, 0.2]), np.array(margin)
    loss, objective = LogLoss(), Objective(LogLoss(), y, shift=shift)
    held = loss.held_margin(margin, y + shift)
    losses = objective.losses(margin)
    assert losses.utility == pytest.approx(loss.rows(margin, y).mean(), rel=1e-14)
    assert losses.penalty == pytest.approx(loss.rows(held, y + shift).mean(), rel=1e-14)
    assert (held is margin) == (abs(margin[0]) < 10)
