"""Which rows are held out, and which fold they are in: by what they hold, wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..roles import Floats

Keys = NDArray[np.uint64]

_GOLDEN = 0.6180339887498949  # its multiples fill [0, 1) evenly, however many there are
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def draws(matrix: NDArray[Any], ties: Sequence[Floats], seed: int) -> Floats:
    """Return a number in [0, 1) per row that depends on its content alone.

    Rows alike in X are shared out evenly, in the order of ``ties``. Only there does it matter which
    of them lie on one worker.

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
    return ((keys >> np.uint64(11)) * 2.0**-53 + place * _GOLDEN) % 1.0


def row_keys(matrix: NDArray[Any], seed: int) -> Keys:
    """Return a 64-bit hash of each row."""
    start = np.random.default_rng(seed).integers(2**63)
    keys = np.full(len(matrix), start, dtype=np.uint64)
    for column in matrix.T:
        values = np.ascontiguousarray(column, dtype=np.float64) + 0.0  # −0 is 0
        values[np.isnan(values)] = np.nan  # one NaN for all
        bits = values.view(np.uint64)
        keys ^= bits ^ (bits >> np.uint64(32))
        keys *= _SPREAD
        keys ^= keys >> np.uint64(29)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64's end
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


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
