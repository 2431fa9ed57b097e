"""Losses that are linear in their target, in every form an engine asks for."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, by_jax, by_torch, numerical_derivative

from unsway.core import LogLoss, Objective, SquaredError
from unsway.core.derivatives import BoostingDerivatives

LOSSES = {"log_loss": LogLoss(), "squared_error": SquaredError()}
MARGIN = np.array([-30.0, -2.0, -0.3, 0.0, 0.7, 5.0, 30.0])
#: Fair targets reach where no label can.
TARGET = np.array([0.0, 1.0, -0.4, 0.5, 1.3, 1.0, 1.0])

each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@each_loss
def test_a_loss_is_called_by_its_name(loss):
    assert LOSSES[loss.name] is loss


@each_loss
def test_a_loss_is_linear_in_its_target(loss):
    shift, share = np.linspace(-1, 1, len(TARGET)), 0.3
    mixed = (1 - share) * loss.rows(MARGIN, TARGET) + share * loss.rows(MARGIN, TARGET + shift)
    assert_close(loss.rows(MARGIN, TARGET + share * shift), mixed, 1e-12)


@each_loss
def test_the_gradient_is_the_slope_of_the_loss(loss):
    mean, _ = loss.mean(MARGIN)
    slope = np.diag(numerical_derivative(lambda s: loss.rows(s, TARGET), MARGIN))
    assert_close(loss.gradient(mean, TARGET), slope, 1e-7)


@each_loss
def test_the_gradient_falls_with_the_target_by_its_slope(loss):
    mean, _ = loss.mean(MARGIN)
    fall = loss.gradient(mean, TARGET) - loss.gradient(mean, TARGET + 0.5)
    assert_close(fall, 0.5 * loss.target_slope(mean) * np.ones(len(TARGET)), 1e-12)


@each_loss
def test_the_curvature_is_that_of_the_loss_where_the_link_is_canonical(loss):
    mean, slope = loss.mean(MARGIN)
    curvature = np.diag(
        numerical_derivative(lambda s: loss.gradient(loss.mean(s)[0], TARGET), MARGIN)
    )
    assert_close(loss.curvature(mean, slope), curvature, 1e-7)


@each_loss
def test_the_means_own_derivatives_are_as_by_differences(loss):
    mean, slope = loss.mean(MARGIN)
    assert_close(slope, np.diag(numerical_derivative(lambda s: loss.mean(s)[0], MARGIN)), 1e-7)
    bend = np.diag(numerical_derivative(lambda s: loss.mean(s)[1], MARGIN))
    assert_close(loss.mean_curvature(mean) * slope, bend, 1e-7)


@each_loss
def test_the_link_undoes_the_mean(loss):
    margin = np.linspace(-8, 8, 9)
    assert_close(loss.margin_of(loss.mean(margin)[0]), margin, 1e-9)


@each_loss
def test_the_mean_minimises_the_loss_against_targets_of_that_mean(loss):
    targets = np.array([-0.4, 0.2, 0.9, 1.1])
    best = loss.margin_of(np.array([targets.mean()]))[0]
    losses = [loss.rows(best + step, targets).mean() for step in (-0.1, 0.0, 0.1)]
    assert losses[1] == min(losses)


@each_loss
@pytest.mark.parametrize("autodiff", [by_torch, by_jax])
def test_autodiff_gives_value_and_derivatives(loss, autodiff):
    weights = np.linspace(0.5, 1.5, len(TARGET))

    def build(as_array):
        target, weight = as_array(TARGET), as_array(weights)
        return lambda margin: loss.value(margin, target, weight)

    value, slope, curvature = autodiff(build, MARGIN)
    mean, density = loss.mean(MARGIN)
    assert_close(value, (weights * loss.rows(MARGIN, TARGET)).mean(), 1e-9)
    assert_close(slope * len(TARGET), weights * loss.gradient(mean, TARGET), 1e-9)
    expected = np.diag(weights * loss.curvature(mean, density))
    assert_close(curvature * len(TARGET), expected, 1e-8)


@each_loss
def test_single_precision_buffers_hold_the_same_mean(loss):
    mean, slope = (np.empty(len(MARGIN), np.float32) for _ in range(2))
    loss.fill_mean(MARGIN.astype(np.float32), mean, slope)
    expected = loss.mean(MARGIN)
    assert_close(mean, expected[0], 1e-6)
    assert_close(slope, expected[1], 1e-6)


@each_loss
def test_boosters_get_the_derivatives_of_the_objective(loss):
    y, shift = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.3, -0.2, 0.4, -0.1])
    margin = np.array([0.5, -1.0, 2.0, 0.1])
    objective = Objective(loss, y, shift=shift, strength=0.6)
    gradient, curvature = BoostingDerivatives(objective)(margin.astype(np.float32), strength=0.6)
    expansion = objective.expand(margin)
    assert_close(gradient, expansion.gradient, 1e-6)
    assert_close(curvature, expansion.utility_curvature, 1e-6)


@each_loss
def test_a_held_margin_bounds_the_loss_from_below(loss):
    far = np.array([-1e6, 1e6, -1e6, 1e6])
    target = np.array([-0.5, 1.5, 0.5, 0.5])
    held = loss.held_margin(far, target)
    assert (loss.rows(held, target) > -10).all()


def test_labels_that_are_not_0_or_1_are_refused_by_the_log_loss():
    with pytest.raises(ValueError, match="y must hold 0 and 1 alone"):
        LogLoss().check(np.array([0.0, 0.5]))


def test_numbers_that_are_not_finite_are_refused_by_the_squared_error():
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        SquaredError().check(np.array([1.0, np.inf]))
