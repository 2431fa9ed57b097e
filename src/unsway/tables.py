"""Tables of any kind by their columns, and as the tree engines take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from typing import Any, NoReturn, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from ._typing import Index
from .checks import is_missing

#: What a missing category reads as.
MISSING = "(missing)"
#: Values that are no level of a category → what they are called.
_NO_LEVEL: dict[tuple[type, ...], str] = {
    (date, time, np.datetime64): "dates",
    (timedelta, np.timedelta64): "durations",
    (list, tuple, dict, set, np.ndarray): "lists",
    (complex, np.complexfloating): "complex numbers",
    (bytes, bytearray): "bytes",
}
#: The same for the kinds of columns of frames, by their names in narwhals.
_NO_KIND = {
    **dict.fromkeys(("Datetime", "Date", "Time"), "dates"),
    "Duration": "durations",
    **dict.fromkeys(("List", "Array", "Struct"), "lists"),
    "Binary": "bytes",
}
#: Engines keep single precision; a larger number would be infinite there.
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Column:
    """One column of a table: floats (NaN where missing), or strings for a categorical one."""

    name: str
    values: NDArray[Any]
    categorical: bool


def columns(X: Any) -> Iterator[Column]:
    """Yield the columns of a frame or array; a missing category reads "(missing)".

    Parameters
    ----------
    X : frame, 2D array, ColumnTable or CodedTable
        The table.

    Yields
    ------
    Column
        Name and values of a column, in order.

    Examples
    --------
    >>> import numpy as np
    >>> [column.name for column in columns(np.zeros((3, 2)))]
    ['column 0', 'column 1']
    """
    if isinstance(X, CodedTable):
        yield from X.columns()
        return
    if isinstance(X, ColumnTable):
        for name, values in X.values.items():
            yield _plain_column(name, values)
        return
    frame = as_frame(X)
    if frame is not None:
        for series in map(frame.get_column, frame.columns):
            _refuse_kind(str(series.name), series.dtype)
            if _is_number(series.dtype):
                values = series.cast(nw.Float64).to_numpy().astype(np.float64)
                yield Column(str(series.name), values, categorical=False)
            else:
                if str(series.dtype) in ("Object", "Unknown"):
                    _refuse_values(str(series.name), series.to_numpy())
                texts = series.cast(nw.String).to_numpy().astype(object)
                texts[series.is_null().to_numpy()] = MISSING  # pandas 2 casts None to "None"
                yield Column(str(series.name), texts, categorical=True)
        return
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns; got an array of {array.ndim}D")
    for position, values in enumerate(array.T):
        yield _array_column(_array_name(position), values)


def _plain_column(name: str, values: NDArray[Any]) -> Column:
    """Return a column of a table whose text stays text, also where it looks like numbers."""
    if values.dtype.kind != "O":
        return _array_column(name, values)
    _refuse_values(name, values)
    texts = [MISSING if value is None else str(value) for value in values]
    return Column(name, np.array(texts, dtype=object), categorical=True)


def _array_column(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind in "mMc":
        _refuse(name, {"m": "durations", "M": "dates", "c": "complex numbers"}[values.dtype.kind])
    try:
        return Column(name, values.astype(np.float64), categorical=False)
    except (TypeError, ValueError):
        _refuse_values(name, values)
        texts = [MISSING if is_missing(value) else str(value) for value in values]
        return Column(name, np.array(texts, dtype=object), categorical=True)


def _refuse_kind(name: str, dtype: Any) -> None:
    """Raise if the values of a column of a frame are neither numbers nor words."""
    what = _NO_KIND.get(str(dtype).partition("(")[0])  # the oldest narwhals has not every class
    if what is not None:
        _refuse(name, what)


def _refuse_values(name: str, values: NDArray[Any]) -> None:
    """Raise if a value in a column of objects is neither a number nor a word."""
    for value in values:
        what = no_level(value)
        if what is not None:
            _refuse(name, what)


def no_level(value: Any) -> str | None:
    """Return what a value is that is neither a number nor a word, None for any other.

    Examples
    --------
    >>> no_level(date(2026, 1, 31)), no_level("clerk"), no_level(None)
    ('dates', None, None)
    """
    kinds = (what for kinds, what in _NO_LEVEL.items() if isinstance(value, kinds))
    return None if is_missing(value) else next(kinds, None)


def _refuse(name: str, what: str) -> NoReturn:
    advice = {
        "dates": "convert them to numbers, such as the days since a date",
        "durations": "convert them to numbers, such as days",
        "complex numbers": "give their parts as columns of their own",
    }.get(what, "give each part as a column of its own")
    raise TypeError(
        f"column {name!r} holds {what}; an argument must be a string or a number: {advice}, or "
        "drop it"
    )


def take(X: Any, rows: Any) -> Any:
    """Return these rows of a frame, array or sparse matrix, as the same kind of table."""
    if isinstance(X, CodedTable):
        return CodedTable(X.matrix[rows], X.layout)
    if isinstance(X, ColumnTable):
        return X.take(rows)
    if sparse.issparse(X):
        return X[rows]
    frame = as_frame(X)
    return np.asarray(X)[rows] if frame is None else frame[rows].to_native()


def select(X: Any, names: Sequence[str]) -> Any:
    """Return these columns of a frame, as the same kind of table."""
    if isinstance(X, ColumnTable):
        return X.select(names)
    return nw.from_native(X, eager_only=True).select(list(names)).to_native()


def row_count(X: Any) -> int:
    """Return how many rows a table has."""
    if isinstance(X, CodedTable | ColumnTable):
        return len(X)
    frame = as_frame(X)
    return len(np.asarray(X)) if frame is None else len(frame)


def numbers_of(X: Any) -> NDArray[Any] | None:
    """Return a table that is one array of numbers as that array, None for any other."""
    if isinstance(X, CodedTable):
        return None if X.layout.levels else X.matrix
    return X if _is_numeric_array(X) and X.ndim == 2 else None


def holds_text(X: Any) -> bool:
    """Return whether a table has a column that is neither numbers nor booleans."""
    if isinstance(X, ColumnTable):
        return any(values.dtype.kind == "O" for values in X.values.values())
    frame = as_frame(X)
    return frame is not None and not all(map(_is_number, frame.schema.values()))


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a table as a narwhals frame, or None if it is an array."""
    if isinstance(X, np.ndarray):  # which narwhals takes a millisecond to find out
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Named columns as arrays: a table that no library of data frames is needed for.

    Parameters
    ----------
    values : mapping of str to array
        Numbers with NaN, or objects such as text, with None where missing.
    notes : mapping
        What is known about the table besides its values.
    twice : str, optional
        A name that several columns of the file had.

    Examples
    --------
    >>> table = ColumnTable({"age": np.array([31.0, 40.0]), "job": np.array(["a", None], object)})
    >>> table.columns, [column.values.tolist() for column in columns(table.take([1]))]
    (['age', 'job'], [[40.0], ['(missing)']])
    """

    values: Mapping[str, NDArray[Any]]
    notes: Mapping[str, Any] = field(default_factory=dict)
    twice: str | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self), len(self.values)

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.values[name]

    def select(self, names: Sequence[str]) -> Self:
        """Return these columns."""
        return replace(self, values={name: self.values[name] for name in names})

    def take(self, rows: Any) -> Self:
        """Return the rows at these positions, or where a mask is true."""
        return replace(self, values={name: each[rows] for name, each in self.values.items()})

    def with_columns(self, values: Mapping[str, NDArray[Any]]) -> Self:
        """Return the table with columns added, or replaced."""
        return replace(self, values={**self.values, **values})


@dataclass(frozen=True)
class EngineTable:
    """The columns of a training table: their names, and the levels of the categorical ones.

    Numeric arrays reach the engine as they are. A categorical column becomes the position of each
    row's level; what is missing, or was not seen in training, becomes NaN.

    Examples
    --------
    >>> import numpy as np
    >>> table = EngineTable.of(np.array([["b", 1], ["a", 2]], dtype=object))
    >>> table.levels, table.matrix(np.array([["a", 3], ["c", 4]], dtype=object)).tolist()
    ({'column 0': ('a', 'b')}, [[0.0, 3.0], [nan, 4.0]])
    """

    names: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, X: Any) -> Self:
        """Read names and levels off a table; a column without any value counts as numeric."""
        if _is_numeric_array(X):
            return cls(tuple(map(_array_name, range(X.shape[1]))), {})
        names, levels = [], {}
        for column in columns(X):
            names.append(column.name)
            occurring = _levels(column) if column.categorical else ()
            if occurring:
                levels[column.name] = occurring
        return cls(tuple(names), levels)

    @property
    def named(self) -> bool:
        """Whether the names are the user's own: an array's columns are named by position."""
        return self.names != tuple(map(_array_name, range(len(self.names))))

    def code(self, X: Any) -> CodedTable:
        """Return the table as an engine reads it, or say which column does not fit."""
        return CodedTable(self.matrix(X), self)

    def matrix(self, X: Any) -> NDArray[Any]:
        """Return the table as floats, or say which column does not fit."""
        if isinstance(X, CodedTable):
            return X.matrix
        if _is_numeric_array(X) and not self.levels:
            matrix = X if X.dtype.kind == "f" else X.astype(np.float64)
        else:
            matrix = np.empty((row_count(X), len(self.names)), dtype=np.float64)
            for position, column in enumerate(columns(X)):  # an array's columns have other names
                matrix[:, position] = self._numbers(self.names[position], column)
        if not matrix.size or max(matrix.max(), -matrix.min()) <= _LARGEST:  # false with NaN too
            return matrix
        for name, values in zip(self.names, matrix.T, strict=True):
            if (np.abs(values) > _LARGEST).any():
                raise ValueError(
                    f"X contains infinity or a number too large in {name!r}; make it finite or NaN "
                    "first"
                )
        return matrix

    def _numbers(self, name: str, column: Column) -> NDArray[Any]:
        if name in self.levels:
            if column.categorical:
                return _codes(column.values, self.levels[name])
            if not np.isnan(column.values).all():
                raise ValueError(f"{name!r} held words in fit and holds numbers now")
        elif column.categorical:
            if _levels(column):
                raise ValueError(f"{name!r} held numbers in fit and holds words now")
            return np.full(len(column.values), np.nan)
        return column.values


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Rows as an engine reads them, together with what their columns are.

    Parameters
    ----------
    matrix : array of shape (n, p)
        Numbers with NaN, categories as the positions of their levels.
    layout : EngineTable
        Names of the columns, and levels of the categorical ones.
    """

    matrix: NDArray[Any]
    layout: EngineTable

    def __len__(self) -> int:
        return len(self.matrix)

    def columns(self) -> Iterator[Column]:
        """Yield the columns, categories as their levels."""
        for name, values in zip(self.layout.names, self.matrix.T, strict=True):
            levels = self.layout.levels.get(name)
            if levels is None:
                yield Column(name, values.astype(np.float64), categorical=False)
                continue
            texts = np.array([*levels, MISSING], dtype=object)
            codes = np.where(np.isnan(values), len(levels), values).astype(np.intp)
            yield Column(name, texts[codes], categorical=True)


#: The canonical order of rows, None where nobody found it, and the rows.
Ordered = tuple[Index | None, CodedTable]


def check_table(X: Any, smallest: int = 2) -> Any:
    """Return a frame as it is and anything else as an array; NaN and text are allowed."""
    if isinstance(X, (list, tuple, np.ndarray)) or not hasattr(X, "columns"):
        return check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=smallest)
    if len(X.columns) == 0:
        raise ValueError("X has no columns; give at least one")
    return X


def _array_name(position: int) -> str:
    return f"column {position}"


def _is_numeric_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub"


def _levels(column: Column) -> tuple[str, ...]:
    return tuple(sorted({str(level) for level in column.values} - {MISSING}))


def _codes(values: NDArray[Any], levels: tuple[str, ...]) -> NDArray[np.float64]:
    position = {level: code for code, level in enumerate(levels)}
    return np.array([position.get(str(value), np.nan) for value in values], dtype=np.float64)
