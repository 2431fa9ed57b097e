"""The picture of known_truth.py: every method's distance to the fair score, a panel per world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from methods import PEERS
from records import Record, ordered

matplotlib.use("Agg")
OURS_COLOUR, OTHER_COLOUR, PEER_COLOUR = "#0072B2", "#555555", "#D55E00"
#: Ratios beyond this are drawn at the edge with their number.
EDGE = 3.0
#: Most panels side by side.
ACROSS = 7


def draw_ratios(
    best: Mapping[str, Mapping[str, Sequence[Record]]], path: Path, *, highlighted: str
) -> None:
    """Draw ratio of RMSE to the floor by method and world, with two standard errors."""
    from matplotlib import pyplot

    methods = [m for m in ordered({m for found in best.values() for m in found}) if _drawn(m, best)]
    across = min(ACROSS, len(best))
    down = -(-len(best) // across)
    figure, axes = pyplot.subplots(
        down, across, figsize=(2 + 1.7 * across, 0.4 + down * (0.4 + 0.28 * len(methods))),
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis in axes.ravel()[len(best) :]:
        axis.set_visible(False)
    for axis, (world, found) in zip(axes.ravel(), best.items(), strict=False):
        for place, method in enumerate(methods):
            if method in found:
                _mark(axis, place, found[method], _colour(method, highlighted))
        axis.axvline(1, color="0.6", linewidth=0.8)
        axis.set_xlim(0.8, EDGE + 0.15)
        axis.set_title(world.replace("_", " "), fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
    axes[0, 0].set_yticks(range(len(methods)), methods)
    axes[0, 0].invert_yaxis()
    figure.supxlabel(
        "RMSE to the fair score over that of the same booster trained on labels drawn from it",
        fontsize=9,
    )
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _drawn(method: str, best: Mapping[str, Mapping[str, Sequence[Record]]]) -> bool:
    floor = method.startswith("floor")
    return not floor and any(
        "ratio" in found[method][0] for found in best.values() if method in found
    )


def _colour(method: str, highlighted: str) -> str:
    if method == highlighted:
        return OURS_COLOUR
    return PEER_COLOUR if method in PEERS else OTHER_COLOUR


def _mark(axis: Any, place: int, runs: Sequence[Record], colour: str) -> None:
    ratios = np.array([run["ratio"] for run in runs])
    mean = float(ratios.mean())
    if mean > EDGE:
        axis.text(
            EDGE + 0.1, place, f"{mean:.1f} ▸", ha="right", va="center", fontsize=7, color=colour
        )
        return
    error = 2 * ratios.std(ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
    axis.errorbar(mean, place, xerr=error, fmt="o", markersize=4, color=colour, linewidth=1.2)
