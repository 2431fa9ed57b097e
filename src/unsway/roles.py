"""From what a user hands in to checked roles: covariates X, label y, sensitive attribute z.

Every check runs before any work, and every error says what is wrong, where, and what to do. Values
of the sensitive attribute never appear in a message beyond the names of its levels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitive:
    """A checked sensitive attribute: 0/1 per row, what 0 and 1 stand for, and its column name."""

    values: Floats
    levels: tuple[Any, Any]
    name: str | None


def vector(values: Any, role: str) -> tuple[NDArray[Any], str | None]:
    """Return a one-dimensional array and the column's name, from a list, array, series or frame.

    Raises
    ------
    ValueError
        If it is not one column, is empty, or holds missing or infinite values.
    """
    array, name, missing = _read(values, role)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"{role} must be one column; got an array of shape {array.shape}")
    if len(array) == 0:
        raise ValueError(f"{role} is empty")
    missing = missing or _count_missing(array)
    if missing:
        raise ValueError(
            f"{role} has {missing} missing values (NaN or None) in {len(array)} rows; drop those "
            "rows or fill them in first"
        )
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise ValueError(f"{role} has infinite values; drop those rows first")
    return array, name


def _read(values: Any, role: str) -> tuple[NDArray[Any], str | None, int]:
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
        return sum(map(_is_missing, array))
    return 0


def _is_missing(value: Any) -> bool:
    """Return whether it is None, NaN, NaT or pandas.NA, which has no answer to ``!=``."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array, whose elements answer one by one
        return False


def _levels(array: NDArray[Any], role: str) -> NDArray[Any]:
    """Return the sorted distinct values; two-level numbers are told without sorting."""
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


def check_sensitive(
    sensitive_features: Any, n_rows: int, positive_level: Any = None, *, beside: str = "X"
) -> Sensitive:
    """Return z as 0/1 with what the two values stand for.

    Parameters
    ----------
    sensitive_features : column of any kind
        Exactly two levels, no missing value.
    n_rows : int
        Rows it must have.
    positive_level : optional
        The level that counts as z = 1. 0/1 and booleans need none.
    beside : str
        What has that many rows.

    Examples
    --------
    >>> check_sensitive(["F", "M", "M"], 3, positive_level="M").values.tolist()
    [0.0, 1.0, 1.0]
    """
    if sensitive_features is None:
        raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
    array, name = vector(sensitive_features, "sensitive_features")
    check_length(array, n_rows, "sensitive_features", beside)
    levels = _levels(array, "sensitive_features")
    if len(levels) != 2:
        raise ValueError(
            f"sensitive_features has {_describe_levels(levels)}; exactly two are needed. Compare "
            "the column with one level first, for instance z == 'Male'"
        )
    positive = _positive_level(levels, positive_level)
    reference = levels[0] if levels[1] == positive else levels[1]
    return Sensitive((array == positive).astype(np.float64), (reference, positive), name)


def _describe_levels(levels: NDArray[Any]) -> str:
    return f"a single level, {_show(levels[0])}" if len(levels) == 1 else f"{len(levels)} levels"


def _show(level: Any) -> str:
    """Return a level as a user wrote it: NumPy 2 shows its scalars as np.int64(1)."""
    return repr(level.item() if isinstance(level, np.generic) else level)


def _positive_level(levels: NDArray[Any], stated: Any) -> Any:
    shown = " and ".join(repr(level) for level in levels.tolist())
    if stated is not None:
        if stated not in levels.tolist():
            raise ValueError(
                f"positive_level={stated!r} is not a level of sensitive_features, which has {shown}"
            )
        return levels[levels.tolist().index(stated)]
    if levels.tolist() == [0, 1]:  # also False and True
        return levels[1]
    raise ValueError(
        f"sensitive_features has the levels {shown}; say which counts as z = 1 with "
        f"positive_level={levels.tolist()[1]!r} or positive_level={levels.tolist()[0]!r}"
    )


def check_labels(y: Any, n_rows: int) -> tuple[Floats, NDArray[Any]]:
    """Return y as 0/1 floats and its two classes, sorted as scikit-learn sorts them."""
    if y is None:
        raise ValueError("the estimator requires y to be passed, but the target y is None")
    array, _ = vector(y, "y")
    check_length(array, n_rows, "y")
    if isinstance(y, np.ndarray) and y.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; use y.ravel()",
            DataConversionWarning,
            stacklevel=3,
        )
    classes = _levels(array, "y")
    if array.dtype.kind == "f" and (array % 1 != 0).any():
        raise ValueError(
            "Unknown label type: continuous. y must hold the two classes of a binary label"
        )
    if len(classes) == 1:
        raise ValueError(f"y has a single class, {classes.tolist()[0]!r}; both classes are needed")
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has "
            f"{len(classes)} classes"
        )
    return (array == classes[1]).astype(np.float64), classes


def check_outcome(y: Any, n_rows: int) -> tuple[Floats, bool]:
    """Return y as floats, and whether it is binary.

    Numbers are taken as they are, so that scores keep their scale; two classes of text become 0
    and 1 in the order scikit-learn sorts them.
    """
    array, _ = vector(y, "y")
    check_length(array, n_rows, "y")
    if array.dtype.kind == "O" and all(isinstance(value, Number) for value in array):
        array = array.astype(np.float64)
    levels = _levels(array, "y")
    if len(levels) == 1:
        raise ValueError("y is the same for every row, so nothing has an effect on it")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64), levels.tolist() == [0, 1]
    if len(levels) > 2:
        raise ValueError(f"y has {len(levels)} classes of text; give numbers or two classes")
    return (array == levels[1]).astype(np.float64), True


