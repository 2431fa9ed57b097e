"""Columns of a table as the positions of their values, and as two groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.features import close_matches
from .table_files import plain_column

#: The name of the other group where one value is compared with several.
REST = "(any other)"
#: What leaves rows without a value out.
_LEAVE_OUT = {"--sensitive": "--drop-missing, or see --missing-sensitive"}
#: The levels of a column, and the position of each row's level among them.
Coded = tuple[NDArray[Any], NDArray[Any]]


def check_column(name: str, names: Sequence[str], flag: str) -> str:
    """Return the name if the table has it, else raise with the names that are close to it."""
    if name not in names:
        raise ValueError(f"{flag}: there is no column {name!r}{close_matches(name, names)}")
    return name


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


def as_two(
    coded: Coded, name: str, value: str | None, flag: str, how: str
) -> tuple[NDArray[np.uint8], tuple[str, str]]:
    """Return a column as 1 where it has the value and 0 elsewhere, and the names of 0 and 1."""
    levels, codes = coded
    shown = [text_of(level) for level in levels[:10]]
    if value is None:
        if levels.tolist() != [0.0, 1.0]:
            raise ValueError(_which(name, shown, len(levels), flag, how))
        return codes.astype(np.uint8), ("0", "1")
    chosen = position_of(value, levels)
    if chosen is None:
        few = f"; it has {', '.join(map(repr, shown))}" if len(levels) <= 10 else ""
        raise ValueError(f"{flag}: column {name!r} has no value {value!r}{few}")
    rest = shown[1 - chosen] if len(levels) == 2 else REST
    return (codes == chosen).astype(np.uint8), (rest, text_of(levels[chosen]))


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


def position_of(text: str, levels: NDArray[Any]) -> int | None:
    """Return the position of the level a user wrote: a number by value, true and false as 1, 0."""
    known = levels.tolist()
    if levels.dtype.kind != "f":
        return known.index(text) if text in known else None
    try:
        number = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return known.index(number) if number in known else None


def text_of(level: Any) -> str:
    """Return a value as a user writes it."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
