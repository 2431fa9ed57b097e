"""How a CSV file is written: what stands between its columns, and its decimal sign."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What may stand between columns → what it is called.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DECIMALS = (".", ",")
#: What a file is judged by: so many bytes from its beginning, and so many lines of them.
_BYTES, _LINES = 65_536, 50
_COMMA, _POINT = (re.compile(rf"\s*[+-]?\d+{sign}\d+\s*") for sign in (",", r"\."))


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter : str
        What stands between columns.
    decimal : {".", ","}
        The decimal sign.
    """

    delimiter: str = ","
    decimal: str = "."

    def describe(self, name: str) -> str | None:
        """Return a sentence about a file that is not written as most are, else None."""
        if self == CsvForm():
            return None
        between = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        return (
            f"{name} is read with {between} between the columns and {self.decimal!r} as the "
            "decimal sign; --delimiter and --decimal choose others"
        )


def csv_form(path: Path, delimiter: str | None = None, decimal: str | None = None) -> CsvForm:
    """Return how a file is written: as stated, and otherwise as its first lines look.

    The delimiter is the one that gives the most columns, as many in every line as in the header.
    The decimal sign is a comma if there are numbers with one and none with a point.
    """
    with path.open("rb") as file:
        text = file.read(_BYTES).decode("utf-8", errors="replace")
    lines = text.splitlines()
    lines = lines[:_LINES] if len(text) < _BYTES else lines[:-1][:_LINES]
    delimiter = delimiter or max(DELIMITERS, key=lambda each: len(_header(lines, each)))
    if decimal is None:
        cells = [cell for row in _rows(lines, delimiter)[1:] for cell in row]
        commas, points = (sum(map(bool, map(form.fullmatch, cells))) for form in (_COMMA, _POINT))
        decimal = "," if commas and not points else "."
    return CsvForm(delimiter, decimal)


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _header(lines: Sequence[str], delimiter: str) -> list[str]:
    """Return the names of the columns, none unless there are several and as many in every line."""
    rows = _rows(lines, delimiter)
    whole = bool(rows) and len(rows[0]) > 1 and {len(row) for row in rows} == {len(rows[0])}
    return rows[0] if whole else []
