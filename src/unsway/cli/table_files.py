"""CSV and Parquet files in and out, and what their columns may hold."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extras import load
from ..files import write_atomically
from ..models.features import identifies_rows
from .covariates import like, with_notes
from .csv_form import CsvForm, csv_form
from .options import Reading
from .workbooks import WORKBOOKS, read_workbook

#: How the file of a table may end, and those that are read only.
SUFFIXES = (".csv", ".parquet")
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
READ_SUFFIXES = (*CSV_SUFFIXES, ".parquet", *WORKBOOKS)
#: How a cell begins that a spreadsheet would run as a formula, and text that is a number after all.
FORMULA = r"\A([ \n]*[=+\-@\t\r])"
NUMBER = r"\A\s*[+-]?(\d[\d.,]*|[.,]\d+|(?i:inf|infinity|nan))([eE][+-]?\d+)?%?\s*\z"


def check_suffix(path: Path) -> str:
    """Return how the file ends, in small letters, or refuse it."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: give a file that ends in .csv or .parquet")
    return suffix


def read_table(path: Path, *, as_text: Sequence[str] = (), reading: Reading | None = None) -> Any:
    """Return a file as a pyarrow table with distinct column names and at least one row.

    Parameters
    ----------
    path : Path
        A CSV file with a header, in UTF-8, a Parquet file, or a workbook.
    as_text : sequence of str
        Columns of a CSV file to read as text even where every value looks like a number.
    reading : Reading, optional
        What a user says about the file; by default it is read as its first lines look.
    """
    suffix, reading = path.suffix.lower(), reading or Reading()
    if suffix not in READ_SUFFIXES:
        raise ValueError(f"{path}: give a file that ends in {', '.join(READ_SUFFIXES)}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file, such as .csv or .parquet")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty")
    notes: dict[str, Any] = {}
    if suffix in CSV_SUFFIXES:
        form = csv_form(path, reading.delimiter, reading.decimal)
        table, notes["form"] = _read_csv(path, as_text, form), form.describe(path.name)
    elif suffix in WORKBOOKS:
        table = read_workbook(path, reading.sheet)
    else:
        table = _read_parquet(path)
    names = table.column_names
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has more than one column named {twice!r}; rename one")
    if table.num_rows == 0:
        raise ValueError(f"{path} has a header but no rows")
    index = [name for name in names if re.fullmatch(r"__index_level_\d+__", name)]
    table = table.drop_columns(index) if index else table  # pandas puts its row names there
    return with_notes(table.replace_schema_metadata(None), **notes)


def read_text(path: Path, names: Sequence[str], reading: Reading | None = None) -> Any:
    """Return columns as the file has them: of a CSV file every value as its text."""
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path).select(list(names))
    reading = reading or Reading()
    if path.suffix.lower() in WORKBOOKS:
        return read_workbook(path, reading.sheet).select(list(names))
    form = csv_form(path, reading.delimiter, reading.decimal)
    return _read_csv(path, names, form, include_columns=list(names), strings_can_be_null=False)


def write_table(path: Path, table: Any) -> Path:
    """Write a table as CSV or Parquet, atomically.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe before it, as OWASP
    advises. Numbers stay as they are, also those that are text.
    """
    buffer = io.BytesIO()
    if check_suffix(path) == ".csv":
        load("pyarrow.csv", "cli").write_csv(_without_formulas(table), buffer)
    else:
        load("pyarrow.parquet", "cli").write_table(table, buffer)
    return write_atomically(path, buffer.getvalue())


def _without_formulas(table: Any) -> Any:
    """Return a table whose text and header no spreadsheet takes for a formula."""
    pyarrow, compute = load("pyarrow", "cli"), load("pyarrow.compute", "cli")
    types = pyarrow.types
    texts = (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary())

    def safe(column: Any) -> Any:
        kind = column.type
        if types.is_dictionary(kind):
            return safe(column.cast(kind.value_type))
        if types.is_string_view(kind):
            return safe(column.cast(pyarrow.string()))
        if kind not in texts:
            return column
        quoted = compute.replace_substring_regex(column, FORMULA, r"'\1")
        return compute.if_else(compute.match_substring_regex(column, NUMBER), column, quoted)

    names = safe(pyarrow.array(table.column_names, pyarrow.string())).to_pylist()
    return pyarrow.table([safe(column) for column in table.columns], names=names)


