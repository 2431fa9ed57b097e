"""A damped Newton method for linear models of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from threadpoolctl import threadpool_limits

from .columns import Floats, StandardColumns
from .newton import MAX_DENSE_COLUMNS, NewtonResult, solve_semidefinite
from .objective import Losses, Objective

_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_STEP = 2.0**-30


@dataclass(frozen=True)
class ClassProblem:
    """Minimise f(XW + c) + ½·l2·‖W‖² over a column of weights, and an intercept, of each class.

    f is a mean of `MultinomialLogLoss`, against labels or fair targets, without a penalty.

    Parameters
    ----------
    objective : Objective
        f, a function of margins of shape (n, C).
    X : array of shape (n, p)
        Covariates.
    l2 : float, default=0
        Weight of the squared norm; intercepts are free.
    fit_intercept : bool, default=True
        Whether c is fitted or 0.

    Notes
    -----
    The same number added to the margins of all classes changes nothing. The method starts from
    weights that sum to 0 over the classes and takes the shortest Newton steps, which keep the sum.
    The Hessian has the blocks Xᵀdiag(w·p_j(1(j=k) − p_k))X/W. With more than 2,000 weights it is
    not formed: conjugate gradients find a step from products with it.

    Examples
    --------
    Shares of ½, ¼ and ¼, without covariates that matter:

    >>> from unsway.core import MultinomialLogLoss
    >>> target = np.eye(3)[[0, 0, 1, 2]]
    >>> problem = ClassProblem(Objective(MultinomialLogLoss(), target), np.zeros((4, 1)))
    >>> intercepts = problem.minimize().weights[:, -1]
    >>> (np.exp(intercepts) / np.exp(intercepts).sum()).round(3).tolist()
    [0.5, 0.25, 0.25]
    """

    objective: Objective
    X: Any
    l2: float = 0.0
    fit_intercept: bool = True

    def minimize(
        self, start: Floats | None = None, *, tol: float = 1e-6, max_iter: int = 100
    ) -> NewtonResult:
        """Take damped Newton steps until the gradient, per unit of each column, is below tol.

        ``start`` and the weights of the result have shape (C, p + 1), the intercept last.
        """
        with np.errstate(over="ignore", invalid="ignore"), threadpool_limits(1, user_api="blas"):
            return self._minimize(start, tol, max_iter)

    def _minimize(self, start: Floats | None, tol: float, max_iter: int) -> NewtonResult:
        weights_of_rows, reduce = self.objective.sample_weight, self.objective.penalty.reduce
        columns = StandardColumns.of(self.X, weights_of_rows, self.fit_intercept, reduce)
        point = _Point.at(self, columns, _start(columns, self.objective.target.shape[1], start))
        for iteration in range(max_iter + 1):
            size = float(abs(point.gradient).max())
            if size <= tol or iteration == max_iter or self._falls_without_end(point):
                break
            found = self._search(columns, point, self._direction(columns, point))
            if found is None:
                break
            point = found
        return NewtonResult(
            weights=np.array([columns.to_raw(each) for each in point.weights]),
            losses=point.losses,
            statistics=np.zeros(0),
            n_iter=iteration,
            gradient_size=size,
            converged=size <= tol,
            bounded=not self._falls_without_end(point),
        )

    def _falls_without_end(self, point: _Point) -> bool:
        """Return whether the objective has been seen to have no minimum."""
        if self.l2 > 0 or self.objective.shift is None:
            return False
        value = point.losses.whole(self.objective.strength)
        return self.objective.loss.falls_without_end(value, point.margin, self.objective.target)

    def _search(self, columns: StandardColumns, point: _Point, direction: Floats) -> _Point | None:
        """Return where the objective has fallen enough along a direction; None if it cannot."""
        slope = float((point.gradient * direction).sum())
        rounding = 4 * np.finfo(float).eps * abs(point.value)
        step = 1.0
        while step >= _SMALLEST_STEP:
            reached = _Point.at(self, columns, point.weights + step * direction)
            if reached.value <= point.value + _SUFFICIENT_DECREASE * step * slope + rounding:
                return reached
            step /= 2
        return None

    def _direction(self, columns: StandardColumns, point: _Point) -> Floats:
        """Return the Newton direction, an inexact one where there are many weights."""
        if point.weights.size > MAX_DENSE_COLUMNS:
            return self._conjugate_gradients(columns, point)
        n_classes, size = point.weights.shape
        hessian = np.zeros((n_classes, size, n_classes, size))
        ridge = np.diag(self.ridge(columns))
        w, p = self._row_weights(), point.scores
        for one in range(n_classes):
            for other in range(one + 1):
                rows = p[:, one] * ((one == other) - p[:, other])
                block = columns.weighted_square(rows * w)
                hessian[one, :, other] = block + (one == other) * ridge
                hessian[other, :, one] = hessian[one, :, other].T
        square = hessian.reshape(point.weights.size, -1)
        found = solve_semidefinite(square, -point.gradient.ravel())
        return -point.gradient if found is None else found.reshape(point.weights.shape)

    def _conjugate_gradients(self, columns: StandardColumns, point: _Point) -> Floats:
        w, p, ridge = self._row_weights(), point.scores, self.ridge(columns)

        def product(flat: Floats) -> Floats:
            vector = flat.reshape(point.weights.shape)
            moved = _margins(columns, vector)
            pulled = p * (moved - (p * moved).sum(axis=1, keepdims=True)) * w[:, None]
            through = np.array([columns.pull_back(each) for each in pulled.T])
            return np.asarray((through + ridge * vector).ravel())

        size = point.weights.size
        operator = LinearOperator((size, size), matvec=product, dtype=float)
        accuracy = min(0.1, float(np.sqrt(abs(point.gradient).max())))
        found, _ = cg(operator, -point.gradient.ravel(), rtol=accuracy, maxiter=200)
        return np.asarray(found.reshape(point.weights.shape))

    def _row_weights(self) -> Floats:
        """Return the weight of each row in the mean."""
        weights = self.objective.sample_weight
        shares = np.ones(len(self.objective.target)) if weights is None else weights
        return np.asarray(shares / self.objective.total_weight)

    def ridge(self, columns: StandardColumns) -> Floats:
        """Return the second derivative of ½·l2·‖W‖²; 1 for intercepts that are not fitted."""
        return np.append(self.l2 / columns.scale**2, 0.0 if self.fit_intercept else 1.0)


@dataclass(frozen=True, kw_only=True)
class _Point:
    """Weights of shape (C, p + 1) in standard coordinates, and what is known there."""

    weights: Floats
    margin: Floats
    scores: Floats
    gradient: Floats
    losses: Losses
    value: float

    @classmethod
    def at(cls, problem: ClassProblem, columns: StandardColumns, weights: Floats) -> _Point:
        """Return the point with these weights."""
        objective, ridge = problem.objective, problem.ridge(columns)
        margin = _margins(columns, weights)
        scores, _ = objective.loss.mean(margin)
        pull = (scores - objective.shifted_target()) * problem._row_weights()[:, None]
        gradient = np.array([columns.pull_back(each) for each in pull.T]) + ridge * weights
        utility, fairness = float(objective.mean_loss(margin)), 0.0
        if objective.shift is not None:
            fairness = float(objective.mean_loss(margin, objective.target + objective.shift))
        losses = Losses(utility, fairness)
        value = losses.whole(objective.strength) + float((ridge * weights**2).sum()) / 2
        return cls(
            weights=weights, margin=margin, scores=scores, gradient=gradient, losses=losses,
            value=value,
        )  # fmt: skip


def _margins(columns: StandardColumns, weights: Floats) -> Floats:
    return np.column_stack([columns.margin(each) for each in weights])


def _start(columns: StandardColumns, n_classes: int, start: Floats | None) -> Floats:
    if start is None:
        return np.zeros((n_classes, columns.X.shape[1] + 1))
    return np.array([columns.from_raw(each) for each in start])
