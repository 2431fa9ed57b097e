"""The paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from ..colours import BLUE, CYCLE, GREEN, PURPLE, VERMILION
from ..extras import load
from .story import Story
from .synthetic import Point, SyntheticExperiment
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
    pyplot = load("matplotlib.pyplot", "plot")
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
    for axis, measure, title in (
        (axes[0, 0], "accuracy", "Accuracy on fresh rows"),
        (axes[0, 1], "spd", "Statistical parity difference"),
    ):
        for criterion, name in TITLES.items():
            _line(axis, experiment, criterion, measure, name, COLOURS[criterion])
        _finish(axis, title)
    for axis, (criterion, name) in zip(axes[1], TITLES.items(), strict=True):
        for role in ("safe", "indirect", "proxy"):
            _line(axis, experiment, criterion, role, role, COLOURS[role])
        for role in ("safe", "proxy"):
            axis.axhline(experiment.oracle[role], color="0.6", linewidth=0.8, linestyle=":")
        axis.set_xlabel("strength λ")
        _finish(axis, f"Mean coefficients, {name}")
    limits = [axis.get_ylim() for axis in axes[1]]
    for axis in axes[1]:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    return figure


def plot_story(story: Story) -> Any:
    """Draw each model's score gap beside the fair one, and its coefficients; return the Figure."""
    pyplot = load("matplotlib.pyplot", "plot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = [chapter.model for chapter in story.chapters]
    left.bar(names, [chapter.gap for chapter in story.chapters], width=0.55, color=BLUE)
    left.axhline(story.effects.explained, color=VERMILION, linewidth=1.4, label="fair gap")
    _finish(left, "Gap in mean score, z=1 minus z=0")
    for shift, role in enumerate(("safe", "indirect", "proxy")):
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
    pyplot = load("matplotlib.pyplot", "plot")
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
    lines = experiment.lines()
    for axis, quantity, title in (
        (axes[0, 0], measure, f"{measure.capitalize()} on test rows"),
        (axes[0, 1], "spd", "Statistical parity difference"),
    ):
        for colour, (engine, setting) in zip(CYCLE, lines, strict=False):
            points = experiment.of(engine, setting)
            values = [getattr(point, quantity) for point in points]
            _draw(axis, points, values, f"{engine}, {setting}", colour)
        _finish(axis, title)
    for axis, line in zip(axes[1], _two_lines(lines), strict=True):
        if line is None:
            axis.set_visible(False)
            continue
        points = experiment.of(*line)
        for colour, (label, values) in zip(CYCLE, _coefficients(points).items(), strict=False):
            _draw(axis, points, values, label, colour)
        axis.axhline(points[0].gamma[1], color="0.4", linewidth=1, linestyle=":", label="γ₁")
        axis.axhline(0, color="0.6", linewidth=0.8)
        axis.set_xlabel("strength λ")
        _finish(axis, f"Surrogate coefficients, {line[0]}, {line[1]}")
    return figure


def _two_lines(lines: tuple[tuple[str, str], ...]) -> list[tuple[str, str] | None]:
    """Return two lines whose coefficients to show, those of the paper's setting first."""
    ordered = sorted(lines, key=lambda line: not line[1].startswith("paper"))
    return [*ordered[:2], *[None] * (2 - len(ordered[:2]))]


def _coefficients(points: tuple[TabularPoint, ...]) -> dict[str, list[float]]:
    named: dict[str, list[float]] = {}
    for letter, coefficients in (("α", "alpha"), ("β", "beta")):
        for k in range(letter == "α", len(getattr(points[0], coefficients))):
            named[f"{letter}{'₀₁₂₃'[k]}"] = [getattr(point, coefficients)[k] for point in points]
    return named


def _draw(
    axis: Any, points: Sequence[Point | TabularPoint], values: list[float], label: str, colour: str
) -> None:
    strengths = [point.strength for point in points]
    style = {"marker": "o", "markersize": 2.5, "linewidth": 1.4}
    axis.plot(strengths, values, color=colour, label=label, **style)


def to_bytes(figure: Any, kind: str) -> bytes:
    """Return a figure as ``"svg"`` or ``"png"``, the same bytes for the same figure."""
    pyplot = load("matplotlib.pyplot", "plot")
    buffer = BytesIO()
    with pyplot.rc_context({"svg.hashsalt": "unsway"}):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    pyplot.close(figure)
    return buffer.getvalue()


def _line(
    axis: Any,
    experiment: SyntheticExperiment,
    criterion: str,
    measure: str,
    label: str,
    colour: str,
) -> None:
    points = experiment.of(criterion)
    _draw(axis, points, [getattr(point, measure) for point in points], label, colour)


def _finish(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
