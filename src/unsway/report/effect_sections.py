"""What goes directly and what goes through the covariates, in labels and in scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..auditing.numbers import POINTS, Units, number, points
from . import charts
from .facts import NOTHING, AuditFacts, PointFacts, numbers_of, renamed
from .html import Block, Chart, Section, Table
from .views import AnyViews, View, Views
from .words import estimate, interval, shown

#: Effects in the order of their table: what kind they are and what they say.
EFFECTS = {
    "total": ("whole", "whole, between the groups"),
    "explained": ("through covariates", "through covariates, mean"),
    "indirect_reference": ("through covariates", "through covariates, held at z = 0"),
    "indirect_group": ("through covariates", "through covariates, held at z = 1"),
    "direct_everyone": ("direct", "direct, mean over everyone"),
    "direct_reference": ("direct", "direct, for z = 0"),
    "direct_group": ("direct", "direct, for z = 1"),
    "direct_overlap": ("direct", "direct, where the groups overlap"),
}
#: The parts of the scores' gap: what they are called on an axis, and their kind.
PARTS = {
    "explained": ("the covariates, explain", charts.THROUGH),
    "sharpness": ("sharpness, of the scores", charts.SHARP),
    "passed_on": ("passed on, by proxies", charts.DIRECTLY),
    "z_itself": ("the attribute, itself", charts.DIRECTLY),
    "rest": ("other, differences", charts.DIRECTLY),
}


def audit_effects(audit: AuditFacts) -> Section:
    """Show both parts of the gap, and all that an audit knows of the effects."""
    forest = _forest(audit, f"{audit.settings['confidence']:.0%}", _effects(audit))
    through = estimate(audit.effect("explained"))
    split = _parts(audit) if audit.causal.get("parts") else _decomposition(Views([audit]), through)
    return _section(
        audit,
        f"{shown(audit.sensitive)} itself does, those columns held fixed",
        [split, forest, *_curves(audit)],
    )


def _effects(audit: AuditFacts) -> Table:
    """Return the effects on labels and on scores, or on a target of numbers, also as ratios."""
    if audit.units == POINTS:
        return Table(
            "Effects on labels and scores, in percentage points",
            ("effect", "on the labels", "on the scores"),
            [
                (label, *(estimate(audit.effect(name, on)) for on in ("labels", "scores")))
                for name, label in _known(audit)
            ],
        )
    units, ratios = audit.units, audit.causal.get("ratios") or {}
    return Table(
        f"Effects on {units.name}",
        ("effect", "difference", *(["ratio"] if ratios else [])),
        [
            (
                label,
                estimate(audit.effect(name), units.signed),
                *([estimate(ratios[name], number)] if name in ratios else [""] if ratios else []),
            )
            for name, label in _known(audit)
        ],
    )


def appendix(audit: AuditFacts) -> Iterator[Section]:
    """Yield the coefficients of the surrogate, which few readers need."""
    tables = list(_surrogate(audit))
    if tables:
        lead = "The regression that the penalty DirectEffect uses; no decision rests on it."
        yield Section("appendix", "Appendix: surrogate coefficients", lead, tables)


def sweep_effects(views: Views[PointFacts]) -> Section:
    """Show both parts of the gap at the slider's strength."""
    first, units = views.first, views.first.units
    table = Table(
        f"Effects on the {units.outcome}, in {units.long_name}",
        ("effect", "estimate (interval)"),
        [(label, estimate(first.effect(name), units.signed)) for name, label in _known(first)],
    )
    forest = _forest(first, "their", table, " No strength changes them.")
    through = units.signed(first.effect("explained")["estimate"])
    whole = all(view.metric(f"gap_{name}")["estimate"] is not None
                for view in views.each for name in PARTS)  # fmt: skip
    blocks = [_parts_by_view(views) if whole else _decomposition(views, through), forest]
    return _section(first, "the sensitive attribute itself does", blocks)


