"""The discrimination-free score: fit on (X, z), average the prediction over z."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_choice, show_value
from ..grouping import Grouping
from ..rows import Rows
from .training import read_rows, read_table
from .wrapping import (
    WrappedClassifier,
    all_rows,
    class_scores,
    fit_inner,
    inner_classifier,
    refuse_adjusting,
    with_sensitive_column,
)

#: How the classifier learns about z.
LEARNERS = ("single", "separate")


class MarginalizedClassifier(WrappedClassifier):
    """Fit P(y | X, z) with any classifier, then score everyone as if z were not known.

    The score is the prediction averaged over the two levels of z, the same for everybody::

        f(X) = w₀·P(y=1 | X, z=0) + w₁·P(y=1 | X, z=1)

    A model blind to z weighs the levels by b(X) = P(z | X) instead, and so lets X stand in for z.
    With weights ½ and ½ the gap between the groups is the explained part of the labels' gap, which
    goes through X, ½(indirect_reference + indirect_group); with other weights it is
    w₀·indirect_reference + w₁·indirect_group.

    z is needed in ``fit`` alone: a score looks at both levels.

    Parameters
    ----------
    estimator : scikit-learn classifier with ``predict_proba``, optional
        Fitted on X with z, as 0/1, for its last column. Gradient boosting by default, which takes
        missing values and text.
    weights : pair of float, or "prevalence", default=(0.5, 0.5)
        w₀ and w₁, which sum to 1; or the shares of the two levels among the training rows.
    learner : {"single", "separate"}, default="single"
        One model with z as a column, or a model for each level of z. Two models let the direct
        effect vary with X in any way, and each learns from its own group alone.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model of (X, z), for ``learner="single"``.
    estimators_ : tuple of two classifiers
        Those of z = 0 and of z = 1, for ``learner="separate"``.
    weights_ : tuple of float
        w₀ and w₁.
    classes_ : array of shape (n_classes,)
    sensitive_levels_ : tuple
        What z = 0 and z = 1 stand for.

    Notes
    -----
    f is as good as the model is where a person of this X and the other z would be: with poor
    overlap that is extrapolation. A regularised model that shrinks the coefficients of X leaves
    more to z, and the average then removes too much.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    In both groups y follows X; z adds ½:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, z = np.array([[0.0], [0.0], [1.0]] * 4), np.array([0, 1, 1] * 4)
    >>> X[-1], z[-1] = 1.0, 0
    >>> y = ((z == 1) & (np.arange(12) < 6)) | (X[:, 0] == 1)
    >>> model = MarginalizedClassifier(DecisionTreeClassifier()).fit(X, y, sensitive_features=z)
    >>> model.predict_proba([[0.0]])[0, 1]  # ½·0 + ½·½
    np.float64(0.25)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        weights: Any = (0.5, 0.5),
        learner: str = "single",
        groups: Grouping | None = None,
    ) -> None:
        self.estimator = estimator
        self.weights = weights
        self.learner = learner
        self.groups = groups

    def _fit(self, X: Any, y: Any, *roles: Any, adjust_for: Any = None) -> None:
        refuse_adjusting(self, adjust_for)
        check_choice(self.learner, "learner", LEARNERS)
        stated = check_pair(self.weights)
        model = inner_classifier(self.estimator, roles[1])
        X = read_table(self, X, reset=True)
        rows = read_rows(self, X, y, *roles)
        fit_levels(self, model, rows, stated)

    def fair_score(self, X: Any) -> Floats:
        """Return the score of each row, averaged over z; of several classes a column for each."""
        return average_levels(self, X, class_scores)


def fit_levels(model: Any, inner: Any, rows: Rows, stated: tuple[float, float] | None) -> None:
    """Fit one model of (X, z), or one for each level of z, and keep them with their weights.

    Parameters
    ----------
    model : estimator
        What keeps them, with its ``learner``.
    inner : estimator
        A model that is not fitted.
    rows : Rows
        To fit on, with the outcome in the user's units.
    stated : pair of float, optional
        The weights of the levels; None for their shares of the rows.
    """
    model.weights_ = _prevalence(rows) if stated is None else stated
    for fitted in ("estimator_", "estimators_"):
        model.__dict__.pop(fitted, None)
    given = rows.outcome.as_given()
    if model.learner == "single":
        table = with_sensitive_column(rows.X, rows.z)
        model.estimator_ = fit_inner(inner, table, given, rows.weights)
        return
    groups = []
    for code, level in enumerate(rows.groups.levels):
        chosen = np.flatnonzero(rows.groups.codes == code)
        group = rows.take(chosen)
        place = f"the group of {show_value(level)}, which learner='separate' fits alone,"
        group.outcome.check_present(group.weights, place)
        groups.append((group.X, given[chosen], group.weights))
    model.estimators_ = tuple(fit_inner(clone(inner), *group) for group in groups)


def average_levels(model: Any, X: Any, predict: Callable[[Any, Any], Floats]) -> Floats:
    """Return what the models of both levels predict for each row, averaged by their weights."""
    by_level = predict_levels(model, X, predict)
    return model.weights_[0] * by_level[0] + model.weights_[1] * by_level[1]


def predict_levels(model: Any, X: Any, predict: Callable[[Any, Any], Floats]) -> list[Floats]:
    """Return what the models of both levels predict for each row, level by level."""
    check_is_fitted(model)
    X = read_table(model, X, reset=False)
    if hasattr(model, "estimator_"):
        return [predict(model.estimator_, all_rows(X, z)) for z in (0, 1)]
    return [predict(inner, X) for inner in model.estimators_]


def check_pair(weights: Any) -> tuple[float, float] | None:
    """Return w₀ and w₁ as stated, or None where the training rows are to say."""
    if isinstance(weights, str):
        if weights == "prevalence":
            return None
        raise ValueError(f"unknown weights {weights!r}; give a pair of numbers, or 'prevalence'")
    pair = tuple(weights) if isinstance(weights, Iterable) else ()
    if len(pair) != 2 or not all(isinstance(weight, Real) for weight in pair):
        raise TypeError(f"weights must be a pair of numbers; got {weights!r}")
    zero, one = map(float, pair)
    if not (zero >= 0 and one >= 0 and abs(zero + one - 1) <= 1e-9):
        raise ValueError(f"weights must not be negative and must sum to 1; got {weights!r}")
    return zero, one


def _prevalence(rows: Rows) -> tuple[float, float]:
    share = float(np.average(rows.z, weights=rows.weights))
    return 1 - share, share
