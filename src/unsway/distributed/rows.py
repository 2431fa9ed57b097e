"""The rows of one process, checked together with those of all the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_length, check_weights, distinct_values, read_column, show_value
from ..copies import find_copies, level_extremes, refuse_copy
from ..core import Loss
from ..grouping import Grouping
from ..groups import Groups
from ..levels import UnknownLevelError
from ..outcome import Outcome, read_exposure
from ..rows import Rows
from ..tables import CodedTable, EngineTable, check_table, columns, row_count
from .collective import Collective


@dataclass(frozen=True)
class Part:
    """One partition: covariates and columns, as the arguments of `FairXGBRegressor.fit`."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any = None
    exposure: Any = None


@dataclass(frozen=True)
class Facts:
    """Columns, levels and classes in a part, or in several parts after `merge`."""

    names: tuple[str, ...] | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    groups: tuple[Any, ...] = ()
    group_rows: tuple[int, ...] = ()
    sensitive_name: str | None = None
    weighted: bool | None = None
    exposed: bool | None = None

    @classmethod
    def of(cls, part: Part, loss: Loss | None = None) -> Self:
        """Return the facts of a part, or say what is wrong with it; numbers have a loss."""
        X = check_table(part.X, smallest=0)
        table, weighted = EngineTable.of(X), part.sample_weight is not None
        exposed = part.exposure is not None
        if exposed and loss is None:
            raise TypeError("exposure is for numbers; y is a label")
        if part.sensitive_features is None:
            raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
        if row_count(X) == 0:
            return cls(table.names)
        classes: tuple[Any, ...] = ()
        if loss is None:
            classes, _ = _levels(part, "y")
        else:
            _numbers_of(part, loss)
        _weights_of(part)
        groups, name = _levels(part, "sensitive_features")
        column = _column_of(part, "sensitive_features")[0].tolist()
        counts = Counter(column)
        numeric = tuple(
            column.name
            for column in columns(X)
            if not column.categorical and not np.isnan(column.values).all()
        )
        return cls(
            table.names,
            table.levels,
            numeric,
            classes,
            groups,
            tuple(counts[level] for level in groups),
            name,
            weighted,
            exposed,
        )

    @classmethod
    def merge(cls, facts: Iterable[Self]) -> Self:
        """Return the facts of all parts, or say how two contradict each other."""
        some = [each for each in facts if each.names is not None]
        if not some:
            return cls()
        names = tuple(some[0].names or ())
        for each in some:
            if each.names != some[0].names:
                raise ValueError(
                    "the partitions of X have different columns: "
                    f"{_shown(names)} and {_shown(each.names or ())}"
                )
        weighted = {each.weighted for each in some} - {None}
        exposed = {each.exposed for each in some} - {None}
        for role, found in (("sample_weight", weighted), ("exposure", exposed)):
            if len(found) > 1:
                raise ValueError(f"{role} is given for some partitions only; give all or none")
        levels = {
            name: tuple(sorted(_union(each.levels.get(name, ()) for each in some)))
            for name in names
            if any(name in each.levels for each in some)
        }
        numeric = _union(each.numeric for each in some)
        for name in levels:
            if name in numeric:
                raise ValueError(
                    f"{name!r} holds numbers in some partitions of X and text in others; give "
                    "the column one type in all of them"
                )
        counts = _counted(some)
        return cls(
            names,
            levels,
            tuple(sorted(numeric)),
            _union(each.classes for each in some),
            tuple(counts),
            tuple(counts.values()),
            next((each.sensitive_name for each in some if each.sensitive_name), None),
            next(iter(weighted), None),
            next(iter(exposed), None),
        )


