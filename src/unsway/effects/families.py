"""scikit-learn's models of each loss."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)

from ..core import LogLoss, Loss


def trees_of(loss: Loss, **options: Any) -> Any:
    """Return boosted trees for a mean; Tweedie's is found by the loss of counts.

    Examples
    --------
    >>> from unsway.core import Tweedie
    >>> trees_of(Tweedie()).loss
    'poisson'
    """
    if isinstance(loss, LogLoss):
        return HistGradientBoostingClassifier(**options)
    name = "poisson" if loss.name == "tweedie" else loss.name
    return HistGradientBoostingRegressor(loss=name, **options)


def linear_model_of(loss: Loss, n_rows: int) -> Any:
    """Return a linear model with as weak a ridge as scikit-learn's logistic regression has."""
    if isinstance(loss, LogLoss):
        return LogisticRegression(max_iter=1000)
    if loss.link == "identity":
        return Ridge()
    options = {"alpha": 1 / n_rows, "max_iter": 1000}
    if loss.name == "tweedie":
        return TweedieRegressor(power=loss.power, link="log", **options)  # type: ignore[attr-defined]
    return {"poisson": PoissonRegressor, "gamma": GammaRegressor}[loss.name](**options)
