"""The rows of one process, checked together with those of all the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..roles import (
    Floats,
    check_labels,
    check_length,
    check_sensitive,
    check_weights,
    columns,
    row_count,
    vector,
)
from ..tables import EngineTable, check_table
from .collective import Collective


@dataclass(frozen=True)
class Part:
    """One partition: a table of covariates and its columns, as `FairXGBClassifier.fit` has them."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any = None


@dataclass(frozen=True)
class Facts:
    """What parts say about the whole table; those of several parts are merged into one."""

    names: tuple[str, ...] | None = None
    named: bool = False
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    groups: tuple[Any, ...] = ()
    sensitive_name: str | None = None
    weighted: bool | None = None

    @classmethod
    def of(cls, part: Part) -> Self:
        """Read the facts off a part, or say what is wrong with it."""
        X = check_table(part.X, smallest=0)
        n_rows, table = row_count(X), EngineTable.of(X)
        if part.sensitive_features is None:
            raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
        weighted = part.sample_weight is not None
        if n_rows == 0:
            return cls(table.names, table.named)
        _check_weights(part.sample_weight, n_rows)
        classes, _ = _levels(part.y, n_rows, "y")
        groups, name = _levels(part.sensitive_features, n_rows, "sensitive_features")
        numeric = tuple(
            column.name
            for column in columns(X)
            if not column.categorical and not np.isnan(column.values).all()
        )
        return cls(table.names, table.named, table.levels, numeric, classes, groups, name, weighted)

    @classmethod
    def merge(cls, facts: Iterable[Self]) -> Self:
        """Return the facts of all, or say where two contradict each other."""
        some = [each for each in facts if each.names is not None]
        if not some:
            return cls()
        first = some[0]
        for each in some:
            if each.names != first.names:
                raise ValueError(
                    "the partitions of X have different columns: "
                    f"{_shown(first.names or ())} and {_shown(each.names or ())}"
                )
        filled = [each for each in some if each.weighted is not None]
        if len({each.weighted for each in filled}) > 1:
            raise ValueError("sample_weight is given for some partitions only; give all or none")
        levels = {
            name: tuple(sorted({*(level for each in some for level in each.levels.get(name, ()))}))
            for name in (first.names or ())
            if any(name in each.levels for each in some)
        }
        numeric = {name for each in some for name in each.numeric}
        for name in levels:
            if name in numeric:
                raise ValueError(
                    f"{name!r} holds numbers in some partitions of X and words in others; give "
                    "the column one type in all of them"
                )
        return cls(
            first.names,
            first.named,
            levels,
            tuple(sorted(numeric)),
            _union(each.classes for each in some),
            _union(each.groups for each in some),
            next((each.sensitive_name for each in some if each.sensitive_name), None),
            filled[0].weighted if filled else None,
        )

    def to_json(self) -> str:
        """Return the facts as text."""
        return json.dumps(self.__dict__)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the facts that were written as this text."""
        found = json.loads(text)
        for name in ("names", "numeric", "classes", "groups"):
            found[name] = None if found[name] is None else tuple(found[name])
        found["levels"] = {name: tuple(levels) for name, levels in found["levels"].items()}
        return cls(**found)


@dataclass(frozen=True)
class Layout:
    """What is common to all rows: columns, classes, and what z = 0 and z = 1 stand for."""

    table: EngineTable
    named: bool
    classes: NDArray[Any]
    sensitive_levels: tuple[Any, Any]
    weighted: bool

    @classmethod
    def of(cls, facts: Facts, positive_level: Any) -> Self:
        """Return the layout, or say what the table lacks."""
        if facts.names is None or not facts.classes:
            raise ValueError("X has no rows on any worker")
        _, classes = check_labels(_column(facts.classes), len(facts.classes))
        groups = _column(facts.groups)
        sensitive = check_sensitive(groups, len(groups), positive_level)
        if facts.sensitive_name in facts.names:
            raise ValueError(
                f"X contains the sensitive column {facts.sensitive_name!r}; drop it: it is needed "
                "in fit only, as sensitive_features"
            )
        table = EngineTable(facts.names, facts.levels)
        return cls(table, facts.named, classes, sensitive.levels, bool(facts.weighted))


@dataclass(frozen=True)
class LocalRows:
    """The rows here: what an engine and an objective need, and the tables they come from."""

    tables: tuple[Any, ...] = field(repr=False)
    matrix: NDArray[Any] = field(repr=False)
    y: Floats = field(repr=False)
    z: Floats = field(repr=False)
    weights: Floats | None = field(repr=False)

    @classmethod
    def of(cls, parts: Sequence[Part], layout: Layout, place: str = "") -> Self:
        """Encode the parts by the common layout."""
        width = len(layout.table.names)
        blocks, labels, groups, weights = [np.empty((0, width), np.float32)], [], [], []
        tables = []
        for part in parts:
            X = check_table(part.X, smallest=0)
            n_rows = row_count(X)
            if n_rows == 0:
                continue
            tables.append(X)
            blocks.append(layout.table.matrix(X))
            y, _ = vector(part.y, "y")
            z, _ = vector(part.sensitive_features, "sensitive_features")
            _check_known(y, layout.classes, "label", place)
            _check_known(z, layout.sensitive_levels, "sensitive level", place)
            labels.append((y == layout.classes[1]).astype(np.float64))
            groups.append((z == layout.sensitive_levels[1]).astype(np.float64))
            if layout.weighted:
                weights.append(_check_weights(part.sample_weight, n_rows))
        none = np.zeros(0)
        return cls(
            tuple(tables),
            blocks[1] if len(blocks) == 2 else np.concatenate(blocks),
            np.concatenate([none, *labels]),
            np.concatenate([none, *groups]),
            np.concatenate([none, *weights]) if layout.weighted else None,
        )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def ties(self) -> list[Floats]:
        """What tells rows apart that are alike in X."""
        return [self.y, self.z] if self.weights is None else [self.weights, self.y, self.z]


def read_facts(parts: Sequence[Part], collective: Collective) -> Facts:
    """Return what all processes' parts say together."""
    mine = collective.agree(lambda: Facts.merge(map(Facts.of, parts)))
    return Facts.merge(map(Facts.from_json, collective.texts(mine.to_json())))


