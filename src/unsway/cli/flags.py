"""Roles by flags: which column is the target, which the sensitive one, which are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_weights
from ..core import LogLoss, SquaredError
from ..grouping import MOST_NUMBERS, Grouping
from ..groups import Groups
from ..models.features import close_matches
from ..models.folder import TrainingRoles
from ..outcome import Outcome
from ..rows import Rows
from .covariates import choose_columns, with_notes
from .number_target import check_loss_flags, expose, number_outcome, propose_loss
from .options import RoleFlags, parse_numbers
from .table_files import known_rows, plain_column, plain_columns, read_table

#: The name of the other group where one value is compared with several.
REST = "(any other)"
#: Flags that say how a sensitive column of several levels is read.
_LEVEL_FLAGS = ("reference", "only", "bands", "merge_below")
#: What leaves rows without a value out.
_LEAVE_OUT = {"--sensitive": "--drop-missing, or see --missing-sensitive"}
#: What may stand between a sensitive column and a number.
_COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    ">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less,
}  # fmt: skip
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
#: The levels of a column, and the position of each row's level among them.
Coded = tuple[NDArray[Any], NDArray[Any]]


def take_roles(
    table: Any, flags: RoleFlags, *, numeric_target: bool = False
) -> tuple[Rows, TrainingRoles]:
    """Return a table's rows and the names of their roles, every column checked before any work.

    With `numeric_target`, a target of more than two numbers is taken as it is unless one of them is
    named; ``positive`` is then None. Rows with a missing label, sensitive value or weight are
    refused, not dropped.
    """
    check_loss_flags(flags)
    flags, level = find_columns(flags, table.column_names)
    there = _with_level(table, flags)

    def read(name: str, flag: str) -> Coded:
        known = table if there is None or flag != "--sensitive" else table.filter(there)
        return code_column(known, name, flag)

    outcome, groups, roles = code_roles(flags, level, read, numeric_target)
    if there is not None:
        groups = groups.spread(there)
    if groups.kept is not None:
        table, groups = table.take(groups.kept), replace(groups, kept=None)
    others = set(flags.columns)
    features = [name for name in table.column_names if name not in others]
    if not features:
        raise ValueError("no column is left to train on")
    X = plain_columns(table.select(features))
    groups.refuse_in(X)
    accept = split_columns(flags.accept, table.column_names, "--accept")
    X = choose_columns(X, outcome.values if outcome.binary else None, accept=accept)
    sample_weight = None if flags.weights is None else _weights(table, flags.weights)
    clusters = None
    if flags.cluster is not None:
        clusters = code_column(table, flags.cluster, "--cluster")[1].astype(np.intp)
    rows = Rows(X=X, outcome=outcome, groups=groups, weights=sample_weight, clusters=clusters)
    return expose(rows, table, flags), replace(roles, exposure=flags.exposure)


def read_rows(path: Path, flags: RoleFlags) -> Any:
    """Return a file as a table, without the rows that ``--drop-missing`` leaves out."""
    return drop_missing(read_table(path, reading=flags.reading), flags)[0]


def drop_missing(table: Any, flags: RoleFlags) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return the rows that have a label, a sensitive value and a weight, and which these are.

    All rows, and None, unless ``--drop-missing`` asks for it.
    """
    if not flags.drop_missing and flags.missing_sensitive != "drop":
        return table, None
    found, _ = find_columns(flags, table.column_names)
    kept = np.ones(table.num_rows, dtype=bool)
    others = (found.target, found.weights, found.exposure) if flags.drop_missing else ()
    used = flags.missing_sensitive == "use"
    for name in filter(None, (*others, None if used else found.sensitive)):
        kept &= known_rows(table, name)
    if not kept.any():
        raise ValueError("--drop-missing: no row has a label, a sensitive value and a weight")
    rows = table.take(np.flatnonzero(kept))
    return with_notes(rows, dropped_rows=int((~kept).sum())), kept


