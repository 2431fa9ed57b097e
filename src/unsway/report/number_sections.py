"""Sections of an audit of counts and amounts: groups, tenths of the predictions, their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..auditing.numbers import Units, number
from ..display import fragment
from ..svg import Interval, Series, curves, intervals
from .facts import AuditFacts
from .html import Block, Figure, Section, Table
from .words import Writer, estimate

Row = Mapping[str, Any]
#: Metrics of a group, their names, and whether they have the unit of the target.
BY_GROUP = {
    "exposure": ("weight of the rows", False),
    "mean_outcome": ("mean of the target", True),
    "mean_score": ("mean prediction", True),
    "actual_over_expected": ("actual over expected", False),
    "deviance": ("mean deviance", False),
    "deviance_explained": ("share of the deviance explained, D²", False),
    "rmse": ("root mean squared error", True),
    "mae": ("mean absolute error", True),
    "gini": ("Gini coefficient", False),
    "calibration_error": ("calibration error, by tenths", True),
}
#: The same between the groups.
BETWEEN = {
    "outcome_gap": ("gap of the target", True),
    "outcome_ratio": ("ratio of the targets", False),
    "score_gap": ("gap of the predictions", True),
    "score_ratio": ("ratio of the predictions", False),
    "actual_over_expected_difference": ("difference of actual over expected", False),
    "actual_over_expected_ratio": ("ratio of actual over expected", False),
    "gini_difference": ("difference of the Gini coefficients", False),
}


def number_sections(facts: AuditFacts) -> Iterator[Section]:
    """Yield what an audit of numbers has in the place of decisions and of their calibration."""
    yield _groups(facts)
    yield _calibration(facts)
    if facts.tables["lorenz"]:
        yield _lorenz(facts)


def _groups(facts: AuditFacts) -> Section:
    """Show how good the predictions are for each group."""
    rows = [
        (label, *(_value(facts, name, place, unit) for place in ("overall", "z=0", "z=1")))
        for name, (label, unit) in BY_GROUP.items()
        if facts.metric(name, "overall")["estimate"] is not None
    ]
    between = [
        (label, _value(facts, name, "between", unit, signs=True))
        for name, (label, unit) in BETWEEN.items()
        if facts.metric(name, "between")["estimate"] is not None
    ]
    lines = []
    for place, label, kind in (("overall", "everyone", "s0"), ("z=0", facts.groups[0], "z0"),
                               ("z=1", facts.groups[1], "z1")):  # fmt: skip
        metric = facts.metric("actual_over_expected", place)
        if metric["estimate"] is not None:
            shifted = {end: _less_one(metric[end]) for end in ("estimate", "low", "high")}
            lines.append(Interval(label=label, kind=kind, **shifted))
    caption = "Actual over expected, less 1"
    return Section(
        "groups",
        "The groups side by side",
        "Actual over expected is the total of the target over that of the predictions. Where the "
        "target holds a direct effect, predictions without one cannot be right for both groups.",
        [
            *([_figure(caption, intervals(lines, title=caption))] if lines else []),
            Table("Measures overall and by group", ("measure", "overall", *facts.groups), rows),
            Table("Between the groups", ("measure", "value"), between),
        ],
    )


def _calibration(facts: AuditFacts) -> Section:
    """Show target and predictions by tenths of the predictions."""
    rows: Sequence[Row] = facts.tables["deciles"]
    series = []
    for place, name, kind in (("z=0", facts.groups[0], "z0"), ("z=1", facts.groups[1], "z1")):
        part = [row for row in rows if row["group"] == place]
        series.append(_series(name, part, "mean_outcome", kind, ends=True))
    overall = [row for row in rows if row["group"] == "overall"]
    series.append(_series("mean prediction", overall, "mean_score", "s0"))
    caption = f"Mean of {facts.units.name} by tenths of the predictions"
    cells = [
        (
            str(row["bin"]),
            facts.units.plain(row["mean_score"]),
            estimate({**row, "estimate": row["mean_outcome"]}, facts.units.plain),
            number(row["actual_over_expected"], 3),
            number(row["weight"], 0),
        )
        for row in overall
    ]
    head = ("tenth", "mean prediction", "mean of the target", "actual over expected", "weight")
    return Section(
        "calibration",
        "Calibration by tenths of the predictions",
        "Rows in the order of their predictions, cut into ten parts of about equal weight.",
        [
            _figure(caption, curves(series, title=caption, x_title="tenth of the predictions",
                                    y_title=facts.units.name)),
            Table(caption, head, cells),
        ],
    )  # fmt: skip


def _lorenz(facts: AuditFacts) -> Section:
    """Show how the predictions order the target."""
    rows: Sequence[Row] = facts.tables["lorenz"]
    x = [row["share_of_weight"] for row in rows]
    y = [row["share_of_total"] for row in rows]
    series = [
        Series(name="order of the predictions", x=x, y=y, low=y, high=y, kind="s1", band=True),
        Series(name="no order", x=[0, 1], y=[0, 1], low=[0, 1], high=[0, 1], band=True),
    ]
    gini = estimate(facts.metric("gini", "overall"), lambda value: number(value, 3))
    caption = f"Lorenz curve; Gini coefficient {gini}"
    picture = curves(series, title=caption, x_title="share of the weight, lowest predictions first",
                     y_title="share of the total")  # fmt: skip
    tenths = [
        (number(100 * row["share_of_weight"], 0), number(100 * row["share_of_total"], 1))
        for row in rows[::10]
    ]
    return Section(
        "order",
        "How the predictions order the target",
        "The farther the curve lies below the diagonal, the better the predictions tell rows with "
        "much from rows with little.",
        [_figure(caption, picture), Table(caption, ("% of the weight", "% of the total"), tenths)],
    )


def lift_blocks(facts: AuditFacts) -> Iterator[Block]:
    """Show where the model and its baseline differ most; nothing where there is none."""
    if not facts.tables.get("double_lift"):
        return
    bins: Sequence[Row] = facts.tables["double_lift"]["bins"]
    rows = [{**row, "bin": k + 1} for k, row in enumerate(bins)]
    series = [
        _series("actual", rows, "mean_outcome", "s0", ends=True),
        _series("baseline", rows, "first", "s2"),
        _series("model", rows, "second", "s1"),
    ]
    caption = "Double lift: rows by the model's prediction over the baseline's"
    picture = curves(series, title=caption, x_title="tenth, the model lowest first",
                     y_title=facts.units.name)  # fmt: skip
    yield _figure(caption, picture)
    columns = ("ratio", "first", "second", "mean_outcome")
    cells = [
        (
            str(row["bin"]),
            number(row[columns[0]], 3),
            *(facts.units.plain(row[c]) for c in columns[1:]),
        )
        for row in rows
    ]
    yield Table(caption, ("tenth", "model over baseline", "baseline", "model", "actual"), cells)


def _figure(caption: str, svg: str) -> Figure:
    return Figure(caption, caption, fragment("", svg))


def _series(
    name: str, rows: Sequence[Row], column: str, kind: str, *, ends: bool = False
) -> Series:
    low, high = ([_known(row[end]) for row in rows] if ends else [] for end in ("low", "high"))
    y = [_known(row[column]) for row in rows]
    return Series(name=name, x=[row["bin"] for row in rows], y=y, low=low, high=high, kind=kind)


def _known(value: float | None) -> float:
    return float("nan") if value is None else value


def _less_one(value: float | None) -> float:
    return _known(value) - 1


def _value(facts: AuditFacts, name: str, group: str, unit: bool, *, signs: bool = False) -> str:
    return estimate(facts.metric(name, group), _writer(facts.units, name, unit, signs))


def _writer(units: Units, name: str, unit: bool, signs: bool) -> Writer:
    if unit:
        return units.signed if signs else units.plain
    return lambda value: number(value, 0 if name == "exposure" else 3)
