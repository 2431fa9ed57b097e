"""Boosted trees that a schedule drives, whatever engine grows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._typing import Floats
from ..checks import check_choice
from ..core import Losses, Objective, Schedule, Step
from ..core.class_derivatives import ClassDerivatives
from ..core.derivatives import BOOSTING_CURVATURES, BoostingDerivatives
from ..core.schedule import Run
from ..criteria import choose_strength
from ..grouping import Grouping
from .engine import BoosterSettings, Engine, Grower, params_of, refuse_unknown, without_unknown
from .labels import criterion_of, takes_classes
from .margins import class_probabilities, likelier_class, show_steps
from .nuisances import EngineFitting
from .objectives import check_learning_rate
from .row_fingerprint import share_trained_on
from .second_model import train_twice
from .summary import summary
from .training import (
    Part,
    check_settings,
    drive,
    prepare,
    read_table,
    refit,
    revision,
    rows_with_levels,
    strength_of,
)


class Measure(Protocol):
    """What measures margins of validation rows that are not in memory."""

    objective: Objective

    def __call__(self, margin: Any) -> tuple[Losses, Floats]:
        """Return both losses and the statistics."""

    def against(self, objective: Objective) -> Measure:
        """Return one of the same rows by another objective."""


@dataclass
class Boosting:
    """A booster as a schedule drives it, with the history of its rounds.

    ``measure`` returns both losses and the statistics at a validation margin that is not in
    memory, on a device for instance; by default ``validation`` itself does. ``revise`` returns the
    objectives of a second model on the training and on the held-out rows, given the first one's
    validation margin, or None to keep the first. ``place`` is entered while the rounds are driven.
    ``kept`` says which it is of the models trained: the only one, or the first or second of two.
    """

    grower: Grower
    derivatives: BoostingDerivatives
    validation: Objective
    rounds: int = 0
    history: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    measure: Measure | None = None
    revise: Callable[[Floats], tuple[Objective, Objective] | None] | None = None
    place: AbstractContextManager[Any] = field(default_factory=nullcontext)
    kept: str = "only"

    def step(self, strength: float) -> None:
        """Grow one tree at this λ."""
        self.grower.boost(lambda margin: self.derivatives(margin, strength))
        self.rounds += 1
        penalty = self.derivatives.objective.penalty
        if penalty.names:
            statistics = self.derivatives.statistics
            value = penalty.distance.value(statistics)
            self._record("train", penalty.names, statistics, penalty=value)

    def restart(self, objective: Objective, validation: Objective) -> Boosting:
        """Return another on the same rows before its first round, with other objectives."""
        old = self.derivatives
        measure = None if self.measure is None else self.measure.against(validation)
        return replace(
            self,
            grower=self.grower.restart(),
            derivatives=type(old)(objective, old.curvature, old.learning_rate),
            validation=validation if measure is None else measure.objective,
            measure=measure,
            rounds=0,
            history={},
        )

    def count_rows(self) -> int:
        """Return the number of training rows of all workers."""
        objective = self.derivatives.objective
        return int(objective.penalty.reduce(np.array([float(len(objective.target))]))[0])

    def losses_of(self, other: Boosting, n_trees: int) -> Losses:
        """Return the losses that the first trees of another have on these validation rows."""
        return self._measured(other.grower.validation_margin(n_trees))[0]

    def evaluate(self) -> Losses:
        """Return both losses on the validation rows."""
        losses, statistics = self._measured(self.grower.validation_margin())
        named = {self.validation.loss.name: losses.utility}
        if not self.validation.is_plain:
            named[self.validation.fairness_name] = losses.penalty
        self._record("validation", self.validation.penalty.names, statistics, **named)
        return losses

    def _measured(self, margin: Any) -> tuple[Losses, Floats]:
        if self.measure is not None:
            return self.measure(margin)
        margin, penalty = np.asarray(margin, dtype=np.float64), self.validation.penalty
        losses = self.validation.losses(margin)
        if not penalty.names:
            return losses, np.empty(0)
        return losses, penalty.statistics(self.validation.loss.mean(margin)[0])

    def snapshot(self) -> int:
        """Return the number of trees."""
        return self.grower.n_trees

    def fork(self) -> Boosting:
        """Return another in the same state; the two must take turns."""
        return replace(
            self,
            grower=self.grower.fork(),
            derivatives=self.derivatives.fork(),
            history=deepcopy(self.history),
        )

    def _record(self, rows: str, names: tuple[str, ...], statistics: Floats, **more: float) -> None:
        values = {**more, **dict(zip(names, statistics, strict=True))}
        history = self.history.setdefault(rows, {})
        for name, value in values.items():
            series = history.setdefault(name, [])
            if len(series) < self.rounds:  # a schedule also looks between rounds
                series.append(float(value))


def margins_of(model: Any, X: Any) -> Floats:
    """Return the margins of a fitted booster at each row of a table."""
    check_is_fitted(model)
    table = model.table_.code(read_table(model, X, reset=False))
    return np.asarray(model.engine.margin(model.booster_, table, model.n_jobs), dtype=np.float64)


def importances(model: Any) -> Floats:
    """Each column's share of what all splits gained."""
    check_is_fitted(model)
    gains = model.engine.gains(model.booster_, model.n_features_in_)
    return np.asarray(gains / gains.sum() if gains.any() else gains)


