"""The objective for people who boost in a loop of their own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ..core import check_strength
from ..core.fused import FusedDerivatives, Singles
from ..criteria import FairTarget, choose_strength, fit_criterion
from ..rows import Rows
from ..tables import check_table


class TrainingObjective:
    """Gradient and curvature of (1−λ)·log-loss + λ·penalty at a margin, as boosters ask for them.

    Made by `xgboost_objective` and `lightgbm_objective`. It can be pickled, so that it reaches
    workers; it holds the rows it was made for, in their order.

    Parameters
    ----------
    derivatives : FusedDerivatives
        The objective on the training rows.
    strength : float
        λ; may be set to another value between rounds.
    """

    def __init__(self, derivatives: FusedDerivatives, strength: float) -> None:
        check_strength(strength, shifted=derivatives.objective.shift is not None)
        self.derivatives = derivatives
        self.strength = strength

    def __call__(self, preds: Any, rows: Any = None) -> tuple[Singles, Singles]:
        """Return both at the margins of the training rows; the engine's own rows are not read."""
        margin = np.asarray(preds).ravel()
        n_rows = len(self.derivatives.objective.target)
        if len(margin) != n_rows:
            raise ValueError(
                f"the engine asks for derivatives at {len(margin)} rows but the objective was made "
                f"for {n_rows}; make it from the training rows, all of them and in their order"
            )
        with _threads().limit(limits=1, user_api="blas"):  # they would fight the engine's
            return self.derivatives(margin, self.strength)


def training_objective(
    criterion: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strength: float | None,
    sample_weight: Any,
    positive_level: Any,
    learning_rate: float,
    curvature: str,
) -> TrainingObjective:
    """Check the roles, fit the criterion, and return the objective on these rows."""
    criterion = FairTarget() if criterion is None else criterion
    strength = choose_strength(criterion, strength)
    check_learning_rate(learning_rate, "learning_rate")
    rows = Rows.check(
        check_table(X),
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        positive_level=positive_level,
    )
    objective = fit_criterion(criterion, rows).objective(rows)
    return TrainingObjective(FusedDerivatives(objective, curvature, learning_rate), strength)


def check_learning_rate(value: Any, name: str) -> float:
    """Return η as a float, or raise unless it is positive and finite."""
    try:
        rate = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {value!r}") from None
    if not 0 < rate < np.inf:
        raise ValueError(f"{name} must be positive and finite; got {value!r}")
    return rate


@cache
def _threads() -> ThreadpoolController:
    """Return what sets the threads of BLAS, found once: looking takes a millisecond."""
    return ThreadpoolController()
