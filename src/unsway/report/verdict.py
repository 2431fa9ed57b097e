"""How a direct effect that is left stands, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .page import Level
from .words import number

#: An interval that reaches farther than this from its estimate tells little if it also holds all
#: of the labels' direct effect.
TELLING = 0.02


def judge(
    left: Mapping[str, Any],
    direct: float | None,
    groups: tuple[str, str],
    data: str = "",
) -> tuple[Level, str]:
    """Return how the verdict stands, and its words.

    Parameters
    ----------
    left : mapping
        The direct effect left, with its interval.
    direct : float, optional
        The labels' direct effect.
    groups : tuple of str
        Names of z = 0 and z = 1.
    data : {"ok", "caution", "cannot tell", ""}
        Whether the data can tell.

    Examples
    --------
    >>> judge({"estimate": 0.02, "low": 0.01, "high": 0.03}, 0.1, ("women", "men"))[1]
    'The scores hold a direct effect: 2.0 points higher for men than the covariates explain'
    """
    low, high = left["low"], left["high"]
    if left["estimate"] is None or low is None or high is None:
        return "unknown", "The direct effect was not judged"
    if data == "cannot tell":
        return "unknown", "These data cannot tell"
    if not low <= 0 <= high:
        return "bad", f"The scores hold a direct effect: {_direction(left['estimate'], groups[1])}"
    if direct is not None and low <= direct <= high and high - low > 2 * TELLING:
        return "caution", "No direct effect found, but these rows tell little"
    if data == "caution":
        return "caution", "No direct effect found, with caution"
    return "good", "No direct effect found"


def _direction(left: float, group: str) -> str:
    """Say who scores higher or lower; whether a high score is good is not known here."""
    size = number(100 * abs(left), 1)
    amount = "less than 0.1" if size == "0.0" else size
    side = "higher" if left > 0 else "lower"
    return f"{amount} points {side} for {group} than the covariates explain"
