"""Trees of outcome means of all groups, under losses of numbers."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._typing import Codes, Floats
from ..core import Loss
from .engine import BoosterSettings, Derivatives, Engine, TreeShape


class Placed(Protocol):
    """Rows that trees are grown on."""

    @property
    def engine(self) -> Engine:
        """What grows trees."""

    @property
    def settings(self) -> BoosterSettings:
        """Its threads and its device."""


def grow_parts(
    design: Placed,
    shapes: tuple[TreeShape, ...],
    binned: Any,
    loss: Loss,
    columns: tuple[Floats, Floats | None, Codes | None],
    margin: Floats,
) -> tuple[Any, ...]:
    """Return trees g, and h where groups are given, with the margin m + g(X) + (2z−1)·h(X).

    Parameters
    ----------
    design : Placed
        The engine and its settings.
    shapes : tuple of TreeShape
        Of g and of h.
    binned : engine's matrix
        The rows.
    loss : Loss
        Of the target.
    columns : tuple of arrays
        Target, weights and groups, of which the last two may be None.
    margin : array of shape (n,)
        m, from which they start.
    """
    target, weights, codes = columns
    engine, settings = design.engine, design.settings
    first, margin = engine.grow_by(
        settings, shapes[0], binned, signed_derivatives(loss, target, weights), margin
    )
    if codes is None:
        return (first,)
    sign: Floats = 2.0 * codes.astype(np.float64) - 1
    derivatives = signed_derivatives(loss, target, weights, sign)
    second, _ = engine.grow_by(settings, shapes[1], binned, derivatives, sign * margin)
    return first, second


def signed_derivatives(
    loss: Loss, target: Floats, weights: Floats | None, sign: Floats | None = None
) -> Derivatives:
    """Return gradient and curvature of the loss in a margin that has the sign of its group.

    Examples
    --------
    The loss of 3 at the margin −(−1) = 1 falls with the margin, and rises with its opposite:

    >>> from unsway.core import SquaredError
    >>> derivatives = signed_derivatives(SquaredError(), np.array([3.0]), None, np.array([-1.0]))
    >>> [part.tolist() for part in derivatives(np.array([-1.0]))]
    [[2.0], [1.0]]
    """

    def derivatives(margin: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        reached = margin if sign is None else sign * margin
        mean, slope = loss.mean(reached)
        gradient, curvature = loss.gradient(mean, target), loss.curvature(mean, slope)
        gradient = gradient if sign is None else sign * gradient
        if weights is not None:
            gradient, curvature = weights * gradient, weights * curvature
        return gradient.astype(np.float32), curvature.astype(np.float32)

    return derivatives
