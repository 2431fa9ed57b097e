"""Models of one nuisance: scikit-learn's, the table each reads, and how several are stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from ..roles import Floats, take
from ..tables import EngineTable, check_table
from .encoding import TableEncoder

Rows = NDArray[np.intp]

#: Levels that gradient boosting tells apart; the codes of a column with more count as numbers.
MAX_LEVELS = 255


@dataclass(frozen=True)
class Learner:
    """A scikit-learn model, the table it reads, and how other rows become such a table.

    A table of `codes` is an array of floats; a column without any value among the rows trained on,
    which gradient boosting does not take, counts as constant.
    """

    model: Any
    table: Any = field(repr=False)
    encode: Callable[[Any], Any] | None = field(default=None, repr=False)
    codes: bool = False

    def fit(self, target: Floats, rows: Rows, weights: Floats | None) -> FittedLearner:
        """Return a copy trained on these rows."""
        y = target[rows]
        if is_classifier(self.model) and y.min() == y.max():
            return FittedLearner(None, float(y[0]))
        model = clone(self.model)
        last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        extra = {} if weights is None else {f"{last}sample_weight": weights[rows]}
        table, empty = take(self.table, rows), None
        if self.codes:
            empty = np.isnan(table).all(axis=0)
            table[:, empty] = 0
        with sklearn.config_context(enable_metadata_routing=False):
            model.fit(table, y.astype(int) if is_classifier(model) else y, **extra)
        return FittedLearner(model, 0.0, empty)


@dataclass(frozen=True)
class FittedLearner:
    """A trained model, or the one value its training rows had."""

    model: Any
    constant: float
    empty: NDArray[np.bool_] | None = None

    def predict(self, table: Any) -> Floats:
        """Return P(1) of a classifier, else the predicted mean."""
        if self.model is None:
            return np.full(table.shape[0], self.constant)
        if self.empty is not None and self.empty.any():
            table = np.where(self.empty, 0, table)
        if is_classifier(self.model):
            return np.asarray(self.model.predict_proba(table)[:, 1], dtype=np.float64)
        return np.asarray(self.model.predict(table), dtype=np.float64)


def default_learners(X: Any, *, binary: bool) -> tuple[Learner, ...]:
    """Return gradient boosting and a regularised linear model, the table encoded once for each."""
    X = check_table(X)
    coded, encoder = EngineTable.of(X), TableEncoder().fit(X)
    counts = np.array([len(coded.levels.get(name, ())) for name in coded.names])
    categorical = (counts > 0) & (counts <= MAX_LEVELS)
    boosting = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    trees = boosting(
        max_leaf_nodes=8,
        early_stopping=False,
        categorical_features=categorical if categorical.any() else None,
        random_state=0,
    )
    linear = LogisticRegression(max_iter=1000) if binary else Ridge()
    return (
        Learner(trees, coded.matrix(X).astype(np.float64), coded.matrix, codes=True),
        Learner(linear, encoder.transform(X), encoder.transform),
    )


def learners_from(models: Any, X: Any, *, binary: bool, role: str) -> tuple[Learner, ...]:
    """Return a user's model, or several to be stacked, as learners; None gives the default."""
    if models is None:
        return default_learners(X, binary=binary)
    chosen = models if isinstance(models, (list, tuple)) else (models,)
    if not chosen:
        raise ValueError(f"{role} is an empty list; give at least one model, or None")
    for model in chosen:
        if not hasattr(model, "fit"):
            raise TypeError(f"{role} must be a scikit-learn model; got {model!r}")
        if is_classifier(model) and not hasattr(model, "predict_proba"):
            raise TypeError(f"{role} {model!r} has no predict_proba, which is needed")
        if is_classifier(model) and not binary:
            raise TypeError(f"{role} {model!r} is a classifier, but y is not 0/1")
    return tuple(Learner(model, X) for model in chosen)


def stacking_shares(predictions: Floats, target: Floats, weights: Floats | None = None) -> Floats:
    """Return the non-negative weights, adding up to one, with which predictions fit best.

    Probabilities of a 0/1 target are mixed for the highest likelihood, other predictions for the
    least squared error.

    References
    ----------
    Ahrens, Hansen, Schaffer & Wiemann (2024), "Model averaging and double machine learning",
    arXiv:2401.01645.

    Examples
    --------
    >>> right, wrong = np.array([0.9, 0.1, 0.9]), np.array([0.5, 0.5, 0.5])
    >>> stacking_shares(np.column_stack([right, wrong]), np.array([1.0, 0.0, 1.0])).round(2)
    array([1., 0.])
    """
    count = predictions.shape[1]
    if count == 1:
        return np.ones(1)
    weights = np.ones(len(target)) if weights is None else weights
    inside = predictions.min() >= 0 and predictions.max() <= 1
    if not (inside and np.isin(target, (0.0, 1.0)).all()):
        return _least_squares_shares(predictions, target, weights)
    likelihood = np.where(target[:, None] == 1, predictions, 1 - predictions).clip(1e-9)
    return _likeliest_shares(likelihood, weights / weights.sum())


def _likeliest_shares(likelihood: Floats, weights: Floats) -> Floats:
    """Maximise Σ w_i log(likelihood_i · shares) on the simplex, a concave problem."""

    def loss(shares: Floats) -> tuple[float, Floats]:
        mixture = likelihood @ shares
        return -float(weights @ np.log(mixture)), -((weights / mixture) @ likelihood)

    count = likelihood.shape[1]
    found = minimize(
        loss,
        np.full(count, 1 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12},
    )
    shares = found.x.clip(0)
    return np.asarray(shares / shares.sum())


def _least_squares_shares(predictions: Floats, target: Floats, weights: Floats) -> Floats:
    """Solve the least-squares problem on the simplex, its sum held by a heavy extra row."""
    root = np.sqrt(weights)[:, None]
    matrix, values = predictions * root, target * root.ravel()
    heavy = 1e4 * np.sqrt(float((matrix**2).sum()) + 1)
    shares, _ = nnls(np.vstack([matrix, np.full(matrix.shape[1], heavy)]), np.r_[values, heavy])
    return np.asarray(shares / shares.sum())
