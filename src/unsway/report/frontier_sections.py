"""Sections of a frontier: the trade-off, what goes directly, the figures on every part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import charts
from .effect_sections import DIRECT, EFFECTS, THROUGH, bars
from .frontier_facts import FrontierFacts
from .page import Chart, Section
from .words import Moving, Table, estimate, interval, number, points

#: Measures of the table by part, and how each is written.
MEASURES = {
    "accuracy": ("accuracy", number),
    "auc": ("AUC", number),
    "log_loss": ("log-loss", number),
    "brier": ("Brier score", number),
    "score_gap": ("score gap, points", points),
    "selection_rate_difference": ("selection gap, points", points),
    "direct_effect_left": ("direct effect left, points", points),
}


def tradeoff_section(facts: FrontierFacts, start: int) -> Section:
    """Show what every strength costs and what it leaves."""
    known = facts.left(start)["estimate"] is not None
    what = "direct effect left" if known else "gap of the scores"
    rows: list[dict[str, Any]] = [
        {
            "strength": strength,
            "position": place,
            "x": facts.left(place)["estimate"] if known else facts.value(place, "score_gap"),
            "y": facts.value(place, "accuracy"),
            "chosen": place == facts.chosen,
        }
        for place, strength in enumerate(facts.strengths)
    ]
    for row in rows:
        row["text"] = f"{points(row['x'])}, {number(row['y'])}"
    marked = "" if facts.chosen is None else " The square marks the strength that was chosen."
    blocks: list[Any] = [
        Chart(
            "tradeoff",
            f"Accuracy against the {what}",
            f"A dot per strength, joined in their order: accuracy upwards, {what} to the right, "
            f"with a line at zero.{marked}",
            charts.tradeoff(rows, f"{what}, points", "accuracy", start),
            _strengths(facts),
        )
    ]
    if known:
        blocks.append(_along(facts, start))
    return Section(
        "tradeoff",
        "What fairness costs",
        "Each dot is a model of its own; the large one is the strength the slider stands at. More "
        "strength takes more of the direct effect out, and past zero it takes too "
        f"much.{marked}",
        blocks,
    )


def _strengths(facts: FrontierFacts) -> Table:
    kept = [
        name
        for name in MEASURES
        if any(facts.value(k, name) is not None for k in range(len(facts.strengths)))
    ]
    return Table(
        f"Every strength on the {facts.part} rows",
        ("strength", *(MEASURES[name][0] for name in kept)),
        [
            (f"{strength:g}", *(MEASURES[name][1](facts.value(place, name)) for name in kept))
            for place, strength in enumerate(facts.strengths)
        ],
    )


def _along(facts: FrontierFacts, start: int) -> Chart:
    rows: list[dict[str, Any]] = [
        {
            "strength": strength,
            "position": place,
            "y": facts.left(place)["estimate"],
            "low": facts.left(place)["low"],
            "high": facts.left(place)["high"],
            "text": estimate(facts.left(place)),
        }
        for place, strength in enumerate(facts.strengths)
    ]
    return Chart(
        "along",
        "The direct effect left at every strength, with its interval",
        "A line with a band against the strength; where the band holds zero, these rows cannot "
        "tell the direct effect left from none.",
        charts.along(rows, start),
        Table(
            "The direct effect left at every strength, in percentage points",
            ("strength", "direct effect left", "interval"),
            [
                (f"{row['strength']:g}", points(row["y"]), interval(row["low"], row["high"]))
                for row in rows
            ],
        ),
    )


# --- effects --------------------------------------------------------------------------------------


def effects_section(facts: FrontierFacts, start: int) -> Section:
    """Show what goes directly and what through the covariates, at the slider's strength."""
    low, high = facts.groups
    return Section(
        "effects",
        "What goes directly, what through the covariates",
        f"All differences are {high} minus {low}. What goes through the covariates is what remains "
        "when only the columns a model may use differ; what goes directly is what the sensitive "
        "attribute itself does. A fair score keeps the first and has none of the second.",
        [_decomposition(facts, start), _forest(facts)],
    )


def _decomposition(facts: FrontierFacts, start: int) -> Chart:
    through = facts.effect("explained")["estimate"]
    labels = list(bars("labels", through, facts.effect("total")["estimate"], facts.label_direct))
    rows = [
        {**bar, "position": place}
        for place in range(len(facts.strengths))
        for bar in (
            *labels,
            *bars(
                "scores", through, facts.value(place, "score_gap"), facts.left(place)["estimate"]
            ),
        )
    ]
    places = range(len(facts.strengths))
    cells: list[Sequence[str | Moving]] = [
        ("labels", estimate(facts.effect("total")), points(through), points(facts.label_direct)),
        (
            "scores",
            Moving([points(facts.value(place, "score_gap")) for place in places], start),
            points(through),
            Moving([estimate(facts.left(place)) for place in places], start),
        ),
    ]
    return Chart(
        "decomposition",
        "The gap between the groups, split in two",
        "Two bars, the gap in the labels and the gap in the scores; each begins with the part that "
        "goes through the covariates and ends with the part that goes directly.",
        charts.decomposition(rows, start),
        Table(
            "The gap in percentage points, split in two",
            ("gap of", "whole", THROUGH, DIRECT),
            cells,
        ),
    )


def _forest(facts: FrontierFacts) -> Chart:
    names = [name for name in EFFECTS if facts.effect(name)["estimate"] is not None]
    rows = [
        {
            "name": EFFECTS[name][1],
            "kind": EFFECTS[name][0],
            "text": estimate(facts.effect(name)),
            **{key: facts.effect(name)[key] for key in ("estimate", "low", "high")},
        }
        for name in names
    ]
    return Chart(
        "forest",
        "Effects on the labels, with their intervals",
        "Estimates with their intervals, one below the other: the whole difference, what goes "
        "through the covariates, and what goes directly. No strength changes them.",
        charts.forest(rows),
        Table(
            "Effects on the labels, in percentage points",
            ("effect", "estimate (interval)"),
            [(row["name"], row["text"]) for row in rows],
        ),
    )


# --- parts ----------------------------------------------------------------------------------------


def parts_section(facts: FrontierFacts, start: int) -> Section:
    """Show the figures of the slider's strength on every part of the rows."""
    places = range(len(facts.strengths))

    def cell(name: str, part: str) -> Moving:
        write = MEASURES[name][1]
        return Moving([write(facts.value(place, name, part)) for place in places], start)

    shown: list[Sequence[str | Moving]] = [
        (label, *(cell(name, part) for part in facts.parts))
        for name, (label, _) in MEASURES.items()
        if any(facts.value(start, name, part) is not None for part in facts.parts)
    ]
    table = Table(
        "Measures of the model at this strength",
        ("measure", *(f"{p} rows" for p in facts.parts)),
        shown,
    )
    return Section(
        "parts",
        "The model at this strength",
        "Training rows flatter a model, validation rows a little where they served to choose, test "
        "rows not at all.",
        [table],
    )
