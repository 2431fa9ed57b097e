"""Whether a challenger is not worse than the champion by more than a margin named beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..checks import check_number
from ..effects.estimate import Estimate
from .tables import MetricTable

#: Metrics of all rows for which more is better, and for which less is.
HIGHER_IS_BETTER = ("auc", "accuracy", "precision", "recall", "deviance_explained", "gini")
LOWER_IS_BETTER = ("log_loss", "brier", "calibration_error", "deviance", "rmse")


@dataclass(frozen=True, kw_only=True)
class NonInferiority:
    """The result for one model and metric.

    Parameters
    ----------
    model, reference, metric : str
    threshold : float or None
        Of a metric of decisions.
    margin : float
        The loss that is accepted.
    difference : Estimate
        Model minus reference, with its paired interval.
    holds : bool
        Whether the whole interval is on the right side of the margin. With an interval of
        confidence 1 − α this is a one-sided test at level α/2.
    """

    model: str
    reference: str
    metric: str
    threshold: float | None
    margin: float
    difference: Estimate
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a row of a table."""
        return {**vars(self), "difference": self.difference.to_dict()}

    def __str__(self) -> str:
        each, lower = self.difference, self.metric in LOWER_IS_BETTER
        end = each.high if lower else each.low
        sense = "not worse" if self.holds else "may be worse"
        return (
            f"{self.model} is {sense} than {self.reference} in {self.metric} by more than "
            f"{self.margin:g}: difference {each.estimate:+.4f}, its {'upper' if lower else 'lower'}"
            f" end {end:+.4f}"
        )


def check_margins(margins: Mapping[str, float] | None) -> dict[str, float]:
    """Return the margins by metric, or say which is wrong."""
    if margins is None:
        return {}
    if not isinstance(margins, Mapping):
        raise TypeError(
            f"margins must map metrics to margins, as in {{'auc': 0.01}}; got {margins!r}"
        )
    known = (*HIGHER_IS_BETTER, *LOWER_IS_BETTER)
    for name in margins:
        if name not in known:
            raise ValueError(f"margins: unknown metric {name!r}; choose from {', '.join(known)}")
    return {
        name: check_number(each, f"margins[{name!r}]", at_least=0) for name, each in margins.items()
    }


def judge_margins(
    differences: Mapping[str, MetricTable], reference: str, margins: Mapping[str, float]
) -> tuple[NonInferiority, ...]:
    """Return the result of each model for each margin, at every threshold.

    Examples
    --------
    >>> from unsway.auditing.metrics import Key
    >>> entries = {Key("auc", "overall"): Estimate(-0.002, 0.001, -0.004, 0.0)}
    >>> found = {"new": MetricTable(entries=entries, levels=("a", "b"))}
    >>> [each.holds for m in (0.01, 0.003) for each in judge_margins(found, "old", {"auc": m})]
    [True, False]
    """
    return tuple(
        NonInferiority(
            model=model,
            reference=reference,
            metric=key.metric,
            threshold=key.threshold,
            margin=margins[key.metric],
            difference=each,
            holds=_holds(each, margins[key.metric], lower=key.metric in LOWER_IS_BETTER),
        )
        for model, table in differences.items()
        for key, each in table.entries.items()
        if key.group == "overall" and key.metric in margins
    )


def _holds(difference: Estimate, margin: float, *, lower: bool) -> bool:
    end = difference.high if lower else -difference.low
    return not math.isnan(end) and end < margin
