"""Folds and hold-outs that depend on what a row holds, not on its place or its units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats
from .tables import Column, columns

Keys = NDArray[np.uint64]

_GOLDEN = 0.6180339887498949  # its multiples fill [0, 1) evenly, however many there are


def fold_numbers(
    X: Any, z: NDArray[Any], n_folds: int, seed: int = 0, *, ties: Sequence[Floats] = ()
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


def hold_out(X: Any, strata: NDArray[Any], fraction: float, seed: int = 0) -> NDArray[np.bool_]:
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


def draws(matrix: NDArray[Any], ties: Sequence[Floats], seed: int) -> Floats:
    """Return a number in [0, 1) per row that depends on its content alone, wherever the row is.

    Where rows are spread over workers or files, a comparison with a share chooses that share of
    them without any of them being moved. Rows alike in X are shared out evenly, in the order of
    ``ties``; only there does it matter which of them are on one worker.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10_000.0).reshape(-1, 2)
    >>> drawn = draws(X, (), seed=0)
    >>> round(float((drawn < 0.2).mean()), 1)
    0.2
    >>> bool(np.all(drawn[::-1] == draws(X[::-1], (), seed=0)))
    True
    """
    keys = row_keys(matrix, seed)
    place = _place_among_equals(keys, ties)
    return (uniforms(keys) + place * _GOLDEN) % 1.0


def row_keys(matrix: NDArray[Any], seed: int) -> Keys:
    """Return a 64-bit hash of each row of numbers, exact to the last bit of each."""
    keys = _first_keys(len(matrix), seed)
    for column in matrix.T:
        values = np.ascontiguousarray(column, dtype=np.float64) + 0.0  # −0 is 0
        values[np.isnan(values)] = np.nan  # one NaN for all
        bits = values.view(np.uint64)
        _mix(keys, bits ^ (bits >> np.uint64(32)))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64's end
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


def uniforms(keys: Keys) -> Floats:
    """Return hashes as numbers in [0, 1)."""
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def _row_keys(X: Any, n_rows: int, seed: int) -> Keys:
    """Return a 64-bit hash of each row of a table, whatever the units of its columns."""
    keys = _first_keys(n_rows, seed)
    for column in columns(X):
        _mix(keys, _bits(column))
    return keys


def _first_keys(n_rows: int, seed: int) -> Keys:
    return np.full(n_rows, np.random.default_rng(seed).integers(2**63), dtype=np.uint64)


def _mix(keys: Keys, bits: Keys) -> None:
    """Let every bit of the keys depend on one more column."""
    keys ^= bits
    keys *= np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: spreads every bit
    keys ^= keys >> np.uint64(29)


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


def _place_among_equals(keys: Keys, ties: Sequence[Floats]) -> Floats:
    """Return how many rows with the same key come before each one."""
    place = np.zeros(len(keys))
    order = np.argsort(keys)
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return place
    repeated = np.zeros(len(keys), dtype=bool)
    repeated[order[1:][same]] = repeated[order[:-1][same]] = True
    rows = np.flatnonzero(repeated)
    rows = rows[np.lexsort([*(values[rows] for values in ties), keys[rows]])]  # the last is first
    first = np.r_[True, keys[rows][1:] != keys[rows][:-1]]
    counter = np.arange(len(rows))
    place[rows] = counter - np.maximum.accumulate(np.where(first, counter, 0))
    return place
