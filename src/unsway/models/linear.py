"""Linear models of counts and amounts without the direct effect of a sensitive attribute."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..grouping import Grouping
from .linear_columns import fill_missing, fill_rows, read_covariates, read_numbers
from .logistic import check_regression, previous_weights, solve, state
from .regression import (
    balance_of,
    balancing_step,
    check_rebalance,
    predict,
    score,
)
from .row_fingerprint import share_trained_on
from .summary import summary
from .training import number_loss_of, read_rows, refit


class LinearNumbers:
    """The name of a linear model in a card, and the file that it is saved in."""

    name: ClassVar[str] = "linear"
    model_file: ClassVar[str] = "model.json"


class FairLinearRegressor(RegressorMixin, BaseEstimator):
    """A linear or generalised linear model on fair targets, or with a penalty to minimise.

    The sensitive attribute is needed in ``fit`` alone. What comes out is an ordinary linear model
    of y, or of log E[y] for counts and amounts, in the units of y: ``coef_`` and ``intercept_``
    mean what they mean in scikit-learn. Missing numbers are replaced by the column's median, with
    an indicator column for each column that had some in ``fit``.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, or one fitted
        What the model is trained on or held to; `FairTarget` by default. Penalties need
        ``loss="squared_error"``.
    strength : float, optional
        λ: the share of the direct effect that fair targets take out, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default. At 0 this is
        scikit-learn's model without a penalty: ``LinearRegression``, ``PoissonRegressor``,
        ``GammaRegressor`` or ``TweedieRegressor`` with ``alpha=0``.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is: any numbers, counts, positive amounts, or totals that may be zero. All but the
        first have a log link.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    l2 : float, default=0
        Weight of half the squared norm of the coefficients. Under a log link it is that beside the
        mean loss of y divided by its mean m: ``alpha`` of scikit-learn is ``l2 * m ** (2 - r)``,
        where r is 1 for counts, 2 for positive amounts and else ``power``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is never penalised.
    rebalance : bool, optional
        Whether predictions are brought to the total of y over the rows of ``fit``. By default those
        of counts and amounts are where the strength is above 0.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    tol : float, default=1e-6
        Largest gradient per unit of each column's root mean square, and of the spread of y, at
        which the fit has converged.
    max_iter : int, default=100
        Newton steps at most.
    warm_start : bool, default=False
        Start from the previous fit's coefficients.
    monotonic_cst : mapping of str to {-1, 0, 1}, or sequence of them, optional
        Signs that the coefficients must have, as in `FairLogisticRegression`.

    Attributes
    ----------
    coef_ : array of shape (n_columns,)
        One for each of ``column_names_``.
    intercept_ : float
    column_names_, imputer_, n_features_in_, feature_names_in_, strength_, sensitive_levels_
        As in `FairLogisticRegression`.
    balance_ : float or None
        By what predictions were multiplied to keep the total, or for ``loss="squared_error"`` what
        was added; None where they were not rebalanced.
    n_iter_ : int
        Newton steps taken.
    loss_, penalty_ : float
        Both halves of the objective on the training rows, y in units of its mean or less its mean;
        the second is NaN at strength 0.
    statistics_ : dict of str to float
        The penalty's statistics of the training predictions, by name.

    Notes
    -----
    The product of a fair model of the number of claims and one of their amounts is no fair pure
    premium: it leaves out that both move with z. Train on the pure premium (``loss="tweedie"``), or
    see `fair_pure_premium`.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    Claims per year, where both X and z add claims. Each group has half of z's effect left:

    >>> X = np.tile([[0.0], [1.0]], (4_000, 1))
    >>> z = np.repeat([0, 1], 4_000)
    >>> claims = np.random.default_rng(0).poisson(np.exp(X[:, 0] + z))
    >>> model = FairLinearRegressor(loss="poisson", rebalance=False)
    >>> rates = model.fit(X, claims, sensitive_features=z).predict([[0.0], [1.0]])
    >>> rates.round(1).tolist()  # ½(1 + e) and ½(e + e²)
    [1.9, 5.1]
    >>> model.predict([[0.0]], exposure=[0.5]).round(1).tolist()
    [0.9]
    """

    engine = LinearNumbers()

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        loss: str = "squared_error",
        power: float = 1.5,
        l2: float = 0.0,
        fit_intercept: bool = True,
        rebalance: bool | None = None,
        groups: Grouping | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        monotonic_cst: Any = None,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.loss = loss
        self.power = power
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.rebalance = rebalance
        self.groups = groups
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.monotonic_cst = monotonic_cst

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        adjust_for: Any = None,
    ) -> Self:
        """Fit on covariates X, numbers y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numeric covariates, without the sensitive attribute; NaN where a value is missing.
        y : column of length n_samples
            Numbers; with an exposure the totals of it, such as claims in the time insured.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights; 2 is the same as the row twice.
        exposure : column of positive numbers, optional
            The model is of y per unit of it, and rows weigh by it.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.

        Returns
        -------
        self
            The fitted model.
        """
        given = X, y, sensitive_features, sample_weight, exposure
        return refit(self, lambda fresh: _fit(fresh, *given, adjust_for))

    def margin(self, X: Any) -> Floats:
        """Return the margin of each row: its mean, or the logarithm of it under a log link."""
        check_is_fitted(self)
        X = fill_missing(self, read_numbers(self, X, reset=False))
        return np.asarray(X @ self.coef_ + self.intercept_)

    share_trained_on = share_trained_on
    summary = summary
    predict = predict
    score = score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags


def _fit(
    model: FairLinearRegressor,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    exposure: Any,
    adjust_for: Any,
) -> None:
    """Check every input, minimise, and keep what came out in the units of y."""
    loss = number_loss_of(model)
    check_regression(model)
    rebalanced = check_rebalance(model)
    table, X = X, read_covariates(model, X, sensitive_features)
    roles = y, sensitive_features, sample_weight, exposure
    how = {"adjust_for": adjust_for, "standardise": model.fit_intercept}
    rows = read_rows(model, table, *roles, **how)
    X = fill_rows(model, X, rows)
    weights = previous_weights(model, X)
    offset = rows.outcome.offset
    if weights is not None and model.fit_intercept:
        weights[-1] -= offset
    problem = state(model, X, rows, strength=model.strength_)
    tol = model.tol * rows.outcome.spread(rows.weights) if loss.link == "identity" else model.tol
    result = solve(model, problem, weights, tol=tol)
    coefficients, intercept = result.weights[:-1].copy(), float(result.weights[-1])
    model.balance_ = None
    if rebalanced:
        step = balancing_step([(rows, X @ coefficients + intercept)])
        model.balance_, intercept = balance_of(step, loss), intercept + step
    model.coef_, model.intercept_ = coefficients, intercept + offset
    model.n_iter_ = result.n_iter
    model.loss_ = result.losses.utility
    model.penalty_ = np.nan if problem.objective.is_plain else result.losses.penalty
    names = problem.objective.penalty.names
    model.statistics_ = dict(zip(names, result.statistics.tolist(), strict=True))
