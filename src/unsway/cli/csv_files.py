"""CSV files as tables, by the csv module of the standard library."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..tables import ColumnTable
from .csv_form import CsvForm

#: What a missing value is written as.
NULLS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)  # fmt: skip
BOOLEANS = {
    text: value
    for value, name in ((1.0, "true"), (0.0, "false"))
    for text in (name, name.capitalize(), name.upper())
}
#: Rows that are held as text at once.
_BLOCK = 10_000
#: Bytes that are looked at to tell text from other files.
_START = 4_096


def read_csv(path: Path, form: CsvForm, as_text: Sequence[str] = ()) -> ColumnTable:
    """Return a CSV file as a table: numbers, dates, or text with None where it is missing.

    Columns of true and false are numbers. `as_text` names columns that are text in any case.
    """
    texts = set(as_text)
    while True:
        names, parts = _read_blocks(path, form, texts)
        mixed = {
            name for name, blocks in zip(names, parts, strict=True)
            if len({block.dtype.kind for block in blocks}) > 1
        }  # fmt: skip
        if not mixed:
            break
        texts |= mixed  # a word came after numbers: these are needed as they were written
    values = {
        name: np.concatenate(blocks) if blocks else np.empty(0)
        for name, blocks in zip(names, parts, strict=True)
    }
    found = {n: v if n in as_text or v.dtype.kind == "f" else _recognised(v)
             for n, v in values.items()}  # fmt: skip
    return ColumnTable(found, twice=_twice(names))


def read_csv_text(path: Path, form: CsvForm, names: Sequence[str]) -> ColumnTable:
    """Return columns of a CSV file with every value as its text."""
    found: dict[str, list[str]] = {name: [] for name in names}
    header, blocks = _blocks(path, form)
    for rows in blocks:
        for name, values in found.items():
            place = header.index(name)
            values.extend(row[place] for row in rows)
    return ColumnTable({name: np.array(values, dtype=object) for name, values in found.items()})


# --- reading -------------------------------------------------------------------------------------


def _read_blocks(
    path: Path, form: CsvForm, texts: set[str]
) -> tuple[list[str], list[list[NDArray[Any]]]]:
    """Return the names of the columns, and each column block by block, as numbers or text."""
    names, blocks = _blocks(path, form)
    parts: list[list[NDArray[Any]]] = [[] for _ in names]
    known: list[dict[str, str | None]] = [dict.fromkeys(NULLS) for _ in names]
    for rows in blocks:
        for place, cells in enumerate(zip(*rows, strict=True)):
            numbers = None if names[place] in texts else _numbers(cells, form.decimal)
            parts[place].append(_words(cells, known[place]) if numbers is None else numbers)
    return names, parts


def _blocks(path: Path, form: CsvForm) -> tuple[list[str], Iterator[list[list[str]]]]:
    """Return the header, and the rows below it in blocks; raise, without a value, on a fault."""
    fault = f"{path} cannot be read as CSV: it is not comma-separated text in UTF-8"
    with path.open("rb") as file:
        start = file.read(_START)
    if start.startswith(b"PAR1"):
        raise ValueError(f"{path} is a Parquet file; name it .parquet")
    if b"\0" in start:
        raise ValueError(fault)

    def rows() -> Iterator[list[str]]:
        with path.open(encoding="utf-8-sig", newline="") as file:
            try:
                yield from filter(None, csv.reader(file, delimiter=form.delimiter, strict=True))
            except (csv.Error, UnicodeDecodeError):
                raise ValueError(fault) from None

    lines = rows()
    header = next(lines, None)
    if header is None:
        raise ValueError(f"{path} is empty")

    def blocks() -> Iterator[list[list[str]]]:
        done = 0
        while block := list(islice(lines, _BLOCK)):
            for place, row in enumerate(block, start=done + 1):
                if len(row) != len(header):
                    raise ValueError(
                        f"{path} cannot be read as CSV: row {place} below the header has "
                        f"{len(row)} fields and the header {len(header)}"
                    )
            done += len(block)
            yield block

    return header, blocks()


def _twice(names: Sequence[str]) -> str | None:
    return next((name for name in names if list(names).count(name) > 1), None)


def _numbers(cells: Sequence[str], decimal: str) -> Floats | None:
    """Return cells as numbers, None if one is a word."""
    if decimal != ".":
        if any("." in cell and cell not in NULLS for cell in cells):
            return None
        cells = [cell.replace(decimal, ".") for cell in cells]
    if any("_" in cell for cell in cells):  # float() would read 1_000
        return None
    try:
        return np.array([np.nan if cell in NULLS else float(cell) for cell in cells])
    except ValueError:
        return None


def _words(cells: Sequence[str], known: dict[str, str | None]) -> NDArray[Any]:
    """Return cells as text, None where missing; equal texts are one object."""
    words = np.empty(len(cells), dtype=object)
    words[:] = [known.setdefault(cell, cell) for cell in cells]
    return words


def _recognised(words: NDArray[Any]) -> NDArray[Any]:
    """Return a column of text as numbers or dates if all its values are true and false or dates."""
    levels = set(words.tolist()) - {None}
    if levels <= BOOLEANS.keys():
        return np.array([np.nan if word is None else BOOLEANS[word] for word in words])
    dates: dict[Any, Any] = {None: None}
    with suppress(ValueError):
        for level in levels:
            if not re.match(r"\d{4}-\d\d-\d\d", level):
                return words
            dates[level] = datetime.fromisoformat(level)
        return np.array([dates[word] for word in words], dtype=object)
    return words
