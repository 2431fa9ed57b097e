"""Checks of what a user hands in: columns, lengths, weights and parameters.

Every check runs before any work, and every error says what is wrong, where, and what to do. Values
of the sensitive attribute never appear in a message beyond the names of its levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ._typing import Floats

#: Of more values than this a message names none: they may be those of single rows.
MOST_NAMED = 10


def read_column(values: Any, role: str) -> tuple[NDArray[Any], str | None]:
    """Return a one-dimensional array and the column's name, from a list, array, series or frame.

    Raises
    ------
    ValueError
        If it is not one column, is empty, or holds missing or infinite values.
    """
    array, name, missing = _as_array(values, role)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"{role} must be one column; got an array of shape {array.shape}")
    if len(array) == 0:
        raise ValueError(f"{role} is empty")
    if array.dtype.kind == "c":
        raise TypeError(f"{role} holds complex numbers; give real ones")
    missing = missing or _count_missing(array)
    if missing:
        raise ValueError(
            f"{role} has {missing} missing values (NaN or None) in {len(array)} rows; drop those "
            "rows or fill them in first"
        )
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise ValueError(f"{role} has infinite values; drop those rows first")
    return array, name


def read_known(values: Any, role: str) -> tuple[NDArray[Any], str | None, NDArray[np.bool_]]:
    """Return the values of one column that are not missing, its name, and which rows have them.

    Examples
    --------
    >>> known, name, there = read_known(["a", None, "b"], "z")
    >>> known.tolist(), there.tolist()
    (['a', 'b'], [True, False, True])
    """
    column = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.DataFrame) and len(column.columns) == 1:
        column = column[column.columns[0]]
    if isinstance(column, nw.Series):
        there = ~np.array([is_missing(each) for each in column.to_list()], dtype=bool)
        array, name = read_column(column.filter(there.tolist()), role)
        return array, name, there
    given = np.asarray(values)
    there = ~np.array([is_missing(each) for each in given.tolist()], dtype=bool)
    array, name = read_column(given[there], role)
    words = array.dtype.kind == "O" and all(isinstance(each, str) for each in array)
    return array.astype(str) if words else array, name, there


def count_missing(values: Any, role: str) -> int:
    """Return how many values of one column are missing."""
    array, _, nulls = _as_array(values, role)
    return nulls or _count_missing(array)


def _as_array(values: Any, role: str) -> tuple[NDArray[Any], str | None, int]:
    """Return values, name and number of nulls of a column, whatever it is stored in."""
    column = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.DataFrame):
        if len(column.columns) != 1:
            raise ValueError(f"{role} has {len(column.columns)} columns; give exactly one")
        column = column[column.columns[0]]
    if not isinstance(column, nw.Series):
        try:
            return np.asarray(values), None, 0
        except ValueError:
            raise ValueError(f"{role} must be one column; its rows differ in length") from None
    name = None if column.name in (None, "") else str(column.name)
    nulls = int(column.is_null().sum())
    return (np.empty(len(column)) if nulls else column.to_numpy()), name, nulls


def _count_missing(array: NDArray[Any]) -> int:
    if array.dtype.kind == "f":
        return int(np.isnan(array).sum())
    if array.dtype.kind in "mM":
        return int(np.isnat(array).sum())
    if array.dtype.kind == "O":
        return sum(map(is_missing, array))
    return 0


def is_missing(value: Any) -> bool:
    """Return whether it is None, NaN, NaT or pandas.NA, which has no answer to ``!=``."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array, whose elements answer one by one
        return False


def read_numbers(
    values: Any, role: str, n_rows: int | None = None, *, beside: str = "X", kind: str = "numbers"
) -> Floats:
    """Return one column as floats; `n_rows`, if given, is the number of rows of `beside`."""
    array, _ = read_column(values, role)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{role} must hold {kind}") from None
    if n_rows is not None:
        check_length(numbers, n_rows, role, beside)
    return numbers


def distinct_values(array: NDArray[Any], role: str) -> NDArray[Any]:
    """Return the sorted distinct values; numbers that take two values need no sorting."""
    if array.dtype.kind in "biuf":
        ends = np.array([array.min(), array.max()])
        if np.all((array == ends[0]) | (array == ends[1])):
            return np.unique(ends)
    try:
        return np.unique(array)
    except (TypeError, ValueError):
        raise TypeError(
            f"{role} mixes types that cannot be compared; make it all strings or numbers"
        ) from None


