"""The direct effect at each row's own X, freed of the bias that regularised models give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats, Reduce
from ..rows import Rows
from .nuisance import NuisanceModels, Nuisances


@dataclass(frozen=True)
class ConditionalEffect:
    """τ(X) = E[y|1,X] − E[y|0,X], estimated as τ̂(X) + Σ_k c_k b̂ᵏ.

    Parameters
    ----------
    models : NuisanceModels
        Of b̂, μ̂₀ and μ̂₁; τ̂ = μ̂₁ − μ̂₀.
    correction : array of shape (degree + 1,)
        c; empty for none.
    """

    models: NuisanceModels
    correction: Floats

    def predict(self, X: Any) -> Floats:
        """Return the direct effect at rows the models have not seen."""
        return corrected_effect(self.models.predict(X), self.correction)


def corrected_effect(nuisances: Nuisances, correction: Floats) -> Floats:
    """Return τ̂ + Σ_k c_k b̂ᵏ, within [−1, 1] as a difference of probabilities must be."""
    powers = np.vander(nuisances.propensity, len(correction), increasing=True)
    return np.clip(nuisances.effect + powers @ correction, -1, 1)


def fit_correction(
    rows: Rows, nuisances: Nuisances, degree: int, *, reduce: Reduce | None = None
) -> Floats:
    """Return the c that minimises Σ w (y − m̂ − (z−b̂)(τ̂ + Σ_k c_k b̂ᵏ))².

    Regularised models pull μ̂₀ and μ̂₁ together or apart, so τ̂ is biased. The residual of y on
    z − b̂ shows by how much: small errors of b̂ and m̂ do not reach c to first order. Nothing is
    corrected along directions in which all rows' b̂ are alike.

    Parameters
    ----------
    rows : Rows
        With y, z and weights.
    nuisances : Nuisances
        Of the rows.
    degree : int
        Highest power of b̂.
    reduce : callable, optional
        Sums the normal equations over the workers that share the rows.

    Returns
    -------
    array of shape (degree + 1,)

    References
    ----------
    Nie & Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika
    108(2).

    Examples
    --------
    Models that see no effect, where z decides the label:

    >>> from unsway.rows import Rows
    >>> rows = Rows.check(np.eye(4), [0, 1, 0, 1], sensitive_features=[0, 1, 0, 1])
    >>> fit_correction(rows, Nuisances(np.full(4, 0.5), np.full((4, 2), 0.5)), 0)
    array([1.])
    """
    residual = rows.z - nuisances.propensity
    powers = np.vander(nuisances.propensity, degree + 1, increasing=True)
    regressors = powers * residual[:, None]
    unexplained = rows.y - nuisances.mean - residual * nuisances.effect
    weighted = regressors if rows.weights is None else regressors * rows.weights[:, None]
    sums = weighted.T @ np.column_stack([regressors, unexplained])
    sums = sums if reduce is None else reduce(sums)
    found, *_ = np.linalg.lstsq(sums[:, :-1], sums[:, -1], rcond=None)
    return np.asarray(found)
