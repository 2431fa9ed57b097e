"""An audit and a comparison of models, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..display import checks, folded, fragment, heading, paragraph, table
from ..effects import Estimate
from ..svg import Interval, intervals
from .metrics import BETWEEN, PLACES, Key
from .numbers import number

if TYPE_CHECKING:
    from .audit_result import Audit
    from .causal import CausalAudit
    from .comparisons import Comparison


def audit_html(found: Audit, title: str) -> str:
    """Return the verdict, the effects, the checks of the data and the metrics."""
    causal = [] if found.causal is None else list(_causal_parts(found.causal))
    missing = "" if found.missing is None else paragraph(f"No causal part: {found.missing}.")
    compared = ""
    if found.comparison is not None:
        compared = heading("Compared with the baseline") + found.comparison._charts()
    metrics = folded("Metrics", _performance(found) + _between(found))
    return fragment(title, paragraph(found.verdict), *causal, missing, compared, metrics)


def comparison_charts(found: Comparison) -> str:
    """Return what is left of the direct effect in each model, and the differences in accuracy."""
    parts = []
    if found.left is not None:
        title = "Direct effect left in the scores of each model"
        parts += [heading(title), _intervals(found.left, title, "s4")]
    for metric in ("auc", "log_loss", "deviance_explained", "gini"):
        key = Key(metric, PLACES[0])
        differences = {
            name: each.entries[key]
            for name, each in found.differences.items()
            if key in each.entries
        }
        if not differences:
            continue
        title = f"{metric.replace('_', ' ')}, minus that of {found.reference}"
        parts += [heading(title), _intervals(differences, title, "s1")]
    return "".join(parts)


def _causal_parts(causal: CausalAudit) -> Any:
    labels, parts = causal.labels, causal.parts
    name = "direct effect left" if parts is None else "direct effect"
    held = causal.direct_effect_left if parts is None else parts.direct
    shown = {
        "labels: total": (labels.total, "s0"),
        "labels: explained": (labels.explained, "s0"),
        "labels: direct": (labels.direct_overlap, "s0"),
        f"scores: {name}": (held, "s4"),
    }
    title = "Effects of the sensitive attribute, group minus reference"
    lines = [_interval(name, each, kind) for name, (each, kind) in shown.items()]
    yield heading(title)
    yield intervals(lines, title=title)
    yield heading(f"Whether the data can tell: {causal.verdict.level}")
    yield checks((each.passed, each.sentence) for each in causal.verdict.findings)
    yield "".join(map(paragraph, causal.notes))


def _intervals(found: Mapping[str, Estimate], title: str, kind: str) -> str:
    return intervals([_interval(name, each, kind) for name, each in found.items()], title=title)


def _interval(name: str, each: Estimate, kind: str) -> Interval:
    return Interval(label=name, estimate=each.estimate, low=each.low, high=each.high, kind=kind)


def _performance(found: Audit) -> str:
    """Return the metrics of all rows and of each group, a row per metric and threshold."""
    entries = found.metrics.entries
    keys = [key for key in entries if key.group == PLACES[0]]
    names = dict(zip(PLACES, ("all", *found.levels), strict=True))
    columns: dict[str, list[Any]] = {
        "metric": [key.metric.replace("_", " ") for key in keys],
        "threshold": [key.threshold for key in keys],
    }
    for place, name in names.items():
        column = [_with_interval(entries[key._replace(group=place)]) for key in keys]
        columns[f"{name} ({place})"] = column
    return table(columns, "Performance")


def _between(found: Audit) -> str:
    entries = {key: each for key, each in found.metrics.entries.items() if key.group == BETWEEN}
    columns: dict[str, list[Any]] = {
        "metric": [key.metric.replace("_", " ") for key in entries],
        "threshold": [key.threshold for key in entries],
        "value": [_with_interval(each) for each in entries.values()],
    }
    return table(columns, "Between the groups")


def _with_interval(each: Estimate) -> str:
    if each.low != each.low:  # there is none
        return number(each.estimate)
    return f"{number(each.estimate)} [{number(each.low)}, {number(each.high)}]"
