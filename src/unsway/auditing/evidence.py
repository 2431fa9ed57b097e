"""What a decision on the direct effect in scores rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy import stats

from ..effects import Estimate, GapParts
from .inputs import MARGIN
from .numbers import POINTS, Units
from .tables import short

State = Literal["direct effect", "below margin", "cannot tell", "not judged"]

#: An effect is claimed by an interval of the first confidence, equivalence by one of the second:
#: it holds a value outside the margin in at most 5% of samples (two one-sided tests).
CLAIM, EQUIVALENCE = 0.95, 0.90

#: Chance to call no effect at all "below the margin" with the standard error that is asked for.
_POWER = 0.80

#: The check that no claim about scores rests on: the direct effect may vary as it likes.
_NOT_NEEDED = "mean field"

#: The checks without which nothing is called small.
NEEDED = ("common support", "balance", "balance (ATT)", "balance (ATC)")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a decision rests on.

    Parameters
    ----------
    direct : mapping
        The direct effect in the scores: "estimate", "se", "low", "high"; None where unknown.
    confidence : float, default=0.95
        That of the interval of ``direct``.
    at_once : int, default=1
        How many groups are compared with the reference; intervals then hold for all at once.
    groups : tuple of str
        Names of z = 0 and z = 1.
    pass_through, blind : mapping or None
        The share of the labels' direct effect that the scores, and those of a blind reference model
        of the same rows, pass on.
    why_not : str, default=""
        Why there is no pass-through, or no direct effect.
    calibration : mapping or None
        Of the scores as they are: "error", "slope", "holds", and "left_as_given".
    findings : sequence of mappings, or None
        The checks of the data; None if there were none.
    margin : float, default=0.02
        A direct effect within ±margin is small; of numbers, as a share of their size.
    units : Units, default=POINTS
        How the effects are written.
    scored, favourable : str
        The label that scores are the chance of, and the one that is good for a person; empty where
        it was not stated.
    n_rows : int, default=0
        Rows of the estimate; 0 if not known.
    notes : sequence of str
        What else a reader must know.
    """

    direct: Mapping[str, Any]
    groups: tuple[str, str]
    confidence: float = 0.95
    at_once: int = 1
    pass_through: Mapping[str, Any] | None = None
    blind: Mapping[str, Any] | None = None
    why_not: str = ""
    calibration: Mapping[str, Any] | None = None
    findings: Sequence[Mapping[str, Any]] | None = None
    margin: float = MARGIN
    units: Units = POINTS
    scored: str = ""
    favourable: str = ""
    n_rows: int = 0
    notes: Sequence[str] = ()

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """The checks of the data that failed and that the claim rests on."""
        found = self.findings or ()
        return [each for each in found if not each["passed"] and each["name"] != _NOT_NEEDED]

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the direct effect at another confidence."""
        value, scale = self.direct["estimate"], quantile(confidence) / quantile(self.confidence)
        low, high = (value + scale * (self.direct[end] - value) for end in ("low", "high"))
        return low, high

    @property
    def is_checked(self) -> bool:
        """Whether overlap and balance were checked under the weights that the claim rests on."""
        return {each["name"] for each in self.findings or ()}.issuperset(NEEDED)

    @property
    def is_known(self) -> bool:
        """Whether there is an estimate with an interval."""
        known = (self.direct.get(name) for name in ("estimate", "low", "high"))
        return all(each is not None and math.isfinite(each) for each in known)

    @property
    def is_small(self) -> bool:
        """Whether the interval of equivalence lies within the margin."""
        (low, high), most = self.interval(EQUIVALENCE), self.largest_small
        return -most < low and high < most

    @property
    def largest_small(self) -> float:
        """The largest direct effect that is small, in the units of the direct effect."""
        return self.margin * self.units.size

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval of a claim excludes no effect."""
        low, high = self.interval(CLAIM)
        return low > 0 or high < 0


def quantile(confidence: float) -> float:
    """Return how many standard errors an interval reaches on either side."""
    return float(stats.norm.ppf(0.5 + confidence / 2))


def needed_se(margin: float) -> float:
    """Return the standard error with which no effect at all is mostly called below the margin.

    The 90% interval then lies within ±margin in 80% of samples.

    Examples
    --------
    >>> round(needed_se(0.02), 4)
    0.0068
    """
    return float(margin / (quantile(EQUIVALENCE) + stats.norm.ppf((1 + _POWER) / 2)))


def from_parts(parts: GapParts | None, left: Estimate) -> dict[str, Any]:
    """Return what the parts of a gap say, or only the direct effect left where there are none."""
    if parts is None:
        why = "the share that is passed on takes doubly robust effects"
        return {"direct": left.to_dict(), "why_not": why}
    share, found = parts.pass_through, parts.to_dict()
    return {
        "direct": found["direct"],
        "pass_through": None if share is None else found["pass_through"],
        "why_not": parts.why_not or "",
        "calibration": {**found["calibration"], "left_as_given": found["left_as_given"]},
    }


def name_groups(levels: tuple[str, ...], name: str | None) -> tuple[str, str]:
    """Return the groups as sentences call them: by their levels, where these say what they are.

    Examples
    --------
    >>> name_groups(("Female", "Male"), "sex"), name_groups(("0", "1"), "sex")
    (('Female', 'Male'), ('sex = 0', 'sex = 1'))
    """
    plain = {"0", "1", "0.0", "1.0", "False", "True"}
    if not plain.issuperset(levels):
        low, high = (short(level, 60) for level in levels)
        return (low, high) if low != high else ("z = 0", "z = 1")
    attribute = short(name or "z")
    return f"{attribute} = {short(levels[0])}", f"{attribute} = {short(levels[1])}"
