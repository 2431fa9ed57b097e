"""A table as a network takes it: standardised numbers, and a column for each level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._typing import Floats
from ...tables import CodedTable


@dataclass(frozen=True)
class NetworkInputs:
    """From the matrix of an `EngineTable` to the inputs of a network.

    Numbers are centred and in units of their spread over the training rows, each counting by its
    weight. A missing one becomes 0, the mean; if any was missing in training, a column of 0/1 says
    so. A category has a column of 0/1 for each level; missing or not seen in training, it has none.

    Examples
    --------
    >>> from unsway.tables import EngineTable
    >>> X = np.array([["b", 1], ["a", 3], ["a", None]], dtype=object)
    >>> table = EngineTable.of(X).code(X)
    >>> NetworkInputs.of(table)(table.matrix).tolist()
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    """

    numbers: NDArray[np.intp]
    center: Floats
    scale: Floats
    with_holes: NDArray[np.intp]
    #: Column of each category → how many levels it has.
    categories: dict[int, int]

    @classmethod
    def of(cls, table: CodedTable, weights: Floats | None = None) -> Self:
        """Measure the columns of the training rows."""
        layout, matrix = table.layout, table.matrix
        categories = {
            position: len(layout.levels[name])
            for position, name in enumerate(layout.names)
            if name in layout.levels
        }
        numbers = np.setdiff1d(np.arange(matrix.shape[1]), list(categories))
        values = matrix[:, numbers].astype(np.float64)
        holes = np.isnan(values)
        w = np.where(holes, 0.0, 1.0 if weights is None else weights[:, None])
        total = np.where(w.any(axis=0), w.sum(axis=0), 1.0)
        center = (w * np.where(holes, 0.0, values)).sum(axis=0) / total
        off = np.where(holes, 0.0, values - center)
        spread = np.sqrt((w * off**2).sum(axis=0) / total)
        scale = np.where(spread > 1e-10 * np.abs(center), spread, 1.0)  # below is rounding
        return cls(numbers, center, scale, np.flatnonzero(holes.any(axis=0)), categories)

    @property
    def width(self) -> int:
        """How many inputs the network has."""
        return len(self.numbers) + len(self.with_holes) + sum(self.categories.values())

    def __call__(self, matrix: NDArray[Any]) -> NDArray[np.float32]:
        """Return the inputs of each row."""
        values = matrix[:, self.numbers].astype(np.float64)
        holes = np.isnan(values)
        parts = [np.where(holes, 0.0, (values - self.center) / self.scale)]
        parts.append(holes[:, self.with_holes].astype(np.float64))
        for position, n_levels in self.categories.items():
            parts.append(matrix[:, position, None] == np.arange(n_levels))
        return np.hstack(parts).astype(np.float32)
