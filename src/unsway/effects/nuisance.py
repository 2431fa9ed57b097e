"""Cross-fitted nuisances: the propensity b(X) = P(z=1|X) and the outcome means μ₀(X), μ₁(X).

A row's nuisances come from models that have not seen it. Several models for one nuisance are
short-stacked: their out-of-fold predictions are averaged with the weights that fit best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..folds import fold_numbers
from ..roles import Floats, columns, row_count, take
from .learners import FittedLearner, Learner, Rows, learners_from, stacking_shares
from .telling import refuse_telling_columns, tells

#: Below this many rows several threads wait for each other longer than they work.
FEW_ROWS = 200_000

#: Fewest rows a sensitive level must have before anything is estimated.
MIN_LEVEL_ROWS = 20


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
    X : table of n rows, optional
        The covariates, which are refused if they tell z.
    """

    propensity: tuple[Learner, ...]
    outcome: tuple[Learner, ...]
    folds: NDArray[np.intp] = field(repr=False)
    clip: float
    X: Any = field(default=None, repr=False)

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
        y: Floats | None = None,
        weights: Floats | None = None,
    ) -> Self:
        """Check the settings, encode the table, and assign the folds.

        Labels and weights tell rows apart that are alike in X and z, so that their order does not
        decide their folds.
        """
        _check_settings(z if weights is None else z[weights > 0], cv, clip, seed)
        _check_table(X)
        propensity = learners_from(propensity_model, X, binary=True, role="propensity_model")
        outcome: tuple[Learner, ...] = ()
        if needs_outcome and binary and propensity_model is None and outcome_model is None:
            outcome = propensity  # the same models, which need the table encoded but once
        elif needs_outcome:
            outcome = learners_from(outcome_model, X, binary=binary, role="outcome_model")
        if cv == 1 and max(len(propensity), len(outcome)) > 1:
            raise ValueError(
                "cv=1 predicts the rows a model was trained on, which cannot choose between "
                "models; give one propensity_model and one outcome_model, or raise cv"
            )
        ties = [values for values in (weights, y) if values is not None]
        return cls(propensity, outcome, fold_numbers(X, z, cv, seed, ties=ties), clip, X)

    def fit(
        self, y: Floats, z: Floats, weights: Floats | None = None, rows: Rows | None = None
    ) -> Nuisances:
        """Fit on these rows, repeated ones included; a repeated row stays within one fold."""
        return self.fit_models(y, z, weights, rows)[0]

    def fit_models(
        self, y: Floats, z: Floats, weights: Floats | None = None, rows: Rows | None = None
    ) -> tuple[Nuisances, NuisanceModels]:
        """Return the rows' nuisances, and the models that predict other rows'."""
        used = np.arange(len(z)) if rows is None else rows
        with threadpool_limits(1 if len(used) < FEW_ROWS else None):
            b = self._stack(self.propensity, z, weights, used, used >= 0)
            if rows is None and self.propensity and self.X is not None:
                self._refuse_telling_columns(b[0], z, weights)
            zero, one = (
                self._stack(self.outcome, y, weights, used, z[used] == level) for level in (0, 1)
            )
        models = NuisanceModels(b[1], zero[1], one[1], self.clip)
        return models.nuisances(b[0], zero[0], one[0]), models

    def _refuse_telling_columns(self, b: Floats, z: Floats, weights: Floats | None) -> None:
        """Raise if X tells z; a model that saw the rows may have learnt them by heart."""
        if self.folds.min() == self.folds.max():
            if not tells(b, z, weights):
                return
            apart = replace(self, folds=fold_numbers(self.X, z, 2, 0))
            rows = np.arange(len(z))
            b = apart._stack(self.propensity, z, weights, rows, rows >= 0)[0]
        refuse_telling_columns(b, z, weights, columns(self.X))

    def _stack(
        self,
        learners: Sequence[Learner],
        target: Floats,
        weights: Floats | None,
        rows: Rows,
        usable: NDArray[np.bool_],
    ) -> tuple[Floats, Stack]:
        """Return the stacked out-of-fold predictions of models trained on the usable rows."""
        if not learners:
            return np.full(len(rows), np.nan), Stack((), (), ())
        folds = self.folds[rows]
        found, models = np.empty((len(rows), len(learners))), []
        for fold in np.unique(folds):
            test = folds == fold
            train = rows[usable & ~test] if folds.min() != folds.max() else rows[usable]
            models.append(tuple(learner.fit(target, train, weights) for learner in learners))
            for position, (learner, model) in enumerate(zip(learners, models[-1], strict=True)):
                found[test, position] = model.predict(take(learner.table, rows[test]))
        chosen = rows[usable]
        shares = stacking_shares(
            found[usable], target[chosen], None if weights is None else weights[chosen]
        )
        encoders = tuple(learner.encode for learner in learners)
        return found @ shares, Stack(encoders, tuple(models), tuple(shares.tolist()))


@dataclass(frozen=True)
class Stack:
    """The models of one nuisance: several learners, each trained once per fold."""

    encoders: tuple[Callable[[Any], Any] | None, ...]
    models: tuple[tuple[FittedLearner, ...], ...]
    shares: tuple[float, ...]

    def predict(self, X: Any) -> Floats:
        """Return the prediction for other rows, averaged over the folds."""
        tables = [X if encode is None else encode(X) for encode in self.encoders]
        by_fold = [
            np.column_stack([m.predict(table) for m, table in zip(fold, tables, strict=True)])
            for fold in self.models
        ]
        return np.asarray(np.mean(by_fold, axis=0) @ np.array(self.shares))


@dataclass(frozen=True)
class NuisanceModels:
    """The fitted models of b, μ₀ and μ₁."""

    propensity: Stack
    outcome_zero: Stack
    outcome_one: Stack
    clip: float

    def predict(self, X: Any) -> Nuisances:
        """Return the nuisances of rows the models have not seen."""
        stacks = (self.propensity, self.outcome_zero, self.outcome_one)
        with threadpool_limits(1 if row_count(X) < FEW_ROWS else None):
            return self.nuisances(*(stack.predict(X) for stack in stacks))

    def nuisances(self, b: Floats, zero: Floats, one: Floats) -> Nuisances:
        """Return predictions as nuisances, the propensity clipped."""
        return Nuisances(
            np.clip(b, self.clip, 1 - self.clip),
            np.column_stack([zero, one]),
            int(((b < self.clip) | (b > 1 - self.clip)).sum()),
            {
                "propensity": self.propensity.shares,
                "outcome z=0": self.outcome_zero.shares,
                "outcome z=1": self.outcome_one.shares,
            },
        )


def _check_table(X: Any) -> None:
    table = list(columns(X))
    if not table:
        raise ValueError("X has no column; at least one covariate is needed")
    for column in table:
        if not column.categorical and np.isinf(column.values).any():
            raise ValueError(f"X contains infinity in {column.name!r}")


def _check_settings(z: Floats, cv: int, clip: float, seed: int) -> None:
    if not isinstance(cv, (int, np.integer)) or cv < 1:
        raise ValueError(f"cv must be an integer of at least 1; got {cv!r}")
    if not 0 < clip < 0.5:
        raise ValueError(
            f"clip must lie above 0 and below 0.5, so that no row has infinite weight; got {clip!r}"
        )
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"random_state must be a non-negative integer; got {seed!r}")
    fewest = max(MIN_LEVEL_ROWS, 2 * cv)
    count = int(min(z.sum(), len(z) - z.sum()))
    if count < fewest:
        raise ValueError(
            f"a sensitive level has {count} rows; at least {fewest} are needed to estimate effects "
            f"with cv={cv}"
        )
