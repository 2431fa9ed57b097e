"""From margins to classes, and from steps to a line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from .._typing import Floats
from ..core import Step


def class_probabilities(margin: Floats) -> Floats:
    """Return the probabilities of the classes at each margin: one of two classes, or one of each.

    Examples
    --------
    >>> import numpy as np
    >>> class_probabilities(np.zeros(1)).tolist()
    [[0.5, 0.5]]
    """
    if margin.ndim == 2:
        return np.asarray(softmax(margin, axis=1))
    return np.column_stack([expit(-margin), expit(margin)])


def likelier_class(margin: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the most likely class at each margin."""
    if margin.ndim == 2:
        return np.asarray(classes[margin.argmax(axis=1)])
    return np.asarray(classes[(margin > 0).astype(int)])


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
