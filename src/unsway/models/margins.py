"""From margins to classes: what every classifier here that has a margin shares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin

from ..core import Step
from ..roles import Floats


class MarginClassifier(ClassifierMixin):
    """Two classes told apart by the sign of ``decision_function``, the margin s."""

    classes_: NDArray[Any]
    decision_function: Callable[[Any], Floats]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes for each row."""
        margin = self.decision_function(X)
        return np.column_stack([expit(-margin), expit(margin)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class of each row."""
        margin = self.decision_function(X)
        return np.asarray(self.classes_[(margin > 0).astype(int)])


def show_steps(
    callback: Callable[[Step], None] | None, *, progress: bool, unit: str
) -> Callable[[Step], None] | None:
    """Return what to call after each step: the callback, after a line on standard error."""
    if not progress:
        return callback

    def show(step: Step) -> None:
        print(
            f"\r{unit} {step.number}, {step.phase} at λ={step.strength:.3f}: log-loss "
            f"{step.losses.utility:.4f}, fairness {step.losses.penalty:.5f} ",
            end="",
            file=sys.stderr,
        )
        if callback is not None:
            callback(step)

    return show