def check_everywhere(rows: LocalRows, layout: Layout, place: str, collective: Collective) -> None:
    """Raise, on all processes, if a level or a class has no row or no weight among all rows."""
    weight = np.ones(len(rows)) if rows.weights is None else rows.weights
    tallies = [(values == level) for values in (rows.z, rows.y) for level in (0, 1)]
    counts = collective.sum(
        np.array([[float(each.sum()), float(each @ weight)] for each in tallies])
    )
    named = [("sensitive level", level) for level in layout.sensitive_levels]
    named += [("class", level) for level in layout.classes.tolist()]
    advice = "; name other rows with eval_set" if place == "the hold-out" else ""
    for (kind, level), (count, total) in zip(named, counts, strict=True):
        if count == 0 or total == 0:
            lack = "row" if count == 0 else "row with a sample_weight above zero"
            raise ValueError(f"{place} has no {lack} of {kind} {level!r}; both are needed{advice}")


def refuse_copies_of_z(rows: LocalRows, layout: Layout, collective: Collective) -> None:
    """Raise, on all processes, if a column of X is the sensitive attribute, recoded."""
    width = rows.matrix.shape[1]
    ends = np.full((2, 2, width), -np.inf)  # by level: the largest value, and minus the smallest
    for level in (0, 1):
        inside = rows.matrix[rows.z == level]
        if len(inside):
            ends[level] = [inside.max(axis=0), -inside.min(axis=0)]
    ends[np.isnan(ends)] = np.inf  # a missing value is no copy of z
    high, low = np.moveaxis(collective.largest(ends), 1, 0)
    constant = (high == -low).all(axis=0)
    copies = np.flatnonzero(constant & (high[0] != high[1]))
    if len(copies):
        raise ValueError(
            f"X contains the sensitive attribute: {layout.table.names[copies[0]]!r} is the same as "
            "sensitive_features up to its coding; drop that column"
        )


def _levels(values: Any, n_rows: int, role: str) -> tuple[tuple[Any, ...], str | None]:
    """Return the distinct values of a column, as plain numbers and strings, and its name."""
    array, name = vector(values, role)
    check_length(array, n_rows, role)
    found = set(array.tolist()) if array.dtype.kind == "O" else np.unique(array).tolist()
    for level in found:
        if not isinstance(level, str | bool | int | float):
            raise TypeError(f"{role} must hold numbers, booleans or strings; got {type(level)!r}")
    if len(found) > 100:
        raise ValueError(f"{role} has {len(found)} levels in one partition; it must have two")
    return tuple(found), name


def _check_weights(sample_weight: Any, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    given = vector(sample_weight, "sample_weight")[0]
    check_length(given, n_rows, "sample_weight")
    checked = check_weights(np.append(given, 1.0), n_rows + 1)  # all of one part may be zero
    return np.asarray(checked)[:-1]


def _check_known(values: NDArray[Any], known: Iterable[Any], kind: str, place: str) -> None:
    if not np.isin(values, np.asarray(list(known))).all():
        raise ValueError(f"{place} has a {kind} that the training rows have not")


def _union(found: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple({level: None for levels in found for level in levels})


def _column(levels: tuple[Any, ...]) -> NDArray[Any]:
    """Return levels as a column; words and numbers side by side are not made alike."""
    texts = [isinstance(level, str) for level in levels]
    return np.array(levels, dtype=object if any(texts) and not all(texts) else None)


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
