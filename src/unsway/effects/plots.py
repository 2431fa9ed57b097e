"""Figures of effects and their diagnostics; they draw what results hold and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats
from ..colours import AMBER, BLACK, BLUE, GREEN, GROUPS, PURPLE, SKY, VERMILION
from ..extras import load

if TYPE_CHECKING:
    from .balance import Balance
    from .curve import EffectCurve
    from .estimate import Estimate
    from .overlap import Overlap

#: One per weighting; the raw one comes first.
_COLOURS = (VERMILION, BLUE, GREEN, PURPLE, AMBER, SKY, BLACK)
_MARKERS = ("o", "D", "s", "^", "v", "P", "X")
#: Names longer than this are cut in the middle, both ends kept.
_LONGEST_NAME = 38


def plot_balance(
    balance: Balance,
    ax: Any = None,
    *,
    weightings: Sequence[str] | None = None,
    max_lines: int = 60,
) -> Any:
    """Draw a love plot: absolute standardised differences by column, a mark per weighting.

    Parameters
    ----------
    balance : Balance
    ax : matplotlib Axes, optional
        Where to draw; a figure as tall as the columns need by default.
    weightings : sequence of str, optional
        Those to draw; by default the raw one, overlap weights and a user's own.
    max_lines : int
        Only the lines that differ most are drawn where there are more; the title says so.

    Returns
    -------
    Axes
    """
    chosen = weightings
    if chosen is None:
        chosen = [name for name in balance.weightings if name not in ("ATE", "ATT", "ATC")]
    if not chosen or max_lines < 1:
        raise ValueError("at least one weighting and one line are needed; there is nothing to draw")
    sizes = np.abs(balance.differences[:, [balance.position(name) for name in chosen]])
    lines = _largest(sizes, max_lines)
    ax = _axes(ax, 1.3 + 0.21 * len(lines))
    _draw_differences(ax, sizes[lines], chosen)
    labels = [_label(balance.names[line]) for line in lines]
    ax.set_yticks(range(len(lines)), labels, fontsize=8)
    ax.set_ylim(-0.7, len(lines) - 0.3)
    part = f", {len(lines)} of {len(balance.names)}" if len(lines) < len(balance.names) else ""
    _finish(ax, f"Balance{part}", "absolute standardised mean difference (dotted: 0.1)")
    legend = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.1}
    ax.legend(frameon=False, fontsize=8, ncols=min(len(chosen), 5), handletextpad=0.1, **legend)
    return ax


def _draw_differences(ax: Any, sizes: Floats, chosen: Sequence[str]) -> None:
    """Draw one mark per line and weighting; infinite ones are at the edge."""
    finite = sizes[np.isfinite(sizes)]
    edge = 1.08 * max(finite.max(initial=0), 0.2)
    places = np.arange(len(sizes))
    ax.hlines(places, 0, edge, color="0.93", linewidth=0.7, zorder=0)
    ax.axvline(0.1, color="0.5", linewidth=0.9, linestyle=":", zorder=1)
    for name, column, marker, colour in zip(
        chosen, sizes.T, cycle(_MARKERS), cycle(_COLOURS), strict=False
    ):
        style = {"marker": marker, "color": colour, "clip_on": False, "zorder": 3}
        ax.scatter(np.minimum(column, edge), places, s=20, label=escape(name), **style)
    for place in places[np.isinf(sizes).any(axis=1)]:
        ax.annotate("∞", (edge, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_xlim(0, edge)


def _largest(sizes: Floats, max_lines: int) -> list[int]:
    """Return the known lines that differ most, in the order of their first weighting."""
    peak = np.nanmax(np.where(np.isnan(sizes), -1, sizes), axis=1)
    known = np.flatnonzero(peak >= 0)
    if len(known) == 0:
        raise ValueError("no column is known in both groups; there is nothing to draw")
    kept = known[np.argsort(-peak[known], kind="stable")[:max_lines]]
    return [int(line) for line in kept[np.argsort(sizes[kept, 0], kind="stable")]]


def plot_overlap(overlap: Overlap, ax: Any = None) -> Any:
    """Draw the groups' histograms of the propensity, z=1 upwards and z=0 downwards.

    Parameters
    ----------
    overlap : Overlap
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    ax = _axes(ax, 3.4)
    edges = overlap.bin_edges
    style = {"align": "edge", "edgecolor": "white", "linewidth": 0.5}
    # A group is rare at the other's end, where its name is in nobody's way.
    for value, sign, x, side in ((1, 1, 0.07, "left"), (0, -1, 0.93, "right")):
        colour = GROUPS[value]
        ax.bar(edges[:-1], sign * overlap.densities[value], np.diff(edges), color=colour, **style)
        name = _group(value, overlap.levels[value])
        place = {"transform": ax.transAxes, "ha": side, "va": "top" if sign > 0 else "bottom"}
        ax.text(x, 0.5 + 0.46 * sign, name, color=colour, fontsize=9, **place)
    for bound in (overlap.low, overlap.high):
        ax.axvline(bound, color="0.4", linewidth=0.9, linestyle=":")
    ax.axhline(0, color="0.2", linewidth=0.8)
    top = 1.05 * float(overlap.densities.max())
    ax.set_ylim(-top, top)
    ax.set_xlim(0, 1)
    ax.yaxis.set_major_formatter(lambda height, _: f"{abs(height):g}")
    title = f"{overlap.share_outside:.0%} outside [{overlap.low:g}, {overlap.high:g}]"
    _finish(ax, f"Overlap: {title}, AUC {overlap.auc:.3f}", "propensity score b", "density")
    return ax


