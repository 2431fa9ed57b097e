"""The columns a model was trained on, and finding them again in another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..tables import MISSING, ColumnTable, columns

#: A column of words with more levels than this names rows rather than groups of rows.
MANY_LEVELS = 1_000


@dataclass(frozen=True)
class Feature:
    """A column a model reads: its name, whether it holds numbers, and else its levels."""

    name: str
    kind: Literal["number", "category"]
    levels: tuple[str, ...] = ()


def one_hot(
    X: Any, features: Sequence[Feature], *, keep_missing: bool = False
) -> tuple[Floats, tuple[str, ...]]:
    """Return a table as floats, and the name of each column: "feature" or "feature=level".

    Every level has its column; a level that is not among them has zeros. A missing number is
    refused, unless ``keep_missing`` leaves it as NaN.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["b", 1], ["a", 2]], dtype=object)
    >>> matrix, names = one_hot(X, [Feature("job", "category", ("a", "b")), Feature("n", "number")])
    >>> matrix.tolist(), names
    ([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0]], ('job=a', 'job=b', 'n'))
    """
    parts: list[Floats] = []
    names: list[str] = []
    for feature, column in zip(features, columns(X), strict=True):
        if feature.kind == "number":
            _refuse_not_finite(feature.name, column.values, keep_missing=keep_missing)
            parts.append(column.values[:, None])
            names.append(feature.name)
        else:
            parts.append((column.values[:, None] == np.array(feature.levels, object)).astype(float))
            names.extend(f"{feature.name}={level}" for level in feature.levels)
    return np.hstack(parts), tuple(names)


def fill_numbers(
    X: Any, features: Sequence[Feature], fill: Mapping[str, float], marked: Sequence[str]
) -> Floats:
    """Return a table as a logistic regression that was trained on missing numbers weighs it.

    These are the columns of `one_hot`, missing numbers replaced by ``fill``, and for each of the
    ``marked`` features a column that is 1 where its number is missing.

    Examples
    --------
    >>> import numpy as np
    >>> X, number = np.array([[1.0], [np.nan]]), Feature("n", "number")
    >>> fill_numbers(X, [number], {"n": 3.0}, ["n"]).tolist()
    [[1.0, 0.0], [3.0, 1.0]]
    """
    matrix, _ = one_hot(X, features, keep_missing=True)
    names = [name for name, _ in one_hot_columns(features)]
    missing = np.isnan(matrix)
    values = np.array([fill.get(name, np.nan) for name in names])
    marks = missing[:, [names.index(name) for name in marked]]
    return np.hstack([np.where(missing, values, matrix), marks])


def one_hot_columns(features: Sequence[Feature]) -> list[tuple[str, str | None]]:
    """Return feature and level of each column of `one_hot`; a number has no level."""
    return [
        (feature.name, level)
        for feature in features
        for level in (feature.levels if feature.kind == "category" else (None,))
    ]


def features_of_table(X: Any) -> tuple[Feature, ...]:
    """Return the features of a table to be made `one_hot`; a missing category is a level."""
    return tuple(
        Feature(column.name, "category", tuple(sorted({str(value) for value in column.values})))
        if column.categorical
        else Feature(column.name, "number")
        for column in columns(X)
    )


def align(X: Any, features: Sequence[Feature]) -> Any:
    """Return the features of a table in their order; refuse one that is missing or changed kind."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(X, ColumnTable):
        _refuse_absent(features, X.columns)
        kinds = ((each, X[each.name]) for each in features)
        return X.select([]).with_columns({f.name: _array_as_trained(v, f) for f, v in kinds})
    if not isinstance(frame, nw.DataFrame):
        width = np.asarray(X).shape[1] if np.ndim(X) == 2 else 0
        if width != len(features):
            raise ValueError(f"X has {width} columns; the model was trained on {len(features)}")
        return X
    _refuse_absent(features, frame.columns)
    frame = frame.select([feature.name for feature in features])
    return frame.with_columns(
        *(_as_trained(frame.get_column(feature.name), feature) for feature in features)
    ).to_native()


def identifies_rows(n_levels: int, n_rows: float) -> bool:
    """Return whether a column of words has so many levels that they name rows, not groups of rows.

    Examples
    --------
    >>> identifies_rows(15, 20), identifies_rows(400, 700), identifies_rows(400, 10_000)
    (False, True, False)
    """
    return n_levels > MANY_LEVELS or (n_levels > 20 and n_levels > n_rows / 2)


def count_unseen(X: Any, features: Sequence[Feature]) -> dict[str, int]:
    """Return how many rows of an aligned table hold a level training did not see, by column."""
    unseen = {}
    for feature, column in zip(features, columns(X), strict=True):
        if feature.kind == "category":
            known = {*feature.levels, MISSING}
            unseen[feature.name] = sum(str(value) not in known for value in column.values)
    return {name: count for name, count in unseen.items() if count}


def close_matches(name: str, names: Sequence[str]) -> str:
    """Return what a user may have meant, ready to follow a message."""
    matches = get_close_matches(name, names, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def _refuse_absent(features: Sequence[Feature], names: Sequence[str]) -> None:
    for feature in features:
        if feature.name not in names:
            raise ValueError(
                f"column {feature.name!r} is missing{close_matches(feature.name, names)}"
            )


def _as_trained(series: Any, feature: Feature) -> Any:
    number = series.dtype.is_numeric() or series.dtype == nw.Boolean
    if number == (feature.kind == "number"):
        return series
    if series.is_null().all():  # a column without any value has no kind
        return series.cast(nw.Float64 if feature.kind == "number" else nw.String)
    raise _changed_kind(feature, number)


def _array_as_trained(values: NDArray[Any], feature: Feature) -> NDArray[Any]:
    number = values.dtype.kind != "O"
    if number == (feature.kind == "number"):
        return values
    if number and np.isnan(values).all():  # a column without any value has no kind
        return np.full(len(values), None, dtype=object)
    if not number and all(value is None for value in values):
        return np.full(len(values), np.nan)
    raise _changed_kind(feature, number)


def _changed_kind(feature: Feature, number: bool) -> ValueError:
    was, now = ("words", "numbers") if number else ("numbers", "words")
    return ValueError(f"column {feature.name!r} held {was} in training and holds {now} now")


def _refuse_not_finite(name: str, values: NDArray[Any], *, keep_missing: bool) -> None:
    missing, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    if missing and not keep_missing:
        raise ValueError(
            f"column {name!r} has {missing} missing numbers, but this logistic regression was "
            "trained on a table without any: fill them in, or train it again on a table that has "
            "some"
        )
    if infinite:
        raise ValueError(f"column {name!r} has {infinite} infinite values; make them finite first")
