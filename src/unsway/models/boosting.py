"""What the boosted-tree classifiers share: roles, hold-out, schedule, history."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..core import Losses, Objective, Schedule, Step, check_strength
from ..core.fused import FusedDerivatives
from ..criteria import DirectEffect, FittedCriterion, fit_criterion
from ..folds import hold_out
from ..roles import (
    Floats,
    Sensitive,
    check_both_levels,
    check_labels,
    check_sensitive,
    check_weights,
    refuse_sensitive_column,
    take,
)
from .tables import EngineTable

Derivatives = Callable[[NDArray[Any]], tuple[NDArray[np.float32], NDArray[np.float32]]]


class Engine(Protocol):
    """A boosting library with its training and validation rows, one tree at a time."""

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree from the derivatives at the present training margin."""

    def validation_margin(self) -> NDArray[Any]:
        """Return the margin of the validation rows."""


@dataclass(frozen=True)
class Rows:
    """Checked rows with their criterion: what an objective is made of."""

    X: Any
    y: Floats
    z: Floats
    sample_weight: Floats | None
    criterion: FittedCriterion

    def objective(self) -> Objective:
        """Return the objective on these rows, at strength 0 until it is told another."""
        penalty = self.criterion.penalty(self.y, self.z, self.sample_weight)
        return Objective(penalty, self.y, 0.0, self.sample_weight)


@dataclass
class Boosting:
    """An engine as a schedule drives it, with the history of its rounds."""

    engine: Engine
    derivatives: FusedDerivatives
    validation: Objective
    rounds: int = 0
    history: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def step(self, strength: float) -> None:
        """Grow one tree at this λ."""
        self.engine.boost(lambda margin: self.derivatives(margin, strength))
        self.rounds += 1
        penalty = self.derivatives.objective.penalty
        statistics = self.derivatives.statistics
        self._record("train", penalty.names, statistics, penalty=penalty.distance.value(statistics))

    def evaluate(self) -> Losses:
        """Return both losses on the validation rows."""
        margin = np.asarray(self.engine.validation_margin(), dtype=np.float64)
        penalty = self.validation.penalty
        statistics = penalty.statistics(expit(margin))
        losses = Losses(
            float(self.validation.log_loss(margin)), float(penalty.distance.value(statistics))
        )
        self._record(
            "validation", penalty.names, statistics, log_loss=losses.utility, penalty=losses.penalty
        )
        return losses

    def snapshot(self) -> int:
        """Return the number of trees."""
        return self.rounds

    def _record(self, rows: str, names: tuple[str, ...], statistics: Floats, **more: float) -> None:
        values = {**more, **dict(zip(names, statistics, strict=True))}
        history = self.history.setdefault(rows, {})
        for name, value in values.items():
            history.setdefault(name, []).append(float(value))


