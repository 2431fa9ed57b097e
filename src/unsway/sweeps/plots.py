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

    Bars are the intervals of y where it has them. The ends are labelled with their strengths.
    """
    pyplot = load("matplotlib.pyplot", "plot")
    ax = pyplot.figure(layout="constrained").subplots() if ax is None else ax
    for part in [name for name in frontier.part_names if name != "train"]:
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


def _draw_part(ax: Any, frontier: Frontier, part: str, x: str, y: str) -> None:
    points = usable_points(frontier.points, (x, y), part)
    colour, marker = _LOOKS.get(part, (BLACK, "x"))
    across, up, low, high = (
        np.array([point.value(name, part) for point in points])
        for name in (x, y, f"{y}_low", f"{y}_high")
    )
    ax.plot(across, up, color=colour, marker=marker, markersize=4, linewidth=1.2, label=part)
    if not np.isnan([low, high]).any():
        lengths = [up - low, high - up]
        ax.errorbar(across, up, yerr=lengths, fmt="none", ecolor=colour, alpha=0.25, linewidth=1)
    for k in dict.fromkeys((0, len(points) - 1)):
        ax.annotate(
            f"λ = {points[k].strength:g}", (across[k], up[k]), xytext=(6, 6),
            textcoords="offset points", fontsize=8, color=colour,
        )  # fmt: skip


def _name(measure: str) -> str:
    return {"auc": "AUC", "log_loss": "log-loss"}.get(measure, measure.replace("_", " "))
