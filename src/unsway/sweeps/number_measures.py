"""The measures of predictions of numbers on a part of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats
from ..auditing.metrics import BETWEEN, Key
from ..auditing.number_metrics import check_means, target_scale
from ..auditing.number_tally import NumberSample, measure_numbers
from ..rows import Rows

if TYPE_CHECKING:
    from .measures import Part

#: The measures of all rows, and those between the groups.
_OVERALL = ("mean_score", "deviance", "deviance_explained", "rmse", "gini", "actual_over_expected")
_BETWEEN = ("outcome_gap", "score_gap")


def measure_predictions(part: Part, predictions: Floats) -> dict[str, float]:
    """Return the measures of predictions in the units of the target.

    The objective of the part may be of numbers in other units, those of its rows.
    """
    rows, outcome = part.rows, part.rows.outcome
    check_means(outcome.loss, numbers_of(rows), predictions, "the model")
    values = measure_numbers(_sample(rows, predictions).tally())
    found: dict[str, float] = {"rows": len(rows)}
    found |= {
        name: values[Key(name, place)]
        for names, place in ((_OVERALL, "overall"), (_BETWEEN if rows.groups.two else (), BETWEEN))
        for name in names
        if Key(name, place) in values
    }
    if not rows.groups.two:
        found["score_spread"] = rows.spread_of_levels(predictions)
    if part.judge is not None:
        found |= part.judge.measures(predictions)
    if part.objective is not None:
        means = (predictions - outcome.origin) / outcome.unit
        margin, penalty = outcome.loss.margin_of(means), part.objective.penalty
        found[part.objective.fairness_name] = part.objective.losses(margin).penalty
        statistics = np.asarray(penalty.statistics(np.ascontiguousarray(means))).tolist()
        found |= dict(zip(penalty.names, statistics, strict=True))
    return found


def describe_numbers(rows: Rows) -> dict[str, Any]:
    """Return facts about rows that need no prediction."""
    y, weights = numbers_of(rows), rows.mean_one_weights
    loss = rows.outcome.loss
    about: dict[str, Any] = {
        "rows": len(rows),
        "loss": loss.name,
        "per": rows.outcome.per,
        "exposure": len(rows) if rows.weights is None else float(rows.weights.sum()),
        "mean_outcome": float(np.average(y, weights=weights)),
        "scale": target_scale(rows),
    }
    if not rows.groups.two:
        return {**about, "outcome_spread": rows.spread_of_levels(y)}
    means = rows.means_by_level(y)
    share = float(np.average(rows.z, weights=weights))
    return {**about, "share_z1": share, "outcome_gap": float(means[1] - means[0])}


def numbers_of(rows: Rows) -> Floats:
    """Return the target of rows in the units of the user."""
    return np.asarray(rows.outcome.as_given(), dtype=np.float64)


def _sample(rows: Rows, predictions: Floats) -> NumberSample:
    return NumberSample.of(
        numbers_of(rows),
        predictions,
        np.minimum(rows.groups.codes, 1),
        loss=rows.outcome.loss,
        weights=rows.weights,
    )
