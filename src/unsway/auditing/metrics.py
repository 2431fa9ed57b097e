"""The numbers of an audit: how good scores are, overall and by group, and how the groups differ.

Rows differ in group, label and score, and every metric follows from their weights. A score
that many rows share is kept once, so the table has one line per distinct score, and a bootstrap
replicate is one pass over the rows that fills the same table again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..effects import Estimate
from .group_metrics import (
    COMPARISONS,
    RATES,
    compare_rates,
    decision_rates,
    share,
    with_overall,
)

#: Log-losses treat a score closer to 0 or 1 than this as this close, as scikit-learn does.
TINY = float(np.finfo(np.float64).eps)
#: The places of the groups in a tally's tables.
PLACES = ("overall", "z=0", "z=1")
#: The place of a number that compares the groups.
BETWEEN = "between"

#: What each metric says, in a few words.
MEANINGS = {
    "base_rate": "share of positive labels",
    "mean_score": "mean score",
    "auc": "chance that a positive row scores above a negative one",
    "log_loss": "mean −log of the probability given to the label",
    "brier": "mean squared distance of score and label",
    "calibration_error": "mean distance of score and label within bins",
    "accuracy": "share of right decisions",
    "precision": "share of positive labels among the selected",
    "recall": "share of the selected among positive labels",
    "false_positive_rate": "share of the selected among negative labels",
    "selection_rate": "share of the selected",
    "base_rate_difference": "positive labels, z=1 minus z=0",
    "score_gap": "mean score, z=1 minus z=0",
    "auc_difference": "AUC, z=1 minus z=0",
    "calibration_error_difference": "calibration error, z=1 minus z=0",
    "selection_rate_difference": "share of the selected, z=1 minus z=0",
    "recall_difference": "recall, z=1 minus z=0",
    "false_positive_rate_difference": "false positive rate, z=1 minus z=0",
    "demographic_parity_difference": "largest difference in selection rates",
    "demographic_parity_ratio": "smallest ratio of selection rates",
    "equalized_odds_difference": "largest difference in recall or false positive rate",
    "equalized_odds_ratio": "smallest ratio of recalls or false positive rates",
    "equal_opportunity_difference": "largest difference in recall",
    "equal_opportunity_ratio": "smallest ratio of recalls",
}


def bin_edges(scores: Floats, n_bins: int, strategy: str) -> Floats:
    """Return edges of bins of equal width, or with as many rows each.

    The bins are those of scikit-learn's `calibration_curve`: a score on an inner edge belongs to
    the lower bin.
    """
    steps = np.linspace(0, 1, n_bins + 1)
    return steps if strategy == "uniform" else np.percentile(scores, steps * 100)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows ready to be tallied, all of them or a resample.

    Parameters
    ----------
    scores : array of shape (U,)
        The distinct scores in increasing order.
    cells : array of shape (n,)
        Where each row is counted in a table [group, label, score].
    weights : array of shape (n,) or None
    functions : array of shape (U, 5)
        Of each score p: p, log p, log(1−p), p², (1−p)².
    """

    scores: Floats
    cells: NDArray[np.intp] = field(repr=False)
    weights: Floats | None = field(repr=False)
    functions: Floats = field(repr=False)

    @classmethod
    def of(cls, y: Floats, p: Floats, z: Floats, weights: Floats | None = None) -> Sample:
        """Index the rows once."""
        scores, place = np.unique(p, return_inverse=True)
        cells = (2 * z + y).astype(np.intp) * len(scores) + place.ravel()
        inner = np.clip(scores, TINY, 1 - TINY)
        functions = [scores, np.log(inner), np.log1p(-inner), scores**2, (1 - scores) ** 2]
        return cls(scores, cells, weights, np.column_stack(functions))

    def tally(self, rows: Any = slice(None)) -> Tally:
        """Return the weights of these rows, repeated ones included."""
        weights = None if self.weights is None else self.weights[rows]
        counts = np.bincount(self.cells[rows], weights, 4 * len(self.scores))
        return Tally(self, counts.reshape(2, 2, -1).astype(np.float64, copy=False))