class BoostedClassifier(ClassifierMixin, BaseEstimator):
    """Boosted trees on fair targets, or with (1−λ)·log-loss + λ·penalty to minimise.

    See `FairXGBClassifier` for the parameters; ``engine`` says how trees are grown.
    """

    engine: ClassVar[Engine]

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        params: dict[str, Any] | None = None,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        curvature: str = "adaptive",
        groups: Grouping | None = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown(self, unknown)
        self.criterion = criterion
        self.strength = strength
        self.params = params
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.curvature = curvature
        self.groups = groups
        self.callback = callback
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs

    #: What tools see: `refuse_unknown` answers what is none of these.
    __signature__ = without_unknown(__init__)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        adjust_for: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on covariates X, labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Covariates, without the sensitive attribute; with NaN and categories as they are.
        y : column of length n_samples
            Labels of two classes or more; penalties need two.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.
        eval_set : tuple (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight)
            Rows to stop early by; a stratified part of the training rows by default.

        Returns
        -------
        self
            The fitted classifier.
        """

        def fit(model: Self) -> None:
            check_booster(model)
            given = (X, y, sensitive_features, sample_weight, eval_set)
            parts = prepare_booster(model, *given, model.strength_, adjust_for=adjust_for)
            train_booster(model, start(model, *parts))

        return refit(self, fit)

    def fit_path(
        self,
        X: Any,
        y: Any,
        strengths: Sequence[float],
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Iterator[Self]:
        """Yield a fitted model per strength, each the very one that ``fit`` gives.

        The criterion is fitted and the rows are checked and quantised once, and strengths above the
        schedule's ``pretrain_strength`` share their pre-training, unless the engine draws at
        random: the state of its generator cannot be copied. Parameters are those of ``fit``;
        ``strengths`` takes the place of ``strength``.
        """
        from .path import BoostedPath

        path = BoostedPath(self, X, y, sensitive_features, sample_weight, eval_set)
        chosen = [choose_strength(criterion_of(self), strength) for strength in strengths]
        return map(path.fit, chosen)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row, or of more than two classes a column for each."""
        return margins_of(self, X)

    share_trained_on = share_trained_on
    summary = summary

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return class_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        return likelier_class(self.decision_function(X), self.classes_)

    feature_importances_ = property(importances)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_classes(self)
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def derivatives_of(
    objective: Objective, curvature: str, learning_rate: float
) -> BoostingDerivatives:
    """Return the derivatives of an objective, of one margin or of one for each class."""
    kind = ClassDerivatives if objective.loss.link == "softmax" else BoostingDerivatives
    return kind(objective, curvature, learning_rate)


