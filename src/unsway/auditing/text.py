"""An audit as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..effects import PARTS
from .metrics import BETWEEN, Key
from .selections import COUNTS
from .summary import facts
from .tables import short, show, text_table

if TYPE_CHECKING:
    from .audit_result import Audit
    from .causal import CausalAudit
    from .selections import Selections
    from .verdict import Decision


def audit_lines(found: Audit) -> Iterator[str]:
    """Yield the audit as text, line by line."""
    low, high = (short(level) for level in found.levels)
    zeros, ones = found.n_rows
    yield f"Audit of {zeros + ones:,} rows: z=1 is {high} ({ones:,}), z=0 is {low} ({zeros:,})"
    yield ""
    yield from decision_lines(found.decision)
    yield ""
    yield from facts(found)
    yield ""
    entries = found.metrics.entries
    overall = [key for key in entries if key.group == "overall"]
    names = list(dict.fromkeys(key.metric for key in overall))
    places = ("overall", "z=1", "z=0")
    yield from text_table(
        ("", "threshold", *places),
        (
            (*_about(key), *(show(entries[key._replace(group=place)]) for place in places))
            for key in sorted(overall, key=lambda key: names.index(key.metric))
        ),
    )
    yield ""
    yield from text_table(
        ("between the groups", "threshold", "value"),
        ((*_about(key), show(each)) for key, each in entries.items() if key.group == BETWEEN),
    )
    if found.causal is not None:
        yield from _causal_lines(found.causal)
    if found.comparison is not None:
        yield from ("", *found.comparison.to_text().splitlines())
    if found.missing is not None:
        yield from ("", f"No causal part: {found.missing}.")


def decision_lines(decision: Decision) -> Iterator[str]:
    """Yield a decision for a terminal: what is claimed, on what it rests, and what to do next."""
    yield f"{decision.headline}."
    yield from decision.sentences
    for title, lines in (("Rests on", decision.basis), ("Next", decision.next_steps)):
        yield from ("", f"{title}:", *(f"  {line}" for line in lines)) if lines else ()


def _causal_lines(causal: CausalAudit) -> Iterator[str]:
    if causal.parts is not None:
        yield ""
        yield from text_table(
            ("part of the gap, on the scale of the labels", ""),
            ((PARTS[name], show(each, "+.4f")) for name, each in causal.parts.estimates().items()),
        )
    yield ""
    rows: dict[str, dict[str, str]] = {}
    for effect, on, each in causal.estimates():
        rows.setdefault(effect, {})[on] = show(each)
    yield from text_table(
        ("effect of z", "on labels", "on scores"),
        ((name, on.get("labels", ""), on.get("scores", "")) for name, on in rows.items()),
    )
    if causal.n_rows < causal.n_rows_given:
        yield f"Effects from {causal.n_rows:,} of the {causal.n_rows_given:,} rows."
    yield ""
    yield from _selections(causal.selections)
    yield ""
    yield from (short(line, 240) for line in repr(causal.verdict).splitlines())
    yield from causal.notes


def _about(key: Key) -> tuple[str, str]:
    return key.metric, "" if key.threshold is None else f"{key.threshold:g}"


def _selections(found: Selections) -> Iterator[str]:
    """Yield who is selected by the model and by a fair ranking, per 1,000 of each group."""
    rows = [
        (meaning, rule, *(show(found[rule, group, count], ".0f") for group in ("z=1", "z=0")))
        for rule in found.rates
        for count, meaning in COUNTS.items()
    ]
    yield from text_table(("per 1,000 people", "rule", "z=1", "z=0"), rows)
