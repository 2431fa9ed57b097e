"""Newton's method with signs: against SciPy's bounded optimiser, and what holds at the end."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from unsway.core import LogLoss, Objective
from unsway.core.newton import LinearProblem
from unsway.core.sign_constraints import minimize_with_signs


def problem_of(seed, n=400, p=6, *, l2=1e-3, fit_intercept=True, shifted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 20, p) + rng.normal(size=p)
    truth = rng.normal(size=p) / X.std(axis=0)
    y = (rng.random(n) < 1 / (1 + np.exp(-(X - X.mean(axis=0)) @ truth))).astype(float)
    objective = Objective(LogLoss(), y)
    if shifted:  # fair targets: some below 0 and above 1
        objective = Objective(LogLoss(), y, shift=rng.normal(0, 0.2, n)).at(1.0)
    return LinearProblem(objective, X, l2, fit_intercept), rng.choice([-1.0, 0.0, 1.0], p)


def value_of(problem, raw):
    weights = problem.columns.from_raw(raw)
    return problem.value(problem.objective.expand(problem.columns.margin(weights)).losses, weights)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_result_is_that_of_a_bounded_optimiser(seed, shifted):
    problem, signs = problem_of(seed, fit_intercept=seed % 2 == 0, shifted=shifted)
    found = minimize_with_signs(problem, signs, tol=1e-9)
    assert found.converged
    assert np.all(found.weights[:-1] * signs >= 0)
    scale = np.append(problem.columns.scale, 1.0)  # SciPy needs columns of a like scale
    bounds = [(0, None) if s > 0 else (None, 0) if s < 0 else (None, None) for s in signs]
    bounds.append((None, None) if problem.fit_intercept else (0, 0))
    other = scipy_minimize(
        lambda w: value_of(problem, w / scale), np.zeros(len(scale)), method="L-BFGS-B",
        bounds=bounds, options={"maxiter": 5_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    assert value_of(problem, found.weights) <= other.fun + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_without_signs_it_is_the_usual_method(seed):
    problem, _ = problem_of(seed)
    usual = problem.minimize(tol=1e-9)
    found = minimize_with_signs(problem, np.zeros(6), tol=1e-9)
    assert found.weights == pytest.approx(usual.weights, abs=1e-6)


def test_signs_that_hold_anyway_change_nothing():
    problem, _ = problem_of(1)
    usual = problem.minimize(tol=1e-9)
    found = minimize_with_signs(problem, np.sign(usual.weights[:-1]), tol=1e-9)
    assert found.weights == pytest.approx(usual.weights, abs=1e-6)


def test_weights_at_their_bounds_are_exactly_0_and_pushed_outwards():
    problem, _ = problem_of(2)
    usual = problem.minimize(tol=1e-9)
    signs = -np.sign(usual.weights[:-1]) * [1, 0, 1, 0, 1, 0]
    found = minimize_with_signs(problem, signs, tol=1e-9)
    weights = problem.columns.from_raw(found.weights)
    expansion = problem.objective.expand(problem.columns.margin(weights))
    gradient = problem.gradient(expansion, weights)[:-1]
    held = found.weights[:-1] == 0
    assert held.any()
    assert np.all((gradient * signs)[held] >= -1e-9)
    assert abs(gradient[~held]).max() <= 1e-9


def test_it_starts_from_weights_of_the_wrong_sign():
    problem, signs = problem_of(3)
    start = np.append(-3.0 * signs, 1.0)
    cold = minimize_with_signs(problem, signs, tol=1e-9)
    warm = minimize_with_signs(problem, signs, start, tol=1e-9)
    assert warm.weights == pytest.approx(cold.weights, abs=1e-6)


def test_too_many_columns_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2_001)), rng.integers(0, 2, 20).astype(float)
    problem = LinearProblem(Objective(LogLoss(), y), X, 1.0)
    with pytest.raises(ValueError, match="at most 2,000 columns"):
        minimize_with_signs(problem, np.ones(2_001))
