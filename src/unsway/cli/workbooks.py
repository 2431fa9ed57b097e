"""Tables in workbooks of Excel and LibreOffice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extras import load
from ..tables import ColumnTable

#: How the file of a workbook may end.
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_workbook(path: Path, sheet: str | None = None) -> ColumnTable:
    """Return a sheet as a table; its first row has the names of the columns.

    Values are read as the workbook has them: no formula is computed and no macro is run. A column
    with numbers and words is read as words.
    """
    calamine = load("python_calamine", "excel")
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.CalamineError as error:
        raise ValueError(f"{path} cannot be read as a workbook: {error}") from error
    names = list(book.sheet_names)
    if sheet is not None and sheet not in names:
        raise ValueError(f"--sheet: {path} has no sheet {sheet!r}; it has {', '.join(names)}")
    if sheet is None and len(names) != 1:
        raise ValueError(
            f"{path} has {len(names)} sheets ({', '.join(names)}); choose one with --sheet"
        )
    rows = book.get_sheet_by_name(sheet or names[0]).to_python()
    header, *body = rows or [[]]
    columns = [[row[place] for row in body] for place in range(len(header))]
    titles = [_text(name) for name in header]
    twice = next((name for name in titles if titles.count(name) > 1), None)
    return ColumnTable(dict(zip(titles, map(_column, columns), strict=True)), twice=twice)


def _column(values: Sequence[Any]) -> NDArray[Any]:
    """Return a column of numbers, words or dates; an empty cell is missing."""
    known = [value for value in values if value != ""]
    if all(isinstance(value, int | float) for value in known):  # also True and False
        return np.array([np.nan if value == "" else float(value) for value in values])
    dates = all(isinstance(value, date | time | timedelta) for value in known)
    cells = np.empty(len(values), dtype=object)
    cells[:] = [None if each == "" else each if dates else _text(each) for each in values]
    return cells


def _text(value: Any) -> str:
    """Return a cell as text, whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
