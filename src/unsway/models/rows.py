"""The rows a model is trained on and those it stops early by, with their criterion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core import Objective
from ..criteria import FittedCriterion, fit_criterion
from ..folds import hold_out
from ..roles import Floats, Roles, check_both_levels, check_roles


@dataclass(frozen=True)
class Rows:
    """Checked rows with their criterion: what an engine and an objective are made of."""

    matrix: NDArray[Any]
    y: Floats
    z: Floats
    sample_weight: Floats | None
    criterion: FittedCriterion

    def objective(self) -> Objective:
        """Return the objective on these rows, at strength 0 until it is told another."""
        return self.criterion.objective(self.y, self.z, self.sample_weight)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows."""
        weights = self.sample_weight
        return type(self)(
            self.matrix[rows],
            self.y[rows],
            self.z[rows],
            None if weights is None else weights[rows],
            self.criterion.take(rows),
        )


def hold_out_rows(
    X: Any, matrix: NDArray[Any], roles: Roles, criterion: Any, *, fraction: float, seed: int
) -> tuple[Rows, Rows]:
    """Return training rows and a stratified hold-out, of one criterion fitted on both."""
    y, z, weights = roles.target, roles.sensitive.values, roles.weights
    held = hold_out(X, y + 2 * z, fraction, seed)
    for rows, place in ((~held, "the training part"), (held, "the hold-out")):
        inside = None if weights is None else weights[rows]
        check_both_levels(z[rows], inside, roles.sensitive.levels, place)
        check_both_levels(y[rows], inside, roles.classes, place, kind="class")
    together = Rows(matrix, y, z, weights, _fit(criterion, X, roles))
    return together.take(np.flatnonzero(~held)), together.take(np.flatnonzero(held))


def rows_beside(
    X: Any,
    matrix: NDArray[Any],
    roles: Roles,
    criterion: Any,
    eval_set: Any,
    read: Callable[[Any], tuple[Any, NDArray[Any]]],
) -> tuple[Rows, Rows]:
    """Return all rows to train on, and the rows of eval_set with the criterion at them.

    ``read`` checks a table and returns it with its matrix.
    """
    if not isinstance(eval_set, tuple) or len(eval_set) not in (3, 4):
        raise TypeError(
            "eval_set must be a tuple (X, y, sensitive_features), with sample_weight as an "
            "optional fourth"
        )
    weights = eval_set[3] if len(eval_set) == 4 else None
    try:
        other_X, other_matrix = read(eval_set[0])
        other = check_roles(other_X, eval_set[1], eval_set[2], weights, roles.sensitive.levels[1])
    except (TypeError, ValueError) as error:
        raise type(error)(f"in eval_set: {error}") from None
    for kind, levels, known in (
        ("label", other.classes.tolist(), roles.classes.tolist()),
        ("sensitive level", list(other.sensitive.levels), list(roles.sensitive.levels)),
    ):
        if levels != known:
            raise ValueError(f"eval_set has a {kind} that the training rows have not")
    fitted = _fit(criterion, X, roles)
    return _rows(matrix, roles, fitted), _rows(other_matrix, other, fitted.at(other_X))


def _fit(criterion: Any, X: Any, roles: Roles) -> FittedCriterion:
    return fit_criterion(criterion, X, roles.sensitive.values, roles.weights, y=roles.target)


def _rows(matrix: NDArray[Any], roles: Roles, fitted: FittedCriterion) -> Rows:
    return Rows(matrix, roles.target, roles.sensitive.values, roles.weights, fitted)
