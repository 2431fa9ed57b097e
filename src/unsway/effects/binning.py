"""Numbers of a table in a few bins, so that boosted trees need not find quantiles by weight.

scikit-learn finds the bins of its trees by one weighted percentile after the other, for each column
of each fit, which takes longer than the trees. Columns of at most 255 values need no percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._typing import Floats, Mask
from ..tables import EngineTable

#: Bins of scikit-learn's trees.
MOST_BINS = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class BinnedTable:
    """A table whose numbers are the means of the edges of their bins.

    Parameters
    ----------
    layout : EngineTable
        Reads a table as floats.
    edges : tuple of array or None
        Of each column, ends of bins; None for one of few values or of categories.

    Examples
    --------
    >>> X = np.arange(1000.0)[:, None]
    >>> table = BinnedTable.of(EngineTable.of(X), X, np.array([False]))
    >>> len(np.unique(table(X)))
    255
    """

    layout: EngineTable
    edges: tuple[Floats | None, ...] = field(repr=False)

    @classmethod
    def of(cls, layout: EngineTable, matrix: Floats, categorical: Mask) -> Self:
        """Find the bins of each column of numbers, with as many rows in each."""
        return cls(
            layout=layout,
            edges=tuple(
                None if skipped else _edges(column)
                for column, skipped in zip(matrix.T, categorical, strict=True)
            ),
        )

    def __call__(self, X: Any) -> Floats:
        """Return a table as floats; NaN stays."""
        return self.binned(self.layout.matrix(X))

    def binned(self, matrix: Any) -> Floats:
        """Return a table that was read already."""
        found = np.array(matrix, dtype=np.float64)
        for position, edges in enumerate(self.edges):
            if edges is not None:
                values = found[:, position]
                known = ~np.isnan(values)
                place = np.searchsorted(edges, values[known], side="left").clip(1, len(edges) - 1)
                found[known, position] = (edges[place - 1] + edges[place]) / 2
        return found


def _edges(column: Floats) -> Floats | None:
    """Return ends of bins; None where there are no more values than bins."""
    known = column[~np.isnan(column)].astype(np.float64)
    if len(np.unique(known)) <= MOST_BINS:
        return None
    return np.unique(np.quantile(known, np.linspace(0, 1, MOST_BINS + 1)))
