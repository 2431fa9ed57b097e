"""The numbers of a frontier as the report reads them; the only place that knows its form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..auditing.verdict import labels_direct
from ..sweeps import Choice, Frontier
from .words import group_name

#: Parts of the rows to judge by, best first.
JUDGED = ("test", "validation", "train")


@dataclass(frozen=True)
class FrontierFacts:
    """What a frontier found, by name.

    Parameters
    ----------
    strengths : sequence of float
        Those that were fitted, in increasing order.
    figures : sequence of mappings
        By strength, the measures of each part of the rows.
    parts : sequence of str
        The parts there are figures of.
    about : mapping
        Facts about each part: counts, and the effects of z on the labels.
    failed : mapping of float to str
        Strengths that were not fitted, and why.
    made_of : mapping
        Estimator, settings, data and versions.
    notes : sequence of str
    chosen : int, optional
        Place of the strength that was chosen.
    rule : str
        Why it was.
    chosen_on : str
        The part of the rows the rule looked at.
    groups : tuple of str
        The names of z = 0 and z = 1 as they are shown.
    """

    strengths: Sequence[float]
    figures: Sequence[Mapping[str, Mapping[str, Any]]] = field(repr=False)
    parts: Sequence[str]
    about: Mapping[str, Mapping[str, Any]] = field(repr=False)
    failed: Mapping[float, str]
    made_of: Mapping[str, Any] = field(repr=False)
    notes: Sequence[str]
    chosen: int | None
    rule: str
    chosen_on: str
    groups: tuple[str, str]

    @classmethod
    def of(cls, frontier: Any, choice: Any = None) -> FrontierFacts:
        """Read a `Frontier` and the `Choice` that was made from it."""
        if not isinstance(frontier, Frontier):
            raise TypeError(f"frontier must be a Frontier; got {type(frontier).__name__}")
        if choice is not None and not isinstance(choice, Choice):
            raise TypeError(f"choice must be a Choice; got {type(choice).__name__}")
        fine = [point for point in frontier.points if not point.error]
        if not fine:
            raise ValueError("no strength of the frontier was fitted without an error")
        strengths = [point.strength for point in fine]
        if choice is not None and choice.strength not in strengths:
            raise ValueError(f"choice has strength {choice.strength:g}, which the frontier lacks")
        return cls(
            strengths=strengths,
            figures=[point.to_dict()["parts"] for point in fine],
            parts=[name for name in reversed(JUDGED) if name in frontier.part_names],
            about=frontier.parts,
            failed={point.strength: point.error for point in frontier.points if point.error},
            made_of=frontier.fingerprint,
            notes=frontier.notes,
            chosen=None if choice is None else strengths.index(choice.strength),
            rule="" if choice is None else choice.rule,
            chosen_on="" if choice is None else choice.part,
            groups=_groups(frontier, strengths[0]),
        )

    @property
    def part(self) -> str:
        """The part to judge by: that with a direct effect left, test rows before others."""
        found = [name for name in JUDGED if name in self.parts]
        judged = [name for name in found if self.value(0, "direct_effect_left", name) is not None]
        return (judged or found)[0]

    def value(self, place: int, measure: str, part: str | None = None) -> float | None:
        """Return a measure of a strength on a part of the rows; None where there is none."""
        value = self.figures[place].get(self.part if part is None else part, {}).get(measure)
        return None if value is None or not math.isfinite(value) else float(value)

    def left(self, place: int, part: str | None = None) -> dict[str, float | None]:
        """Return the direct effect left at a strength, with its interval."""
        name = "direct_effect_left"
        ends = {end: self.value(place, f"{name}_{end}", part) for end in ("low", "high")}
        return {"estimate": self.value(place, name, part), **ends}

    def effect(self, name: str) -> Mapping[str, Any]:
        """Return an effect of z on the labels of the judged part."""
        found: Mapping[str, Any] = self.about.get(self.part, {}).get("effects", {}).get(name, {})
        return found or {"estimate": None, "low": None, "high": None}

    @property
    def label_direct(self) -> float | None:
        """The direct part of the labels' gap, total − explained: the other end of its bar."""
        return labels_direct(self.effect("total")["estimate"], self.effect("explained")["estimate"])


def _groups(frontier: Frontier, strength: float) -> tuple[str, str]:
    """Return what z = 0 and z = 1 stand for, from a model or its card, where either says so."""
    levels: Any = getattr(frontier.models.get(strength), "sensitive_levels_", None)
    if levels is None and frontier.store is not None:
        card = frontier.store / "models" / repr(float(strength)) / "card.json"
        with suppress(OSError, ValueError, KeyError, TypeError):
            levels = json.loads(card.read_text("utf-8"))["roles"]["sensitive_levels"]
    low, high = levels if levels is not None else (0, 1)
    names = (group_name(0, low), group_name(1, high))
    return names if names[0] != names[1] else ("z = 0", "z = 1")
