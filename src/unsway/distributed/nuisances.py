"""What criteria need to know of rows spread over processes: the propensity and the outcome means.

No row leaves its process. XGBoost's collective grows the trees, and a linear model beside them is
fitted on summed derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..criteria import (
    DirectEffect,
    FairTarget,
    FittedDirectEffect,
    FittedFairTarget,
    Nuisances,
    refuse_telling_columns,
    tells,
)
from ..models.xgboost import engine, matrix_options, training_matrix
from ..roles import Column, Floats
from ..tables import EngineTable
from .collective import Collective
from .linear import Encoding, LinearModel, fit_logistic
from .rows import LocalRows
from .shares import draws

#: Models of the propensity that `DirectEffect` rests on.
PROPENSITIES = ("linear", "stacked")

_TREES = {"eta": 0.1, "max_depth": 3, "lambda": 1.0, "min_child_weight": 1.0}
_SCORE_CLIP = 1e-3  # as `Propensity` clips
_SCORE_FOLDS = 5
_FEWEST_ROWS = 20
_MIXING_STEPS = 40


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
        if not isinstance(self.n_rounds, Integral) or self.n_rounds < 1:
            raise ValueError(f"n_rounds must be an integer of at least 1; got {self.n_rounds!r}")
        if self.propensity not in PROPENSITIES:
            raise ValueError(
                f"unknown propensity {self.propensity!r}; choose from {', '.join(PROPENSITIES)}"
            )
        if not isinstance(self.params, Mapping):
            raise TypeError(f"params must be a dict of XGBoost's parameters; got {self.params!r}")


@dataclass(frozen=True)
class Mixture:
    """Models of one nuisance, one of each kind per fold, and the share of the trees."""

    table: EngineTable
    trees: tuple[Any, ...]
    linear: tuple[LinearModel, ...]
    share: float

    def predict(self, matrix: NDArray[Any]) -> Floats:
        """Return the prediction for other rows, averaged over the folds."""
        rows = engine().DMatrix(matrix, **matrix_options(self.table))
        trees = np.mean([booster.predict(rows) for booster in self.trees], axis=0)
        if not self.linear:
            return np.asarray(trees, dtype=np.float64)
        linear = np.mean([model.predict(matrix) for model in self.linear], axis=0)
        return np.asarray(self.share * trees + (1 - self.share) * linear)


@dataclass(frozen=True)
class NuisanceModels:
    """The models of b, μ₀ and μ₁ of one table."""

    table: EngineTable
    propensity: Mixture
    outcome_zero: Mixture
    outcome_one: Mixture
    clip: float

    def predict(self, X: Any) -> Nuisances:
        """Return the nuisances of rows the models have not seen."""
        matrix = self.table.matrix(X)
        b = self.propensity.predict(matrix)
        zero, one = (each.predict(matrix) for each in (self.outcome_zero, self.outcome_one))
        return _nuisances(b, zero, one, self.clip)


@dataclass(frozen=True)
class PropensityModel:
    """A fitted propensity score, kept away from 0 and 1."""

    table: EngineTable
    model: LinearModel | Mixture

    def predict(self, X: Any) -> Floats:
        """Return b for each row of X."""
        return _clipped(self.model.predict(self.table.matrix(X)), _SCORE_CLIP)


class CrossFitting:
    """The rows of this process, quantised once, on which all nuisances are fitted."""

    def __init__(
        self,
        rows: LocalRows,
        table: EngineTable,
        settings: NuisanceSettings,
        collective: Collective,
        n_folds: int,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self._rows, self._table, self._settings = rows, table, settings
        self._collective = collective
        self._n_folds = n_folds
        self._folds = (draws(rows.matrix, rows.ties, seed) * n_folds).astype(np.intp)
        self._weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        self._params = {
            **_TREES,
            **settings.params,
            "objective": "binary:logistic",
            "disable_default_eval_metric": True,
        }
        if n_jobs is not None:
            self._params["nthread"] = n_jobs
        self._matrix = training_matrix(self._params, table, rows.matrix)
        self._encoding = None
        if settings.linear:
            self._encoding = Encoding.of(rows.matrix, table, collective.sum)

    def fit(self, target: Floats, usable: NDArray[np.bool_]) -> tuple[Floats, Mixture]:
        """Return out-of-fold predictions of models trained on the usable rows, and the models."""
        found = np.zeros((len(target), 2))
        trees, linear = [], []
        for fold in range(self._n_folds):
            test = self._folds == fold
            weights = self._weights * (usable & (~test if self._n_folds > 1 else True))
            trees.append(self._boost(target, weights))
            found[test, 0] = trees[-1].predict(self._matrix).ravel()[test]
            if self._encoding is not None:
                model = fit_logistic(
                    self._rows.matrix, target, weights, self._encoding, self._collective.sum
                )
                linear.append(model)
                found[test, 1] = model.predict(self._rows.matrix[test])
        share = 1.0
        if linear:
            share = _best_share(found, target, self._weights * usable, self._collective)
        mixed = share * found[:, 0] + (1 - share) * found[:, 1]
        return mixed, Mixture(self._table, tuple(trees), tuple(linear), share)

    def _boost(self, target: Floats, weights: Floats) -> Any:
        """Grow XGBoost's own trees; a row of weight 0 takes part in nothing."""
        ones, total = self._collective.sum(np.array([weights @ target, weights.sum()]))
        mean = float(np.clip(ones / max(total, 1e-12), 1e-4, 1 - 1e-4))
        self._matrix.set_label(target)
        self._matrix.set_weight(weights)
        booster = engine().Booster({**self._params, "base_score": mean}, cache=[self._matrix])
        for number in range(self._settings.n_rounds):
            booster.update(self._matrix, number)
        return booster


