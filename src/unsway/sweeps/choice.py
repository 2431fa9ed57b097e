"""Which strength to take: rules on validation rows, with the figures of test rows beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ..frames import make_frame
from .points import Point, tidy_columns

RULES = ("knee",)


@dataclass(frozen=True)
class Choice:
    """A strength that was chosen, and why.

    Parameters
    ----------
    strength : float
        λ.
    rule : str
        The rule in words.
    part : str
        The rows the rule looked at.
    point, blind : Point
        The chosen strength with all its figures, and the smallest one, to compare with.
    """

    strength: float
    rule: str
    part: str
    point: Point
    blind: Point

    @property
    def figures(self) -> Mapping[str, float]:
        """Figures on the rows the rule looked at: the rule has made use of their chance."""
        return self.point.parts[self.part]

    @property
    def test_figures(self) -> Mapping[str, float] | None:
        """Figures on rows no rule has seen, or None without test rows."""
        return self.point.parts.get("test")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the smallest and the chosen strength, a row per part of the rows."""
        points = (self.blind, self.point) if self.blind != self.point else (self.point,)
        return make_frame(tidy_columns(points, list(self.point.parts)), backend)

    def __str__(self) -> str:
        shown = ("accuracy", "direct_effect_left", "score_gap")
        lines = [f"strength {self.strength:g}: {self.rule}"]
        for part in dict.fromkeys((self.part, "test")):
            figures = self.point.parts.get(part)
            if figures is not None:
                found = [f"{name} {figures[name]:.4f}" for name in shown if name in figures]
                if "direct_effect_left_se" in figures:
                    found[1] += f" ± {figures['direct_effect_left_se']:.4f}"
                lines.append(f"  {part}: {', '.join(found)}")
        return "\n".join(lines)


def select(
    points: Sequence[Point],
    rule: str | None = None,
    *,
    max_direct_effect: float | None = None,
    max_accuracy_loss: float | None = None,
    utility: str = "accuracy",
    fairness: str = "direct_effect_left",
    part: str = "validation",
) -> Choice:
    """Choose a strength by a rule; see `Frontier.select`."""
    if rule is not None and rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose from {', '.join(RULES)}")
    limits = {"max_direct_effect": max_direct_effect, "max_accuracy_loss": max_accuracy_loss}
    for name, limit in limits.items():
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) >= 0
        ):
            raise ValueError(f"{name} must be a number of at least 0; got {limit!r}")
    if (rule is None) == (max_direct_effect is None and max_accuracy_loss is None):
        raise ValueError("give a rule such as 'knee', or max_direct_effect, max_accuracy_loss")
    usable = usable_points(points, (utility, fairness), part)
    blind = usable[0]
    if rule is not None:
        chosen, words = _knee(usable, utility, fairness, part), "knee"
    else:
        chosen = _within(usable, limits, utility, fairness, part)
        words = _words(limits, utility, fairness)
    return Choice(chosen.strength, words, part, chosen, blind)


def pareto(points: Sequence[Point], x: str, y: str, part: str) -> tuple[Point, ...]:
    """Return the points that no other beats in both measures, by strength."""
    usable = usable_points(points, (x, y), part)
    costs = [(point.cost(x, part), point.cost(y, part)) for point in usable]
    return tuple(
        point
        for point, own in zip(usable, costs, strict=True)
        if not any(_dominates(other, own) for other in costs)
    )


def usable_points(points: Sequence[Point], measures: Sequence[str], part: str) -> tuple[Point, ...]:
    """Return the points that have these measures, or say which are missing."""
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


def _within(
    points: Sequence[Point],
    limits: Mapping[str, float | None],
    utility: str,
    fairness: str,
    part: str,
) -> Point:
    """Return the smallest strength fair enough, or the fairest one that is accurate enough."""
    effect, loss = limits["max_direct_effect"], limits["max_accuracy_loss"]
    left = list(points)
    if loss is not None:
        worst = points[0].cost(utility, part) + loss
        left = [point for point in left if point.cost(utility, part) <= worst + 1e-12]
    if effect is None:
        return min(left, key=lambda point: (point.cost(fairness, part), point.strength))
    fair = [point for point in left if point.cost(fairness, part) <= effect + 1e-12]
    if fair:
        return fair[0]
    nearest = min(left, key=lambda point: point.cost(fairness, part))
    beside = "" if loss is None else f" with at most {loss:g} of {utility} lost"
    raise ValueError(
        f"no strength has |{fairness}| ≤ {effect:g} on the {part} rows{beside}: the nearest is "
        f"{nearest.value(fairness, part):+.4f} at strength {nearest.strength:g}"
    )


def _knee(points: Sequence[Point], utility: str, fairness: str, part: str) -> Point:
    """Return the point of the Pareto front farthest from the line between its ends.

    Both measures are scaled to [0, 1] over the front (Satopää et al. 2011, "Finding a kneedle in a
    haystack"); of equals the fairer one is taken.
    """
    front = pareto(points, utility, fairness, part)
    loss = _scaled([point.cost(utility, part) for point in front])
    unfair = _scaled([point.cost(fairness, part) for point in front])
    order = sorted(range(len(front)), key=lambda k: (round(loss[k] + unfair[k], 12), unfair[k]))
    return front[order[0]]


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [0.0 if high == low else (value - low) / (high - low) for value in values]


def _dominates(other: tuple[float, float], own: tuple[float, float]) -> bool:
    return other[0] <= own[0] and other[1] <= own[1] and other != own


def _words(limits: Mapping[str, float | None], utility: str, fairness: str) -> str:
    effect, loss = limits["max_direct_effect"], limits["max_accuracy_loss"]
    enough = f"at most {loss:g} of {utility} lost" if loss is not None else ""
    if effect is None:
        return f"smallest |{fairness}| with {enough}"
    fair = f"smallest strength with |{fairness}| ≤ {effect:g}"
    return f"{fair} and {enough}" if enough else fair
