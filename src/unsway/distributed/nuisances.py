"""What criteria need to know of rows spread over processes: the propensity and the outcome means.

No row leaves its process. XGBoost's collective grows the trees, and a linear model beside them is
fitted on summed derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import Floats, Index
from ..checks import check_choice, check_integer
from ..core import LogLoss, Objective, Penalty
from ..core.newton import LinearProblem
from ..effects import CrossFit, Fitting
from ..effects.encoding import TableEncoder
from ..effects.learners import FittedModel
from ..effects.nuisance import Stack
from ..folds import draws
from ..models.xgboost import matrix_options, training_matrix, xgboost
from ..rows import Rows
from ..tables import EngineTable
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
    """XGBoost's own trees, grown by all processes on rows that are quantised once."""

    def __init__(
        self, rows: Rows, settings: NuisanceSettings, n_jobs: int | None, reduce: Any
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
        self._matrix = training_matrix(self._params, rows.X)
        self.encode = partial(_as_matrix, rows.X.layout)

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedTrees:
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
        return FittedTrees(booster)

    def predict_rows(self, model: Any, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(self._matrix)[rows]


@dataclass(frozen=True)
class FittedTrees:
    """Trees that were grown."""

    booster: Any

    def predict(self, table: Any) -> Floats:
        """Return P(1) of each row of an XGBoost matrix."""
        return np.asarray(self.booster.predict(table).ravel(), dtype=np.float64)


class SharedRegression:
    """A logistic regression with a ridge, fitted on derivatives that all processes sum."""

    def __init__(self, rows: Rows, reduce: Any) -> None:
        encoder = TableEncoder(reduce).fit(rows.X)
        self._reduce, self._design = reduce, encoder.transform(rows.X)
        encoder.reduce = None  # what was summed is known, and models that are kept need no workers
        self.encode = encoder.transform

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedRegression:
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
        return FittedRegression(problem.minimize(tol=_CONVERGED).weights)

    def predict_rows(self, model: Any, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(self._design[rows])


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


def _as_matrix(layout: EngineTable, X: Any) -> Any:
    """Return another table as a matrix of XGBoost."""
    return xgboost().DMatrix(layout.matrix(X), **matrix_options(layout))
