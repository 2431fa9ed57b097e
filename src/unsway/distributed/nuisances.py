"""What criteria need to know of rows spread over processes: the propensity and the outcome means.

No row leaves its process. XGBoost's collective grows the trees, and a linear model beside them is
fitted on summed derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import Floats, Index
from ..checks import check_choice, check_integer
from ..core import LogLoss, Objective, Penalty
from ..core.newton import LinearProblem
from ..effects import CrossFit, Fitting
from ..effects.encoding import TableEncoder
from ..effects.learners import FittedModel, FittedPooledModel, add_interactions, add_level
from ..effects.nuisance import Stack
from ..folds import draws
from ..models.xgboost import matrix_options, training_matrix, xgboost
from ..rows import Rows
from ..tables import CodedTable, EngineTable
from .collective import Collective
from .rows import ties_of

#: Models of the propensity that `DirectEffect` rests on.
PROPENSITIES = ("linear", "stacked")

_TREES = {"eta": 0.1, "max_depth": 3, "lambda": 1.0, "min_child_weight": 1.0}
_SCORE_CLIP = 1e-3  # as `Propensity` clips
_SCORE_FOLDS = 5
_CONVERGED = 1e-9  # of the gradient of the logistic regression


@dataclass(frozen=True)
class NuisanceSettings:
    """How propensity and outcome means are fitted where the rows are spread over processes.

    Parameters
    ----------
    n_rounds : int
        Trees of each nuisance.
    params : mapping, optional
        Parameters of XGBoost for these trees, over η = .1 and a depth of 3.
    linear : bool
        Whether to stack the trees with a logistic regression, by the mixture that fits best out of
        fold.
    propensity : {"linear", "stacked"}
        What `DirectEffect` takes as its propensity: the logistic regression, or what fair targets
        take, trees and regression stacked and cross-fitted.

    Examples
    --------
    >>> NuisanceSettings(n_rounds=50).propensity
    'linear'
    """

    n_rounds: int = 100
    params: Mapping[str, Any] = field(default_factory=dict)
    linear: bool = True
    propensity: str = "linear"

    def __post_init__(self) -> None:
        check_integer(self.n_rounds, "n_rounds", at_least=1)
        check_choice(self.propensity, "propensity", PROPENSITIES)
        if not isinstance(self.params, Mapping):
            raise TypeError(f"params must be a dict of XGBoost's parameters; got {self.params!r}")


class SharedFitting(Fitting):
    """Propensity and outcome models trained by all processes on all of their rows.

    Parameters
    ----------
    settings : NuisanceSettings
        What is trained.
    collective : Collective
        The processes.
    n_jobs : int, optional
        Threads of XGBoost.
    """

    def __init__(
        self, settings: NuisanceSettings, collective: Collective, n_jobs: int | None = None
    ) -> None:
        self.reduce = collective.sum
        self._settings, self._n_jobs = settings, n_jobs

    def learners(self, rows: Rows, models: Any, *, binary: bool, role: str) -> tuple[Any, ...]:
        """Return XGBoost's trees, and beside them a logistic regression if the settings say so."""
        _refuse_model(models, role)
        trees = SharedTrees(rows, self._settings, self._n_jobs, self.reduce)
        if not self._settings.linear:
            return (trees,)
        return trees, SharedRegression(rows, self.reduce)

    def pooled_learners(self, rows: Rows) -> tuple[Any, ...]:
        """Return the outcome models of all groups: trees, and a linear model with z·X."""
        trees = SharedTrees(rows, self._settings, self._n_jobs, self.reduce, pooled=True)
        if not self._settings.linear:
            return (trees,)
        return trees, SharedRegression(rows, self.reduce, pooled=True)

    def folds(self, rows: Rows, n_folds: int, seed: int) -> Index:
        """Return the fold of each row, by what it holds."""
        drawn = draws(rows.X.matrix, ties_of(rows), seed)
        return (drawn * n_folds).astype(np.intp)

    def propensity(self, rows: Rows, stated: Any) -> tuple[FittedModel, Floats]:
        """Return the propensity score that `DirectEffect` rests on, and its values here."""
        _refuse_model(stated, "propensity")
        if self._settings.propensity == "stacked":
            cross_fit = CrossFit.of(
                rows,
                needs_outcome=False,
                cv=_SCORE_FOLDS,
                clip=_SCORE_CLIP,
                fitting=self,
            )
            nuisances, models = cross_fit.fit_models()
            return ClippedScore(models.propensity), nuisances.propensity
        learner = SharedRegression(rows, self.reduce)
        folds = np.zeros(len(rows), dtype=np.intp)
        alone = CrossFit(rows, (learner,), (), folds, n_folds=1, clip=_SCORE_CLIP, fitting=self)
        nuisances, models = alone.fit_models()
        return ClippedScore(models.propensity), nuisances.propensity

    def check_table(self, rows: Rows) -> None:
        """Do nothing: the rows of all processes were checked when they were coded."""


