"""Newton's method for linear models whose weights have given signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .newton import (
    MAX_DENSE_COLUMNS,
    LinearProblem,
    NewtonResult,
    longest_step,
    solve_semidefinite,
)
from .objective import Expansion

Floats = NDArray[np.float64]

_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_STEP = 2.0**-30


def minimize_with_signs(
    problem: LinearProblem,
    signs: Floats,
    start: Floats | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> NewtonResult:
    """Minimise over weights of which some may not be negative and some not positive.

    A projected Newton method (Bertsekas 1982, SIAM J. Control Optim. 20(2)). In each step a weight
    is held if it is at its bound, or nearer to it than the last step was long, and the objective
    would push it through; the Newton step is taken in the others, and the path of that step,
    projected onto the bounds, is searched. With a convex objective the result is the best of all
    allowed weights. It has converged when the gradient is below ``tol`` in the weights that are
    free, and points out of the bounds in the others.

    Parameters
    ----------
    problem : LinearProblem
    signs : array of shape (p,)
        1 for a weight of at least 0, -1 for one of at most 0, 0 for any.
    start, tol, max_iter
        As in `LinearProblem.minimize`.

    Examples
    --------
    The label falls in x, but the weight may not be negative:

    >>> from unsway.core import LogLoss, Objective
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> problem = LinearProblem(Objective(LogLoss(), y), x, l2=0.1)
    >>> abs(minimize_with_signs(problem, np.array([1.0])).weights[0])
    np.float64(0.0)
    """
    if problem.X.shape[1] > MAX_DENSE_COLUMNS:
        raise ValueError(
            f"signs of weights are kept for at most {MAX_DENSE_COLUMNS:,} columns; X has "
            f"{problem.X.shape[1]:,}"
        )
    bounds = np.append(signs, 0.0)
    raw = np.zeros(len(bounds)) if start is None else start.astype(float)
    # scales are positive: a weight has its sign in the columns' coordinates too
    weights = project(problem.columns.from_raw(raw), bounds)
    expansion = problem.objective.expand(problem.columns.margin(weights))
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step, which is shortened
        for iteration in range(max_iter + 1):
            gradient = problem.gradient(expansion, weights)
            size = float(abs(outside(weights, gradient, bounds)).max())
            if size <= tol or iteration == max_iter:
                break
            found = _step(problem, expansion, weights, gradient, bounds)
            if found is None:
                break
            weights, expansion = found
    return NewtonResult(
        weights=problem.columns.to_raw(weights),
        losses=expansion.losses,
        statistics=expansion.statistics,
        n_iter=iteration,
        gradient_size=size,
        converged=size <= tol,
        bounded=not problem.falls_without_end(expansion, problem.columns.margin(weights)),
    )


def project(weights: Floats, bounds: Floats) -> Floats:
    """Return the nearest weights with the signs of the bounds."""
    return np.where(weights * bounds < 0, 0.0, weights)


def outside(weights: Floats, gradient: Floats, bounds: Floats) -> Floats:
    """Return the gradient without what pushes weights at their bounds out of them."""
    held = (weights == 0) & (bounds * gradient > 0)
    return np.where(held, 0.0, gradient)


def _step(
    problem: LinearProblem,
    expansion: Expansion,
    weights: Floats,
    gradient: Floats,
    bounds: Floats,
) -> tuple[Floats, Expansion] | None:
    """Return the next weights with their expansion, or None if the objective cannot fall."""
    near = float(np.linalg.norm(weights - project(weights - gradient, bounds)))
    held = (bounds != 0) & (abs(weights) <= min(1e-3, near)) & (bounds * gradient > 0)
    direction = np.where(held, -gradient, 0.0)
    direction[~held] = _newton(problem, expansion, gradient, ~held)
    if gradient @ direction >= 0:
        direction = -gradient
    value = problem.value(expansion.losses, weights)
    rounding = 4 * np.finfo(float).eps * abs(value)
    step = longest_step(problem.objective, problem.columns.margin(direction))
    while step >= _SMALLEST_STEP:
        moved = project(weights + step * direction, bounds)
        reached = problem.objective.expand(problem.columns.margin(moved))
        allowed = value + _SUFFICIENT_DECREASE * float(gradient @ (moved - weights)) + rounding
        if problem.value(reached.losses, moved) <= allowed:
            return moved, reached
        step /= 2
    return None


def _newton(
    problem: LinearProblem, expansion: Expansion, gradient: Floats, free: NDArray[np.bool_]
) -> Floats:
    """Return the Newton direction of the weights that are free."""
    for hessian in problem.hessians(expansion):
        found = solve_semidefinite(
            np.ascontiguousarray(hessian[np.ix_(free, free)]), -gradient[free]
        )
        if found is not None:
            return found
    return -gradient[free]