class BoostedClassifier(ClassifierMixin, BaseEstimator):
    """Boosted trees that minimise (1−λ)·log-loss + λ·penalty; an engine file says how they grow.

    See `FairXGBClassifier` for the parameters.
    """

    #: Parameter of the engine that may not be given → why.
    _refused_params: ClassVar[Mapping[str, str]]
    #: What the engine calls its learning rate, and its value when it is not given.
    _learning_rate_names: ClassVar[tuple[str, ...]]
    _default_learning_rate: ClassVar[float]

    def __init__(
        self,
        criterion: Any = None,
        strength: float = 0.9,
        *,
        params: dict[str, Any] | None = None,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        curvature: str = "bound",
        positive_level: Any = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.params = params
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.curvature = curvature
        self.positive_level = positive_level
        self.callback = callback
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on covariates X, binary labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Covariates, without the sensitive attribute. NaN and categories go to the engine.
        y : column of length n_samples
            Labels of two classes.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        eval_set : tuple (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight)
            Rows to stop early by; a stratified part of the training rows by default.
        """
        fresh = copy(self)._fit(X, y, sensitive_features, sample_weight, eval_set)
        self.__dict__ = fresh.__dict__  # at once, so that a refit that fails changes nothing
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        return np.asarray(self._margin(self.table_.matrix(X)), dtype=np.float64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes for each row."""
        margin = self.decision_function(X)
        return np.column_stack([expit(-margin), expit(margin)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class of each row."""
        margin = self.decision_function(X)
        return np.asarray(self.classes_[(margin > 0).astype(int)])

    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, eval_set: Any
    ) -> Self:
        self._check_settings()
        X = self._check_table(X, reset=True)
        target, self.classes_ = check_labels(y, self._n_rows)
        sensitive = check_sensitive(sensitive_features, self._n_rows, self.positive_level)
        self.sensitive_levels_ = sensitive.levels
        weights = check_weights(sample_weight, self._n_rows)
        check_both_levels(target, weights, self.classes_, "y", kind="class")
        check_both_levels(sensitive.values, weights, sensitive.levels, "sensitive_features")
        refuse_sensitive_column(X, sensitive)
        self.table_ = EngineTable.of(X)
        train, validation = self._split(X, target, sensitive, weights, eval_set)
        self._boost(train, validation)
        return self

    def _boost(self, train: Rows, validation: Rows) -> None:
        """Train under the schedule, and keep the best state and the history."""
        derivatives = FusedDerivatives(train.objective(), self.curvature, self._learning_rate())
        engine = self._engine(self.table_.matrix(train.X), self.table_.matrix(validation.X))
        boosting = Boosting(engine, derivatives, validation.objective())
        schedule = Schedule() if self.schedule is None else self.schedule
        with threadpool_limits(1, user_api="blas"):  # BLAS threads would fight the engine's
            run = schedule.run(boosting, self.strength, self._on_step())
        self.best_iteration_ = max(1, run.best_state)
        self.n_rounds_ = boosting.rounds
        self.evals_result_ = boosting.history
        self.booster_ = self._finished(engine, self.best_iteration_)

    def _split(
        self, X: Any, y: Floats, sensitive: Sensitive, weights: Floats | None, eval_set: Any
    ) -> tuple[Rows, Rows]:
        """Return training and validation rows, both with the criterion fitted for training."""
        z = sensitive.values
        criterion = DirectEffect() if self.criterion is None else self.criterion
        if eval_set is not None:
            other = self._checked_eval_set(eval_set, sensitive)
            fitted = fit_criterion(criterion, X, z, weights)
            return Rows(X, y, z, weights, fitted), Rows(*other, fitted.at(other[0]))
        held = hold_out(X, y + 2 * z, self.validation_fraction, self.random_state)
        parts = []
        for rows, place in ((~held, "the training part"), (held, "the hold-out")):
            check_both_levels(z[rows], None, sensitive.levels, place)
            check_both_levels(y[rows], None, self.classes_, place, kind="class")
            parts.append(np.flatnonzero(rows))
        fitted = fit_criterion(criterion, X, z, weights)
        train, validation = (
            Rows(
                take(X, rows),
                y[rows],
                z[rows],
                None if weights is None else weights[rows],
                fitted.take(rows),
            )
            for rows in parts
        )
        return train, validation

    def _checked_eval_set(
        self, eval_set: Any, sensitive: Sensitive
    ) -> tuple[Any, Floats, Floats, Floats | None]:
        if not isinstance(eval_set, tuple) or len(eval_set) not in (3, 4):
            raise TypeError(
                "eval_set must be a tuple (X, y, sensitive_features), with sample_weight as an "
                "optional fourth"
            )
        X = self._check_table(eval_set[0], reset=False)
        y, classes = check_labels(eval_set[1], self._n_rows)
        z = check_sensitive(eval_set[2], self._n_rows, sensitive.levels[1])
        if z.levels != sensitive.levels or list(classes) != list(self.classes_):
            raise ValueError("eval_set has other labels or sensitive levels than the training rows")
        weights = check_weights(eval_set[3] if len(eval_set) == 4 else None, self._n_rows)
        return X, y, z.values, weights

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check the shape and the names of a table; numbers may be missing, words may stand."""
        if isinstance(X, (list, tuple, np.ndarray)) or not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=1)
        validate_data(self, X, skip_check_array=True, reset=reset)
        self._n_rows = len(X) if hasattr(X, "__len__") else X.shape[0]
        return X

    def _check_settings(self) -> None:
        self._require_engine()
        if not isinstance(self.strength, Real):
            raise TypeError(f"strength must be a number; got {self.strength!r}")
        check_strength(float(self.strength))
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction must lie between 0 and 1; got {self.validation_fraction!r}"
            )
        refused = sorted(set(self.params or {}) & set(self._refused_params))
        if refused:
            raise ValueError(
                f"params[{refused[0]!r}] is not yours to set: {self._refused_params[refused[0]]}"
            )

    def _learning_rate(self) -> float:
        """Return η as the engine will use it."""
        for name in self._learning_rate_names:
            if name in (self.params or {}):
                return float((self.params or {})[name])
        return self._default_learning_rate

    def _on_step(self) -> Callable[[Step], None] | None:
        if not self.progress:
            return self.callback

        def show(step: Step) -> None:
            print(
                f"\rround {step.number}, {step.phase} at λ={step.strength:.3f}: log-loss "
                f"{step.losses.utility:.4f}, penalty {step.losses.penalty:.5f} ",
                end="",
                file=sys.stderr,
            )
            if self.callback is not None:
                self.callback(step)

        return show

    def _require_engine(self) -> None:
        """Raise, with the pip line, if the engine is not installed."""
        raise NotImplementedError

    def _engine(self, train: NDArray[Any], validation: NDArray[Any]) -> Engine:
        raise NotImplementedError

    def _finished(self, engine: Any, n_trees: int) -> Any:
        raise NotImplementedError

    def _margin(self, matrix: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags
