"""What a linear model minimises, with the signs that a user gives its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._typing import Floats
from ..core.class_newton import ClassProblem
from ..core.newton import LinearProblem
from ..criteria import FittedCriterion
from ..rows import Rows

#: What a weight may be: at most 0, anything, at least 0.
SIGNS = (-1, 0, 1)


def problem_of(
    model: Any, X: Floats, rows: Rows, fit: Callable[[], FittedCriterion]
) -> LinearProblem | ClassProblem:
    """Return what a regression minimises over the columns X, and note their means on it.

    ``fit`` fits the criterion, after the signs were checked.
    """
    signs = read_signs(model, X.shape[1])
    if signs is not None and rows.outcome.n_classes:
        raise ValueError("monotonic_cst is for labels of two classes")
    model.column_means_ = np.average(X, axis=0, weights=rows.weights)
    given = fit().objective(rows), X, model.l2, model.fit_intercept
    return ClassProblem(*given) if rows.outcome.n_classes else LinearProblem(*given, signs)


def read_signs(model: Any, n_columns: int) -> Floats | None:
    """Return a sign for each column that a model weighs, None if none is given.

    Columns made by the model, the indicators of missing numbers, have none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(monotonic_cst={"b": -1}, column_names_=["a", "b"], n_features_in_=2)
    >>> read_signs(model, 2).tolist()
    [0.0, -1.0]
    """
    given = getattr(model, "monotonic_cst", None)
    if given is None:
        return None
    names = [str(each) for each in model.column_names_[: model.n_features_in_]]
    signs = np.zeros(n_columns)
    if isinstance(given, Mapping):
        for name, sign in given.items():
            if name not in names:
                raise ValueError(f"monotonic_cst: X has no column {name!r}")
            signs[names.index(name)] = _sign(sign, repr(name))
    else:
        listed = np.ravel(np.asarray(given, dtype=object))
        if len(listed) != len(names):
            raise ValueError(
                f"monotonic_cst has {len(listed)} signs but X has {len(names)} columns"
            )
        signs[: len(names)] = [_sign(each, f"column {k}") for k, each in enumerate(listed)]
    return signs if signs.any() else None


def _sign(value: Any, where: str) -> float:
    if value not in SIGNS:
        raise ValueError(f"monotonic_cst of {where} must be -1, 0 or 1; got {value!r}")
    return float(value)
