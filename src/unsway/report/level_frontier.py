"""The report of a frontier of three levels or more: every strength on one page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..auditing.numbers import number, points
from ..auditing.verdict import Decision
from ..effects import Estimate
from ..sweeps import Frontier, Point
from ..sweeps.level_judge import decide_worst
from .data_sections import closing_sections, sign_off
from .html import Check, Checks, Figure, Headline, KeyNumber, Page, Section, Table, Text
from .level_report import draw_levels
from .words import count, distinct, estimate, percent, shown


def level_frontier_page(
    frontier: Frontier,
    choice: Any,
    roles: dict[str, Any],
    *,
    title: str | None = None,
    owner: str | None = None,
    favourable: str | None = None,
    margin: float,
) -> Page:
    """Return the report of a frontier whose effects are told by level."""
    parts = [part for part in ("test", "validation") if "levels" in frontier.parts.get(part, {})]
    part, fitted = parts[0], [point for point in frontier.points if not point.error]
    levels = tuple(frontier.parts[part]["levels"])
    point = fitted[0] if choice is None else choice.point
    about = {
        "margin": margin,
        "scored": str(roles.get("positive") or "1"),
        "favourable": favourable or "",
    }
    worst, decision = decide_worst(point, part, levels, roles.get("sensitive"), **about)
    estimator = frontier.fingerprint.get("estimator", {}).get("class")
    heading = f"What fairness costs: {shown(estimator)}" if estimator else "What fairness costs"
    return Page(
        kicker="Fairness frontier",
        title=shown(title, 200) if title else heading,
        lead=f"{len(fitted)} strengths from {fitted[0].strength:g} to {fitted[-1].strength:g}, "
        f"judged on {count(point.value('rows', part))} {part} rows",
        headline=Headline(
            decision.level,
            decision.headline,
            " ".join(decision.sentences),
            " ".join(decision.next_steps),
        ),
        numbers=_numbers(point, fitted[0], part, worst),
        about=_about(roles, levels, point, choice, owner),
        sections=[
            _strengths(frontier, fitted, part, levels),
            _levels(point, part, levels),
            _basis(frontier, worst, decision),
            *closing_sections("What the sweep was made of.", dict(_settings(frontier, choice))),
            sign_off(owner),
        ],
    )


def _about(
    roles: dict[str, Any], levels: tuple[str, ...], point: Point, choice: Any, owner: str | None
) -> dict[str, str]:
    """Return what was judged."""
    name = shown(roles.get("sensitive") or "z")
    return {
        "target": shown(roles.get("target") or "y"),
        "sensitive": f"{name}: {len(levels)} levels, against {shown(levels[0])}",
        "strength": f"{point.strength:g}" + ("" if choice is None else " (chosen)"),
        **({"owner": shown(owner, 200)} if owner else {}),
    }


def _basis(frontier: Frontier, worst: str, decision: Decision) -> Section:
    """Show what the decision rests on."""
    heading = f"What the decision on {shown(worst)} rests on"
    checks = Checks(heading, [Check("unknown", line) for line in decision.basis])
    return Section("basis", "Can these data tell?", "", [checks, *_notes(frontier)])


def _interval(point: Point, measure: str, part: str) -> dict[str, float]:
    ends = {"estimate": "", "low": "_low", "high": "_high"}
    return {end: point.value(f"{measure}{suffix}", part) for end, suffix in ends.items()}


def _numbers(point: Point, plain: Point, part: str, worst: str) -> list[KeyNumber]:
    left = "direct_effect_left"
    reference = f"{points(plain.value(left, part))} at strength {plain.strength:g}"
    share, direct = f"pass_through[{worst}]", f"direct_effect[{worst}]"
    return [
        KeyNumber("Spread of the direct effect left", points(point.value(left, part)), reference),
        KeyNumber(
            f"Direct effect of {shown(worst)}, points",
            points(point.value(direct, part)),
            f"{points(plain.value(direct, part))} at strength {plain.strength:g}",
        ),
        KeyNumber(
            f"Pass-through of {shown(worst)}",
            percent(point.value(share, part), 0),
            f"{percent(plain.value(share, part), 0)} at strength {plain.strength:g}",
        ),
        KeyNumber(
            "Accuracy",
            percent(point.value("accuracy", part)),
            f"{percent(plain.value('accuracy', part))} at strength {plain.strength:g}",
        ),
    ]


def _strengths(
    frontier: Frontier, fitted: list[Point], part: str, levels: tuple[str, ...]
) -> Section:
    """Show what every strength leaves, and what it costs."""
    strengths = [f"strength {point.strength:g}" for point in fitted]
    figure = _figure(
        "Spread of the direct effect left at every strength, in points",
        strengths,
        [_interval(point, "direct_effect_left", part) for point in fitted],
    )
    names = dict(zip(levels, distinct(levels), strict=True))
    columns = (
        "strength",
        "spread, points",
        *(f"{names[level]}, points" for level in levels[1:]),
        "largest pass-through",
        "accuracy",
        "AUC",
    )
    rows = [
        (
            f"{point.strength:g}",
            estimate(_interval(point, "direct_effect_left", part)),
            *(points(point.value(f"direct_effect[{level}]", part)) for level in levels[1:]),
            percent(point.value("pass_through", part), 0),
            percent(point.value("accuracy", part)),
            number(point.value("auc", part)),
        )
        for point in fitted
    ]
    lead = (
        "The spread is the largest difference between two levels of the direct effect left. Each "
        "level is compared with the reference beyond what the covariates and the sharpness of the "
        "scores explain."
    )
    table = Table(f"Every strength on the {part} rows", columns, rows)
    return Section("tradeoff", "What fairness costs", lead, [figure, table])


def _levels(point: Point, part: str, levels: tuple[str, ...]) -> Section:
    """Show what the scores of one strength hold by level."""
    rows = [
        (
            name,
            estimate(_interval(point, f"direct_effect[{level}]", part)),
            estimate(
                _interval(point, f"pass_through[{level}]", part), lambda value: percent(value, 0)
            ),
        )
        for level, name in zip(levels[1:], distinct(levels)[1:], strict=True)
    ]
    names = distinct(levels)[1:]
    ends = [_interval(point, f"direct_effect[{level}]", part) for level in levels[1:]]
    figure = _figure("Direct effect in the scores of each level, in points", names, ends)
    lead = "The intervals hold for all levels at once."
    columns = ("level", "direct effect, points", "pass-through")
    table = Table(f"Each level against {shown(levels[0])}", columns, rows)
    return Section("levels", f"Each level at strength {point.strength:g}", lead, [figure, table])


def _figure(caption: str, names: list[str], intervals: list[dict[str, float]]) -> Figure:
    """Return estimates with their intervals as a picture, one below the other."""
    told = zip(names, intervals, strict=True)
    text = "; ".join(f"{name} {points(each['estimate'])}" for name, each in told)
    estimates = [
        Estimate(each["estimate"], float("nan"), each["low"], each["high"]) for each in intervals
    ]
    return Figure(f"{caption}.", f"Points: {text}.", draw_levels(names, estimates))


def _notes(frontier: Frontier) -> Iterator[Text]:
    notes = [
        *frontier.notes,
        *(f"Strength {p.strength:g} failed: {p.error}" for p in frontier.points if p.error),
        "Overlap and balance are not part of a sweep: audit the chosen model for them.",
    ]
    yield Text("", notes)


def _settings(frontier: Frontier, choice: Any) -> Iterator[tuple[str, Any]]:
    if choice is not None:
        yield "chosen by", choice.rule
    for name, about in frontier.parts.items():
        yield f"{name} rows", count(about.get("rows"))
    made = frontier.fingerprint
    for name, value in {**made.get("estimator", {}), **made.get("settings", {})}.items():
        yield "estimator" if name == "class" else str(name).replace("_", " "), value
    for name, value in made.get("versions", {}).items():
        yield f"version of {name}", value
