"""Which columns of a table are trained on, as what, and which are left out or refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..tables import ColumnTable
from .console import note, one_line

#: Names that data frames and spreadsheets give to a column without one.
_NAMELESS = re.compile(r"\s*|Unnamed: \d+(_level_\d+)?|V\d+__?|_c0", re.IGNORECASE)
#: Names of columns that identify rows.
_IDENTIFIER = re.compile(r"(.*[_\s.-])?(id|ids|uuid|guid|key|row|rowid|index)", re.IGNORECASE)
#: Text that is a number with thousands, a decimal comma, a unit or a per cent sign.
_NUMBER = re.compile(r"\s*[-+(]?\s*[€$£]?\s*\d[\d.,' \u00a0\u202f]*\s*[%€$£]?\)?\s*")
_DATE = re.compile(r"\s*(\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}).*")
#: A column of text with at most so many different values is a category, whatever they look like.
FEW_LEVELS = 10
#: From this share of its different values on, a column of text is one of numbers or dates.
MOST = 0.9
#: Fewer rows than this give no hint of an identifier or of a column made from the target.
FEW_ROWS = 20


def choose_columns(X: ColumnTable, y: Floats | None, *, accept: Sequence[str] = ()) -> ColumnTable:
    """Return the columns to train on, with notes on those that are left out; refuse others.

    Columns without a value, with one value, and those that count the rows, are left out. Columns
    without a name, identifiers, numbers or dates that are text, and columns that predict a label
    without an error are refused.

    Parameters
    ----------
    X : ColumnTable
        Plain columns: floats or text.
    y : array of 0 and 1, or None
        The label, if the target is one.
    accept : sequence of str
        Columns to take as they are.
    """
    left_out: dict[str, str] = {}
    for name, column in X.values.items():
        if name in accept:
            continue
        reason = _idle(column)
        if reason is not None:
            left_out[name] = reason
            continue
        fault = _fault(name, column, y)
        if fault is not None:
            raise ValueError(
                f"{fault}; leave it out with --drop {_quoted(name)}, or take it as it is with "
                f"--accept {_quoted(name)}"
            )
    kept = [name for name in X.columns if name not in left_out]
    if not kept:
        shown = "; ".join(f"{name!r} {why}" for name, why in left_out.items())
        raise ValueError(f"no column is left to train on: {shown}")
    return with_notes(X.select(kept), left_out=left_out)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else repr(name)


def _idle(values: NDArray[Any]) -> str | None:
    """Return why a column can tell nothing, if it cannot."""
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        if not len(known):
            return "has no value"
        if len(known) == len(values) and (known == known[0]).all():
            return "has the same value in every row"
        if len(known) == len(values) >= FEW_ROWS and (np.diff(known) == 1).all():
            return "counts the rows"
        return None
    levels = set(values.tolist())
    if levels == {None}:
        return "has no value"
    return "has the same value in every row" if len(levels) == 1 else None


def _fault(name: str, values: NDArray[Any], y: Floats | None) -> str | None:
    """Return why a column is not to be trained on unasked, if there is a reason."""
    if _NAMELESS.fullmatch(name):
        return f"column {name!r} has no name of its own: it may hold the row names of a data frame"
    if len(values) >= FEW_ROWS:
        if values.dtype.kind == "f" and _IDENTIFIER.fullmatch(name) and _all_differ(values):
            return f"column {name!r} has another whole number in every row: it identifies rows"
        if y is not None and _predicts(values, y):
            return (
                f"column {name!r} predicts the target without an error in {len(values):,} rows: it "
                "is the target under another name, or was made from it"
            )
    return None if values.dtype.kind == "f" else _looks_like(name, values)


def _all_differ(values: Floats) -> bool:
    return bool((values == np.round(values)).all() and len(np.unique(values)) == len(values))


def _predicts(values: Any, y: Floats) -> bool:
    """Return whether a threshold, or the levels, of a column separate the classes."""
    classes = np.unique(y)
    if len(classes) != 2 or min((y == each).sum() for each in classes) < 5:
        return False
    if values.dtype.kind == "f":
        low, high = (values[y == each] for each in classes)
        return bool(low.max() < high.min() or high.max() < low.min())  # false with NaN
    codes = np.unique(values.astype(str), return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=y == classes[1]) / counts
    return bool(((means == 0) | (means == 1)).all()) and len(counts) <= len(y) / 5


def _looks_like(name: str, values: NDArray[Any]) -> str | None:
    """Return what a column of text should be instead, if it should."""
    levels = [level for level in set(values.tolist()) if level is not None]
    if len(levels) <= FEW_LEVELS:
        return None
    if _share(_DATE, levels) >= MOST:
        return (
            f"column {name!r} holds dates as text, {len(levels):,} different ones; convert it to a "
            "number, such as the days since a date"
        )
    share = _share(_NUMBER, levels)
    if share < MOST:
        return None
    words = len(levels) - round(share * len(levels))
    if words:
        return (
            f"column {name!r} holds numbers, and {words} of its {len(levels):,} different values "
            "are words; make those empty"
        )
    how = ": give --decimal , to read them" if any("," in level for level in levels) else ""
    return (
        f"column {name!r} holds numbers as text, {len(levels):,} different ones, with signs such "
        f"as decimal commas, thousands or units{how}; write them as plain numbers"
    )


def _share(pattern: re.Pattern[str], levels: Sequence[str]) -> float:
    return sum(pattern.fullmatch(level) is not None for level in levels) / len(levels)


# --- notes on a table ----------------------------------------------------------------------------


def with_notes(table: ColumnTable, **notes: Any) -> ColumnTable:
    """Return the table with notes added to those it has."""
    return replace(table, notes={**table.notes, **notes})


def describe_columns(X: ColumnTable) -> dict[str, Any]:
    """Return which columns are numbers, which categories with how many levels, which left out.

    Examples
    --------
    >>> table = ColumnTable({"age": np.array([31.0, 40.0]), "job": np.array(["a", "b"], object)})
    >>> describe_columns(with_notes(table, left_out={"one": "has the same value in every row"}))
    {'numbers': ['age'], 'categories': {'job': 2}, 'left_out': {'one': 'has the same value in every row'}}
    """  # noqa: E501
    texts = {name: each for name, each in X.values.items() if each.dtype.kind == "O"}
    return {
        "numbers": [name for name in X.columns if name not in texts],
        "categories": {name: len(set(values.tolist())) for name, values in texts.items()},
        **({"left_out": X.notes["left_out"]} if X.notes.get("left_out") else {}),
    }


def show_columns(X: ColumnTable, *, quiet: bool) -> None:
    """Print how a table was read, and what is taken as what, unless `quiet`."""
    if quiet:
        return
    if X.notes.get("form"):
        note(X.notes["form"])
    for line in _lines(describe_columns(X), X.notes):
        note(line)


def _lines(columns: Mapping[str, Any], notes: Mapping[str, Any]) -> Iterator[str]:
    names, levels = columns["numbers"], columns["categories"]
    words = [f"{one_line(name)} ({count:,})" for name, count in levels.items()]
    yield f"numbers: {_first(list(map(one_line, names))) or 'none'}"
    yield f"categories, with their levels: {_first(words) or 'none'}"
    for name, why in columns.get("left_out", {}).items():
        yield f"left out: {one_line(name)}, which {why}; --accept takes it"
    if notes.get("dropped_rows"):
        yield f"left out: {notes['dropped_rows']:,} rows without a label, sensitive value or weight"


def _first(names: Sequence[str], most: int = 20) -> str:
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
