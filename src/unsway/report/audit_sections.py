"""Sections about scores: the groups, the calibration, a baseline.

Each takes one audit, or one per position of a slider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..auditing.numbers import signed
from . import charts
from .audit_facts import AuditFacts, Audits, at_start, moved, place_of
from .page import Chart, Section, Words
from .words import (
    Moving,
    Table,
    count,
    estimate,
    interval,
    number,
    percent,
    points,
    span,
)

#: Measures in [0, 1] that are drawn by group.
BY_GROUP = {
    "base_rate": "positive labels",
    "mean_score": "mean score",
    "selection_rate": "selected",
    "recall": "recall",
    "false_positive_rate": "false positives",
    "precision": "precision",
    "accuracy": "accuracy",
    "auc": "AUC",
}
#: The rest of the table by group.
MORE_BY_GROUP = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
#: Measures between the groups.
BETWEEN = {
    "score_gap": "mean score, points",
    "selection_rate_difference": "selection rate, points",
    "demographic_parity_difference": "demographic parity difference",
    "demographic_parity_ratio": "demographic parity ratio",
    "equal_opportunity_difference": "equal opportunity difference",
    "equal_opportunity_ratio": "equal opportunity ratio",
    "equalized_odds_difference": "equalised odds difference",
    "equalized_odds_ratio": "equalised odds ratio",
}


# --- groups ---------------------------------------------------------------------------------------


def groups_section(audits: Audits, start: int) -> Section:
    """Show how good the scores are for each group, and how far the groups are apart."""
    first = audits[start]
    more = "; other thresholds stand in the last table" if len(first.thresholds) > 1 else ""
    return Section(
        "groups",
        "The groups side by side",
        f"A row is selected when its score exceeds {first.threshold:g}{more}. Group metrics look "
        "at results alone and do not ask why they differ.",
        [_group_chart(audits, start), _between(audits, start), *_thresholds(audits, start)],
    )


def _group_chart(audits: Audits, start: int) -> Chart:
    places = ("z=0", "z=1")
    rows = [
        {
            "measure": label,
            "group": group,
            "position": position,
            **{key: audit.metric(name, place)[key] for key in ("estimate", "low", "high")},
        }
        for position, audit in enumerate(audits)
        for name, label in BY_GROUP.items()
        for place, group in zip(places, audit.groups, strict=True)
        if audit.metric(name, place)["estimate"] is not None
    ]

    def cell(name: str, place: str) -> str | Moving:
        return moved(audits, start, lambda audit: _rate(audit.metric(name, place)))

    return Chart(
        "groups",
        "Labels, decisions and scores by group",
        "For each measure a mark per group with its interval, from 0 to 1.",
        charts.groups(rows, audits[start].groups, place_of(audits, start)),
        Table(
            "Measures overall and by group",
            ("measure", "overall", *audits[start].groups),
            [
                (label, *(cell(name, place) for place in ("overall", *places)))
                for name, label in {**BY_GROUP, **MORE_BY_GROUP}.items()
            ],
        ),
    )


def _rate(found: Mapping[str, Any]) -> str:
    text, ends = number(found["estimate"]), span(found)
    return f"{text} ({ends})" if ends else text


def _between(audits: Audits, start: int) -> Table:
    def cell(name: str) -> str | Moving:
        kept = _rate if "ratio" in name or "parity" in name or "equal" in name else estimate
        return moved(audits, start, lambda audit: kept(audit.metric(name)))

    return Table(
        "Between the groups",
        ("measure", f"value ({audits[start].confidence:.0%} interval)"),
        [(label, cell(name)) for name, label in BETWEEN.items()],
    )


def _thresholds(audits: Audits, start: int) -> list[Table]:
    """Return decisions at every threshold, where there are several."""
    first = audits[start]
    if len(first.thresholds) == 1:
        return []

    def cell(name: str, place: str | None, threshold: float) -> str | Moving:
        write = points if place is None else number
        return moved(audits, start, lambda a: write(a.metric(name, place, threshold)["estimate"]))

    low, high = first.groups
    return [
        Table(
            "Decisions by threshold",
            ("threshold", f"selected of {low}", f"selected of {high}", "selection gap, points",
             "accuracy", "equalised odds difference"),
            [
                (
                    f"{threshold:g}",
                    cell("selection_rate", "z=0", threshold),
                    cell("selection_rate", "z=1", threshold),
                    cell("selection_rate_difference", None, threshold),
                    cell("accuracy", "overall", threshold),
                    cell("equalized_odds_difference", "between", threshold),
                )
                for threshold in first.thresholds
            ],
        )
    ]  # fmt: skip


# --- calibration ----------------------------------------------------------------------------------


def calibration_section(audits: Audits, start: int) -> Section:
    """Show whether scores mean what they say, for each group."""
    low, high = audits[start].groups

    def error(audit: AuditFacts) -> str:
        sizes = [
            percent(audit.metric("calibration_error", place)["estimate"])
            for place in ("z=0", "z=1")
        ]
        return (
            f"Scores and shares of positive labels differ by {sizes[0]} for {low} and {sizes[1]} "
            f"for {high}, on average over the bins."
        )

    return Section(
        "calibration",
        "Calibration",
        "Of the rows with a score near 0.7, about 70% should have a positive label. Where the "
        "labels hold a direct effect, a score without one cannot be calibrated for both groups.",
        [_calibration_chart(audits, start), Words([moved(audits, start, error)])],
    )


def _calibration_chart(audits: Audits, start: int) -> Chart:
    names = dict(zip(("z=0", "z=1"), audits[start].groups, strict=True))
    rows = [
        {
            "group": names[row["group"]],
            "score": row["mean_score"],
            "share": row["positive_share"],
            "rows": row["weight"],
            "low": row["low"],
            "high": row["high"],
            "position": place,
        }
        for place, audit in enumerate(audits)
        for row in audit.calibration
        if row["group"] in names
    ]
    cells = [
        (row["group"], number(row["score"]), number(row["share"]), count(row["rows"]))
        for row in rows
        if row["position"] == start
    ]
    return Chart(
        "calibration",
        "Share of positive labels by score",
        "A curve per group: the share of positive labels against the mean score in bins of the "
        "score. On the diagonal scores mean what they say.",
        charts.calibration(rows, audits[start].groups, place_of(audits, start)),
        Table(
            "Calibration by group" + at_start(audits),
            ("group", "mean score", "positive labels", "rows"),
            cells,
        ),
    )


# --- a baseline -----------------------------------------------------------------------------------

#: Measures a model and a baseline are compared in.
COMPARED = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "score_gap": "score gap, points",
    "selection_rate_difference": "selection gap, points",
    "equalized_odds_difference": "equalised odds difference",
}


def comparison_section(audit: AuditFacts) -> Section:
    """Show the model beside a baseline, with paired intervals of the differences."""
    found = audit.comparison or {}
    kept = {
        row["metric"]: row
        for row in found["differences"]
        if row["group"] in ("overall", "between") and row["threshold"] in (None, audit.threshold)
    }
    rows = [
        (label, *_compared(kept[name], in_points=label.endswith("points")))
        for name, label in COMPARED.items()
        if name in kept
    ]
    gap = next(iter(found["direct_effect_left_differences"].values()), None)
    lead = "Both models on the same rows; intervals are those of the difference itself."
    if gap is not None:
        lead += f" The direct effect left differs by {estimate(gap)} percentage points."
    columns = ("measure", "baseline", "model", "difference", "interval")
    table = Table("The model beside the baseline", columns, rows)
    return Section("baseline", "Beside the baseline", lead, [table])


def _compared(row: Mapping[str, Any], *, in_points: bool) -> tuple[str, str, str, str]:
    """Return a baseline's and a model's number, their difference, and its interval."""
    both = (row["reference_value"], row["value"], row["difference"])
    if in_points:
        return (
            points(both[0]),
            points(both[1]),
            points(both[2]),
            interval(row["low"], row["high"]),
        )
    return (number(both[0]), number(both[1]), signed(both[2]), span(row))
