"""Logistic regression on rows spread over processes, by Newton's method on summed derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..core.arrays import softplus
from ..roles import Floats
from ..tables import EngineTable

Reduce = Callable[[Floats], Floats]

_BLOCK_ROWS = 65_536
_MOST_STEPS = 50
_MOST_HALVINGS = 20
_STALLED = 1e-12  # a relative fall of the loss below this ends the search


@dataclass(frozen=True)
class Encoding:
    """A table of numbers and codes as columns for a linear model, on a common scale.

    Numbers are centred and scaled by the mean and the deviation over all processes, a missing one
    becomes the mean with a 0/1 column that says so; categories become one column a level.

    Examples
    --------
    >>> import numpy as np
    >>> table = EngineTable(("a",), {})
    >>> encoding = Encoding.of(np.array([[1.0], [3.0], [np.nan]]), table, lambda sums: sums)
    >>> encoding(np.array([[1.0], [np.nan]])).tolist()
    [[1.0, -1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    means: Floats
    scales: Floats
    missing: NDArray[np.bool_]
    level_counts: tuple[int, ...]

    @classmethod
    def of(cls, matrix: NDArray[Any], table: EngineTable, reduce: Reduce) -> Self:
        """Sum what is needed over all processes."""
        sums = np.zeros((3, len(table.names)))
        for block in _blocks(matrix):
            known = ~np.isnan(block)
            sums[:2] += [known.sum(axis=0), np.where(known, block, 0).sum(axis=0)]
            sums[2] += (~known).sum(axis=0)
        count, total, absent = reduce(sums)
        means = total / np.maximum(count, 1)
        squares = np.zeros(len(means))
        for block in _blocks(matrix):
            squares += np.nansum((block - means) ** 2, axis=0)
        scales = np.sqrt(reduce(squares) / np.maximum(count, 1))
        counts = tuple(len(table.levels.get(name, ())) for name in table.names)
        return cls(means, np.where(scales > 0, scales, 1), absent > 0, counts)

    @property
    def width(self) -> int:
        """How many columns there are, the constant among them."""
        words = np.array(self.level_counts) > 0
        return 1 + int((~words).sum() + self.missing.sum() + sum(self.level_counts))

    def __call__(self, matrix: NDArray[Any]) -> Floats:
        """Return the columns, the constant first."""
        words = np.array(self.level_counts) > 0
        scaled = (matrix[:, ~words] - self.means[~words]) / self.scales[~words]
        absent = np.isnan(matrix)
        found = [np.ones((len(matrix), 1)), np.where(absent[:, ~words], 0, scaled)]
        found.append(absent[:, self.missing])
        found.extend(
            matrix[:, [position]] == np.arange(self.level_counts[position])
            for position in np.flatnonzero(words)
        )
        return np.hstack(found).astype(np.float64)


@dataclass(frozen=True)
class LinearModel:
    """A fitted logistic regression."""

    encoding: Encoding
    coefficients: Floats

    def predict(self, matrix: NDArray[Any]) -> Floats:
        """Return P(1) of each row."""
        margins = [self.encoding(block) @ self.coefficients for block in _blocks(matrix)]
        return np.asarray(expit(np.concatenate([np.zeros(0), *margins])))


def fit_logistic(
    matrix: NDArray[Any],
    target: Floats,
    weights: Floats,
    encoding: Encoding,
    reduce: Reduce,
    C: float = 1.0,
) -> LinearModel:
    """Minimise C·Σ w (log(1+exp(s)) − y s) + ½‖β‖² over all processes, the intercept free.

    Each step sums value, gradient and Hessian at once: 1 + q + q² numbers for q columns. Every
    decision rests on summed numbers, so that all processes take the same one.

    Examples
    --------
    Two groups with shares of ¼ and ¾, hardly penalised:

    >>> import numpy as np
    >>> X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 0, 1, 0, 1, 1, 1.0])
    >>> encoding = Encoding.of(X, EngineTable(("a",), {}), lambda sums: sums)
    >>> model = fit_logistic(X, y, np.ones(8), encoding, lambda sums: sums, C=1e6)
    >>> model.predict(X[[0, -1]]).round(4).tolist()
    [0.25, 0.75]
    """
    ridge = np.full(encoding.width, 1 / C)
    ridge[0] = 1e-10  # enough to solve by where only one class is left

    def expand(beta: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, hessian = _summed(matrix, target, weights, encoding, beta, reduce)
        return (
            value + float(ridge @ beta**2) / 2,
            gradient + ridge * beta,
            hessian + np.diag(ridge),
        )

    beta = np.zeros(encoding.width)
    value, gradient, hessian = expand(beta)
    for _ in range(_MOST_STEPS):
        direction, length = np.linalg.solve(hessian, gradient), 1.0
        for _ in range(_MOST_HALVINGS):
            ahead = expand(beta - length * direction)
            if ahead[0] <= value:
                break
            length /= 2
        else:
            break
        fall, beta = value - ahead[0], beta - length * direction
        value, gradient, hessian = ahead
        if fall <= _STALLED * abs(value):
            break
    return LinearModel(encoding, beta)


def _summed(
    matrix: NDArray[Any],
    target: Floats,
    weights: Floats,
    encoding: Encoding,
    beta: Floats,
    reduce: Reduce,
) -> tuple[float, Floats, Floats]:
    """Return the log-loss with its derivatives in β, summed over all rows."""
    width = len(beta)
    sums = np.zeros((width + 1, width + 1))  # Hessian, gradient in the last row, value in the end
    for first, block in enumerate(_blocks(matrix)):
        rows = slice(first * _BLOCK_ROWS, first * _BLOCK_ROWS + len(block))
        design, w, y = encoding(block), weights[rows], target[rows]
        margin = design @ beta
        p = expit(margin)
        sums[:-1, :-1] += design.T @ (design * (w * p * (1 - p))[:, None])
        sums[-1, :-1] += (w * (p - y)) @ design
        sums[-1, -1] += w @ (softplus(margin) - y * margin)
    sums = reduce(sums)
    return float(sums[-1, -1]), sums[-1, :-1], sums[:-1, :-1]


def _blocks(matrix: NDArray[Any]) -> Iterator[Floats]:
    """Yield rows by the block, in double precision."""
    for first in range(0, len(matrix), _BLOCK_ROWS):
        yield np.asarray(matrix[first : first + _BLOCK_ROWS], dtype=np.float64)
