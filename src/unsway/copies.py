"""Columns of X that are the sensitive attribute itself, under its name or recoded."""

from __future__ import annotations

import re
import warnings
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._typing import Codes, Floats
from .joined_tables import names_of_columns
from .tables import Column, columns, take

#: Words in the names of columns that are sensitive attributes in most laws against discrimination.
#: Age is not among them: its effect through other columns is seldom the question.
SENSITIVE_WORDS = {
    "sex", "gender", "race", "ethnicity", "ethnic", "religion", "nationality", "disability",
    "disabled",
}  # fmt: skip

#: Rows looked at first: most columns are no copy of the sensitive attribute there already.
_HEAD = 1_000


def refuse_sensitive_columns(X: Any, codes: Codes, n_levels: int, name: str | None) -> None:
    """Raise if a column of X has the sensitive attribute's name, or is a recoded copy of it."""
    for position, head in enumerate(columns(take(X, slice(_HEAD)))):
        if name is not None and head.name == name:
            raise ValueError(
                f"X contains the sensitive column {head.name!r}; drop it: it is needed in "
                "fit only, as sensitive_features"
            )
        if _is_copy(head, codes, n_levels):
            whole = next(islice(columns(X), position, None))
            if _is_copy(whole, codes, n_levels):
                refuse_copy(head.name)


def warn_of_other_attributes(X: Any, removed: str | None) -> None:
    """Warn if a column of X has the name of a sensitive attribute other than the one removed."""
    others = [name for name in names_of_columns(X) if is_sensitive_name(name)]
    if not others:
        return
    shown, what = ", ".join(map(repr, others)), removed or "sensitive_features"
    warnings.warn(
        f"X still has {shown}: the model may use it while the effect of {what} is removed. To "
        "remove both effects pass both, as a frame of several columns in sensitive_features; "
        "otherwise leave the column out of X, or accept its use",
        stacklevel=3,
    )


def is_sensitive_name(name: str) -> bool:
    """Return whether a column's name has a word for a sensitive attribute.

    Examples
    --------
    >>> [is_sensitive_name(name) for name in ("Race", "ethnic_group", "age", "trace")]
    [True, True, False, False]
    """
    words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", name).lower())
    return not SENSITIVE_WORDS.isdisjoint(words)


def _is_copy(column: Column, codes: Codes, n_levels: int) -> bool:
    """Return whether the column of the first rows, or of all, is the level recoded."""
    values, codes = column.values, codes[: len(column.values)]
    if column.categorical:
        values = np.unique(values, return_inverse=True)[1].astype(np.float64)
    extremes = level_extremes(values[:, None], codes, n_levels)
    return _varies_with_level(extremes, np.unique(codes))


def level_extremes(matrix: NDArray[Any], codes: Codes, n_levels: int) -> Floats:
    """Return the largest value of each column, and minus its smallest, within each level.

    The elementwise maximum over batches or workers is that of all rows, which is how
    `find_copies` sees a table that is never in one place. A missing value counts as infinite.

    Returns
    -------
    array of shape (n_levels, 2, n_columns)
    """
    extremes = np.full((n_levels, 2, matrix.shape[1]), -np.inf)
    for level in range(n_levels):
        inside = matrix[codes == level]
        if len(inside):
            extremes[level] = [inside.max(axis=0), -inside.min(axis=0)]
    extremes[np.isnan(extremes)] = np.inf
    return extremes


def find_copies(extremes: Floats) -> NDArray[np.intp]:
    """Return the columns that are constant within every level and differ between two of them.

    Examples
    --------
    >>> import numpy as np
    >>> matrix = np.array([[5.0, 1.0], [5.0, 2.0], [7.0, 3.0]])
    >>> find_copies(level_extremes(matrix, np.array([0, 0, 1]), 2)).tolist()
    [0]
    """
    high, low = extremes[:, 0], -extremes[:, 1]
    constant = (high == low).all(axis=0)
    return np.flatnonzero(constant & (high != high[0]).any(axis=0))


def _varies_with_level(extremes: Floats, seen: Codes) -> bool:
    """Return whether one column is the level recoded, as far as the levels seen go."""
    present = extremes[seen[seen < len(extremes)]]
    if not len(present):  # no row of the head has a level
        return True
    if len(present) == 1:  # a head of one level rules out only what varies within it
        return bool((present[:, 0] == -present[:, 1]).all())
    return bool(len(find_copies(present)))


def refuse_copy(name: str) -> None:
    """Raise because this column is the sensitive attribute under another coding."""
    raise ValueError(
        f"X contains the sensitive attribute: {name!r} is the same as sensitive_features up to its "
        "coding; drop that column"
    )
