"""A model read from its folder."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Floats
from ..core import Loss
from ..outcome import number_loss
from ..tables import EngineTable
from .engine import Engine
from .features import Feature, align, count_unseen, fill_numbers, one_hot
from .lightgbm import LIGHTGBM
from .margins import class_probabilities
from .regression import for_exposure
from .row_fingerprint import RowFingerprint
from .xgboost import XGBOOST

#: Name → the engine that grows the trees.
BOOSTERS: dict[str, Engine] = {engine.name: engine for engine in (XGBOOST, LIGHTGBM)}


@dataclass(frozen=True, kw_only=True)
class SavedModel:
    """A model read from its folder; it needs the features, but not the sensitive attribute.

    Parameters
    ----------
    card : dict
        The content of ``card.json``.
    features : tuple of Feature
        The columns of the model, in order.
    booster : optional
        The engine's own model, or None for a linear one.
    coefficients, intercept
        The weights of a linear model, one per column of `one_hot` and per marked feature.
    fill : dict
        What replaces a missing number of each feature; empty if it was trained without any.
    marked : tuple of str
        The features that had missing numbers in training.
    training_rows : RowFingerprint or None
        Knows the rows of the training again; None in a folder without it.
    """

    card: dict[str, Any]
    features: tuple[Feature, ...]
    booster: Any = None
    coefficients: Floats | None = field(default=None, repr=False)
    intercept: float | Floats = 0.0
    fill: dict[str, float] = field(default_factory=dict)
    marked: tuple[str, ...] = ()
    training_rows: RowFingerprint | None = None

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, in the order of `classes`.

        Columns of a frame are matched by name: there may be others, in any order. An array must
        have the features in their order.
        """
        if self.loss is not None:
            raise TypeError("the model is one of numbers, not of classes; call predict(X)")
        return class_probabilities(self.decision_function(X))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes where there are more than two; else empty."""
        return tuple(self.card.get("classes", ()))

    @property
    def loss(self) -> Loss | None:
        """The loss of a model of numbers; None for a classifier."""
        return stored_loss(self.card)

    def predict(self, X: Any, exposure: Any = None) -> Floats:
        """Return the mean of each row, where the model is one of numbers.

        It is per unit of exposure, or for the exposure if that is given.
        """
        if self.loss is None:
            raise TypeError("the model is a classifier; call predict_proba(X)")
        return for_exposure(np.asarray(self.loss.mean(self.decision_function(X))[0]), exposure)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin of each row: log-odds, or of numbers the mean or its logarithm.

        Of more than two classes there is a column for each.
        """
        frame = align(X, self.features)
        if self.coefficients is not None:
            matrix = self._columns_of(frame)
            return np.asarray(matrix @ self.coefficients + self.intercept)
        levels = {each.name: each.levels for each in self.features if each.kind == "category"}
        table = EngineTable(tuple(each.name for each in self.features), levels)
        margin = BOOSTERS[self.card["engine"]].margin(self.booster, table.code(frame))
        return np.asarray(margin, dtype=np.float64)

    def _columns_of(self, frame: Any) -> Floats:
        """Return the columns that a linear model weighs."""
        if not self.fill:
            return one_hot(frame, self.features)[0]
        return fill_numbers(frame, self.features, self.fill, self.marked)

    def share_trained_on(self, X: Any) -> float:
        """Return which share of the rows the model was trained on, NaN where it cannot tell."""
        if self.training_rows is None:
            return math.nan
        frame = align(X, self.features)
        if self.coefficients is not None:  # it was fitted on these columns
            frame = one_hot(frame, self.features, keep_missing=True)[0]
        return self.training_rows.share_of(frame)

    def unseen(self, X: Any) -> dict[str, int]:
        """Return the number of rows with a level that was not in the training rows, by column."""
        return count_unseen(align(X, self.features), self.features)


def stored_loss(card: dict[str, Any]) -> Loss | None:
    """Return the loss of the numbers that the model of a card predicts; None for a classifier.

    Examples
    --------
    >>> stored_loss({"outcome": {"loss": "tweedie", "power": 1.7}})
    Tweedie(power=1.7)
    """
    outcome = card.get("outcome")
    return None if outcome is None else number_loss(outcome["loss"], outcome["power"] or 1.5)