def used_rows(table: Any, flags: RoleFlags) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows that ``--drop-missing`` and ``--only`` leave, and which these are."""
    table, known = drop_missing(table, flags)
    places = np.arange(table.num_rows) if known is None else np.flatnonzero(known)
    if flags.only is None:
        return table, places
    found, level = find_columns(flags, table.column_names)
    kept = code_groups(code_column(table, found.sensitive, "--sensitive"), found, level).kept
    return (table, places) if kept is None else (table.take(kept), places[kept])


def _with_level(table: Any, flags: RoleFlags) -> NDArray[np.bool_] | None:
    """Return which rows have a sensitive value, None where all must have one."""
    if flags.missing_sensitive != "use":
        return None
    if flags.only is not None:
        raise ValueError("--only leaves rows out; it does not go with --missing-sensitive use")
    there = known_rows(table, flags.sensitive)
    return None if there.all() else there


def find_columns(flags: RoleFlags, names: Sequence[str]) -> tuple[RoleFlags, str | None]:
    """Return the flags with columns that are among the names, and the value that counts as z=1."""
    target = check_column(flags.target, names, "--target")
    sensitive, level = split_sensitive(flags.sensitive, names)
    if target == sensitive:
        raise ValueError(f"--target and --sensitive are both {target!r}; give two columns")
    weights = flags.weights
    if weights is not None and check_column(weights, names, "--weights") in (target, sensitive):
        raise ValueError(f"--weights {weights!r} is the target or the sensitive column")
    taken = (target, sensitive, weights)
    if flags.exposure is not None and check_column(flags.exposure, names, "--exposure") in taken:
        raise ValueError(f"--exposure {flags.exposure!r} is the column of another flag too")
    cluster = flags.cluster
    if cluster is not None and check_column(cluster, names, "--cluster") in (target, sensitive):
        raise ValueError(f"--cluster {cluster!r} is the target or the sensitive column")
    drop = split_columns(flags.drop, names, "--drop")
    return replace(flags, sensitive=sensitive, drop=drop), level


def code_roles(
    flags: RoleFlags, level: str | None, read: Callable[[str, str], Coded], numeric_target: bool
) -> tuple[Outcome, Groups, TrainingRoles]:
    """Return outcome, groups and the names of the roles.

    ``read`` returns the levels and codes of a column by its name and its flag.
    """
    outcome = _outcome(read(flags.target, "--target"), flags, numeric_target)
    groups = code_groups(read(flags.sensitive, "--sensitive"), flags, level)
    positive = outcome.names[1] if outcome.binary else None
    roles = TrainingRoles(
        flags.target, positive, flags.sensitive, groups.names, flags.weights, flags.drop
    )
    if groups.kept is not None:
        outcome = outcome.take(groups.kept)
    return outcome, groups, roles


def code_groups(coded: Coded, flags: RoleFlags, value: str | None) -> Groups:
    """Return the groups of a sensitive column by the flags; ``value`` stands after its name."""
    name, (levels, codes) = flags.sensitive, coded
    stated = [each for each in _LEVEL_FLAGS if getattr(flags, each) is not None]
    if value is not None and stated:
        raise ValueError(
            f"--{stated[0].replace('_', '-')} goes with --sensitive {name}, without a value "
            "after the column"
        )
    if value is not None or (len(levels) == 2 and not stated):
        compares = value is not None and value[:1] in ("<", ">")
        how = "--sensitive", f"--sensitive {name}={{}}"
        two = _compared(coded, name, value) if compares else _as_two(coded, name, value, *how)
        return Groups(codes=two[0], levels=two[1], name=name, weighting=flags.level_weights)
    found = Groups.coded(
        codes, levels, groups=_grouping(levels, flags), name=name, role=f"column {name!r}"
    )
    return replace(found, levels=tuple(map(_text, found.levels)))


def _grouping(levels: NDArray[Any], flags: RoleFlags) -> Grouping:
    """Return how a column of these values is read."""
    name = flags.sensitive
    bands = None if flags.bands is None else parse_numbers(flags.bands)
    if bands is None and levels.dtype.kind == "f" and len(levels) > MOST_NUMBERS:
        raise ValueError(
            f"--sensitive: column {name!r} has {len(levels):,} different numbers; cut them, as in "
            f"--bands {levels[len(levels) // 3]:g},{levels[2 * len(levels) // 3]:g}, or compare "
            f'them with one, as in --sensitive "{name}>={levels[len(levels) // 2]:g}"'
        )
    only = None if flags.only is None else [
        _known(each.strip(), levels, name, "--only") for each in flags.only.split(",")
    ]  # fmt: skip
    reference: Any = flags.reference
    if reference is not None and bands is None:
        reference = _known(reference, levels, name, "--reference")
    return Grouping(
        reference=reference,
        only=only,
        bands=bands,
        merge_below=flags.merge_below,
        weights=flags.level_weights,
    )


def _known(text: str, levels: NDArray[Any], name: str, flag: str) -> Any:
    """Return the level that a user wrote, or raise with those there are."""
    place = _position(text, levels)
    if place is None:
        shown = ", ".join(repr(_text(level)) for level in levels[:10])
        raise ValueError(f"{flag}: column {name!r} has no value {text!r}; it has {shown}")
    return levels.tolist()[place]


def _compared(coded: Coded, name: str, comparison: Any) -> tuple[NDArray[np.uint8], Any]:
    """Return a column of numbers as 1 where a comparison such as ``>=50`` holds."""
    levels, codes = coded
    sign = comparison[:2] if comparison[1:2] == "=" else comparison[:1]
    try:
        number = float(comparison[len(sign) :])
    except ValueError:
        raise ValueError(f"--sensitive: {name}{comparison} compares with no number") from None
    if levels.dtype.kind != "f":
        raise ValueError(
            f"--sensitive: column {name!r} holds no numbers to compare with {number:g}"
        )
    holds = _COMPARISONS[sign](levels, number)
    if holds.all() or not holds.any():
        raise ValueError(
            f"--sensitive: {name}{comparison} is the same in every row; column {name!r} goes from "
            f"{levels.min():g} to {levels.max():g}"
        )
    return holds[codes].astype(np.uint8), (f"{_OPPOSITE[sign]}{number:g}", f"{sign}{number:g}")


def check_column(name: str, names: Sequence[str], flag: str) -> str:
    """Return the name if the table has it, else raise with the names that are close to it."""
    if name not in names:
        raise ValueError(f"{flag}: there is no column {name!r}{close_matches(name, names)}")
    return name


def split_columns(texts: Sequence[str], names: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return the columns a user wrote, each alone or several with commas between.

    Examples
    --------
    >>> split_columns(["a,b", "c,d"], ["a", "b", "c,d"], "--drop")
    ('a', 'b', 'c,d')
    """
    found: list[str] = []
    for text in texts:
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return tuple(dict.fromkeys(check_column(name, names, flag) for name in found))


