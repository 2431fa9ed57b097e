"""The report of a frontier: every strength on one page, with a slider between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..auditing.inputs import MARGIN
from ..auditing.numbers import number
from ..files import check_writable, write_atomically
from . import charts
from .data_sections import closing_sections, data_sections, sign_off
from .effect_sections import sweep_effects
from .facts import DIRECT, AuditFacts, FrontierFacts, PointFacts
from .html import Chart, Check, Page, Section, Slider, Table
from .level_frontier import level_frontier_page
from .score_sections import (
    KEY,
    MEASURES,
    basis_of,
    calibration_section,
    groups_section,
    headline_of,
    key_numbers,
    named,
    writer,
)
from .views import Views
from .words import count, estimate, interval, percent, shown


def write_frontier_report(
    frontier: Any,
    path: str | Path,
    *,
    choice: Any = None,
    audits: Mapping[float, Any] | None = None,
    title: str | None = None,
    owner: str | None = None,
    favourable: str | None = None,
    margin: float = MARGIN,
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
    owner : str, optional
        Who answers for the model: named at the head of the page and in the lines to sign.
    favourable : str, optional
        The label that is good for a person; until it is stated, texts say only who scores higher.
    margin : float, default=0.02
        A direct effect is called small only if its 90% interval lies within ±margin.

    Returns
    -------
    Path
    """
    facts = FrontierFacts.of(frontier, choice, favourable, margin)
    if "levels" in frontier.parts.get(facts.part, {}):
        stated: dict[str, Any] = {"favourable": favourable, "margin": margin}
        page = level_frontier_page(
            frontier, choice, dict(facts.roles), title=title, owner=owner, **stated
        )
    else:
        page = frontier_page(facts, _audits(facts, audits or {}), title, owner)
    check_writable(path)
    return write_atomically(path, page.render())


def frontier_page(
    facts: FrontierFacts,
    audits: Sequence[AuditFacts] = (),
    title: str | None = None,
    owner: str | None = None,
) -> Page:
    """Return the report of a frontier."""
    views = Views(facts.points, facts.chosen or 0)
    known = next((audit for audit in audits if audit.causal), None)
    low, high = facts.strengths[0], facts.strengths[-1]
    rows = facts.frontier.parts.get(facts.part, {}).get("rows")
    estimator = facts.frontier.fingerprint.get("estimator", {}).get("class")
    about = f"What fairness costs: {shown(estimator)}" if estimator else "What fairness costs"
    plain = {
        name: f"{_write(facts, name, facts.points[0])} at strength {low:g}" for name in KEY[1:]
    }
    return Page(
        kicker="Fairness frontier",
        title=shown(title, 200) if title else about,
        lead=f"{len(facts.points)} strengths from {low:g} to {high:g}, judged on "
        + (f"{count(rows)} {facts.part} rows" if rows else f"the {facts.part} rows"),
        headline=headline_of(views if known is None else Views(audits, views.start)),
        numbers=key_numbers(views, plain),
        about=_about(facts, owner),
        sections=[*_sections(facts, views, audits, known), sign_off(owner)],
        slider=Slider(facts.strengths, views.start, facts.chosen),
        data={
            "part": facts.part,
            "points": [{"strength": p.strength, "parts": p.point.parts} for p in facts.points],
        },
    )


def _about(facts: FrontierFacts, owner: str | None) -> dict[str, str]:
    """Return what was judged."""
    (low, high), roles = facts.points[0].groups, facts.roles
    stated, dropped = facts.points[0].stated, roles.get("dropped") or ()
    labels = "scored" in stated
    target = facts.units.name if not labels else roles.get("target") or ""
    found = {
        "target": shown(target) if target else "",
        "scored label": shown(stated["scored"]) if labels else "",
        "favourable": shown(stated["favourable"] or "not stated") if labels else "",
        "sensitive": f"{shown(roles.get('sensitive') or 'z')}: {high} against {low}",
        "columns dropped": shown(", ".join(map(str, dropped)), 300) if dropped else "",
        "chosen": "" if facts.choice is None else f"strength {facts.choice.strength:g}",
        "owner": shown(owner, 200) if owner else "",
    }
    return {name: value for name, value in found.items() if value}


