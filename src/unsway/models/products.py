"""Fair products: the pure premium from models of the frequency and of the severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Floats
from ..outcome import read_exposure
from .marginalized import predict_levels
from .regression import for_exposure
from .wrapped_numbers import MarginalizedRegressor, predicted_mean


def fair_product(
    models: Sequence[MarginalizedRegressor], X: Any, *, exposure: Any = None
) -> Floats:
    """Return the fair mean of a product, such as claims per year times euros per claim.

    The product of two fair means is not the fair mean of the product. With relativities of z of 1.5
    and 1.3 and weights ½ the fair factor is ½·(1 + 1.5·1.3) = 1.475, and the product of the fair
    factors 1.25·1.15 = 1.4375. Products of means must be averaged, not means multiplied::

        f(X) = Σ_l w_l · Π_k E[y_k | X, z=l]

    So the models here are of X and z, and are multiplied in each level of z before the average. A
    single model of the pure premium (``loss="tweedie"``) needs none of this.

    Parameters
    ----------
    models : sequence of MarginalizedRegressor
        Fitted, with the same levels and weights. Models that are fair already are refused.
    X : table
        Rows to predict for, with the columns of every model.
    exposure : column of positive numbers, optional
        The product is for this exposure of each row, and else per unit of it.

    Returns
    -------
    array of shape (n,)
        Totals are not rebalanced.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    Claims are 1 and 1.5 per year, and amounts 1 and 1.3 per claim, for z = 0 and z = 1:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unsway import MarginalizedRegressor
    >>> X, z = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    >>> models = [
    ...     MarginalizedRegressor(LinearRegression()).fit(X, 1 + share * z, sensitive_features=z)
    ...     for share in (0.5, 0.3)
    ... ]
    >>> fair_product(models, X[:1]).round(4).tolist()
    [1.475]
    >>> np.prod([model.predict(X[:1]) for model in models], axis=0).round(4).tolist()
    [1.4375]
    """
    models = list(models)
    if len(models) < 2:
        raise ValueError(f"models must hold at least two models to multiply; got {len(models)}")
    for model in models:
        if not isinstance(model, MarginalizedRegressor):
            raise TypeError(
                f"{type(model).__name__} predicts a mean without z, and the product of two such "
                "means is not the fair mean of the product; give MarginalizedRegressors, which "
                "know the means in each level, or train one model of the product"
            )
    means = [np.column_stack(predict_levels(model, X, predicted_mean)) for model in models]
    first = models[0]
    for model in models[1:]:
        if model.sensitive_levels_ != first.sensitive_levels_:
            raise ValueError("the models were trained on different levels of the sensitive feature")
        if not np.allclose(model.weights_, first.weights_):
            raise ValueError(
                f"the models average the levels with other weights: {model.weights_} and "
                f"{first.weights_}; state the same weights for both"
            )
    product = np.prod(means, axis=0) @ np.asarray(first.weights_)
    return for_exposure(
        product, None if exposure is None else read_exposure(exposure, len(product))
    )
