"""Parquet files in and out, by pyarrow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extras import load
from ..tables import ColumnTable


def read_parquet(path: Path) -> ColumnTable:
    """Return a Parquet file as a table; what is missing is NaN among floats and None elsewhere."""
    parquet, pyarrow = load("pyarrow.parquet", "parquet"), load("pyarrow", "parquet")
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet: {reason}") from error
    names = list(table.column_names)
    twice = next((name for name in names if names.count(name) > 1), None)
    columns = zip(names, table.columns, strict=True)
    return ColumnTable({name: _values(column) for name, column in columns}, twice=twice)


def parquet_bytes(table: ColumnTable) -> bytes:
    """Return a table as a Parquet file."""
    parquet, pyarrow = load("pyarrow.parquet", "parquet"), load("pyarrow", "parquet")
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(table.values)), buffer)
    return buffer.getvalue()


def _values(column: Any) -> NDArray[Any]:
    types = load("pyarrow", "parquet").types
    kind = column.type
    whole = types.is_integer(kind) and not column.null_count
    if types.is_floating(kind) or whole:
        values: NDArray[Any] = column.to_numpy()
        return values
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values
