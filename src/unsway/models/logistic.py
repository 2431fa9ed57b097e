"""Logistic regression without the direct effect of a sensitive attribute."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_integer, check_number
from ..core.class_newton import ClassProblem
from ..core.newton import LinearProblem, NewtonResult
from ..criteria import choose_strength
from ..grouping import Grouping
from ..rows import Rows
from .labels import criterion_of, takes_classes
from .linear_columns import fill_missing, fill_rows, read_covariates, read_numbers
from .margins import class_probabilities, likelier_class
from .plain import to_sklearn
from .row_fingerprint import share_trained_on
from .signs import problem_of
from .summary import summary
from .training import fit_for, read_rows, refit, strength_of

#: Where the mean of fair targets can be, and no mean of y.
_IMPOSSIBLE = dict.fromkeys(("logit", "softmax"), "below 0 or above 1") | {"log": "below 0"}


class Linear:
    """The name of a logistic regression in a card, and the file that it is saved in."""

    name: ClassVar[str] = "logistic"
    model_file: ClassVar[str] = "model.json"


#: What is minimised: over weights of one margin, or of one for each class.
Problem = LinearProblem | ClassProblem


class FairLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression on fair targets, or with (1−λ)·log-loss + λ·penalty to minimise.

    The sensitive attribute is needed in ``fit`` alone. What comes out is an ordinary linear model:
    ``coef_`` and ``intercept_`` mean what they mean in scikit-learn. Missing numbers are replaced
    by the column's median, with an indicator column for each column that had some in ``fit``.

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
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    tol : float
        Largest gradient per unit of each column's root mean square at which the fit has converged.
    max_iter : int
        Newton steps at most.
    warm_start : bool
        Start from the previous fit's coefficients.
    monotonic_cst : mapping of str to {-1, 0, 1}, or sequence of them, optional
        Signs of coefficients: 1 if the score may not fall with the column, -1 if it may not rise.

    Attributes
    ----------
    coef_ : array of shape (1, n_columns) or (n_classes, n_columns)
        One for each of ``column_names_``, and for each class if there are more than two.
    intercept_ : array of shape (1,) or (n_classes,)
    column_names_ : array of str of shape (n_columns,)
        The features, and ``missingindicator_…`` for each that had missing values in ``fit``.
    imputer_ : SimpleImputer or None
        What replaces missing values and adds the indicators; None if there were none in ``fit``.
    classes_ : array of shape (n_classes,)
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
    sensitive_name_, sensitive_levels_ : str or None, and tuple
        The sensitive columns, and what z = 0 and z = 1 stand for.

    Notes
    -----
    One damped Newton method on the exact Hessian. With more than 2,000 columns no Hessian is
    formed: conjugate gradients find an inexact step from products with its positive part. More than
    two classes have the multinomial log-loss, and coefficients that sum to 0 over the classes.

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

    engine = Linear()

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        l2: float = 0.0,
        fit_intercept: bool = True,
        groups: Grouping | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        monotonic_cst: Any = None,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.l2 = l2
        self.fit_intercept = fit_intercept
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
        adjust_for: Any = None,
    ) -> Self:
        """Fit on covariates X, labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numeric covariates, without the sensitive attribute; NaN where a value is missing.
        y : column of length n_samples
            Labels of two classes or more; penalties need two.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights; 2 is the same as the row twice.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.
        """

        def fit(model: Self) -> None:
            given = (X, y, sensitive_features, sample_weight, adjust_for)
            problem = state_problem(model, *given, strength=strength_of(model))
            minimize(model, problem, previous_weights(model, problem.X, _class_count(problem)))

        return refit(self, fit)

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
        chosen = [choose_strength(criterion_of(self), strength) for strength in strengths]
        checked = copy(self)
        problem = state_problem(checked, X, y, sensitive_features, sample_weight, strength=None)
        return checked._path(problem, chosen)

    def _path(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Self]:
        start = previous_weights(self, problem.X, _class_count(problem))
        for strength in strengths:
            model = copy(self)
            model.strength = model.strength_ = strength
            start = minimize(model, problem, start)
            yield model

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row, or of more than two classes a column for each."""
        check_is_fitted(self)
        X = fill_missing(self, read_numbers(self, X, reset=False))
        if len(self.coef_) > 1:
            return np.asarray(X @ self.coef_.T + self.intercept_)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    share_trained_on = share_trained_on
    summary = summary
    to_sklearn = to_sklearn

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return class_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        return likelier_class(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_classes(self)
        tags.input_tags.allow_nan = True
        return tags


def check_regression(model: Any) -> None:
    """Check every setting of a regression before any work, and note its strength on it."""
    model.strength_ = strength_of(model)
    check_number(model.l2, "l2", at_least=0)
    check_number(model.tol, "tol", above=0)
    check_integer(model.max_iter, "max_iter", at_least=1)


def state_problem(
    model: FairLogisticRegression,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    adjust_for: Any = None,
    *,
    strength: float | None,
) -> Problem:
    """Check every input, fit the criterion, and state what is to be minimised.

    ``strength`` is that of the fit, or None where many strengths share the problem.
    """
    check_regression(model)
    table, X = X, read_covariates(model, X, sensitive_features)
    given = table, y, sensitive_features, sample_weight
    rows = read_rows(model, *given, adjust_for=adjust_for)
    X = fill_rows(model, X, rows)
    previous_weights(model, X, rows.outcome.n_classes)  # raises now if they do not fit X
    return state(model, X, rows, strength=strength)


def state(model: Any, X: Floats, rows: Rows, *, strength: float | None) -> Problem:
    """Fit the criterion, and state what is to be minimised over the columns X."""
    return problem_of(model, X, rows, lambda: fit_for(criterion_of(model), strength, rows))


def previous_weights(model: Any, X: Floats, n_classes: int = 0) -> Floats | None:
    """Return the weights to start from, None for a cold start.

    With ``n_classes``, of more than two, there is a row of them for each class.
    """
    if not (model.warm_start and hasattr(model, "coef_")):
        return None
    if n_classes:
        return _previous_rows(model, X, n_classes)
    coefficients, intercept = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    if len(coefficients) != X.shape[1]:
        raise ValueError(
            f"warm_start: the previous fit had {len(coefficients)} columns but X has {X.shape[1]}"
        )
    return np.append(coefficients, intercept if model.fit_intercept else 0.0)


def _previous_rows(model: Any, X: Floats, n_classes: int) -> Floats:
    """Return the weights of the previous fit, a row for each class."""
    before = np.atleast_2d(model.coef_)
    if before.shape != (n_classes, X.shape[1]):
        raise ValueError(
            f"warm_start: the previous fit had coefficients of shape {before.shape}, and now they "
            f"have {(n_classes, X.shape[1])}: classes or columns differ"
        )
    intercepts = model.intercept_ if model.fit_intercept else np.zeros(n_classes)
    return np.column_stack([before, intercepts])


def _class_count(problem: Problem) -> int:
    """Return the number of classes of a problem of more than two, else 0."""
    return problem.objective.target.shape[1] if isinstance(problem, ClassProblem) else 0


def minimize(model: FairLogisticRegression, problem: Problem, start: Floats | None) -> Floats:
    """Minimise at the model's strength, keep what came out on it, and return the weights."""
    result = solve(model, problem, start, tol=model.tol)
    rows = np.atleast_2d(result.weights)
    model.coef_, model.intercept_ = rows[:, :-1].copy(), rows[:, -1].copy()
    model.n_iter_ = np.array([result.n_iter], dtype=np.int32)
    model.log_loss_ = result.losses.utility
    objective = problem.objective
    model.penalty_ = np.nan if objective.is_plain else result.losses.penalty
    model.statistics_ = dict(zip(objective.penalty.names, result.statistics.tolist(), strict=True))
    return result.weights


def solve(model: Any, problem: Problem, start: Floats | None, *, tol: float) -> NewtonResult:
    """Minimise at a linear model's strength, and say where that did not go as it should."""
    problem = replace(problem, objective=problem.objective.at(model.strength_))
    result = problem.minimize(start, tol=tol, max_iter=model.max_iter)
    if not result.bounded:
        problem = replace(problem, l2=1 / len(problem.X))
        warnings.warn(
            "without l2 no coefficients are best: some columns pick out rows whose fair "
            f"targets average {_IMPOSSIBLE[problem.objective.loss.link]}, and their coefficients "
            f"would grow without end. l2={problem.l2:.1e} was used, one over the number of rows; "
            "set l2, or leave out columns that few rows share",
            ConvergenceWarning,
            stacklevel=6,
        )
        result = problem.minimize(None, tol=tol, max_iter=model.max_iter)
    if not np.isfinite(result.weights).all():
        raise ValueError(
            f"the coefficients are not finite after {result.n_iter} Newton steps; set l2, for "
            f"instance l2={1 / len(problem.X):.1e}, and bring the columns of X to a like scale"
        )
    if not result.converged:
        warnings.warn(
            f"stopped after {result.n_iter} Newton steps with a gradient of "
            f"{result.gradient_size:.1e} (tol={tol:g}). Raise max_iter, or add a "
            "little l2 if the classes can be separated",
            ConvergenceWarning,
            stacklevel=6,
        )
    return result
