"""Folds, hold-outs and an order of rows that depend on their content, not on their position."""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats, Index
from .tables import Column, columns, numbers_of, row_count, take

Keys = NDArray[np.uint64]

#: Rows hashed at a time; tables of fewer than these in one thread, of more in several.
_BLOCK, _FEW_ROWS, _MOST_THREADS = 16_384, 100_000, 8

_STEPS = 2.0**27  # fine enough to tell nearly all numbers apart, coarse enough for rounding errors

_GOLDEN = 0.6180339887498949  # its multiples fill [0, 1) evenly, however many there are


def fold_numbers(
    X: Any,
    z: NDArray[Any],
    n_folds: int,
    seed: int = 0,
    *,
    ties: Sequence[Floats] = (),
    order: Index | None = None,
    clusters: Index | None = None,
) -> NDArray[np.intp]:
    """Return a fold per row, each level of z spread evenly, the same in whatever order rows come.

    Rows alike in X and z are told apart by ``ties``, such as labels and weights. ``order`` is the
    `canonical_order` of the rows where it is known. Rows of one of the ``clusters``, numbered from
    0 on, are in one fold.

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
    order = _shuffled(canonical_order(X, ties) if order is None else order, seed)
    if clusters is not None:
        return _folds_of_clusters(clusters, z, n_folds, order)[clusters]
    folds, ordered = np.empty(len(z), dtype=np.intp), z[order]
    for level in np.unique(z):
        rows = order[ordered == level]
        folds[rows] = np.arange(len(rows)) % n_folds
    return folds


def _folds_of_clusters(
    clusters: Index, z: NDArray[Any], n_folds: int, order: Index
) -> NDArray[np.intp]:
    """Return a fold per cluster: the largest first, each to the fold that has least of its level.

    A cluster's level is the one of which it holds the largest share of all rows.
    """
    levels, codes = np.unique(z, return_inverse=True)
    table = np.zeros((int(clusters.max()) + 1, len(levels)))
    np.add.at(table, (clusters, codes), 1.0)
    shares = table / table.sum(axis=0)
    first = np.full(len(table), len(order))
    np.minimum.at(first, clusters[order], np.arange(len(order)))
    folds, level = np.empty(len(table), dtype=np.intp), shares.argmax(axis=1)
    for place in range(len(levels)):
        mine = np.flatnonzero(level == place)
        mine = mine[np.lexsort((first[mine], -shares[mine, place]))]
        loads = [(0.0, fold) for fold in range(n_folds)]
        for cluster in mine.tolist():
            load, fold = loads[0]
            folds[cluster] = fold
            heapq.heapreplace(loads, (load + shares[cluster, place], fold))
    return folds


def hold_out(
    X: Any,
    strata: NDArray[Any],
    fraction: float,
    seed: int = 0,
    *,
    ties: Sequence[Floats] = (),
    order: Index | None = None,
    evenly: bool = False,
) -> NDArray[np.bool_]:
    """Return which rows to hold out: this fraction of each stratum, in whatever order rows come.

    Rows alike in X are told apart by ``ties``, such as weights. ``order`` is the `canonical_order`
    of the rows where it is known. ``evenly`` holds out that fraction of rows alike in X too, which
    are in the order of the ties; else the first ones of the order are held out.

    Examples
    --------
    >>> import numpy as np
    >>> hold_out(np.arange(8.0)[:, None], np.repeat([0.0, 1.0], 4), 0.25).sum()
    np.int64(2)
    """
    order = _shuffled(canonical_order(X, ties) if order is None else order, seed)
    held, ordered = np.zeros(len(strata), dtype=bool), strata[order]
    for level in np.unique(strata):
        rows = order[ordered == level]
        if evenly:
            rows = rows[np.diff(np.floor(np.arange(len(rows) + 1) * fraction + 0.5)) > 0]
            held[rows] = True
        else:
            held[rows[: round(fraction * len(rows))]] = True
    return held


def canonical_order(X: Any, ties: Sequence[Floats] = ()) -> Index:
    """Return the positions of rows in an order that depends on their content alone.

    Sums over rows are rounded differently in another order of the rows. Trees turn that rounding
    into other splits where two splits are nearly equally good. A model trained on rows in this
    order is the same in whatever order they were given. The order is arbitrary, as if shuffled.

    Parameters
    ----------
    X : table of n rows
        The covariates.
    ties : sequence of arrays of shape (n,), default=()
        Order rows that are alike in X, such as labels and weights.

    Returns
    -------
    array of int of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0], [1.0], [2.0]])
    >>> shuffled = X[[2, 0, 1]]
    >>> bool(np.all(X[canonical_order(X)] == shuffled[canonical_order(shuffled)]))
    True
    """
    return _sorted(table_keys(X), ties, X)


def _shuffled(order: Index, seed: int) -> Index:
    """Return positions in an order that depends on theirs and on the seed alone; 0 keeps it."""
    return order if not seed else order[np.random.default_rng([seed, 1]).permutation(len(order))]


def table_keys(X: Any) -> Keys:
    """Return a 64-bit hash of each row of a table, whatever the units of its columns.

    A number counts by its place between the smallest and the largest of its column, in steps that
    rounding errors of another unit hardly ever change. A column without any number, or
    of a single level, does not count.
    """
    matrix = numbers_of(X)
    if matrix is None:
        keys = first_keys(row_count(X), 0)
        for column in columns(X):
            if column.categorical and (column.values != column.values[0]).any():
                _mix(keys, _level_bits(column))
            elif not column.categorical:
                mix_numbers(keys, column.values[:, None], [_ends(column.values)])
        return keys
    ranges, keys = column_ends(matrix), first_keys(len(matrix), 0)

    def mix(rows: slice) -> None:
        mix_numbers(keys[rows], matrix[rows], ranges)

    threads = 1 if len(matrix) < _FEW_ROWS else min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        deque(pool.map(mix, _blocks(len(matrix))), maxlen=0)
    return keys


def mix_numbers(keys: Keys, matrix: NDArray[Any], ranges: list[tuple[float, float]]) -> None:
    """Let keys, of NumPy or CuPy, depend on columns of numbers with these ends.

    The ends of a column without any number are NaN.
    """
    block = matrix.astype(np.float64)
    for values, ends in zip(block.T, ranges, strict=True):
        if ends[0] == ends[0]:
            _mix(keys, _steps(values, ends))


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
    keys = first_keys(len(matrix), seed)
    for rows in _blocks(len(matrix)):
        for column in matrix[rows].T:
            _mix(keys[rows], _exact_bits(column))
    return _finished(keys)


def content_keys(X: Any, seed: int) -> Keys:
    """Return a 64-bit hash of each row of any table, by its content alone.

    Numbers count in single precision, so that a copy of a table in another format has the same
    hashes; other columns count by their text.

    Examples
    --------
    >>> keys = content_keys(np.array([[0.1], [0.2], [0.1]], dtype=np.float32), seed=0)
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    >>> bool(np.all(keys == content_keys(np.array([[0.1], [0.2], [0.1]]), seed=0)))
    True
    """
    keys = first_keys(row_count(X), seed)
    for column in columns(X):
        if column.categorical:
            _mix(keys, _level_bits(column))
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            _mix(keys, _exact_bits(column.values.astype(np.float32)))
    return _finished(keys)


def uniforms(keys: Keys) -> Floats:
    """Return hashes as numbers in [0, 1)."""
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def _blocks(n_rows: int) -> list[slice]:
    """Return rows a block at a time, which stays in the cache."""
    return [slice(first, first + _BLOCK) for first in range(0, n_rows, _BLOCK)]


def first_keys(n_rows: int, seed: int) -> Keys:
    """Return the keys of rows before any column is mixed in."""
    return np.full(n_rows, np.random.default_rng(seed).integers(2**63), dtype=np.uint64)


def _mix(keys: Keys, bits: Keys) -> None:
    """Let every bit of the keys depend on one more column."""
    keys ^= bits
    keys *= np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: spreads every bit
    keys ^= keys >> np.uint64(29)


def _finished(keys: Keys) -> Keys:
    """Return keys of which every bit depends on every bit of these, as splitmix64 ends."""
    keys = keys ^ (keys >> np.uint64(30))
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(27)
    keys *= np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _exact_keys(X: Any) -> Keys:
    """Return a 64-bit hash of each row of a table, exact to the last bit of each number."""
    matrix = numbers_of(X)
    if matrix is not None:
        return row_keys(matrix, 0)
    keys = first_keys(row_count(X), 0)
    for column in columns(X):
        _mix(keys, _level_bits(column) if column.categorical else _exact_bits(column.values))
    return keys


def _exact_bits(values: NDArray[Any]) -> Keys:
    values = values.astype(np.float64) + 0.0  # −0 is 0
    missing = np.isnan(values)
    if missing.any():
        values[missing] = np.nan  # one NaN for all
    bits = values.view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _steps(values: Floats, ends: tuple[float, float]) -> Keys:
    """Return numbers by their place between the ends of their column."""
    low, high = ends
    steps = values - low
    if high > low:
        steps *= _STEPS / (high - low)
    steps[~np.isfinite(steps)] = -1.0  # no place is below the lowest
    return np.round(steps).astype(np.int64).view(np.uint64)


def column_ends(matrix: NDArray[Any]) -> list[tuple[float, float]]:
    """Return the ends of every column of numbers."""
    if not len(matrix):
        return [(np.nan, np.nan)] * matrix.shape[1]
    lows, highs = matrix.min(axis=0), matrix.max(axis=0)  # NaN where one is missing
    return [
        (float(low), float(high)) if isfinite(high - low) else _ends(column)
        for low, high, column in zip(lows, highs, matrix.T, strict=True)
    ]


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    """Return the smallest and the largest of the finite numbers."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _level_bits(column: Column) -> Keys:
    values = column.values.tolist()
    hashes = {value: crc32(str(value).encode()) for value in set(values)}
    return np.fromiter(map(hashes.__getitem__, values), np.uint64, len(values))