def split_sensitive(text: str, names: Sequence[str]) -> tuple[str, str | None]:
    """Return column and value from ``COLUMN=VALUE``, also where a name has an equals sign.

    A comparison keeps its sign before the value.

    Examples
    --------
    >>> split_sensitive("sex=Male", ["age", "sex"])
    ('sex', 'Male')
    >>> split_sensitive("age>=50", ["age", "sex"])
    ('age', '>=50')
    """
    readings: list[tuple[str, str | None]] = [(text, None)] if text in names else []
    for cut, letter in enumerate(text):
        if letter in "=<>" and text[:cut] in names:
            readings.append((text[:cut], text[cut + 1 :] if letter == "=" else text[cut:]))
    if len(readings) > 1:
        raise ValueError(f"--sensitive {text!r} can be read in two ways; rename a column")
    if not readings:
        check_column(re.split("[=<>]", text)[0] or text, names, "--sensitive")
    return readings[0]


def _outcome(coded: Coded, flags: RoleFlags, numeric: bool) -> Outcome:
    """Return the target as 0/1 with the names of its classes, or as its numbers."""
    name, (levels, codes) = flags.target, coded
    if flags.loss is not None:
        return number_outcome(levels[codes], flags)
    many = flags.positive is None and levels.dtype.kind == "f" and len(levels) > 2
    if many and not numeric:
        raise ValueError(propose_loss(levels, name))
    if numeric and flags.positive is None and levels.dtype.kind == "f" and len(levels) > 2:
        values = levels[codes]
        infinite = int(np.isinf(values).sum())
        if infinite:
            raise ValueError(f"--target: column {name!r} is infinite in {infinite:,} rows")
        return Outcome(values=values, loss=SquaredError())
    how = f"--positive {{}} with --target {name}"
    labels, classes = _as_two(coded, name, flags.positive, "--target", how)
    return Outcome(values=labels.astype(np.float64), loss=LogLoss(), classes=np.array(classes))


def code_column(table: Any, name: str, flag: str) -> Coded:
    """Return the levels of a column, at least two, and the position of each row's level."""
    array, missing = plain_column(table, name)
    if missing:
        raise ValueError(
            f"{flag}: column {name!r} has {missing:,} rows without a value of {len(array):,}; fill "
            f"them in, or leave those rows out with {_LEAVE_OUT.get(flag, '--drop-missing')}"
        )
    levels, codes = np.unique(array, return_inverse=True)
    if len(levels) == 1:
        raise ValueError(f"{flag}: column {name!r} has the same value in every row")
    return levels, codes


def _as_two(
    coded: Coded, name: str, value: str | None, flag: str, how: str
) -> tuple[NDArray[np.uint8], tuple[str, str]]:
    """Return a column as 1 where it has the value and 0 elsewhere, and the names of 0 and 1."""
    levels, codes = coded
    shown = [_text(level) for level in levels[:10]]
    if value is None:
        if levels.tolist() != [0.0, 1.0]:
            raise ValueError(_which(name, shown, len(levels), flag, how))
        return codes.astype(np.uint8), ("0", "1")
    chosen = _position(value, levels)
    if chosen is None:
        few = f"; it has {', '.join(map(repr, shown))}" if len(levels) <= 10 else ""
        raise ValueError(f"{flag}: column {name!r} has no value {value!r}{few}")
    rest = shown[1 - chosen] if len(levels) == 2 else REST
    return (codes == chosen).astype(np.uint8), (rest, _text(levels[chosen]))


def _which(name: str, shown: list[str], count: int, flag: str, how: str) -> str:
    if count == 2:
        return (
            f"{flag}: column {name!r} has the values {shown[0]!r} and {shown[1]!r}; say which "
            f"counts as 1, as in {how.replace('{}', shown[1], 1)}"
        )
    return (
        f"{flag}: column {name!r} has {count:,} different values; compare one with the rest, as in "
        f"{how.replace('{}', 'VALUE', 1)}"
    )


def _position(text: str, levels: NDArray[Any]) -> int | None:
    """Return the position of the level a user wrote: a number by value, true and false as 1, 0."""
    known = levels.tolist()
    if levels.dtype.kind != "f":
        return known.index(text) if text in known else None
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return known.index(number) if number in known else None


def _text(level: Any) -> str:
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def _weights(table: Any, name: str) -> Floats | None:
    try:
        return check_weights(plain_column(table, name)[0], table.num_rows)
    except ValueError as error:
        raise ValueError(f"--weights: column {name!r}: {error}") from None
