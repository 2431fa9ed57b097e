"""A candidate of a search, and what is measured of its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import roc_auc_score

from .._typing import Floats, Index
from ..auditing.impact_estimates import (
    gini,
    rate_above,
    separation,
    standardised_difference,
)
from ..auditing.scored import Approval, Levels, Scored, decide_by_rate
from ..effects import Estimate
from ..effects.influence import Mean
from ..frames import plain, with_nan
from ..rows import Rows
from .judge import Judge
from .space import Draw

#: Measures of which more is better; of the others the one nearest to 0 is.
UTILITIES = ("auc", "ks", "profit")
#: What a search may be for; of the first more is better, the others are best at 0.
AXES = ("adverse_impact_ratio", "direct_effect_left", "pass_through")
#: The number of the champion, the model that the candidates are alternatives to.
CHAMPION = -1


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One model that was tried.

    Parameters
    ----------
    number : int
        Its place in the order of the draws; -1 is the champion.
    settings : mapping
        What it was drawn as: engine, features, strength, params, seed.
    parts : mapping of str to mapping of str to float
        Measures by part; empty where the fit failed.
    trees : int, default=None
        Trees that were kept, or steps taken.
    seconds : float, default=0.0
        Time of the fit.
    fingerprint : str, default=""
        SHA-256 of its scores on the validation rows.
    error : str, default=""
        Why the fit failed.
    """

    #: What a folder of these calls itself.
    store_format: ClassVar[str] = "unsway-search"

    number: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    trees: int | None = None
    seconds: float = 0.0
    fingerprint: str = ""
    error: str = ""

    @property
    def key(self) -> float:
        """What a store finds it by."""
        return float(self.number)

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return "champion" if self.number == CHAMPION else f"candidate {self.number}"

    @property
    def draw(self) -> Draw:
        """The settings as a draw."""
        return Draw(**self.settings)

    def value(self, measure: str, part: str = "validation") -> float:
        """Return a measure on a part of the rows, NaN where there is none."""
        return float(self.parts.get(part, {}).get(measure, math.nan))

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as JSON can hold it."""
        return dict(plain(vars(self)))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a candidate from what `to_dict` gave."""
        return cls(**{**stored, "parts": with_nan(stored["parts"])})


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """How scores of some rows are measured.

    Parameters
    ----------
    rows : Rows
        With labels, groups and weights; no table is needed.
    approval_rate : float
        The share approved.
    approve : {"high", "low"}
    profit : array of shape (n, 2), optional
        What a person brings if rejected and if approved.
    judge : Judge, optional
        The effects of z on the labels of these rows.
    pass_through : bool, default=False
        Whether pass-through is measured.
    """

    rows: Rows = field(repr=False)
    approval_rate: float
    approve: str
    profit: Floats | None = field(default=None, repr=False)
    judge: Judge | None = field(default=None, repr=False)
    pass_through: bool = False

    def people(self, scores: Floats) -> Scored:
        """Return the rows with scores."""
        groups = self.rows.groups
        codes = groups.codes.astype(np.intp)
        levels = Levels(codes=codes, names=groups.names, reference=0)
        return Scored(
            scores=scores, levels=levels, y=self.rows.y, weights=self.rows.weights,
            approve=self.approve,
        )  # fmt: skip

    def measure(self, scores: Floats) -> dict[str, float]:
        """Return the measures of scores, without intervals."""
        people = self.people(scores)
        if np.ptp(scores) == 0:
            raise ValueError("the scores are the same in every row")
        decision = decide_by_rate(people, self.approval_rate)
        rates = [float(np.average(decision.approved, weights=people.inside(k))) for k in
                 range(len(people.levels.names))]  # fmt: skip
        y, w = self.rows.y, people.w
        ones, zeros = w * y, w * (1 - y)
        found = {
            "auc": float(roc_auc_score(y, scores, sample_weight=self.rows.weights)),
            "ks": separation(scores, ones, zeros).value,
            "approved": decision.share,
            "adverse_impact_ratio": min(rates) / max(rates),
            "standardised_mean_difference": max(
                (float(standardised_difference(people, k).value) for k in people.levels.others),
                key=abs,
            ),
        }
        if self.profit is not None:
            found["profit"] = self._profit(decision, w).value
        if self.judge is not None:
            found["direct_effect_left"] = self.judge.left(scores).estimate
            if self.pass_through:
                share = self.judge.effects.gap_parts(scores).pass_through
                found["pass_through"] = math.nan if share is None else share.estimate
        return found

    def _profit(self, decision: Approval, weights: Floats) -> Mean:
        assert self.profit is not None  # noqa: S101
        taken = self.profit[np.arange(len(self.profit)), decision.approved.astype(np.intp)]
        return Mean.average(taken, weights)

    def influences(self, scores: Floats) -> dict[str, Mean]:
        """Return the measures that have an influence function, ratios as logarithms."""
        people = self.people(scores)
        decision = decide_by_rate(people, self.approval_rate)
        rates = [rate_above(people, decision, people.inside(k)) for k in
                 range(len(people.levels.names))]  # fmt: skip
        worst, best = (pick(rates, key=lambda rate: rate.value) for pick in (min, max))
        y, w = self.rows.y, people.w
        ginis = gini(scores, w * y, w * (1 - y))
        found = {
            "auc": Mean((ginis.value + 1) / 2, ginis.influence / 2),
            "ks": separation(scores, w * y, w * (1 - y)),
        }
        if worst.value > 0:
            found["adverse_impact_ratio"] = log_ratio(worst, best)
        if self.profit is not None:
            found["profit"] = self._profit(decision, w)
        return found

    def estimates(
        self, scores: Floats, confidence: float, factor: float | None = None
    ) -> dict[str, Estimate]:
        """Return the measures with intervals, or with a factor of the standard error for a band."""
        found = {}
        for name, mean in self.influences(scores).items():
            each = Estimate.normal(mean.value, mean.se, confidence)
            if factor is not None:
                half = factor * mean.se
                each = Estimate(mean.value, mean.se, mean.value - half, mean.value + half)
            found[name] = as_ratio(each) if name == "adverse_impact_ratio" else each
        if self.judge is not None:
            found["direct_effect_left"] = self.judge.left(scores)
            share = self.judge.effects.gap_parts(scores).pass_through
            if share is not None:
                found["pass_through"] = share
        return found


def log_ratio(rate: Mean, reference: Mean) -> Mean:
    """Return the logarithm of the ratio of two rates."""
    return Mean(
        float(np.log(rate.value / reference.value)),
        rate.influence / rate.value - reference.influence / reference.value,
    )


def as_ratio(log: Estimate) -> Estimate:
    """Return a ratio from the estimate of its logarithm."""
    value, low, high = (float(np.exp(each)) for each in (log.estimate, log.low, log.high))
    return Estimate(value, value * log.se, low, high)


def rows_of(rows: Rows, chosen: Index) -> Rows:
    """Return some rows without their table."""
    return rows.with_table(None).take(chosen)
