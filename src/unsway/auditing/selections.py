"""How many people a model decides otherwise than a fair ranking that selects as many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Floats, Index, Mask
from ..effects import Estimate
from ..effects.estimate import bootstrap
from ..frames import Tabular
from ..rows import Rows
from .inputs import Settings
from .metrics import PLACES, percentiles
from .tables import Table

#: What is counted in each group, per 1,000 of its people.
COUNTS = {
    "selected": "selected by the model",
    "fair": "selected by the fair ranking",
    "gained": "selected by the model alone",
    "lost": "selected by the fair ranking alone",
    "net": "selected by the model less by the fair ranking",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Selections(Tabular):
    """People selected by a model and by a fair ranking at the same rate, per 1,000 of each group.

    The fair ranking is by the cross-fitted fair score ½(μ₀ + μ₁), and selects as large a share of
    all rows as the model does. As a frame it has one row per rule, group and count. ``net`` is 0
    for a fair score. ``gained`` and ``lost`` also hold what the fair score is estimated wrongly by:
    they are upper bounds, and not 0 for a fair score. Intervals are by resampling the rows, with
    the fair scores as they are: they lack the error of the fair ranking, so that those of ``fair``
    and ``net`` are much too short. ``benchmarks/verdict.md`` has their coverage.

    Parameters
    ----------
    estimates : mapping
        From (rule, group, count) to an estimate per 1,000 people. A rule is "threshold 0.5" or
        "rate 0.3", a group "z=0" or "z=1", a count a key of `COUNTS`.
    rates : mapping of str to float
        The share of all rows that each rule selects.
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    """

    estimates: Mapping[tuple[str, str, str], Estimate]
    rates: Mapping[str, float]
    levels: tuple[str, ...]

    def __getitem__(self, key: tuple[str, str, str]) -> Estimate:
        """Return an estimate by rule, group and count."""
        return self.estimates[key]

    def _columns(self) -> Mapping[str, Any]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """One row per rule, group and count."""
        names = dict(zip(PLACES[1:], self.levels, strict=True))
        return Table.of(
            {
                "rule": rule,
                "rate": self.rates[rule],
                "group": group,
                "level": names[group],
                "count": count,
                **each.to_dict(),
                "meaning": COUNTS[count],
            }
            for (rule, group, count), each in self.estimates.items()
        )

    def __repr__(self) -> str:
        return f"Selections({', '.join(self.rates)})"


def selections(scores: Floats, fair: Floats, rows: Rows, settings: Settings) -> Selections:
    """Count people whom the scores and the fair score select, at each threshold and rate."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    rules = list(_rules(settings))
    count = partial(_count, scores, fair, rows.z, weights, [rule for _, rule in rules])
    values = count(np.arange(len(rows)))
    replicates = np.empty((0, len(values)))
    if settings.n_bootstrap:
        how: dict[str, Any] = {"seed": settings.random_state, "n_jobs": settings.n_jobs}
        n = settings.n_bootstrap
        replicates = bootstrap(count, rows.z, n, clusters=rows.clusters, **how)
    keys = [(name, g, each) for name, _ in rules for g in PLACES[1:] for each in COUNTS]
    return Selections(
        estimates={
            key: _estimate(value, column, settings.confidence)
            for key, value, column in zip(keys, values, replicates.T, strict=True)
        },
        rates={
            name: float(np.average(_selected(scores, weights, rule), weights=weights))
            for name, rule in rules
        },
        levels=rows.groups.names,
    )


#: A threshold, or the share to select.
Rule = tuple[str, float]


def _rules(settings: Settings) -> Iterator[tuple[str, Rule]]:
    for threshold in settings.thresholds:
        yield f"threshold {threshold:g}", ("threshold", threshold)
    for rate in settings.selection_rates:
        yield f"rate {rate:g}", ("rate", rate)


def _count(
    scores: Floats, fair: Floats, z: Floats, weights: Floats, rules: list[Rule], chosen: Index
) -> Floats:
    """Return the counts of some rows, by rule and group, per 1,000."""
    p, f, w, in_group = scores[chosen], fair[chosen], weights[chosen], z[chosen]
    found: list[float] = []
    for rule in rules:
        ours = _selected(p, w, rule)
        rate = float(np.average(ours, weights=w))
        other = _selected(f, w, ("rate", rate))
        for level in (0, 1):
            inside = in_group == level
            a, b, weight = ours[inside], other[inside], w[inside]
            counted = (a, b, a & ~b, b & ~a)
            shares = [1000 * float(np.average(each, weights=weight)) for each in counted]
            found += [*shares, shares[2] - shares[3]]
    return np.array(found)


def _selected(scores: Floats, weights: Floats, rule: Rule) -> Mask:
    """Return who is selected: scores above a threshold, or the highest up to a share.

    Examples
    --------
    >>> p = np.array([0.1, 0.4, 0.3, 0.9])
    >>> _selected(p, np.ones(4), ("rate", 0.5)).tolist()
    [False, True, False, True]
    """
    kind, value = rule
    if kind == "threshold":
        return np.asarray(scores > value)
    order = np.argsort(-scores, kind="stable")
    above = np.cumsum(weights[order]) <= value * weights.sum() * (1 + 1e-12)
    selected = np.zeros(len(scores), dtype=bool)
    selected[order[above]] = True
    return selected


def _estimate(value: float, replicates: Floats, confidence: float) -> Estimate:
    low, high = percentiles(replicates, confidence)
    se = float(np.std(replicates, ddof=1)) if len(replicates) > 1 else float("nan")
    return Estimate(value, se, low, high)
