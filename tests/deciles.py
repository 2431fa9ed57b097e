"""A criterion from outside the library: equal mean scores of the groups within tenths of a column.

It is one class. Memory, Parquet files, Dask, Spark and streams of batches carry its row values, the
number of each row's tenth, without knowing what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from unsway.core import Distance, Objective, Penalty
from unsway.core.penalty import identity
from unsway.criteria import FittedCriterion
from unsway.effects import HERE, Fitting
from unsway.rows import Rows
from unsway.tables import columns

TENTHS = 10


class DecileParity(BaseEstimator):
    """Hold the groups' mean scores to each other within each tenth of a column."""

    default_strength = 0.9
    allows_full_strength = False

    def __init__(self, column: int = 1) -> None:
        self.column = column

    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Find the nine cuts between the tenths, by bisection on counts that workers sum."""
        fitted = clone(self)
        fitted.cuts_ = self._cuts(self._values(rows.X), fitting.reduce or identity)
        return FittedCriterion(clone(self), fitted.predict(rows.X), fitted)

    def predict(self, X: Any) -> Any:
        """Return the number of the tenth that each row is in."""
        return np.searchsorted(self.cuts_, self._values(X)).astype(float)

    def objective(self, rows: Rows, row_values: Any, *, reduce: Any = None) -> Objective:
        """Return (1−λ)·loss + λ·Σ (gap within a tenth)², at strength 0."""
        if row_values is None:
            raise TypeError("DecileParity needs the number of each row's tenth")
        total = reduce or identity
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        inside = weights[:, None] * (row_values[:, None] == np.arange(TENTHS))
        sides = [inside * (rows.z == level)[:, None] for level in (0, 1)]
        zero, one = total(np.stack([side.sum(axis=0) for side in sides]))
        both = (zero > 0) & (one > 0)
        matrix = sides[1][:, both] / one[both] - sides[0][:, both] / zero[both]
        penalty = Penalty(
            matrix,
            Distance.of(["match"] * int(both.sum()), np.zeros(both.sum())),
            names=tuple(f"gap_{tenth}" for tenth in np.flatnonzero(both)),
            reduce=total,
        )
        return Objective(rows.outcome.loss, rows.y, penalty=penalty, sample_weight=rows.weights)

    def _values(self, X: Any) -> Any:
        return list(columns(X))[self.column].values

    def _cuts(self, values: Any, reduce: Any) -> Any:
        count, total, squares = reduce(np.array([len(values), values.sum(), values @ values]))
        mean, spread = total / count, np.sqrt(squares / count - (total / count) ** 2)
        low, high = (np.full(TENTHS - 1, mean + side * 10 * spread) for side in (-1, 1))
        wanted = count * np.arange(1, TENTHS) / TENTHS
        for _ in range(60):
            middle = (low + high) / 2
            below = reduce((values[:, None] <= middle).sum(axis=0).astype(float))
            low, high = (
                np.where(below < wanted, middle, low),
                np.where(below < wanted, high, middle),
            )
        return high
