"""What goes directly and what goes through the covariates, in labels and in scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import charts
from .audit_facts import AuditFacts, Audits, at_start, moved, place_of
from .page import Chart, Section
from .words import Moving, Table, estimate, interval, number, points, shown

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


def effects_section(audits: Audits, start: int) -> Section:
    """Show what goes directly and what goes through the covariates."""
    first = audits[start]
    low, high = first.groups
    name = shown(first.sensitive)
    blocks: list[Any] = [decomposition(audits, start), _forest(audits, start)]
    blocks += _curves(audits, start)
    blocks += _surrogate(first)
    return Section(
        "effects",
        "What goes directly, what through the covariates",
        f"All differences are {high} minus {low}. What goes through the covariates is what "
        "remains when only the columns a model may use differ; what goes directly is what "
        f"{name} itself does, those columns held fixed. A fair score keeps the first and has none "
        "of the second.",
        blocks,
    )


def bars(
    of: str, through: float | None, gap: float | None, direct: float | None
) -> Iterator[dict[str, Any]]:
    """Yield the two bars of a gap; the direct part begins where the other ends."""
    if through is None or gap is None:
        return
    ends = (through, gap)
    right = max(ends) > 0
    yield {
        "of": of,
        "way": THROUGH,
        "begin": 0.0,
        "end": through,
        "label": points(through),
        "side": "middle",
        "at": min(ends, key=abs) / 2,
    }
    yield {
        "of": of,
        "way": DIRECT,
        "begin": through,
        "end": gap,
        "label": points(direct),
        "side": "right" if right else "left",
        "at": max(0.0, *ends) if right else min(0.0, *ends),
    }


def decomposition(audits: Audits, start: int) -> Chart:
    """Draw the gap of labels and scores, split in two."""
    rows = [
        {**bar, "position": place}
        for place, audit in enumerate(audits)
        for bar in (
            *bars("labels", audit.effect("explained")["estimate"],
                  audit.effect("total")["estimate"], audit.label_direct),
            *bars("scores", audit.effect("explained")["estimate"],
                  audit.metric("score_gap")["estimate"], audit.left["estimate"]),
        )
    ]  # fmt: skip
    through = moved(audits, start, lambda a: estimate(a.effect("explained")))
    cells = [
        (
            "labels",
            moved(audits, start, lambda a: estimate(a.effect("total"))),
            through,
            moved(audits, start, lambda a: points(a.label_direct)),
        ),
        (
            "scores",
            moved(audits, start, lambda a: estimate(a.metric("score_gap"))),
            through,
            moved(audits, start, lambda a: estimate(a.left)),
        ),
    ]
    return Chart(
        "decomposition",
        "The gap between the groups, split in two",
        "Two bars, the gap in the labels and the gap in the scores; each begins with the part that "
        "goes through the covariates and ends with the part that goes directly.",
        charts.decomposition(rows, place_of(audits, start)),
        Table(
            "The gap in percentage points, split in two",
            ("gap of", "whole", THROUGH, DIRECT),
            cells,
        ),
    )


def _forest(audits: Audits, start: int) -> Chart:
    first = audits[start]
    names = [name for name in EFFECTS if first.effect(name)["estimate"] is not None]
    rows = [
        {
            "name": EFFECTS[name][1],
            "kind": EFFECTS[name][0],
            "text": estimate(first.effect(name)),
            **{key: first.effect(name)[key] for key in ("estimate", "low", "high")},
        }
        for name in names
    ]

    def cell(name: str, on: str) -> str | Moving:
        return moved(audits, start, lambda audit: estimate(audit.effect(name, on)))

    return Chart(
        "forest",
        f"Effects on the labels, with {first.confidence:.0%} intervals",
        "Estimates with their intervals, one below the other: the whole difference, what goes "
        "through the covariates, and what goes directly.",
        charts.forest(rows),
        Table(
            "Effects on labels and scores, in percentage points",
            ("effect", "on the labels", "on the scores"),
            [(EFFECTS[name][1], cell(name, "labels"), cell(name, "scores")) for name in names],
        ),
    )


def _curves(audits: Audits, start: int) -> list[Chart]:
    rows = [
        {
            "of": "labels" if row["on"] == "labels" else "scores",
            "b": row["b"],
            "y": row["estimate"],
            "low": row["band_low"],
            "high": row["band_high"],
            "text": points(row["estimate"]),
            "position": place,
        }
        for place, audit in enumerate(audits)
        for row in (audit.causal or {}).get("curves") or ()
    ]
    if not rows:
        return []
    cells = [
        (row["of"], number(row["b"], 2), row["text"], interval(row["low"], row["high"]))
        for row in rows
        if row["position"] == start
    ]
    return [
        Chart(
            "curves",
            "The direct effect along the propensity, with simultaneous bands",
            "Two curves with bands, the direct effect on the labels and on the scores, against how "
            "likely z = 1 is given the covariates; zero is no effect.",
            charts.curves(rows, place_of(audits, start)),
            Table(
                "The direct effect along the propensity, in percentage points" + at_start(audits),
                ("of", "propensity", "effect", "band"),
                cells[:: max(1, len(cells) // 60)],
            ),
        )
    ]


def _surrogate(audit: AuditFacts) -> list[Table]:
    rows = (audit.causal or {}).get("surrogate") or ()
    if not rows:
        return []
    return [
        Table(
            "Regression on the propensity b and z: α is the power of b, β its product with z; the "
            "scores should have the fair coefficients",
            ("coefficient", "labels", "fair", "scores"),
            [
                (
                    _greek(row["coefficient"]),
                    *(number(row[k]) for k in ("labels", "fair", "scores")),
                )
                for row in rows
            ],
        )
    ]


def _greek(name: str) -> str:
    kind, _, power = name.partition("_")
    return {"alpha": "α", "beta": "β"}.get(kind, kind) + power
