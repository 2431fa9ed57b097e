"""Rows as columns for a linear model, on a scale that all processes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Mask, Reduce
from ..tables import CodedTable, EngineTable

_BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class Encoding:
    """A table of numbers and codes as columns for a linear model, on a common scale.

    Numbers are centred and scaled by the mean and the deviation over all processes, a missing one
    becomes the mean with a 0/1 column that says so; categories become one column a level.

    Examples
    --------
    >>> import numpy as np
    >>> table = EngineTable(("a",), {}).code(np.array([[1.0], [3.0], [np.nan]]))
    >>> encoding = Encoding.of(table, lambda sums: sums)
    >>> encoding(np.array([[1.0], [np.nan]]))[:].tolist()
    [[-1.0, 0.0], [0.0, 1.0]]
    """

    layout: EngineTable
    means: Floats
    scales: Floats
    missing: Mask

    @classmethod
    def of(cls, table: CodedTable, reduce: Reduce) -> Self:
        """Sum what is needed over all processes."""
        matrix = table.matrix
        sums = np.zeros((3, matrix.shape[1]))
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
        return cls(table.layout, means, np.where(scales > 0, scales, 1), absent > 0)

    def __call__(self, X: Any) -> EncodedRows:
        """Return a table as columns for a linear model."""
        return EncodedRows(self.layout.matrix(X), self)

    @property
    def level_counts(self) -> list[int]:
        """How many levels each column has, 0 for numbers."""
        return [len(self.layout.levels.get(name, ())) for name in self.layout.names]

    @property
    def width(self) -> int:
        """How many columns there are."""
        counts = np.array(self.level_counts)
        return int((counts == 0).sum() + self.missing.sum() + counts.sum())

    def design(self, block: Floats) -> Floats:
        """Return the columns of a block of rows."""
        counts = np.array(self.level_counts)
        numbers, absent = counts == 0, np.isnan(block)
        scaled = (block[:, numbers] - self.means[numbers]) / self.scales[numbers]
        found = [np.where(absent[:, numbers], 0, scaled), absent[:, self.missing]]
        found.extend(
            block[:, [position]] == np.arange(counts[position])
            for position in np.flatnonzero(~numbers)
        )
        return np.hstack(found).astype(np.float64)


@dataclass(frozen=True)
class EncodedRows:
    """The columns of rows by the block: slices and products, without holding all of them."""

    matrix: NDArray[Any]
    encoding: Encoding

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.matrix), self.encoding.width

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, rows: slice) -> Floats:
        return self.encoding.design(np.asarray(self.matrix[rows], dtype=np.float64))

    def __matmul__(self, weights: Floats) -> Floats:
        parts = [self[place] @ weights for place in self._places()]
        return np.concatenate([np.zeros(0), *parts])

    def pull_back(self, rows: Floats) -> Floats:
        """Return the sum of the columns, each row times a number."""
        total = np.zeros(self.encoding.width)
        for place in self._places():
            total += rows[place] @ self[place]
        return total

    def _places(self) -> Iterator[slice]:
        for first in range(0, len(self.matrix), _BLOCK_ROWS):
            yield slice(first, first + _BLOCK_ROWS)


def _blocks(matrix: NDArray[Any]) -> Iterator[Floats]:
    """Yield rows by the block, in double precision."""
    for first in range(0, len(matrix), _BLOCK_ROWS):
        yield np.asarray(matrix[first : first + _BLOCK_ROWS], dtype=np.float64)
