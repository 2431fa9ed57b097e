"""Folds, hold-outs and an order of rows that depend on their content, not on their position."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats, Index
from .tables import Column, columns, row_count, take

Keys = NDArray[np.uint64]

#: Fewer rows than these are hashed in one thread, more in a few.
_FEW_ROWS, _MOST_THREADS = 100_000, 4

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
    order = _sorted(keys, ties, X)
    folds = np.empty(len(z), dtype=np.intp)
    for level in np.unique(z):
        rows = order[z[order] == level]
        folds[rows] = np.arange(len(rows)) % n_folds
    return folds


def hold_out(
    X: Any, strata: NDArray[Any], fraction: float, seed: int = 0, *, ties: Sequence[Floats] = ()
) -> NDArray[np.bool_]:
    """Return which rows to hold out: this fraction of each stratum, in whatever order rows come.

    Rows alike in X are told apart by ``ties``, such as weights.

    Examples
    --------
    >>> import numpy as np
    >>> hold_out(np.arange(8.0)[:, None], np.repeat([0.0, 1.0], 4), 0.25).sum()
    np.int64(2)
    """
    order = _sorted(_row_keys(X, len(strata), seed), ties, X)
    held = np.zeros(len(strata), dtype=bool)
    for level in np.unique(strata):
        rows = order[strata[order] == level]
        held[rows[: round(fraction * len(rows))]] = True
    return held


def canonical_order(X: Any, ties: Sequence[Floats] = ()) -> Index:
    """Return the positions of rows in an order that depends on their content alone.

    Sums over rows are rounded differently in another order of the rows. Trees turn that rounding
    into other splits where two splits are nearly equally good. A model trained on rows in this
    order is the same in whatever order they were given. The order is arbitrary, as if shuffled, and
    that of some of the rows is the same as among all of them.

    Parameters
    ----------
    X : table of n rows
        The covariates; values count exactly, to the last bit.
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
    return _sorted(_exact_keys(X), ties)


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
        _mix(keys, _exact_bits(column))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64's end
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


def uniforms(keys: Keys) -> Floats:
    """Return hashes as numbers in [0, 1)."""
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def _row_keys(X: Any, n_rows: int, seed: int) -> Keys:
    """Return a 64-bit hash of each row of a table, whatever the units of its columns."""
    return _hash_columns(X, n_rows, seed, _bits)


def _exact_keys(X: Any) -> Keys:
    """Return a 64-bit hash of each row of a table, exact to the last bit of each number."""
    return _hash_columns(X, row_count(X), 0, _exact_column_bits)


def _hash_columns(X: Any, n_rows: int, seed: int, bits_of: Callable[[Column], Keys]) -> Keys:
    """Return a hash of each row, from what ``bits_of`` gives of each column."""
    keys = _first_keys(n_rows, seed)
    few = n_rows < _FEW_ROWS
    for bits in map(bits_of, columns(X)) if few else _in_threads(bits_of, columns(X)):
        _mix(keys, bits)
    return keys


def _in_threads(bits_of: Callable[[Column], Keys], table: Iterator[Column]) -> Iterator[Keys]:
    """Yield the bits of each column in turn, with those of a few columns computed ahead."""
    ahead = min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(ahead) as pool:
        waiting: deque[Future[Keys]] = deque()
        for column in table:
            if len(waiting) == ahead:
                yield waiting.popleft().result()
            waiting.append(pool.submit(bits_of, column))
        while waiting:
            yield waiting.popleft().result()


def _first_keys(n_rows: int, seed: int) -> Keys:
    return np.full(n_rows, np.random.default_rng(seed).integers(2**63), dtype=np.uint64)


def _mix(keys: Keys, bits: Keys) -> None:
    """Let every bit of the keys depend on one more column."""
    keys ^= bits
    keys *= np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: spreads every bit
    keys ^= keys >> np.uint64(29)


def _exact_column_bits(column: Column) -> Keys:
    return _level_bits(column) if column.categorical else _exact_bits(column.values)


def _exact_bits(values: NDArray[Any]) -> Keys:
    values = values.astype(np.float64) + 0.0  # −0 is 0
    missing = np.isnan(values)
    if missing.any():
        values[missing] = np.nan  # one NaN for all
    bits = values.view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _bits(column: Column) -> Keys:
    """Return numbers in units of their spread, rounded: the same whatever their units."""
    if column.categorical:
        return _level_bits(column)
    missing = np.isnan(column.values)
    known = column.values[~missing] if missing.any() else column.values
    center, spread = _mean_and_spread(known)
    bits = np.zeros(len(missing), dtype=np.int64)
    if spread > 0:
        steps = (column.values - center) / spread * 1e6
        steps[missing] = 0.0
        bits = np.clip(np.round(steps), -(2.0**62), 2.0**62).astype(np.int64)
    bits[missing] = np.iinfo(np.int64).min
    return bits.view(np.uint64)


def _mean_and_spread(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, the same in whatever order the values come.

    Extended precision, where the platform has it, leaves nothing of the rounding of sums.
    """
    if not len(values):
        return 0.0, 0.0
    center = float(values.mean(dtype=np.longdouble))
    return center, float(np.sqrt(float(((values - center) ** 2).mean(dtype=np.longdouble))))


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
