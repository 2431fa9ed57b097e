"""What the boosted-tree classifiers share: roles, hold-out, schedule, history."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ..core import Losses, Objective, Schedule, Step
from ..core.fused import BOOSTING_CURVATURES, FusedDerivatives
from ..core.schedule import Run
from ..criteria import choose_strength
from ..roles import Floats
from .margins import show_steps
from .objectives import check_learning_rate
from .rows import Rows
from .scheduled import ScheduledClassifier

Derivatives = Callable[[NDArray[Any]], tuple[NDArray[np.float32], NDArray[np.float32]]]


class InexactForkError(Exception):
    """A copy of an engine does not stand, to the bit, where the engine does."""


class Engine(Protocol):
    """A boosting library with its training and validation rows, one tree at a time."""

    @property
    def n_trees(self) -> int:
        """How many rounds left a tree."""

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree from the derivatives at the present training margin."""

    def validation_margin(self) -> NDArray[Any]:
        """Return the margin of the validation rows."""

    def fork(self) -> Engine:
        """Return another engine with the same rows and trees, or raise `InexactForkError`."""


@dataclass
class Boosting:
    """An engine as a schedule drives it, with the history of its rounds.

    ``measure`` returns both losses and the statistics at a validation margin that does not lie in
    memory, on a device for instance; by default ``validation`` itself does.
    """

    engine: Engine
    derivatives: FusedDerivatives
    validation: Objective
    rounds: int = 0
    history: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    measure: Callable[[Any], tuple[Losses, Floats]] | None = None

    def step(self, strength: float) -> None:
        """Grow one tree at this λ."""
        self.engine.boost(lambda margin: self.derivatives(margin, strength))
        self.rounds += 1
        if self.validation.penalty.names:
            penalty = self.derivatives.objective.penalty
            statistics = self.derivatives.statistics
            value = penalty.distance.value(statistics)
            self._record("train", penalty.names, statistics, penalty=value)

    def evaluate(self) -> Losses:
        """Return both losses on the validation rows."""
        measure = self._measure if self.measure is None else self.measure
        losses, statistics = measure(self.engine.validation_margin())
        more = {"log_loss": losses.utility}
        if not self.validation.is_plain:
            more[self.validation.fairness_name] = losses.penalty
        self._record("validation", self.validation.penalty.names, statistics, **more)
        return losses

    def _measure(self, margin: NDArray[Any]) -> tuple[Losses, Floats]:
        margin = np.asarray(margin, dtype=np.float64)
        return self.validation.losses(margin), self.validation.penalty.statistics(expit(margin))

    def snapshot(self) -> int:
        """Return the number of trees."""
        return self.engine.n_trees

    def fork(self) -> Boosting:
        """Return another in the same state; the two must take turns."""
        return replace(
            self,
            engine=self.engine.fork(),
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


class BoostedClassifier(ScheduledClassifier):
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
        strength: float | None = None,
        *,
        params: dict[str, Any] | None = None,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        curvature: str = "adaptive",
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
        chosen = [choose_strength(self._criterion(), strength) for strength in strengths]
        return map(path.fit, chosen)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row."""
        check_is_fitted(self)
        return np.asarray(self._margin(self._read(X)[1]), dtype=np.float64)

    @property
    def feature_importances_(self) -> Floats:
        """Each column's share of what all splits gained."""
        check_is_fitted(self)
        gains = self._gains()
        return gains / gains.sum() if gains.any() else gains

    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, eval_set: Any
    ) -> Self:
        return self._train(self._start(X, y, sensitive_features, sample_weight, eval_set))

    def _train(self, boosting: Boosting) -> Self:
        """Drive the rounds by the schedule, and keep the best state."""
        schedule = Schedule() if self.schedule is None else self.schedule
        with threadpool_limits(1, user_api="blas"):  # BLAS threads would fight the engine's
            drive = schedule.run if boosting.validation.shift is None else schedule.run_directly
            self._keep(boosting, drive(boosting, self.strength_, self._on_step()))
        return self

    def _start(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, eval_set: Any
    ) -> Boosting:
        """Check every input, fit the criterion, and put the rows before the first tree."""
        self._check_settings()
        return self._boosting(*self._rows(X, y, sensitive_features, sample_weight, eval_set))

    def _boosting(self, train: Rows, validation: Rows) -> Boosting:
        """Return the rows with engine and objective, before the first tree."""
        derivatives = FusedDerivatives(train.objective(), self.curvature, self._learning_rate())
        engine = self._engine(train.matrix, validation.matrix, train.sample_weight)
        return Boosting(engine, derivatives, validation.objective())

    def _keep(self, boosting: Boosting, run: Run) -> None:
        """Keep the best state and the history of a run."""
        if self.progress:
            print(file=sys.stderr)
        self.best_iteration_ = max(1, run.best_state)
        self.n_rounds_ = boosting.rounds
        self.evals_result_ = boosting.history
        self.booster_ = self._finished(boosting.engine, self.best_iteration_)

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.curvature not in BOOSTING_CURVATURES:
            raise ValueError(
                f"unknown curvature {self.curvature!r}; choose from "
                f"{', '.join(BOOSTING_CURVATURES)}"
            )
        self._check_params()

    def _check_params(self) -> None:
        if not isinstance(self.params, dict | None):
            raise TypeError(
                f"params must be a dict of the engine's parameters; got {self.params!r}"
            )
        given = self.params or {}
        refused = [name for name in given if name in self._refused_params]
        if refused:
            raise ValueError(
                f"params[{refused[0]!r}] is not yours to set: {self._refused_params[refused[0]]}"
            )
        rates = [name for name in self._learning_rate_names if name in given]
        if len(rates) > 1:
            raise ValueError(f"params has the learning rate twice, as {' and '.join(rates)}")
        self._learning_rate()

    def _learning_rate(self) -> float:
        """Return η as the engine will use it."""
        for name in self._learning_rate_names:
            if name in (self.params or {}):
                return check_learning_rate((self.params or {})[name], f"params[{name!r}]")
        return self._default_learning_rate

    def _on_step(self) -> Callable[[Step], None] | None:
        return show_steps(self.callback, progress=self.progress, unit="round")

    @abstractmethod
    def _engine(
        self, train: NDArray[Any], validation: NDArray[Any], weights: Floats | None
    ) -> Engine:
        """Return the engine with its rows, before the first tree."""

    @abstractmethod
    def _why_not_shared(self) -> str | None:
        """Return why a fork of the engine would grow other trees, or None if it would not."""

    @abstractmethod
    def _finished(self, engine: Any, n_trees: int) -> Any:
        """Return the engine's own model, cut after this many trees."""

    @abstractmethod
    def _margin(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return the finished model's margin."""

    @abstractmethod
    def _gains(self) -> Floats:
        """Return what the splits on each column gained."""
