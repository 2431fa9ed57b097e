"""Pictures of a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..colours import BLACK, BLUE, GREY, VERMILION
from ..extras import load
from .measures import usable_points

if TYPE_CHECKING:
    from .result import Choice, Frontier

#: A colour and a marker for each part, so that the parts differ without colour too.
_LOOKS = {
    "train": (GREY, "s"),
    "validation": (BLUE, "o"),
    "test": (VERMILION, "^"),
}


def plot_frontier(
    frontier: Frontier,
    ax: Any = None,
    *,
    x: str = "accuracy",
    y: str = "direct_effect_left",
    choice: Choice | None = None,
) -> Any:
    """Draw y against x on validation and test rows, joined by strength; return the Axes.

    Bars are the intervals of x and y where they have them. The ends are labelled with their
    strengths.
    """
    pyplot = load("matplotlib.pyplot", "plot")
    ax = pyplot.figure(layout="constrained").subplots() if ax is None else ax
    parts = [name for name in frontier.part_names if name != "train"]
    known = [name for name in parts if _is_known(frontier, name, x, y)]
    for part in known or parts:
        _draw_part(ax, frontier, part, x, y)
    if choice is not None:
        figures = choice.point.parts[choice.part]
        ax.scatter(
            [figures[x]], [figures[y]], s=160, facecolors="none", edgecolors=BLACK, zorder=4,
            label=f"chosen, λ = {choice.strength:g}",
        )  # fmt: skip
    if y in ("direct_effect_left", "score_gap", "selection_rate_difference"):
        ax.axhline(0, color="0.5", linewidth=0.8, zorder=0)
    ax.set_xlabel(_name(x))
    ax.set_ylabel(_name(y))
    ax.legend(frameon=False)
    return ax


def _is_known(frontier: Frontier, part: str, *measures: str) -> bool:
    """Return whether some strength has these measures on a part of the rows."""
    return any(
        all(np.isfinite(point.value(name, part)) for name in measures) for point in frontier.points
    )


def _draw_part(ax: Any, frontier: Frontier, part: str, x: str, y: str) -> None:
    points = usable_points(frontier.points, (x, y), part)
    colour, marker = _LOOKS.get(part, (BLACK, "x"))
    across, up = (np.array([point.value(name, part) for point in points]) for name in (x, y))
    ax.plot(across, up, color=colour, marker=marker, markersize=4, linewidth=1.2, label=part)
    for name, axis in ((x, "xerr"), (y, "yerr")):
        ends = [[point.value(f"{name}_{end}", part) for point in points] for end in ("low", "high")]
        if not np.isnan(ends).any():
            middle = across if axis == "xerr" else up
            lengths = np.abs(np.array(ends) - middle)
            style = {"fmt": "none", "ecolor": colour, "alpha": 0.25, "linewidth": 1}
            ax.errorbar(across, up, **{axis: lengths}, **style)
    for k in dict.fromkeys((0, len(points) - 1)):
        ax.annotate(
            f"λ = {points[k].strength:g}", (across[k], up[k]), xytext=(6, 6),
            textcoords="offset points", fontsize=8, color=colour,
        )  # fmt: skip


def _name(measure: str) -> str:
    return {"auc": "AUC", "log_loss": "log-loss"}.get(measure, measure.replace("_", " "))


def plot_alternatives(found: Any, ax: Any = None) -> Any:
    """Draw utility against the axis on validation rows, a point per candidate.

    Parameters
    ----------
    found : Alternatives
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes
    """
    pyplot = load("matplotlib.pyplot", "plot")
    ax = pyplot.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax
    axis, utility = found.settings["axis"], found.settings["utility"]

    def points(candidates: Any) -> tuple[list[float], list[float]]:
        known = [each for each in candidates if not each.error]
        return [each.value(utility) for each in known], [each.value(axis) for each in known]

    ax.plot(*points(found.candidates), "o", color=GREY, alpha=0.5, label="candidates")
    ax.plot(*points(found.front), "-", color=GREY, linewidth=1, label="frontier")
    ax.plot(*points(found.finalists), "D", color=BLUE, label="finalists")
    ax.plot(*points([found.champion]), "s", color=VERMILION, label="champion")
    limit = found.champion.value(utility) - found.settings["max_utility_loss"]
    ax.axvline(limit, color="0.7", linewidth=1, linestyle="--")
    ax.set(xlabel=utility, ylabel=axis.replace("_", " "))
    ax.legend(frameon=False)
    return ax
