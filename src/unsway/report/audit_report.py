"""The report of an audit: one model's scores, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..auditing.verdict import Judgement, judge
from ..files import check_writable, write_atomically
from . import charts
from .audit_facts import AuditFacts, Audits, moved
from .audit_sections import (
    calibration_section,
    comparison_section,
    groups_section,
)
from .check_sections import (
    checks_section,
    citing_section,
    overlap_section,
    robustness_section,
    settings_section,
)
from .effect_sections import effects_section
from .html import render
from .page import Check, Headline, KeyNumber, Report, Section
from .words import count, interval, number, points, shown, span


def write_audit_report(audit: Any, path: str | Path, *, title: str | None = None) -> Path:
    """Write an audit as one HTML file that opens from disk and asks the network for nothing.

    Parameters
    ----------
    audit : Audit
        What `unsway.audit` returned, or the mapping its ``to_dict`` gave.
    path : path
        The file; it is written whole or not at all.
    title : str, optional
        What the report is about; the names of the groups by default.

    Returns
    -------
    Path
    """
    facts = AuditFacts.of(audit)
    check_writable(path)
    return write_atomically(path, render(audit_report(facts, title), charts.script()))


def audit_report(facts: AuditFacts, title: str | None = None) -> Report:
    """Return the report of one audit."""
    low, high = facts.groups
    return Report(
        kicker="Fairness audit",
        title=shown(title, 200) if title else _title(facts),
        subtitle=f"{count(sum(facts.rows))} rows: {count(facts.rows[1])} of {high}, "
        f"{count(facts.rows[0])} of {low}",
        headline=headline([facts], 0),
        numbers=key_numbers([facts], 0),
        sections=[
            *model_sections([facts], 0),
            *data_sections(facts),
            settings_section("What was judged, and how.", _settings(facts)),
            citing_section(__version__),
        ],
        data=embedded(facts),
    )


def _title(facts: AuditFacts) -> str:
    low, high = facts.groups
    name = "" if facts.sensitive == "z" else f"{shown(facts.sensitive)}: "
    return f"{name}{high} against {low}"


def model_sections(audits: Audits, start: int) -> list[Section]:
    """Return the sections about a model's scores."""
    first = [] if audits[start].causal is None else [effects_section(audits, start)]
    beside = [] if audits[start].comparison is None else [comparison_section(audits[start])]
    groups, scores = groups_section(audits, start), calibration_section(audits, start)
    return [*first, *beside, groups, scores]


def data_sections(
    facts: AuditFacts, checked: Sequence[Check] = (), notes: Sequence[str] = ()
) -> list[Section]:
    """Return the sections about the data, which no strength changes."""
    found = [None if facts.causal is None else overlap_section(facts), robustness_section(facts)]
    return [*(each for each in found if each is not None), checks_section(facts, checked, notes)]


def embedded(facts: AuditFacts) -> dict[str, Any]:
    """Return the numbers that travel with the page."""
    causal = facts.causal or {}
    return {
        "rows": sum(facts.rows),
        "metrics": [dict(row) for row in facts.metrics],
        "direct_effect_left": causal.get("direct_effect_left"),
        "verdict": causal.get("verdict"),
    }


def _settings(facts: AuditFacts) -> Mapping[str, Any]:
    low, high = facts.groups
    return {
        "sensitive attribute": facts.sensitive,
        "z = 1": f"{high}, {count(facts.rows[1])} rows",
        "z = 0": f"{low}, {count(facts.rows[0])} rows",
        "thresholds": facts.thresholds,
        **{
            str(name).replace("_", " "): value
            for name, value in facts.settings.items()
            if name != "thresholds"
        },
    }


# --- the verdict ----------------------------------------------------------------------------------


def headline(audits: Audits, start: int) -> Headline:
    """Return the verdict in a few words and in a paragraph."""
    return Headline(
        levels=[_judgement(facts).level for facts in audits],
        label=moved(audits, start, lambda facts: _judgement(facts).headline),
        paragraph=moved(audits, start, lambda facts: facts.verdict),
        start=start,
    )


def _judgement(facts: AuditFacts) -> Judgement:
    return judge(facts.left, facts.label_direct, facts.groups[1], facts.level)


def key_numbers(audits: Audits, start: int) -> list[KeyNumber]:
    """Return the few numbers at the head of the page."""
    gaps = {"Score gap, points": "score_gap", "Selection gap, points": "selection_rate_difference"}
    found = [_gap(label, audits, start, name) for label, name in gaps.items()]
    found += [
        _quality("Accuracy", audits, start, "accuracy"),
        _quality("AUC", audits, start, "auc"),
    ]
    if audits[start].causal is None:
        return found
    left = KeyNumber(
        "Direct effect left, points",
        moved(audits, start, lambda facts: points(facts.left["estimate"])),
        moved(audits, start, lambda facts: interval(facts.left["low"], facts.left["high"])),
    )
    return [left, *found]


def _gap(label: str, audits: Audits, start: int, name: str) -> KeyNumber:
    def ends(facts: AuditFacts) -> str:
        return interval(facts.metric(name)["low"], facts.metric(name)["high"])

    value = moved(audits, start, lambda facts: points(facts.metric(name)["estimate"]))
    return KeyNumber(label, value, moved(audits, start, ends))


def _quality(label: str, audits: Audits, start: int, name: str) -> KeyNumber:
    return KeyNumber(
        label,
        moved(audits, start, lambda facts: number(facts.metric(name, "overall")["estimate"])),
        moved(audits, start, lambda facts: span(facts.metric(name, "overall"))),
    )
