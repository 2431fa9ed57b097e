"""Models of one nuisance: scikit-learn's, the table each reads, and how several are stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from .._typing import Floats, Index, Reduce
from ..core.penalty import identity
from ..tables import EngineTable, check_table, take
from .encoding import TableEncoder

#: Levels that gradient boosting tells apart; the codes of a column with more count as numbers.
MAX_LEVELS = 255


def as_given(X: Any) -> Any:
    """Return the table itself: the encoding of a model that reads tables as users give them."""
    return X


class FittedModel(Protocol):
    """A trained model of one nuisance."""

    def predict(self, X: Any, /) -> Floats:
        """Return the mean of each row, of an encoded table where the model has an encoder."""


class Learner(Protocol):
    """A model of one nuisance that has the table, encoded once, and is trained on some rows of it.

    Training may happen here, on a device, or together with other processes. What ``encode`` is
    must not hold the table, because it is kept with the models.
    """

    @property
    def encode(self) -> Callable[[Any], Any]:
        """What returns another table as the model reads it."""

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedModel:
        """Return a model trained on these rows."""

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""


@dataclass(frozen=True)
class ScikitLearner:
    """A scikit-learn model, the table it reads, and how other rows become such a table.

    A table of `codes` is an array of floats; a column without any value among the rows trained on,
    which gradient boosting does not take, counts as constant.
    """

    model: Any
    table: Any = field(repr=False)
    encode: Callable[[Any], Any] = field(default=as_given, repr=False)
    codes: bool = False

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(take(self.table, rows))

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedScikitModel:
        """Return a copy trained on these rows."""
        y = target[rows]
        if is_classifier(self.model) and y.min() == y.max():
            return FittedScikitModel(None, float(y[0]))
        table, empty = take(self.table, rows), None
        if self.codes:
            empty = np.isnan(table).all(axis=0)
            table[:, empty] = 0
        y = y.astype(int) if is_classifier(self.model) else y
        model = fit_copy(self.model, table, y, None if weights is None else weights[rows])
        return FittedScikitModel(model, 0.0, empty)


@dataclass(frozen=True)
class FittedScikitModel:
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


def fit_copy(model: Any, table: Any, y: NDArray[Any], weights: Floats | None) -> Any:
    """Return a trained copy of a model; a pipeline hands the weights to its last step."""
    model = clone(model)
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    extra = {} if weights is None else {f"{last}sample_weight": weights}
    with sklearn.config_context(enable_metadata_routing=False):
        model.fit(table, y, **extra)
    return model


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
        ScikitLearner(trees, coded.matrix(X).astype(np.float64), coded.matrix, codes=True),
        ScikitLearner(linear, encoder.transform(X), encoder.transform),
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
    return tuple(ScikitLearner(model, X) for model in chosen)


def stacking_shares(
    predictions: Floats,
    target: Floats,
    weights: Floats | None = None,
    *,
    reduce: Reduce | None = None,
) -> Floats:
    """Return the non-negative weights, adding up to one, with which predictions fit best.

    Probabilities of a 0/1 target are mixed for the highest likelihood, other predictions for the
    least squared error. Where the rows are spread over workers, ``reduce`` sums over all of them,
    and all workers find the same weights.

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
    count, total = predictions.shape[1], reduce or identity
    if count == 1:
        return np.ones(1)
    weights = np.ones(len(target)) if weights is None else weights
    odd = ((predictions < 0) | (predictions > 1)).any(axis=1) | ~np.isin(target, (0.0, 1.0))
    if total(np.array([float(odd.sum())]))[0]:
        return _least_squares_shares(predictions, target, weights, total)
    likelihood = np.where(target[:, None] == 1, predictions, 1 - predictions).clip(1e-9)
    return _likeliest_shares(likelihood, weights / total(np.array([weights.sum()]))[0], total)


def _likeliest_shares(likelihood: Floats, weights: Floats, reduce: Reduce) -> Floats:
    """Maximise Σ w_i log(likelihood_i · shares) on the simplex, a concave problem."""

    def loss(shares: Floats) -> tuple[float, Floats]:
        mixture = likelihood @ shares
        value, slope = weights @ np.log(mixture), (weights / mixture) @ likelihood
        sums = reduce(np.append(slope, value))
        return -float(sums[-1]), -sums[:-1]

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


def _least_squares_shares(
    predictions: Floats, target: Floats, weights: Floats, reduce: Reduce
) -> Floats:
    """Solve the least-squares problem on the simplex, its sum held by a heavy extra row.

    The triangular factor of the summed Gram matrix stands for the rows of all workers.
    """
    root = np.sqrt(weights)[:, None]
    rows = np.column_stack([predictions * root, target * root.ravel()])
    if reduce is not identity:
        gram = reduce(rows.T @ rows)
        size = np.finfo(float).eps * np.trace(gram)
        rows = np.linalg.cholesky(gram + size * np.eye(len(gram))).T
    matrix, values = rows[:, :-1], rows[:, -1]
    heavy = 1e4 * np.sqrt(float((matrix**2).sum()) + 1)
    shares, _ = nnls(np.vstack([matrix, np.full(matrix.shape[1], heavy)]), np.r_[values, heavy])
    return np.asarray(shares / shares.sum())
