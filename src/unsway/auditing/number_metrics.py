"""How good predictions of numbers are, as functions of columns with scikit-learn's signatures.

With counts or amounts of an exposure e, ``y_true`` holds y/e, ``y_pred`` the mean per unit of
exposure, and ``sample_weight`` is e. The functions without ``sensitive_features`` are metrics for
fairlearn's ``MetricFrame``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import check_weights, read_numbers
from ..core import Gamma, Loss, Poisson, Tweedie
from ..grouping import Grouping
from ..groups import Groups
from ..outcome import number_loss
from ..rows import Rows


def mean_deviance(
    y_true: Any,
    y_pred: Any,
    *,
    loss: str = "squared_error",
    power: float = 1.5,
    sample_weight: Any = None,
) -> float:
    """Return the mean deviance of predictions: twice the mean loss above that of the numbers.

    With ℓ the loss of a mean::

        D = Σ w·2·(ℓ(p, y) − ℓ(y, y)) / Σ w

    It is scikit-learn's ``mean_tweedie_deviance`` with power 0, 1, 2 or ``power``; for
    ``loss="squared_error"`` the mean squared error.

    Parameters
    ----------
    y_true, y_pred : columns of numbers
        Numbers, and predictions of their mean; see the head of this module for exposure.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    sample_weight : column, optional
        Weights of the rows.

    Returns
    -------
    float

    Examples
    --------
    Of counts: 2·(y·log(y/p) − y + p) is 0 where y = p, and 2p where y = 0:

    >>> mean_deviance([0, 2], [0.5, 2.0], loss="poisson")
    0.5
    """
    kind = number_loss(loss, power)
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    check_means(kind, y, p)
    return float(np.average(row_deviances(kind, y, p), weights=weights))


def deviance_explained(
    y_true: Any,
    y_pred: Any,
    *,
    loss: str = "squared_error",
    power: float = 1.5,
    sample_weight: Any = None,
) -> float:
    """Return D² = 1 − D(y, p) / D(y, ȳ), the share of the deviance that predictions explain.

    It is scikit-learn's ``d2_tweedie_score``, and R² for ``loss="squared_error"``. Parameters are
    those of `mean_deviance`.

    Examples
    --------
    The mean squared error is 1 and the variance 4:

    >>> deviance_explained([1.0, 5.0], [2.0, 4.0])
    0.75
    """
    kind = number_loss(loss, power)
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    check_means(kind, y, p)
    mean = np.full_like(y, np.average(y, weights=weights))
    left, whole = (
        float(np.average(row_deviances(kind, y, each), weights=weights)) for each in (p, mean)
    )
    return 1 - left / whole if whole > 0 else float("nan")


def gini(y_true: Any, y_pred: Any, *, sample_weight: Any = None, normalized: bool = False) -> float:
    """Return the Gini coefficient of numbers ordered by their predictions.

    Rows are ordered from the lowest prediction to the highest. F is the share of the weight, or
    exposure, up to a row, and L the share of the total of y::

        G = 1 − Σ_k (F_k − F_{k−1})·(L_k + L_{k−1})

    over the distinct predictions: twice the area between the diagonal and the Lorenz curve. It is 0
    where predictions order nothing, and the larger the better. It knows only their order.

    Parameters
    ----------
    y_true, y_pred : columns of numbers
        Numbers of at least 0, and predictions.
    sample_weight : column, optional
        Weights of the rows, or the exposure where ``y_true`` is per unit of it.
    normalized : bool, default=False
        Whether to divide by the coefficient of an order by y itself. That of labels of 0 and 1 is
        2·AUC − 1.

    Returns
    -------
    float
        NaN where y is 0 everywhere.

    References
    ----------
    Frees, Meyers & Cummings (2011), "Summarizing insurance scores using a Gini index", JASA
    106(495), 1085–1098.

    Examples
    --------
    The Lorenz curve is at 0, 0, ½ and 1 after a quarter, half and three quarters of the rows:

    >>> gini([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    0.5
    >>> gini([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], normalized=True)
    1.0
    """
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    if (y < 0).any():
        raise ValueError(
            f"y_true has {int((y < 0).sum())} negative numbers; a Lorenz curve needs numbers of at "
            "least 0"
        )
    found = _gini_of(y, p, weights)
    return found / _gini_of(y, y, weights) if normalized else found


def actual_over_expected(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return Σ w·y / Σ w·p: 1 where predictions add up to what happened.

    Parameters
    ----------
    y_true, y_pred : columns of numbers
        Numbers, and predictions of their mean.
    sample_weight : column, optional
        Weights of the rows, or the exposure where ``y_true`` is per unit of it.

    Returns
    -------
    float
        NaN where the predictions add up to 0 or less.

    Examples
    --------
    >>> actual_over_expected([3.0, 0.0], [1.0, 1.0])
    1.5
    """
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    expected = float(weights @ p)
    return float(weights @ y) / expected if expected > 0 else float("nan")


def actual_over_expected_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    groups: Grouping | None = None,
) -> float:
    """Return A/E of z=1 minus A/E of z=0, with A/E as in `actual_over_expected`.

    Where y holds a direct effect, predictions without one have a difference: a group to which z
    itself adds claims has more than a price without z expects.

    Parameters
    ----------
    y_true, y_pred : columns of numbers
        Numbers, and predictions of their mean.
    sensitive_features : column
        z, with two levels.
    sample_weight : column, optional
        Weights of the rows, or the exposure where ``y_true`` is per unit of it.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Returns
    -------
    float

    Examples
    --------
    >>> z = [1, 1, 0, 0]
    >>> actual_over_expected_difference([2, 1, 1, 0], [1, 1, 1, 1], sensitive_features=z)
    1.0
    """
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    sensitive = Groups.check(sensitive_features, len(y), groups=groups, beside="y_true")
    sensitive.require_two("a difference between groups")
    sensitive.check_present(weights, "sensitive_features")
    zeros, ones = (
        actual_over_expected(y, p, sample_weight=weights * (sensitive.z == level))
        for level in (0, 1)
    )
    return ones - zeros


def read_predictions(
    y_true: Any, y_pred: Any, sample_weight: Any = None
) -> tuple[Floats, Floats, Floats]:
    """Return numbers, predictions and weights, ones where there are none, or say what is wrong."""
    y = read_numbers(y_true, "y_true")
    p = read_numbers(y_pred, "y_pred", len(y), beside="y_true")
    weights = check_weights(sample_weight, len(y), beside="y_true")
    return y, p, np.ones(len(y)) if weights is None else weights


def check_means(loss: Loss, y: Floats, p: Floats, role: str = "y_pred") -> None:
    """Raise unless a loss is meant for these numbers, and these can be their means."""
    loss.check(y)
    below = int((p <= 0).sum())
    if loss.link == "log" and below:
        raise ValueError(
            f"{role} has {below:,} predictions of zero or less in {len(p):,} rows; the mean of "
            f"what loss={loss.name!r} is for lies above 0"
        )


def target_scale(rows: Rows) -> float:
    """Return what effects on numbers are a share of: their mean, or their standard deviation."""
    outcome = rows.outcome
    if outcome.loss.link == "log":
        return float(np.average(outcome.as_given(), weights=rows.weights))
    return outcome.spread(rows.weights) * outcome.unit


def row_deviances(loss: Loss, y: Floats, p: Floats) -> Floats:
    """Return the deviance of each row.

    Examples
    --------
    >>> row_deviances(Gamma(), np.array([2.0]), np.array([2.0])).tolist()
    [0.0]
    """
    return np.maximum(0.0, 2 * (loss.rows(loss.margin_of(p), y) - least_losses(loss, y)))


def least_losses(loss: Loss, y: Floats) -> Floats:
    """Return ℓ of each number where its own value is the mean.

    Examples
    --------
    >>> least_losses(Poisson(), np.array([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    if isinstance(loss, Poisson):
        return np.asarray(y - y * np.log(np.where(y > 0, y, 1.0)))
    if isinstance(loss, Gamma):
        return np.asarray(1 + np.log(y))
    if isinstance(loss, Tweedie):
        r = loss.power
        return np.asarray(y ** (2 - r) * (1 / (2 - r) - 1 / (1 - r)))
    return np.asarray(-(y**2) / 2)


def gini_of_sums(weight: Floats, total: Floats) -> float:
    """Return the Gini coefficient from weights and totals of y by distinct prediction, in order.

    NaN where y adds up to 0.
    """
    whole, amount = weight.sum(), total.sum()
    if not (whole > 0 and amount > 0):
        return float("nan")
    end = np.cumsum(total)
    return float(1 - weight @ (2 * end - total) / (whole * amount))


def ordered_sums(y: Floats, p: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weight and the total of y at each distinct prediction, in increasing order."""
    _, place = np.unique(p, return_inverse=True)
    weight, total = (np.bincount(place.ravel(), each) for each in (weights, weights * y))
    return weight.astype(np.float64), total.astype(np.float64)


def _gini_of(y: Floats, p: Floats, weights: Floats) -> float:
    return gini_of_sums(*ordered_sums(y, p, weights))
