"""A damped Newton method for objectives of a linear margin s = Xw + c."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from .objective import Expansion, Losses, Objective

Floats = NDArray[np.float64]

#: With more columns than this the Hessian is never formed.
MAX_DENSE_COLUMNS = 2_000

_BLOCK_ROWS = 1_024
_SUFFICIENT_DECREASE = 1e-4
_SMALLEST_STEP = 2.0**-30
_SINGULAR = 1e-11


@dataclass(frozen=True)
class NewtonResult:
    """Where the method stopped: weights with the intercept last, and how it got there."""

    weights: Floats
    losses: Losses
    statistics: Floats
    n_iter: int
    gradient_size: float
    converged: bool


@dataclass(frozen=True)
class LinearProblem:
    """Minimise f(Xw + c) + ½·l2·|w|² over the weights w and the intercept c.

    Parameters
    ----------
    objective : Objective
        f, a function of the margin.
    X : array of shape (n, p)
        Covariates.
    l2 : float
        Weight of the squared norm; the intercept is free.
    fit_intercept : bool
        Whether c is fitted or 0.

    Notes
    -----
    Gradient Xᵀ(W·f)′/W; Hessian (Xᵀdiag(d)X + (XᵀV)·diag(stiffness)·(XᵀV)ᵀ)/W with d and V of
    `Expansion`: the whole of it for the price of one product more than the log-loss alone.
    """

    objective: Objective
    X: Floats
    l2: float = 0.0
    fit_intercept: bool = True

    def minimize(
        self, start: Floats | None = None, *, tol: float = 1e-6, max_iter: int = 100
    ) -> NewtonResult:
        """Take damped Newton steps until the gradient is below tol, per unit of each column.

        Where the Hessian is indefinite, the rows that make it so are left out of it.
        """
        scale = self._scale()
        weights = np.zeros(self.X.shape[1] + 1) if start is None else start.astype(float)
        margin = self.margin(weights)
        expansion = self.objective.expand(margin)
        for iteration in range(max_iter + 1):
            gradient = self._gradient(expansion, weights) / scale
            size = float(abs(gradient).max())
            if size <= tol or iteration == max_iter:
                break
            direction = self._direction(expansion, gradient, scale) / scale
            losses, slope = expansion.losses, float(gradient @ (direction * scale))
            del expansion  # its columns make room for the next one's
            step, expansion = self._search(weights, margin, direction, losses, slope)
            if step == 0:
                break
            weights = weights + step * direction
        return NewtonResult(
            weights, expansion.losses, expansion.statistics, iteration, size, size <= tol
        )

    def margin(self, weights: Floats) -> Floats:
        """Return Xw + c."""
        margin = self.X @ weights[:-1]
        if self.fit_intercept:
            margin += weights[-1]
        return margin

    def _value(self, losses: Losses, weights: Floats) -> float:
        ridge = self.l2 / 2 * float(weights[:-1] @ weights[:-1])
        return losses.whole(self.objective.strength) + ridge

    def _gradient(self, expansion: Expansion, weights: Floats) -> Floats:
        gradient = self._pull_back(expansion.gradient) / self.objective.total_weight
        gradient[:-1] += self.l2 * weights[:-1]
        return gradient

    def _pull_back(self, rows: Floats) -> Floats:
        """Return [X 1]ᵀ·rows, with 0 for the intercept where it is not fitted."""
        return np.append(self.X.T @ rows, rows.sum() * self.fit_intercept)

    def _scale(self) -> Floats:
        """Return each column's root mean square, so that steps and tol do not depend on units."""
        squares = np.einsum("ij,ij->j", self.X, self.X) / len(self.X)
        return np.append(np.where(squares > 0, np.sqrt(squares), 1), 1)

    def _search(
        self, weights: Floats, margin: Floats, direction: Floats, losses: Losses, slope: float
    ) -> tuple[float, Expansion]:
        """Halve the step until the objective falls enough; 0 if it cannot fall any more.

        The margin is moved in place and ends where the step ends.
        """
        value, shift, step = self._value(losses, weights), self.margin(direction), 1.0
        rounding = 4 * np.finfo(float).eps * abs(value)
        margin += shift
        while step >= _SMALLEST_STEP:
            expansion = self.objective.expand(margin)
            target = value + _SUFFICIENT_DECREASE * step * slope + rounding
            if self._value(expansion.losses, weights + step * direction) <= target:
                return step, expansion
            del expansion
            step /= 2
            margin -= step * shift
        margin -= step * shift
        return 0.0, self.objective.expand(margin)

    def _direction(self, expansion: Expansion, gradient: Floats, scale: Floats) -> Floats:
        """Return the Newton direction in scaled coordinates."""
        total = self.objective.total_weight
        columns = self.objective.penalty.matrix.T
        factor = np.column_stack(
            [self._pull_back(expansion.density * column) for column in columns]
        )
        factor *= np.sqrt(expansion.stiffness / total) / scale[:, None]
        ridge = self.l2 / scale**2
        ridge[-1] = 0.0 if self.fit_intercept else 1.0
        if self.X.shape[1] > MAX_DENSE_COLUMNS:
            rows = expansion.utility_curvature + np.maximum(0, expansion.bend)
            return self._conjugate_gradients(rows / total, factor, ridge, gradient, scale)
        shared = factor @ factor.T + np.diag(ridge)
        units = total * np.outer(scale, scale)
        exact = self._weighted_square(expansion.utility_curvature + expansion.bend) / units + shared
        direction = solve_semidefinite(exact, -gradient)
        if direction is None:  # indefinite: leave out what bends downwards
            rows = expansion.utility_curvature + np.maximum(0, expansion.bend)
            direction = solve_semidefinite(self._weighted_square(rows) / units + shared, -gradient)
        return -gradient if direction is None else direction

    def _weighted_square(self, rows: Floats) -> Floats:
        """Return [X 1]ᵀ·diag(rows)·[X 1], by blocks so that X is never copied whole."""
        p = self.X.shape[1]
        square = np.zeros((p + 1, p + 1))
        for first in range(0, len(rows), _BLOCK_ROWS):
            block = slice(first, first + _BLOCK_ROWS)
            square[:p, :p] += self.X[block].T @ (rows[block, None] * self.X[block])
        if self.fit_intercept:
            square[:p, p] = square[p, :p] = self.X.T @ rows
            square[p, p] = rows.sum()
        return square

    def _conjugate_gradients(
        self, rows: Floats, factor: Floats, ridge: Floats, gradient: Floats, scale: Floats
    ) -> Floats:
        """Return an inexact Newton direction from products with the Hessian's positive part."""

        def product(vector: Floats) -> Floats:
            through = self._pull_back(rows * self.margin(vector / scale)) / scale
            return through + factor @ (factor.T @ vector) + ridge * vector

        operator = LinearOperator((len(gradient), len(gradient)), matvec=product, dtype=float)
        accuracy = min(0.1, float(np.sqrt(abs(gradient).max())))
        direction, _ = cg(operator, -gradient, rtol=accuracy, maxiter=200)
        return np.asarray(direction)


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
