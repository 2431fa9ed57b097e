"""Tables in files, in and out, and what their columns may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import write_atomically
from ..frames import csv_text
from ..models.features import identifies_rows
from ..tables import ColumnTable, no_level
from .covariates import with_notes
from .csv_files import read_csv, read_csv_text
from .csv_form import csv_form
from .options import Reading
from .parquet_files import parquet_bytes, read_parquet
from .workbooks import WORKBOOKS, read_workbook

#: How the file of a table may end, and those that are read only.
SUFFIXES = (".csv", ".parquet")
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
READ_SUFFIXES = (*CSV_SUFFIXES, ".parquet", *WORKBOOKS)


def check_suffix(path: Path) -> str:
    """Return how the file ends, in small letters, or refuse it."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: give a file that ends in .csv or .parquet")
    return suffix


def read_table(
    path: Path, *, as_text: Sequence[str] = (), reading: Reading | None = None
) -> ColumnTable:
    """Return a file as a table with distinct column names and at least one row.

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
        table, notes["form"] = read_csv(path, form, as_text), form.describe(path.name)
    elif suffix in WORKBOOKS:
        table = read_workbook(path, reading.sheet)
    else:
        table = read_parquet(path)
    if table.twice is not None:
        raise ValueError(f"{path} has more than one column named {table.twice!r}; rename one")
    if len(table) == 0:
        raise ValueError(f"{path} has a header but no rows")
    index = re.compile(r"__index_level_\d+__")  # pandas puts its row names there
    return with_notes(
        table.select([name for name in table.columns if not index.fullmatch(name)]), **notes
    )


def read_text(path: Path, names: Sequence[str], reading: Reading | None = None) -> ColumnTable:
    """Return columns as the file has them: of a CSV file every value as its text."""
    suffix, reading = path.suffix.lower(), reading or Reading()
    if suffix == ".parquet":
        return read_parquet(path).select(names)
    if suffix in WORKBOOKS:
        return read_workbook(path, reading.sheet).select(names)
    return read_csv_text(path, csv_form(path, reading.delimiter, reading.decimal), names)


def write_table(path: Path, table: ColumnTable) -> Path:
    """Write a table as CSV or Parquet, atomically."""
    if check_suffix(path) == ".parquet":
        return write_atomically(path, parquet_bytes(table))
    columns = {name: values.tolist() for name, values in table.values.items()}
    return write_atomically(path, csv_text(columns))


def plain_columns(table: ColumnTable) -> ColumnTable:
    """Return the table with every column as floats or as text; refuse dates, lists and bytes."""
    plain = {name: _plain(name, values) for name, values in table.values.items()}
    return replace(table, values=plain)


def plain_column(table: ColumnTable, name: str) -> tuple[NDArray[Any], int]:
    """Return one column as floats or as text, and how many of its values are missing."""
    array = _plain(name, table[name])
    return array, int((~_known(array)).sum())


def known_rows(table: ColumnTable, name: str) -> NDArray[np.bool_]:
    """Return which rows have a value in a column."""
    return _known(_plain(name, table[name]))


def refuse_row_names(table: ColumnTable) -> None:
    """Raise if a column of text identifies rows: a model folder would list its values."""
    words = {name: values for name, values in table.values.items() if values.dtype.kind == "O"}
    texts = {name: len(set(values.tolist())) for name, values in words.items()}
    refuse_many_levels(texts, len(table))


def refuse_many_levels(n_levels: Mapping[str, int], n_rows: int) -> None:
    """Raise if a column of text has so many levels that they identify rows."""
    for name, levels in n_levels.items():
        if identifies_rows(levels, n_rows):
            raise ValueError(
                f"column {name!r} has {levels:,} different words in {n_rows:,} rows: too many for "
                "a category; leave it out with --drop"
            )


def _known(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return ~np.isnan(values)
    return np.array([value is not None for value in values], dtype=bool)


def _plain(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    odd = next(filter(None, map(no_level, values)), None)
    if odd is not None:
        raise ValueError(
            f"column {name!r} holds {odd}: neither numbers nor words; convert it or "
            "leave it out with --drop"
        )
    if any(isinstance(each, str) for each in values):
        return np.array([None if each is None else str(each) for each in values], dtype=object)
    return np.array([np.nan if each is None else float(each) for each in values])
