"""The base model of every method in known_truth.py and real_data.py: XGBoost, stopped early.

Both interpreters import this file, that of the project and that of the peers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Floats = NDArray[np.float64]

#: The paper's hyper-parameters, for every method that boosts.
ETA, DEPTH, PATIENCE, HELD_OUT = 0.1, 2, 20, 0.33
PARAMS: dict[str, Any] = {
    "objective": "binary:logistic", "base_score": 0.5, "eta": ETA, "max_depth": DEPTH,
    "nthread": 1,
}  # fmt: skip


class Booster(ClassifierMixin, BaseEstimator):
    """Plain XGBoost, stopped early on the held-out rows: the base model of every method.

    `held` marks the rows to stop by; None draws a third of them.
    """

    def __init__(self, held: Any = None) -> None:
        self.held = held

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Booster:
        """Grow trees until the held-out log-loss has stalled."""
        X, labels = np.asarray(X), np.asarray(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        held = self.held
        if held is None:
            # A stream of its own: default_rng(0) alone repeats the numbers that drew z of a world.
            held = np.random.default_rng([0, 1]).random(len(X)) < HELD_OUT
        train, stop = matrices(X, codes, weights, held)
        self.booster_ = xgboost.train(
            {**PARAMS, "eval_metric": "logloss"}, train, 10_000, evals=[(stop, "stop")],
            early_stopping_rounds=PATIENCE, verbose_eval=False,
        )  # fmt: skip
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes."""
        p = scores(self.booster_, np.asarray(X))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)])


def matrices(X: Floats, y: Floats, weights: Floats, held: Any) -> tuple[Any, Any]:
    """Return training and held-out rows as XGBoost wants them."""
    train = xgboost.QuantileDMatrix(X[~held], y[~held], weight=weights[~held], nthread=1)
    stop = xgboost.QuantileDMatrix(
        X[held], y[held], weight=weights[held], ref=train, nthread=1
    )  # fmt: skip
    return train, stop


def scores(booster: Any, X: Floats) -> Floats:
    """Return the probabilities of a booster's best state."""
    rows = xgboost.DMatrix(X, nthread=1)
    best = (0, booster.best_iteration + 1)
    return np.asarray(booster.predict(rows, iteration_range=best), dtype=np.float64)