@dataclass(frozen=True)
class Layout:
    """The columns, classes and sensitive levels of all rows.

    ``outcome`` and ``groups`` have one row for each class and each level.
    """

    table: EngineTable
    outcome: Outcome
    groups: Groups
    weighted: bool
    exposed: bool = False

    @classmethod
    def of(cls, facts: Facts, groups: Grouping | None, loss: Loss | None = None) -> Self:
        """Return the layout, or say what is missing in the table; numbers have a loss."""
        if facts.names is None or not facts.groups:
            raise ValueError("X has no rows on any worker")
        if loss is None:
            outcome = Outcome.labels(_column(facts.classes), len(facts.classes))
        else:
            outcome = Outcome(values=np.zeros(0), loss=loss)
        levels = _column(facts.groups)
        array, _ = read_column(levels, "sensitive_features")
        distinct_values(array, "sensitive_features")
        values, places = np.unique(array, return_index=True)
        counts = np.array(facts.group_rows)[places]
        found = Groups.coded(np.arange(len(values)), values, groups=groups, counts=counts)
        if found.kept is not None:
            raise ValueError("only= leaves rows out; take them out of the partitions first")
        if facts.sensitive_name in facts.names:
            raise ValueError(
                f"X contains the sensitive column {facts.sensitive_name!r}; drop it: it is needed "
                "in fit only, as sensitive_features"
            )
        table = EngineTable(facts.names, facts.levels)
        return cls(table, outcome, found, bool(facts.weighted), bool(facts.exposed))

    def rows(self, parts: Sequence[Part], place: str = "") -> tuple[Rows, tuple[Any, ...]]:
        """Return the rows of all parts, with the same codes on all processes, and their tables."""
        parts = [replace(part, X=check_table(part.X, smallest=0)) for part in parts]
        filled = [part for part in parts if row_count(part.X)]
        empty = np.empty((0, len(self.table.names)), np.float32)
        blocks = [self.table.matrix(part.X) for part in filled]
        matrix = blocks[0] if len(blocks) == 1 else np.concatenate([empty, *blocks])
        numbers = [self._outcome_of(part, place) for part in filled]
        groups = [self._group_codes(part, place) for part in filled]
        none, weights = np.zeros(0), None
        if self.weighted or self.exposed:
            weights = np.concatenate([none, *map(_weights_of, filled)])
        rows = Rows(
            X=CodedTable(matrix, self.table),
            outcome=replace(self.outcome, values=np.concatenate([none, *numbers])),
            groups=self.groups.with_codes(np.concatenate([none, *groups]).astype(np.intp)),
            weights=weights,
        )
        return rows, tuple(part.X for part in filled)

    def _outcome_of(self, part: Part, place: str) -> Floats:
        """Return y of a part: codes of its two classes, or numbers per unit of exposure."""
        if self.outcome.is_label:
            return _codes_of(part, "y", self.outcome.classes, place)
        return _numbers_of(part, self.outcome.loss)

    def _group_codes(self, part: Part, place: str) -> NDArray[np.intp]:
        """Return the position of each row's level."""
        values, _ = _column_of(part, "sensitive_features")
        assert self.groups.recoding is not None  # noqa: S101
        try:
            return self.groups.recoding.of(values)
        except UnknownLevelError:
            raise ValueError(
                f"{place} has a sensitive level that the training rows have not"
            ) from None


def ties_of(rows: Rows) -> list[Floats]:
    """Return the columns that order rows with equal X."""
    codes = rows.groups.codes.astype(np.float64)
    return [rows.y, codes] if rows.weights is None else [rows.weights, rows.y, codes]


def read_facts(parts: Sequence[Part], collective: Collective, loss: Loss | None = None) -> Facts:
    """Return the facts of the parts of all processes."""
    mine = collective.agree(lambda: Facts.merge(Facts.of(part, loss) for part in parts))
    texts = collective.texts(json.dumps(mine.__dict__))
    return Facts.merge(Facts(**json.loads(text)) for text in texts)


