"""The sensitive columns by flags: values, comparisons, bands, and several columns at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..grouping import MOST_NUMBERS, Grouping
from ..groups import Groups
from .coded_columns import Coded, as_two, check_column, position_of, text_of
from .options import RoleFlags, parse_numbers

#: Flags that say how a sensitive column of several levels is read.
_LEVEL_FLAGS = ("reference", "only", "bands", "merge_below")
#: What may stand between a sensitive column and a number.
_COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    ">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less,
}  # fmt: skip
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


def sensitive_columns(flags: RoleFlags) -> tuple[str, ...]:
    """Return the sensitive column, or all of them."""
    return tuple(name for name, _ in flags.attributes) or (flags.sensitive,)


def read_groups(flags: RoleFlags, level: str | None, read: Callable[[str, str], Coded]) -> Groups:
    """Return the groups of the sensitive column, or the combinations of several."""
    if not flags.attributes:
        return code_groups(read(flags.sensitive, "--sensitive"), flags, level)
    parts: dict[str, Groups] = {}
    for name, value in flags.attributes:
        coded = read(name, "--sensitive")
        parts[name] = code_groups(coded, _flags_of(flags, name), value)
    return Groups.joined(parts, len(coded[1]), intersections=flags.intersections)


def _flags_of(flags: RoleFlags, name: str) -> RoleFlags:
    """Return the flags of one of several sensitive columns, from texts such as ``age=25,40``."""
    own: dict[str, Any] = {}
    for flag in ("reference", "only", "bands"):
        text, own[flag] = getattr(flags, flag), None
        for part in [] if text is None else text.split(";"):
            column, equals, value = part.strip().partition("=")
            if not equals or column not in dict(flags.attributes):
                raise ValueError(
                    f"--{flag}: of several sensitive columns say which one, as in "
                    f'--{flag} "{name}={part.strip()}"'
                )
            if column == name:
                own[flag] = value
    if dict(flags.attributes)[name] is not None:  # two levels, of which none is rare
        own["merge_below"] = None
    return replace(flags, sensitive=name, **own)


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
        two = _compared(coded, name, value) if compares else as_two(coded, name, value, *how)
        return Groups(codes=two[0], levels=two[1], name=name, weighting=flags.level_weights)
    found = Groups.coded(
        codes, levels, groups=_grouping(levels, flags), name=name, role=f"column {name!r}"
    )
    return replace(found, levels=tuple(map(text_of, found.levels)))


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
    place = position_of(text, levels)
    if place is None:
        shown = ", ".join(repr(text_of(level)) for level in levels[:10])
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


def split_attributes(text: str, names: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Return each sensitive column with its value, from a text with commas between them.

    Examples
    --------
    >>> split_attributes("sex=Male,age", ["age", "sex"])
    (('sex', 'Male'), ('age', None))
    """
    parts = text.split(",")
    columns = [re.split("[=<>]", part)[0].strip() for part in parts]
    if text in names or len(parts) == 1 or not all(column in names for column in columns):
        return (split_sensitive(text, names),)
    if len(set(columns)) < len(columns):
        raise ValueError(f"--sensitive {text!r} has a column twice")
    return tuple(split_sensitive(part.strip(), names) for part in parts)
