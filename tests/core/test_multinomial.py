"""The log-loss of several classes: every derivative, and that of two classes inside it."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, by_jax, by_torch, numerical_derivative

from unsway.core import LogLoss, MultinomialLogLoss

LOSS = MultinomialLogLoss()
MARGIN = np.array([[0.3, -1.0, 2.0], [0.0, 0.0, 0.0], [-4.0, 5.0, 1.0], [30.0, -30.0, 0.0]])
#: Fair targets reach where no label can; each row sums to 1.
TARGET = np.array([[1.0, 0.0, 0.0], [1.2, -0.3, 0.1], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])


def test_the_loss_is_linear_in_its_target():
    shift, share = np.linspace(-1, 1, TARGET.size).reshape(TARGET.shape), 0.3
    mixed = (1 - share) * LOSS.rows(MARGIN, TARGET) + share * LOSS.rows(MARGIN, TARGET + shift)
    assert_close(LOSS.rows(MARGIN, TARGET + share * shift), mixed, 1e-12)


def test_the_gradient_is_the_slope_of_the_loss():
    slope = numerical_derivative(
        lambda s: LOSS.rows(s.reshape(MARGIN.shape), TARGET).sum(), MARGIN.ravel()
    )
    assert_close(LOSS.gradient(LOSS.mean(MARGIN)[0], TARGET).ravel(), slope, 1e-7)


def test_the_curvature_is_twice_the_diagonal_of_the_hessian():
    def gradient(s):
        return LOSS.gradient(LOSS.mean(s.reshape(MARGIN.shape))[0], TARGET).ravel()

    hessian = numerical_derivative(gradient, MARGIN.ravel())
    curvature = LOSS.curvature(*LOSS.mean(MARGIN)).ravel()
    assert_close(curvature, 2 * np.diag(hessian), 1e-7)
    assert np.linalg.eigvalsh(np.diag(curvature) - (hessian + hessian.T) / 2).min() > -1e-9


def test_the_mean_curvature_is_that_of_each_class_in_its_own_margin():
    def slope(s):
        return LOSS.mean(s.reshape(MARGIN.shape))[1].ravel()

    mean, density = LOSS.mean(MARGIN)
    bend = np.diag(numerical_derivative(slope, MARGIN.ravel()))
    assert_close((LOSS.mean_curvature(mean) * density).ravel(), bend, 1e-7)


@pytest.mark.parametrize("autodiff", [by_torch, by_jax])
def test_autodiff_gives_value_and_gradient(autodiff):
    weights = np.linspace(0.5, 1.5, len(TARGET))

    def build(as_array):
        target, weight = as_array(TARGET), as_array(weights)
        return lambda margin: LOSS.value(margin.reshape(MARGIN.shape), target, weight)

    value, slope, _ = autodiff(build, MARGIN.ravel())
    assert_close(value, (weights * LOSS.rows(MARGIN, TARGET)).mean(), 1e-9)
    expected = weights[:, None] * LOSS.gradient(LOSS.mean(MARGIN)[0], TARGET) / len(TARGET)
    assert_close(slope, expected.ravel(), 1e-9)


def test_two_classes_have_the_log_loss_of_the_difference_of_their_margins():
    margin, y = np.array([-3.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0])
    both, labels = np.column_stack([0 * margin, margin]), np.column_stack([1 - y, y])
    assert_close(LOSS.rows(both, labels), LogLoss().rows(margin, y), 1e-12)
    assert_close(LOSS.mean(both)[0][:, 1], LogLoss().mean(margin)[0], 1e-12)


def test_the_link_undoes_the_mean():
    mean = LOSS.mean(MARGIN[:3])[0]
    assert_close(LOSS.mean(LOSS.margin_of(mean))[0], mean, 1e-12)


def test_single_precision_buffers_hold_the_same_mean():
    mean, slope = (np.empty(MARGIN.shape, np.float32) for _ in range(2))
    LOSS.fill_mean(MARGIN.astype(np.float32), mean, slope)
    expected = LOSS.mean(MARGIN)
    assert_close(mean, expected[0], 1e-6)
    assert_close(slope, expected[1], 1e-6)


def test_a_held_margin_bounds_the_loss_from_below():
    far, target = np.array([[1e6, 0.0, 0.0]] * 2), np.array([[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]])
    held = LOSS.held_margin(far, target)
    assert (LOSS.rows(held, target) > -10).all()
    assert held[1].tolist() == far[1].tolist()


def test_targets_that_are_no_labels_are_refused():
    for wrong in ([[0.5, 0.5]], [[1.0, 1.0]], [[0.0, 0.0]]):
        with pytest.raises(ValueError, match="y must hold a single 1 in each row"):
            LOSS.check(np.array(wrong))
