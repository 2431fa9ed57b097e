"""What a user hands to an audit, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..roles import (
    Floats,
    check_both_levels,
    check_labels,
    check_length,
    check_sensitive,
    check_weights,
    refuse_sensitive_column,
    row_count,
    vector,
)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Labels and sensitive attribute as 0/1, what they stand for, and weights."""

    y: Floats
    z: Floats
    weights: Floats | None
    classes: tuple[str, str]
    levels: tuple[str, str]
    name: str | None

    def take(self, rows: NDArray[np.intp]) -> Inputs:
        """Return these rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Inputs(self.y[rows], self.z[rows], weights, self.classes, self.levels, self.name)


def check_inputs(
    y: Any,
    scores: Mapping[str, Any],
    sensitive_features: Any,
    X: Any,
    sample_weight: Any,
    positive_level: Any,
) -> tuple[Inputs, dict[str, Floats]]:
    """Return the rows' roles and each model's scores, or say what is wrong and where."""
    labels, _ = vector(y, "y")
    n_rows = len(labels)
    found = {role: check_scores(values, n_rows, role) for role, values in scores.items()}
    sensitive = check_sensitive(sensitive_features, n_rows, positive_level, beside="y")
    weights = check_weights(sample_weight, n_rows, beside="y")
    target, classes = check_labels(y, n_rows)
    check_both_levels(target, weights, classes, "y", kind="class")
    check_both_levels(sensitive.values, weights, sensitive.levels, "sensitive_features")
    given: dict[str, Any] = {"y": y, **scores, "sensitive_features": sensitive_features}
    given |= {"sample_weight": sample_weight}
    if X is not None:
        if row_count(X) != n_rows:
            raise ValueError(f"X has {row_count(X)} rows but y has {n_rows}; they must match")
        refuse_sensitive_column(X, sensitive)
        given["X"] = X
    _check_index(given)
    pair = (str(classes[0]), str(classes[1]))
    levels = (str(sensitive.levels[0]), str(sensitive.levels[1]))
    return Inputs(target, sensitive.values, weights, pair, levels, sensitive.name), found


def check_scores(values: Any, n_rows: int, role: str = "p") -> Floats:
    """Return probabilities of the positive class, or say why they are none."""
    if values is None:
        raise TypeError(f"{role} is None; give the model's probability of the positive class")
    array, _ = vector(values, role)
    check_length(array, n_rows, role, "y")
    try:
        found = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{role} must hold numbers, the probabilities of the positive class; these are "
            f"{array.dtype}"
        ) from None
    outside = int(((found < 0) | (found > 1)).sum())
    if outside:
        raise ValueError(
            f"{role} has {outside:,} values outside [0, 1] in {n_rows:,} rows: it looks like "
            "margins (raw scores), not probabilities. Give predict_proba(X)[:, 1], or the margin "
            "through 1 / (1 + exp(-margin))"
        )
    return found


def check_thresholds(threshold: Any) -> tuple[float, ...]:
    """Return one threshold or several, in increasing order, each once."""
    several = isinstance(threshold, Sequence | np.ndarray) and not isinstance(threshold, str)
    values = list(threshold) if several else [threshold]
    if not values:
        raise ValueError("threshold is an empty list; give at least one number in [0, 1]")
    for value in values:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise ValueError(f"threshold must be a number in [0, 1], or several; got {value!r}")
    return tuple(sorted({float(value) for value in values}))


def check_size(name: str, value: Any, smallest: int) -> int:
    """Return a whole number, or say how small it may be."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < smallest:
        raise ValueError(f"{name} must be an integer of at least {smallest}; got {value!r}")
    return int(value)


def _check_index(given: Mapping[str, Any]) -> None:
    """Raise where two columns of pandas name their rows differently: they would be mismatched."""
    first: tuple[str, Any] | None = None
    for role, values in given.items():
        native = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
        if not isinstance(native, nw.DataFrame | nw.Series):
            continue
        index = nw.maybe_get_index(native)
        if index is None:
            continue
        if first is None:
            first = (role, index)
        elif not first[1].equals(index):
            raise ValueError(
                f"{first[0]} and {role} have different indexes, so their rows may not be the same "
                "people; align them, or drop the indexes with reset_index(drop=True)"
            )
