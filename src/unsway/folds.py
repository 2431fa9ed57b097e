"""Folds and hold-outs that depend on what a row holds, not on its place or its units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .roles import Column, Floats, columns

Keys = NDArray[np.uint64]


def fold_numbers(
    X: Any, z: Floats, n_folds: int, seed: int = 0, *, ties: Sequence[Floats] = ()
) -> NDArray[np.intp]:
    """Return a fold per row, each level of z spread evenly, the same in whatever order rows come.

    Rows alike in X and z are told apart by ``ties``, such as labels and weights.

    Examples
    --------
    >>> import numpy as np
    >>> X, z = np.arange(6.0)[:, None], np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    >>> folds = fold_numbers(X, z, 2)
    >>> np.bincount(folds).tolist()
    [3, 3]
    >>> bool(np.all(folds[::-1] == fold_numbers(X[::-1], z[::-1], 2)))
    True
    """
    keys = _row_keys(X, len(z), seed)
    folds = np.empty(len(z), dtype=np.intp)
    for level in np.unique(z):
        rows = np.flatnonzero(z == level)
        order = np.lexsort([*(values[rows] for values in ties), keys[rows]])  # the last is first
        folds[rows[order]] = np.arange(len(rows)) % n_folds
    return folds


def hold_out(X: Any, strata: Floats, fraction: float, seed: int = 0) -> NDArray[np.bool_]:
    """Return which rows to hold out: this fraction of each stratum, in whatever order rows come.

    Examples
    --------
    >>> import numpy as np
    >>> hold_out(np.arange(8.0)[:, None], np.repeat([0.0, 1.0], 4), 0.25).sum()
    np.int64(2)
    """
    keys = _row_keys(X, len(strata), seed)
    held = np.zeros(len(strata), dtype=bool)
    for level in np.unique(strata):
        rows = np.flatnonzero(strata == level)
        held[rows[np.argsort(keys[rows])][: round(fraction * len(rows))]] = True
    return held


def _row_keys(X: Any, n_rows: int, seed: int) -> Keys:
    """Return a 64-bit hash of each row."""
    keys = np.full(n_rows, np.random.default_rng(seed).integers(2**63), dtype=np.uint64)
    for column in columns(X):
        keys ^= _bits(column)
        keys *= np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: spreads every bit
        keys ^= keys >> np.uint64(29)
    return keys


def _bits(column: Column) -> Keys:
    if column.categorical:
        levels, codes = np.unique(column.values, return_inverse=True)
        hashes = np.array([crc32(str(level).encode()) for level in levels], dtype=np.uint64)
        return np.asarray(hashes[codes])
    known = ~np.isnan(column.values)
    spread = column.values[known].std() if known.any() else 0.0
    bits = np.zeros(len(known), dtype=np.int64)
    if spread > 0:  # in units of the spread, rounded: the same whatever the units of the column
        steps = (column.values - column.values[known].mean()) / spread * 1e6
        bits[known] = np.clip(np.round(steps[known]), -(2**62), 2**62).astype(np.int64)
    bits[~known] = np.iinfo(np.int64).min
    return bits.view(np.uint64)
