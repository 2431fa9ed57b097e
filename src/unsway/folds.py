"""Folds, hold-outs and an order of rows that depend on their content, not on their position."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats, Index
from .hashes import Keys, exact_keys, row_keys, table_keys, uniforms

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
    `canonical_order` of the rows; where it is known, X and ties are not read. Rows of one of the
    ``clusters``, numbered from 0 on, are in one fold.

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
    folds = np.empty(len(z), dtype=np.intp)
    for rows in _by_level(z, order):
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
    of the rows; where it is known, X and ties are not read. ``evenly`` holds out that fraction of
    rows alike in X too, which are in the order of the ties; else the first ones of the order are
    held out.

    Examples
    --------
    >>> import numpy as np
    >>> hold_out(np.arange(8.0)[:, None], np.repeat([0.0, 1.0], 4), 0.25).sum()
    np.int64(2)
    """
    order = _shuffled(canonical_order(X, ties) if order is None else order, seed)
    held = np.zeros(len(strata), dtype=bool)
    for rows in _by_level(strata, order):
        if evenly:
            rows = rows[np.diff(np.floor(np.arange(len(rows) + 1) * fraction + 0.5)) > 0]
            held[rows] = True
        else:
            held[rows[: round(fraction * len(rows))]] = True
    return held


def _by_level(values: NDArray[Any], order: Index) -> Iterator[Index]:
    """Yield the rows of each value, in this order of rows."""
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < 256:
        values = values.astype(np.uint8)
        levels = np.flatnonzero(np.bincount(values))
    else:
        levels = np.unique(values)
    ordered = values[order]
    for level in levels:
        yield order[ordered == level]


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


def _sorted(keys: Keys, ties: Sequence[Floats], X: Any = None) -> Index:
    """Return the order of rows by their keys, then by the last of the ties, and so on.

    Keys of rounded numbers are also shared by rows that are nearly alike; those are put in order
    by their exact content, which is read off X.
    """
    order = np.argsort(keys)
    repeated = _repeated(keys[order])
    if repeated.any():
        rows = np.sort(order[repeated])
        last = [] if X is None else [exact_keys(X, rows)]
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
