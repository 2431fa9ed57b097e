"""Models of one nuisance: scikit-learn's, and the table each reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from .._typing import Codes, Floats, Index
from ..core import LogLoss, Loss, SquaredError
from ..core.arrays import like
from ..rows import Rows
from ..tables import EngineTable, check_table, row_count, take
from .binning import BinnedTable
from .encoding import TableEncoder
from .families import linear_model_of, trees_of
from .level_columns import INTERACTION_SCALE, LevelColumns, LevelInteractions

#: Levels that gradient boosting tells apart; the codes of a column with more count as numbers.
MAX_LEVELS = 255

#: Trees of a model of all groups, and their learning rate.
POOLED_TREES, POOLED_RATE = 80, 0.25


def as_given(X: Any) -> Any:
    """Return the table itself: the encoding of a model that reads tables as users give them."""
    return X


class FittedModel(Protocol):
    """A trained model of one nuisance."""

    def predict(self, X: Any, /) -> Floats:
        """Return the mean of each row of an encoded table.

        A model of one group's rows, or of the propensity, returns shape (n,); a model of all groups
        returns shape (n, n_levels), the mean that each row would have in each group. Several models
        in one have another axis, the last.
        """


class Learner(Protocol):
    """A model of one nuisance that has the table, encoded once, and is trained on some rows of it.

    Training may happen here, on a device, or together with other processes. What ``encode`` is
    must not hold the table, because it is kept with the models.
    """

    @property
    def n_models(self) -> int:
        """How many models it trains, to be stacked with those of other learners."""

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
    n_models: int = 1

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


@dataclass(frozen=True)
class PooledLearner:
    """One model of E[y|X, z] for all groups, trained on X and z together.

    Models trained on one group each differ by noise as well as by the effect of z. A model of all
    groups estimates what they share from all rows, so that its effect of z is less noisy. It is
    also shrunk towards zero, which `fit_correction` repairs.

    Parameters
    ----------
    learner : ScikitLearner
        The model, with the covariates alone as its table.
    codes : array of int of shape (n,)
        The position of each row's level.
    n_levels : int
        Number of levels.
    join : callable
        Returns a table of covariates with the columns of the level of each row.
    """

    learner: ScikitLearner
    codes: Codes = field(repr=False)
    n_levels: int
    join: Callable[[Any, Codes], Any]
    n_models: int = 1

    @property
    def encode(self) -> Callable[[Any], Any]:
        """What returns another table of covariates as the model reads it."""
        return self.learner.encode

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedPooledModel:
        """Return a model trained on these rows."""
        joined = self.join(take(self.learner.table, rows), self.codes[rows])
        inside = replace(self.learner, table=joined)
        model = inside.fit(
            target[rows], np.arange(len(rows)), None if weights is None else weights[rows]
        )
        return FittedPooledModel(model, self.n_levels, self.join)

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table, in each group."""
        return model.predict(take(self.learner.table, rows))


@dataclass(frozen=True)
class FittedPooledModel:
    """A trained model of all groups."""

    model: FittedModel
    n_levels: int
    join: Callable[[Any, Codes], Any]

    def predict(self, table: Any) -> Floats:
        """Return the mean of each row in each group."""
        n_rows = table.shape[0]
        return np.column_stack(
            [
                self.model.predict(self.join(table, np.full(n_rows, level)))
                for level in range(self.n_levels)
            ]
        )


def add_level(table: Floats, codes: Codes) -> Floats:
    """Return a table with the position of each row's level as its last column."""
    return np.column_stack([table, codes])


def add_interactions(table: Any, codes: Codes) -> Any:
    """Return [E, z−½, (z−½)·E/5] of an encoded table E and two levels.

    A linear model of it has a slope of its own in each group. Divided by 5, the differences between
    the slopes are penalised 25 times as much as the slopes: a small group borrows the slopes of the
    others unless its rows contradict them. The mean effect, the coefficient of z, is hardly
    penalised. Which of the levels comes first is without effect.

    Examples
    --------
    >>> add_interactions(np.array([[2.0], [3.0]]), np.array([0, 1])).round(2).tolist()
    [[2.0, -0.5, -0.2], [3.0, 0.5, 0.3]]
    """
    z = codes.astype(np.float64)[:, None] - 0.5
    if sparse.issparse(table):
        slopes = table.multiply(z * INTERACTION_SCALE)
        return sparse.hstack([table, sparse.csr_matrix(z), slopes], format="csr")
    z = like(table, z)
    return np.hstack([table, z, table * z * INTERACTION_SCALE])


