"""Diagonals in place of the Hessian."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contracts import (
    assert_close,
    direct_effect,
    full_hessian,
    make_people,
    numerical_derivative,
    objective_of,
    objectives,
    penalty_of,
    rows_of,
    varied,
)
from hypothesis import given

from unsway.core import diagonal
from unsway.criteria import Parity


def objective_on(people, weights=None, **options):
    penalty = penalty_of(direct_effect(2, 1, **options), people, weights)
    return objective_of(penalty, people.y, 0.9, weights)


@varied
@given(objectives())
def test_exact_is_the_diagonal_of_the_hessian(case):
    objective, margin = case
    numerical = numerical_derivative(lambda s: objective.expand(s).gradient, margin)
    exact = diagonal(objective, objective.expand(margin), "exact")
    assert_close(exact, np.diag(numerical), 1e-5)


@varied
@given(objectives())
def test_bound_without_shrinkage_dominates_the_hessian(case):
    objective, margin = case
    expansion = objective.expand(margin)
    bound = diagonal(objective, expansion, "bound", learning_rate=2.0)
    left = np.diag(bound) - full_hessian(objective, expansion, downward=False)
    assert np.linalg.eigvalsh(left)[0] >= -1e-9 * bound.max()


@varied
@given(objectives())
def test_bound_is_never_negative(case):
    objective, margin = case
    assert diagonal(objective, objective.expand(margin), learning_rate=0.1).min() >= 0


@pytest.mark.parametrize("norm", ["coefficient", "function"])
def test_bound_of_a_weighted_row_is_the_sum_of_its_copies(norm):
    people = make_people(40, seed=1)
    repeated = people.repeated()
    weighted, copied = (
        objective_on(people, people.weights, norm=norm),
        objective_on(repeated, norm=norm),
    )
    owner = np.repeat(np.arange(40), people.weights.astype(int))
    copies = diagonal(copied, copied.expand(repeated.margin))
    found = diagonal(weighted, weighted.expand(people.margin))
    assert_close(found, np.bincount(owner, copies), 1e-9)


def test_bound_on_four_rows_is_as_by_hand():
    # At the margin 0: (1−λ)/4 + η/2·λ·4·2·(½·¼)·(4·½·¼) with λ = ½, η = ½
    y, z = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    objective = objective_of(Parity().objective(rows_of(None, y, z)).penalty, y, strength=0.5)
    bound = diagonal(objective, objective.expand(np.zeros(4)), learning_rate=0.5)
    assert_close(bound, [0.125 + 0.0625] * 4, 1e-14)


def test_shrinkage_scales_what_the_rows_share_and_nothing_else():
    people = make_people(40, seed=2)
    objective = objective_on(people)
    expansion = objective.expand(people.margin)
    none, half, whole = (diagonal(objective, expansion, "bound", rate) for rate in (0.0, 1.0, 2.0))
    assert_close(none, expansion.utility_curvature + np.maximum(0, expansion.bend), 1e-14)
    assert_close(half - none, (whole - none) / 2, 1e-12)


@varied
@given(objectives())
def test_a_shrunk_step_against_the_bound_lowers_the_quadratic_model(case):
    objective, margin = case
    expansion = objective.expand(margin)
    step = -0.3 * expansion.gradient / diagonal(objective, expansion, "bound", 0.3)
    bent = step @ full_hessian(objective, expansion) @ step
    assert expansion.gradient @ step + bent / 2 <= 0 < step @ step


@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_shrunk_steps_against_the_bound_descend_from_where_training_starts(learning_rate):
    people = make_people(200, seed=3)
    objective, margin = objective_on(people), np.zeros(200)
    for _ in range(20):
        expansion = objective.expand(margin)
        bound = diagonal(objective, expansion, "bound", learning_rate)
        lower = margin - learning_rate * expansion.gradient / bound
        assert objective.value(lower) < objective.value(margin)
        margin = lower


def test_a_spectral_bound_is_tighter_than_the_row_sums():
    people = make_people(200, seed=4)
    objective = objective_on(people, norm="function")
    by_rows = replace(objective, penalty=replace(objective.penalty, spectral=None))
    expansion = objective.expand(people.margin)
    assert diagonal(objective, expansion).sum() < diagonal(by_rows, expansion).sum()


def test_torch_gives_the_same_diagonals():
    torch = pytest.importorskip("torch")
    people = make_people(30, seed=5)
    for norm in ("coefficient", "function"):
        objective = objective_on(people, people.weights, norm=norm)
        there = objective_of(
            objective.penalty.map(torch.as_tensor),
            torch.as_tensor(people.y),
            0.9,
            torch.as_tensor(people.weights),
        )
        expansion = there.expand(torch.as_tensor(people.margin))
        for curvature in ("bound", "exact"):
            expected = diagonal(objective, objective.expand(people.margin), curvature)
            assert_close(diagonal(there, expansion, curvature).numpy(), expected, 1e-12)


def test_an_unknown_curvature_is_refused_with_the_choices():
    people = make_people(20)
    objective = objective_on(people)
    with pytest.raises(ValueError, match=r"unknown curvature 'gauss'; choose from bound, exact"):
        diagonal(objective, objective.expand(people.margin), "gauss")
