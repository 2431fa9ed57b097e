"""Tables as the tree engines take them: numbers with NaN, categories as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..roles import columns


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
        """Read names and levels off a table."""
        names, levels = [], {}
        for column in columns(X):
            names.append(column.name)
            if column.categorical:
                found = np.unique(column.values)
                levels[column.name] = tuple(str(level) for level in found if level != "(missing)")
        return cls(tuple(names), levels)

    def matrix(self, X: Any) -> NDArray[Any]:
        """Return the table as floats."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
            matrix = X if X.dtype.kind == "f" else X.astype(np.float32)
        else:
            matrix = np.empty((_n_rows(X), len(self.names)), dtype=np.float32)
            for position, column in enumerate(columns(X)):
                if column.name in self.levels:
                    matrix[:, position] = _codes(column.values, self.levels[column.name])
                elif column.categorical:
                    raise ValueError(f"{column.name!r} held numbers in fit and holds words now")
                else:
                    matrix[:, position] = column.values
        for name, values in zip(self.names, matrix.T, strict=True):
            if np.isinf(values).any():
                raise ValueError(f"X contains infinity in {name!r}; make it finite or NaN first")
        return matrix


def _n_rows(X: Any) -> int:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return len(frame) if isinstance(frame, nw.DataFrame) else len(np.asarray(X))


def _codes(values: NDArray[Any], levels: tuple[str, ...]) -> NDArray[np.float32]:
    position = {level: code for code, level in enumerate(levels)}
    return np.array([position.get(str(value), np.nan) for value in values], dtype=np.float32)