def linear_margin(table: Any, coefficients: Floats) -> Any:
    """Return the margin of a linear model, whose intercept is last, on the device of the table."""
    slopes = coefficients[:-1] if sparse.issparse(table) else like(table, coefficients[:-1])
    return table @ slopes + coefficients[-1]


def interaction_margin(table: Any, coefficients: Floats, level: int) -> Any:
    """Return the margin of a linear model of `add_interactions` if all rows were of one level.

    Examples
    --------
    >>> table, coefficients = np.array([[2.0], [3.0]]), np.array([1.0, 0.5, 2.0, 0.1])
    >>> interaction_margin(table, coefficients, 1).round(2).tolist()
    [2.75, 3.95]
    >>> (add_interactions(table, np.ones(2)) @ coefficients[:-1] + 0.1).round(2).tolist()
    [2.75, 3.95]
    """
    count, z = table.shape[1], level - 0.5
    slopes = coefficients[:count] + z * INTERACTION_SCALE * coefficients[count + 1 : -1]
    return linear_margin(table, np.append(slopes, z * coefficients[count] + coefficients[-1]))


def pooled_learners(rows: Rows) -> tuple[Learner, ...]:
    """Return the default outcome models: boosted trees and a linear model, each of all groups."""
    trees, linear = default_learners(
        rows.X,
        binary=rows.outcome.is_label,
        loss=rows.outcome.mean_loss,
        bins=reads_bins(rows),
    )
    trees.model.set_params(max_iter=POOLED_TREES, learning_rate=POOLED_RATE)
    groups, design = rows.groups, rows.groups.design
    if trees.model.categorical_features is not None:
        numbers = [False] * (1 if groups.two else design.shape[1])
        categorical = np.append(trees.model.categorical_features, numbers)
        trees.model.set_params(categorical_features=categorical)
    n_levels, two = groups.n_levels, groups.two
    return (
        PooledLearner(trees, groups.codes, n_levels, add_level if two else LevelColumns(design)),
        PooledLearner(
            linear, groups.codes, n_levels, add_interactions if two else LevelInteractions(design)
        ),
    )


def reads_bins(rows: Rows) -> bool:
    """Return whether trees read numbers in bins: those of weighted counts and amounts do."""
    return rows.weights is not None and not rows.outcome.is_label


def fit_copy(model: Any, table: Any, y: NDArray[Any], weights: Floats | None) -> Any:
    """Return a trained copy of a model; a pipeline hands the weights to its last step."""
    model = clone(model)
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    extra = {} if weights is None else {f"{last}sample_weight": weights}
    with sklearn.config_context(enable_metadata_routing=False):
        model.fit(table, y, **extra)
    return model


def default_learners(
    X: Any, *, binary: bool, loss: Loss | None = None, bins: bool = False
) -> tuple[ScikitLearner, ...]:
    """Return gradient boosting and a regularised linear model, the table encoded once for each.

    With ``bins`` the trees read numbers in bins, which saves much time where rows are weighted.
    """
    X, loss = check_table(X), loss or (LogLoss() if binary else SquaredError())
    coded, encoder = EngineTable.of(X), TableEncoder().fit(X)
    counts = np.array([len(coded.levels.get(name, ())) for name in coded.names])
    categorical = (counts > 0) & (counts <= MAX_LEVELS)
    trees = trees_of(
        loss,
        max_leaf_nodes=8,
        early_stopping=False,
        categorical_features=categorical if categorical.any() else None,
        random_state=0,
    )
    linear = linear_model_of(loss, row_count(X))
    matrix: Floats = coded.matrix(X).astype(np.float64)
    encode: Callable[[Any], Any] = coded.matrix
    if bins:
        encode = BinnedTable.of(coded, matrix, categorical)
        matrix = encode.binned(matrix)
    return (
        ScikitLearner(trees, matrix, encode, codes=True),
        ScikitLearner(linear, encoder.transform(X), encoder.transform),
    )


def learners_from(
    models: Any,
    X: Any,
    *,
    binary: bool,
    role: str,
    loss: Loss | None = None,
    bins: bool = False,
) -> tuple[Learner, ...]:
    """Return a user's model, or several to be stacked, as learners; None gives the default."""
    if models is None:
        return default_learners(X, binary=binary, loss=loss, bins=bins)
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


def count_models(learners: Sequence[Learner]) -> int:
    """Return how many models the learners train together."""
    return sum(learner.n_models for learner in learners)


def side_by_side(parts: Sequence[Floats], n_means: int) -> Floats:
    """Return predictions of several learners with the models as the last axis.

    ``n_means`` is 1 where each model predicts the mean in every group, else 0.
    """
    full = [part if part.ndim > 1 + n_means else part[..., None] for part in parts]
    return np.concatenate(full, axis=-1)
