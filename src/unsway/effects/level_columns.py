"""Columns of the levels in models of all groups, where there are three or more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Codes, Floats
from ..core.arrays import like

#: Scale of z·X in a linear model of all groups, as for two levels.
INTERACTION_SCALE = 0.2

#: A linear model has no product of z and X where it would have more columns than this.
MOST_COLUMNS = 300


@dataclass(frozen=True)
class LevelColumns:
    """Returns [E, D] of an encoded table E, where D has the columns of each row's level.

    Parameters
    ----------
    design : array of shape (n_levels, k)
        Those of each level, such as its indicators.

    Examples
    --------
    >>> LevelColumns(np.eye(3))(np.array([[5.0], [6.0]]), np.array([2, 0])).tolist()
    [[5.0, 0.0, 0.0, 1.0], [6.0, 1.0, 0.0, 0.0]]
    """

    design: Floats = field(repr=False)

    def __call__(self, table: Any, codes: Codes) -> Any:
        """Return the table with the columns of the level of each row."""
        return np.hstack([table, like(table, self.design[codes]).astype(table.dtype)])


@dataclass(frozen=True)
class LevelInteractions:
    """Returns [E, D, D⊗E/5] of an encoded table E, where D has the centred columns of the levels.

    A linear model of it has a slope of its own in each level, and a ridge on the differences of the
    slopes that is 25 times as strong as that on the slopes: a level of few rows borrows the slopes
    of the others unless its rows contradict them. All levels are treated alike. Where D⊗E would
    make the table wider than `MOST_COLUMNS` it is left out: such a model takes long, and trees find
    what differs between the levels.

    Parameters
    ----------
    design : array of shape (n_levels, k)
        The columns of each level.

    Examples
    --------
    >>> join = LevelInteractions(np.eye(2))
    >>> join(np.array([[3.0]]), np.array([1])).round(2).tolist()
    [[3.0, -0.5, 0.5, -0.3, 0.3]]
    >>> join.margin(np.array([[3.0]]), np.array([1.0, 0, 2, 0, 10, 0.5]), 1).tolist()
    [7.5]
    """

    design: Floats = field(repr=False)

    def __call__(self, table: Any, codes: Codes) -> Any:
        """Return the table with the columns of the level of each row, and their products."""
        columns = self._centred[codes]
        products = self._has_products(table.shape[1])
        if sparse.issparse(table):
            slopes = [
                table.multiply(column[:, None] * INTERACTION_SCALE)
                for column in columns.T
                if products
            ]
            return sparse.hstack([table, sparse.csr_matrix(columns), *slopes], format="csr")
        columns = like(table, columns)
        slopes = [table * column[:, None] * INTERACTION_SCALE for column in columns.T if products]
        return np.hstack([table, columns, *slopes])

    def margin(self, table: Any, coefficients: Floats, level: int) -> Any:
        """Return the margin of a linear model, intercept last, if all rows were of one level."""
        count, columns = table.shape[1], self._centred[level]
        slopes, width = coefficients[:count], len(columns)
        if self._has_products(count):
            products = coefficients[count + width : -1].reshape(width, count)
            slopes = slopes + INTERACTION_SCALE * columns @ products
        intercept = coefficients[-1] + columns @ coefficients[count : count + width]
        return table @ (slopes if sparse.issparse(table) else like(table, slopes)) + intercept

    def _has_products(self, count: int) -> bool:
        return count * (1 + self.design.shape[1]) <= MOST_COLUMNS

    @property
    def _centred(self) -> Floats:
        return np.asarray(self.design - self.design.mean(axis=0))
