"""The verdict on a direct effect that is left in scores; no other place decides it.

Whether the data allow an estimate at all is the verdict of `unsway.effects.verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .numbers import number, points

#: The result of a verdict or of a check.
Level = Literal["good", "caution", "bad", "unknown"]

#: An interval that reaches farther than this from its estimate tells little if it also holds all
#: of the labels' direct effect.
TELLING = 0.02

#: What an audit says of the data, by the verdict on them; the checks that failed follow.
TRUST = {
    "ok": "The checks of overlap, balance and mean field raise no doubt that these data can tell "
    "this, as long as nothing unmeasured matters.",
    "caution": "The effects are to be read with caution.",
    "cannot tell": "These data cannot tell the effects apart.",
}
#: What a sweep says of the data; a sweep without an audit has no verdict on them.
TRUST_OF_SWEEP = {
    "": "Whether the groups can be compared at all was not checked here.",
    "ok": "The checks of the data raise no doubt that they can tell this.",
    "caution": "Some checks of the data ask for caution.",
    "cannot tell": "The groups can hardly be compared: these figures must not be relied on.",
}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict on a direct effect left.

    Parameters
    ----------
    level : {"good", "caution", "bad", "unknown"}
    headline : str
        The verdict in a few words.
    meaning : str
        What the number means: the end of the sentence that gives it.
    """

    level: Level
    headline: str
    meaning: str


def judge(
    left: Mapping[str, Any],
    direct: float | None,
    group: str,
    data: str = "",
    *,
    labels_told: bool = True,
) -> Judgement:
    """Return the verdict with its texts.

    A high score may be good or bad for a person, so the words only say who scores higher or lower.

    Parameters
    ----------
    left : mapping
        The direct effect left: "estimate", "low" and "high".
    direct : float or None
        The labels' direct effect.
    group : str
        Name of the group z = 1.
    data : {"ok", "caution", "cannot tell", ""}
        Whether the data can tell.
    labels_told : bool
        Whether the reader knows the labels' direct effect; the meaning gives it otherwise.

    Examples
    --------
    >>> left = {"estimate": 0.02, "low": 0.01, "high": 0.03}
    >>> found = judge(left, 0.1, "men")
    >>> found.level, found.headline
    ('bad', 'The scores hold a direct effect: 2.0 points higher for men than the covariates
    explain')
    >>> found.meaning
    'the model still passes it on, 20% of it'
    """
    level, headline = _headline(left, direct, group, data)
    meaning = _meaning(left, direct, group, labels_told)
    return Judgement(level=level, headline=headline, meaning=meaning)


def labels_direct(total: float | None, explained: float | None) -> float | None:
    """Return the direct part of the labels' gap, total − explained; None where one is unknown."""
    return None if total is None or explained is None else total - explained


def level_of(finding: Mapping[str, Any]) -> Level:
    """Return how a check of the data stands, by whether it passed and whether it is decisive."""
    return "good" if finding["passed"] else "bad" if finding["decisive"] else "caution"


def _headline(
    left: Mapping[str, Any], direct: float | None, group: str, data: str
) -> tuple[Level, str]:
    low, high = left["low"], left["high"]
    if not _known(left):
        return "unknown", "The direct effect was not judged"
    if data == "cannot tell":
        return "unknown", "These data cannot tell"
    if not _holds_zero(left):
        size = number(100 * abs(left["estimate"]), 1)
        amount = "less than 0.1" if size == "0.0" else size
        return "bad", (
            f"The scores hold a direct effect: {amount} points {_side(left)} for {group} than the "
            "covariates explain"
        )
    if direct is not None and low <= direct <= high and high - low > 2 * TELLING:
        return "caution", "No direct effect found, but these rows tell little"
    if data == "caution":
        return "caution", "No direct effect found, with caution"
    return "good", "No direct effect found"


def _meaning(left: Mapping[str, Any], direct: float | None, group: str, labels_told: bool) -> str:
    if not _known(left) or _holds_zero(left):
        return "these rows cannot tell it from none"
    estimate = left["estimate"]
    if direct is not None and direct * estimate < 0:
        taken = "direct effect" if labels_told else f"{points(direct)} that the labels hold"
        return (
            f"more was taken out than the {taken}, so the scores of {group} are {_side(left)} "
            "than the covariates explain"
        )
    if not labels_told:
        return f"the labels hold {points(direct)}, and the model passes some of it on"
    share = f", {estimate / direct:.0%} of it" if direct else ""
    return f"the model still passes it on{share}"


def _known(left: Mapping[str, Any]) -> bool:
    numbers = (left["estimate"], left["low"], left["high"])
    return all(each is not None and math.isfinite(each) for each in numbers)


def _holds_zero(left: Mapping[str, Any]) -> bool:
    return bool(left["low"] <= 0 <= left["high"])


def _side(left: Mapping[str, Any]) -> str:
    return "higher" if left["estimate"] > 0 else "lower"