def _audits(facts: FrontierFacts, audits: Mapping[float, Any]) -> list[AuditFacts]:
    """Return an audit per strength, or none at all."""
    missing = [strength for strength in facts.strengths if strength not in audits]
    if audits and missing:
        raise ValueError(
            f"audits lacks {len(missing)} of {len(facts.strengths)} strengths, such as "
            f"{missing[0]:g}; give one for each, or none"
        )
    return [AuditFacts.of(audits[strength]) for strength in facts.strengths if audits]


def _sections(
    facts: FrontierFacts,
    views: Views[PointFacts],
    audits: Sequence[AuditFacts],
    known: AuditFacts | None,
) -> Iterator[Section]:
    """Yield the sections; `known` is an audit that has looked at the data, if one has."""
    yield _tradeoff_section(facts, views)
    if views.first.effect("explained")["estimate"] is not None:
        yield sweep_effects(views)
    yield _parts_section(facts, views)
    if audits:
        judged = Views(audits, views.start)
        yield groups_section(judged)
        yield calibration_section(judged)
    decided = views if known is None else Views(audits, views.start)
    checked, notes = list(_checked(facts)), list(_notes(facts, known))
    yield from data_sections(known, basis_of(decided), checked, notes)
    yield from closing_sections("What the sweep was made of.", dict(_settings(facts)))


# --- the trade-off --------------------------------------------------------------------------------


def _tradeoff_section(facts: FrontierFacts, views: Views[PointFacts]) -> Section:
    """Show what every strength costs and what it leaves."""
    known = views.first.direct["estimate"] is not None
    marked = "" if facts.chosen is None else " The square marks the strength that was chosen."
    blocks = [_tradeoff(facts, views, known, marked), *([_along(views)] if known else [])]
    return Section(
        "tradeoff",
        "What fairness costs",
        "Each dot is a model of its own, with the intervals of both figures; the large one is the "
        "strength the slider stands at. The models are judged on the same rows, so that they "
        f"differ by less chance than the intervals show.{marked}",
        blocks,
    )


def _tradeoff(facts: FrontierFacts, views: Views[PointFacts], known: bool, marked: str) -> Chart:
    units, utility = facts.units, facts.frontier.utility
    quality = MEASURES[utility]
    what = f"direct effect in the {units.scores}" if known else f"gap of the {units.scores}"

    def drawn(point: PointFacts) -> Iterator[dict[str, Any]]:
        across, up = point.metric(DIRECT if known else "score_gap"), point.metric(utility)
        x, y = across["estimate"], up["estimate"]
        chosen = facts.choice is not None and point.strength == facts.choice.strength
        text = f"{units.signed(x)}, {number(y)}"
        ends = {f"x_{end}": across[end] for end in ("low", "high")}
        ends |= {f"y_{end}": up[end] for end in ("low", "high")}
        yield {"strength": point.strength, "x": x, "y": y, **ends, "chosen": chosen, "text": text}

    kept = _known(lambda name: (point.value(name) for point in facts.points))
    table = Table(
        f"Every strength on the {facts.part} rows",
        ("strength", *(named(label, units) for label in kept.values())),
        [(f"{p.strength:g}", *(_write(facts, name, p) for name in kept)) for p in facts.points],
    )
    return Chart(
        "tradeoff",
        f"{quality[0].upper()}{quality[1:]} against the {what}",
        f"A dot per strength with its intervals: {quality} upwards, {what} to the right, with a "
        f"line at zero.{marked}",
        charts.tradeoff(views.rows(drawn), what, quality, views.start, units),
        table,
    )


def _along(views: Views[PointFacts]) -> Chart:
    units = views.first.units
    what = f"The direct effect in the {units.scores} at every strength"

    def drawn(point: PointFacts) -> Iterator[dict[str, Any]]:
        text = estimate(point.direct, units.signed)
        yield {"strength": point.strength, **point.direct, "text": text}

    return Chart(
        "along",
        f"{what}, with its interval",
        "A line with a band against the strength; where the band holds zero, these rows cannot "
        "tell the direct effect from none.",
        charts.along(views.rows(drawn), views.start, units),
        Table(
            f"{what}, in {units.long_name}",
            ("strength", "direct effect", "interval"),
            [
                (
                    f"{point.strength:g}",
                    units.signed(point.direct["estimate"]),
                    interval(point.direct, units.signed),
                )
                for point in views.each
            ],
        ),
    )