def check_booster(model: Any) -> None:
    """Check every setting of a booster before any work, and note its strength on it."""
    params, engine = model.params, model.engine
    engine.require(params if isinstance(params, dict) else {})
    check_settings(model)
    model.strength_ = strength_of(model)
    check_choice(model.curvature, "curvature", BOOSTING_CURVATURES)
    if not isinstance(params, dict | None):
        raise TypeError(f"params must be a dict of the engine's parameters; got {params!r}")
    model.params_ = dict(params_of(model))
    given = params or {}
    refused = next((name for name in given if name in engine.refused_params), None)
    if refused is not None:
        raise ValueError(
            f"params[{refused!r}] is not yours to set: {engine.refused_params[refused]}"
        )
    rates = [name for name in engine.learning_rate_names if name in given]
    if len(rates) > 1:
        raise ValueError(f"params has the learning rate twice, as {' and '.join(rates)}")
    learning_rate(model)
    engine.check_params(given)


def learning_rate(model: Any) -> float:
    """Return η as the engine will use it."""
    for name in model.engine.learning_rate_names:
        if name in params_of(model):
            return check_learning_rate(params_of(model)[name], f"params[{name!r}]")
    return model.engine.default_learning_rate


def prepare_booster(model: Any, *given: Any, **beside: Any) -> tuple[Part, Part]:
    """Check what a booster is fitted on, and fit its criterion with trees of the same engine.

    ``given`` is X, y, the sensitive attribute, weights, eval_set and the strength; ``beside`` may
    have the exposure and the columns to adjust for.
    """
    fitting = nuisance_fitting(model)
    train, validation = prepare(model, *given, **beside, fitting=fitting)
    n_classes = train.rows.outcome.n_classes
    if n_classes:
        outcome = replace(train.rows.outcome, loss=model.engine.class_loss(n_classes))
        train = replace(train, rows=replace(train.rows, outcome=outcome))
    # What the nuisances have binned serves the final model unless only some rows taught them.
    placed = fitting.placed if rows_with_levels(train.rows) is None else None
    return replace(train, placed=placed), validation


def nuisance_fitting(model: Any) -> EngineFitting:
    """Return how a booster's nuisances are trained: by its engine, on its device."""
    settings = BoosterSettings.of(model)
    device = {name: settings.params[name] for name in ("device",) if name in settings.params}
    return EngineFitting(model.engine, replace(settings, params=device), final=settings)


def start(model: Any, train: Part, validation: Part) -> Boosting:
    """Return rows, booster and objective of an estimator before the first tree."""
    settings = BoosterSettings.of(model)
    boosting = model.engine.start(settings, learning_rate(model), train, validation)
    return replace(boosting, revise=revision(train, validation))


def train_booster(model: Any, boosting: Boosting) -> None:
    """Drive the rounds by the schedule, and keep the best state on the estimator."""

    def train(boosting: Boosting, schedule: Schedule) -> Run:
        return drive(schedule, boosting, boosting.validation, model.strength_, on_step(model))

    schedule = Schedule() if model.schedule is None else model.schedule
    # BLAS threads would fight the engine's.
    with threadpool_limits(1, user_api="blas"), boosting.place:
        keep_best(model, *train_twice(boosting, schedule, train, model.strength_))


def keep_best(model: Any, boosting: Boosting, run: Run) -> None:
    """Keep the best state and the history of a run on the estimator."""
    if model.progress:
        print(file=sys.stderr)
    model.best_iteration_ = max(1, run.best_state)
    model.n_rounds_, model.kept_ = boosting.rounds, boosting.kept
    model.evals_result_ = boosting.history
    model.booster_ = model.engine.finish(boosting.grower, model.best_iteration_, model.n_jobs)


def on_step(model: Any) -> Callable[[Step], None] | None:
    """Return what an estimator wants called after each round."""
    return show_steps(model.callback, progress=model.progress, unit="round")
