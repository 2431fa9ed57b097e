"""Losses that are linear in their target, in every form an engine asks for."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, by_jax, by_torch, numerical_derivative
from sklearn.metrics import mean_tweedie_deviance

from unsway.core import Gamma, LogLoss, Objective, Poisson, SquaredError, Tweedie
from unsway.core.derivatives import BoostingDerivatives
from unsway.core.newton import LinearProblem

LOSSES = {
    "log_loss": LogLoss(),
    "squared_error": SquaredError(),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "tweedie": Tweedie(),
    "tweedie_1.2": Tweedie(1.2),
}
#: Losses whose gradient is the mean less the target.
CANONICAL = ("log_loss", "squared_error", "poisson")
LOG_LINK = ("poisson", "gamma", "tweedie", "tweedie_1.2")
MARGINS = {"logit": np.array([-30.0, -2.0, -0.3, 0.0, 0.7, 5.0, 30.0])}
MARGINS["identity"], MARGINS["log"] = MARGINS["logit"], MARGINS["logit"] / 10
#: Fair targets reach where no label can.
TARGET = np.array([0.0, 1.0, -0.4, 0.5, 1.3, 1.0, 1.0])


def each(names):
    return pytest.mark.parametrize("loss", [LOSSES[name] for name in names], ids=names)


each_loss, each_canonical_loss, each_log_link = map(each, (tuple(LOSSES), CANONICAL, LOG_LINK))


@each_loss
def test_a_loss_is_called_by_its_name(loss):
    assert loss.name in LOSSES


@each_loss
def test_a_loss_is_linear_in_its_target(loss):
    margin = MARGINS[loss.link]
    shift, share = np.linspace(-1, 1, len(TARGET)), 0.3
    mixed = (1 - share) * loss.rows(margin, TARGET) + share * loss.rows(margin, TARGET + shift)
    assert_close(loss.rows(margin, TARGET + share * shift), mixed, 1e-12)


@each_loss
def test_a_unit_of_the_target_lowers_the_loss_by_the_reward(loss):
    margin = MARGINS[loss.link]
    fall = loss.rows(margin, TARGET) - loss.rows(margin, TARGET + 1)
    assert_close(fall, loss.reward(margin), 1e-12)


@each_loss
def test_the_gradient_is_the_slope_of_the_loss(loss):
    margin = MARGINS[loss.link]
    mean, _ = loss.mean(margin)
    slope = np.diag(numerical_derivative(lambda s: loss.rows(s, TARGET), margin))
    assert_close(loss.gradient(mean, TARGET), slope, 1e-7)


@each_loss
def test_the_gradient_falls_with_the_target_by_its_slope(loss):
    margin = MARGINS[loss.link]
    mean, _ = loss.mean(margin)
    fall = loss.gradient(mean, TARGET) - loss.gradient(mean, TARGET + 0.5)
    assert_close(fall, 0.5 * loss.target_slope(mean) * np.ones(len(TARGET)), 1e-12)


@each_canonical_loss
def test_the_curvature_is_that_of_the_loss_where_the_link_is_canonical(loss):
    margin = MARGINS[loss.link]
    mean, slope = loss.mean(margin)
    curvature = np.diag(
        numerical_derivative(lambda s: loss.gradient(loss.mean(s)[0], TARGET), margin)
    )
    assert_close(loss.curvature(mean, slope), curvature, 1e-7)


@each_log_link
def test_the_curvature_is_that_of_the_loss_where_the_target_is_its_mean(loss):
    margin = MARGINS["log"]
    mean, slope = loss.mean(margin)
    curvature = np.diag(
        numerical_derivative(lambda s: loss.gradient(loss.mean(s)[0], mean), margin)
    )
    assert_close(loss.curvature(mean, slope), curvature, 1e-7)


@each_log_link
def test_the_curvature_is_positive_whatever_the_target(loss):
    assert (loss.curvature(*loss.mean(MARGINS["log"])) > 0).all()


@each_loss
def test_the_means_own_derivatives_are_as_by_differences(loss):
    margin = MARGINS[loss.link]
    mean, slope = loss.mean(margin)
    assert_close(slope, np.diag(numerical_derivative(lambda s: loss.mean(s)[0], margin)), 1e-7)
    bend = np.diag(numerical_derivative(lambda s: loss.mean(s)[1], margin))
    assert_close(loss.mean_curvature(mean) * slope, bend, 1e-7)


@each_loss
def test_the_link_undoes_the_mean(loss):
    margin = np.linspace(-8, 8, 9)
    assert_close(loss.margin_of(loss.mean(margin)[0]), margin, 1e-9)


@each_loss
def test_the_mean_minimises_the_loss_against_targets_of_that_mean(loss):
    targets = np.array([-0.4, 0.2, 0.9, 1.1])  # with a mean of .45
    best = loss.margin_of(np.array([targets.mean()]))[0]
    losses = [loss.rows(best + step, targets).mean() for step in (-0.1, 0.0, 0.1)]
    assert losses[1] == min(losses)


@each_loss
@pytest.mark.parametrize("autodiff", [by_torch, by_jax])
def test_autodiff_gives_value_and_derivatives(loss, autodiff):
    margin = MARGINS[loss.link]
    weights = np.linspace(0.5, 1.5, len(TARGET))

    def build(as_array):
        target, weight = as_array(TARGET), as_array(weights)
        return lambda margin: loss.value(margin, target, weight)

    value, slope, curvature = autodiff(build, margin)
    mean, _ = loss.mean(margin)
    assert_close(value, (weights * loss.rows(margin, TARGET)).mean(), 1e-9)
    assert_close(slope * len(TARGET), weights * loss.gradient(mean, TARGET), 1e-9)
    by_differences = numerical_derivative(
        lambda s: weights * loss.gradient(loss.mean(s)[0], TARGET), margin
    )
    assert_close(curvature * len(TARGET), by_differences, 1e-7)


@each_loss
def test_single_precision_buffers_hold_the_same_mean(loss):
    margin = MARGINS[loss.link]
    mean, slope = (np.empty(len(margin), np.float32) for _ in range(2))
    loss.fill_mean(margin.astype(np.float32), mean, slope)
    expected = loss.mean(margin)
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
    with np.errstate(over="ignore"):
        losses = loss.rows(held, target)
    assert (losses > -1e3).all()


@each_loss
def test_a_margin_in_reach_of_a_label_is_not_held(loss):
    margin, target = np.array([-3.0, 0.0, 3.0]), np.array([0.2, 1.2, 0.9])
    assert loss.held_margin(margin, target).tolist() == margin.tolist()


@each_log_link
def test_a_linear_model_converges_on_targets_below_0(loss):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(4_000, 2)), rng.normal(size=4_000)
    targets = np.exp(X @ [0.3, -0.2]) + noise
    assert (targets < 0).mean() > 0.1
    fit = LinearProblem(Objective(loss, targets), X).minimize(tol=1e-8)
    assert fit.converged
    np.testing.assert_allclose(fit.weights, [0.3, -0.2, 0], atol=0.06)


@each_log_link
def test_a_group_whose_targets_sum_to_less_than_0_leaves_no_minimum(loss):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    targets, group = np.ones(100), X[:, 0] == 1
    objective = Objective(loss, targets, shift=-1.2 * group, strength=1.0)
    assert not LinearProblem(objective, X).minimize().bounded


def test_squared_weights_give_counts_a_minimum_whatever_their_targets():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    objective = Objective(Poisson(), np.ones(100), shift=-1.2 * X[:, 0], strength=1.0)
    assert LinearProblem(objective, X, l2=0.1).minimize().converged


def test_a_tweedie_loss_lies_between_those_of_counts_and_amounts():
    mean, slope = Poisson().mean(MARGINS["log"])
    for power, other in ((1 + 1e-9, Poisson()), (2 - 1e-9, Gamma())):
        assert_close(Tweedie(power).gradient(mean, TARGET), other.gradient(mean, TARGET), 1e-6)
        assert_close(Tweedie(power).curvature(mean, slope), other.curvature(mean, slope), 1e-6)


@pytest.mark.parametrize("name", LOG_LINK)
def test_a_log_link_loss_is_half_the_deviance_but_for_a_constant(name):
    loss, t = LOSSES[name], np.array([0.5, 1.0, 3.0])
    for mean in (0.4, 2.0):
        margin = np.full(3, np.log(mean))
        ours = loss.rows(margin, t) - loss.rows(np.log(t), t)
        deviance = mean_tweedie_deviance(t, np.full(3, mean), power=loss.power)
        assert_close(2 * ours.mean(), deviance, 1e-12)


@pytest.mark.parametrize("power", [1.0, 2.0, 0.0, np.nan])
def test_a_tweedie_power_outside_its_range_is_refused(power):
    with pytest.raises(ValueError, match="power must be above 1 and below 2"):
        Tweedie(power)


@pytest.mark.parametrize(
    ("loss", "y", "complaint"),
    [
        (Poisson(), [1, -1], "y has 1 negative values; counts are at least 0"),
        (Tweedie(), [1, -1], "y has 1 negative values; amounts are at least 0"),
        (Gamma(), [1, 0, 0], "y has 2 amounts of zero, which loss='gamma' does not allow"),
        (Poisson(), [0, 0], "y is 0 in every row"),
        (Poisson(), [1, np.inf], "y must hold finite counts"),
        (Gamma(), [1, np.nan], "y must hold finite amounts"),
    ],
)
def test_values_that_a_log_link_loss_is_not_meant_for_are_refused(loss, y, complaint):
    with pytest.raises(ValueError, match=complaint):
        loss.check(np.array(y, dtype=float))


def test_labels_that_are_not_0_or_1_are_refused_by_the_log_loss():
    with pytest.raises(ValueError, match="y must hold 0 and 1 alone"):
        LogLoss().check(np.array([0.0, 0.5]))


def test_numbers_that_are_not_finite_are_refused_by_the_squared_error():
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        SquaredError().check(np.array([1.0, np.inf]))
