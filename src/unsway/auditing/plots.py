"""Figures of an audit; they draw what its tables hold and compute nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats
from ..colours import BLACK, CYCLE, GROUPS, LABELS, SCORES
from ..effects import Estimate
from ..effects.plots import escape
from ..extras import load
from .impact_measures import FOUR_FIFTHS
from .metrics import PLACES
from .tables import short

if TYPE_CHECKING:
    from .audit_result import Audit
    from .causal import CausalAudit
    from .group_curves import GroupCurves
    from .impact import AdverseImpact
    from .number_tables import DecileTable, DoubleLift
    from .tables import Calibration

#: Colour and marker of each group.
_LOOKS = dict(zip(PLACES[1:], zip(GROUPS, "os", strict=True), strict=True))


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
    for place, level in zip(_LOOKS, found.levels, strict=True):
        entries = {
            key.threshold: each
            for key, each in found.metrics.entries.items()
            if key.metric == metric and key.group == place and key.threshold is not None
        }
        if not entries:
            raise ValueError(f"{metric!r} is no metric of decisions by group; try 'selection_rate'")
        _draw_group(ax, list(entries), _numbers(entries.values()), place, level)
    return _finish(ax, xlabel="threshold", ylabel=metric.replace("_", " "), xlim=(-0.02, 1.02))


def plot_impact(found: AdverseImpact, ax: Any = None) -> Any:
    """Draw the adverse impact ratio of each level against the share of people approved."""
    ax = _axes(ax)
    ax.axhline(1, color="0.7", linewidth=1, zorder=0)
    ax.axhline(FOUR_FIFTHS, color="0.7", linewidth=1, linestyle="--", zorder=0)
    shares = found.settings["rules"]
    for place, level in enumerate(each for each in found.levels if each != found.reference):
        known = [
            (shares[each.rule], each.value)
            for each in found.findings
            if each.level == level and each.measure == "adverse_impact_ratio" and not each.segment
        ]
        if known:
            known.sort(key=lambda pair: pair[0])
            x, values = zip(*known, strict=True)
            y = [each.estimate for each in values]
            colour = CYCLE[place % len(CYCLE)]
            ax.plot(x, y, marker="o", color=colour, label=escape(short(level)))
            ax.vlines(x, [v.low for v in values], [v.high for v in values], color=colour)
    return _finish(ax, xlabel="share approved", ylabel="adverse impact ratio", xlim=(0, 1))


def plot_group_curves(found: GroupCurves, ax: Any = None) -> Any:
    """Draw ROC or calibration curves of the groups, with the bands of the groups.

    Its table is ``found.to_frame()``.
    """
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    for place, (level, curve) in enumerate(found.curves.items()):
        overall = level == "overall"
        colour = BLACK if overall else CYCLE[(place - 1) % len(CYCLE)]
        ax.plot(curve["x"], curve["y"], color=colour, label=escape(short(level)))
        if not overall:
            ends = curve["band_low"], curve["band_high"]
            ax.fill_between(curve["x"], *ends, color=colour, alpha=0.15)
    names = {
        "roc": ("false positive rate", "true positive rate"),
        "calibration": ("mean score", "share of positive labels"),
    }
    xlabel, ylabel = names[found.kind]
    return _finish(ax, xlabel=xlabel, ylabel=ylabel)


def plot_calibration(found: Calibration, ax: Any = None) -> Any:
    """Draw the share of positive labels against the mean score of each bin, in both groups.

    Its table is ``calibration.to_frame()``.
    """
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    shares = np.stack([found.positive_share, found.low, found.high])
    for row, (place, level) in enumerate(zip(_LOOKS, found.levels, strict=True), start=1):
        keep = found.weight[row] > 0
        _draw_group(ax, found.mean_score[row, keep], shares[:, row, keep], place, level)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return _finish(ax, xlabel="mean score", ylabel="share of positive labels")


def plot_deciles(found: DecileTable, ax: Any = None) -> Any:
    """Draw the mean of the target by bin in both groups, and the mean prediction as a grey line.

    Its table is ``deciles.to_frame()``.
    """
    ax = _axes(ax)
    bins = np.arange(1, found.weight.shape[1] + 1)
    ax.plot(bins, found.mean_score[0], color="0.5", linewidth=1, label="mean prediction")
    means = np.stack([found.mean_outcome, found.low, found.high])
    for row, (place, level) in enumerate(zip(_LOOKS, found.levels, strict=True), start=1):
        keep = found.weight[row] > 0
        _draw_group(ax, bins[keep], means[:, row, keep], place, level)
    return _finish(ax, xlabel="bins of the predictions, lowest to highest", ylabel="mean")


def plot_double_lift(found: DoubleLift, ax: Any = None) -> Any:
    """Draw two models' mean predictions and the mean of the target by bin.

    Its table is ``double_lift.to_frame()``.
    """
    ax = _axes(ax)
    bins = np.arange(1, len(found.weight) + 1)
    numbers = np.stack([found.mean_outcome, found.low, found.high])
    ax.errorbar(bins, numbers[0], yerr=_lengths(numbers), color=BLACK, marker="o", label="actual")
    for name, means, colour in zip(
        found.names, (found.first, found.second), (LABELS, SCORES), strict=True
    ):
        ax.plot(bins, means, color=colour, marker="s", label=escape(short(name)))
    first, second = (escape(short(name)) for name in found.names)
    return _finish(ax, xlabel=f"bins by {second} over {first}, lowest to highest", ylabel="mean")


def plot_effects(found: CausalAudit, ax: Any = None) -> Any:
    """Draw the effects of z on labels and scores side by side; its table is ``causal.to_frame()``.

    The lowest line is the direct effect left.
    """
    ax = _axes(ax)
    names = list(found.labels.estimates())
    for effects, shift, colour, marker, label in (
        (found.labels, -0.12, LABELS, "o", "on labels"),
        (found.scores, 0.12, SCORES, "s", "on scores"),
    ):
        if effects is not None:
            y = np.arange(len(names)) + shift
            _across(ax, effects.estimates().values(), y, colour, marker, label)
    _across(ax, [found.direct_effect_left], np.array([len(names)]), BLACK, "D", None)
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.set_yticks(range(len(names) + 1), [*names, "direct effect left"])
    ax.invert_yaxis()
    return _finish(ax, xlabel="effect, z=1 minus z=0")


def plot_curves(found: CausalAudit, ax: Any = None) -> Any:
    """Draw the direct effect on labels and on scores along the propensity, with their bands.

    Its table is ``causal.curves``.
    """
    ax = _axes(ax)
    for curve, colour, label in (
        (found.label_curve, LABELS, "on labels"),
        (found.score_curve, SCORES, "on scores"),
    ):
        if curve is not None:
            ax.plot(curve.b, curve.estimate, color=colour, label=label)
            ax.fill_between(curve.b, curve.band_low, curve.band_high, color=colour, alpha=0.2)
    if not ax.lines:
        raise ValueError("this audit has no curve; its notes say why")
    ax.axhline(0, color="0.7", linewidth=1, zorder=0)
    return _finish(ax, xlabel="propensity of z=1", ylabel="direct effect, z=1 minus z=0")


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    pyplot = load("matplotlib.pyplot", "plot")
    return pyplot.subplots(figsize=(6, 4), layout="constrained")[1]


def _finish(ax: Any, **settings: Any) -> Any:
    """Name the axes, add a legend, and return the Axes."""
    ax.set(**settings)
    ax.legend(frameon=False)
    return ax


def _draw_group(ax: Any, x: Any, numbers: Floats, place: str, level: str) -> None:
    colour, marker = _LOOKS[place]
    style = {"color": colour, "marker": marker, "label": f"{escape(short(level))} ({place})"}
    ax.errorbar(x, numbers[0], yerr=_lengths(numbers), capsize=2, **style)


def _across(
    ax: Any, found: Iterable[Estimate], y: Any, colour: str, marker: str, label: str | None
) -> None:
    numbers = _numbers(found)
    style = {"color": colour, "marker": marker, "linestyle": "", "label": label}
    ax.errorbar(numbers[0], y, xerr=_lengths(numbers), **style)


def _numbers(found: Iterable[Estimate]) -> Floats:
    """Return the estimates, and the low and the high ends of their intervals."""
    return np.array([(each.estimate, each.low, each.high) for each in found]).T


def _lengths(numbers: Floats) -> Floats:
    """Return how far each interval reaches on either side; 0 where it is not known."""
    estimate, low, high = numbers
    return np.clip(np.nan_to_num([estimate - low, high - estimate]), 0, None)
