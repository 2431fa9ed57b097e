"""The verdict of an audit: one paragraph with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..effects import Effects, Estimate
from .numbers import points
from .tables import short
from .verdict import TRUST, judge

if TYPE_CHECKING:
    from .audits import Audit
    from .causal import CausalAudit


def plain_words(found: Audit) -> str:
    """Return what z does to the labels, how much of it directly, what the model still holds, and
    whether the data can tell.

    Differences are "z=1 minus z=0" in percentage points.
    """  # noqa: D205
    return " ".join(_sentences(found))


def _sentences(found: Audit) -> Iterator[str]:
    low, high = (_group(found, place) for place in (0, 1))
    zeros, ones = _rates(found, "base_rate")
    word = "positive" if found.classes[1] in ("1", "True") else short(found.classes[1])
    yield (
        f"The label is {word} for {ones:.1%} of {high} and for {zeros:.1%} of {low}, "
        f"a difference of {points(ones - zeros)} points."
    )
    if found.causal is None:
        yield f"The scores differ by {_with_interval(found.metrics['score_gap'])}."
    else:
        yield from _causal_sentences(found.causal, high)
    threshold = found.thresholds[0]
    zeros, ones = _rates(found, "selection_rate", threshold)
    yield f"A threshold of {threshold:g} selects {ones:.1%} of {high} and {zeros:.1%} of {low}."
    if found.causal is None:
        yield (
            f"How much of this is the direct effect of the sensitive attribute is not known: "
            f"{found.missing}."
        )
    else:
        data = found.causal.verdict
        yield TRUST[data.level]
        yield from (short(each.sentence, 240) for each in data.findings if not each.passed)
    if found.training_rows is not None and found.training_rows.note is not None:
        yield found.training_rows.note


def _causal_sentences(causal: CausalAudit, group: str) -> Iterator[str]:
    labels, left = causal.labels, causal.direct_effect_left
    explained = labels.explained.estimate
    direct = labels.total.estimate - explained
    yield (
        f"Of that, {points(direct)} points go directly from the sensitive attribute to the label "
        f"and {points(explained)} points through the other columns{_share(labels, direct)}."
    )
    judged = judge(left.to_dict(), direct, group, causal.verdict.level)
    yield (
        f"The model's scores differ by {points(left.estimate + explained)} points, where a score "
        f"free of the direct effect would differ by {points(explained)} points; what is left of "
        f"the direct effect is {_with_interval(left)}: {judged.meaning}."
    )


def _share(labels: Effects, direct: float) -> str:
    """Return the share that goes directly, where both parts point the same way."""
    through, whole = labels.explained.estimate, labels.total.estimate
    clear = labels.total.low > 0 or labels.total.high < 0
    if clear and direct * through >= 0 and whole:
        return f", so {direct / whole:.0%} of it is direct"
    return ", which pull in opposite directions" if direct * through < 0 else ""


def _rates(found: Audit, *metric: Any) -> list[float]:
    """Return a rate in each group."""
    return [found.metrics[(*metric, place)].estimate for place in ("z=0", "z=1")]


def _group(found: Audit, place: int) -> str:
    level = short(found.levels[place])
    return f"{short(found.sensitive_name)} = {level}" if found.sensitive_name else f"group {level}"


def _with_interval(each: Estimate) -> str:
    ends = "" if math.isnan(each.low) else f" [{points(each.low)}, {points(each.high)}]"
    return f"{points(each.estimate)} points{ends}"
