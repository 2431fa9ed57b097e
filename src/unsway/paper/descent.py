"""The paper's own way to train logistic regression: gradient descent, stopped early twice.

It starts from a plain fit and follows the gradient of the whole objective under the double early
stopping. `FairLogisticRegression` minimises the same objective to the end; this module shows how
far from there the procedure stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from .. import FairLogisticRegression, Objective, Schedule
from .._typing import Floats
from ..core import Losses
from ..datasets import SyntheticData
from ..rows import Rows


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Where gradient descent stopped, compared with the minimum over the same rows."""

    criterion: str
    strength: float
    steps: int
    objective: float
    optimum: float
    coefficient_error: float

    @property
    def excess(self) -> float:
        """How much higher than its minimum the objective was left, relative to the minimum."""
        return self.objective / self.optimum - 1


@dataclass
class GradientDescent:
    """A linear model trained by full-batch gradient descent, as a schedule drives it."""

    X: Floats
    objective: Objective
    X_stop: Floats
    objective_stop: Objective
    weights: Floats
    learning_rate: float

    def step(self, strength: float) -> None:
        """Take one step down the gradient of the objective at this λ."""
        objective = self.objective.at(strength)
        rows = objective.expand(self._margin(self.X)).gradient / objective.total_weight
        self.weights = self.weights - self.learning_rate * np.append(self.X.T @ rows, rows.sum())

    def evaluate(self) -> Losses:
        """Return the losses on the early-stopping rows."""
        return self.objective_stop.losses(self._margin(self.X_stop))

    def snapshot(self) -> Floats:
        """Return the weights."""
        return self.weights.copy()

    def losses(self) -> Losses:
        """Return the losses on the training rows."""
        return self.objective.losses(self._margin(self.X))

    def _margin(self, X: Floats) -> Floats:
        return X @ self.weights[:-1] + self.weights[-1]


def descend(
    name: str,
    criterion: Any,
    strength: float,
    data: SyntheticData,
    *,
    schedule: Schedule = Schedule(max_steps=2_000),  # noqa: B008  (frozen)
    learning_rate: float = 0.5,
    most_rows: int = 20_000,
) -> Descent:
    """Follow the paper's procedure at one strength and compare it with the minimum.

    The first `most_rows` rows are used: a third of them decides when to stop, and the minimum is
    over the other two thirds.
    """
    X, y, z = data.X[:most_rows], data.y[:most_rows] * 1.0, data.z[:most_rows] * 1.0
    train, stop = train_test_split(np.arange(len(y)), test_size=0.33, random_state=0, stratify=y)
    rows = Rows.check(X, y, sensitive_features=z)
    parts = {
        key: criterion.take(chosen).objective(rows.take(chosen)).at(strength)
        for key, chosen in (("train", train), ("stop", stop))
    }
    plain = LogisticRegression(C=np.inf, solver="newton-cholesky").fit(X[train], y[train])
    start = np.append(plain.coef_[0], plain.intercept_)
    model = GradientDescent(X[train], parts["train"], X[stop], parts["stop"], start, learning_rate)
    run = schedule.run(model, strength)
    stopped = replace(model, weights=run.best_state)
    optimum = FairLogisticRegression(criterion.take(train), strength)
    optimum.fit(X[train], y[train], sensitive_features=z[train])
    return Descent(
        criterion=name,
        strength=strength,
        steps=len(run.steps),
        objective=stopped.losses().whole(strength),
        optimum=Losses(optimum.log_loss_, optimum.penalty_).whole(strength),
        coefficient_error=float(abs(stopped.weights[:-1] - optimum.coef_[0]).max()),
    )
