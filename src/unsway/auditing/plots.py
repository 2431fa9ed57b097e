"""Figures of an audit; they draw what its tables hold and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..colours import BLACK, GROUPS, LABELS, SCORES
from ..effects import Estimate
from ..effects.plots import escape
from ..extras import load
from .tables import short

if TYPE_CHECKING:
    from .audits import Audit
    from .causal import CausalAudit
    from .tables import Calibration

_COLOURS = dict(zip(("z=0", "z=1"), GROUPS, strict=True))
_MARKERS = {"z=0": "o", "z=1": "s"}


def plot_groups(found: Audit, ax: Any = None, *, metric: str = "selection_rate") -> Any:
    """Draw a metric of decisions in both groups by threshold; its table is ``audit.to_frame()``.

    Parameters
    ----------
    found : Audit
    ax : matplotlib Axes, optional
    metric : str
        "selection_rate", "accuracy", "precision", "recall" or "false_positive_rate".

    Returns
    -------
    Axes
    """
    ax = _axes(ax)
    drawn = False
    for place, level in zip(("z=0", "z=1"), found.levels, strict=True):
        entries = [
            (key.threshold, each)
            for key, each in found.metrics.entries.items()
            if key.metric == metric and key.group == place and key.threshold is not None
        ]
        if entries:
            drawn = True
            thresholds, bars = zip(*entries, strict=True)
            _draw_group(ax, thresholds, bars, place, level)
    if not drawn:
        raise ValueError(f"{metric!r} is no metric of decisions by group; try 'selection_rate'")
    ax.set(xlabel="threshold", ylabel=metric.replace("_", " "), xlim=(-0.02, 1.02))
    ax.legend(frameon=False)
    return ax


def plot_calibration(found: Calibration, ax: Any = None) -> Any:
    """Draw the share of positive labels against the mean score of each bin, in both groups.

    Its table is ``calibration.to_frame()``.
    """
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    for row, place, level in ((1, "z=0", found.levels[0]), (2, "z=1", found.levels[1])):
        keep = found.weight[row] > 0
        parts = zip(
            found.positive_share[row, keep], found.low[row, keep], found.high[row, keep],
            strict=True,
        )  # fmt: skip
        bars = [Estimate(share, 0.0, low, high) for share, low, high in parts]
        _draw_group(ax, found.mean_score[row, keep].tolist(), bars, place, level)
    ax.set(xlabel="mean score", ylabel="share of positive labels")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.legend(frameon=False)
    return ax


def plot_effects(found: CausalAudit, ax: Any = None) -> Any:
    """Draw the effects of z on labels and scores side by side; its table is ``causal.to_frame()``.

    The lowest line is the direct effect left.
    """
    ax = _axes(ax)
    names = list(found.labels.estimates())
    parts = {"labels": list(found.labels.estimates().values())}
    if found.scores is not None:
        parts["scores"] = list(found.scores.estimates().values())
    styles = {"labels": (LABELS, "o", -0.12), "scores": (SCORES, "s", 0.12)}
    for outcome, each in parts.items():
        colour, marker, shift = styles[outcome]
        _across(ax, each, np.arange(len(each)) + shift, colour, marker, f"on {outcome}")
    _across(ax, [found.direct_effect_left], np.array([len(names)]), BLACK, "D", None)
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.set_yticks(range(len(names) + 1), [*names, "direct effect left"])
    ax.invert_yaxis()
    ax.set_xlabel("effect, z=1 minus z=0")
    ax.legend(frameon=False)
    return ax


def plot_curves(found: CausalAudit, ax: Any = None) -> Any:
    """Draw the direct effect on labels and on scores along the propensity, with their bands.

    Its table is ``causal.curves``.
    """
    ax = _axes(ax)
    for outcome, curve, colour in (
        ("labels", found.label_curve, LABELS),
        ("scores", found.score_curve, SCORES),
    ):
        if curve is not None:
            ax.plot(curve.b, curve.estimate, color=colour, label=f"on {outcome}")
            ax.fill_between(curve.b, curve.band_low, curve.band_high, color=colour, alpha=0.2)
    if not ax.lines:
        raise ValueError("this audit has no curve; its notes say why")
    ax.axhline(0, color="0.7", linewidth=1, zorder=0)
    ax.set(xlabel="propensity of z=1", ylabel="direct effect, z=1 minus z=0")
    ax.legend(frameon=False)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    pyplot = load("matplotlib.pyplot", "plot")
    return pyplot.subplots(figsize=(6, 4), layout="constrained")[1]


def _draw_group(ax: Any, x: Any, bars: Sequence[Estimate], place: str, level: str) -> None:
    label = f"{escape(short(level))} ({place})"
    style = {"color": _COLOURS[place], "marker": _MARKERS[place], "capsize": 2, "label": label}
    ax.errorbar(x, [each.estimate for each in bars], yerr=_lengths(bars), **style)


def _across(ax: Any, bars: list[Estimate], y: Any, colour: str, marker: str, label: Any) -> None:
    style = {"color": colour, "marker": marker, "linestyle": "", "label": label}
    ax.errorbar([each.estimate for each in bars], y, xerr=_lengths(bars), **style)


def _lengths(bars: Sequence[Estimate]) -> Any:
    """Return how far each interval reaches on either side; 0 where it is not known."""
    pairs = [(each.estimate - each.low, each.high - each.estimate) for each in bars]
    return np.clip(np.nan_to_num(np.array(pairs).T), 0, None)
