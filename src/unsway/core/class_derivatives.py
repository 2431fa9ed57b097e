"""The derivatives of labels of several classes for boosters: float32, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .derivatives import BoostingDerivatives, Singles


class ClassDerivatives(BoostingDerivatives):
    """Gradient and diagonal curvature of W·f at margins with a column for each class.

    ::

        gradient  = w·(p − t),   t = y + λd
        curvature = w·2p(1 − p)

    There is no penalty, so that the choice of a curvature is without effect.

    Parameters
    ----------
    objective : Objective
        What is minimised, of `MultinomialLogLoss`; each call brings its own strength.
    curvature, learning_rate
        As in `BoostingDerivatives`.

    Examples
    --------
    >>> from unsway.core import MultinomialLogLoss, Objective
    >>> objective = Objective(MultinomialLogLoss(), np.array([[1.0, 0.0, 0.0, 0.0]]))
    >>> gradient, curvature = ClassDerivatives(objective)(np.zeros((1, 4), np.float32), 0.0)
    >>> gradient.tolist(), curvature.tolist()
    ([[-0.75, 0.25, 0.25, 0.25]], [[0.375, 0.375, 0.375, 0.375]])
    """

    def _prepare(self) -> None:
        """Make the buffers that every call fills."""
        self._scores, self._density, self._gradient, self._curvature = (
            np.empty(self._target.shape, dtype=np.float32) for _ in range(4)
        )

    def _sums(self, margin: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Fill p and p(1−p); there is nothing to sum."""
        for rows in self._blocks():
            self.objective.loss.fill_mean(margin[rows], self._scores[rows], self._density[rows])
        return np.zeros(0), np.zeros(0)

    def _combine(self, rows: slice, slope: Singles, shares: Singles, strength: float) -> None:
        """Fill gradient and curvature of a block."""
        gradient, curvature = self._gradient[rows], self._curvature[rows]
        np.subtract(self._scores[rows], self._target[rows], out=gradient)
        if self._shift is not None:
            gradient -= np.float32(strength) * self._shift[rows]
        curvature[:] = self.objective.loss.curvature(self._scores[rows], self._density[rows])
        if self._weights is not None:
            gradient *= self._weights[rows, None]
            curvature *= self._weights[rows, None]
