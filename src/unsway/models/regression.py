"""What estimators of counts and amounts share: predictions in the user's units, and their total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import d2_tweedie_score

from .._typing import Floats, Reduce
from ..core import Loss
from ..outcome import Outcome, read_exposure
from ..rows import Rows
from .training import number_loss_of


def check_rebalance(model: Any) -> bool:
    """Return whether the total of an estimator's predictions is to be that of y.

    By default that of counts and amounts is, where something is taken out of them.
    """
    if model.rebalance is None:
        strength = getattr(model, "strength_", 1.0)  # some take everything out
        return bool(strength > 0 and number_loss_of(model).link == "log")
    if not isinstance(model.rebalance, bool):
        raise TypeError(f"rebalance must be True, False or None; got {model.rebalance!r}")
    return model.rebalance


def balancing_step(parts: Sequence[tuple[Rows, Floats]], reduce: Reduce | None = None) -> float:
    """Return what is to be added to margins for their weighted total to be that of the outcome.

    Parameters
    ----------
    parts : sequence of pairs of Rows and array
        Rows that have the total together, and the margins of each.
    reduce : callable, optional
        Sums over the workers that share the rows.

    Examples
    --------
    Twice the mean under a log link:

    >>> from unsway.core import Poisson
    >>> from unsway.groups import Groups
    >>> outcome = Outcome(values=np.array([1.0, 3.0]), loss=Poisson())
    >>> rows = Rows(X=None, outcome=outcome, groups=Groups.check([0, 1], 2))
    >>> round(balancing_step([(rows, np.zeros(2))]), 6)
    0.693147
    """
    loss = parts[0][0].outcome.loss
    balance = balance_of_means([(rows, loss.mean(margin)[0]) for rows, margin in parts], reduce)
    return float(np.log(balance)) if loss.link == "log" else balance


def balance_of_means(parts: Sequence[tuple[Rows, Floats]], reduce: Reduce | None = None) -> float:
    """Return the factor, or for numbers the difference, by which means reach the total.

    Parameters
    ----------
    parts : sequence of pairs of Rows and array
        Rows that have the total together, and the means of each.
    reduce : callable, optional
        Sums over the workers that share the rows.
    """
    sums = np.zeros(3)
    for rows, means in parts:
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        sums += weights @ rows.y, weights @ means, weights.sum()
    total, reached, weight = sums if reduce is None else reduce(sums)
    if parts[0][0].outcome.loss.link == "log":
        return float(total / reached)
    return float((total - reached) / weight)


def balance_of(step: float, loss: Loss) -> float:
    """Return a step of the margin as users read it: a factor for a log link, else a difference."""
    return float(np.exp(step)) if loss.link == "log" else step


def predict(model: Any, X: Any, exposure: Any = None) -> Floats:
    """Return the mean of each row: per unit of exposure, or for the exposure if it is given."""
    means = number_loss_of(model).mean(model.margin(X))[0]
    return for_exposure(np.asarray(means, dtype=np.float64), exposure)


def for_exposure(means: Floats, exposure: Any = None) -> Floats:
    """Return means per unit of exposure, or for the exposure if it is given."""
    if exposure is None:
        return means
    return means * read_exposure(exposure, len(means))


def scores_of(model: Any, X: Any) -> Floats:
    """Return the probabilities of the second class, or the means of a model of numbers."""
    if getattr(model, "loss", None) is None:
        return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.asarray(model.predict(X), dtype=np.float64)


def score(model: Any, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
    """Return the share of the deviance that is explained: R² for ``loss="squared_error"``.

    ``y`` has the totals of the exposure, as in ``fit``.
    """
    loss = number_loss_of(model)
    rates = model.predict(X)
    outcome = Outcome.numbers(y, len(rates), loss=loss, exposure=exposure)
    weights = sample_weight
    if outcome.exposure is not None:
        weights = outcome.exposure * (1 if weights is None else np.asarray(weights))
    power = getattr(loss, "power", 0)
    return float(d2_tweedie_score(outcome.values, rates, sample_weight=weights, power=power))
