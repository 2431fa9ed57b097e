"""Tables as the tree engines take them: numbers with NaN, categories as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from .roles import Column, columns, row_count

#: Engines keep single precision; a larger number would be infinite there.
_LARGEST = float(np.finfo(np.float32).max)


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
            return cls(tuple(map(_place, range(X.shape[1]))), {})
        names, levels = [], {}
        for column in columns(X):
            names.append(column.name)
            found = _levels(column) if column.categorical else ()
            if found:
                levels[column.name] = found
        return cls(tuple(names), levels)

    @property
    def named(self) -> bool:
        """Whether the names are the user's own: an array's columns have places instead."""
        return self.names != tuple(map(_place, range(len(self.names))))

    def matrix(self, X: Any) -> NDArray[Any]:
        """Return the table as floats, or say which column does not fit."""
        if _is_numeric_array(X) and not self.levels:
            matrix = X if X.dtype.kind == "f" else X.astype(np.float64)
        else:
            matrix = np.empty((row_count(X), len(self.names)), dtype=np.float64)
            for position, column in enumerate(columns(X)):  # an array's columns have other names
                matrix[:, position] = self._numbers(self.names[position], column)
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


def check_table(X: Any, smallest: int = 2) -> Any:
    """Return a frame as it is and anything else as an array; NaN and words may stand."""
    if isinstance(X, (list, tuple, np.ndarray)) or not hasattr(X, "columns"):
        return check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=smallest)
    return X


def _place(position: int) -> str:
    return f"column {position}"


def _is_numeric_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub"


def _levels(column: Column) -> tuple[str, ...]:
    return tuple(sorted({str(level) for level in column.values} - {"(missing)"}))


def _codes(values: NDArray[Any], levels: tuple[str, ...]) -> NDArray[np.float64]:
    position = {level: code for code, level in enumerate(levels)}
    return np.array([position.get(str(value), np.nan) for value in values], dtype=np.float64)