def fit_fair_target(
    criterion: FairTarget,
    rows: LocalRows,
    table: EngineTable,
    settings: NuisanceSettings,
    collective: Collective,
    n_jobs: int | None = None,
) -> FittedFairTarget:
    """Fit b, μ₀ and μ₁ on all processes' rows, and return the fair target of those here."""
    if criterion.outcome_model is not None or criterion.propensity_model is not None:
        raise TypeError(
            "FairTarget's outcome_model and propensity_model see the rows of one machine; leave "
            "them None and say with nuisances=NuisanceSettings(…) how they are fitted, or hand in "
            "a criterion fitted on a sample"
        )
    _check_folds(criterion.cv, criterion.clip, rows, collective)
    fitting = CrossFitting(
        rows, table, settings, collective, criterion.cv, criterion.random_state, n_jobs
    )
    everybody = np.ones(len(rows), dtype=bool)
    b, propensity = fitting.fit(rows.z, everybody)
    twofold = (rows, table, settings, collective, 2, criterion.random_state, n_jobs)
    _refuse_telling_columns(
        b, rows, table, collective,
        None if criterion.cv > 1 else lambda: CrossFitting(*twofold).fit(rows.z, everybody)[0],
    )  # fmt: skip
    zero, outcome_zero = fitting.fit(rows.y, rows.z == 0)
    one, outcome_one = fitting.fit(rows.y, rows.z == 1)
    models = NuisanceModels(table, propensity, outcome_zero, outcome_one, criterion.clip)
    return criterion.with_nuisances(
        models,
        _nuisances(b, zero, one, criterion.clip),
        rows.z,
        rows.weights,
        y=rows.y,
        reduce=collective.sum,
    )


