"""The objective for your own training loop."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ..core import Objective, check_strength
from ..core.derivatives import BoostingDerivatives, Singles
from ..criteria import FairTarget, choose_strength, fit_criterion
from ..grouping import Grouping
from ..rows import Rows
from ..tables import check_table


class TrainingObjective:
    """Gradient and curvature of (1−λ)·log-loss + λ·penalty at a margin, for boosters.

    Made by `xgboost_objective` and `lightgbm_objective`. It can be pickled and sent to workers. It
    contains columns of the rows it was made for, in their order.

    Parameters
    ----------
    derivatives : BoostingDerivatives
        The objective on the training rows.
    strength : float
        λ; may be set to another value between rounds.
    """

    def __init__(self, derivatives: BoostingDerivatives, strength: float) -> None:
        check_strength(strength, shifted=derivatives.objective.shift is not None)
        self.derivatives = derivatives
        self.strength = strength

    def __call__(self, preds: Any, rows: Any = None) -> tuple[Singles, Singles]:
        """Return both at the margins of the training rows; the engine's rows are not used."""
        margin = np.asarray(preds).ravel()
        n_rows = len(self.derivatives.objective.target)
        if len(margin) != n_rows:
            raise ValueError(
                f"the engine asks for derivatives at {len(margin)} rows but the objective was made "
                f"for {n_rows}; make it from the training rows, all of them and in their order"
            )
        with _threads().limit(limits=1, user_api="blas"):  # BLAS threads slow down the engine's
            return self.derivatives(margin, self.strength)


def xgboost_objective(
    criterion: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strength: float | None = None,
    sample_weight: Any = None,
    groups: Grouping | None = None,
    learning_rate: float = 0.3,
    curvature: str = "bound",
) -> TrainingObjective:
    """Return the objective for your own training loop: ``xgb.train(params, rows, obj=objective)``.

    It can be pickled. It is valid for the rows it was made from, in their order. Keep
    ``objective="binary:logistic"`` and ``base_score=0.5`` in the parameters: margins then start at
    0, and the model predicts probabilities.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        Fair targets to train on, or a penalty; None means `FairTarget`.
    X, y, sensitive_features, sample_weight
        The training rows, as for `FairXGBClassifier`.
    strength : float, optional
        λ; by default 1 for fair targets and .9 for a penalty, as in the classifier. Raise that of a
        penalty over many rounds: set ``strength`` of the object in a callback.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    learning_rate : float, default=0.3
        The learning rate of XGBoost; the curvature bound depends on it.
    curvature : {"bound", "exact"}, default="bound"
        The diagonal that replaces the Hessian.

    Returns
    -------
    TrainingObjective

    Examples
    --------
    >>> import xgboost
    >>> from unsway import Parity, make_synthetic, xgboost_objective
    >>> data = make_synthetic(1_000, random_state=0)
    >>> fair = xgboost_objective(
    ...     Parity(), data.X, data.y, sensitive_features=data.z, strength=0.5
    ... )
    >>> params = {"objective": "binary:logistic", "base_score": 0.5, "nthread": 1}
    >>> xgboost.train(params, xgboost.DMatrix(data.X), 3, obj=fair).num_boosted_rounds()
    3
    """
    check_learning_rate(learning_rate, "learning_rate")
    rows = X, y, sensitive_features, sample_weight, groups
    objective = objective_on(criterion, strength, *rows)
    derivatives = BoostingDerivatives(objective, curvature, learning_rate)
    return TrainingObjective(derivatives, objective.strength)


def lightgbm_objective(
    criterion: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    learning_rate: float = 0.1,
    **options: Any,
) -> TrainingObjective:
    """Return the objective for your own training loop: ``lgb.train({"objective": objective}, …)``.

    It can be pickled. It is valid for the rows it was made from, in their order. Predictions of a
    model trained with it are margins, log-odds: LightGBM does not know the link.

    Parameters
    ----------
    criterion, X, y, sensitive_features
        As in `xgboost_objective`.
    learning_rate : float, default=0.1
        The learning rate of LightGBM; the curvature bound depends on it.
    **options
        Other parameters of `xgboost_objective`: ``strength``, ``sample_weight``,
        ``groups`` and ``curvature``.

    Returns
    -------
    TrainingObjective

    Examples
    --------
    >>> import lightgbm
    >>> from unsway import Parity, lightgbm_objective, make_synthetic
    >>> data = make_synthetic(1_000, random_state=0)
    >>> fair = lightgbm_objective(
    ...     Parity(), data.X, data.y, sensitive_features=data.z, strength=0.5
    ... )
    >>> params = {"objective": fair, "verbosity": -1, "num_threads": 1}
    >>> lightgbm.train(params, lightgbm.Dataset(data.X, data.y), 3).num_trees()
    3
    """
    return xgboost_objective(
        criterion,
        X,
        y,
        sensitive_features=sensitive_features,
        learning_rate=learning_rate,
        **options,
    )


def objective_on(
    criterion: Any,
    strength: float | None,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    groups: Grouping | None,
) -> Objective:
    """Check the training rows, fit the criterion on them, and return the objective at λ."""
    criterion = FairTarget() if criterion is None else criterion
    strength = choose_strength(criterion, strength)
    rows = Rows.check(
        check_table(X),
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=groups,
    )
    return fit_criterion(criterion, rows).objective(rows).at(strength)


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
    """Return the controller of the BLAS threads, cached: to make one takes a millisecond."""
    return ThreadpoolController()