def plain_columns(table: Any) -> Any:
    """Return the table with every column as floats or as text; refuse dates, lists and bytes."""
    pyarrow = load("pyarrow", "cli")
    plain = {name: _plain(name, table.column(name), pyarrow) for name in table.column_names}
    return like(pyarrow.table(plain), table)


def plain_column(table: Any, name: str) -> tuple[NDArray[Any], int]:
    """Return one column as floats or as text, and how many of its values are missing."""
    column = plain_columns(table.select([name])).column(name)
    array = column.to_numpy()
    nan = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    return array, column.null_count or nan


def known_rows(table: Any, name: str) -> NDArray[np.bool_]:
    """Return which rows have a value in a column."""
    values = plain_columns(table.select([name])).column(name)
    known: NDArray[np.bool_] = ~values.is_null(nan_is_null=True).to_numpy()
    return known


def refuse_row_names(table: Any) -> None:
    """Raise if a column of text identifies rows: a model folder would list its values."""
    columns = zip(table.column_names, table.columns, strict=True)
    is_text = load("pyarrow", "cli").types.is_string
    texts = {name: len(column.unique()) for name, column in columns if is_text(column.type)}
    refuse_many_levels(texts, table.num_rows)


def refuse_many_levels(n_levels: Mapping[str, int], n_rows: int) -> None:
    """Raise if a column of text has so many levels that they identify rows."""
    for name, levels in n_levels.items():
        if identifies_rows(levels, n_rows):
            raise ValueError(
                f"column {name!r} has {levels:,} different words in {n_rows:,} rows: too many for "
                "a category; leave it out with --drop"
            )


def _read_parquet(path: Path) -> Any:
    parquet, pyarrow = load("pyarrow.parquet", "cli"), load("pyarrow", "cli")
    try:
        with parquet.ParquetFile(path) as file:
            return file.read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet: {reason}") from error


def _read_csv(path: Path, as_text: Sequence[str], form: CsvForm, **options: Any) -> Any:
    """Return a CSV file as a table, these columns as text."""
    csv, pyarrow = load("pyarrow.csv", "cli"), load("pyarrow", "cli")
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            raise ValueError(f"{path} is a Parquet file; name it .parquet")
    nulls = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}
    types = dict.fromkeys(as_text, pyarrow.string())
    convert = csv.ConvertOptions(
        column_types=types, decimal_point=form.decimal, **(nulls | options)
    )
    parse = csv.ParseOptions(delimiter=form.delimiter)
    try:
        return csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (pyarrow.ArrowException, ValueError) as error:  # its text may quote a row: not shown
        raise ValueError(f"{path} cannot be read as CSV: {_fault(path, form)}") from error


def _fault(path: Path, form: CsvForm) -> str:
    """Return what is wrong with a CSV file, without any value of it."""
    csv, pyarrow = load("pyarrow.csv", "cli"), load("pyarrow", "cli")
    faults = []

    def on_fault(row: Any) -> str:
        faults.append(row)
        return "error"

    with suppress(pyarrow.ArrowException, ValueError):
        csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False),  # with threads, rows have no number
            parse_options=csv.ParseOptions(delimiter=form.delimiter, invalid_row_handler=on_fault),
        )
    if not faults:
        return "it is not comma-separated text in UTF-8"
    fault = faults[0]
    return (
        f"row {fault.number - 1} below the header has {fault.actual_columns} fields and the header "
        f"{fault.expected_columns}"
    )


def _plain(name: str, column: Any, pyarrow: Any) -> Any:
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type).cast(pyarrow.string())
    kind = column.type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if number or types.is_boolean(kind) or types.is_null(kind):
        return column.cast(pyarrow.float64(), safe=False)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pyarrow.string())
    if types.is_binary(kind) or types.is_large_binary(kind):
        raise ValueError(f"column {name!r} holds bytes that are not UTF-8 text")
    raise ValueError(
        f"column {name!r} holds {kind}: neither numbers nor words; convert it or leave it out "
        "with --drop"
    )
