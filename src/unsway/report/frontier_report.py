"""The report of a frontier: every strength on one page, with a slider between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..auditing.verdict import TRUST_OF_SWEEP, Judgement, judge
from ..files import check_writable, write_atomically
from . import charts
from .audit_facts import AuditFacts, Audits
from .audit_report import data_sections
from .audit_sections import calibration_section, groups_section
from .check_sections import citing_section, limits, settings_section
from .frontier_facts import FrontierFacts
from .frontier_sections import effects_section, parts_section, tradeoff_section
from .html import render
from .page import Check, Headline, KeyNumber, Report, Section, Slider
from .words import Moving, count, estimate, interval, number, percent, points, shown


def write_frontier_report(
    frontier: Any,
    path: str | Path,
    *,
    choice: Any = None,
    audits: Mapping[float, Any] | None = None,
    title: str | None = None,
) -> Path:
    """Write a frontier as one HTML file with a slider over its strengths.

    The file opens from disk and asks the network for nothing.

    Parameters
    ----------
    frontier : Frontier
    path : path
        The file; it is written whole or not at all.
    choice : Choice, optional
        The strength that was chosen, marked on the page, which opens with it.
    audits : mapping of float to Audit, optional
        An audit of every strength that was fitted, for groups and calibration that move with the
        slider, and for overlap and balance.
    title : str, optional
        What the report is about.

    Returns
    -------
    Path
    """
    facts = FrontierFacts.of(frontier, choice)
    found = _audits(facts, audits or {})
    check_writable(path)
    return write_atomically(path, render(frontier_report(facts, found, title), charts.script()))


def frontier_report(facts: FrontierFacts, audits: Audits = (), title: str | None = None) -> Report:
    """Return the report of a frontier."""
    start = facts.chosen or 0
    low, high = facts.strengths[0], facts.strengths[-1]
    rows = facts.about.get(facts.part, {}).get("rows")
    return Report(
        kicker="Fairness frontier",
        title=shown(title, 200) if title else _title(facts),
        subtitle=f"{len(facts.strengths)} strengths from {low:g} to {high:g}, judged on "
        + (f"{count(rows)} {facts.part} rows" if rows else f"the {facts.part} rows"),
        headline=_headline(facts, _known(audits), start),
        numbers=list(_key_numbers(facts, start)),
        sections=_sections(facts, audits, start),
        slider=Slider(facts.strengths, start, facts.chosen),
        data={
            "part": facts.part,
            "points": [
                {"strength": strength, "parts": parts}
                for strength, parts in zip(facts.strengths, facts.figures, strict=True)
            ],
        },
    )


def _audits(facts: FrontierFacts, audits: Mapping[float, Any]) -> list[AuditFacts]:
    """Return an audit per strength, or none at all."""
    if not audits:
        return []
    missing = [strength for strength in facts.strengths if strength not in audits]
    if missing:
        raise ValueError(
            f"audits lacks {len(missing)} of {len(facts.strengths)} strengths, such as "
            f"{missing[0]:g}; give one for each, or none"
        )
    return [AuditFacts.of(audits[strength]) for strength in facts.strengths]


def _title(facts: FrontierFacts) -> str:
    estimator = facts.made_of.get("estimator", {}).get("class")
    return f"What fairness costs: {shown(estimator)}" if estimator else "What fairness costs"


def _sections(facts: FrontierFacts, audits: Audits, start: int) -> list[Section]:
    found = [tradeoff_section(facts, start)]
    if facts.effect("explained")["estimate"] is not None:
        found.append(effects_section(facts, start))
    found.append(parts_section(facts, start))
    if audits:
        found += [groups_section(audits, start), calibration_section(audits, start)]
    known, checked, notes = _known(audits), list(_checked(facts)), list(_notes(facts, audits))
    found += [limits(checked, notes)] if known is None else data_sections(known, checked, notes)
    settings = settings_section("What the sweep was made of.", dict(_settings(facts)))
    return [*found, settings, citing_section(__version__)]


def _known(audits: Audits) -> AuditFacts | None:
    """Return an audit that has looked at the data, if one has."""
    return next((audit for audit in audits if audit.causal is not None), None)


def _checked(facts: FrontierFacts) -> Iterator[Check]:
    if facts.chosen is not None and facts.chosen_on != facts.part:
        yield Check(
            "good",
            f"The strength was chosen on the {facts.chosen_on} rows and is judged on the "
            f"{facts.part} rows.",
        )


def _notes(facts: FrontierFacts, audits: Audits) -> Iterator[str]:
    """Yield what a reader should keep in mind."""
    yield from facts.notes
    for strength, error in facts.failed.items():
        yield f"strength {strength:g} failed: {error}"
    if facts.chosen is not None and facts.chosen_on == facts.part:
        yield (
            f"the strength was chosen on the {facts.part} rows, on which it is judged here: its "
            "figures look a little too good"
        )
    elif facts.part != "test":
        yield (
            f"the figures are those of the {facts.part} rows; those of a strength that is chosen "
            "by them look a little too good"
        )
    if _known(audits) is None:
        yield "overlap and balance are not part of a sweep: audit the chosen model for them"


def _settings(facts: FrontierFacts) -> Iterator[tuple[str, Any]]:
    if facts.rule:
        yield "chosen by", facts.rule
    for name, about in facts.about.items():
        rows, share = about.get("rows"), about.get("share_z1")
        yield f"{name} rows", f"{count(rows)}, of which {percent(share)} {facts.groups[1]}"
    made = facts.made_of
    for name, value in {**made.get("estimator", {}), **made.get("settings", {})}.items():
        yield "estimator" if name == "class" else str(name).replace("_", " "), value
    for name, value in made.get("versions", {}).items():
        yield f"version of {name}", value


# --- the verdict ----------------------------------------------------------------------------------


def moving(facts: FrontierFacts, start: int, write: Callable[[int], str]) -> Moving:
    """Return a text with a version per strength."""
    return Moving([write(place) for place in range(len(facts.strengths))], start)


def _headline(facts: FrontierFacts, known: AuditFacts | None, start: int) -> Headline:
    places, data = range(len(facts.strengths)), "" if known is None else known.level
    found = [_judgement(facts, place, data) for place in places]
    return Headline(
        levels=[each.level for each in found],
        label=Moving([each.headline for each in found], start),
        paragraph=moving(
            facts,
            start,
            lambda place: " ".join(
                [*_sentences(facts, place, found[place].meaning), TRUST_OF_SWEEP[data]]
            ),
        ),
        start=start,
    )


def _judgement(facts: FrontierFacts, place: int, data: str) -> Judgement:
    left, group = facts.left(place), facts.groups[1]
    return judge(left, facts.label_direct, group, data, labels_told=False)


def _sentences(facts: FrontierFacts, place: int, meaning: str) -> Iterator[str]:
    left, strength = facts.left(place), facts.strengths[place]
    low, high = facts.groups
    chosen = f" (the one chosen; rule: {facts.rule})" if place == facts.chosen else ""
    yield (
        f"At strength {strength:g}{chosen} the mean score of {high} less that of {low} is "
        f"{points(facts.value(place, 'score_gap'))} percentage points on the {facts.part} rows."
    )
    if left["estimate"] is not None:
        yield (
            f"The covariates account for {points(facts.effect('explained')['estimate'])}; what is "
            f"left of the direct effect is {estimate(left)}: {meaning}."
        )
    yield (
        f"{percent(facts.value(place, 'accuracy'))} of the decisions are right"
        + (
            f", {percent(facts.value(0, 'accuracy'))} at strength {facts.strengths[0]:g}"
            if place
            else ""
        )
        + f"; the AUC is {number(facts.value(place, 'auc'))}."
    )


def _key_numbers(facts: FrontierFacts, start: int) -> Iterator[KeyNumber]:
    if facts.left(start)["estimate"] is not None:
        yield KeyNumber(
            "Direct effect left, points",
            moving(facts, start, lambda k: points(facts.left(k)["estimate"])),
            moving(facts, start, lambda k: interval(facts.left(k)["low"], facts.left(k)["high"])),
        )
    for label, name in (
        ("Score gap, points", "score_gap"),
        ("Selection gap, points", "selection_rate_difference"),
    ):
        texts = [points(facts.value(k, name)) for k in range(len(facts.strengths))]
        yield KeyNumber(
            label, Moving(texts, start), f"{texts[0]} at strength {facts.strengths[0]:g}"
        )
    for label, name in (("Accuracy", "accuracy"), ("AUC", "auc")):
        texts = [number(facts.value(k, name)) for k in range(len(facts.strengths))]
        yield KeyNumber(
            label, Moving(texts, start), f"{texts[0]} at strength {facts.strengths[0]:g}"
        )
