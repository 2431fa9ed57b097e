"""64-bit hashes of the rows of a table, which depend on what the rows hold."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
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
#: Rows looked at together where all their columns are.
_SMALL_BLOCK = 4_096

_STEPS = 2.0**27  # fine enough to tell nearly all numbers apart, coarse enough for rounding errors


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
    return number_keys(matrix)


def number_keys(matrix: NDArray[Any]) -> Keys:
    """Return `table_keys` of numbers; where they are on a device, so are the keys."""
    ranges, keys = column_ends(matrix), _keys_beside(matrix, 0)
    _for_blocks(matrix, lambda rows: mix_numbers(keys[rows], matrix[rows], ranges))
    return keys


def mix_numbers(keys: Keys, matrix: NDArray[Any], ranges: list[tuple[float, float]]) -> None:
    """Let keys, of NumPy or CuPy, depend on columns of numbers with these ends.

    The ends of a column without any number are NaN.
    """
    block = matrix.astype(np.float64)
    for values, ends in zip(block.T, ranges, strict=True):
        if ends[0] == ends[0]:
            _mix(keys, _steps(values, ends))


def row_keys(matrix: NDArray[Any], seed: int, *, single: bool = False) -> Keys:
    """Return a 64-bit hash of each row of numbers, exact to the last bit of each.

    With ``single`` the numbers count in single precision. Those of numbers on a device are there.
    """
    keys = _keys_beside(matrix, seed)

    def mix(rows: slice) -> None:
        for column in matrix[rows].T:
            _mix(keys[rows], _exact_bits(_singles(column) if single else column))

    _for_blocks(matrix, mix)
    return _finished(keys)


def content_keys(X: Any, seed: int) -> Keys:
    """Return a 64-bit hash of each row of any table, by its content alone.

    Numbers count in single precision, so that a copy of a table in another format, or on a device,
    has the same hashes; other columns count by their text.

    Examples
    --------
    >>> keys = content_keys(np.array([[0.1], [0.2], [0.1]], dtype=np.float32), seed=0)
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    >>> bool(np.all(keys == content_keys(np.array([[0.1], [0.2], [0.1]]), seed=0)))
    True
    """
    matrix = numbers_of(X)
    if matrix is not None:
        found = row_keys(matrix, seed, single=True)
        return found.get() if hasattr(found, "get") else found
    keys = first_keys(row_count(X), seed)
    for column in columns(X):
        if column.categorical:
            _mix(keys, _level_bits(column))
        else:
            _mix(keys, _exact_bits(_singles(column.values)))
    return _finished(keys)


def uniforms(keys: Keys) -> Floats:
    """Return hashes as numbers in [0, 1)."""
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def _for_blocks(matrix: NDArray[Any], work: Callable[[slice], None]) -> None:
    """Do some work on rows, a block at a time that stays in the cache; on a device, all at once."""
    n_rows = len(matrix)
    if hasattr(matrix, "get"):  # where every step of a block has a price
        work(slice(n_rows))
        return
    blocks = [slice(first, first + _BLOCK) for first in range(0, n_rows, _BLOCK)]
    threads = min(_MOST_THREADS, os.cpu_count() or 1)
    if n_rows < _FEW_ROWS or threads == 1:
        deque(map(work, blocks), maxlen=0)
        return
    with ThreadPoolExecutor(threads) as pool:
        deque(pool.map(work, blocks), maxlen=0)


def first_keys(n_rows: int, seed: int) -> Keys:
    """Return the keys of rows before any column is mixed in."""
    return np.full(n_rows, _first_key(seed), dtype=np.uint64)


def _keys_beside(matrix: NDArray[Any], seed: int) -> Keys:
    """Return the first keys of the rows of a matrix, on its device."""
    return np.full_like(matrix, _first_key(seed), dtype=np.uint64, shape=len(matrix))


def _first_key(seed: int) -> int:
    return int(np.random.default_rng(seed).integers(2**63))


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


def exact_keys(X: Any, rows: Index) -> Keys:
    """Return a 64-bit hash of some rows of a table, exact to the last bit of each number."""
    matrix = numbers_of(X)
    if matrix is not None:
        parts = np.split(rows, range(_SMALL_BLOCK, len(rows), _SMALL_BLOCK))
        return np.concatenate([row_keys(matrix[part], 0) for part in parts])
    keys = first_keys(len(rows), 0)
    for column in columns(take(X, rows)):
        _mix(keys, _level_bits(column) if column.categorical else _exact_bits(column.values))
    return keys


def _singles(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in single precision; one that is too large there is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float64).astype(np.float32)


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
    lows, highs = (_over_rows(matrix, which) for which in (np.minimum, np.maximum))
    return [
        (float(low), float(high)) if isfinite(high - low) else _ends(column)
        for low, high, column in zip(lows, highs, matrix.T, strict=True)
    ]


def _over_rows(matrix: NDArray[Any], which: np.ufunc) -> NDArray[Any]:
    """Return the smallest or largest of each column, NaN where one is missing.

    Halves of a block are compared until little is left: several times as fast as row by row.
    """
    if hasattr(matrix, "get"):
        found = matrix.min(axis=0) if which is np.minimum else matrix.max(axis=0)
        return np.asarray(found.get())
    found = []
    for first in range(0, len(matrix), _SMALL_BLOCK):
        block = matrix[first : first + _SMALL_BLOCK]
        while len(block) > 1:
            odd, half = len(block) % 2, len(block) // 2
            block = which(block[: half + odd], block[half:])
        found.append(block[0])
    return np.asarray(which.reduce(found, axis=0))


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    """Return the smallest and the largest of the finite numbers."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _level_bits(column: Column) -> Keys:
    values = column.values.tolist()
    hashes = {value: crc32(str(value).encode()) for value in set(values)}
    return np.fromiter(map(hashes.__getitem__, values), np.uint64, len(values))
