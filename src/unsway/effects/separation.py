"""Covariates that predict the sensitive attribute nearly exactly, and their names.

Where X predicts z, nobody has a counterpart with the other z. The effect of z at given X is then
not in the data: any figure for it is extrapolated by the models.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from .._typing import Floats, Reduce
from ..core.penalty import identity
from ..tables import Column

#: Propensities with a larger area under the ROC curve separate the groups.
MAX_AUC = 0.999

#: A row has hardly a counterpart if its own level has a probability of more than 1 minus this.
NO_COUNTERPART = 0.01

#: Propensities separate the groups if a larger share of the rows of a level, averaged over both
#: levels, has hardly a counterpart.
MAX_SHARE_WITHOUT_COUNTERPART = 0.9

#: A single column above this tells z almost alone.
MAX_COLUMN_AUC = 0.99

_MOST_NAMES = 3
_SMALLEST_PART = 0.1  # of the largest coefficient: a column with less is not named
_BINS = 2_000
_LARGEST_LOGIT = 14.0  # of a propensity one in a million away from 0 or 1
_MOST_ROWS, _MOST_NUMBERS = 20_000, 20_000_000  # enough to find which columns are to blame


class OverlapWarning(UserWarning):
    """Many propensities are near 0 or 1: there the direct effect is extrapolated."""


def warn_of_extremes(
    share: float,
    bounds: tuple[float, float],
    max_share: float,
    meaning: str,
    *,
    stacklevel: int = 4,
) -> None:
    """Warn if the share of propensities outside the bounds is above a limit.

    ``meaning`` says what follows for the caller's result.
    """
    if share > max_share:
        low, high = bounds
        warnings.warn(
            f"{share:.0%} of the propensities lie outside [{low:g}, {high:g}] (more than "
            f"{max_share:.0%}). Nearly all rows like these are of one level, so {meaning}",
            OverlapWarning,
            stacklevel=stacklevel,
        )


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


def share_without_counterpart(
    scores: Floats, z: Floats, weights: Floats | None = None, reduce: Reduce | None = None
) -> float:
    """Return the share of a level's rows whose propensity is within .01 of their own level.

    It is averaged over both levels, so that a rare level counts as much as a frequent one: where
    everybody has a propensity of .005, half of them have no counterpart by it, not nearly all.

    Examples
    --------
    >>> z = np.array([0.0, 0.0, 1.0, 1.0])
    >>> share_without_counterpart(np.array([0.001, 0.4, 0.6, 0.999]), z)
    0.5
    >>> share_without_counterpart(np.full(4, 0.005), z)
    0.5
    """
    weights = np.ones(len(z)) if weights is None else weights
    other = np.where(z == 1, 1 - scores, scores)  # the probability of the other level
    parts = [
        [weights @ (z == level), weights @ ((z == level) & (other < NO_COUNTERPART))]
        for level in (0, 1)
    ]
    sums = (reduce or identity)(np.array(parts, dtype=np.float64))
    return float(np.mean(sums[:, 1] / np.maximum(sums[:, 0], np.finfo(float).tiny)))


def separates(
    scores: Floats, z: Floats, weights: Floats | None = None, reduce: Reduce | None = None
) -> bool:
    """Return whether propensities predict z nearly exactly."""
    return _evidence(scores, z, weights, reduce) is not None


def _evidence(
    scores: Floats, z: Floats, weights: Floats | None, reduce: Reduce | None
) -> str | None:
    """Return by what propensities separate the groups, or None if they do not."""
    found = separation(scores, z, weights, reduce)
    if found > MAX_AUC:
        return f"have an AUC of {found:.4f} (more than {MAX_AUC:g})"
    share = share_without_counterpart(scores, z, weights, reduce)
    if share > MAX_SHARE_WITHOUT_COUNTERPART:
        return (
            f"give {share:.0%} of the rows of a level, on average over both (more than "
            f"{MAX_SHARE_WITHOUT_COUNTERPART:.0%}), a probability of less than "
            f"{NO_COUNTERPART:g} to be of the other level"
        )
    return None


def refuse_separating_columns(
    scores: Floats,
    z: Floats,
    weights: Floats | None,
    columns: Iterable[Column],
    *,
    allow: bool | None = None,
    reduce: Reduce | None = None,
) -> None:
    """Raise if cross-fitted propensities show that the covariates predict z, and name columns.

    Parameters
    ----------
    scores : array of shape (n,)
        Propensities of models that have not seen the rows.
    z, weights : array of shape (n,)
        The sensitive attribute as 0/1, and the rows' weights.
    columns : iterable of Column
        The covariates; read only if the groups are separated.
    allow : bool, optional
        Value of the caller's option ``allow_separation``: with True, an `OverlapWarning` takes the
        place of the error. None for a caller without that option, which the error then does not
        mention.
    reduce : callable, optional
        Sums a small array over workers.
    """
    evidence = _evidence(scores, z, weights, reduce)
    if evidence is None:
        return
    found = (
        "X predicts the sensitive attribute nearly exactly: propensities of models that have not "
        f"seen a row {evidence}; {_who(list(columns), z, weights, reduce)}. Nobody then has a "
        "counterpart of the other level"
    )
    if allow:
        warnings.warn(
            f"{found}: the direct effect is extrapolated by the models, not observed. It may be "
            "far too large, too small or of the wrong sign, and so may be what a model trained "
            "without it loses. allow_separation=True goes on with it; check the result on other "
            "data, or drop every column that stands for the sensitive attribute",
            OverlapWarning,
            stacklevel=3,
        )
        return
    advice = "" if allow is None else "; allow_separation=True goes on with a warning instead"
    raise ValueError(
        f"{found}, and the direct effect is undefined: it can be neither estimated nor removed "
        "from a model. Drop every column that stands for the sensitive attribute, and keep in X "
        f"the ones whose influence is fair{advice}"
    )


def _who(columns: list[Column], z: Floats, weights: Floats | None, reduce: Reduce | None) -> str:
    """Return which columns predict z, the most important first."""
    weights = np.ones(len(z)) if weights is None else weights
    names, areas = _column_separations(columns, z, weights, reduce)
    alone = [names[k] for k in _largest(areas) if areas[k] > MAX_COLUMN_AUC]
    if alone:
        return f"{_listed(alone)} {'predicts' if len(alone) == 1 else 'predict'} it almost alone"
    sizes, area = _joint_coefficients(columns, z, weights, reduce)
    if area > MAX_COLUMN_AUC:
        chosen = [k for k in _largest(sizes) if sizes[k] >= _SMALLEST_PART * sizes.max()]
    else:  # not a linear combination of them
        chosen = _largest(areas)
    most = _listed([names[k] for k in chosen])
    if len(chosen) == 1:
        return f"{most} predicts it most of all"
    return f"several columns predict it together, {most} most of all"


def _largest(values: Floats) -> list[int]:
    """Return the positions of the largest values, in decreasing order."""
    order: list[int] = np.argsort(-values, kind="stable")[:_MOST_NAMES].tolist()
    return order


def _column_separations(
    columns: list[Column], z: Floats, weights: Floats, reduce: Reduce | None
) -> tuple[list[str], Floats]:
    """Return the columns' names, and how far each separates by itself, averaged over workers."""
    rows = _some_rows(len(z), 1)
    level, weight = z[rows], weights[rows]
    areas = []
    for column in columns:
        area = separation(_by_halves(column, rows, level, weight), level, weight)
        if not column.categorical:  # a steady rise or fall, which a tree sees in steps
            rise = separation(_ranks(column.values[rows]), level, weight)
            area = max(area, rise, 1 - rise)
        areas.append(area)
    return [column.name for column in columns], _average(np.array(areas), len(rows), reduce)