def show_value(value: Any) -> str:
    """Return a value as a user wrote it: NumPy 2 shows its scalars as np.int64(1)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def show_levels(levels: Sequence[Any]) -> str:
    """Return the names of levels; of more than ten, which may be values of single rows, how many.

    Examples
    --------
    >>> show_levels(["a", "b"]), show_levels(range(12))
    ("'a' and 'b'", '12 levels')
    """
    if len(levels) > MOST_NAMED:
        return f"{len(levels)} levels"
    return (" and " if len(levels) == 2 else ", ").join(map(show_value, levels))


def check_length(array: NDArray[Any], n_rows: int, role: str, beside: str = "X") -> None:
    """Raise unless there is one value for each row of the table beside it."""
    if len(array) != n_rows:
        raise ValueError(f"{role} has {len(array)} rows but {beside} has {n_rows}; they must match")


def check_same_order(X: Any, values: Any, role: str, beside: str = "X") -> None:
    """Raise if two pandas objects have the same row labels in another order.

    Rows are matched by their position, as in scikit-learn. Other labels are therefore allowed, such
    as those of a column taken before ``reset_index``.
    """
    one: Any = getattr(X, "index", None)
    other: Any = getattr(values, "index", None)
    if not (hasattr(one, "equals") and hasattr(other, "equals")) or one.equals(other):
        return
    if one.is_unique and len(one) == len(other) and len(one.difference(other, sort=False)) == 0:
        raise ValueError(
            f"{role} has the index of {beside} in another order, and rows are matched by position; "
            f"order it first: {role}.loc[{beside}.index]"
        )


def check_weights(
    sample_weight: Any, n_rows: int, *, beside: str = "X", role: str = "sample_weight"
) -> Floats | None:
    """Return the weights as floats, or None; refuse negative and non-finite ones, and all zeros."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{role} must hold numbers") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    check_length(weights, n_rows, role, beside)
    bad = int((~np.isfinite(weights)).sum())
    if bad:
        raise ValueError(f"{role} has {bad} values that are NaN or infinite")
    if (weights < 0).any():
        raise ValueError(f"{role} has {int((weights < 0).sum())} negative values")
    if not weights.any():
        raise ValueError(f"{role} is zero for every row")
    return weights


def read_clusters(
    cluster: Any, n_rows: int, *, beside: str = "X", role: str = "cluster"
) -> NDArray[np.intp] | None:
    """Return the position of each row's cluster, or None where rows are independent.

    Examples
    --------
    >>> read_clusters(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    if cluster is None:
        return None
    array, _ = read_column(cluster, role)
    check_length(array, n_rows, role, beside)
    distinct_values(array, role)
    return np.unique(array, return_inverse=True)[1].astype(np.intp)


def check_choice(value: Any, name: str, choices: Iterable[Any]) -> None:
    """Raise unless the value is one of the choices."""
    known = tuple(choices)
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}; choose from {', '.join(map(str, known))}")


def check_integer(value: Any, name: str, *, at_least: int) -> int:
    """Return a whole number, or raise unless it is one of at least this size."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ValueError(f"{name} must be an integer of at least {at_least}; got {value!r}")
    return int(value)


def check_number(
    value: Any,
    name: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> float:
    """Return a finite number within these bounds, or raise.

    Examples
    --------
    >>> check_number(2, "l2", at_least=0)
    2.0
    >>> check_number(-1, "l2", at_least=0)
    Traceback (most recent call last):
        ...
    ValueError: l2 must be a finite number of at least 0; got -1
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}")
    number = float(value)
    bounds = {"at least": at_least, "above": above, "at most": at_most, "below": below}
    inside = (
        np.isfinite(number)
        and (at_least is None or number >= at_least)
        and (above is None or number > above)
        and (at_most is None or number <= at_most)
        and (below is None or number < below)
    )
    if not inside:
        told = [f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None]
        of = " of " if told and told[0].startswith("at") else " "
        range_ = of + " and ".join(told) if told else ""
        raise ValueError(f"{name} must be a finite number{range_}; got {value!r}")
    return number


def check_values_present(
    codes: NDArray[Any],
    sample_weight: Floats | None,
    values: Iterable[Any],
    place: str,
    kind: str,
) -> None:
    """Raise if a value has no row, or no weight, in this place."""
    values = list(values)
    needed = "both are needed" if len(values) == 2 else "all are needed"
    many = len(values) > MOST_NAMED  # names of levels that may be values of single rows
    for code, value in enumerate(values):
        rows, name = codes == code, f"one of {len(values)}" if many else show_value(value)
        if not rows.any():
            raise ValueError(f"{place} has no row of {kind} {name}; {needed}")
        if sample_weight is not None and not sample_weight[rows].any():
            raise ValueError(
                f"{place} has rows of {kind} {name}, but each has a sample_weight of zero; {needed}"
            )