def _section(first: View, itself: str, blocks: Sequence[Block]) -> Section:
    low, high = first.groups
    return Section(
        "effects",
        "What goes directly, what through the covariates",
        f"All differences are {high} minus {low}. What goes through the covariates is what "
        "remains when only the columns a model may use differ; what goes directly is what "
        f"{itself}. Fair {first.units.scores} keep the first and have none of the second.",
        blocks,
    )


def _parts(audit: AuditFacts) -> Chart:
    """Draw where the gap of the scores comes from."""
    found = audit.causal["parts"]
    direct = {**found["direct"], **dict(list(audit.decision.direct.items())[:4])}
    table = Table(
        _PARTS_TITLE.format(units=audit.units),
        ("part", "size (interval)"),
        _part_lines(found, direct, audit.units),
    )
    bars = charts.waterfall(_part_bars(found, audit.units), units=audit.units)
    return _parts_chart(audit, bars, table)


def _parts_by_view(views: Views[PointFacts]) -> Chart:
    """Draw where the gap of the scores comes from, at the slider's strength."""
    units = views.first.units

    def found(point: PointFacts) -> dict[str, Mapping[str, Any]]:
        return {name: point.metric(f"gap_{name}") for name in PARTS}

    bars = views.rows(lambda point: iter(_part_bars(found(point), units)))
    table = views.table(
        _PARTS_TITLE.format(units=units),
        ("part", "size (interval)"),
        lambda point: _part_lines(found(point), point.direct, units),
    )
    return _parts_chart(views.first, charts.waterfall(bars, views.position, units=units), table)


_PARTS_TITLE = "Parts of the gap on the scale of the {units.outcome}, in {units.long_name}"


def _parts_chart(view: View, bars: dict[str, Any], table: Table) -> Chart:
    low, high = view.groups
    return Chart(
        "decomposition",
        f"Where the gap of the {view.units.scores} comes from, {high} minus {low}",
        "Bars one below the other, each beginning where the one above ends: what the covariates "
        "explain, what the sharpness of the scores adds or takes away, what columns that stand for "
        "the group pass on, what the attribute itself adds, and the rest; the last bar is the gap.",
        bars,
        table,
    )


def _part_bars(found: Mapping[str, Mapping[str, Any]], units: Units) -> list[dict[str, Any]]:
    """Return the parts as bars, and the whole gap below them."""
    sizes = {name: found[name]["estimate"] for name in PARTS}
    names = {name: label.replace("scores", units.scores) for name, (label, _) in PARTS.items()}
    whole = f"gap, of the {units.scores}"
    return [
        *_falling([(names[name], PARTS[name][1], size) for name, size in sizes.items()], units),
        _bar(whole, charts.WHOLE, 0.0, sum(sizes.values()), units),
    ]


def _part_lines(
    found: Mapping[str, Mapping[str, Any]], direct: Mapping[str, Any], units: Units
) -> list[tuple[str, ...]]:
    """Return the parts as lines of a table, with the direct effect and the whole gap."""
    names = {name: label.replace("scores", units.scores) for name, (label, _) in PARTS.items()}
    return [
        *((names[name].replace(",", ""), estimate(found[name], units.signed)) for name in PARTS),
        ("direct: the last three", estimate(direct, units.signed)),
        (f"gap of the {units.scores}", units.signed(sum(found[n]["estimate"] for n in PARTS))),
    ]


def _decomposition(views: AnyViews, through: str) -> Chart:
    """Draw the gap of labels and scores, split in two."""
    units = views.first.units
    return Chart(
        "decomposition",
        "The gap between the groups, split in two",
        f"Two pairs of bars, for the {units.outcome} and for the {units.scores}: what goes through "
        "the covariates, and, beginning where it ends, what goes directly.",
        charts.waterfall(views.rows(_bars), views.position, units=units),
        views.table(
            f"The gap in {units.long_name}, split in two",
            ("in the", charts.THROUGH, charts.DIRECTLY),
            lambda view: [
                (of, through, estimate(direct, units.signed))
                for of, direct in _direct(view).items()
            ],
        ),
    )


