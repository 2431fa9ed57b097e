"""Two columns, of numbers and of text, in every kind of container."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unsway.tables import ColumnTable

NUMBERS = [1, 0, 1]
COLUMNS_OF_NUMBERS = {
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    "numpy": np.array(NUMBERS),
    "numpy_column": np.array(NUMBERS)[:, None],
    "numpy_object": np.array(NUMBERS, dtype=object),
    "pandas": pd.Series(NUMBERS),
    "pandas_index": pd.Index(NUMBERS),
    "pandas_nullable": pd.Series(NUMBERS, dtype="Int64"),
    "pandas_boolean": pd.Series(NUMBERS, dtype="boolean"),
    "pandas_frame": pd.DataFrame({"z": NUMBERS}),
    "polars": pl.Series(NUMBERS),
    "polars_frame": pl.DataFrame({"z": NUMBERS}),
    "pyarrow": pa.array(NUMBERS),
    "pyarrow_chunked": pa.chunked_array([[1], [0, 1]]),
    "pyarrow_table": pa.table({"z": NUMBERS}),
    "pyarrow_decimal": pa.array([Decimal(number) for number in NUMBERS]),
}

TEXTS = ["M", "F", "M"]
COLUMNS_OF_TEXT = {
    "list": TEXTS,
    "numpy": np.array(TEXTS),
    "numpy_object": np.array(TEXTS, dtype=object),
    "pandas": pd.Series(TEXTS),
    "pandas_string": pd.Series(TEXTS, dtype="string"),
    "pandas_arrow": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "pandas_categorical": pd.Series(pd.Categorical(TEXTS, categories=["X", "M", "F"])),
    "bare_categorical": pd.Categorical(TEXTS),
    "polars": pl.Series(TEXTS),
    "polars_categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars_enum": pl.Series(TEXTS, dtype=pl.Enum(["M", "F"])),
    "pyarrow": pa.array(TEXTS),
    "pyarrow_dictionary": pa.array(TEXTS).dictionary_encode(),
    "pyarrow_chunked": pa.chunked_array([["M"], ["F", "M"]]),
    "pyarrow_table": pa.table({"sex": TEXTS}),
}

each_column_of_numbers = pytest.mark.parametrize(
    "column", COLUMNS_OF_NUMBERS.values(), ids=COLUMNS_OF_NUMBERS
)
each_column_of_text = pytest.mark.parametrize(
    "column", COLUMNS_OF_TEXT.values(), ids=COLUMNS_OF_TEXT
)


def column_table(table):
    """Return a pyarrow table as the commands hold it."""
    values = {name: np.array(table[name].to_pylist(), dtype=object) for name in table.column_names}
    return ColumnTable(values)
