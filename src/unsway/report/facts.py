"""The numbers of audits and frontiers as the reports read them; only here their form is known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..auditing.inputs import MARGIN
from ..auditing.numbers import POINTS, Units, units_of
from ..auditing.verdict import Decision, labels_direct
from ..sweeps import Choice, Frontier, Point, Store
from .words import count, group_name, shown

#: The forms of `Audit.to_dict` the report can read.
SCHEMA_VERSIONS = (2,)
#: Tables that only an audit of numbers has.
_TABLES = ("deciles", "lorenz", "double_lift")
NOTHING: Mapping[str, Any] = {"estimate": None, "low": None, "high": None, "se": None}
#: The first measure of a report: what its decision is about.
DIRECT = "direct_effect"
#: The gap of the scores as they are less what is explained, where no better measure is known.
LEFT = "direct_effect_left"
#: Parts of the rows to judge by, best first; one with a direct effect left comes before others.
JUDGED = ("test", "validation", "train")


def renamed(row: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return some values of a row under new names: those that a chart gives them.

    Examples
    --------
    >>> renamed({"on": "labels", "estimate": 0.2, "se": 0.1}, of="on", y="estimate")
    {'of': 'labels', 'y': 0.2}
    """
    return {new: row[name] for new, name in names.items()}


def numbers_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimate and the ends of its interval, as charts draw them."""
    return renamed(row, estimate="estimate", low="low", high="high")


class _Judged(ABC):
    """What an audit and a strength of a frontier have in common."""

    units: Units

    @abstractmethod
    def effect(self, name: str, on: str = "labels") -> Mapping[str, Any]:
        """Return an effect of z on the labels, or on the scores."""

    @abstractmethod
    def metric(self, name: str) -> Mapping[str, Any]:
        """Return a measure of all rows or between the groups, with its interval."""

    @property
    def direct(self) -> Mapping[str, Any]:
        """The direct effect in the scores, which the decision is about."""
        return self.metric(DIRECT)

    @property
    def label_direct(self) -> float | None:
        """The direct part of the labels' gap: the other end of its bar."""
        return labels_direct(self.effect("total")["estimate"], self.effect("explained")["estimate"])


