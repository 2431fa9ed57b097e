"""The report of an audit of predictions of counts and amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..auditing.number_words import decimals_for
from ..auditing.numbers import number, signed
from ..display import fragment
from ..files import check_writable, write_atomically
from ..svg import Interval, Series, curves, intervals
from .data_sections import closing_sections, data_sections, sign_off
from .effect_sections import EFFECTS
from .facts import NOTHING, AuditFacts
from .html import Figure, Headline, KeyNumber, Page, Section, Table, Text
from .words import count, estimate, group_name, shown

Row = Mapping[str, Any]
#: The forms of `NumberAudit.to_dict` the report can read.
SCHEMA_VERSION = 1
#: Metrics of a group, their names, and whether they have the unit of the target.
BY_GROUP = {
    "exposure": ("weight of the rows", None),
    "mean_outcome": ("mean of the target", True),
    "mean_score": ("mean prediction", True),
    "actual_over_expected": ("actual over expected", False),
    "deviance": ("mean deviance", None),
    "deviance_explained": ("share of the deviance explained, D²", False),
    "rmse": ("root mean squared error", True),
    "mae": ("mean absolute error", True),
    "gini": ("Gini coefficient", False),
    "calibration_error": ("calibration error, by tenths", True),
}
BETWEEN = {
    "outcome_gap": ("gap of the target", True),
    "outcome_ratio": ("ratio of the targets", False),
    "score_gap": ("gap of the predictions", True),
    "score_ratio": ("ratio of the predictions", False),
    "actual_over_expected_difference": ("difference of actual over expected", False),
    "actual_over_expected_ratio": ("ratio of actual over expected", False),
    "gini_difference": ("difference of the Gini coefficients", False),
}
#: Effects by names that fit a picture.
SHORT = {
    "total": "whole",
    "explained": "through covariates",
    "indirect_reference": "through, at z = 0",
    "indirect_group": "through, at z = 1",
    "direct_everyone": "direct, everyone",
    "direct_reference": "direct, for z = 0",
    "direct_group": "direct, for z = 1",
    "direct_overlap": "direct, in overlap",
}
#: Metrics that are the same for any model of the rows.
SAME = ("exposure", "mean_outcome", "outcome_gap", "outcome_ratio")
KEY = ("deviance_explained", "gini", "actual_over_expected")


class NumberFacts:
    """What an audit of numbers found, as the report writes it."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        version = found.get("schema_version")
        if found.get("kind") != "numbers" or version != SCHEMA_VERSION:
            raise ValueError(f"this is no audit of numbers of schema version {SCHEMA_VERSION}")
        self.found = found
        low, high = found["sensitive"]["levels"]
        names = group_name(0, low), group_name(1, high)
        self.groups = names if names[0] != names[1] else ("z = 0", "z = 1")
        self.unit, self.causal = shown(found["unit"]), found["causal"] or {}
        decimals = decimals_for(found["scale"] or 1.0)
        self.plain: Callable[[float | None], str] = lambda value: number(value, decimals)
        self.gap: Callable[[float | None], str] = lambda value: signed(value, decimals)

    def metric(self, name: str, group: str) -> Row:
        """Return a metric of a group, or between the groups."""
        for row in self.found["metrics"]:
            if (row["metric"], row["group"]) == (name, group):
                return dict(row)
        return NOTHING

    def facts(self) -> AuditFacts:
        """Return what the sections about the data read."""
        sensitive = self.found["sensitive"]["name"]
        known: dict[str, Any] = {
            "sensitive": "z" if sensitive is None else str(sensitive),
            "groups": self.groups,
            "rows": (int(self.found["rows"]["z=0"]), int(self.found["rows"]["z=1"])),
            "decision": self.found["decision"],
            "facts": self.found["facts"],
            "metrics": self.found["metrics"],
            "calibration": (),
            "causal": self.causal,
            "missing": str(self.found["missing"] or ""),
            "comparison": self.found["comparison"] or {},
            "settings": self.found["settings"],
            "about": self.found["about"],
            "classes": ("", ""),
        }
        return AuditFacts(**{each.name: known[each.name] for each in fields(AuditFacts)})


