"""An audit by levels as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .level_measures import FEW_ROWS, HIDDEN_ROWS
from .tables import short, text_table

if TYPE_CHECKING:
    from .level_audit import LevelAudit

_SHOWN = ("positive_rate", "mean_score", "selection_rate", "auc", "direct", "pass_through")


def level_audit_lines(found: LevelAudit) -> Iterator[str]:
    """Yield the audit as text, line by line."""
    yield found._title()
    yield ""
    yield found.verdict
    if found.decision is not None:
        for title, lines in (
            ("Rests on", found.decision.basis),
            ("Next", found.decision.next_steps),
        ):
            yield from ("", f"{title}:", *(f"  {line}" for line in lines)) if lines else ()
    yield ""
    records = found.table.to_records()
    shown = [column for column in _SHOWN if column in records[0]]
    yield from text_table(
        ("level", "rows", *(name.replace("_", " ") for name in shown)),
        (
            (
                short(line["level"]) + (" *" if line["few_rows"] else ""),
                rows_text(line["rows"]),
                *(_cell(line, column) for column in shown),
            )
            for line in records
        ),
    )
    yield from notes(found)
    if found.effects is not None:
        yield from ("", repr(found.effects))
    if found.comparison is not None:
        yield from ("", *found.comparison.to_text().splitlines())


def notes(found: LevelAudit) -> Iterator[str]:
    """Yield what the table's marks say."""
    records = found.table.to_records()
    if any(line["few_rows"] for line in records):
        yield f"* fewer than {FEW_ROWS} rows, or as few effective ones"
    if any(line["rows"] < HIDDEN_ROWS for line in records):
        yield f"Levels of fewer than {HIDDEN_ROWS} rows have no figures, which would tell of people"


def rows_text(rows: int) -> str:
    """Return how many rows a level has; of few, that there are few.

    Examples
    --------
    >>> rows_text(1_200), rows_text(3)
    ('1,200', '<10')
    """
    return f"{rows:,}" if rows >= HIDDEN_ROWS else f"<{HIDDEN_ROWS}"


def _cell(line: Mapping[str, Any], column: str) -> str:
    value, low, high = (line[f"{column}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return "–"
    if column == "direct":
        return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
    if column == "pass_through":
        ends = ("no end" if end is None else f"{end:.2f}" for end in (low, high))
        return f"{value:.2f} [{', '.join(ends)}]"
    return f"{value:.3f}"
