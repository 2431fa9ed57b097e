"""What goes directly and what goes through the covariates, in labels and in scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..auditing.numbers import number, points
from . import charts
from .facts import NOTHING, AnyViews, AuditFacts, PointFacts, View, Views, numbers_of, renamed
from .html import Block, Chart, Section, Table
from .words import estimate, interval, shown

#: Effects in the order of their table: what kind they are and what they say.
EFFECTS = {
    "total": ("whole", "whole, between the groups"),
    "explained": ("through covariates", "through covariates, mean"),
    "indirect_reference": ("through covariates", "through covariates, at z = 0"),
    "indirect_group": ("through covariates", "through covariates, at z = 1"),
    "direct_everyone": ("direct", "direct, mean over everyone"),
    "direct_reference": ("direct", "direct, people with z = 0"),
    "direct_group": ("direct", "direct, people with z = 1"),
    "direct_overlap": ("direct", "direct, where the groups overlap"),
}
THROUGH, DIRECT = "through the covariates", "directly"


def audit_effects(audit: AuditFacts) -> Section:
    """Show both parts of the gap, and all that an audit knows of the effects."""
    table = Table(
        "Effects on labels and scores, in percentage points",
        ("effect", "on the labels", "on the scores"),
        [
            (label, *(estimate(audit.effect(name, on)) for on in ("labels", "scores")))
            for name, label in _known(audit)
        ],
    )
    forest = _forest(audit, f"{audit.settings['confidence']:.0%}", table)
    split = _decomposition(Views([audit]), estimate(audit.effect("explained")))
    return _section(
        audit,
        f"{shown(audit.sensitive)} itself does, those columns held fixed",
        [split, forest, *_curves(audit), *_surrogate(audit)],
    )


def sweep_effects(views: Views[PointFacts]) -> Section:
    """Show both parts of the gap at the slider's strength."""
    first = views.first
    table = Table(
        "Effects on the labels, in percentage points",
        ("effect", "estimate (interval)"),
        [(label, estimate(first.effect(name))) for name, label in _known(first)],
    )
    forest = _forest(first, "their", table, " No strength changes them.")
    through = points(first.effect("explained")["estimate"])
    blocks = [_decomposition(views, through), forest]
    return _section(first, "the sensitive attribute itself does", blocks)


def _section(first: View, itself: str, blocks: Sequence[Block]) -> Section:
    low, high = first.groups
    return Section(
        "effects",
        "What goes directly, what through the covariates",
        f"All differences are {high} minus {low}. What goes through the covariates is what "
        "remains when only the columns a model may use differ; what goes directly is what "
        f"{itself}. A fair score keeps the first and has none of the second.",
        blocks,
    )


def _decomposition(views: AnyViews, through: str) -> Chart:
    """Draw the gap of labels and scores, split in two."""
    return Chart(
        "decomposition",
        "The gap between the groups, split in two",
        "Two bars, the gap in the labels and the gap in the scores; each begins with the part that "
        "goes through the covariates and ends with the part that goes directly.",
        charts.decomposition(views.rows(_bars), views.position),
        views.table(
            "The gap in percentage points, split in two",
            ("gap of", "whole", THROUGH, DIRECT),
            lambda view: [
                (of, estimate(whole), through, estimate(direct))
                for of, (whole, direct) in _gaps(view).items()
            ],
        ),
    )


def _gaps(view: View) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the gap in the labels and in the scores, and the direct part of each."""
    return {
        "labels": (view.effect("total"), {**NOTHING, "estimate": view.label_direct}),
        "scores": (view.metric("score_gap"), view.left),
    }


def _bars(view: View) -> Iterator[dict[str, Any]]:
    """Yield two bars for each gap; the direct part begins where the other ends."""
    through = view.effect("explained")["estimate"]
    for of, (whole, direct) in _gaps(view).items():
        gap = whole["estimate"]
        if through is None or gap is None:
            continue
        ends = (through, gap)
        side, edge = ("right", max(0.0, *ends)) if max(ends) > 0 else ("left", min(0.0, *ends))
        for way, begin, end, size, place, at in (
            (THROUGH, 0.0, through, through, "middle", min(ends, key=abs) / 2),
            (DIRECT, through, gap, direct["estimate"], side, edge),
        ):
            yield {"of": of, "way": way, "begin": begin, "end": end, "label": points(size),
                   "side": place, "at": at}  # fmt: skip


def _known(view: View) -> list[tuple[str, str]]:
    """Return the effects that were estimated, and what they say."""
    return [
        (name, label)
        for name, (_, label) in EFFECTS.items()
        if view.effect(name)["estimate"] is not None
    ]


def _forest(view: View, whose: str, table: Table, more: str = "") -> Chart:
    rows = [
        {
            "name": label,
            "kind": EFFECTS[name][0],
            "text": estimate(view.effect(name)),
            **numbers_of(view.effect(name)),
        }
        for name, label in _known(view)
    ]
    return Chart(
        "forest",
        f"Effects on the labels, with {whose} intervals",
        "Estimates with their intervals, one below the other: the whole difference, what goes "
        f"through the covariates, and what goes directly.{more}",
        charts.forest(rows),
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