def write_number_report(
    audit: Any, path: str | Path, *, title: str | None = None, owner: str | None = None
) -> Path:
    """Write an audit of numbers as one HTML file that opens from disk and asks for nothing.

    Parameters
    ----------
    audit : NumberAudit
        What `unsway.audit_numbers` returned, or the mapping its ``to_dict`` gave.
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
    if not isinstance(audit, Mapping) and not hasattr(audit, "to_dict"):
        raise TypeError(f"audit must be a NumberAudit; got {type(audit).__name__}")
    facts = NumberFacts(audit if isinstance(audit, Mapping) else audit.to_dict())
    check_writable(path)
    return write_atomically(path, number_page(facts, title, owner).render())


def number_page(facts: NumberFacts, title: str | None = None, owner: str | None = None) -> Page:
    """Return the report of one audit."""
    found, (low, high), about = facts.found, facts.groups, facts.facts()
    decision, (zeros, ones) = found["decision"], about.rows
    name = "" if about.sensitive == "z" else f"{shown(about.sensitive)}: "
    return Page(
        kicker="Fairness audit",
        title=shown(title, 200) if title else f"{facts.unit}, {name}{high} against {low}",
        lead=f"{count(zeros + ones)} rows: {count(ones)} of {high}, {count(zeros)} of {low}",
        headline=Headline(
            decision["level"],
            shown(decision["headline"], 300),
            " ".join([*decision["sentences"], *found["facts"]]),
            " ".join(decision["next_steps"]),
        ),
        numbers=list(_key_numbers(facts)),
        about={
            **{str(name): shown(value, 300) for name, value in found["about"].items()},
            "sensitive": f"{shown(about.sensitive)}: {high} against {low}",
            **({"owner": shown(owner, 200)} if owner else {}),
        },
        sections=[*_sections(facts, about), sign_off(owner)],
    )


def _key_numbers(facts: NumberFacts) -> Iterator[KeyNumber]:
    left = facts.causal.get("direct_effect_left")
    if left:
        ends = f"{facts.gap(left['low'])} to {facts.gap(left['high'])}"
        label = f"Direct effect left, {facts.unit}"
        yield KeyNumber(label, facts.gap(left["estimate"]), ends)
    for name in KEY:
        metric, label = facts.metric(name, "overall"), BY_GROUP[name][0]
        if metric["estimate"] is not None:
            ends = (
                ""
                if metric["low"] is None
                else (f"{number(metric['low'], 3)} to {number(metric['high'], 3)}")
            )
            yield KeyNumber(label[0].upper() + label[1:], number(metric["estimate"], 3), ends)


def _sections(facts: NumberFacts, about: AuditFacts) -> Iterator[Section]:
    if facts.causal:
        yield _effects(facts)
    if about.comparison:
        yield _baseline(facts)
    yield _groups(facts)
    yield _calibration(facts)
    if facts.found["lorenz"]:
        yield _lorenz(facts)
    basis = Text("", [
        "The direct effect in the predictions is what of their gap neither the covariates nor "
        "their sharpness explain. It is claimed if its 95% interval excludes 0, and called small "
        "only if its 90% interval lies within the margin and the checks of overlap and balance "
        "passed."
    ])  # fmt: skip
    yield from data_sections(about, basis)
    named = {str(name).replace("_", " "): value for name, value in about.settings.items()}
    who = {"sensitive attribute": about.sensitive, "target": facts.unit}
    who |= {f"z = {k}": f"{facts.groups[k]}, {count(about.rows[k])} rows" for k in (1, 0)}
    yield from closing_sections("What was judged, and how.", {**who, **named})


def _effects(facts: NumberFacts) -> Section:
    """Show what goes directly and what through the covariates."""
    labels, ratios = facts.causal["labels"], facts.causal["ratios"] or {}
    low, high = facts.groups
    known = [(name, label) for name, (_, label) in EFFECTS.items() if name in labels]
    lines = [Interval(label=SHORT[name], kind="s0", **_ends(labels[name])) for name, _ in known]
    left = facts.causal["direct_effect_left"]
    lines.append(Interval(label="left in predictions", kind="s2", **_ends(left)))
    rows = [
        (label, estimate(labels[name], facts.gap), _ratio(ratios.get(name)))
        for name, label in known
    ]
    rows.append(("left in the predictions", estimate(left, facts.gap), ""))
    caption = f"Effects on {facts.unit}, with their intervals"
    return Section(
        "effects",
        "What goes directly, what through the covariates",
        f"All differences are {high} minus {low}, in {facts.unit}; ratios are {high} over {low}. "
        "What goes through the covariates is what remains when only the columns a model may use "
        "differ; what goes directly is what the sensitive attribute itself does.",
        [
            _figure(caption, intervals(lines, title=caption)),
            Table(caption, ("effect", "difference", "ratio"), rows),
        ],
    )


def _groups(facts: NumberFacts) -> Section:
    """Show how good the predictions are for each group."""
    rows = [
        (label, *(_value(facts, name, place, unit) for place in ("overall", "z=0", "z=1")))
        for name, (label, unit) in BY_GROUP.items()
        if facts.metric(name, "overall")["estimate"] is not None
    ]
    between = [
        (label, _value(facts, name, "between", unit, signs=unit))
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


def _calibration(facts: NumberFacts) -> Section:
    """Show target and predictions by tenths of the predictions."""
    rows: Sequence[Row] = facts.found["deciles"]
    series = []
    for place, name, kind in (("z=0", facts.groups[0], "z0"), ("z=1", facts.groups[1], "z1")):
        part = [row for row in rows if row["group"] == place]
        series.append(_series(name, part, "mean_outcome", kind, ends=True))
    overall = [row for row in rows if row["group"] == "overall"]
    series.append(_series("mean prediction", overall, "mean_score", "s0"))
    caption = f"Mean of {facts.unit} by tenths of the predictions"
    cells = [
        (
            str(row["bin"]),
            facts.plain(row["mean_score"]),
            estimate({**row, "estimate": row["mean_outcome"]}, facts.plain),
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
                                    y_title=facts.unit)),
            Table(caption, head, cells),
        ],
    )  # fmt: skip


def _lorenz(facts: NumberFacts) -> Section:
    """Show how the predictions order the target."""
    rows: Sequence[Row] = facts.found["lorenz"]
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


def _baseline(facts: NumberFacts) -> Section:
    """Compare the model with a baseline."""
    named = {**BY_GROUP, **BETWEEN}
    rows = [
        (
            named[row["metric"]][0],
            number(row["reference_value"], 4),
            number(row["value"], 4),
            estimate({**row, "estimate": row["difference"]}, lambda v: signed(v, 4)),
        )
        for row in facts.found["comparison"]["differences"]
        if row["group"] in ("overall", "between") and row["metric"] in named.keys() - set(SAME)
    ]
    head = ("measure", "baseline", "model", "difference")
    blocks: list[Any] = [Table("The model beside the baseline", head, rows)]
    lift = facts.found["double_lift"]
    if lift is not None:
        blocks += _lift(facts, lift["bins"])
    return Section(
        "baseline",
        "Beside the baseline",
        "Both models on the same rows; intervals are those of the difference itself.",
        blocks,
    )


def _lift(facts: NumberFacts, bins: Sequence[Row]) -> Iterator[Any]:
    rows = [{**row, "bin": k + 1} for k, row in enumerate(bins)]
    series = [
        _series("actual", rows, "mean_outcome", "s0", ends=True),
        _series("baseline", rows, "first", "s2"),
        _series("model", rows, "second", "s1"),
    ]
    caption = "Double lift: rows by the model's prediction over the baseline's"
    picture = curves(series, title=caption, x_title="tenth, the model lowest first",
                     y_title=facts.unit)  # fmt: skip
    yield _figure(caption, picture)
    columns = ("ratio", "first", "second", "mean_outcome")
    cells = [
        (str(row["bin"]), number(row[columns[0]], 3), *(facts.plain(row[c]) for c in columns[1:]))
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


def _ends(found: Row) -> dict[str, float]:
    return {end: _known(found[end]) for end in ("estimate", "low", "high")}


def _less_one(value: float | None) -> float:
    return _known(value) - 1


def _ratio(found: Row | None) -> str:
    return "" if found is None else estimate(found, lambda value: number(value, 3))


def _value(
    facts: NumberFacts, name: str, group: str, unit: bool | None, *, signs: bool | None = False
) -> str:
    if unit:
        write = facts.gap if signs else facts.plain
    else:
        write = lambda value: number(value, 0 if name == "exposure" else 3)  # noqa: E731
    return estimate(facts.metric(name, group), write)
