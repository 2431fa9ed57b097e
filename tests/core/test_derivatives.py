"""The boosters' float32 derivatives are those of the objective, whatever the blocks."""

import pickle

import numpy as np
import pytest
from contracts import (
    CRITERIA,
    assert_close,
    each_criterion,
    make_people,
    objective_of,
    objectives,
    penalty_of,
    rows_of,
    shifted_objective,
)
from contracts import varied as examples
from hypothesis import given
from hypothesis import strategies as st

from unsway import Parity
from unsway.core import CURVATURES, diagonal
from unsway.core import derivatives as home
from unsway.core.derivatives import BoostingDerivatives

each_curvature = pytest.mark.parametrize("curvature", CURVATURES)


def both_ways(objective, margin, curvature, learning_rate=0.3):
    """Return gradient and curvature of the blockwise code, and those of the plain one."""
    found = BoostingDerivatives(objective, curvature, learning_rate)(margin, objective.strength)
    expansion = objective.expand(margin.astype(float))
    expected = expansion.gradient, diagonal(objective, expansion, curvature, learning_rate)
    return found, expected


def assert_same(objective, margin, curvature, learning_rate=0.3):
    found, expected = both_ways(objective, margin, curvature, learning_rate)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-5)


@each_curvature
@examples
@given(
    case=objectives(),
    block_rows=st.sampled_from([1, 7, 16, 1_000]),
    rate=st.sampled_from([0.1, 1.0]),
)
def test_derivatives_equal_those_of_the_objective(curvature, case, block_rows, rate):
    objective, margin = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "_BLOCK_ROWS", block_rows)
        assert_same(objective, margin.astype(np.float32), curvature, rate)


@each_curvature
@each_criterion
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_derivatives_are_exact_for_every_criterion(criterion, curvature, weighted):
    people = make_people(3_000, seed=1)
    weights = people.weights / 2 if weighted else None
    objective = objective_of(penalty_of(criterion, people, weights), people.y, 0.9, weights)
    assert_same(objective, people.margin.astype(np.float32), curvature)


@pytest.mark.parametrize("block_rows", [1, 59, 60, 61])
def test_the_size_of_a_block_does_not_matter(block_rows, monkeypatch):
    people = make_people(60)
    objective = objective_of(penalty_of(CRITERIA["direct effect (2,1)"], people), people.y, 0.9)
    whole = [part.copy() for part in BoostingDerivatives(objective)(people.margin, 0.9)]
    monkeypatch.setattr(home, "_BLOCK_ROWS", block_rows)
    for one, other in zip(BoostingDerivatives(objective)(people.margin, 0.9), whole, strict=True):
        assert_close(one, other, 1e-6)


def test_single_and_double_margins_give_the_same():
    people = make_people(100, seed=2)
    objective = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.9)
    margin = people.margin.astype(np.float32)
    derivatives = BoostingDerivatives(objective)
    single = [part.copy() for part in derivatives(margin, 0.9)]
    double = derivatives(margin.astype(np.float64), 0.9)
    for one, other in zip(single, double, strict=True):
        assert_close(one, other, 1e-6)


def test_each_call_brings_its_own_strength():
    people = make_people(50, seed=3)
    objective = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.0)
    derivatives = BoostingDerivatives(objective)
    for strength in (0.0, 0.5, 0.975):
        gradient, _ = derivatives(people.margin, strength)
        assert_close(gradient, objective.at(strength).expand(people.margin).gradient, 1e-5)


def test_the_statistics_are_those_of_the_margin():
    people = make_people(500, seed=4)
    objective = objective_of(penalty_of(CRITERIA["direct effect (2,1)"], people), people.y, 0.5)
    derivatives = BoostingDerivatives(objective)
    derivatives(people.margin, 0.5)
    assert_close(derivatives.statistics, objective.penalty.statistics(people.scores), 1e-5)


@each_curvature
def test_derivatives_are_finite_in_the_far_tails(curvature):
    people = make_people(60, seed=5)
    margin = np.linspace(-500, 500, 60, dtype=np.float32)
    for criterion in CRITERIA.values():
        objective = objective_of(penalty_of(criterion, people), people.y, 0.975)
        for part in BoostingDerivatives(objective, curvature)(margin, 0.975):
            assert np.isfinite(part).all()


def test_both_are_single_precision_and_live_in_the_same_buffers():
    people = make_people(30)
    derivatives = BoostingDerivatives(
        objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0)
    )
    first, second = derivatives(people.margin, 0.5), derivatives(people.margin, 0.9)
    assert [part.dtype for part in first] == [np.float32, np.float32]
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_a_pickle_gives_the_same_and_leaves_the_buffers_behind():
    people = make_people(2_000, seed=6)
    objective = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.9)
    derivatives = BoostingDerivatives(objective, "exact", 0.1)
    data = pickle.dumps(derivatives)
    again = pickle.loads(data)  # noqa: S301
    for one, other in zip(again(people.margin, 0.9), derivatives(people.margin, 0.9), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(data) < 1.1 * len(pickle.dumps(objective))


def test_an_unknown_curvature_is_refused_with_the_choices():
    people = make_people(20)
    objective = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.9)
    with pytest.raises(
        ValueError, match=r"unknown curvature 'gauss'; choose from adaptive, bound, exact"
    ):
        BoostingDerivatives(objective, "gauss")


