"""Many strengths of one estimator on the same rows, with the work they have in common done once."""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..core import Schedule, Step
from ..roles import Floats
from .boosting import BoostedClassifier, Boosting, InexactForkError
from .logistic import FairLogisticRegression

#: Warm starts stay within these quarters of the strengths, so that they do not depend on how many
#: strengths there are in all, or on how they are spread over workers.
QUARTERS = (0.25, 0.5, 0.75)


class Path(Protocol):
    """An estimator with its rows, waiting for strengths."""

    #: What could not be shared between strengths, and why.
    note: str | None

    def fit(self, strength: float) -> Any:
        """Return the estimator fitted at this strength."""


class BoostedPath:
    """A booster with its rows: the models are those of independent fits, to the bit.

    Strengths above the schedule's ``pretrain_strength`` start from one pre-training, forked for
    each, as long as the fork stands where the pre-training ended and nothing is drawn at random.
    """

    def __init__(
        self,
        model: BoostedClassifier,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
    ) -> None:
        self._model = copy(model)
        self._model.strength = None  # one of 0 would spare the criterion, which others need
        self._schedule = Schedule() if model.schedule is None else model.schedule
        self._start = self._model._start(X, y, sensitive_features, sample_weight, eval_set)
        self._pretrained: tuple[Boosting, tuple[Step, ...]] | None = None
        self._direct = self._start.validation.shift is not None
        reason = None if self._direct else self._model._why_not_shared()
        self.note = None if reason is None else f"pre-training is not shared: {reason}"

    def fit(self, strength: float) -> BoostedClassifier:
        """Return the classifier fitted at this strength."""
        model = copy(self._model)
        model.strength = model.strength_ = float(strength)
        with threadpool_limits(1, user_api="blas"):
            model._keep(*self._run(model, model.strength_))
        return model

    def _run(self, model: BoostedClassifier, strength: float) -> tuple[Boosting, Any]:
        on_step = model._on_step()
        if self._direct:
            boosting = self._start.fork()
            return boosting, self._schedule.run_directly(boosting, strength, on_step)
        boosting, steps = self._pretrain(strength, on_step)
        return boosting, self._schedule.finish(boosting, strength, steps, on_step)

    def _pretrain(self, strength: float, on_step: Any) -> tuple[Boosting, tuple[Step, ...]]:
        if self.note is None and strength > self._schedule.pretrain_strength:
            try:
                return self._fork(strength, on_step)
            except InexactForkError as error:
                self.note, self._pretrained = f"pre-training is not shared: {error}", None
        boosting = self._start.fork()
        return boosting, self._schedule.pretrain(boosting, strength, on_step)

    def _fork(self, strength: float, on_step: Any) -> tuple[Boosting, tuple[Step, ...]]:
        if self._pretrained is None:
            boosting = self._start.fork()
            self._pretrained = boosting, self._schedule.pretrain(boosting, strength, on_step)
        boosting, steps = self._pretrained
        return boosting.fork(), steps


class LinearPath:
    """A logistic regression with its rows: each strength starts from a smaller one's weights."""

    note: str | None = None

    def __init__(
        self,
        model: FairLogisticRegression,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any = None,
    ) -> None:
        self._model = copy(model)
        self._model.strength = None  # one of 0 would spare the criterion, which others need
        self._problem = self._model._problem(X, y, sensitive_features, sample_weight)
        self._weights: dict[float, Floats] = {}
        self.warm = True

    def know(self, strength: float, coefficients: Floats, intercept: float) -> None:
        """Take in a model that was fitted before, for others to start from."""
        self._weights[strength] = np.append(coefficients, intercept)

    def fit(self, strength: float) -> FairLogisticRegression:
        """Return the regression fitted at this strength."""
        model = copy(self._model)
        model.strength = model.strength_ = float(strength)
        below = [known for known in self._weights if known < strength and _same(known, strength)]
        start = self._weights[max(below)] if below and self.warm else None
        self._weights[strength] = model._minimize(self._problem, start)
        return model


class PlainPath:
    """Any other estimator with a ``strength``: every fit starts anew."""

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
    """Return the path of an estimator on these rows; ``eval_set`` is for boosters alone."""
    rows = X, y, sensitive_features, sample_weight
    if isinstance(model, BoostedClassifier):
        return BoostedPath(model, *rows, eval_set)
    if isinstance(model, FairLogisticRegression):
        return LinearPath(model, *rows)
    return PlainPath(model, *rows)


def _same(first: float, second: float) -> bool:
    """Return whether two strengths lie in the same quarter."""
    return int(np.searchsorted(QUARTERS, first, "right")) == int(
        np.searchsorted(QUARTERS, second, "right")
    )
