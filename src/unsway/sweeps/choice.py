"""Rules that choose a strength: they read the measures of points and decide nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Floats, Index
from .measures import Point

#: Differences between strengths, by the strength as text.
Paired = Mapping[str, Mapping[str, Any]]

#: A limit is kept if it is missed by no more than this.
ROUNDING = 1e-12

#: The loss of labels and that of numbers, with the forms of a difference and of its error.
_LOSSES = {"log_loss": ("+.4f", ".4f"), "deviance": ("+.4g", ".2g")}

#: Chance that any strength takes the place of the default by noise alone.
ERROR = 0.05


def nearer_to_fair(
    points: Sequence[Point], facts: Mapping[str, Any], part: str
) -> tuple[Point, str]:
    """Return the default strength, or one that is shown to be nearer to fair, and the reason.

    A strength takes the place of the default if its pass-through is nearer to 0 by more than
    chance: paired on the same rows, with errors of 5% over all strengths together. Of several the
    one nearest to 0 is taken. The reason gives what the choice costs, the difference of its
    log-loss, or of numbers its deviance, to those of the smallest and the largest strength.

    Parameters
    ----------
    points : sequence of Point
        Those that were fitted.
    facts : mapping
        Of the part: "default_strength", and "paired", the differences of each strength to others
        on the same rows.
    part : str
        The rows to choose by.
    """
    default, paired = facts.get("default_strength"), facts.get("paired", {})
    stated = max(point.strength for point in points) if default is None else default
    usual = min(points, key=lambda point: abs(point.strength - stated))
    name = f"the default strength {usual.strength:g}"
    if default is None or usual.strength != stated:
        name = f"strength {usual.strength:g}, the nearest to the default"
    own = usual.value("pass_through", part)
    if np.isnan(own):
        return usual, f"{name}; these rows do not tell what share of the direct effect is passed on"
    better = list(_better(points, usual, paired, part))
    if not better:
        return usual, (
            f"{name}; no other strength has a pass-through nearer to 0 by more than chance"
            f"{_cost(usual, paired)}"
        )
    point = min(better, key=lambda each: abs(each.value("pass_through", part)))
    return point, (
        f"pass-through nearer to 0 than at {name} by more than chance: "
        f"{point.value('pass_through', part):.2f} against {own:.2f}{_cost(point, paired)}"
    )


def _better(points: Sequence[Point], usual: Point, paired: Paired, part: str) -> Iterator[Point]:
    others = [point for point in points if point is not usual]
    sure = float(stats.norm.ppf(1 - ERROR / max(1, len(others))))
    for point in others:
        se = _difference(point, paired, "pass_through_minus_default_se")
        gain = abs(usual.value("pass_through", part)) - abs(point.value("pass_through", part))
        if gain > sure * se:
            yield point


def _difference(point: Point, paired: Paired, name: str) -> float:
    value = paired.get(repr(float(point.strength)), {}).get(name)
    return math.nan if value is None else float(value)


def _cost(point: Point, paired: Paired) -> str:
    """Return how the loss differs from those of the smallest and the largest strength."""
    for loss, (form, error) in _LOSSES.items():
        texts = []
        for name, called in (("blind", "smallest"), ("full", "largest")):
            value, se = (
                _difference(point, paired, f"{loss}_minus_{name}{end}") for end in ("", "_se")
            )
            if not math.isnan(value) and se:
                texts.append(f"{value:{form}} ± {se:{error}} to the {called} strength")
        if texts:
            return f"; {loss.replace('_', '-')} {', '.join(texts)}"
    return ""


def costs(points: Sequence[Point], measures: Sequence[str], part: str) -> Floats:
    """Return what each point costs, a column per measure."""
    return np.array([[point.cost(measure, part) for measure in measures] for point in points])


def front(costs: Floats) -> Index:
    """Return the positions of the costs that no others beat in both columns."""
    beaten = [np.any((costs <= own).all(axis=1) & (costs < own).any(axis=1)) for own in costs]
    return np.flatnonzero(~np.array(beaten))


def knee(costs: Floats) -> int:
    """Return the position on the Pareto front that is farthest from the line between its ends.

    Both measures are scaled to [0, 1] over the front (Satopää et al. 2011, "Finding a kneedle in a
    haystack"); of equals the fairer one is taken.
    """
    best = front(costs)
    low, high = costs[best].min(axis=0), costs[best].max(axis=0)
    scaled = (costs[best] - low) / np.where(high > low, high - low, 1.0)
    order = np.lexsort([scaled[:, 1], scaled.sum(axis=1).round(12)])  # the last is first
    return int(best[order[0]])


def within(costs: Floats, effect: float | None, loss: float | None) -> int:
    """Return the smallest strength fair enough, or the fairest one that is accurate enough."""
    allowed = np.full(len(costs), True)
    if loss is not None:
        allowed = costs[:, 0] <= costs[0, 0] + loss + ROUNDING
    unfair = np.where(allowed, costs[:, 1], np.inf)
    fair = unfair <= (-np.inf if effect is None else effect + ROUNDING)
    return int(np.argmax(fair) if fair.any() else np.argmin(unfair))


def rule_of(effect: float | None, loss: float | None, utility: str, fairness: str) -> str:
    """Return limits as a rule."""
    if effect is None:
        return f"smallest |{fairness}|{lost(loss, utility, 'with')}"
    return f"smallest strength with |{fairness}| ≤ {effect:g}{lost(loss, utility, 'and')}"


def lost(loss: float | None, utility: str, word: str) -> str:
    """Return a limit of accuracy as the end of a rule."""
    return "" if loss is None else f" {word} at most {loss:g} of {utility} lost"