@pytest.mark.parametrize("strength", [-0.1, 1.0, np.nan])
def test_a_strength_outside_its_range_is_refused(strength):
    people = make_people(20)
    objective = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.9)
    with pytest.raises(ValueError, match="strength must be at least 0 and below 1"):
        BoostingDerivatives(objective)(people.margin, strength)


def parity_objective():
    z = np.repeat([1.0, 0.0], 50)
    penalty = Parity().objective(rows_of(None, z, z)).penalty
    return objective_of(penalty, np.tile([0.0, 1.0], 50), 0.0), np.where(z == 1, 1.0, -1.0)


def test_adaptive_starts_as_the_bound():
    objective, direction = parity_objective()
    margin = direction.astype(np.float32)
    bound = BoostingDerivatives(objective, "bound", 0.3)(margin, 0.9)[1].copy()
    np.testing.assert_array_equal(
        BoostingDerivatives(objective, "adaptive", 0.3)(margin, 0.9)[1], bound
    )


def test_adaptive_lengthens_its_step_while_the_penalty_falls_and_shortens_it_when_it_rises():
    objective, direction = parity_objective()
    adaptive = BoostingDerivatives(objective, "adaptive", 0.3)
    seen = []
    for size in (2.0, 1.5, 1.0, 1.4, 3.0):
        adaptive((size * direction).astype(np.float32), 0.9)
        seen.append(adaptive.damping)
    np.testing.assert_allclose(seen, [1.0, 0.95, 0.9025, 1.0, 1.0])


def test_adaptive_curvature_is_never_above_the_bound():
    objective, direction = parity_objective()
    adaptive, bound = (BoostingDerivatives(objective, name, 0.3) for name in ("adaptive", "bound"))
    for size in np.linspace(3, 0.1, 40):
        margin = (size * direction).astype(np.float32)
        found, most = adaptive(margin, 0.9)[1].copy(), bound(margin, 0.9)[1]
        assert (found <= most * (1 + 1e-6)).all()
    assert adaptive.damping == pytest.approx(0.95**39)


def test_the_columns_are_kept_in_single_precision_only():
    objective, _ = parity_objective()
    kept = BoostingDerivatives(objective).objective
    assert {kept.penalty.matrix.dtype, kept.target.dtype} == {np.dtype(np.float32)}
    assert kept.total_weight == objective.total_weight


@each_curvature
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_shifted_labels_beyond_one_block_have_the_objectives_derivatives(
    curvature, weighted, strength
):
    people = make_people(home._BLOCK_ROWS + 1_000, seed=7)
    objective = shifted_objective(people, strength, people.weights if weighted else None)
    assert_same(objective, people.margin.astype(np.float32), curvature)


@pytest.mark.parametrize("block_rows", [1, 59, 60, 61])
def test_the_size_of_a_block_does_not_matter_to_shifted_labels(block_rows, monkeypatch):
    people = make_people(60)
    objective = shifted_objective(people)
    whole = [part.copy() for part in BoostingDerivatives(objective)(people.margin, 1.0)]
    monkeypatch.setattr(home, "_BLOCK_ROWS", block_rows)
    for one, other in zip(BoostingDerivatives(objective)(people.margin, 1.0), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_shifted_labels_without_strength_are_the_labels_to_the_last_bit():
    people = make_people(500, seed=8)
    parity = objective_of(penalty_of(CRITERIA["parity"], people), people.y, 0.0)
    shifted = BoostingDerivatives(shifted_objective(people), "adaptive")(people.margin, 0.0)
    plain = BoostingDerivatives(parity, "adaptive")(people.margin, 0.0)
    for one, other in zip(shifted, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_choice_of_curvature_is_the_same_for_shifted_labels():
    people = make_people(100, seed=9)
    found = [
        BoostingDerivatives(shifted_objective(people), name, 0.1)(people.margin, 1.0)[1]
        for name in home.BOOSTING_CURVATURES
    ]
    assert_close(found[0], people.scores * (1 - people.scores), 1e-6)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_pickle_of_shifted_labels_gives_the_same():
    people = make_people(200, seed=6)
    derivatives = BoostingDerivatives(shifted_objective(people, 0.7, people.weights), "bound", 0.1)
    again = pickle.loads(pickle.dumps(derivatives))  # noqa: S301
    for one, other in zip(again(people.margin, 1.0), derivatives(people.margin, 1.0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.objective.shift.dtype == np.float32


@pytest.mark.parametrize("strength", [-0.1, 1.1, np.nan])
def test_a_strength_outside_its_range_is_refused_for_shifted_labels_too(strength):
    people = make_people(20)
    with pytest.raises(ValueError, match="strength must be at least 0 and at most 1"):
        BoostingDerivatives(shifted_objective(people))(people.margin, strength)