def fit_direct_effect(
    criterion: DirectEffect,
    rows: LocalRows,
    table: EngineTable,
    settings: NuisanceSettings,
    collective: Collective,
    n_jobs: int | None = None,
) -> FittedDirectEffect:
    """Fit the propensity on all processes' rows, and return the criterion at those here."""
    if criterion.propensity is not None:
        raise TypeError(
            "DirectEffect's propensity sees the rows of one machine; leave it None and say with "
            "nuisances=NuisanceSettings(…) how it is fitted, or hand in a criterion fitted on a "
            "sample"
        )
    if settings.propensity == "stacked":
        _check_folds(_SCORE_FOLDS, _SCORE_CLIP, rows, collective)
        fitting = CrossFitting(rows, table, settings, collective, _SCORE_FOLDS, 0, n_jobs)
        scores, mixture = fitting.fit(rows.z, np.ones(len(rows), dtype=bool))
        _refuse_telling_columns(scores, rows, table, collective)
        model = PropensityModel(table, mixture)
    else:
        encoding = Encoding.of(rows.matrix, table, collective.sum)
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        linear = fit_logistic(rows.matrix, rows.z, weights, encoding, collective.sum)
        scores, model = linear.predict(rows.matrix), PropensityModel(table, linear)
        _refuse_telling_columns(
            scores, rows, table, collective,
            lambda: _out_of_fold(rows, weights, encoding, collective),
        )  # fmt: skip
    return criterion.with_scores(model, _clipped(scores, _SCORE_CLIP), reduce=collective.sum)


def _out_of_fold(
    rows: LocalRows, weights: Floats, encoding: Encoding, collective: Collective
) -> Floats:
    """Return propensities of logistic regressions that have not seen the row."""
    odd = draws(rows.matrix, rows.ties, 0) < 0.5
    found = np.empty(len(rows))
    for test in (odd, ~odd):
        model = fit_logistic(rows.matrix, rows.z, weights * ~test, encoding, collective.sum)
        found[test] = model.predict(rows.matrix[test])
    return found


def _refuse_telling_columns(
    scores: Floats,
    rows: LocalRows,
    table: EngineTable,
    collective: Collective,
    out_of_fold: Callable[[], Floats] | None = None,
) -> None:
    """Raise, on all processes, if the covariates tell z.

    ``out_of_fold`` gives other scores where these are of models that saw the rows.
    """

    def columns() -> Iterator[Column]:
        for name, values in zip(table.names, rows.matrix.T, strict=True):
            yield Column(name, values.astype(np.float64), categorical=name in table.levels)

    if out_of_fold is not None:
        if not tells(scores, rows.z, rows.weights, collective.sum):
            return
        scores = out_of_fold()
    refuse_telling_columns(scores, rows.z, rows.weights, columns(), reduce=collective.sum)


def _check_folds(cv: int, clip: float, rows: LocalRows, collective: Collective) -> None:
    if not isinstance(cv, Integral) or cv < 1:
        raise ValueError(f"cv must be an integer of at least 1; got {cv!r}")
    if not 0 < clip < 0.5:
        raise ValueError(f"clip must lie above 0 and below 0.5; got {clip!r}")
    counts = collective.sum(np.array([float((rows.z == level).sum()) for level in (0, 1)]))
    fewest = max(_FEWEST_ROWS, 2 * cv)
    if counts.min() < fewest:
        raise ValueError(
            f"a sensitive level has {int(counts.min())} rows on all workers; at least {fewest} are "
            f"needed to estimate effects with cv={cv}"
        )


def _best_share(
    predictions: Floats, target: Floats, weights: Floats, collective: Collective
) -> float:
    """Return the share of the first of two models whose mixture is likeliest, by bisection.

    The log-likelihood Σ w log(s·l₁ + (1−s)·l₂) is concave in s, so its slope changes sign once.
    """
    first, second = np.where(target[:, None] == 1, predictions, 1 - predictions).clip(1e-9).T
    low, high = 0.0, 1.0
    for _ in range(_MIXING_STEPS):
        share = (low + high) / 2
        mixture = share * first + (1 - share) * second
        slope = collective.sum(np.array([weights @ ((first - second) / mixture)]))[0]
        low, high = (share, high) if slope > 0 else (low, share)
    return (low + high) / 2


def _nuisances(b: Floats, zero: Floats, one: Floats, clip: float) -> Nuisances:
    return Nuisances(_clipped(b, clip), np.column_stack([zero, one]))


def _clipped(scores: Floats, clip: float) -> Floats:
    return np.clip(scores, clip, 1 - clip)
