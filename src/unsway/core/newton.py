"""A damped Newton method for objectives of a linear margin s = Xw + c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg
from threadpoolctl import threadpool_limits

from .arrays import on_host
from .columns import StandardColumns
from .objective import Expansion, Losses, Objective

Floats = NDArray[np.float64]

#: With more columns than this the Hessian is never formed.
MAX_DENSE_COLUMNS = 2_000

#: With fewer columns than this a product is too small to share among BLAS threads.
_SMALL_COLUMNS = 256
_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_STEP = 2.0**-30
_SINGULAR = 1e-11
#: A Newton step, which looks at all rows, may move a margin further than one tree.
_MARGIN_STEPS = 3


@dataclass(frozen=True, kw_only=True)
class NewtonResult:
    """Where the method stopped: weights with the intercept last, and how it got there.

    Where it is not ``bounded`` the objective has no minimum, and the weights mean nothing.
    """

    weights: Floats
    losses: Losses
    statistics: Floats
    n_iter: int
    gradient_size: float
    converged: bool
    bounded: bool = True


@dataclass(frozen=True)
class LinearProblem:
    """Minimise f(Xw + c) + ½·l2·‖w‖² over the weights w and the intercept c.

    Parameters
    ----------
    objective : Objective
        f, a function of the margin.
    X : array of shape (n, p)
        Covariates, also sparse (see `StandardColumns`).
    l2 : float, default=0
        Weight of the squared norm; the intercept is free.
    fit_intercept : bool, default=True
        Whether c is fitted or 0.
    signs : array of shape (p,), optional
        1 for a weight of at least 0, -1 for one of at most 0, 0 for any.

    Notes
    -----
    Gradient Xᵀ(W·f)′/W; Hessian (Xᵀdiag(d)X + (XᵀV)·diag(stiffness)·(XᵀV)ᵀ)/W with d and V of
    `Expansion`: the whole of it for the price of one product more than the log-loss alone. All
    of it is computed in the coordinates of `StandardColumns`.
    """

    objective: Objective
    X: Any
    l2: float = 0.0
    fit_intercept: bool = True
    signs: Floats | None = None

    def minimize(
        self, start: Floats | None = None, *, tol: float = 1e-6, max_iter: int = 100
    ) -> NewtonResult:
        """Take damped Newton steps until the gradient, per unit of each column, is below tol.

        Where the Hessian is indefinite, the rows that make it so are left out of it.
        """
        if self.signs is not None:
            from .sign_constraints import minimize_with_signs

            with threadpool_limits(1, user_api="blas"):
                return minimize_with_signs(self, self.signs, start, tol=tol, max_iter=max_iter)
        with np.errstate(over="ignore", invalid="ignore"):  # too long a step, which is shortened
            if self.X.shape[1] > _SMALL_COLUMNS:
                return self._minimize(start, tol, max_iter)
            with threadpool_limits(1, user_api="blas"):
                return self._minimize(start, tol, max_iter)

    def _minimize(self, start: Floats | None, tol: float, max_iter: int) -> NewtonResult:
        raw = np.zeros(self.X.shape[1] + 1) if start is None else start.astype(float)
        weights = self.columns.from_raw(raw)
        margin = self.columns.margin(weights)
        expansion = self.objective.expand(margin)
        for iteration in range(max_iter + 1):
            gradient = self.gradient(expansion, weights)
            size = float(abs(gradient).max())
            if (
                size <= tol
                or iteration == max_iter
                or self._falls_without_end(expansion.losses, margin)
            ):
                break
            direction = self._direction(expansion, gradient)
            losses, slope = expansion.losses, float(gradient @ direction)
            del expansion  # its columns make room for the next one's
            step, expansion = self._search(weights, margin, direction, losses, slope)
            if step == 0:
                break
            weights = weights + step * direction
        return NewtonResult(
            weights=self.columns.to_raw(weights),
            losses=expansion.losses,
            statistics=expansion.statistics,
            n_iter=iteration,
            gradient_size=size,
            converged=size <= tol,
            bounded=not self._falls_without_end(expansion.losses, margin),
        )

    @property
    def columns(self) -> StandardColumns:
        """X in coordinates without units."""
        # Not a cached_property: Python 3.11's holds a lock, and workers in threads wait in reduce.
        known: StandardColumns | None = self.__dict__.get("_columns")
        if known is None:
            weights, reduce = self.objective.sample_weight, self.objective.penalty.reduce
            known = StandardColumns.of(self.X, weights, self.fit_intercept, reduce)
            self.__dict__["_columns"] = known
        return known

    @cached_property
    def _ridge(self) -> Floats:
        """The second derivative of ½·l2·‖w‖²; 1 for an intercept that is not fitted."""
        return np.append(self.l2 / self.columns.scale**2, 0.0 if self.fit_intercept else 1.0)

    def value(self, losses: Losses, weights: Floats) -> float:
        """Return the objective with the squared weights."""
        return losses.whole(self.objective.strength) + float(self._ridge @ weights**2) / 2

    def falls_without_end(self, expansion: Expansion, margin: Floats) -> bool:
        """Return whether the objective has been seen to have no minimum."""
        return self._falls_without_end(expansion.losses, margin)

    def _falls_without_end(self, losses: Losses, margin: Floats) -> bool:
        """Return whether the objective has been seen to have no minimum.

        Only fair targets where no label can be do that, and squared weights would end it.
        """
        if self.l2 > 0 or self.objective.shift is None:
            return False
        value = losses.whole(self.objective.strength)
        target = self.objective.shifted_target()
        return self.objective.loss.falls_without_end(value, margin, target)

    def gradient(self, expansion: Expansion, weights: Floats) -> Floats:
        """Return the gradient in the coordinates of `columns`."""
        slope = self.columns.pull_back(expansion.gradient) / self.objective.total_weight
        return slope + self._ridge * weights

    def _search(
        self, weights: Floats, margin: Floats, direction: Floats, losses: Losses, slope: float
    ) -> tuple[float, Expansion]:
        """Halve the step until the objective falls enough; 0 if it cannot fall any more.

        The margin is moved in place and ends where the step ends.
        """
        value, change = self.value(losses, weights), self.columns.margin(direction)
        step = longest_step(self.objective, change)
        rounding = 4 * np.finfo(float).eps * abs(value)
        margin += step * change
        del change
        while step >= _SMALLEST_STEP:
            expansion = self.objective.expand(margin)
            target = value + _SUFFICIENT_DECREASE * step * slope + rounding
            if self.value(expansion.losses, weights + step * direction) <= target:
                return step, expansion
            del expansion
            step /= 2
            margin -= self.columns.margin(step * direction)
        margin -= self.columns.margin(step * direction)
        return 0.0, self.objective.expand(margin)

    def _direction(self, expansion: Expansion, gradient: Floats) -> Floats:
        """Return the Newton direction."""
        factor = self._factor(expansion)
        if self.X.shape[1] > MAX_DENSE_COLUMNS:
            rows = _positive_rows(expansion) / self.objective.total_weight
            return self._conjugate_gradients(rows, factor, gradient)
        for hessian in self._hessians(expansion, factor):
            direction = solve_semidefinite(hessian, -gradient)
            if direction is not None:
                return direction
        return -gradient

    def hessians(self, expansion: Expansion) -> Iterator[Floats]:
        """Yield the exact Hessian, and then what is positive of it."""
        return self._hessians(expansion, self._factor(expansion))

    def _factor(self, expansion: Expansion) -> Floats:
        """Return the low-rank part of the Hessian as F·Fᵀ."""
        statistics = self.objective.penalty.matrix.T
        pulled = [self.columns.pull_back(expansion.density * column) for column in statistics]
        scaled = np.sqrt(on_host(expansion.stiffness) / self.objective.total_weight)
        factor = np.reshape(pulled, (-1, self.X.shape[1] + 1)).T * scaled
        return np.asarray(factor)

    def _hessians(self, expansion: Expansion, factor: Floats) -> Iterator[Floats]:
        total = self.objective.total_weight
        shared = factor @ factor.T + np.diag(self._ridge)
        rows = expansion.utility_curvature + expansion.bend
        yield self.columns.weighted_square(rows) / total + shared
        yield self.columns.weighted_square(_positive_rows(expansion)) / total + shared

    def _conjugate_gradients(self, rows: Floats, factor: Floats, gradient: Floats) -> Floats:
        """Return an inexact Newton direction from products with the Hessian's positive part."""

        def product(vector: Floats) -> Floats:
            through = self.columns.pull_back(rows * self.columns.margin(vector))
            return through + factor @ (factor.T @ vector) + self._ridge * vector

        operator = LinearOperator((len(gradient), len(gradient)), matvec=product, dtype=float)
        accuracy = min(0.1, float(np.sqrt(abs(gradient).max())))
        direction, _ = cg(operator, -gradient, rtol=accuracy, maxiter=200)
        return np.asarray(direction)


