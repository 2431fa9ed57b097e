"""The paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import zip_longest
from typing import Any

from ..colours import BLUE, CYCLE, GREEN, PURPLE, VERMILION
from ..extras import load
from .story import Story
from .synthetic import ROLES, SyntheticExperiment
from .tabular import TabularExperiment, TabularPoint

#: One per criterion or role.
COLOURS = {
    "direct_effect": BLUE,
    "parity": VERMILION,
    "safe": GREEN,
    "indirect": BLUE,
    "proxy": PURPLE,
}
TITLES = {"direct_effect": "direct effect", "parity": "parity"}


def plot_synthetic(experiment: SyntheticExperiment) -> Any:
    """Draw accuracy, SPD, and the coefficients by role for each criterion; return the Figure."""
    lines = {
        name: (experiment.of(criterion), COLOURS[criterion]) for criterion, name in TITLES.items()
    }
    figure, lower = _four_panels(lines, "accuracy", "Accuracy on fresh rows")
    lower[0].sharey(lower[1])
    for axis, (name, (points, _)) in zip(lower, lines.items(), strict=True):
        for role in ROLES:
            _line(axis, points, [getattr(point, role) for point in points], role, COLOURS[role])
        for role in ("safe", "proxy"):
            axis.axhline(experiment.oracle[role], color="0.6", linewidth=0.8, linestyle=":")
        _finish(axis, f"Mean coefficients, {name}")
    return figure


def plot_story(story: Story) -> Any:
    """Draw each model's score gap with the fair one, and its coefficients; return the Figure."""
    pyplot = load("matplotlib.pyplot", "plot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = [chapter.model for chapter in story.chapters]
    left.bar(names, [chapter.gap for chapter in story.chapters], width=0.55, color=BLUE)
    left.axhline(story.effects.explained, color=VERMILION, linewidth=1.4, label="fair gap")
    _finish(left, "Gap in mean score, z=1 minus z=0")
    for shift, role in enumerate(ROLES):
        places = [place + (shift - 1) * 0.26 for place in range(len(names))]
        values = [getattr(chapter, role) for chapter in story.chapters]
        right.bar(places, values, width=0.24, color=COLOURS[role], label=role)
    right.set_xticks(range(len(names)), names)
    right.axhline(0, color="0.3", linewidth=0.8)
    right.axhline(0.25, color="0.6", linewidth=0.8, linestyle=":")
    _finish(right, "Mean coefficients (truth .25, .25, 0)")
    return figure


def plot_tabular(experiment: TabularExperiment, measure: str) -> Any:
    """Draw accuracy or precision, SPD, and two models' surrogates; return the Figure."""
    lines = {
        ", ".join(line): (points, colour)
        for colour, (line, points) in zip(CYCLE, experiment.lines().items(), strict=False)
    }
    figure, lower = _four_panels(lines, measure, f"{measure.capitalize()} on test rows")
    papers_first = sorted(lines, key=lambda name: not lines[name][0][0].setting.startswith("paper"))
    for axis, name in zip_longest(lower, papers_first[:2]):
        if name is None:
            axis.set_visible(False)
            continue
        points, _ = lines[name]
        coefficients = [_coefficients(point) for point in points]
        for colour, label in zip(CYCLE, coefficients[0], strict=False):
            _line(axis, points, [each[label] for each in coefficients], label, colour)
        axis.axhline(points[0].gamma[1], color="0.4", linewidth=1, linestyle=":", label="γ₁")
        axis.axhline(0, color="0.6", linewidth=0.8)
        _finish(axis, f"Surrogate coefficients, {name}")
    return figure


def _four_panels(lines: Mapping[str, tuple[Any, str]], measure: str, title: str) -> tuple[Any, Any]:
    """Return a figure with a measure and the SPD drawn above, and the two axes below.

    `lines` holds points and colour by label.
    """
    pyplot = load("matplotlib.pyplot", "plot")
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
    panels = ((measure, title), ("spd", "Statistical parity difference"))
    for axis, (quantity, heading) in zip(axes[0], panels, strict=True):
        for label, (points, colour) in lines.items():
            _line(axis, points, [getattr(point, quantity) for point in points], label, colour)
        _finish(axis, heading)
    for axis in axes[1]:
        axis.set_xlabel("strength λ")
    return figure, axes[1]


def _coefficients(point: TabularPoint) -> dict[str, float]:
    """Return the surrogate coefficients by what they are called, without α₀."""
    named = {f"α{'₀₁₂₃'[k]}": value for k, value in enumerate(point.alpha) if k}
    return named | {f"β{'₀₁₂₃'[k]}": value for k, value in enumerate(point.beta)}


def to_bytes(figure: Any, kind: str) -> bytes:
    """Return a figure as ``"svg"`` or ``"png"``, the same bytes for the same figure."""
    pyplot = load("matplotlib.pyplot", "plot")
    buffer = BytesIO()
    with pyplot.rc_context({"svg.hashsalt": "unsway"}):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    pyplot.close(figure)
    return buffer.getvalue()


def _line(axis: Any, points: Sequence[Any], values: list[float], label: str, colour: str) -> None:
    strengths = [point.strength for point in points]
    style = {"marker": "o", "markersize": 2.5, "linewidth": 1.4}
    axis.plot(strengths, values, color=colour, label=label, **style)


def _finish(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
