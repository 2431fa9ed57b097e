"""Derivatives of several classes for boosters: those of the objective, in float32."""

import numpy as np
import pytest
from contracts import assert_close, numerical_derivative

from unsway.core import MultinomialLogLoss, Objective
from unsway.core.class_derivatives import ClassDerivatives

N, CLASSES = 40, 4
rng = np.random.default_rng(0)
TARGET = np.eye(CLASSES)[rng.integers(0, CLASSES, N)]
SHIFT = rng.normal(0, 0.2, (N, CLASSES))
SHIFT -= SHIFT.mean(axis=1, keepdims=True)
MARGIN = rng.normal(size=(N, CLASSES))
WEIGHTS = rng.integers(1, 4, N).astype(float)


def objective(weights=None, strength=0.0):
    return Objective(
        MultinomialLogLoss(), TARGET, shift=SHIFT, sample_weight=weights, strength=strength
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0])
def test_the_gradient_is_the_slope_of_the_whole_loss(weights, strength):
    at = objective(weights, strength)
    slope = numerical_derivative(
        lambda s: at.total_weight * at.value(s.reshape(MARGIN.shape)), MARGIN.ravel()
    )
    gradient, _ = ClassDerivatives(objective(weights))(MARGIN, strength)
    assert_close(gradient.ravel(), slope, 1e-5)


def test_a_weight_of_two_is_the_same_as_the_row_twice():
    twice = np.repeat(np.arange(N), WEIGHTS.astype(int))
    repeated = Objective(MultinomialLogLoss(), TARGET[twice], shift=SHIFT[twice])
    alone = [part.copy() for part in ClassDerivatives(repeated)(MARGIN[twice], 0.7)]
    for ours, theirs in zip(ClassDerivatives(objective(WEIGHTS))(MARGIN, 0.7), alone, strict=True):
        first = np.searchsorted(twice, np.arange(N))
        assert_close(ours, theirs[first] * WEIGHTS[:, None], 1e-6)


def test_the_curvature_has_the_factor_of_the_loss():
    lower = Objective(MultinomialLogLoss(1.5), TARGET)
    two, less = (ClassDerivatives(each)(MARGIN, 0.0)[1] for each in (objective(), lower))
    assert_close(less, 0.75 * two, 1e-6)


def test_blocks_of_rows_are_seams_that_do_not_show():
    many = 40_000
    target, margin = np.eye(3)[rng.integers(0, 3, many)], rng.normal(size=(many, 3))
    gradient, _ = ClassDerivatives(Objective(MultinomialLogLoss(), target))(margin, 0.0)
    assert_close(gradient, MultinomialLogLoss().mean(margin)[0] - target, 1e-6)