def longest_step(objective: Objective, change: Floats) -> float:
    """Return the step to try first: a whole one, unless it moves a margin further than allowed.

    Fair targets may average below 0 somewhere, where whole steps would go ever faster.
    """
    if objective.shift is None or not np.isfinite(objective.loss.largest_step):
        return 1.0
    furthest = float(abs(change).max())
    return (
        1.0 if furthest == 0 else min(1.0, _MARGIN_STEPS * objective.loss.largest_step / furthest)
    )


def _positive_rows(expansion: Expansion) -> Floats:
    """Return the diagonal curvature without what bends downwards."""
    rows: Floats = expansion.utility_curvature + np.maximum(0, expansion.bend)
    return rows


def solve_semidefinite(matrix: Floats, right: Floats) -> Floats | None:
    """Return the least-norm solution of Hx = r, or None if H has a negative eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> solve_semidefinite(np.diag([2.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [2.0, 0.0]
    >>> solve_semidefinite(np.diag([2.0, -1.0]), np.array([4.0, 0.0])) is None
    True
    """
    factor, failed = linalg.lapack.dpotrf(matrix)
    if not failed and linalg.lapack.dpocon(factor, np.linalg.norm(matrix, 1))[0] > _SINGULAR:
        return np.asarray(linalg.cho_solve((factor, False), right))
    sizes, vectors = np.linalg.eigh(matrix)
    if sizes[0] < -_SINGULAR * sizes[-1]:
        return None
    kept = sizes > _SINGULAR * sizes[-1]
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ right) / sizes[kept]))
