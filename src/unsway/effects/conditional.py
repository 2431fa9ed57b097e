"""The direct effect at each row's own X, freed of the bias that regularised models give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..roles import Floats
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

    def __call__(self, X: Any) -> Floats:
        """Return the direct effect at rows the models have not seen."""
        return corrected_effect(self.models.predict(X), self.correction)


def corrected_effect(nuisances: Nuisances, correction: Floats) -> Floats:
    """Return τ̂ + Σ_k c_k b̂ᵏ, within [−1, 1] as a difference of probabilities must be."""
    powers = np.vander(nuisances.propensity, len(correction), increasing=True)
    return np.clip(nuisances.effect + powers @ correction, -1, 1)


def fit_correction(
    y: Floats, z: Floats, weights: Floats | None, nuisances: Nuisances, degree: int
) -> Floats:
    """Return the c that minimises Σ w (y − m̂ − (z−b̂)(τ̂ + Σ_k c_k b̂ᵏ))².

    Regularised models pull μ̂₀ and μ̂₁ together or apart, so τ̂ is biased. The residual of y on
    z − b̂ shows by how much: small errors of b̂ and m̂ do not reach c to first order.

    References
    ----------
    Nie & Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika
    108(2).

    Examples
    --------
    Models that see no effect, where there is one of ½:

    >>> z, b = np.array([0.0, 1.0, 0.0, 1.0]), np.full(4, 0.5)
    >>> blind = Nuisances(b, np.full((4, 2), 0.5))
    >>> fit_correction(np.array([0.25, 0.75, 0.25, 0.75]), z, None, blind, 0)
    array([0.5])
    """
    root = np.ones_like(y) if weights is None else np.sqrt(weights)
    residual = z - nuisances.propensity
    powers = np.vander(nuisances.propensity, degree + 1, increasing=True)
    unexplained = y - nuisances.mean - residual * nuisances.effect
    found, *_ = np.linalg.lstsq(powers * (root * residual)[:, None], root * unexplained, rcond=None)
    return np.asarray(found)
