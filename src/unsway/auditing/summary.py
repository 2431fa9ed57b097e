"""What an audit found apart from its decision, in a few sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .evidence import name_groups
from .numbers import points, signed
from .tables import short

if TYPE_CHECKING:
    from ..effects import Estimate
    from .audit_result import Audit
    from .selections import Selections


def facts(found: Audit) -> Iterator[str]:
    """Yield the rates of the labels, the gap and what explains it, and the decisions by group."""
    low, high = name_groups(found.levels, found.sensitive_name)
    zeros, ones = _rates(found, "base_rate")
    word = "positive" if found.classes[1] in ("1", "True") else short(found.classes[1])
    yield (
        f"The label is {word} for {ones:.1%} of {high} and for {zeros:.1%} of {low}, "
        f"a difference of {points(ones - zeros)} points."
    )
    gap = found.metrics["score_gap"]
    yield f"The mean scores differ by {points(gap.estimate)} points."
    if found.causal is not None:
        labels = found.causal.labels
        yield (
            f"The covariates explain {_with_interval(labels.explained)} of the labels' difference; "
            f"where the groups overlap the direct effect on the labels is "
            f"{_with_interval(labels.direct_overlap)}."
        )
    threshold = found.thresholds[0]
    zeros, ones = _rates(found, "selection_rate", threshold)
    yield f"A threshold of {threshold:g} selects {ones:.1%} of {high} and {zeros:.1%} of {low}."
    if found.causal is not None:
        yield from (_selected(found.causal.selections, rule, (low, high)) for rule in _rules(found))


def _rates(found: Audit, *metric: Any) -> list[float]:
    """Return a rate in each group."""
    return [found.metrics[(*metric, place)].estimate for place in ("z=0", "z=1")]


def _with_interval(each: Estimate) -> str:
    return f"{points(each.estimate)} points ({points(each.low)} to {points(each.high)})"


def _rules(found: Audit) -> list[str]:
    """Return the first threshold, and the rates that were asked for."""
    names = [] if found.causal is None else list(found.causal.selections.rates)
    return names[:1] + [name for name in names[1:] if name.startswith("rate")]


def _selected(found: Selections, rule: str, groups: tuple[str, str]) -> str:
    """Return how many people a rule selects more or fewer than a fair ranking would."""
    texts = []
    for group, name in zip(("z=0", "z=1"), groups, strict=True):
        net = found[rule, group, "net"]
        ends = "" if math.isnan(net.low) else f" ({_count(net.low)} to {_count(net.high)})"
        texts.append(f"{_count(net.estimate)}{ends} per 1,000 of {name}")
    return (
        f"Compared with a fair ranking that selects as many ({found.rates[rule]:.1%}, {rule}), the "
        f"model selects {texts[1]} and {texts[0]}."
    )


def _count(value: float) -> str:
    return signed(value, 0)
