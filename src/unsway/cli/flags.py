"""Roles by flags: which column is the target, which the sensitive one, which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_weights
from ..core import LogLoss, SquaredError
from ..groups import Groups
from ..models.features import close_matches
from ..models.folder import TrainingRoles
from ..outcome import Outcome
from ..rows import Rows
from .options import RoleFlags
from .table_files import plain_column, plain_columns

#: The name of the other group where one value is compared with several.
REST = "(any other)"


def take_roles(
    table: Any, flags: RoleFlags, *, numeric_target: bool = False
) -> tuple[Rows, TrainingRoles]:
    """Return a table's rows and the names of their roles, every column checked before any work.

    With `numeric_target`, a target of more than two numbers is taken as it is unless one of them is
    named; ``positive`` is then None. Rows with a missing label, sensitive value or weight are
    refused, never dropped in silence.
    """
    names = table.column_names
    target, (sensitive, level), weights, dropped = find_columns(flags, names)
    outcome = _target(table, target, flags.positive, numeric_target)
    codes, levels = _as_two(table, sensitive, level, "--sensitive", f"--sensitive {sensitive}={{}}")
    groups = Groups(codes=codes, levels=levels, name=sensitive)
    out = {target, sensitive, weights, *dropped}
    features = [name for name in names if name not in out]
    if not features:
        raise ValueError("no column is left to train on")
    X = plain_columns(table.select(features))
    groups.refuse_in(X)
    positive = None if outcome.classes is None else str(outcome.classes[1])
    roles = TrainingRoles(target, positive, sensitive, levels, weights, dropped)
    sample_weight = None if weights is None else _weights(table, weights)
    return Rows(X=X, outcome=outcome, groups=groups, weights=sample_weight), roles


def find_columns(
    flags: RoleFlags, names: Sequence[str]
) -> tuple[str, tuple[str, str | None], str | None, tuple[str, ...]]:
    """Return target, sensitive column with its value, weights, and the columns to leave out."""
    target = check_column(flags.target, names, "--target")
    sensitive, level = split_sensitive(flags.sensitive, names)
    if target == sensitive:
        raise ValueError(f"--target and --sensitive are both {target!r}; give two columns")
    weights = flags.weights
    if weights is not None and check_column(weights, names, "--weights") in (target, sensitive):
        raise ValueError(f"--weights {weights!r} is the target or the sensitive column")
    return target, (sensitive, level), weights, split_columns(flags.drop, names, "--drop")


def check_column(name: str, names: Sequence[str], flag: str) -> str:
    """Return the name if the table has it, or say what the user may have meant."""
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

    Examples
    --------
    >>> split_sensitive("sex=Male", ["age", "sex"])
    ('sex', 'Male')
    """
    cuts = [place for place, letter in enumerate(text) if letter == "="]
    readings: list[tuple[str, str | None]] = [(text, None)] if text in names else []
    readings += [(text[:cut], text[cut + 1 :]) for cut in cuts if text[:cut] in names]
    if len(readings) > 1:
        raise ValueError(f"--sensitive {text!r} can be read in two ways; rename a column")
    if not readings:
        check_column(text.partition("=")[0] or text, names, "--sensitive")
    return readings[0]


def _target(table: Any, name: str, value: str | None, numeric: bool) -> Outcome:
    """Return the target as 0/1 with the texts they stand for, or as its numbers."""
    if numeric and value is None:
        array, levels = _values(table, name, "--target")
        if array.dtype.kind == "f" and len(levels) > 2:
            infinite = int(np.isinf(array).sum())
            if infinite:
                raise ValueError(f"--target: column {name!r} is infinite in {infinite:,} rows")
            return Outcome(values=array.astype(np.float64), loss=SquaredError())
    codes, levels = _as_two(table, name, value, "--target", f"--positive {{}} with --target {name}")
    return Outcome(values=codes.astype(np.float64), loss=LogLoss(), classes=np.array(levels))


def _values(table: Any, name: str, flag: str) -> tuple[Any, Any]:
    """Return a column that is known in every row, and its levels, at least two."""
    array, missing = plain_column(table, name)
    if missing:
        raise ValueError(
            f"{flag}: column {name!r} has {missing:,} rows without a value of {len(array):,}; fill "
            "them in or take those rows out first"
        )
    levels = np.unique(array)
    if len(levels) == 1:
        raise ValueError(f"{flag}: column {name!r} has the same value in every row")
    return array, levels


def _as_two(
    table: Any, name: str, value: str | None, flag: str, how: str
) -> tuple[NDArray[np.uint8], tuple[str, str]]:
    """Return a column as 1 where it has the value and 0 elsewhere, and what the two stand for."""
    array, levels = _values(table, name, flag)
    shown = [_text(level) for level in levels[:10]]
    if value is None:
        if levels.tolist() != [0.0, 1.0]:
            raise ValueError(_which(name, shown, len(levels), flag, how))
        return array.astype(np.uint8), ("0", "1")
    chosen = _level(value, levels)
    if chosen is None:
        few = f"; it has {', '.join(map(repr, shown))}" if len(levels) <= 10 else ""
        raise ValueError(f"{flag}: column {name!r} has no value {value!r}{few}")
    others = [_text(level) for level in levels if level != chosen]
    rest = others[0] if len(others) == 1 else REST
    return (array == chosen).astype(np.uint8), (rest, _text(chosen))


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


def _level(text: str, levels: Any) -> Any:
    """Return the level a user wrote: text as it is, numbers by value, true and false as 1 and 0."""
    if levels.dtype.kind != "f":
        return text if text in levels.tolist() else None
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return number if number in levels.tolist() else None


def _text(level: Any) -> str:
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def _weights(table: Any, name: str) -> Floats | None:
    try:
        return check_weights(plain_column(table, name)[0], table.num_rows)
    except ValueError as error:
        raise ValueError(f"--weights: column {name!r}: {error}") from None
