"""The report of an audit by the levels of a sensitive attribute with three or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ..auditing.level_audit import LevelAudit
from ..auditing.level_text import notes, rows_text
from ..auditing.numbers import number, points
from ..effects import Estimate
from .data_sections import sign_off
from .html import (
    Block,
    Check,
    Checks,
    Facts,
    Figure,
    Headline,
    KeyNumber,
    Page,
    Section,
    Table,
    Text,
)
from .words import count, distinct, estimate, percent, shown

#: The effects in a table, of the eight that are estimated.
_EFFECTS = ("total", "direct_everyone", "explained")


def level_page(audit: LevelAudit, title: str | None = None, owner: str | None = None) -> Page:
    """Return the report of one audit by levels."""
    name = shown(audit.sensitive_name or "Sensitive attribute")
    about = {str(key): shown(value, 300) for key, value in audit.about.items()}
    about["sensitive"] = f"{name}: {len(audit.levels)} levels, against {shown(audit.levels[0])}"
    about["scored label"] = shown(audit.classes[1])
    about["favourable"] = shown(audit.settings["favourable"] or "not stated")
    if owner:
        about["owner"] = shown(owner, 200)
    return Page(
        kicker="Fairness audit",
        title=shown(title, 200) if title else f"{name}: {len(audit.levels)} levels",
        lead=f"{count(audit.settings['rows'])} rows, compared with {shown(audit.levels[0])}",
        headline=_headline(audit),
        numbers=_numbers(audit),
        about=about,
        sections=[*_sections(audit), sign_off(owner)],
    )


def _headline(audit: LevelAudit) -> Headline:
    decision = audit.decision
    if decision is None:
        return Headline("unknown", "The direct effect was not judged", audit.verdict)
    return Headline(
        decision.level,
        decision.headline,
        " ".join(decision.sentences),
        " ".join(decision.next_steps),
    )


def _numbers(audit: LevelAudit) -> list[KeyNumber]:
    overall, records = audit.overall, audit.table.to_records()
    scores = [line["mean_score"] for line in records if line["mean_score"] is not None]
    numbers = []
    if audit.left is not None and audit.decision is not None:
        left, share = audit.left, audit.decision.pass_through
        detail = f"{shown(left.highest)} against {shown(left.lowest)}"
        value = f"{number(100 * left.spread.estimate, 1)} points"
        numbers.append(KeyNumber("Spread of the direct effect left", value, detail))
        if share is not None:
            blind = audit.decision.blind_pass_through
            told = "" if blind is None else f"; blind model: {percent(blind['estimate'], 0)}"
            value = percent(share["estimate"], 0)
            numbers.append(KeyNumber("Pass-through", value, f"{shown(audit.worst)}{told}"))
    gap = f"{number(100 * (max(scores) - min(scores)), 1)} points"
    return [
        *numbers,
        KeyNumber("Largest gap of mean scores", gap, ""),
        KeyNumber("Accuracy", percent(overall["accuracy"].estimate), "all rows"),
    ]


def _sections(audit: LevelAudit) -> Iterator[Section]:
    names = distinct(audit.levels)
    if audit.parts is not None:
        yield Section("direct", "The direct effect in the scores", _LEAD, _direct(audit, names))
    yield Section("levels", "Each level", _EACH, [_levels(audit, names), *_table_notes(audit)])
    if audit.effects is not None:
        lead = "What each level does to the labels, against the reference, in points."
        yield Section("effects", "Effects on the labels", lead, list(_effects(audit, names)))
    if audit.comparison is not None:
        yield Section("comparison", "Compared with the baseline", _PAIRED, [_compared(audit)])
    if audit.decision is not None:
        checks = [Check("unknown", line) for line in audit.decision.basis]
        heading = f"What the decision on {shown(audit.worst)} rests on"
        yield Section("basis", "Can these data tell?", "", [Checks(heading, checks)])
    facts = {name.replace("_", " "): str(value) for name, value in audit.settings.items()}
    yield Section("settings", "How it was made", "What was judged, and how.", [Facts(facts)])


_LEAD = (
    "How many points a level scores higher or lower than the reference beyond what the covariates "
    "and the sharpness of the scores explain, and the share of the labels' direct effect that is "
    "passed on. The intervals hold for all levels at once."
)
_EACH = "Labels, scores and decisions of each level, each with an interval of its own."
_PAIRED = "The model less the baseline on the same rows, with paired intervals."


def _direct(audit: LevelAudit, names: Sequence[str]) -> list[Block]:
    parts, blind, left = audit.parts, audit.blind, audit.left
    assert parts is not None and blind is not None and left is not None  # noqa: S101, PT018
    shown_as = dict(zip(audit.levels, names, strict=True))
    labels = [shown_as[level] for level in parts.direct]
    told = "; ".join(
        f"{label} {points(each.estimate)}"
        for label, each in zip(labels, parts.direct.values(), strict=True)
    )
    muted = [level in audit.few_rows for level in parts.direct]
    figure = Figure(
        f"Direct effect in the scores against {names[0]}, in points; levels of few rows in grey.",
        f"Points by level: {told}.",
        draw_levels(labels, list(parts.direct.values()), muted),
    )
    rows = []
    for level, direct in parts.direct.items():
        place = left.levels.index(level)
        rows.append(
            (
                shown_as[level],
                estimate(direct.to_dict()),
                _share(parts.pass_through[level]),
                _share(blind.pass_through[level]),
                estimate(left.left[place].to_dict()),
                audit.decisions[level].state,
            )
        )
    columns = (
        "level",
        "direct effect, points",
        "pass-through",
        "of a blind model",
        "score gap less explained, points",
        "decision",
    )
    return [figure, Table(f"Each level against {names[0]}", columns, rows, _places(muted))]


def _share(each: Estimate | None) -> str:
    """Return a pass-through with its interval, which may have no end."""
    if each is None:
        return "–"
    low, high = (
        percent(end, 0) if abs(end) != float("inf") else "∞" for end in (each.low, each.high)
    )
    return f"{percent(each.estimate, 0)} ({low} to {high})"


def _places(muted: Sequence[bool]) -> tuple[int, ...]:
    return tuple(place for place, each in enumerate(muted) if each)


def draw_levels(
    names: Sequence[str], estimates: Sequence[Estimate], muted: Sequence[bool] = ()
) -> str:
    """Return estimates with their intervals as SVG, one level below the other, around 0.

    Colours are those of the text, so that it is read in light and in dark; muted levels are paler.
    """
    width, step, start, end = 560, 30, 190, 540
    ends = [100 * number for each in estimates for number in (each.low, each.high, 0.0)]
    low, high = min(ends), max(ends)
    scale = (end - start) / ((high - low) or 1.0)
    height = step * len(names) + 30

    def place(value: float) -> str:
        return f"{start + (value - low) * scale:.1f}"

    zero = place(0.0)
    parts = [
        f'<line x1="{zero}" y1="4" x2="{zero}" y2="{height - 24}" stroke="currentColor" '
        'stroke-opacity="0.4"/>'
    ]
    pale = [*muted, *[False] * len(names)]
    for row, (name, each) in enumerate(zip(names, estimates, strict=True)):
        y = step * (row + 0.5) + 2
        a, b, middle = (place(100 * value) for value in (each.low, each.high, each.estimate))
        parts.append(
            f'<g opacity="{0.55 if pale[row] else 1}">'
            f'<text x="{start - 14}" y="{y + 4:.0f}" text-anchor="end" font-size="13" '
            f'fill="currentColor">{escape(shown(name, 20))}</text>'
            f'<line x1="{a}" y1="{y:.0f}" x2="{b}" y2="{y:.0f}" stroke="currentColor" '
            'stroke-width="1.5"/>'
            f'<circle cx="{middle}" cy="{y:.0f}" r="4" fill="currentColor"/></g>'
        )
    ticks = [low, 0.0, high] if low < 0 < high else [low, high]
    parts += [
        f'<text x="{place(value)}" y="{height - 8}" text-anchor="middle" font-size="12" '
        f'fill="currentColor">{points(value / 100)}</text>'
        for value in ticks
    ]
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" '
        f'aria-label="Direct effect">{"".join(parts)}</svg>'
    )


def _levels(audit: LevelAudit, names: Sequence[str]) -> Table:
    def cell(line: Mapping[str, Any], name: str, write: Any = percent) -> str:
        ends = {"estimate": name, "low": f"{name}_low", "high": f"{name}_high"}
        return estimate({end: line[column] for end, column in ends.items()}, write)

    records = audit.table.to_records()
    rows = [
        (
            f"{name} *" if line["few_rows"] else name,
            rows_text(line["rows"]),
            cell(line, "positive_rate"),
            percent(line["mean_score"]),
            cell(line, "selection_rate"),
            cell(line, "auc", number),
        )
        for name, line in zip(names, records, strict=True)
    ]
    columns = ("level", "rows", "positive labels", "mean score", "selected", "AUC")
    return Table("Levels", columns, rows, _places([line["few_rows"] for line in records]))


def _table_notes(audit: LevelAudit) -> Iterator[Block]:
    found = [each.removeprefix("* ") for each in notes(audit)]
    if any(line["few_rows"] for line in audit.table.to_records()):
        found[0] = f"A star: {found[0]}."
    if found:
        yield Text("", found)


def _effects(audit: LevelAudit, names: Sequence[str]) -> Iterator[Block]:
    effects = audit.effects
    assert effects is not None  # noqa: S101
    shown_as = dict(zip(audit.levels, names, strict=True))
    rows = [
        (shown_as[level], *(estimate(pair[name].to_dict()) for name in _EFFECTS))
        for level, pair in effects.pairs.items()
    ]
    columns = ("level", "whole gap", "direct, everyone", "through the covariates")
    yield Table(f"Against {names[0]}, in points", columns, rows)
    level, worst = effects.worst_overlap
    yield Text(
        "Overlap",
        [
            f"{shown_as[level]} overlaps least with {names[0]}: {worst.share_outside:.0%} of their "
            "propensities are near 0 or 1, where effects are extrapolated."
        ],
    )
    facts: Mapping[str, Any] = {
        shown_as[each]: f"{count(rows)} rows, {count(effective)} effective"
        for each, rows, effective in zip(
            effects.levels, effects.n_rows, effects.effective_rows, strict=True
        )
    }
    yield Facts(facts)


def _compared(audit: LevelAudit) -> Table:
    found = audit.comparison
    assert found is not None  # noqa: S101
    rows = [
        (
            shown(" ".join(filter(None, (line["measure"].replace("_", " "), line["level"])))),
            number(line["reference_value"], 4),
            number(line["value"], 4),
            estimate(line | {"estimate": line["difference"]}, lambda value: number(value, 4)),
        )
        for line in found.table.to_records()
    ]
    return Table("Differences", ("measure", "baseline", "model", "difference"), rows)
