"""Tables in workbooks of Excel and LibreOffice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

from ..extras import load

#: How the file of a workbook may end.
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_workbook(path: Path, sheet: str | None = None) -> Any:
    """Return a sheet as a pyarrow table; its first row has the names of the columns.

    Values are read as the workbook has them: no formula is computed and no macro is run. A column
    with numbers and words is read as words.
    """
    calamine, pyarrow = load("python_calamine", "excel"), load("pyarrow", "cli")
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
    return pyarrow.table(
        [_column(each) for each in columns], names=[_text(name) for name in header]
    )


def _column(values: Sequence[Any]) -> Any:
    """Return a column of numbers, words or dates; an empty cell is missing."""
    pyarrow = load("pyarrow", "cli")
    known = [value for value in values if value != ""]
    if all(isinstance(value, int | float) for value in known):  # also True and False
        return pyarrow.array([None if v == "" else float(v) for v in values], pyarrow.float64())
    if all(isinstance(value, date | time | timedelta) for value in known):
        return pyarrow.array([None if value == "" else value for value in values])
    return pyarrow.array([None if value == "" else _text(value) for value in values])


def _text(value: Any) -> str:
    """Return a cell as text, whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
