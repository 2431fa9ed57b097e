"""Outcome means of each group at each row's own X, corrected for the bias of regularised models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from .._typing import Floats, Reduce
from ..core.penalty import identity
from ..outcome import Outcome
from ..rows import Rows
from .evidence import LEAST_MEAN, LEAST_SHARE, PRIOR_DEVIATIONS, expected_coefficients
from .level_correction import LevelCorrection, fit_level_correction
from .nuisance_models import NuisanceModels, Nuisances


@dataclass(frozen=True, kw_only=True)
class Correction:
    """What is added to τ̂(X) = μ̂₁ − μ̂₀.

    ::

        s(X)·Σ_k c_k (2b̂(X)−1)ᵏ,   s = 4m̂(1−m̂) where y is a label, m̂ under a log link, else 1

    s is the variance of a label relative to that of an even one. An effect of z on rare labels is
    small where the labels are rarest, and so is its correction. That on counts and amounts is in
    proportion to their mean.

    Parameters
    ----------
    coefficients : array of shape (degree + 1,)
        c; empty for no correction.
    binary : bool
        Whether y is a label.
    positive : bool
        Whether means are positive, as those of counts and amounts.
    """

    coefficients: Floats
    binary: bool = True
    positive: bool = False

    @classmethod
    def none(cls, outcome: Outcome, n_coefficients: int = 0) -> Self:
        """Return the correction of these outcomes that changes nothing."""
        positive = outcome.loss.link == "log"
        return cls(coefficients=np.zeros(n_coefficients), binary=outcome.binary, positive=positive)

    def basis(self, nuisances: Nuisances) -> Floats:
        """Return s·(2b̂−1)ᵏ of each row, one column per coefficient."""
        centred = 2 * nuisances.propensity - 1  # which changes its sign where the groups swap
        powers = np.vander(centred, len(self.coefficients), increasing=True)
        if self.positive:
            return powers * self.mean(nuisances)[:, None]
        if not self.binary:
            return powers
        mean = np.clip(nuisances.mean, 0, 1)
        return powers * (4 * mean * (1 - mean))[:, None]

    def effect(self, nuisances: Nuisances) -> Floats:
        """Return the corrected effect; that on a label lies within [−1, 1].

        Under a log link both means stay above `LEAST_SHARE` of m̂.
        """
        corrected = nuisances.effect + self.basis(nuisances) @ self.coefficients
        if self.positive:
            most, b = (1 - LEAST_SHARE) * self.mean(nuisances), nuisances.propensity
            return np.clip(corrected, -most / (1 - b), most / b)
        return np.clip(corrected, -1, 1) if self.binary else corrected

    def means(self, nuisances: Nuisances) -> Floats:
        """Return μ̃₀ = m̂ − b̂τ̃ and μ̃₁ = m̂ + (1−b̂)τ̃, two columns: the mean m̂ stays what it is."""
        effect, b, mean = self.effect(nuisances), nuisances.propensity, self.mean(nuisances)
        return np.column_stack([mean - b * effect, mean + (1 - b) * effect])

    def mean(self, nuisances: Nuisances) -> Floats:
        """Return m̂; that of a count or an amount is at least `LEAST_MEAN`."""
        return np.maximum(nuisances.mean, LEAST_MEAN) if self.positive else nuisances.mean


@dataclass(frozen=True)
class ConditionalMeans:
    """E[y|z,X] of each level, as nuisance models and their correction estimate it.

    Parameters
    ----------
    models : NuisanceModels
        Of b̂ and of μ̂ of each level.
    correction : Correction or LevelCorrection
        What is added to them.
    mixture : bool, default=False
        Whether m̂ = Σ b̂_l·μ̂_l is a last column: the mean of a row whose level is not known.
    """

    models: NuisanceModels = field(repr=False)
    correction: Correction | LevelCorrection
    mixture: bool = False

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """What reads a table for each of the models."""
        return self.models.encoders

    def values(self, nuisances: Nuisances) -> Floats:
        """Return the mean in each level, one column each."""
        means = self.correction.means(nuisances)
        return np.column_stack([means, nuisances.mean]) if self.mixture else means

    def predict(self, X: Any) -> Floats:
        """Return the values of rows the models have not seen."""
        return self.values(self.models.predict(X))


def correction_of(
    rows: Rows, nuisances: Nuisances, degree: int | None, *, reduce: Reduce | None = None
) -> Correction | LevelCorrection:
    """Return the correction of two levels or of more; None as degree corrects nothing."""
    if rows.groups.two:
        if degree is None:
            return Correction.none(rows.outcome)
        return fit_correction(rows, nuisances, degree, reduce=reduce)
    if degree is None:
        return LevelCorrection.none(rows.outcome, rows.groups.design)
    return fit_level_correction(rows, nuisances, degree, reduce=reduce)


def fit_correction(
    rows: Rows, nuisances: Nuisances, degree: int, *, reduce: Reduce | None = None
) -> Correction:
    """Return the correction that the residuals of y ask for.

    ::

        c_t = argmin Σ w (y − μ̂_z − (z−b̂)·s·Σ_k c_k (2b̂−1)ᵏ)² + (σ/t)²·‖c‖²

    Regularised models move μ̂₀ and μ̂₁ together or apart, so that τ̂ is biased. The residual of y on
    z − b̂ shows by how much: errors of b̂ and m̂ reach c in second order only. σ² is the mean squared
    residual, and t says how large a bias is expected before the residuals are seen. The result is
    the mean of c_t over `PRIOR_DEVIATIONS`, weighted by the likelihood of the residuals where c is
    normal of mean 0 and deviation t. At t = 0 there is no correction: a bias within the noise is
    mostly left alone.

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
    Correction

    References
    ----------
    Nie & Wager (2021), "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika
    108(2).

    Examples
    --------
    Models that see no effect, where z decides the label:

    >>> from unsway.rows import Rows
    >>> labels = np.tile([0, 1], 500)
    >>> rows = Rows.check(np.zeros((1000, 1)), labels, sensitive_features=labels)
    >>> no_effect = Nuisances(np.full(1000, 0.5), np.full((1000, 2), 0.5))
    >>> print(fit_correction(rows, no_effect, 0).effect(no_effect)[0].round(3))
    0.996
    """
    empty = Correction.none(rows.outcome, degree + 1)
    slope = rows.z - nuisances.propensity
    regressors = empty.basis(nuisances) * slope[:, None]
    residual = rows.y - nuisances.mean - slope * nuisances.effect
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    table = np.column_stack([regressors, residual])
    sums = (reduce or identity)(np.append((table * weights[:, None]).T @ table, weights.sum()))
    gram = sums[:-1].reshape(degree + 2, degree + 2)
    variance = gram[-1, -1] / sums[-1]
    deviations = np.array(PRIOR_DEVIATIONS) * (1.0 if rows.outcome.binary else np.sqrt(variance))
    return replace(
        empty,
        coefficients=expected_coefficients(gram[:-1, :-1], gram[:-1, -1], variance, deviations),
    )
