"""Covariates that tell the sensitive attribute all but exactly, and their names.

Where X tells z, nobody has a counterpart with the other z: what z does at given X is then not in
the data, and any figure for it is made up by the models.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.tree import DecisionTreeClassifier

from .._typing import Floats, Reduce
from ..tables import Column

#: Propensities whose area under the ROC curve lies above this tell z.
MAX_AUC = 0.999

#: A single column above this tells z almost alone.
MAX_COLUMN_AUC = 0.99

_MOST_NAMES = 3
_BINS = 2_000
_LARGEST_LOGIT = 14.0  # of a propensity one in a million away from 0 or 1
_MOST_ROWS = 20_000  # enough to tell which columns are to blame


def separation(
    scores: Floats, z: Floats, weights: Floats | None = None, reduce: Reduce | None = None
) -> float:
    """Return the area under the ROC curve of propensities, from histograms of both levels.

    Histograms can be summed over workers, ranks cannot. Equal bins of logit b are fine enough where
    propensities crowd: near 0 and 1. Within a bin, scores count as tied.

    Examples
    --------
    >>> separation(np.array([0.1, 0.4, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]))
    0.75
    """
    with np.errstate(divide="ignore"):
        margins = np.clip(logit(scores), -_LARGEST_LOGIT, _LARGEST_LOGIT)
    places = ((margins / _LARGEST_LOGIT + 1) / 2 * (_BINS - 1)).astype(np.intp)
    weights = np.ones(len(z)) if weights is None else weights
    sides = [np.bincount(places, weights * (z == level), _BINS) for level in (0, 1)]
    counts: Floats = np.stack(sides).astype(np.float64)
    zero, one = counts if reduce is None else reduce(counts)
    below = np.cumsum(zero) - zero / 2
    pairs = zero.sum() * one.sum()
    return float(one @ below / pairs) if pairs > 0 else 0.5


def separates(
    scores: Floats, z: Floats, weights: Floats | None = None, reduce: Reduce | None = None
) -> bool:
    """Return whether propensities tell z all but exactly."""
    return separation(scores, z, weights, reduce) > MAX_AUC


def refuse_separating_columns(
    scores: Floats,
    z: Floats,
    weights: Floats | None,
    columns: Iterable[Column],
    *,
    reduce: Reduce | None = None,
) -> None:
    """Raise if cross-fitted propensities show that the covariates tell z, and say which do.

    Parameters
    ----------
    scores : array of shape (n,)
        Propensities of models that have not seen the rows.
    z, weights : array of shape (n,)
        The sensitive attribute as 0/1, and the rows' weights.
    columns : iterable of Column
        The covariates; read only if they are refused.
    reduce : callable, optional
        Sums a small array over workers.
    """
    found = separation(scores, z, weights, reduce)
    if found <= MAX_AUC:
        return
    names, areas = _column_separations(columns, z, weights, reduce)
    order = np.argsort(-areas, kind="stable")[:_MOST_NAMES]
    alone = [names[k] for k in order if areas[k] > MAX_COLUMN_AUC]
    if alone:
        who = f"{_listed(alone)} {'tells' if len(alone) == 1 else 'tell'} it almost alone"
    else:
        who = f"several columns tell it together, {_listed([names[k] for k in order])} most of all"
    raise ValueError(
        "X tells the sensitive attribute nearly exactly: propensities of models that have not seen "
        f"a row tell its level with an AUC of {found:.4f} (more than {MAX_AUC:g}); {who}. "
        "Nobody then has a counterpart of the other level, and the direct effect is undefined. "
        "Drop every column that stands for the sensitive attribute, and keep in X the ones whose "
        "influence is fair"
    )


def _column_separations(
    columns: Iterable[Column], z: Floats, weights: Floats | None, reduce: Reduce | None
) -> tuple[list[str], Floats]:
    """Return the columns' names, and how far each tells z by itself, averaged over workers."""
    rows = np.random.default_rng(0).permutation(len(z))[:_MOST_ROWS]
    weights = np.ones(len(z)) if weights is None else weights
    level, weight = z[rows], weights[rows]
    halves = np.arange(len(rows)) % 2
    names, areas = [], []
    for column in columns:
        values = column.values[rows]
        scores = np.zeros(len(rows))
        for half in (0, 1):
            test = halves == half
            score = _mean_by_level if column.categorical else _mean_by_tree
            scores[test] = score(values[~test], level[~test], weight[~test], values[test])
        names.append(column.name)
        areas.append(separation(scores, level, weight))
    if reduce is not None:  # a worker counts by its rows
        found = reduce(np.append(np.array(areas) * len(rows), float(len(rows))))
        return names, found[:-1] / max(found[-1], 1.0)
    return names, np.array(areas)


def _mean_by_tree(
    values: NDArray[np.float64], z: Floats, weights: Floats, others: NDArray[np.float64]
) -> Floats:
    """Return P(z=1) at other values of a column of numbers; a missing one is a value of its own."""
    if not weights.any():
        return np.full(len(others), 0.5)
    known = np.unique(np.concatenate([values, others]))  # ranks: no value is too large for a tree
    train, test = (np.searchsorted(known, part)[:, None] for part in (values, others))
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0)
    tree.fit(train, z.astype(int), weights)
    return np.asarray(tree.predict_proba(test) @ tree.classes_, dtype=np.float64)


def _mean_by_level(
    values: NDArray[np.object_], z: Floats, weights: Floats, others: NDArray[np.object_]
) -> Floats:
    """Return the mean of z by category, that of all rows for a category not seen."""
    total = weights.sum()
    mean = float(weights @ z / total) if total > 0 else 0.5
    levels, codes = np.unique(values.astype(str), return_inverse=True)
    sizes = np.bincount(codes, weights, len(levels))
    ones = np.bincount(codes, weights * z, len(levels))
    by_level = dict(zip(levels.tolist(), ((ones + mean) / (sizes + 1)).tolist(), strict=True))
    return np.array([by_level.get(value, mean) for value in others.astype(str).tolist()])


def _listed(names: list[str]) -> str:
    shown = [repr(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
