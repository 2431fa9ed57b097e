"""An audit in plain words: one paragraph made of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..effects import Effects, Estimate
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
    rates = [found.metrics["base_rate", place].estimate for place in ("z=0", "z=1")]
    word = "positive" if found.classes[1] in ("1", "True") else short(found.classes[1])
    yield (
        f"The label is {word} for {rates[1]:.1%} of {high} and for {rates[0]:.1%} of {low}, "
        f"a difference of {points(rates[1] - rates[0])}."
    )
    if found.causal is None:
        gap = found.metrics["score_gap"]
        yield f"The scores differ by {_with_interval(gap)}."
    else:
        yield from _causal_sentences(found.causal, high)
    yield _decision_sentence(found)
    if found.causal is None:
        yield (
            f"How much of this is the direct effect of the sensitive attribute is not known: "
            f"{found.missing}."
        )
    else:
        yield _trust_sentence(found.causal)


def _causal_sentences(causal: CausalAudit, group: str) -> Iterator[str]:
    labels = causal.labels
    direct = labels.total.estimate - labels.explained.estimate
    yield (
        f"Of that, {points(direct)} go directly from the sensitive attribute to the label and "
        f"{points(labels.explained.estimate)} through the other columns{_share(labels, direct)}."
    )
    left, explained = causal.direct_effect_left, labels.explained.estimate
    gap = left.estimate + explained
    judged = judge(left.to_dict(), direct, group, causal.verdict.level)
    yield (
        f"The model's scores differ by {points(gap)}, where a score free of the direct effect "
        f"would differ by {points(explained)}; what is left of the direct effect is "
        f"{_with_interval(left)}: {judged.meaning}."
    )


def _share(labels: Effects, direct: float) -> str:
    """Return the share that goes directly, where both parts point the same way."""
    through, whole = labels.explained.estimate, labels.total.estimate
    told = labels.total.low > 0 or labels.total.high < 0
    if told and direct * through >= 0 and whole:
        return f", so {direct / whole:.0%} of it is direct"
    return ", which pull in opposite directions" if direct * through < 0 else ""


def _decision_sentence(found: Audit) -> str:
    low, high = (_group(found, place) for place in (0, 1))
    threshold = found.thresholds[0]
    chosen = [
        found.metrics["selection_rate", place, threshold].estimate for place in ("z=0", "z=1")
    ]
    return (
        f"A threshold of {threshold:g} selects {chosen[1]:.1%} of {high} and {chosen[0]:.1%} of "
        f"{low}."
    )


def _trust_sentence(causal: CausalAudit) -> str:
    failed = [short(each.sentence, 240) for each in causal.verdict.findings if not each.passed]
    return " ".join([TRUST[causal.verdict.level], *failed])


def _group(found: Audit, place: int) -> str:
    level = short(found.levels[place])
    return f"{short(found.sensitive_name)} = {level}" if found.sensitive_name else f"group {level}"


def points(value: float) -> str:
    """Return a share as signed percentage points.

    Examples
    --------
    >>> points(-0.0123)
    '−1.2 points'
    """
    return f"{100 * value:+.1f} points".replace("-", "−")


def _with_interval(each: Estimate) -> str:
    if np.isnan(each.low):
        return points(each.estimate)
    ends = f"[{100 * each.low:+.1f}, {100 * each.high:+.1f}]".replace("-", "−")
    return f"{points(each.estimate)} {ends}"
