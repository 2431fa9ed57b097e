"""Labels, scores and decisions of all rows and of each level, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..effects import Estimate
from ..effects.influence import Mean
from ..effects.reported_levels import reported_levels
from ..rows import Rows

#: A level of fewer rows, or fewer effective rows, is marked: its figures are noisy.
FEW_ROWS = 100

#: A level of fewer rows has no figures: they would tell the labels of its people.
HIDDEN_ROWS = 10

#: Scores are kept this far from 0 and 1 where their logarithm is taken.
_SMALLEST = 1e-15

#: What the columns of the table are, in their order.
MEASURES = (
    "positive_rate",
    "mean_score",
    "selection_rate",
    "accuracy",
    "auc",
    "log_loss",
    "brier",
)


def measure_rows(rows: Rows, p: Floats, threshold: float) -> dict[str, Mean]:
    """Return the measures of scores with their influence functions; no AUC of one class alone."""
    y, weights, kept = rows.y, rows.mean_one_weights, np.clip(p, _SMALLEST, 1 - _SMALLEST)
    selected = (p > threshold).astype(np.float64)
    columns = {
        "positive_rate": y,
        "mean_score": p,
        "selection_rate": selected,
        "accuracy": (selected == y).astype(np.float64),
        "log_loss": -np.log(np.where(y == 1, kept, 1 - kept)),
        "brier": (p - y) ** 2,
    }
    found = {name: Mean.average(values, weights, rows.clusters) for name, values in columns.items()}
    if 0 < found["positive_rate"].value < 1:
        found["auc"] = auc_mean(y, p, weights, rows.clusters)
    return {name: found[name] for name in MEASURES if name in found}


def auc_mean(y: Floats, p: Floats, weights: Floats, clusters: Index | None = None) -> Mean:
    """Return the area under the ROC curve with its influence function.

    A positive row adds the share of negatives that it scores above, a negative one the share of
    positives that score above it, ties by half (DeLong, DeLong & Clarke-Pearson 1988).

    Examples
    --------
    >>> y, p = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.4, 0.35, 0.8])
    >>> round(auc_mean(y, p, np.ones(4)).value, 3)
    0.75
    """
    _, place = np.unique(p, return_inverse=True)
    ones, zeros = (np.bincount(place, weights * (y == label)) for label in (1, 0))
    below = np.cumsum(zeros) - zeros / 2
    above = ones.sum() - np.cumsum(ones) + ones / 2
    beaten, beating = below[place] / zeros.sum(), above[place] / ones.sum()
    value = float(np.average(beaten, weights=weights * y))
    shares = np.where(y == 1, (beaten - value) / ones.sum(), (beating - value) / zeros.sum())
    return Mean(value, len(y) * weights * shares, clusters)


def measures_by_level(
    rows: Rows, p: Floats, threshold: float, confidence: float
) -> Iterator[dict[str, Any]]:
    """Yield what is known of each level, the reference first; each interval stands for itself."""
    for code in reported_levels(rows):
        level = rows.groups.names[code]
        places = np.flatnonzero(rows.groups.codes == code)
        line: dict[str, Any] = {"level": level, "rows": len(places)}
        known = (
            measure_rows(rows.take(places), p[places], threshold)
            if len(places) >= HIDDEN_ROWS
            else {}
        )
        for name in MEASURES:
            each = known[name].interval(confidence) if name in known else None
            line |= columns_of(name, None if each is None else _possible(name, each))
        yield line


def _possible(name: str, each: Estimate) -> Estimate:
    """Return the estimate with an interval of values that the measure can have."""
    most = np.inf if name == "log_loss" else 1.0
    return Estimate(each.estimate, each.se, max(each.low, 0.0), min(each.high, most))


def columns_of(name: str, each: Estimate | None) -> Mapping[str, float]:
    """Return an estimate as columns of a table: NaN where it is not known."""
    ends = {"": "estimate", "_low": "low", "_high": "high"}
    return {
        f"{name}{end}": float("nan") if each is None else getattr(each, part)
        for end, part in ends.items()
    }
