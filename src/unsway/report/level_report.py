"""The report of an audit by the levels of a sensitive attribute with several of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..auditing.level_audit import LevelAudit
from ..effects import Estimate
from ..files import check_writable, write_atomically
from .html import Block, Facts, Figure, Headline, KeyNumber, Page, Section, Table, Text
from .words import count, distinct, estimate, percent, shown

#: The effects in a table, of the eight that are estimated.
_EFFECTS = ("total", "direct_everyone", "explained")


def write_level_report(audit: LevelAudit, path: str | Path, *, title: str | None = None) -> Path:
    """Write an audit by levels as one HTML file that asks the network for nothing.

    Parameters
    ----------
    audit : LevelAudit
        What `unsway.audit_levels` returned.
    path : path
        The file; it is written whole or not at all.
    title : str, optional
        What the report is about; the name of the sensitive column by default.

    Returns
    -------
    Path
    """
    check_writable(path)
    return write_atomically(path, level_page(audit, title).render())


def level_page(audit: LevelAudit, title: str | None = None) -> Page:
    """Return the report of one audit by levels."""
    name = shown(audit.sensitive_name or "Sensitive attribute")
    rows = audit.settings["rows"]
    return Page(
        kicker="Fairness audit",
        title=shown(title, 200) if title else f"{name}: {len(audit.levels)} levels",
        lead=f"{count(rows)} rows, compared with {shown(audit.levels[0])}",
        headline=_headline(audit),
        numbers=_numbers(audit),
        sections=list(_sections(audit)),
    )


def _headline(audit: LevelAudit) -> Headline:
    left = audit.left
    if left is None:
        return Headline("caution", "Not known", audit.verdict)
    found = left.spread.low > 0
    return Headline(
        "caution",
        "Levels differ beyond the covariates" if found else "These rows cannot tell",
        audit.verdict,
        "Train with fair targets, or look at the covariates of the two levels named."
        if found
        else "More rows of the small levels would narrow the intervals.",
    )


def _numbers(audit: LevelAudit) -> list[KeyNumber]:
    overall, records = audit.overall, audit.table.to_records()
    scores = [line["mean_score"] for line in records]
    numbers = [
        KeyNumber("Area under the ROC curve", f"{overall['auc']:.3f}", "all rows"),
        KeyNumber(
            "Largest gap of mean scores", f"{100 * (max(scores) - min(scores)):.1f} points", ""
        ),
    ]
    if audit.left is not None:
        detail = f"{shown(audit.left.highest)} against {shown(audit.left.lowest)}"
        value = f"{100 * audit.left.spread.estimate:.1f} points"
        numbers.insert(0, KeyNumber("Spread of the direct effect left", value, detail))
    return numbers


def _sections(audit: LevelAudit) -> Iterator[Section]:
    names = distinct(audit.levels)
    if audit.left is not None:
        yield Section("left", "What the covariates do not explain", _LEAD, _left(audit, names))
    lead = "Labels, scores and decisions of each level. A star marks levels of few rows."
    yield Section("levels", "Each level", lead, [_levels(audit, names)])
    if audit.effects is not None:
        lead = "What each level does to the labels, against the reference, in points."
        yield Section("effects", "Effects on the labels", lead, list(_effects(audit, names)))
    facts = {name.replace("_", " "): str(value) for name, value in audit.settings.items()}
    yield Section("settings", "How it was made", "", [Facts(facts)])


_LEAD = (
    "How many points a level scores higher or lower than its covariates explain, compared with the "
    "weighted mean of all levels. The intervals hold for all levels at once."
)


def _left(audit: LevelAudit, names: Sequence[str]) -> list[Block]:
    left = audit.left
    assert left is not None  # noqa: S101
    told = "; ".join(
        f"{name} {100 * each.estimate:+.1f}" for name, each in zip(names, left.left, strict=True)
    )
    figure = Figure(
        "Direct effect left by level, in points, with simultaneous intervals.",
        f"Points by level: {told}.",
        draw_levels(names, left.left),
    )
    table = Table(
        "Direct effect left by level, in points",
        ("level", "estimate and interval"),
        [(name, estimate(each.to_dict())) for name, each in zip(names, left.left, strict=True)],
    )
    return [figure, table]


def draw_levels(names: Sequence[str], left: Sequence[Estimate]) -> str:
    """Return estimates with their intervals as SVG, one level below the other, around 0.

    Colours are those of the text, so that it is read in light and in dark.
    """
    width, step, start, end = 720, 30, 230, 690
    ends = [100 * number for each in left for number in (each.low, each.high, 0.0)]
    low, high = min(ends), max(ends)
    scale = (end - start) / ((high - low) or 1.0)
    height = step * len(names) + 30

    def place(points: float) -> str:
        return f"{start + (points - low) * scale:.1f}"

    zero = place(0.0)
    parts = [
        f'<line x1="{zero}" y1="4" x2="{zero}" y2="{height - 24}" stroke="currentColor" '
        'stroke-opacity="0.4"/>'
    ]
    for row, (name, each) in enumerate(zip(names, left, strict=True)):
        y = step * (row + 0.5) + 2
        a, b, middle = (place(100 * value) for value in (each.low, each.high, each.estimate))
        parts.append(
            f'<text x="{start - 14}" y="{y + 4:.0f}" text-anchor="end" font-size="13" '
            f'fill="currentColor">{escape(shown(name, 28))}</text>'
            f'<line x1="{a}" y1="{y:.0f}" x2="{b}" y2="{y:.0f}" stroke="currentColor" '
            'stroke-width="1.5"/>'
            f'<circle cx="{middle}" cy="{y:.0f}" r="4" fill="currentColor"/>'
        )
    parts += [
        f'<text x="{place(value)}" y="{height - 8}" text-anchor="middle" font-size="12" '
        f'fill="currentColor">{value:+.1f}</text>'
        for value in (low, 0.0, high)
    ]
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%" role="img" '
        f'aria-label="Direct effect left by level">{"".join(parts)}</svg>'
    )


def _levels(audit: LevelAudit, names: Sequence[str]) -> Table:
    rows = []
    for name, line in zip(names, audit.table.to_records(), strict=True):
        auc = line["auc"]
        known = auc is not None and auc == auc
        rows.append(
            (
                f"{name} *" if line["few_rows"] else name,
                count(line["rows"]),
                percent(line["positive_rate"]),
                percent(line["mean_score"]),
                percent(line["selection_rate"]),
                f"{auc:.3f}" if known else "",
            )
        )
    columns = ("level", "rows", "positive labels", "mean score", "selected", "AUC")
    return Table("Levels", columns, rows)


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