def plot_forest(
    estimates: Mapping[str, Estimate], ax: Any = None, *, title: str | None = None
) -> Any:
    """Draw estimates with their intervals, one below the other, numbers at the right.

    Parameters
    ----------
    estimates : mapping of names to Estimate
        From the top down.
    ax : matplotlib Axes, optional
    title : str, optional

    Returns
    -------
    Axes
    """
    if not estimates:
        raise ValueError("estimates is empty; there is nothing to draw")
    ax = _axes(ax, 1.1 + 0.32 * len(estimates))
    ax.axvline(0, color="0.4", linewidth=0.9)
    for place, each in enumerate(estimates.values()):
        ax.plot(
            [each.low, each.high], [place, place], color=BLUE, linewidth=1.6, solid_capstyle="butt"
        )
        ax.plot(each.estimate, place, "o", color=BLUE, markersize=5)
        ax.annotate(
            f"{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]".replace("-", "−"),
            (1, place),
            (8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.set_yticks(range(len(estimates)), [_label(name) for name in estimates], fontsize=9)
    ax.set_ylim(len(estimates) - 0.4, -0.6)
    ax.margins(x=0.06)
    _finish(ax, title, "z=1 minus z=0")
    return ax


def plot_curve(
    curve: EffectCurve, ax: Any = None, *, scores: Floats | None = None, title: str | None = None
) -> Any:
    """Draw an effect along the propensity with its pointwise and its simultaneous band.

    Parameters
    ----------
    curve : EffectCurve
    ax : matplotlib Axes, optional
    scores : array, optional
        Propensities of the rows: a small histogram at the foot shows where they are.
    title : str, optional

    Returns
    -------
    Axes
    """
    ax = _axes(ax, 3.6)
    order = np.argsort(curve.b)
    b = curve.b[order]
    for low, high, alpha, label in (
        (curve.band_low, curve.band_high, 0.15, "simultaneous band"),
        (curve.low, curve.high, 0.3, "pointwise interval"),
    ):
        style = {"color": BLUE, "alpha": alpha, "linewidth": 0, "label": label}
        ax.fill_between(b, low[order], high[order], **style)
    dots = {"marker": "o", "markersize": 3} if len(b) <= 30 else {}  # a lone point has no line
    ax.plot(b, curve.estimate[order], color=BLUE, linewidth=1.6, label="effect", **dots)
    ax.axhline(0, color="0.4", linewidth=0.9)
    if scores is not None:
        _rug(ax, np.asarray(scores, dtype=np.float64))
    ax.set_xlim(0, 1)
    title = "Direct effect along the propensity" if title is None else title
    _finish(ax, title, "propensity score b", "direct effect")
    ax.legend(frameon=False, fontsize=8)
    return ax


def escape(text: str) -> str:
    r"""Return a text matplotlib draws as it stands: a pair of $ would be read as mathematics.

    Examples
    --------
    >>> print(escape("pay_$ to $"))
    pay_\$ to \$
    """
    return text.replace("$", r"\$")


def _label(name: Any) -> str:
    """Return a name short enough for an axis, without line breaks."""
    name = " ".join(str(name).split())
    if len(name) > _LONGEST_NAME:
        tail = _LONGEST_NAME // 2
        name = f"{name[: _LONGEST_NAME - tail - 1]}…{name[-tail:]}"
    return escape(name)


def _group(value: int, level: Any) -> str:
    """Return "z=1 (Male)", or "z=1" where the level says no more."""
    plain = str(level) in (str(value), str(float(value)))
    return f"z={value}" if plain else f"z={value} ({_label(level)})"


def _rug(ax: Any, scores: Floats) -> None:
    """Draw a histogram of the propensities in the lowest eighth of the Axes."""
    heights, edges = np.histogram(scores, np.linspace(0, 1, 41))
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.16 * (high - low), high)
    shares = 0.12 * heights / max(heights.max(), 1)
    style = {"align": "edge", "color": "0.75", "linewidth": 0, "zorder": 0}
    ax.bar(edges[:-1], shares, np.diff(edges), transform=ax.get_xaxis_transform(), **style)


def _axes(ax: Any, height: float) -> Any:
    """Return the Axes given, or those of a new figure of this height."""
    if ax is None:
        pyplot = load("matplotlib.pyplot", "plot")
        _, ax = pyplot.subplots(figsize=(6.4, height), layout="constrained")
    return ax


def _finish(ax: Any, title: str | None, xlabel: str, ylabel: str | None = None) -> None:
    """Name the figure and its axes; without a name of the y axis, hide its edge and ticks."""
    if title is not None:
        ax.set_title(escape(title), fontsize=10, loc="left")
    ax.set_xlabel(xlabel, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    if ylabel is not None:
        ax.set_ylabel(ylabel, fontsize=9)
    else:
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0, pad=6)