def _parts_section(facts: FrontierFacts, views: Views[PointFacts]) -> Section:
    """Show the figures of the slider's strength on every part of the rows."""
    kept = _known(lambda name: (views.first.value(name, part) for part in facts.parts))
    table = views.table(
        "Measures of the model at this strength",
        ("measure", *(f"{part} rows" for part in facts.parts)),
        lambda point: [
            (named(label, facts.units), *(_write(facts, name, point, part) for part in facts.parts))
            for name, label in kept.items()
        ],
    )
    return Section(
        "parts",
        "The model at this strength",
        views.text(lambda point: " ".join(_said(facts, point))),
        [table],
    )


def _said(facts: FrontierFacts, point: PointFacts) -> Iterator[str]:
    """Yield what the scores of a strength show, and how good they are."""
    (low, high), units = point.groups, facts.units
    chosen = ""
    if facts.choice is not None and point.strength == facts.choice.strength:
        chosen = f" (the one chosen; rule: {facts.choice.rule})"
    yield (
        f"At strength {point.strength:g}{chosen} the mean {units.scores.removesuffix('s')} of "
        f"{high} less that of {low} is {units.signed(point.value('score_gap'))} "
        f"{units.long_name} on the {point.part} rows."
    )
    plain, utility = facts.points[0], facts.frontier.utility
    reference = f", {percent(plain.value(utility))} at strength {plain.strength:g}"
    quality = f"{percent(point.value(utility))} of the decisions are right"
    beside = f"the AUC is {number(point.value('auc'))}"
    if utility != "accuracy":
        quality = f"The predictions explain {percent(point.value(utility))} of the deviance"
        beside = f"actual over expected is {number(point.value('actual_over_expected'))}"
    yield f"{quality}{'' if point is plain else reference}; {beside}."
    yield (
        "Training rows flatter a model, validation rows a little where they served to choose, test "
        "rows not at all."
    )


def _write(facts: FrontierFacts, name: str, point: PointFacts, part: str | None = None) -> str:
    """Return a measure of a strength as the page writes it."""
    return writer(MEASURES[name], units=facts.units)(point.value(name, part))


def _known(values: Callable[[str], Iterable[float | None]]) -> dict[str, str]:
    """Return the measures with a value, by name, and what they are called."""
    return {
        name: label
        for name, label in MEASURES.items()
        if any(value is not None for value in values(name))
    }


# --- what to keep in mind -------------------------------------------------------------------------


def _checked(facts: FrontierFacts) -> Iterator[Check]:
    if facts.choice is not None and facts.choice.part != facts.part:
        yield Check(
            "good",
            f"The strength was chosen on the {facts.choice.part} rows and is judged on the "
            f"{facts.part} rows.",
        )


def _notes(facts: FrontierFacts, known: AuditFacts | None) -> Iterator[str]:
    """Yield what a reader should keep in mind."""
    yield from facts.frontier.notes
    for failed in facts.frontier.points:
        if failed.error:
            yield f"strength {failed.strength:g} failed: {failed.error}"
    if facts.choice is not None and facts.choice.part == facts.part:
        yield (
            f"the strength was chosen on the {facts.part} rows, on which it is judged here: its "
            "figures look a little too good"
        )
    elif facts.part != "test":
        yield (
            f"the figures are those of the {facts.part} rows; those of a strength that is chosen "
            "by them look a little too good"
        )
    if known is None:
        yield "overlap and balance are not part of a sweep: audit the chosen model for them"


def _settings(facts: FrontierFacts) -> Iterator[tuple[str, Any]]:
    group = facts.points[0].groups[1]
    if facts.choice is not None:
        yield "chosen by", facts.choice.rule
    for name, about in facts.frontier.parts.items():
        rows, share = about.get("rows"), about.get("share_z1")
        weight = " of the weight" if "exposure" in about else ""
        yield f"{name} rows", f"{count(rows)}, of which {percent(share)}{weight} {group}"
    made = facts.frontier.fingerprint
    for name, value in {**made.get("estimator", {}), **made.get("settings", {})}.items():
        yield "estimator" if name == "class" else str(name).replace("_", " "), value
    for name, value in made.get("versions", {}).items():
        yield f"version of {name}", value