def check_everywhere(rows: Rows, place: str, collective: Collective) -> None:
    """Raise on all processes if a level or a class has no row or no weight among all rows."""
    classes = () if rows.outcome.classes is None else rows.outcome.classes
    weight = np.ones(len(rows)) if rows.weights is None else rows.weights
    tallies = [rows.groups.codes == code for code in range(rows.groups.n_levels)]
    tallies += [rows.y == code for code in (0, 1)] if len(classes) else []
    counts = collective.sum(
        np.array([[float(each.sum()), float(each @ weight)] for each in tallies])
    )
    named = [("sensitive level", level) for level in rows.groups.levels]
    named += [("class", level) for level in classes]
    advice = "; name other rows with eval_set" if place == "the hold-out" else ""
    for (kind, level), (count, total) in zip(named, counts, strict=True):
        if count == 0 or total == 0:
            several = kind == "sensitive level" and rows.groups.n_levels > 2
            needed = "all are needed" if several else "both are needed"
            lack = "row" if count == 0 else "row with a sample_weight above zero"
            raise ValueError(
                f"{place} has no {lack} of {kind} {show_value(level)}; {needed}{advice}"
            )


def refuse_copies_of_z(rows: Rows, collective: Collective) -> None:
    """Raise on all processes if a column of X is the sensitive attribute, recoded."""
    table, groups = rows.X, rows.groups
    extremes = level_extremes(table.matrix, groups.codes, len(groups.levels))
    copies = find_copies(collective.largest(extremes))
    if len(copies):
        refuse_copy(table.layout.names[copies[0]])


def _column_of(part: Part, role: str) -> tuple[NDArray[Any], str | None]:
    """Return a column of a part, with one value for each row of its X, and the column's name."""
    array, name = read_column(getattr(part, role), role)
    check_length(array, row_count(part.X), role)
    return array, name


def _levels(part: Part, role: str) -> tuple[tuple[Any, ...], str | None]:
    """Return the distinct values of a column, as plain numbers and strings, and its name."""
    array, name = _column_of(part, role)
    levels = set(array.tolist()) if array.dtype.kind == "O" else np.unique(array).tolist()
    for level in levels:
        if not isinstance(level, str | bool | int | float):
            raise TypeError(f"{role} must hold numbers, booleans or strings; got {type(level)!r}")
    if len(levels) > 100:
        raise ValueError(f"{role} has {len(levels)} levels in one partition; give fewer")
    return tuple(levels), name


def _codes_of(part: Part, role: str, levels: Any, place: str) -> Floats:
    """Return 1 where a column has the second of two levels, and 0 where it has the first."""
    values, _ = _column_of(part, role)
    if not np.isin(values, np.asarray(levels)).all():
        kind = "label" if role == "y" else "sensitive level"
        raise ValueError(f"{place} has a {kind} that the training rows have not")
    return np.asarray(values == levels[1], dtype=np.float64)


def _weights_of(part: Part) -> Floats:
    """Return the weights of a part, times its exposure."""
    exposure = 1.0 if part.exposure is None else _exposure_of(part)
    if part.sample_weight is None:
        return np.ones(row_count(part.X)) * exposure
    given, _ = _column_of(part, "sample_weight")
    checked = check_weights(np.append(given, 1.0), len(given) + 1)  # all of one part may be zero
    return np.asarray(checked)[:-1] * exposure


def _exposure_of(part: Part) -> Floats:
    return read_exposure(_column_of(part, "exposure")[0], row_count(part.X))


def _numbers_of(part: Part, loss: Loss) -> Floats:
    """Return counts or amounts of a part, per unit of exposure where there is one."""
    exposure = None if part.exposure is None else np.append(_exposure_of(part), 1.0)
    given = np.append(_column_of(part, "y")[0], 1)  # all of one part may be zero
    return Outcome.numbers(given, len(given), loss=loss, exposure=exposure).values[:-1]


def _union(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple({level: None for levels in parts for level in levels})


def _counted(facts: Iterable[Facts]) -> dict[Any, int]:
    """Return the rows of each sensitive level of all parts."""
    counts: dict[Any, int] = {}
    for each in facts:
        for level, rows in zip(each.groups, each.group_rows, strict=True):
            counts[level] = counts.get(level, 0) + rows
    return counts


def _column(levels: tuple[Any, ...]) -> NDArray[Any]:
    """Return levels as a column; a mixture of text and numbers keeps its types."""
    texts = [isinstance(level, str) for level in levels]
    return np.array(levels, dtype=object if any(texts) and not all(texts) else None)


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