@dataclass(frozen=True, kw_only=True)
class AuditFacts(_Judged):
    """What an audit found, by name.

    Parameters
    ----------
    sensitive : str
        Name of the sensitive column, or "z".
    groups : tuple of str
        The names of z = 0 and z = 1 as they are shown.
    rows : tuple of int
        Rows with z = 0 and with z = 1.
    decision : Decision
        What is claimed of the direct effect in the scores.
    facts : sequence of str
        What else was found, in sentences.
    metrics, calibration : sequence of mappings
        Rows of the audit's tables.
    causal : mapping
        The causal part; empty where there is none.
    missing : str
        Why there is none.
    comparison : mapping
        The model compared with a baseline; empty without one.
    settings : mapping
        How the audit was made.
    about : mapping
        What was audited, in words.
    classes : tuple of str
        What labels of 0 and 1 stand for.
    units : Units, default=POINTS
        How effects are written.
    tables : mapping
        Of an audit of numbers: tenths of the predictions, the Lorenz curve, the double lift.
    """

    sensitive: str
    groups: tuple[str, str]
    rows: tuple[int, int]
    decision: Decision
    facts: Sequence[str]
    metrics: Sequence[Mapping[str, Any]] = field(repr=False)
    calibration: Sequence[Mapping[str, Any]] = field(repr=False)
    causal: Mapping[str, Any] = field(repr=False)
    missing: str
    comparison: Mapping[str, Any] = field(repr=False)
    settings: Mapping[str, Any]
    about: Mapping[str, Any]
    classes: tuple[str, str]
    units: Units = POINTS
    tables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, audit: Any) -> AuditFacts:
        """Read an `Audit` or a `NumberAudit`, or what its ``to_dict`` gave."""
        if not isinstance(audit, Mapping) and not hasattr(audit, "to_dict"):
            raise TypeError(f"audit must be an Audit; got {type(audit).__name__}")
        found = audit if isinstance(audit, Mapping) else audit.to_dict()
        version = found.get("schema_version")
        if version not in SCHEMA_VERSIONS:
            raise ValueError(
                f"the audit has schema version {version!r}; this report reads {SCHEMA_VERSIONS[0]}"
            )
        sensitive, units = found["sensitive"], POINTS
        if "unit" in found:
            units = units_of(found["settings"]["loss"], shown(found["unit"]), found["scale"])
        return cls(
            sensitive="z" if sensitive["name"] is None else str(sensitive["name"]),
            groups=_group_names(sensitive["levels"]),
            rows=(int(found["rows"]["z=0"]), int(found["rows"]["z=1"])),
            decision=Decision.from_dict(found["decision"]),
            facts=found["facts"],
            metrics=found["metrics"],
            calibration=found.get("calibration", ()),
            causal=found["causal"] or {},
            missing=str(found["missing"] or ""),
            comparison=found["comparison"] or {},
            settings=found["settings"],
            about=found["about"],
            classes=tuple(found.get("classes", ("", ""))),
            units=units,
            tables={name: found[name] for name in _TABLES if name in found},
        )

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Scores above one are selected; the report speaks of the first. Numbers have none."""
        return tuple(self.settings.get("thresholds", ()))

    def metric(
        self, name: str, group: str | None = None, threshold: float | None = None
    ) -> Mapping[str, Any]:
        """Return a measure of a group, at a threshold (the first) if it needs one."""
        if name == DIRECT:
            return self.decision.direct
        if name == "pass_through":
            return self.decision.pass_through or NOTHING
        groups = ("overall", "between") if group is None else (group,)
        thresholds = (None, *(self.thresholds[:1] if threshold is None else (threshold,)))
        for row in self.metrics:
            if row["metric"] == name and row["group"] in groups and row["threshold"] in thresholds:
                return row
        return NOTHING

    def effect(self, name: str, on: str = "labels") -> Mapping[str, Any]:
        """Return an effect of z on the labels or on the scores."""
        found: Mapping[str, Any] = (self.causal.get(on) or {}).get(name) or NOTHING
        return found

    @property
    def notes(self) -> list[str]:
        """What to keep in mind."""
        notes = [f"The direct effect was not judged: {self.missing}."] if self.missing else []
        notes += self.causal.get("notes", ())
        given, used = self.causal.get("rows_given"), self.causal.get("rows")
        if given and used and used < given:
            notes.append(f"Effects were estimated on {count(used)} of the {count(given)} rows.")
        return notes


@dataclass(frozen=True)
class PointFacts(_Judged):
    """What a frontier found at one strength.

    Parameters
    ----------
    point : Point
        The strength with its measures on each part of the rows.
    part : str
        The part to judge by.
    effects : mapping
        Effects of z on the labels of that part.
    groups : tuple of str
        The names of z = 0 and z = 1 as they are shown.
    stated : mapping
        What the decision takes as given: the margin, the scored and the favourable label.
    units : Units, default=POINTS
        How effects are written.
    """

    point: Point
    part: str
    effects: Mapping[str, Mapping[str, Any]] = field(repr=False)
    groups: tuple[str, str]
    stated: Mapping[str, Any] = field(default_factory=dict)
    units: Units = POINTS

    @property
    def strength(self) -> float:
        """The strength."""
        return self.point.strength

    @property
    def decision(self) -> Decision:
        """What is claimed of the direct effect in the scores of this strength."""
        return self.point.decision(self.part, self.groups, units=self.units, **self.stated)

    def value(self, measure: str, part: str | None = None) -> float | None:
        """Return a measure on a part of the rows; None where there is none."""
        value = self.point.value(measure, part or self.part)
        return float(value) if math.isfinite(value) else None

    def metric(self, name: str) -> Mapping[str, Any]:
        """Return a measure with its interval, where it has one."""
        if name == DIRECT and self.value(DIRECT) is None:
            name = LEFT
        ends = {end: self.value(f"{name}_{end}") for end in ("low", "high")}
        return {"estimate": self.value(name), **ends}

    def effect(self, name: str, on: str = "labels") -> Mapping[str, Any]:
        """Return an effect of z on the labels; a sweep knows none on the scores."""
        return (self.effects.get(name) if on == "labels" else None) or NOTHING


@dataclass(frozen=True, kw_only=True)
class FrontierFacts:
    """A frontier and the choice that was made from it.

    Parameters
    ----------
    frontier : Frontier
    choice : Choice or None
    points : sequence of PointFacts
        The strengths that were fitted, in increasing order.
    """

    frontier: Frontier
    choice: Choice | None
    points: Sequence[PointFacts] = field(repr=False)
    roles: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        frontier: Any,
        choice: Any = None,
        favourable: str | None = None,
        margin: float = MARGIN,
    ) -> FrontierFacts:
        """Read a `Frontier` and the `Choice` that was made from it."""
        if not isinstance(frontier, Frontier):
            raise TypeError(f"frontier must be a Frontier; got {type(frontier).__name__}")
        if choice is not None and not isinstance(choice, Choice):
            raise TypeError(f"choice must be a Choice; got {type(choice).__name__}")
        fitted = [point for point in frontier.points if not point.error]
        if not fitted:
            raise ValueError("no strength of the frontier was fitted without an error")
        if choice is not None and all(point.strength != choice.strength for point in fitted):
            raise ValueError(f"choice has strength {choice.strength:g}, which the frontier lacks")
        parts = [name for name in JUDGED if name in frontier.part_names]
        known = [name for name in parts if math.isfinite(fitted[0].value(LEFT, name))]
        part = (known or parts)[0]
        facts = frontier.parts.get(part, {})
        effects = facts.get("effects", {})
        roles = _roles(frontier, fitted[0].strength)
        levels = roles.get("sensitive_levels") or (0, 1)
        groups = _group_names(levels[:2])  # the page of more levels names them itself
        units = target_units(facts, roles)
        stated: dict[str, Any] = {"margin": margin}
        if units == POINTS:
            stated |= {"scored": str(roles.get("positive") or "1"), "favourable": favourable or ""}
        points = [PointFacts(point, part, effects, groups, stated, units) for point in fitted]
        return cls(frontier=frontier, choice=choice, points=points, roles=roles)

    @property
    def units(self) -> Units:
        """How effects are written."""
        return self.points[0].units

    @property
    def strengths(self) -> list[float]:
        """The strengths that were fitted."""
        return [point.strength for point in self.points]

    @property
    def chosen(self) -> int | None:
        """The position of the strength that was chosen."""
        return None if self.choice is None else self.strengths.index(self.choice.strength)

    @property
    def part(self) -> str:
        """The part of the rows to judge by."""
        return self.points[0].part

    @property
    def parts(self) -> list[str]:
        """The parts of the rows that have figures, training rows first."""
        return [name for name in reversed(JUDGED) if name in self.frontier.part_names]


def _roles(frontier: Frontier, strength: float) -> dict[str, Any]:
    """Return the roles of the columns, from a model or its card, where either says so."""
    levels: Any = getattr(frontier.models.get(strength), "sensitive_levels_", None)
    if levels is not None:
        return {"sensitive_levels": tuple(levels)}
    roles: dict[str, Any] = {}
    if frontier.store is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            roles = dict(Store(frontier.store).card(strength)["roles"])
    return roles


def target_units(facts: Mapping[str, Any], roles: Mapping[str, Any]) -> Units:
    """Return how effects are written, from facts about rows and from the roles of columns.

    Examples
    --------
    >>> found = target_units({"loss": "poisson", "scale": 0.2, "per": None}, {"target": "claims"})
    >>> found.name, target_units({}, {}) == POINTS
    ('claims', True)
    """
    if "loss" not in facts:
        return POINTS
    per = roles.get("exposure") or facts["per"]
    target = shown(roles.get("target") or "y")
    return units_of(facts["loss"], f"{target} per {shown(per)}" if per else target, facts["scale"])


def _group_names(levels: Sequence[Any]) -> tuple[str, str]:
    low, high = levels
    names = (group_name(0, low), group_name(1, high))
    return names if names[0] != names[1] else ("z = 0", "z = 1")
