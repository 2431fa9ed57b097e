"""The report of an audit: one model's scores, judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..auditing.level_audit import LevelAudit
from ..files import check_writable, write_atomically
from .data_sections import closing_sections, data_sections, sign_off
from .effect_sections import appendix, audit_effects
from .facts import LEFT, AuditFacts
from .html import Page, Section
from .level_report import level_page
from .number_sections import number_sections
from .score_sections import (
    basis_of,
    calibration_section,
    comparison_section,
    groups_section,
    headline_of,
    key_numbers,
)
from .views import Views
from .words import count, interval, percent, shown


def write_audit_report(
    audit: Any, path: str | Path, *, title: str | None = None, owner: str | None = None
) -> Path:
    """Write an audit as one HTML file that opens from disk and asks the network for nothing.

    Parameters
    ----------
    audit : Audit, LevelAudit or NumberAudit
        What `unsway.audit` returned, or of the first and the last the mapping its ``to_dict``
        gave.
    path : path
        The file; it is written whole or not at all.
    title : str, optional
        What the report is about; the names of the groups by default.
    owner : str, optional
        Who answers for the model: named at the head of the page and in the lines to sign.

    Returns
    -------
    Path
    """
    if isinstance(audit, LevelAudit):
        page = level_page(audit, title, owner)
    else:
        page = audit_page(AuditFacts.of(audit), title, owner)
    check_writable(path)
    return write_atomically(path, page.render())


def audit_page(facts: AuditFacts, title: str | None = None, owner: str | None = None) -> Page:
    """Return the report of one audit."""
    (low, high), (zeros, ones) = facts.groups, facts.rows
    name = "" if facts.sensitive == "z" else f"{shown(facts.sensitive)}: "
    if facts.tables:
        name = f"{facts.units.name}, {name}"
    return Page(
        kicker="Fairness audit",
        title=shown(title, 200) if title else f"{name}{high} against {low}",
        lead=f"{count(zeros + ones)} rows: {count(ones)} of {high}, {count(zeros)} of {low}",
        headline=headline_of(Views([facts])),
        numbers=key_numbers(Views([facts]), _below(facts)),
        about=_about(facts, owner),
        sections=list(_sections(facts, owner)),
        data={
            "rows": zeros + ones,
            "metrics": facts.metrics,
            "decision": facts.decision.to_dict(),
            **{name: facts.causal.get(name) for name in (LEFT, "parts", "verdict")},
        },
    )


def _about(facts: AuditFacts, owner: str | None) -> dict[str, str]:
    """Return what was audited."""
    low, high = facts.groups
    found = {str(name): shown(value, 300) for name, value in facts.about.items()}
    found["sensitive"] = f"{shown(facts.sensitive)}: {high} against {low}"
    if not facts.tables:
        found["scored label"] = shown(facts.classes[1])
        found["favourable"] = shown(facts.settings.get("favourable") or "not stated")
    return {**found, **({"owner": shown(owner, 200)} if owner else {})}


def _below(facts: AuditFacts) -> dict[str, str]:
    """Return the line below the pass-through: its interval, and the blind reference model's."""
    own, blind = facts.decision.pass_through, facts.decision.blind_pass_through
    if own is None:
        return {}
    ends = interval(own, partial(percent, decimals=0))
    reference = "" if blind is None else f"blind model: {percent(blind['estimate'], 0)}"
    return {"pass_through": ", ".join(filter(None, (ends, reference)))}


def _sections(facts: AuditFacts, owner: str | None) -> Iterator[Section]:
    views = Views([facts])
    if facts.causal:
        yield audit_effects(facts)
    if facts.comparison:
        yield comparison_section(facts)
    if facts.tables:
        yield from number_sections(facts)
    else:
        yield groups_section(views)
        yield calibration_section(views)
    yield from data_sections(facts, basis_of(views))
    yield from appendix(facts)
    yield from closing_sections("What was judged, and how.", _settings(facts))
    yield sign_off(owner)


def _settings(facts: AuditFacts) -> Mapping[str, Any]:
    low, high = facts.groups
    named = {str(name).replace("_", " "): value for name, value in facts.settings.items()}
    return {
        "sensitive attribute": facts.sensitive,
        "z = 1": f"{high}, {count(facts.rows[1])} rows",
        "z = 0": f"{low}, {count(facts.rows[0])} rows",
        **({"thresholds": facts.thresholds} if facts.thresholds else {"target": facts.units.name}),
        **named,
    }
