"""Where the gap of a model's scores comes from, and the share of the direct effect they pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..frames import Tabular, plain
from ..rows import Rows
from ..svg import Interval, intervals
from .estimate import Estimate
from .fair_parts import FairParts
from .influence import Mean, gap
from .nuisance import Nuisances
from .pass_through import Equations, Mixture, pass_through
from .recoding import gaps_of_parts, recoded_gap

#: The parts of a gap, in the order in which they add up, in a few words.
PARTS = {
    "explained": "what the covariates explain",
    "sharpness": "what the scores tell less or more of the fair score",
    "passed_on": "direct effect passed on by columns that stand for z",
    "z_itself": "z itself",
    "rest": "other differences",
}

#: Colours of the parts and of what is left, in a notebook.
_KINDS = ("s0", "s0", "s2", "s2", "s0", "s1")

#: The share by which scores are recoded stays within these bounds, also where it is badly known.
_SHARES, _OWN = (-1.0, 2.0), (-1.0, 1.0)

_USUAL = 1.0  # how far the shares of scores usually are from 1: that of a fair score is 0

NO_EFFECT = (
    "the labels hold no direct effect that these rows can tell from none, so there is nothing to "
    "pass on"
)
NOT_TOLD = "these rows cannot tell the direct effect from the fair score"


@dataclass(frozen=True, kw_only=True)
class ScoreCalibration:
    """Whether scores are on the scale of the labels.

    Parameters
    ----------
    error : Estimate
        Mean score less mean label.
    slope : Estimate
        Of the labels on the scores: 1 for calibrated scores, more for shrunken ones.
    """

    error: Estimate
    slope: Estimate

    @property
    def holds(self) -> bool:
        """Whether both intervals allow calibrated scores."""
        return self.error.low <= 0 <= self.error.high and self.slope.low <= 1 <= self.slope.high

    def to_dict(self) -> dict[str, Any]:
        """Return both estimates, and whether calibration holds."""
        return {
            "error": self.error.to_dict(),
            "slope": self.slope.to_dict(),
            "holds": self.holds,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class GapParts(Tabular):
    """Where the gap of a model's scores comes from; made by `Effects.gap_parts`.

    The parts add up to the gap of the scores recoded to the scale of the labels. As a frame it has
    one row per part.

    Parameters
    ----------
    explained, sharpness, passed_on, z_itself, rest : Estimate
        The parts, "z=1 minus z=0".
    left : Estimate
        The recoded scores' gap less what is explained: the sum of all parts but the first.
    direct : Estimate
        The same without the sharpness: the direct effect in the scores, passed on by columns that
        stand for z, z itself, and other differences. A score that is merely weak has none.
    left_as_given : Estimate
        The gap of the scores as they are less what is explained.
    pass_through : Estimate or None
        The share of the direct effect that the scores pass on: 1 for a blind model, 0 for a fair
        one, below 0 where too much was removed. An end of its interval may be infinite.
    why_not : str or None
        Why there is no pass-through.
    calibration : ScoreCalibration
        Of the scores as they are.
    """

    explained: Estimate
    sharpness: Estimate
    passed_on: Estimate
    z_itself: Estimate
    rest: Estimate
    left: Estimate
    direct: Estimate
    left_as_given: Estimate
    pass_through: Estimate | None
    why_not: str | None
    calibration: ScoreCalibration

    def estimates(self) -> dict[str, Estimate]:
        """Return the parts by name."""
        return {name: getattr(self, name) for name in PARTS}

    def _columns(self) -> Mapping[str, Any]:
        columns: dict[str, list[Any]] = {"part": [*PARTS], "meaning": [*PARTS.values()]}
        for end in ("estimate", "se", "low", "high"):
            columns[end] = [getattr(each, end) for each in self.estimates().values()]
        return columns

    def _title(self) -> str:
        return f"Where the gap of the scores comes from; pass-through {self._share()}"

    def _charts(self) -> str:
        shown = {**self.estimates(), "left": self.left}
        lines = [
            Interval(label=name, estimate=each.estimate, low=each.low, high=each.high, kind=kind)
            for (name, each), kind in zip(shown.items(), _KINDS, strict=True)
        ]
        return intervals(lines, title="Parts of the gap of the scores")

    def _share(self) -> str:
        return f"not known: {self.why_not}" if self.pass_through is None else str(self.pass_through)

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON; an infinite end of an interval is None."""
        share = self.pass_through
        found = {
            **{name: each.to_dict() for name, each in self.estimates().items()},
            "left": self.left.to_dict(),
            "direct": self.direct.to_dict(),
            "left_as_given": self.left_as_given.to_dict(),
            "pass_through": share and share.to_dict(),
            "why_not": self.why_not,
            "calibration": self.calibration.to_dict(),
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        share = self._share()
        lines = [f"{name:<12}{each}" for name, each in self.estimates().items()]
        sums = [f"{name:<12}{getattr(self, name)}" for name in ("left", "direct")]
        return "\n".join([*lines, *sums, f"pass-through {share}"])


@dataclass(frozen=True, kw_only=True, eq=False)
class GapMeans:
    """The parts of a gap with their influence functions, and the pass-through.

    Parameters
    ----------
    parts : mapping of str to Mean
        Those of `PARTS`, and "left".
    pass_through : Estimate or None
        See `GapParts`.
    why_not : str or None
        Why there is no pass-through.
    """

    parts: Mapping[str, Mean]
    pass_through: Estimate | None
    why_not: str | None

    @classmethod
    def of(
        cls,
        scores: Floats,
        rows: Rows,
        fair: FairParts,
        surprise: Floats,
        effects: Mapping[str, Mean],
        confidence: float,
    ) -> GapMeans:
        """Return the parts of scores; ``surprise`` is what of y a blind model would not know."""
        if np.ptp(scores) == 0:
            return cls._of_one_score(effects["explained"], rows.clusters)
        equations, clusters = Equations.of(scores, fair), rows.clusters
        direct = effects["direct_overlap"]
        share, kappa, why_not = _share(scores, equations, direct, confidence, clusters)
        mixture = _mixture(equations, kappa)
        explained, total = effects["explained"], effects["total"]
        left = recoded_gap(equations, fair, _mixture(equations, _steady(kappa))) - explained
        of_direct, of_z = gaps_of_parts(surprise, fair, total, explained)
        told = mixture.told
        parts = {
            "explained": explained,
            "sharpness": told.times(explained) - explained,
            "passed_on": told.times(mixture.share).times(of_direct),
            "z_itself": told.times(mixture.own).times(of_z),
        }
        parts["rest"] = left - parts["sharpness"] - parts["passed_on"] - parts["z_itself"]
        parts["left"] = left
        found = {name: replace(part, clusters=clusters) for name, part in parts.items()}
        return cls(parts=found, pass_through=share, why_not=why_not)

    @classmethod
    def _of_one_score(cls, explained: Mean, clusters: Index | None) -> GapMeans:
        """Return the parts of scores that are all the same: they tell nothing, and have no gap."""
        nothing = Mean(0.0, np.zeros_like(explained.influence))
        parts = dict.fromkeys(("passed_on", "z_itself", "rest"), nothing)
        parts |= {"explained": explained}
        parts |= dict.fromkeys(("sharpness", "left"), nothing - explained)
        found = {name: replace(part, clusters=clusters) for name, part in parts.items()}
        return cls(parts=found, pass_through=None, why_not="every score is the same")

    @property
    def direct(self) -> Mean:
        """The direct effect in the scores: what is left without the sharpness."""
        return self.parts["left"] - self.parts["sharpness"]


def gap_parts(
    scores: Floats,
    rows: Rows,
    nuisances: Nuisances,
    effects: Mapping[str, Mean],
    confidence: float,
) -> GapParts:
    """Return the parts of the scores' gap; see `Effects.gap_parts`."""
    fair = FairParts.of(rows.y, rows.z, rows.mean_one_weights, nuisances)
    surprise = rows.y - nuisances.mean
    found = GapMeans.of(scores, rows, fair, surprise, effects, confidence)
    given = gap(scores, rows.z, rows.mean_one_weights) - effects["explained"]
    return GapParts(
        **{name: part.interval(confidence) for name, part in found.parts.items()},
        direct=found.direct.interval(confidence),
        left_as_given=given.interval(confidence),
        pass_through=found.pass_through,
        why_not=found.why_not,
        calibration=calibration_of(scores, rows, confidence),
    )


def _share(
    scores: Floats,
    equations: Equations,
    direct: Mean,
    confidence: float,
    clusters: Index | None,
) -> tuple[Estimate | None, Mean, str | None]:
    """Return the pass-through, the same with its influence, and why there is none.

    Where there is none, scores are taken for what a blind model would have learned from labels.
    """
    blind = Mean(1.0, np.zeros(len(scores)))
    held = direct.interval()
    if held.low <= 0 <= held.high:
        return None, blind, NO_EFFECT
    found = pass_through(equations, confidence, clusters)
    return (None, blind, NOT_TOLD) if found is None else (*found, None)


def _mixture(equations: Equations, share: Mean) -> Mixture:
    """Return what scores rank by, kept within bounds; a constant score ranks by nothing."""
    found = Mixture.at(equations, _within(share, _SHARES))
    if not equations.codes.any():
        none = share * 0.0
        return replace(found, own=none, told=none)
    return replace(found, own=_within(found.own, _OWN))


def _steady(share: Mean) -> Mean:
    """Return the share that scores are recoded by: nearer to 1 the less surely it is known.

    The gap of recoded scores is off by a small part of what this moves the share, and only where
    the score is not blind; its variance would be much larger without.
    """
    weight = _USUAL**2 / (_USUAL**2 + share.se**2)
    return Mean(1 + weight * (share.value - 1), weight * share.influence)


def _within(found: Mean, bounds: tuple[float, float]) -> Mean:
    """Return an estimate kept within bounds; beyond them it is no longer one."""
    low, high = bounds
    if low <= found.value <= high:
        return found
    return Mean(min(max(found.value, low), high), np.zeros_like(found.influence))


def calibration_of(scores: Floats, rows: Rows, confidence: float) -> ScoreCalibration:
    """Regress the labels on the scores."""
    y, weights, clusters = rows.y, rows.mean_one_weights, rows.clusters
    centred = scores - np.average(scores, weights=weights)
    spread = float(weights @ centred**2)
    slope = float(weights @ (centred * y)) / spread if spread > 0 else 0.0
    noise = y - np.average(y, weights=weights) - slope * centred
    influence = weights * centred * noise * len(y) / spread if spread > 0 else 0 * y
    return ScoreCalibration(
        error=Mean.average(scores - y, weights, clusters).interval(confidence),
        slope=Mean(slope, influence, clusters).interval(confidence),
    )
