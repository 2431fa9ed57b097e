"""Cross-fitted nuisances: the propensity b(X) = P(z=1|X) and the outcome means μ₀(X), μ₁(X).

A row's nuisances come from models that have not seen it. Several models for one nuisance are
short-stacked: their out-of-fold predictions are averaged with the weights that fit best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ..folds import fold_numbers
from ..roles import Floats, take
from .encoding import TableEncoder, code_table

Rows = NDArray[np.intp]

#: Below this many rows several threads wait for each other longer than they work.
FEW_ROWS = 200_000

#: Fewest rows a sensitive level must have before anything is estimated.
MIN_LEVEL_ROWS = 20


@dataclass(frozen=True)
class Learner:
    """A scikit-learn model, and the table it reads."""

    model: Any
    table: Any = field(repr=False)

    def fit_predict(
        self, target: Floats, train: Rows, test: Rows, weights: Floats | None
    ) -> Floats:
        """Return predictions for some rows from a copy trained on others: P(1) of a classifier."""
        y = target[train]
        if is_classifier(self.model) and y.min() == y.max():
            return np.full(len(test), y[0])
        model = clone(self.model)
        last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        extra = {} if weights is None else {f"{last}sample_weight": weights[train]}
        with sklearn.config_context(enable_metadata_routing=False):
            if not is_classifier(model):
                model.fit(take(self.table, train), y, **extra)
                return np.asarray(model.predict(take(self.table, test)), dtype=np.float64)
            model.fit(take(self.table, train), y.astype(int), **extra)
            return np.asarray(model.predict_proba(take(self.table, test))[:, 1], dtype=np.float64)


def default_learners(X: Any, *, binary: bool) -> tuple[Learner, ...]:
    """Return gradient boosting and a regularised linear model, the table encoded once for each."""
    codes, categorical = code_table(X)
    boosting = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    trees = boosting(
        max_leaf_nodes=8,
        early_stopping=False,
        categorical_features=categorical if categorical.any() else None,
        random_state=0,
    )
    linear = LogisticRegression(max_iter=1000) if binary else Ridge()
    return Learner(trees, codes), Learner(linear, TableEncoder().fit_transform(X))


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
            raise TypeError(f"{role} {model!r} is a classifier, but y is not binary")
    return tuple(Learner(model, X) for model in chosen)


@dataclass(frozen=True)
class Nuisances:
    """What is needed about each row before effects can be estimated.

    Parameters
    ----------
    propensity : array of shape (n,)
        b, within the clipping bounds.
    outcome : array of shape (n, 2)
        μ₀ and μ₁, the mean outcome at the row's X under z=0 and z=1.
    n_clipped : int
        Rows whose propensity lay outside the bounds.
    shares : mapping of str to tuple of float
        Per nuisance, the weight of each stacked model.
    """

    propensity: Floats = field(repr=False)
    outcome: Floats = field(repr=False)
    n_clipped: int = 0
    shares: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def effect(self) -> Floats:
        """τ̂ = μ₁ − μ₀, the direct effect at each row's X."""
        return self.outcome[:, 1] - self.outcome[:, 0]

    @property
    def mean(self) -> Floats:
        """m̂ = b·μ₁ + (1−b)·μ₀, the mean outcome at each row's X."""
        return self.outcome[:, 0] + self.propensity * self.effect


