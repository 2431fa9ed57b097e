"""scikit-learn's models of each loss, and how predictions of a mean are mixed by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)

from .._typing import Floats, Reduce
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


def likeliest_mixture(
    predictions: Floats, target: Floats, weights: Floats, loss: Loss, reduce: Reduce
) -> Floats:
    """Return the weights of positive predictions with the least mean loss, summing to one.

    Where the rows are spread over workers, ``reduce`` sums over all of them.

    Examples
    --------
    >>> from unsway.core import Poisson
    >>> means, counts = np.array([[1.0, 3.0], [4.0, 3.0]]), np.array([1.0, 4.0])
    >>> likeliest_mixture(means, counts, np.ones(2), Poisson(), lambda sums: sums).round(2).tolist()
    [1.0, 0.0]
    """
    scale = float(reduce(np.array([weights.sum()]))[0])

    def mean_loss(shares: Floats) -> tuple[float, Floats]:
        mixture = predictions @ shares
        value = weights @ loss.rows(loss.margin_of(mixture), target)
        slope = weights * loss.gradient(mixture, target) / mixture  # of a log link
        sums = reduce(np.append(slope @ predictions, value)) / scale
        return float(sums[-1]), sums[:-1]

    count = predictions.shape[1]
    best = minimize(
        mean_loss,
        np.full(count, 1 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12},
    )
    shares = best.x.clip(0)
    return np.asarray(shares / shares.sum())