def _direct(view: View) -> dict[str, Mapping[str, Any]]:
    """Return the direct part of the labels' gap and of the scores'."""
    of_labels = {**NOTHING, "estimate": view.label_direct}
    return {view.units.outcome: of_labels, view.units.scores: view.direct}


def _bars(view: View) -> Iterator[dict[str, Any]]:
    """Yield two bars for each gap; the direct part begins where the other ends."""
    through = view.effect("explained")["estimate"]
    for of, direct in _direct(view).items():
        if through is None or direct["estimate"] is None:
            continue
        ways = ((charts.THROUGH, through), (charts.DIRECTLY, direct["estimate"]))
        yield from _falling([(f"{of}, {way}", way, size) for way, size in ways], view.units)


def _falling(signed: Iterable[tuple[str, str, float]], units: Units) -> Iterator[dict[str, Any]]:
    """Yield parts by name, kind and size as bars, each beginning where the one before ends."""
    begin = 0.0
    for part, kind, size in signed:
        yield _bar(part, kind, begin, begin + size, units)
        begin += size


def _bar(part: str, kind: str, begin: float, end: float, units: Units) -> dict[str, Any]:
    side = "right" if end >= begin else "left"
    label = units.signed(end - begin)
    return {"part": part, "kind": kind, "begin": begin, "end": end, "label": label, "side": side}


def _known(view: View) -> list[tuple[str, str]]:
    """Return the effects that were estimated, and what they say."""
    low, high = view.groups

    def named(label: str) -> str:
        return label.replace("z = 0", shown(low, 16)).replace("z = 1", shown(high, 16))

    return [
        (name, named(label))
        for name, (_, label) in EFFECTS.items()
        if view.effect(name)["estimate"] is not None
    ]


def _forest(view: View, whose: str, table: Table, more: str = "") -> Chart:
    units = view.units
    rows = [
        {
            "name": label,
            "kind": EFFECTS[name][0],
            "text": estimate(view.effect(name), units.signed),
            **numbers_of(view.effect(name)),
        }
        for name, label in _known(view)
    ]
    return Chart(
        "forest",
        f"Effects on the {units.outcome}, with {whose} intervals",
        "Estimates with their intervals, one below the other: the whole difference, what goes "
        f"through the covariates, and what goes directly.{more}",
        charts.forest(rows, units),
        table,
    )


def _curves(audit: AuditFacts) -> Iterator[Chart]:
    names = {"of": "on", "b": "b", "y": "estimate", "low": "band_low", "high": "band_high"}
    rows = [
        {**renamed(row, **names), "text": points(row["estimate"])}
        for row in audit.causal.get("curves") or ()
    ]
    cells = [(row["of"], number(row["b"], 2), row["text"], interval(row)) for row in rows]
    if rows:
        yield Chart(
            "curves",
            "The direct effect along the propensity, with simultaneous bands",
            "Two curves with bands, the direct effect on the labels and on the scores, against how "
            "likely z = 1 is given the covariates; zero is no effect.",
            charts.curves(rows),
            Table(
                "The direct effect along the propensity, in percentage points",
                ("of", "propensity", "effect", "band"),
                cells[:: max(1, len(cells) // 60)],
            ),
        )


def _surrogate(audit: AuditFacts) -> Iterator[Table]:
    kinds = ("labels", "fair", "scores")
    rows = [
        (_greek(row["coefficient"]), *(number(row[kind]) for kind in kinds))
        for row in audit.causal.get("surrogate") or ()
    ]
    if rows:
        yield Table(
            "Regression on the propensity b and z: α is the power of b, β its product with z; the "
            "scores should have the fair coefficients",
            ("coefficient", *kinds),
            rows,
        )


def _greek(name: str) -> str:
    return name.replace("alpha_", "α").replace("beta_", "β")