@dataclass(frozen=True)
class CrossFit:
    """How nuisances are fitted: with which models, on which folds.

    Parameters
    ----------
    propensity, outcome : tuples of Learner
        Several are stacked; without outcome models the outcome means are NaN.
    folds : array of shape (n,)
        The fold of each row; a single fold means that models predict the rows they saw.
    clip : float
        The propensity is kept within [clip, 1−clip].
    """

    propensity: tuple[Learner, ...]
    outcome: tuple[Learner, ...]
    folds: NDArray[np.intp] = field(repr=False)
    clip: float

    @classmethod
    def of(
        cls,
        X: Any,
        z: Floats,
        *,
        binary: bool,
        propensity_model: Any = None,
        outcome_model: Any = None,
        needs_outcome: bool = True,
        cv: int = 5,
        clip: float = 0.01,
        seed: int = 0,
    ) -> Self:
        """Check the settings, encode the table, and assign the folds."""
        _check_settings(z, cv, clip)
        propensity = learners_from(propensity_model, X, binary=True, role="propensity_model")
        outcome = (
            learners_from(outcome_model, X, binary=binary, role="outcome_model")
            if needs_outcome
            else ()
        )
        if cv == 1 and max(len(propensity), len(outcome)) > 1:
            raise ValueError(
                "cv=1 predicts the rows a model was trained on, which cannot choose between "
                "models; give one propensity_model and one outcome_model, or raise cv"
            )
        return cls(propensity, outcome, fold_numbers(X, z, cv, seed), clip)

    def fit(
        self, y: Floats, z: Floats, weights: Floats | None = None, rows: Rows | None = None
    ) -> Nuisances:
        """Fit on these rows, repeated ones included; a repeated row stays within one fold."""
        rows = np.arange(len(z)) if rows is None else rows
        with threadpool_limits(1 if len(rows) < FEW_ROWS else None):
            b, b_shares = self._stack(self.propensity, z, weights, rows, rows >= 0)
            low, low_shares = self._stack(self.outcome, y, weights, rows, z[rows] == 0)
            high, high_shares = self._stack(self.outcome, y, weights, rows, z[rows] == 1)
        return Nuisances(
            np.clip(b, self.clip, 1 - self.clip),
            np.column_stack([low, high]),
            int(((b < self.clip) | (b > 1 - self.clip)).sum()),
            {"propensity": b_shares, "outcome z=0": low_shares, "outcome z=1": high_shares},
        )

    def _stack(
        self,
        learners: Sequence[Learner],
        target: Floats,
        weights: Floats | None,
        rows: Rows,
        usable: NDArray[np.bool_],
    ) -> tuple[Floats, tuple[float, ...]]:
        """Return the stacked out-of-fold predictions of models trained on the usable rows."""
        if not learners:
            return np.full(len(rows), np.nan), ()
        folds = self.folds[rows]
        found = np.empty((len(rows), len(learners)))
        for fold in np.unique(folds):
            test = folds == fold
            train = rows[usable & ~test] if folds.min() != folds.max() else rows[usable]
            for position, learner in enumerate(learners):
                found[test, position] = learner.fit_predict(target, train, rows[test], weights)
        chosen = rows[usable]
        shares = stacking_shares(
            found[usable], target[chosen], None if weights is None else weights[chosen]
        )
        return found @ shares, tuple(shares.tolist())


def stacking_shares(predictions: Floats, target: Floats, weights: Floats | None = None) -> Floats:
    """Return the non-negative weights, adding up to one, with which predictions fit best.

    Probabilities of a 0/1 target are mixed for the highest likelihood, by the EM algorithm; other
    predictions for the least squared error.

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
    shares = np.full(count, 1 / count)
    for _ in range(1000):
        mixture = likelihood @ shares
        updated = shares * ((weights / mixture) @ likelihood) / weights.sum()
        if np.abs(updated - shares).max() < 1e-6:
            break
        shares = updated
    return shares / shares.sum()


def _least_squares_shares(predictions: Floats, target: Floats, weights: Floats) -> Floats:
    """Solve the least-squares problem on the simplex, its sum held by a heavy extra row."""
    root = np.sqrt(weights)[:, None]
    matrix, values = predictions * root, target * root.ravel()
    heavy = 1e4 * np.sqrt(float((matrix**2).sum()) + 1)
    shares, _ = nnls(np.vstack([matrix, np.full(matrix.shape[1], heavy)]), np.r_[values, heavy])
    return np.asarray(shares / shares.sum())


def _check_settings(z: Floats, cv: int, clip: float) -> None:
    if not isinstance(cv, (int, np.integer)) or cv < 1:
        raise ValueError(f"cv must be an integer of at least 1; got {cv!r}")
    if not 0 < clip < 0.5:
        raise ValueError(
            f"clip must lie above 0 and below 0.5, so that no row has infinite weight; got {clip!r}"
        )
    fewest = max(MIN_LEVEL_ROWS, 2 * cv)
    count = int(min(z.sum(), len(z) - z.sum()))
    if count < fewest:
        raise ValueError(
            f"a sensitive level has {count} rows; at least {fewest} are needed to estimate effects "
            f"with cv={cv}"
        )
