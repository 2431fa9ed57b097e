"""Fair means around any scikit-learn regressor: by fair targets, or averaged over z."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_choice
from ..core import Loss
from ..criteria import FittedCriterion
from ..grouping import Grouping
from ..outcome import number_loss
from ..rows import Rows
from .fair_target import fair_target_of
from .marginalized import LEARNERS, average_levels, check_pair, fit_levels, predict_levels
from .regression import (
    balance_of_means,
    check_rebalance,
    for_exposure,
    score,
)
from .summary import summary
from .training import fit_for, number_loss_of, read_rows, read_table, refit
from .wrapping import (
    allows_missing,
    check_inner,
    fit_inner,
    fit_trees,
    known_columns,
    refuse_adjusting,
)


class TableBoostingRegressor(RegressorMixin, BaseEstimator):
    """scikit-learn's histogram gradient boosting of numbers on any table, as `TableBoosting`.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What it minimises. Totals have the loss of counts, which scikit-learn's trees grow by.

    Examples
    --------
    >>> X = np.array([["a", 1.0], ["b", None]] * 40, dtype=object)
    >>> TableBoostingRegressor().fit(X, [0, 1] * 40).predict(X[:2]).round(2).tolist()
    [0.0, 1.0]
    """

    def __init__(self, loss: str = "squared_error") -> None:
        self.loss = loss

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the table's levels and grow the trees."""
        fit_trees(self, number_loss(self.loss), X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of each row."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict(known_columns(self, X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags


class WrappedRegressor(RegressorMixin, BaseEstimator, ABC):
    """Fair means around a scikit-learn regressor, `estimator`, of which there may be none."""

    estimator: Any
    loss: str
    balance_: float | None

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
            Covariates, without the sensitive attribute.
        y : column of length n_samples
            Numbers; with an exposure the totals of it, such as claims in the time insured.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        exposure : column of positive numbers, optional
            The model is of y per unit of it, and rows weigh by it.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.

        Returns
        -------
        self
            The fitted regressor.
        """
        given = X, y, sensitive_features, sample_weight, exposure

        def fit(fresh: Self) -> None:
            loss = number_loss_of(fresh)
            weighted = sample_weight if exposure is None else exposure
            model = inner_regressor(fresh.estimator, loss, weighted)
            rows = fresh._fit(model, *given, adjust_for=adjust_for)
            fresh.balance_ = None
            if check_rebalance(fresh):
                outcome = replace(rows.outcome, values=rows.outcome.as_given(), origin=0, unit=1)
                rows = replace(rows, outcome=outcome)
                fresh.balance_ = balance_of_means([(rows, fresh._means(rows.X))])

        return refit(self, fit)

    summary = summary

    @abstractmethod
    def _fit(self, model: Any, *given: Any, adjust_for: Any = None) -> Rows:
        """Check X, y, z, weights and exposure, fit, and return the rows."""

    @abstractmethod
    def _means(self, X: Any) -> Floats:
        """Return the mean of each row before it is brought to the total."""

    def predict(self, X: Any, exposure: Any = None) -> Floats:
        """Return the mean of each row: per unit of exposure, or for the exposure if it is given."""
        means = self._means(X)
        if self.balance_ is not None:
            log = number_loss_of(self).link == "log"
            means = means * self.balance_ if log else means + self.balance_
        return for_exposure(means, exposure)

    score = score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_missing(self.estimator)
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags


class FairTargetRegressor(WrappedRegressor):
    """Train any regressor on numbers from which the direct effect of z is taken out.

    Its ``fit`` gets targets whose mean at X is the fair one, in the units of y: rates where there
    is an exposure, which rows then weigh by.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        Gradient boosting of the same loss by default, which takes missing values and text.
    criterion : FairTarget, optional
        How the direct effect at each row is estimated: by default with scikit-learn's models. The
        targets of counts and amounts are multiplied unless it says ``multiplicative=False``:
        many regressors take none below 0. One model is trained: ``smoothing="auto"`` is 0 here.
    strength : float, default=1
        Share of the direct effect that is taken out, from 0 to 1. At 0 the targets are y as given.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is: any numbers, counts, positive amounts, or totals that may be zero. What the
        estimator minimises is its own affair.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    rebalance : bool, optional
        Whether predictions are brought to the total of y over the rows of ``fit``. By default those
        of counts and amounts are where the strength is above 0.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Attributes
    ----------
    estimator_ : regressor
        The fitted regressor.
    balance_ : float or None
        By what its predictions are multiplied to keep the total, or for ``loss="squared_error"``
        what is added; None where they are not rebalanced.
    strength_, sensitive_levels_
        As in the other estimators.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    Claims per year, where both X and z add claims. Each group has half of z's effect left:

    >>> from sklearn.linear_model import PoissonRegressor
    >>> X = np.tile([[0.0], [1.0]], (4_000, 1))
    >>> z = np.repeat([0, 1], 4_000)
    >>> claims = np.random.default_rng(0).poisson(np.exp(X[:, 0] + z))
    >>> model = FairTargetRegressor(PoissonRegressor(alpha=0), loss="poisson", rebalance=False)
    >>> rates = model.fit(X, claims, sensitive_features=z).predict([[0.0], [1.0]])
    >>> bool(np.allclose(rates, [(1 + np.e) / 2, (np.e + np.e**2) / 2], rtol=0.03))
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: Any = None,
        strength: float = 1.0,
        loss: str = "squared_error",
        power: float = 1.5,
        rebalance: bool | None = None,
        groups: Grouping | None = None,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.strength = strength
        self.loss = loss
        self.power = power
        self.rebalance = rebalance
        self.groups = groups

    def _fit(self, model: Any, *given: Any, adjust_for: Any = None) -> Rows:
        criterion = _multiplied(fair_target_of(self), number_loss_of(self))
        check_rebalance(self)
        X = read_table(self, given[0], reset=True)
        how = {"adjust_for": adjust_for, "standardise": self.strength_ > 0}
        rows = read_rows(self, X, *given[1:], **how)
        objective = fit_for(criterion, self.strength_, rows).objective(rows)
        targets = replace(rows.outcome, values=objective.at(self.strength_).shifted_target())
        self.estimator_ = fit_inner(model, X, targets.as_given(), rows.weights)
        return rows

    def _means(self, X: Any) -> Floats:
        check_is_fitted(self)
        return predicted_mean(self.estimator_, read_table(self, X, reset=False))


class MarginalizedRegressor(WrappedRegressor):
    """Fit E[y | X, z] with any regressor, then predict for everyone as if z were not known.

    The mean is averaged over the two levels of z, the same for everybody::

        f(X) = w₀·E[y | X, z=0] + w₁·E[y | X, z=1]

    Insurers know it as the discrimination-free price. z is needed in ``fit`` alone, but two
    predictions are made for each row.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        Fitted on X with z, as 0/1, for its last column. Gradient boosting of the same loss by
        default, which takes missing values and text.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is: any numbers, counts, positive amounts, or totals that may be zero. What the
        estimator minimises is its own affair.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    weights : pair of float, or "prevalence", default=(0.5, 0.5)
        w₀ and w₁, which sum to 1; or the shares of the two levels among the training rows, weighted
        by exposure where there is one.
    learner : {"single", "separate"}, default="single"
        One model with z as a column, or a model for each level of z.
    rebalance : bool, optional
        Whether predictions are brought to the total of y over the rows of ``fit``. By default those
        of counts and amounts are.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Attributes
    ----------
    estimator_, estimators_, weights_, sensitive_levels_
        As in `MarginalizedClassifier`.
    balance_ : float or None
        As in `FairTargetRegressor`.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    In both groups y is X; z adds 1:

    >>> from sklearn.linear_model import LinearRegression
    >>> X, z = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = MarginalizedRegressor(LinearRegression())
    >>> model.fit(X, X[:, 0] + z, sensitive_features=z).predict([[0.0]]).round(6).tolist()  # ½·1
    [0.5]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: str = "squared_error",
        power: float = 1.5,
        weights: Any = (0.5, 0.5),
        learner: str = "single",
        rebalance: bool | None = None,
        groups: Grouping | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.power = power
        self.weights = weights
        self.learner = learner
        self.rebalance = rebalance
        self.groups = groups

    def _fit(self, model: Any, *given: Any, adjust_for: Any = None) -> Rows:
        refuse_adjusting(self, adjust_for)
        check_choice(self.learner, "learner", LEARNERS)
        stated = check_pair(self.weights)
        check_rebalance(self)
        X = read_table(self, given[0], reset=True)
        rows = read_rows(self, X, *given[1:], standardise=False)
        fit_levels(self, model, rows, stated)
        return rows

    def _means(self, X: Any) -> Floats:
        return average_levels(self, X, predicted_mean)

    def level_means(self, X: Any) -> Floats:
        """Return the mean of each row in each level of z, two columns, before they are averaged.

        They are not brought to the total.
        """
        return np.column_stack(predict_levels(self, X, predicted_mean))


def inner_regressor(estimator: Any, loss: Loss, sample_weight: Any = None) -> Any:
    """Return a fresh copy of the user's regressor, or of the default; refuse what cannot serve."""
    if estimator is None:
        return TableBoostingRegressor(loss.name)
    check_inner(estimator, "regressor, such as LinearRegression()", sample_weight)
    return clone(estimator)


def predicted_mean(model: Any, X: Any) -> Floats:
    """Return a fitted regressor's predictions."""
    return np.asarray(model.predict(X), dtype=np.float64)


def _multiplied(criterion: Any, loss: Loss) -> Any:
    """Return a fair target that multiplies counts and amounts, unless it says what it does."""
    settings = getattr(criterion, "criterion", criterion)
    if loss.link != "log" or settings.multiplicative is not None:
        return criterion
    settings = clone(settings).set_params(multiplicative=True)
    fitted = isinstance(criterion, FittedCriterion)
    return criterion.with_settings(settings) if fitted else settings
