"""Logistic regression without the direct effect of a sensitive attribute."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.newton import LinearProblem
from ..criteria import FairTarget, choose_strength, fit_criterion, needed_criterion
from ..roles import (
    Floats,
    check_roles,
    check_sensitive,
    holds_text,
    refuse_sensitive_column,
)
from .margins import MarginClassifier


class FairLogisticRegression(MarginClassifier, BaseEstimator):
    """Logistic regression on fair targets, or with (1−λ)·log-loss + λ·penalty to minimise.

    The sensitive attribute is needed in ``fit`` alone. What comes out is an ordinary linear model:
    ``coef_`` and ``intercept_`` mean what they mean in scikit-learn.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        What the model is trained on or held to; `FairTarget` by default.
    strength : float, optional
        λ: the share of the direct effect that fair targets take out, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default. At 0 this is
        scikit-learn's unpenalised logistic regression.
    l2 : float
        Weight of half the squared norm of the coefficients; 1/(C·n) in scikit-learn's terms. Where
        fair targets have no best coefficients without it, 1/n is taken for 0, with a warning.
    fit_intercept : bool
        Whether to fit an intercept, which is never penalised.
    positive_level : optional
        The level of ``sensitive_features`` that counts as z = 1; 0/1 and booleans need none.
    tol : float
        Largest gradient per unit of each column's root mean square at which the fit has converged.
    max_iter : int
        Newton steps at most.
    warm_start : bool
        Start from the previous fit's coefficients.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    n_iter_ : array of shape (1,)
        Newton steps taken.
    log_loss_, penalty_ : float
        Both halves of the objective on the training rows; with fair targets the second is the
        log-loss against those of full strength. At strength 0 no criterion is fitted, and the
        second is NaN.
    statistics_ : dict of str to float
        The penalty's statistics of the training scores, by name; fair targets have none.
    strength_ : float
        λ as it was used.
    sensitive_levels_ : tuple
        What z = 0 and z = 1 stand for.

    Notes
    -----
    One damped Newton method on the exact Hessian. With more than 2,000 columns no Hessian is
    formed: conjugate gradients find an inexact step from products with its positive part.

    To either, ½·l2·‖w‖² is added. A penalty makes the objective non-convex at large λ; the fit
    starts from zero and finds the minimum downhill of there. With fair targets it is convex.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> from unsway import FairLogisticRegression, Parity, make_synthetic, score_gap
    >>> data = make_synthetic(2_000, random_state=0)
    >>> model = FairLogisticRegression(Parity(), strength=0.9)
    >>> p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    >>> round(score_gap(data.y, p, sensitive_features=data.z), 2)
    0.03
    """

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        l2: float = 0.0,
        fit_intercept: bool = True,
        positive_level: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.positive_level = positive_level
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit on covariates X, binary labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numeric covariates, without the sensitive attribute.
        y : column of length n_samples
            Labels of two classes.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights; 2 is the same as the row twice.
        """
        fresh = copy(self)._fit(X, y, sensitive_features, sample_weight)
        self.__dict__ = fresh.__dict__  # at once, so that a refit that fails changes nothing
        return self

    def _fit(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Self:
        problem = self._problem(X, y, sensitive_features, sample_weight)
        self._minimize(problem, self._previous_weights(problem.X))
        return self

    def fit_path(
        self,
        X: Any,
        y: Any,
        strengths: Sequence[float],
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> Iterator[Self]:
        """Yield a fitted model per strength, each starting from the one before.

        The criterion is fitted and the data are checked once, so that a path costs little more than
        a fit. Parameters are those of ``fit``; ``strengths`` takes the place of ``strength``.
        """
        chosen = [choose_strength(self._criterion(), strength) for strength in strengths]
        checked = copy(self)
        checked.strength = None  # one of 0 would spare the criterion, which others need
        problem = checked._problem(X, y, sensitive_features, sample_weight)
        return checked._path(problem, chosen)

    def _path(self, problem: LinearProblem, strengths: Sequence[float]) -> Iterator[Self]:
        start = self._previous_weights(problem.X)
        for strength in strengths:
            model = copy(self)
            model.strength = model.strength_ = strength
            start = model._minimize(problem, start)
            yield model

    def _problem(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> LinearProblem:
        """Check every input, fit the criterion, and state what is to be minimised."""
        self._check_settings()
        table = X
        if holds_text(X):  # refused below, but for a clearer reason if it is the sensitive column
            sensitive = check_sensitive(sensitive_features, len(X), self.positive_level)
            refuse_sensitive_column(X, sensitive)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        roles = check_roles(table, y, sensitive_features, sample_weight, self.positive_level)
        self._previous_weights(X)  # raises now, before any work, if they do not fit X
        z = roles.sensitive.values
        criterion = needed_criterion(self._criterion(), self.strength_)
        fitted = fit_criterion(criterion, table, z, roles.weights, y=roles.target)
        self.classes_, self.sensitive_levels_ = roles.classes, roles.sensitive.levels
        objective = fitted.objective(roles.target, z, roles.weights)
        return LinearProblem(objective, X, self.l2, self.fit_intercept)

    def _criterion(self) -> Any:
        return FairTarget() if self.criterion is None else self.criterion

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def _check_settings(self) -> None:
        self.strength_ = choose_strength(self._criterion(), self.strength)
        for name in ("l2", "tol"):
            if not isinstance(getattr(self, name), Real):
                raise TypeError(f"{name} must be a number; got {getattr(self, name)!r}")
        if not 0 <= self.l2 < np.inf:
            raise ValueError(f"l2 must be finite and not negative; got {self.l2!r}")
        if not 0 < self.tol < np.inf:
            raise ValueError(f"tol must be positive and finite; got {self.tol!r}")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be an integer of at least 1; got {self.max_iter!r}")

    def _previous_weights(self, X: Floats) -> Floats | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if self.coef_.shape[1] != X.shape[1]:
            raise ValueError(
                f"warm_start: the previous fit had {self.coef_.shape[1]} columns but X has "
                f"{X.shape[1]}"
            )
        return np.append(self.coef_[0], self.intercept_[0] if self.fit_intercept else 0.0)

    def _minimize(self, problem: LinearProblem, start: Floats | None) -> Floats:
        """Minimise at this model's strength, keep what came out, and return the weights."""
        problem = replace(problem, objective=problem.objective.at(self.strength_))
        result = problem.minimize(start, tol=self.tol, max_iter=self.max_iter)
        if not result.bounded:
            problem = replace(problem, l2=1 / len(problem.X))
            warnings.warn(
                "without l2 no coefficients are best: some columns pick out rows whose fair "
                "targets average below 0 or above 1, and their coefficients would grow without "
                f"end. l2={problem.l2:.1e} was used, one over the number of rows; set l2, or leave "
                "out columns that few rows share",
                ConvergenceWarning,
                stacklevel=4,
            )
            result = problem.minimize(None, tol=self.tol, max_iter=self.max_iter)
        if not np.isfinite(result.weights).all():
            raise ValueError(
                f"the coefficients are not finite after {result.n_iter} Newton steps; set l2, for "
                f"instance l2={1 / len(problem.X):.1e}, and bring the columns of X to a like scale"
            )
        if not result.converged:
            warnings.warn(
                f"stopped after {result.n_iter} Newton steps with a gradient of "
                f"{result.gradient_size:.1e} (tol={self.tol:g}). Raise max_iter, or add a "
                "little l2 if the classes can be separated",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.coef_ = result.weights[None, :-1].copy()
        self.intercept_ = result.weights[-1:].copy()
        self.n_iter_ = np.array([result.n_iter], dtype=np.int32)
        self.log_loss_ = result.losses.utility
        self.penalty_ = np.nan if problem.objective.is_plain else result.losses.penalty
        self.statistics_ = dict(
            zip(problem.objective.penalty.names, result.statistics.tolist(), strict=True)
        )
        return result.weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
