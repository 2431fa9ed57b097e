"""Parts of the rows with what judges scores on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.metrics import log_loss, roc_auc_score

from .._typing import Floats, Index
from ..auditing import score_gap, selection_rate_difference
from ..core import Objective
from ..effects import Effects, Estimate, estimate_effects
from ..rows import Rows

#: Scores are kept this far from 0 and 1 where their logarithm is taken.
_SMALLEST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Judge:
    """The effects of z on the labels, and where among their rows the scores of a part belong.

    What is explained belongs to the labels, not to a model: it may be estimated on more rows than
    the scores are of; the gap of the scores is that of their own rows.

    Parameters
    ----------
    effects : Effects
        Estimated on rows with this z and these weights.
    z : array of shape (n,)
    weights : array of shape (n,), optional
    places : array of int, optional
        The rows that have scores; all of them by default.
    """

    effects: Effects
    z: Floats = field(repr=False)
    weights: Floats | None = field(repr=False)
    places: Index | None = field(default=None, repr=False)

    def left(self, scores: Floats) -> Estimate:
        """Return gap(p) − explained with its interval."""
        if self.places is None:
            return self.effects.direct_effect_left(scores)
        return self.effects.direct_effect_left(self._spread(scores))

    def _spread(self, scores: Floats) -> Floats:
        """Return scores of all rows with the same means by group, and the same influence on them.

        A group of weight W, W′ of it with scores p of mean m, gets m + (W/W′)(p − m) where there
        are scores and m elsewhere: a row without a score has no influence on the mean.
        """
        weights = np.ones_like(self.z) if self.weights is None else self.weights
        spread, scored = np.empty(len(self.z)), np.zeros(len(self.z), dtype=bool)
        spread[self.places], scored[self.places] = scores, True
        for group in (0, 1):
            rows = self.z == group
            seen = rows & scored
            mean = np.average(spread[seen], weights=weights[seen])
            factor = weights[rows].sum() / weights[seen].sum()
            spread[seen] = mean + factor * (spread[seen] - mean)
            spread[rows & ~scored] = mean
        return spread


@dataclass(frozen=True)
class Part:
    """Rows on which scores are measured, with the objective and the effects there.

    Parameters
    ----------
    name : str
        "train", "validation" or "test".
    rows : Rows
        With X as the estimator takes it.
    objective : Objective, optional
        What the criterion holds their scores to.
    judge : Judge, optional
        The effects of z on their labels.
    """

    name: str
    rows: Rows = field(repr=False)
    objective: Objective | None = field(repr=False)
    judge: Judge | None = field(repr=False)

    def measure(self, scores: Floats, threshold: float) -> dict[str, float]:
        """Return what the rows say about their scores."""
        y, weights = self.rows.y, self.rows.weights
        groups = {"sensitive_features": self.rows.z, "sample_weight": weights}
        inside = np.clip(scores, _SMALLEST, 1 - _SMALLEST)
        found = {
            "rows": len(y),
            "accuracy": float(np.average((scores > threshold) == y, weights=weights)),
            "auc": float(roc_auc_score(y, scores, sample_weight=weights)),
            "log_loss": float(log_loss(y, inside, sample_weight=weights, labels=[0, 1])),
            "brier": float(np.average((scores - y) ** 2, weights=weights)),
            "selection_rate_difference": selection_rate_difference(
                y, scores, threshold=threshold, **groups
            ),
            "score_gap": score_gap(y, scores, **groups),
        }
        if self.judge is not None:
            left = self.judge.left(scores)
            found["direct_effect_left"] = left.estimate
            for name in ("se", "low", "high"):
                found[f"direct_effect_left_{name}"] = getattr(left, name)
        return {**found, **self._fairness(inside)}

    def _fairness(self, scores: Floats) -> dict[str, float]:
        """Return what the objective holds the scores to, with its statistics by name."""
        if self.objective is None:
            return {}
        penalty = self.objective.penalty
        statistics = np.asarray(penalty.statistics(scores)).tolist()
        return {
            self.objective.fairness_name: self.objective.losses(logit(scores)).penalty,
            **dict(zip(penalty.names, statistics, strict=True)),
        }

    def describe(self) -> dict[str, Any]:
        """Return what is known of the rows before any score: counts, gaps, effects of z on y."""
        y, z, weights = self.rows.y, self.rows.z, self.rows.weights
        about: dict[str, Any] = {
            "rows": len(y),
            "positive_rate": float(np.average(y, weights=weights)),
            "share_z1": float(np.average(z, weights=weights)),
            "label_gap": score_gap(y, y, sensitive_features=z, sample_weight=weights),
        }
        if self.judge is not None:
            found = self.judge.effects.estimates()
            about["effects"] = {name: each.to_dict() for name, each in found.items()}
            about["effects_rows"] = len(self.judge.z)
        return about


def judge_of(
    rows: Rows, options: Mapping[str, Any], place: str, places: Index | None = None
) -> tuple[Judge | None, str | None]:
    """Return the effects of z on the labels of these rows, or a note that says why not."""
    try:
        found = estimate_effects(
            rows.X, rows.y, sensitive_features=rows.z, sample_weight=rows.weights, **options
        )
    except ValueError as error:
        return None, f"no direct effect left on the {place} rows: {error}"
    return Judge(found, rows.z, rows.weights, places), None