def _joint_coefficients(
    columns: list[Column], z: Floats, weights: Floats, reduce: Reduce | None
) -> tuple[Floats, float]:
    """Return the sizes of a logistic regression's coefficients, and how far it separates.

    It is fitted on one half of the rows, of which every column has a spread of 1, and judged by the
    other half. A category counts by the share of z = 1 in it.
    """
    rows = _some_rows(len(z), len(columns))
    level, weight = z[rows], weights[rows]
    train = np.arange(len(rows)) % 2 == 0
    sizes, area = np.zeros(len(columns)), 0.5
    if len(np.unique(level[train & (weight > 0)])) == 2:
        matrix = np.column_stack([_numbers(each, rows, level, weight) for each in columns])
        model = LogisticRegression(C=100.0, max_iter=1_000)
        model.fit(matrix[train], level[train], weight[train])
        sizes = abs(model.coef_[0])
        scores = model.predict_proba(matrix[~train])[:, 1]
        area = separation(scores, level[~train], weight[~train])
    found = _average(np.append(sizes, area), len(rows), reduce)
    return found[:-1], float(found[-1])


def _some_rows(n_rows: int, n_columns: int) -> NDArray[np.intp]:
    """Return rows at random, few enough to be looked at quickly."""
    most = min(_MOST_ROWS, max(1_000, _MOST_NUMBERS // max(n_columns, 1)))
    return np.random.default_rng(0).permutation(n_rows)[:most]


def _average(values: Floats, n_rows: int, reduce: Reduce | None) -> Floats:
    """Return the mean over workers, each of which counts by its rows."""
    if reduce is None:
        return values
    sums = reduce(np.append(values * n_rows, float(n_rows)))
    return np.asarray(sums[:-1] / max(sums[-1], 1.0))


def _by_halves(column: Column, rows: NDArray[np.intp], z: Floats, weights: Floats) -> Floats:
    """Return P(z=1) by the values of one column, learned on the other half of the rows."""
    values, halves = column.values[rows], np.arange(len(rows)) % 2
    scores = np.zeros(len(rows))
    learned = _mean_by_level if column.categorical else _mean_by_tree
    for half in (0, 1):
        test = halves == half
        scores[test] = learned(values[~test], z[~test], weights[~test], values[test])
    return scores


def _numbers(column: Column, rows: NDArray[np.intp], z: Floats, weights: Floats) -> Floats:
    """Return a column as numbers of mean 0 and spread 1."""
    if column.categorical:
        values = _by_halves(column, rows, z, weights)
    else:
        values = column.values[rows].astype(np.float64)
        known = np.isfinite(values)
        values[~known] = np.median(values[known]) if known.any() else 0.0
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


def _ranks(values: Floats) -> Floats:
    """Return the ranks of a column as numbers between 0 and 1; a missing value is in the middle."""
    missing = np.isnan(values)
    ranks = rankdata(values[~missing])
    found = np.full(len(values), 0.5)
    found[~missing] = (ranks - 0.5) / max(len(ranks), 1)
    return found


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