def check_weights(sample_weight: Any, n_rows: int, *, beside: str = "X") -> Floats | None:
    """Return the weights as floats, or None; refuse negative and non-finite ones, and all zeros."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold numbers") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    check_length(weights, n_rows, "sample_weight", beside)
    bad = int((~np.isfinite(weights)).sum())
    if bad:
        raise ValueError(f"sample_weight has {bad} values that are NaN or infinite")
    if (weights < 0).any():
        raise ValueError(f"sample_weight has {int((weights < 0).sum())} negative values")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row")
    return weights


def check_length(array: NDArray[Any], n_rows: int, role: str, beside: str = "X") -> None:
    """Raise unless there is one value per row of what stands beside it."""
    if len(array) != n_rows:
        raise ValueError(f"{role} has {len(array)} rows but {beside} has {n_rows}; they must match")


def check_both_levels(
    values: Floats,
    sample_weight: Floats | None,
    levels: Iterable[Any],
    place: str,
    kind: str = "sensitive level",
) -> None:
    """Raise if a level of 0/1 values has no row, or no weight, in this place."""
    for value, level in enumerate(levels):
        rows = values == value
        if not rows.any():
            raise ValueError(f"{place} has no row of {kind} {_show(level)}; both are needed")
        if sample_weight is not None and not sample_weight[rows].any():
            raise ValueError(
                f"{place} has rows of {kind} {_show(level)}, but each has a sample_weight of "
                "zero; both are needed"
            )


def refuse_sensitive_column(X: Any, sensitive: Sensitive) -> None:
    """Raise if X still holds the sensitive attribute, under its name or as a recoded copy."""
    z = sensitive.values == 1
    first, other = int(np.argmax(z)), int(np.argmin(z))
    for column in columns(X):
        if sensitive.name is not None and column.name == sensitive.name:
            raise ValueError(
                f"X contains the sensitive column {column.name!r}; drop it: it is needed in fit "
                "only, as sensitive_features"
            )
        if _is_copy(column.values, z, first, other):
            raise ValueError(
                f"X contains the sensitive attribute: {column.name!r} is the same as "
                "sensitive_features up to its coding; drop that column"
            )


def holds_text(X: Any) -> bool:
    """Return whether a frame has a column that is neither numbers nor booleans."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    return any(not _is_number(dtype) for dtype in frame.schema.values())


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def _is_copy(column: NDArray[Any], z: NDArray[np.bool_], first: int, other: int) -> bool:
    if column[first] == column[other]:
        return False
    for rows in (slice(0, 1_000), slice(None)):  # most columns are ruled out by their head
        coded = np.where(z[rows], column[first], column[other])
        if not np.array_equal(column[rows], coded):
            return False
    return True


@dataclass(frozen=True)
class Column:
    """One column of a table: floats (NaN where missing), or strings for a categorical one."""

    name: str
    values: NDArray[Any]
    categorical: bool


def columns(X: Any) -> Iterator[Column]:
    """Yield the columns of a frame or array; a missing category reads "(missing)".

    Examples
    --------
    >>> import numpy as np
    >>> [column.name for column in columns(np.zeros((3, 2)))]
    ['column 0', 'column 1']
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for series in map(frame.get_column, frame.columns):
            if _is_number(series.dtype):
                values = series.cast(nw.Float64).to_numpy().astype(np.float64)
                yield Column(str(series.name), values, categorical=False)
            else:
                texts = series.cast(nw.String).to_numpy().astype(object)
                texts[series.is_null().to_numpy()] = "(missing)"  # pandas 2 casts None to "None"
                yield Column(str(series.name), texts, categorical=True)
        return
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns; got an array of {array.ndim}D")
    for position, values in enumerate(array.T):
        yield _array_column(f"column {position}", values)


def _array_column(name: str, values: NDArray[Any]) -> Column:
    try:
        return Column(name, values.astype(np.float64), categorical=False)
    except (TypeError, ValueError):
        texts = ["(missing)" if _is_missing(value) else str(value) for value in values]
        return Column(name, np.array(texts, dtype=object), categorical=True)


def take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return these rows of a frame, array or sparse matrix, as the same kind of table."""
    if sparse.issparse(X):
        return X[rows]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return np.asarray(X)[rows]


def row_count(X: Any) -> int:
    """Return how many rows a frame or array has."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return len(frame) if isinstance(frame, nw.DataFrame) else len(np.asarray(X))


@dataclass(frozen=True)
class Roles:
    """Checked labels, sensitive attribute and weights of the rows of one table."""

    target: Floats
    classes: NDArray[Any]
    sensitive: Sensitive
    weights: Floats | None


def check_roles(
    X: Any, y: Any, sensitive_features: Any, sample_weight: Any, positive_level: Any
) -> Roles:
    """Return the roles of a checked table, or say what is wrong before any work."""
    n_rows = row_count(X)
    target, classes = check_labels(y, n_rows)
    sensitive = check_sensitive(sensitive_features, n_rows, positive_level)
    weights = check_weights(sample_weight, n_rows)
    check_both_levels(target, weights, classes, "y", kind="class")
    check_both_levels(sensitive.values, weights, sensitive.levels, "sensitive_features")
    refuse_sensitive_column(X, sensitive)
    return Roles(target, classes, sensitive, weights)
