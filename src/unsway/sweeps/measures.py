"""The measures of a strength on each part of the rows, and the point that holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logit
from sklearn.metrics import log_loss, roc_auc_score

from .._typing import Floats
from ..auditing import score_gap, selection_rate_difference
from ..auditing.evidence import Evidence
from ..auditing.verdict import Decision, decide
from ..core import Objective
from ..effects import Estimate
from ..effects.influence import Mean
from ..frames import plain, with_nan
from ..rows import Rows
from .judge import Judge, named_numbers
from .level_judge import LevelJudge
from .number_measures import describe_numbers, measure_predictions

#: The parts of the rows, in the order of the table.
PARTS = ("train", "validation", "test")
#: Measures of which more is better; of the others the one nearest to 0 is.
HIGHER_IS_BETTER = ("accuracy", "auc", "deviance_explained", "gini")
#: The measures of labels and of numbers, in the order of the table.
MEASURES = (
    "rows",
    "accuracy",
    "accuracy_se",
    "accuracy_low",
    "accuracy_high",
    "auc",
    "log_loss",
    "brier",
    "mean_score",
    "actual_over_expected",
    "deviance",
    "deviance_explained",
    "rmse",
    "gini",
    "selection_rate_difference",
    "score_gap",
    "direct_effect_left",
    "direct_effect_left_se",
    "direct_effect_left_low",
    "direct_effect_left_high",
    *(f"direct_effect{end}" for end in ("", "_se", "_low", "_high")),
    *(f"pass_through{end}" for end in ("", "_se", "_low", "_high")),
)
#: What a decision is about: the direct effect in the scores, or the one left.
_DIRECT = ("direct_effect", "direct_effect_left")
#: Why a point knows no share of the direct effect that is passed on.
_NO_SHARE = "which share of the labels' direct effect is passed on is not known on these rows"
#: Scores are kept this far from 0 and 1 where their margin is taken.
_SMALLEST = 1e-15


@dataclass(frozen=True, kw_only=True)
class Point:
    """One strength of a frontier.

    Parameters
    ----------
    strength : float
        λ.
    parts : mapping of str to mapping of str to float, default={}
        Measures by part; empty where the fit failed.
    rounds, trees : int, default=None
        Rounds or Newton steps taken, and trees kept.
    seconds : float, default=0.0
        Wall time of the fit; work that strengths share counts where it was done.
    error : str, default=""
        Why the fit failed; empty where it did not.
    """

    #: What a folder of these calls itself.
    store_format: ClassVar[str] = "unsway-frontier"

    strength: float
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rounds: int | None = None
    trees: int | None = None
    seconds: float = 0.0
    error: str = ""

    @property
    def key(self) -> float:
        """What a store finds it by."""
        return self.strength

    def value(self, measure: str, part: str) -> float:
        """Return a measure on a part of the rows.

        Parameters
        ----------
        measure : str
            Such as ``"accuracy"``; `MEASURES` has the names.
        part : {"train", "validation", "test"}
            The rows.

        Returns
        -------
        float
            NaN where there is none.
        """
        return self.parts.get(part, {}).get(measure, math.nan)

    def cost(self, measure: str, part: str) -> float:
        """Return a measure so that less is better: negated, or the distance to 0."""
        value = self.value(measure, part)
        return -value if measure in HIGHER_IS_BETTER else abs(value)

    def decision(
        self, part: str, groups: tuple[str, str], *, suffix: str = "", **about: Any
    ) -> Decision:
        """Return what is claimed of the direct effect in the scores of this strength.

        Parameters
        ----------
        part : {"train", "validation", "test"}
            The rows.
        groups : tuple of str
            Names of z = 0 and z = 1.
        suffix : str, default=""
            What the names of measures end in, such as ``"[Black]"`` for those of a level.
        **about
            More of the `Evidence`, such as ``findings`` of an audit of the same rows, and
            ``margin``. A sweep does not check overlap and balance.

        Returns
        -------
        Decision
        """
        found = (self._estimate(f"{name}{suffix}", part) for name in _DIRECT)
        known = next((each for each in found if each is not None), None)
        share = self._estimate(f"pass_through{suffix}", part)
        unknown = dict.fromkeys(("estimate", "se", "low", "high"))
        why = (
            "" if share else _NO_SHARE if known else "the direct effect is not known on these rows"
        )
        rows = self.value("rows", part)
        given = {"n_rows": 0 if math.isnan(rows) else int(rows), "pass_through": share, **about}
        return decide(Evidence(direct=known or unknown, groups=groups, why_not=why, **given))

    def _estimate(self, measure: str, part: str) -> dict[str, float | None] | None:
        """Return a measure with its standard error and interval; None where it is not known."""
        if math.isnan(self.value(measure, part)):
            return None
        ends = {end: self.value(f"{measure}_{end}", part) for end in ("se", "low", "high")}
        return dict(plain({"estimate": self.value(measure, part), **ends}))

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON can hold it."""
        return dict(plain(vars(self)))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a point from what `to_dict` gave."""
        return cls(**{**stored, "parts": with_nan(stored["parts"])})


def tidy_columns(points: Sequence[Point], parts: Sequence[str]) -> dict[str, list[Any]]:
    """Return a table with a row per strength and part; what is not known is None.

    Examples
    --------
    >>> point = Point(strength=0.5, parts={"test": {"accuracy": 0.8}}, rounds=7)
    >>> table = tidy_columns([point], ["test"])
    >>> table["strength"], table["part"], table["accuracy"], table["rounds"]
    ([0.5], ['test'], [0.8], [7])
    """
    found = [name for point in points for part in point.parts.values() for name in part]
    names = dict.fromkeys((*(name for name in MEASURES if name in found), *found))
    cells = [(point, part) for point in points for part in parts]
    table: dict[str, list[Any]] = {
        "strength": [point.strength for point, _ in cells],
        "part": [part for _, part in cells],
        **{name: [plain(point.value(name, part)) for point, part in cells] for name in names},
    }
    for name in ("rounds", "trees", "seconds", "error"):
        table[name] = [getattr(point, name) for point, _ in cells]
    return {
        name: column for name, column in table.items() if any(value is not None for value in column)
    }


def usable_points(points: Sequence[Point], measures: Sequence[str], part: str) -> tuple[Point, ...]:
    """Return the points that have these measures, by strength; raise if no point has one."""
    fine = [point for point in points if not point.error]
    if not fine:
        raise ValueError("no strength was fitted without an error; see the column error")
    for measure in measures:
        if all(math.isnan(point.value(measure, part)) for point in fine):
            known = sorted({name for point in fine for name in point.parts.get(part, {})})
            raise ValueError(
                f"there is no {measure!r} on the {part} rows; there is {', '.join(known) or 'none'}"
            )
    return tuple(
        point
        for point in sorted(fine, key=lambda point: point.strength)
        if not any(math.isnan(point.value(measure, part)) for measure in measures)
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows on which scores are measured, with their objective and effects.

    Parameters
    ----------
    name : str
        "train", "validation" or "test".
    rows : Rows
        With X as the estimator takes it.
    objective : Objective, optional
        The objective of the criterion on these rows.
    judge : Judge or LevelJudge, optional
        The effects of z on their labels.
    """

    name: str
    rows: Rows = field(repr=False)
    objective: Objective | None = field(default=None, repr=False)
    judge: Judge | LevelJudge | None = field(default=None, repr=False)

    def measure(self, scores: Floats, threshold: float) -> dict[str, float]:
        """Return the measures of the scores of these rows."""
        if not self.rows.outcome.is_label:
            return measure_predictions(self, scores)
        y, weights = self.rows.y, self.rows.weights
        found = {
            "rows": len(y),
            **named_numbers("accuracy", _accuracy(scores, self.rows, threshold)),
            "auc": float(roc_auc_score(y, scores, sample_weight=weights)),
            "log_loss": float(log_loss(y, scores, sample_weight=weights, labels=[0, 1])),
            "brier": float(np.average((scores - y) ** 2, weights=weights)),
            **self._gaps(scores, threshold),
        }
        if self.judge is not None:
            found |= self.judge.measures(scores)
        if self.objective is not None:
            penalty = self.objective.penalty
            statistics = np.asarray(penalty.statistics(np.ascontiguousarray(scores))).tolist()
            found[self.objective.fairness_name] = fairness_of(self.objective, scores)
            found |= dict(zip(penalty.names, statistics, strict=True))
        return found

    def _gaps(self, scores: Floats, threshold: float) -> dict[str, float]:
        """Return how far the groups are apart; of several levels the two furthest apart."""
        y, rows = self.rows.y, self.rows
        if rows.groups.two:
            groups: dict[str, Any] = {"sensitive_features": rows.z, "sample_weight": rows.weights}
            return {
                "selection_rate_difference": selection_rate_difference(
                    y, scores, threshold=threshold, **groups
                ),
                "score_gap": score_gap(y, scores, **groups),
            }
        selected = (scores > threshold).astype(np.float64)
        return {
            "selection_rate_spread": rows.spread_of_levels(selected),
            "score_spread": rows.spread_of_levels(scores),
        }

    def describe(self) -> dict[str, Any]:
        """Return facts about the rows that need no score: counts, gaps, effects of z on y."""
        y, weights, groups = self.rows.y, self.rows.weights, self.rows.groups
        about: dict[str, Any]
        if not self.rows.outcome.is_label:
            about = describe_numbers(self.rows)
        else:
            about = {"rows": len(y), "positive_rate": float(np.average(y, weights=weights))}
        if self.rows.outcome.is_label and groups.two:
            about["share_z1"] = float(np.average(self.rows.z, weights=weights))
            about["label_gap"] = score_gap(
                y, y, sensitive_features=self.rows.z, sample_weight=weights
            )
        elif self.rows.outcome.is_label:
            about["label_spread"] = self.rows.spread_of_levels(y)
        if self.judge is not None:
            about |= self.judge.facts()
        return about


def _accuracy(scores: Floats, rows: Rows, threshold: float) -> Estimate:
    """Return the share of decisions that are right."""
    right = ((scores > threshold) == rows.y).astype(np.float64)
    found = Mean.average(right, rows.mean_one_weights)
    return Estimate.normal(found.value, found.se)


def fairness_of(objective: Objective, scores: Floats) -> float:
    """Return the fairness part of an objective; scores of exactly 0 and 1 are clipped."""
    return objective.losses(logit(np.clip(scores, _SMALLEST, 1 - _SMALLEST))).penalty