@dataclass(frozen=True, eq=False)
class Tally:
    """Weight of the rows by [group, label, distinct score].

    Examples
    --------
    Of three pairs of a positive and a negative row, two are in order:

    >>> y, z = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> found = Sample.of(y, np.array([0.1, 0.9, 0.2, 0.4]), z).tally()
    >>> found.auc()[[0, 2]].round(4).tolist()
    [0.6667, 1.0]
    """

    sample: Sample = field(repr=False)
    weights: Floats = field(repr=False)

    def totals(self) -> Floats:
        """Return the weights by [place, label]: overall, z=0, z=1."""
        return with_overall(self.weights.sum(axis=2))

    def sums(self) -> Floats:
        """Return sums of the functions of the score by [place, label, function]."""
        flat = self.weights.reshape(4, -1) @ self.sample.functions
        return with_overall(flat.reshape(2, 2, -1))

    def auc(self) -> Floats:
        """Return P(positive scores higher) + ½P(tie) by place; NaN where a class is absent."""
        found = [_auc(part) for part in (self.weights.sum(axis=0), *self.weights)]
        return np.array(found)

    def decisions(self, threshold: float) -> Floats:
        """Return the weights by [group, label, decision]; a row is selected above the threshold."""
        cut = int(np.searchsorted(self.sample.scores, threshold, side="right"))
        return np.stack(
            [self.weights[..., :cut].sum(axis=2), self.weights[..., cut:].sum(axis=2)], axis=2
        )

    def binned(self, edges: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights, sums of scores and sums of labels by [place, bin]."""
        starts = np.searchsorted(self.sample.scores, edges[1:-1], side="right")
        rows = self.weights.sum(axis=1)
        weight, score, label = (
            np.stack([bin_.sum(axis=1) for bin_ in np.split(part, starts, axis=1)], axis=1)
            for part in (rows, rows * self.sample.scores, self.weights[:, 1])
        )
        return with_overall(weight), with_overall(score), with_overall(label)


def _auc(part: Floats) -> float:
    """Return the AUC of weights by [label, distinct score]."""
    negative, positive = part
    totals = part.sum(axis=1)
    if not totals.all():
        return float("nan")
    below = np.cumsum(negative)
    below -= negative / 2
    return float(positive @ below / totals.prod())


class Key(NamedTuple):
    """What a number is about: the metric, the group, and the threshold if it needs one."""

    metric: str
    group: str
    threshold: float | None = None


Values = dict[Key, float]


def measure(tally: Tally, thresholds: Sequence[float], edges: Floats) -> Values:
    """Return every metric of a tally; NaN where a group has no row that it needs.

    A metric of decisions has one value per threshold; a row is selected when its score exceeds it.
    """
    found = _score_metrics(tally, edges)
    for name in ("base_rate", "mean_score", "auc", "calibration_error"):
        label = "score_gap" if name == "mean_score" else f"{name}_difference"
        found[Key(label, BETWEEN)] = found[Key(name, "z=1")] - found[Key(name, "z=0")]
    for threshold in thresholds:
        rates = decision_rates(tally.decisions(threshold))
        found |= _by_place(rates, threshold)
        for name in ("selection_rate", "recall", "false_positive_rate"):
            _, low, high = rates[name].tolist()
            found[Key(f"{name}_difference", BETWEEN, threshold)] = high - low
        for metric, how in product(RATES, COMPARISONS):
            value = compare_rates(rates, metric, how)
            found[Key(f"{metric}_{how}", BETWEEN, threshold)] = value
    return found


def _score_metrics(tally: Tally, edges: Floats) -> Values:
    totals, sums = tally.totals(), tally.sums()
    whole = totals.sum(axis=1)
    weight, score, label = tally.binned(edges)
    score_sum, log_p, log_q, square, distance = range(5)
    columns = {
        "base_rate": totals[:, 1] / whole,
        "mean_score": sums[:, :, score_sum].sum(axis=1) / whole,
        "auc": tally.auc(),
        "log_loss": -(sums[:, 1, log_p] + sums[:, 0, log_q]) / whole,
        "brier": (sums[:, 1, distance] + sums[:, 0, square]) / whole,
        "calibration_error": np.abs(score - label).sum(axis=1) / weight.sum(axis=1),
    }
    return _by_place(columns, None)


def _by_place(columns: Mapping[str, Floats], threshold: float | None) -> Values:
    return {
        Key(name, place, threshold): float(value)
        for name, values in columns.items()
        for place, value in zip(PLACES, values, strict=True)
    }


def resampled(
    sample: Sample, thresholds: Sequence[float], edges: Floats, rows: NDArray[np.intp]
) -> Floats:
    """Return the metrics of resampled rows, then their shares of positive labels [place, bin]."""
    tally = sample.tally(rows)
    weight, _, label = tally.binned(edges)
    values = list(measure(tally, thresholds, edges).values())
    return np.concatenate([values, share(label.ravel(), weight.ravel())])


def estimates(
    values: Values, replicates: Floats, confidence: float = 0.95, *, signed: bool = False
) -> dict[Key, Estimate]:
    """Return metrics with percentile intervals of their replicates, or NaN without any.

    Replicates have a line per resample, and a column per metric before those of anything else.

    A fairlearn metric is an absolute difference, or a ratio of at most 1, whose resamples lie on
    one side of no difference at all; its interval is that of the signed difference or ratio, folded
    over. The two rates of equalised odds each get half of the error that is allowed. With `signed`
    every number is taken as it is: so are differences of metrics.
    """
    columns = dict(zip(values, replicates[:, : len(values)].T, strict=True))
    found = {}
    for key, value in values.items():
        known = columns[key][~np.isnan(columns[key])]
        se = float(np.std(known, ddof=1)) if len(known) > 1 else float("nan")
        folded = not signed and key.metric.rpartition("_")[0] in RATES
        ends = _folded(key, columns, confidence) if folded else percentiles(known, confidence)
        found[key] = Estimate(float(value), se, *ends)
    return found


def percentiles(column: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval between two quantiles of the replicates that are known."""
    known = column[~np.isnan(column)]
    if len(known) < 2:
        return float("nan"), float("nan")
    low, high = np.quantile(known, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


def _folded(key: Key, columns: dict[Key, Floats], confidence: float) -> tuple[float, float]:
    """Return the interval of a fairlearn metric from the rates that it compares."""
    name, _, kind = key.metric.rpartition("_")
    level = 1 - (1 - confidence) / len(RATES[name])
    found = []
    for rate in RATES[name]:
        low, high = (
            np.nan_to_num(columns[Key(rate, place, key.threshold)]) for place in PLACES[1:]
        )
        if kind == "difference":
            found.append(_fold(*percentiles(high - low, level)))
        else:
            # (r−1)/(r+1) grows with the ratio r = high/low, and knows 0 and 1/0 too
            both = np.where(high + low > 0, high + low, np.nan)
            start, end = _fold(*percentiles((high - low) / both, level))
            found.append(((1 - end) / (1 + end), (1 - start) / (1 + start)))
    worst = max if kind == "difference" else min
    return worst(start for start, _ in found), worst(end for _, end in found)


def _fold(low: float, high: float) -> tuple[float, float]:
    """Return the interval of |x| from that of x."""
    ends = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else ends[0]), ends[1]
