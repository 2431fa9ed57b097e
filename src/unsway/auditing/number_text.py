"""An audit of predictions of numbers as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .metrics import BETWEEN
from .number_words import number_facts
from .tables import short, show, text_table

if TYPE_CHECKING:
    from .number_audits import NumberAudit
    from .number_causal import NumberCausal


def number_lines(found: NumberAudit) -> Iterator[str]:
    """Yield the audit as text, line by line."""
    low, high = (short(level) for level in found.levels)
    zeros, ones = found.n_rows
    yield f"Audit of {zeros + ones:,} rows: z=1 is {high} ({ones:,}), z=0 is {low} ({zeros:,})"
    decision = found.decision
    yield from ("", f"{decision.headline}.", *decision.sentences, *decision.next_steps, "")
    yield from (*number_facts(found), "")
    entries = found.metrics.entries
    names = [key.metric for key in entries if key.group == "overall"]
    places = ("overall", "z=1", "z=0")
    yield from text_table(
        ("", *places),
        ((name, *(show(found.metrics[name, place], ".5g") for place in places)) for name in names),
    )
    yield ""
    between = (
        (key.metric, show(v, ".5g" if key.metric.endswith("_ratio") else "+.5g"))
        for key, v in entries.items()
        if key.group == BETWEEN
    )
    yield from text_table(("between the groups", "value"), between)
    if found.causal is not None:
        yield from _causal_lines(found.causal)
    if found.comparison is not None:
        yield from ("", *found.comparison.to_text().splitlines())


def _causal_lines(causal: NumberCausal) -> Iterator[str]:
    yield ""
    ratios = {} if causal.ratios is None else causal.ratios.estimates()
    yield from text_table(
        ("effect of z on the target", "difference", "ratio"),
        (
            (name, show(each, "+.5g"), show(ratios[name], ".4f") if name in ratios else "")
            for name, each in causal.labels.estimates().items()
        ),
    )
    yield f"direct effect left in the predictions: {show(causal.direct_effect_left, '+.5g')}"
    if causal.n_rows < causal.n_rows_given:
        yield f"Effects from {causal.n_rows:,} of the {causal.n_rows_given:,} rows."
    yield from ("", *(short(line, 240) for line in repr(causal.verdict).splitlines()))
    yield from causal.notes
