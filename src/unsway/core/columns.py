"""The columns of X seen centred and in units of their spread, without forming such a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arrays import like, namespace, on_host
from .penalty import identity

Floats = NDArray[np.float64]

_BLOCK_VALUES = 16_384  # a block stays in the cache
_SPARSE_BLOCK_VALUES = 262_144  # slicing a sparse matrix costs as much as many rows
_DEVICE_BLOCK_VALUES = 2**27  # 1 GiB
_CONSTANT = 1e-10  # a spread below this share of the mean is rounding


@dataclass(frozen=True)
class StandardColumns:
    """The matrix Z = [(X − centre)/scale, 1], by its products.

    X may be on a device; what has a number per row is there too, what has one per column is not.

    Weights in these coordinates have no units, so that steps, tolerances and conditioning do not
    depend on the units and the origin of X. Without an intercept nothing is centred and the last
    column is 0.

    Examples
    --------
    >>> import numpy as np
    >>> columns = StandardColumns.of(np.array([[1.0], [3.0]]))
    >>> columns.margin(np.array([1.0, 0.5])).tolist()
    [-0.5, 1.5]
    >>> columns.to_raw(np.array([1.0, 0.5])).tolist()
    [1.0, -1.5]
    """

    X: Any
    center: Floats
    scale: Floats
    intercept: bool
    reduce: Callable[[Floats], Floats] = identity

    @classmethod
    def of(
        cls,
        X: Any,
        weights: Floats | None = None,
        intercept: bool = True,
        reduce: Callable[[Floats], Floats] = identity,
    ) -> Self:
        """Measure the columns, each row counting by its weight.

        X is an array or a sparse matrix, of which no more than a block is ever dense. Where the
        rows are spread over workers, ``reduce`` sums over all of them.
        """
        arrays = np if sparse.issparse(X) else namespace(X)
        w = arrays.ones(X.shape[0]) if weights is None else weights
        sums = reduce(np.append(on_host(X.T @ w), float(w.sum())))
        total = sums[-1]
        center = sums[:-1] / total if intercept else np.zeros(X.shape[1])
        squares = np.zeros(X.shape[1])
        for rows in _blocks(X):
            squares += on_host(w[rows] @ (_dense(X[rows]) - like(w, center)) ** 2)
        spread = np.sqrt(reduce(squares) / total)
        scale = np.where(spread > _CONSTANT * abs(center), spread, 1.0)
        return cls(X, center, scale, intercept, reduce)

    def margin(self, weights: Floats) -> Floats:
        """Return Z·weights."""
        raw = self.to_raw(weights)
        slopes = raw[:-1] if sparse.issparse(self.X) else like(self.X, raw[:-1])
        margin = self.X @ slopes
        margin += raw[-1]
        return margin

    def pull_back(self, rows: Floats) -> Floats:
        """Return Zᵀ·rows."""
        sums = self.reduce(np.append(on_host(self.X.T @ rows), float(rows.sum())))
        total = sums[-1]
        scaled = (sums[:-1] - self.center * total) / self.scale
        return np.append(scaled, total if self.intercept else 0.0)

    def weighted_square(self, rows: Floats) -> Floats:
        """Return Zᵀ·diag(rows)·Z, by blocks of rows."""
        p = self.X.shape[1]
        square = np.zeros((p + 1, p + 1))
        roots = np.sqrt(rows) if rows.size and rows.min() >= 0 else None
        center = like(rows, self.center)
        for part in _blocks(self.X):
            block = _dense(self.X[part]) - center
            if roots is None:
                square[:p, :p] += on_host(block.T @ (rows[part, None] * block))
            else:  # a matrix times its own transpose takes half the time
                block *= roots[part, None]
                square[:p, :p] += on_host(block.T @ block)
        square[:p, :p] = self.reduce(square[:p, :p]) / np.outer(self.scale, self.scale)
        crossed = self.pull_back(rows)
        square[p, :] = square[:, p] = crossed if self.intercept else 0.0
        return square

    def to_raw(self, weights: Floats) -> Floats:
        """Return the weights of X itself, intercept last."""
        raw = weights[:-1] / self.scale
        return np.append(raw, weights[-1] - self.center @ raw if self.intercept else 0.0)

    def from_raw(self, raw: Floats) -> Floats:
        """Return the weights of Z for those of X."""
        intercept = raw[-1] + self.center @ raw[:-1] if self.intercept else 0.0
        return np.append(raw[:-1] * self.scale, intercept)


def _dense(block: Any) -> Any:
    return block.toarray() if sparse.issparse(block) else block


def _blocks(X: Any) -> Iterator[slice]:
    values = _BLOCK_VALUES if isinstance(X, np.ndarray) else _DEVICE_BLOCK_VALUES
    values = _SPARSE_BLOCK_VALUES if sparse.issparse(X) else values
    size = max(64, values // X.shape[1])
    for first in range(0, X.shape[0], size):
        yield slice(first, first + size)
