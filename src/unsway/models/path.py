"""Many strengths of one estimator on the same rows, with the common work done once."""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from .._typing import Floats
from ..core import Schedule, Step
from ..core.schedule import Run
from .boosted_regressor import BoostedRegressor, train_regressor
from .boosting import (
    BoostedClassifier,
    Boosting,
    check_booster,
    keep_best,
    on_step,
    prepare_booster,
    start,
)
from .engine import InexactForkError
from .logistic import FairLogisticRegression, minimize, state_problem
from .second_model import train_twice

#: Warm starts stay within these quarters of the strengths, so that they do not depend on the number
#: of strengths, or on their distribution over workers.
QUARTERS = (0.25, 0.5, 0.75)


class Path(Protocol):
    """An estimator with its rows, to be fitted at many strengths."""

    #: What could not be shared between strengths, and why.
    note: str | None

    def fit(self, strength: float) -> Any:
        """Return the estimator fitted at this strength."""


class BoostedPath:
    """A booster with its rows: the models equal those of independent fits, to the bit.

    Strengths above the schedule's ``pretrain_strength`` share one pre-training, of which each gets
    a copy, provided that the copy is exact and nothing is random.

    Parameters
    ----------
    model : BoostedClassifier
        The booster; its own strength is not used.
    X, y, z, weights, eval_set
        The rows, as in its ``fit``; weights and eval_set may be None.
    """

    def __init__(
        self, model: BoostedClassifier, X: Any, y: Any, z: Any, weights: Any, eval_set: Any
    ) -> None:
        self._model = copy(model)
        self._schedule = Schedule() if model.schedule is None else model.schedule
        check_booster(self._model)
        parts = prepare_booster(self._model, X, y, z, weights, eval_set, None)
        self._start = start(self._model, *parts)
        self._pretrained: tuple[Boosting, tuple[Step, ...]] | None = None
        self._direct = self._start.validation.shift is not None
        reason = None if self._direct else model.engine.why_not_shared(model.params or {})
        self.note = None if reason is None else f"pre-training is not shared: {reason}"

    def fit(self, strength: float) -> BoostedClassifier:
        """Return the classifier fitted at this strength."""
        model = copy(self._model)
        model.strength = model.strength_ = float(strength)
        with threadpool_limits(1, user_api="blas"), self._start.place:
            keep_best(model, *self._run(model, model.strength_))
        return model

    def _run(self, model: BoostedClassifier, strength: float) -> tuple[Boosting, Any]:
        show = on_step(model)
        if self._direct:

            def train(boosting: Boosting, schedule: Schedule) -> Run:
                return schedule.run_directly(boosting, strength, show)

            return train_twice(self._start.fork(), self._schedule, train, strength)
        boosting, steps = self._pretrain(strength, show)
        return boosting, self._schedule.finish(boosting, strength, steps, show)

    def _pretrain(self, strength: float, show: Any) -> tuple[Boosting, tuple[Step, ...]]:
        if self.note is None and strength > self._schedule.pretrain_strength:
            try:
                return self._fork(strength, show)
            except InexactForkError as error:
                self.note, self._pretrained = f"pre-training is not shared: {error}", None
        boosting = self._start.fork()
        return boosting, self._schedule.pretrain(boosting, strength, show)

    def _fork(self, strength: float, show: Any) -> tuple[Boosting, tuple[Step, ...]]:
        if self._pretrained is None:
            boosting = self._start.fork()
            self._pretrained = boosting, self._schedule.pretrain(boosting, strength, show)
        boosting, steps = self._pretrained
        return boosting.fork(), steps


class NumbersPath:
    """A booster of numbers with its rows: they are checked, and its criterion fitted, once.

    Parameters
    ----------
    model : BoostedRegressor
        The booster; its own strength is not used.
    X, y, z, weights, eval_set
        The rows, as in its ``fit``; weights and eval_set may be None.
    """

    note: str | None = None

    def __init__(
        self, model: BoostedRegressor, X: Any, y: Any, z: Any, weights: Any, eval_set: Any
    ) -> None:
        self._model = copy(model)
        check_booster(self._model)
        self._parts = prepare_booster(self._model, X, y, z, weights, eval_set, None)
        self._held_out = eval_set is None

    def fit(self, strength: float) -> BoostedRegressor:
        """Return the regressor fitted at this strength."""
        model = copy(self._model)
        model.strength = model.strength_ = float(strength)
        train_regressor(model, self._parts, held_out=self._held_out)
        return model


class LinearPath:
    """A logistic regression with its rows: each strength starts from a smaller one's weights.

    Parameters
    ----------
    model : FairLogisticRegression
        The regression; its own strength is not used.
    X, y, z, weights
        The rows, as in its ``fit``; weights may be None.
    """

    note: str | None = None

    def __init__(self, model: FairLogisticRegression, X: Any, y: Any, z: Any, weights: Any) -> None:
        self._model = copy(model)
        self._problem = state_problem(self._model, X, y, z, weights, strength=None)
        self._weights: dict[float, Floats] = {}
        self.warm = True

    def know(self, strength: float, coefficients: Floats, intercept: float) -> None:
        """Add a model that was fitted before, for others to start from."""
        self._weights[strength] = np.append(coefficients, intercept)

    def fit(self, strength: float) -> FairLogisticRegression:
        """Return the regression fitted at this strength."""
        model = copy(self._model)
        model.strength = model.strength_ = float(strength)
        below = [known for known in self._weights if known < strength]
        near = self.warm and below and _quarter(max(below)) == _quarter(strength)
        start = self._weights[max(below)] if near else None
        self._weights[strength] = minimize(model, self._problem, start)
        return model


class PlainPath:
    """Any other estimator with a ``strength``: every fit is independent."""

    note: str | None = None

    def __init__(
        self, model: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any = None
    ) -> None:
        self._model = model
        self._rows = X, y
        self._options = {"sensitive_features": sensitive_features}
        if sample_weight is not None:
            self._options["sample_weight"] = sample_weight

    def fit(self, strength: float) -> Any:
        """Return a clone fitted at this strength."""
        model = clone(self._model).set_params(strength=strength)
        return model.fit(*self._rows, **self._options)


def strength_path(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    eval_set: Any = None,
) -> Path:
    """Return the path of an estimator on these rows; only boosters use ``eval_set``."""
    rows = X, y, sensitive_features, sample_weight
    if isinstance(model, BoostedClassifier):
        return BoostedPath(model, *rows, eval_set)
    if isinstance(model, BoostedRegressor):
        return NumbersPath(model, *rows, eval_set)
    if isinstance(model, FairLogisticRegression):
        return LinearPath(model, *rows)
    return PlainPath(model, *rows)


def _quarter(strength: float) -> int:
    """Return in which quarter of [0, 1] a strength lies."""
    return int(np.searchsorted(QUARTERS, strength, "right"))
