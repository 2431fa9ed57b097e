"""Sections about scores: key numbers, the groups, the calibration, a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ..auditing.numbers import POINTS, Units, number, signed
from . import charts
from .facts import DIRECT, LEFT, AuditFacts, numbers_of, renamed
from .html import Chart, Check, Checks, Headline, KeyNumber, Section, Table, Text
from .number_sections import lift_blocks
from .views import AnyViews, Views
from .words import Writer, count, estimate, interval, percent

#: Measures of a model by what they are called; a name that ends in "points" is a difference of
#: shares.
MEASURES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "score_gap": "score gap, points",
    "selection_rate_difference": "selection gap, points",
    "equalized_odds_difference": "equalised odds difference",
    DIRECT: "direct effect, points",
    "pass_through": "pass-through",
    LEFT: "score gap less explained, points",
    "deviance_explained": "share of the deviance explained, D²",
    "deviance": "mean deviance",
    "rmse": "root mean squared error",
    "gini": "Gini coefficient",
    "actual_over_expected": "actual over expected",
}
#: Those at the head of a page; what is not known is left out.
KEY = (
    *(DIRECT, "pass_through", "score_gap", "selection_rate_difference"),
    *("accuracy", "deviance_explained", "gini", "actual_over_expected"),
)
#: So many of them at most.
MOST_NUMBERS = 5
#: Measures of the table by group that are not drawn; the others lie in [0, 1].
NOT_DRAWN = ("log_loss", "brier", "calibration_error")
#: Measures by group.
BY_GROUP = {
    "base_rate": "positive labels",
    "mean_score": "mean score",
    "selection_rate": "selected",
    "recall": "recall",
    "false_positive_rate": "false positives",
    "precision": "precision",
    **{name: MEASURES[name] for name in ("accuracy", "auc", *NOT_DRAWN)},
}
#: Measures between the groups.
BETWEEN = {
    "score_gap": "mean score, points",
    "selection_rate_difference": "selection rate, points",
    "demographic_parity_difference": "demographic parity difference",
    "demographic_parity_ratio": "demographic parity ratio",
    "equal_opportunity_difference": "equal opportunity difference",
    "equal_opportunity_ratio": "equal opportunity ratio",
    "equalized_odds_difference": MEASURES["equalized_odds_difference"],
    "equalized_odds_ratio": "equalised odds ratio",
}
#: The groups by the names an audit has for them.
GROUPS = ("z=0", "z=1")


def writer(label: str, other: Writer = number, units: Units = POINTS) -> Writer:
    """Return what writes a measure with this name: differences, shares, or the other."""
    if label == MEASURES["pass_through"]:
        return partial(percent, decimals=0)
    if label == MEASURES["rmse"]:
        return units.plain
    if label == MEASURES["deviance"]:
        return partial(number, decimals=4)
    return units.signed if label.endswith("points") else other


def named(label: str, units: Units) -> str:
    """Return what a measure is called, with the units of its differences."""
    return label.replace("score", units.scores.removesuffix("s")).replace("points", units.name)


def headline_of(views: AnyViews) -> Headline:
    """Return the decision at the head of the page."""
    return Headline(
        views.text(lambda view: view.decision.level),
        views.text(lambda view: view.decision.headline),
        views.text(lambda view: " ".join(view.decision.sentences)),
        views.text(lambda view: " ".join(view.decision.next_steps)),
    )


def basis_of(views: AnyViews) -> Text | Checks:
    """Return what the decision rests on: a list, or a paragraph where a slider moves it."""
    if len(views.each) > 1:
        return Text("", [views.text(lambda view: " ".join(view.decision.basis))])
    checks = [Check("unknown", line) for line in views.first.decision.basis]
    return Checks("What the decision rests on", checks)


def key_numbers(views: AnyViews, below: Mapping[str, str] | None = None) -> list[KeyNumber]:
    """Return the few numbers at the head of the page, with a line below or with their intervals."""
    known = [each for each in KEY if _is_told(each, views.first.metric(each))]
    return [_key_number(views, name, (below or {}).get(name)) for name in known[:MOST_NUMBERS]]


def _is_told(name: str, found: Mapping[str, Any]) -> bool:
    """Return whether a measure is known; a share that the data do not bound is not."""
    bounded = name != "pass_through" or {found["low"], found["high"]} != {None}
    return found["estimate"] is not None and bounded


def _key_number(views: AnyViews, name: str, below: str | None) -> KeyNumber:
    units = views.first.units
    label, write = named(MEASURES[name], units), writer(MEASURES[name], units=units)
    value = views.text(lambda view: write(view.metric(name)["estimate"]))
    ends = views.text(lambda view: interval(view.metric(name), write))
    return KeyNumber(label[0].upper() + label[1:], value, ends if below is None else below)


# --- groups ---------------------------------------------------------------------------------------


def groups_section(views: Views[AuditFacts]) -> Section:
    """Show how good the scores are for each group, and how far the groups are apart."""
    thresholds = views.first.thresholds
    more = "; other thresholds stand in the last table" if len(thresholds) > 1 else ""
    return Section(
        "groups",
        "The groups side by side",
        f"A row is selected when its score exceeds {thresholds[0]:g}{more}. Group metrics look "
        "at results alone and do not ask why they differ.",
        [_group_chart(views), _between(views), *_selections(views), *_thresholds(views)],
    )


def _group_chart(views: Views[AuditFacts]) -> Chart:
    def drawn(audit: AuditFacts) -> Iterator[dict[str, Any]]:
        for name, label in BY_GROUP.items():
            for group, shown in zip(GROUPS, audit.groups, strict=True):
                metric = audit.metric(name, group)
                if name not in NOT_DRAWN and metric["estimate"] is not None:
                    yield {"measure": label, "group": shown, **numbers_of(metric)}

    return Chart(
        "groups",
        "Labels, decisions and scores by group",
        "For each measure a mark per group with its interval, from 0 to 1.",
        charts.groups(views.rows(drawn), views.first.groups, views.position),
        views.table(
            "Measures overall and by group",
            ("measure", "overall", *views.first.groups),
            lambda audit: [
                (label, *(estimate(audit.metric(name, g), number) for g in ("overall", *GROUPS)))
                for name, label in BY_GROUP.items()
            ],
        ),
    )


def _between(views: Views[AuditFacts]) -> Table:
    return views.table(
        "Between the groups",
        ("measure", f"value ({views.first.settings['confidence']:.0%} interval)"),
        lambda audit: [
            (label, estimate(audit.metric(name), writer(label))) for name, label in BETWEEN.items()
        ],
    )


def _selections(views: Views[AuditFacts]) -> Iterator[Table]:
    """Yield who is decided otherwise than by a fair ranking that selects as many."""
    if not all(audit.causal.get("selections") for audit in views.each):
        return
    low, high = views.first.groups

    def lines(audit: AuditFacts) -> Iterator[tuple[str, ...]]:
        rows = {(r["rule"], r["count"], r["group"]): r for r in audit.causal["selections"]}
        for (rule, _, group), row in rows.items():
            if group == "z=0":
                each = (estimate(rows[rule, row["count"], g], count) for g in GROUPS)
                yield f"{rule}: {row['meaning']}", *each

    yield views.table(
        "People per 1,000 of each group, compared with a fair ranking that selects as many; "
        "intervals lack the error of that ranking",
        ("count", low, high),
        lines,
    )


def _thresholds(views: Views[AuditFacts]) -> Iterator[Table]:
    """Yield decisions at every threshold, where there are several."""
    thresholds, (low, high) = views.first.thresholds, views.first.groups
    if len(thresholds) == 1:
        return
    overall = ("selection_rate_difference", "accuracy", "equalized_odds_difference")
    columns = {
        f"selected of {low}": ("selection_rate", "z=0"),
        f"selected of {high}": ("selection_rate", "z=1"),
        **{MEASURES[name]: (name, None) for name in overall},
    }

    def line(audit: AuditFacts, threshold: float) -> Iterator[str]:
        yield f"{threshold:g}"
        for label, (name, group) in columns.items():
            yield writer(label)(audit.metric(name, group, threshold)["estimate"])

    yield views.table(
        "Decisions by threshold",
        ("threshold", *columns),
        lambda audit: [tuple(line(audit, threshold)) for threshold in thresholds],
    )


# --- calibration ----------------------------------------------------------------------------------


def calibration_section(views: Views[AuditFacts]) -> Section:
    """Show whether scores mean what they say, for each group."""
    low, high = views.first.groups

    def error(audit: AuditFacts) -> str:
        first, second = (
            percent(audit.metric("calibration_error", group)["estimate"]) for group in GROUPS
        )
        return (
            f"Scores and shares of positive labels differ by {first} for {low} and {second} "
            f"for {high}, on average over the bins."
        )

    return Section(
        "calibration",
        "Calibration",
        "Of the rows with a score near 0.7, about 70% should have a positive label. Where the "
        "labels hold a direct effect, a score without one cannot be calibrated for both groups.",
        [_calibration_chart(views), Text("", [views.text(error)])],
    )


def _calibration_chart(views: Views[AuditFacts]) -> Chart:
    names = dict(zip(GROUPS, views.first.groups, strict=True))
    fields = {"score": "mean_score", "share": "positive_share", "rows": "weight"}
    fields |= {"low": "low", "high": "high"}

    def drawn(audit: AuditFacts) -> Iterator[dict[str, Any]]:
        for row in audit.calibration:
            if row["group"] in names:
                yield {"group": names[row["group"]], **renamed(row, **fields)}

    return Chart(
        "calibration",
        "Share of positive labels by score",
        "A curve per group: the share of positive labels against the mean score in bins of the "
        "score. On the diagonal scores mean what they say.",
        charts.calibration(views.rows(drawn), views.first.groups, views.position),
        Table(
            "Calibration by group" + views.when,
            ("group", "mean score", "positive labels", "rows"),
            [
                (row["group"], number(row["score"]), number(row["share"]), count(row["rows"]))
                for row in drawn(views.first)
            ],
        ),
    )


# --- a baseline -----------------------------------------------------------------------------------


def comparison_section(audit: AuditFacts) -> Section:
    """Compare the model with a baseline, with paired intervals of the differences."""
    kept = {
        row["metric"]: row
        for row in audit.comparison["differences"]
        if row["group"] in ("overall", "between")
        and row["threshold"] in (None, *audit.thresholds[:1])
    }
    rows, units = [], audit.units
    for name, label in MEASURES.items():
        if name in kept:
            found, write = kept[name], writer(label, units=units)
            values = (write(found["reference_value"]), write(found["value"]))
            difference = writer(label, signed, units)(found["difference"])
            rows.append((named(label, units), *values, difference, interval(found, write)))
    gap = next(iter(audit.comparison["direct_effect_left_differences"].values()), None)
    lead = "Both models on the same rows; intervals are those of the difference itself."
    if gap is not None:
        lead += (
            f" Their {units.scores.removesuffix('s')} gaps differ by "
            f"{estimate(gap, units.signed)} {units.long_name}."
        )
    columns = ("measure", "baseline", "model", "difference", "interval")
    table = Table("The model beside the baseline", columns, rows)
    return Section("baseline", "Beside the baseline", lead, [table, *lift_blocks(audit)])
