"""The numbers of an audit: how good the scores are, overall and by group, and how groups differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats
from ..effects import Estimate
from .groups import Rates
from .tally import PLACES, Bins, Sample, Tally

#: Where a number that compares the groups stands.
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


class Key(NamedTuple):
    """What a number is about: the metric, the group, and the threshold if it needs one."""

    metric: str
    group: str
    threshold: float | None = None


Values = dict[Key, float]


def measure(tally: Tally, thresholds: Sequence[float], bins: Bins) -> Values:
    """Return every metric of a tally; NaN where a group has no row that it needs.

    A metric of decisions has one value per threshold; a row is selected when its score exceeds it.
    """
    found = _score_metrics(tally, bins)
    for name in ("base_rate", "mean_score", "auc", "calibration_error"):
        label = "score_gap" if name == "mean_score" else f"{name}_difference"
        found[Key(label, BETWEEN)] = found[Key(name, "z=1")] - found[Key(name, "z=0")]
    for threshold in thresholds:
        cells = tally.decisions(threshold)
        found |= _decision_metrics(cells, threshold)
        for name in ("selection_rate", "recall", "false_positive_rate"):
            low, high = (found[Key(name, place, threshold)] for place in PLACES[1:])
            found[Key(f"{name}_difference", BETWEEN, threshold)] = high - low
        for name, value in Rates.of(cells).group_metrics().items():
            found[Key(name, BETWEEN, threshold)] = value
    return found


def _score_metrics(tally: Tally, bins: Bins) -> Values:
    totals, sums = tally.totals(), tally.sums()
    whole = totals.sum(axis=1)
    weight, score, label = tally.binned(bins)
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


def _decision_metrics(cells: Floats, threshold: float) -> Values:
    by_place = np.concatenate([cells.sum(axis=0, keepdims=True), cells])
    right = by_place[:, 0, 0] + by_place[:, 1, 1]
    selected, whole = by_place[..., 1].sum(axis=1), by_place.sum(axis=(1, 2))
    columns = {
        "accuracy": right / whole,
        "precision": _share(by_place[:, 1, 1], selected),
        "recall": _share(by_place[:, 1, 1], by_place[:, 1].sum(axis=1)),
        "false_positive_rate": _share(by_place[:, 0, 1], by_place[:, 0].sum(axis=1)),
        "selection_rate": selected / whole,
    }
    return _by_place(columns, threshold)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _by_place(columns: dict[str, Floats], threshold: float | None) -> Values:
    return {
        Key(name, place, threshold): float(value)
        for name, values in columns.items()
        for place, value in zip(PLACES, values, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Measurement:
    """Metrics and calibration of resampled rows, as one line of numbers; it can be pickled."""

    sample: Sample
    thresholds: tuple[float, ...]
    bins: Bins

    def values(self) -> Values:
        """Return the metrics of the rows as they are."""
        return measure(self.sample.tally(), self.thresholds, self.bins)

    def __call__(self, rows: Any) -> Floats:
        """Return the metrics, then the share of positive labels by [place, bin]."""
        tally = self.sample.tally(rows)
        found = list(measure(tally, self.thresholds, self.bins).values())
        weight, _, label = tally.binned(self.bins)
        return np.concatenate([found, _share(label.ravel(), weight.ravel())])


def estimates(
    values: Values, replicates: Floats | None, confidence: float = 0.95
) -> dict[Key, Estimate]:
    """Return metrics with percentile intervals of their replicates, or NaN without any.

    A fairlearn metric is an absolute difference, or a ratio of at most 1, whose resamples lie on
    one side of no difference at all; its interval is that of the signed difference or ratio, folded
    over. The two rates of equalised odds each get half of the error that is allowed.
    """
    if replicates is None:
        none = float("nan")
        return {key: Estimate(value, none, none, none) for key, value in values.items()}
    columns = dict(zip(values, replicates[:, : len(values)].T, strict=True))
    return {
        key: _estimate(value, columns[key], _interval(key, columns, confidence))
        for key, value in values.items()
    }


def _estimate(value: float, column: Floats, interval: tuple[float, float]) -> Estimate:
    known = column[~np.isnan(column)]
    se = float(np.std(known, ddof=1)) if len(known) > 1 else float("nan")
    return Estimate(float(value), se, *interval)


def percentiles(column: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval between two quantiles of the replicates that are known."""
    known = column[~np.isnan(column)]
    if len(known) < 2:
        return float("nan"), float("nan")
    low, high = np.quantile(known, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


#: fairlearn's metric → the rates it compares.
_RATES = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("recall",),
    "equalized_odds": ("recall", "false_positive_rate"),
}


def _interval(key: Key, columns: dict[Key, Floats], confidence: float) -> tuple[float, float]:
    name, _, kind = key.metric.rpartition("_")
    if name not in _RATES:
        return percentiles(columns[key], confidence)
    level = 1 - (1 - confidence) / len(_RATES[name])
    found = []
    for rate in _RATES[name]:
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