@dataclass(frozen=True)
class ClippedScore:
    """A propensity score, kept away from 0 and 1."""

    model: Stack

    def predict(self, X: Any) -> Floats:
        """Return b for each row of X."""
        return np.clip(self.model.predict(X), _SCORE_CLIP, 1 - _SCORE_CLIP)


class SharedTrees:
    """XGBoost's own trees, grown by all processes on rows that are quantised once.

    ``pooled`` trees are of all groups: the level of each row is one more column.
    """

    def __init__(
        self,
        rows: Rows,
        settings: NuisanceSettings,
        n_jobs: int | None,
        reduce: Any,
        *,
        pooled: bool = False,
    ) -> None:
        self._n_rounds, self._reduce = settings.n_rounds, reduce
        self._params = {
            **_TREES,
            **settings.params,
            "objective": "binary:logistic",
            "disable_default_eval_metric": True,
        }
        if n_jobs is not None:
            self._params["nthread"] = n_jobs
        self._n_levels = len(rows.groups.levels) if pooled else None
        self._covariates, table = rows.X, rows.X
        if pooled:
            matrix = add_level(rows.X.matrix, rows.groups.codes)
            table = CodedTable(matrix, rows.X.layout.with_number("level"))
        self._layout = table.layout
        self._matrix = training_matrix(self._params, table)
        self.encode = rows.X.layout.matrix

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedModel:
        """Grow the trees on these rows; the others have a weight of 0."""
        inside = np.zeros(len(target))
        inside[rows] = 1.0 if weights is None else weights[rows]
        ones, total = self._reduce(np.array([inside @ target, inside.sum()]))
        mean = float(np.clip(ones / max(total, 1e-12), 1e-4, 1 - 1e-4))
        self._matrix.set_label(target)
        self._matrix.set_weight(inside)
        booster = xgboost().Booster({**self._params, "base_score": mean}, cache=[self._matrix])
        for number in range(self._n_rounds):
            booster.update(self._matrix, number)
        trees = FittedTrees(booster, self._layout)
        if self._n_levels is None:
            return trees
        return FittedPooledModel(trees, self._n_levels, add_level)

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        if isinstance(model, FittedTrees):
            return model.predict_matrix(self._matrix)[rows]
        return model.predict(self._covariates.matrix[rows])


@dataclass(frozen=True)
class FittedTrees:
    """Trees that were grown, and the columns they read."""

    booster: Any
    layout: EngineTable

    def predict(self, table: Floats) -> Floats:
        """Return P(1) of each row of coded columns."""
        return self.predict_matrix(xgboost().DMatrix(table, **matrix_options(self.layout)))

    def predict_matrix(self, matrix: Any) -> Floats:
        """Return P(1) of each row of an XGBoost matrix."""
        return np.asarray(self.booster.predict(matrix).ravel(), dtype=np.float64)


class SharedRegression:
    """A logistic regression with a ridge, fitted on derivatives that all processes sum.

    A ``pooled`` one is of all groups, with the level of each row and its products with X.
    """

    def __init__(self, rows: Rows, reduce: Any, *, pooled: bool = False) -> None:
        encoder = TableEncoder(reduce).fit(rows.X)
        self._reduce, self._covariates = reduce, encoder.transform(rows.X)
        self._n_levels = len(rows.groups.levels) if pooled else None
        self._design = self._covariates
        if pooled:
            self._design = add_interactions(self._covariates, rows.groups.codes)
        encoder.reduce = None  # what was summed is known, and models that are kept need no workers
        self.encode = encoder.transform

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedModel:
        """Minimise Σ w·log-loss + ½‖β‖² over these rows of all processes, the intercept free."""
        inside = np.zeros(len(target))
        inside[rows] = 1.0 if weights is None else weights[rows]
        objective = Objective(
            LogLoss(),
            target,
            penalty=Penalty.none(len(target), self._reduce),
            sample_weight=inside,
        )
        l2 = 1 / max(objective.total_weight, 1e-12)
        problem = LinearProblem(objective, self._design, l2)
        regression = FittedRegression(problem.minimize(tol=_CONVERGED).weights)
        if self._n_levels is None:
            return regression
        return FittedPooledModel(regression, self._n_levels, add_interactions)

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(self._covariates[rows])


@dataclass(frozen=True)
class FittedRegression:
    """The coefficients of a logistic regression, the intercept last."""

    weights: Floats

    def predict(self, table: Any) -> Floats:
        """Return P(1) of each row."""
        return np.asarray(expit(table @ self.weights[:-1] + self.weights[-1]))


def _refuse_model(model: Any, role: str) -> None:
    if model is not None:
        raise TypeError(
            f"{role} sees the rows of one machine; leave it None and say with "
            "nuisances=NuisanceSettings(…) how it is fitted, or hand in a criterion fitted on a "
            "sample"
        )
