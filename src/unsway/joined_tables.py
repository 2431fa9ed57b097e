"""Tables with further columns: those of another table of the same rows."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from .tables import ColumnTable, as_frame, columns


def names_of_columns(X: Any) -> list[str]:
    """Return the names of the columns of a frame; an array has none."""
    if isinstance(X, ColumnTable):
        return X.columns
    frame = as_frame(X)
    return [] if frame is None else [str(name) for name in frame.columns]


def beside(X: Any, other: Any) -> Any:
    """Return a table with the columns of another one beside it, by position of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> beside(np.array([[1.0], [2.0]]), np.array([[5], [6]])).tolist()
    [[1.0, 5.0], [2.0, 6.0]]
    """
    if sparse.issparse(X) or sparse.issparse(other):
        raise TypeError("a sparse matrix takes no columns beside it; give a dense table")
    if isinstance(X, ColumnTable) and isinstance(other, ColumnTable):
        return X.with_columns(other.values)
    frame, more = as_frame(X), list(columns(other))
    if frame is None:
        return np.hstack([np.asarray(X), np.column_stack([column.values for column in more])])
    taken = set(frame.columns)
    names = [name if name not in taken else f"{name} (beside X)" for name in (c.name for c in more)]
    values = {name: column.values.tolist() for name, column in zip(names, more, strict=True)}
    added = nw.from_dict(values, backend=nw.get_native_namespace(frame))
    return frame.with_columns(added[name] for name in names).to_native()
