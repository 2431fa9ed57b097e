"""What the noise of fitted outcome models adds to the influence of each row on a mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logit

from .._typing import Codes, Floats
from .nuisance import Nuisances

_FARTHEST = 1e-4  # of a mean from 0 and 1, on the scale of log-odds
_RIDGE = 1.0  # on coefficients of columns with a spread of 1: that of a linear model's default


@dataclass(frozen=True, eq=False)
class ModelNoise:
    """How far rows decide, through the outcome models, what the doubly robust means are.

    Influence functions count the means μ̂ of each level as known. Where a row of another level has
    hardly a counterpart, they are extrapolated, and their noise is most of the error. The models
    are taken for what they would be if each were calibrated on its own level's rows, in log-odds
    (of numbers: in their unit) linear in Φ = [1, logit b̂, μ̂], with b̂ of each level but the first:
    the directions in which weighted levels differ most. A mean in which predictions count by c and
    residuals by k moves with the coefficients of the calibration by G, and the coefficients with a
    row by H⁻¹Φ(y − μ̂)::

        G = E[(c − k)·d·Φ]        H = E[1(z = level)·d·ΦΦᵀ]        d = μ̂(1 − μ̂), of numbers 1

    Where the weights balance the levels in Φ, G is 0 and nothing is added. Propensities in Φ are
    not clipped: where many are, they still tell how far predictions are extrapolated.

    Parameters
    ----------
    functions : array of shape (n, 2·n_levels)
        Φ, its columns centred, with a spread of 1.
    slopes : array of shape (n, n_levels)
        d of each level's model.
    residuals : array of shape (n, n_levels)
        y − μ̂ with the row's weight where the row is of the level, else 0.
    own : array of shape (n, n_levels)
        The row's weight where the row is of the level, else 0.
    ridge : float
        Of the coefficients.
    """

    functions: Floats
    slopes: Floats
    residuals: Floats
    own: Floats
    ridge: float

    @classmethod
    def of(cls, y: Floats, codes: Codes | Floats, weights: Floats, nuisances: Nuisances) -> Self:
        """Return the noise of the outcome models of rows of these levels and nuisances."""
        means, (low, high) = nuisances.outcome, (y.min(), y.max())
        slopes, scale = np.ones_like(means), means
        if np.isin(y, (low, high)).all() and high > low:  # two labels
            inside = np.clip((means - low) / (high - low), _FARTHEST, 1 - _FARTHEST)
            slopes, scale = inside * (1 - inside), logit(inside)
        columns = np.column_stack([logit(_propensities(nuisances)), scale])
        columns = columns - np.average(columns, axis=0, weights=weights)
        spread = np.sqrt(np.average(columns**2, axis=0, weights=weights))
        columns = np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 1e-9)
        own = weights[:, None] * (codes[:, None] == np.arange(means.shape[1]))
        return cls(
            functions=np.column_stack([np.ones_like(y), columns]),
            slopes=slopes,
            residuals=own * (y[:, None] - means),
            own=own,
            ridge=_RIDGE * len(y) / np.count_nonzero(weights),
        )

    def influence(self, level: int, counted: Floats | float, corrected: Floats) -> Floats:
        """Return what the noise of one level's model adds to each row's influence on a mean.

        The mean is that of ``counted``·μ̂ + ``corrected``·(y − μ̂), rows of other levels having no
        part in ``corrected``.
        """
        slopes, functions = self.slopes[:, level], self.functions
        gradient = ((counted - corrected) * slopes) @ functions
        curvature = (functions * (self.own[:, level] * slopes)[:, None]).T @ functions
        curvature.flat[:: len(curvature) + 1] += self.ridge
        moved = functions @ np.linalg.solve(curvature, gradient)
        return np.asarray(moved * self.residuals[:, level])


def _propensities(nuisances: Nuisances) -> Floats:
    """Return the propensities of every level but the first, unclipped where they are known so."""
    b = nuisances.propensities[:, 1:]
    if nuisances.unclipped is not None:
        b = nuisances.unclipped[:, None]
    return np.clip(b, _FARTHEST, 1 - _FARTHEST)