def _sorted(keys: Keys, ties: Sequence[Floats], X: Any = None) -> Index:
    """Return the order of rows by their keys, then by the last of the ties, and so on.

    Keys of rounded numbers are also shared by rows that are nearly alike; those are put in order
    by their exact content, which is read off X.
    """
    order = np.argsort(keys)
    repeated = _repeated(keys[order])
    if repeated.any():
        rows = np.sort(order[repeated])
        last = [] if X is None else [_exact_keys(take(X, rows))]
        order[repeated] = rows[np.lexsort([*last, *(tie[rows] for tie in ties), keys[rows]])]
    return order


def _repeated(ordered: Keys) -> NDArray[np.bool_]:
    """Return which of sorted keys occur more than once."""
    repeated = np.zeros(len(ordered), dtype=bool)
    same = ordered[1:] == ordered[:-1]
    repeated[1:] |= same
    repeated[:-1] |= same
    return repeated


def _place_among_equals(keys: Keys, ties: Sequence[Floats]) -> Floats:
    """Return how many rows with the same key come before each one."""
    place = np.zeros(len(keys))
    order = _sorted(keys, ties)
    repeated = _repeated(keys[order])
    rows, counter = order[repeated], np.arange(int(repeated.sum()))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = keys[rows][1:] != keys[rows][:-1]
    place[rows] = counter - np.maximum.accumulate(np.where(first, counter, 0))
    return place
