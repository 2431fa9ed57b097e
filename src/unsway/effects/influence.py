"""The effects of z, and what each row adds to them: estimates with their influence functions.

With m(z,z') = E[ E[y|z,X] | Z=z' ], every effect is a contrast of the four means. A mean's
influence function says how much one row moves it; contrasts and standard errors follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from .._typing import Floats, Index
from .estimate import Estimate, simultaneous_factor
from .model_noise import ModelNoise
from .nuisance import Nuisances
from .surrogate import SurrogateDesign

#: What each effect is, in a few words, in the order of tables.
MEANINGS = {
    "total": "whole difference between the groups",
    "direct_reference": "direct, on people with z=0",
    "direct_group": "direct, on people with z=1",
    "indirect_reference": "through the covariates, at z=0",
    "indirect_group": "through the covariates, at z=1",
    "explained": "through the covariates, mean of both",
    "direct_everyone": "direct, mean over everyone",
    "direct_overlap": "direct, where the groups overlap",
}

EFFECTS = tuple(MEANINGS)


@dataclass(frozen=True)
class Mean:
    """A weighted mean, and its influence function at each row.

    With ``clusters``, the cluster of each row, rows of one cluster may depend on each other. What
    is made of several means has the clusters of any of them.
    """

    value: float
    influence: Floats
    clusters: Index | None = None

    @classmethod
    def of(cls, values: Floats, share: Floats, clusters: Index | None = None) -> Mean:
        """Return Σ values / Σ share: a mean where the share is 1, else a ratio of two means."""
        total = float(share.mean())
        ratio = float(values.mean()) / total
        return cls(ratio, (values - ratio * share) / total, clusters)

    @classmethod
    def average(cls, values: Floats, weights: Floats, clusters: Index | None = None) -> Mean:
        """Return the mean of the values with these weights."""
        return cls.of(weights * values, weights, clusters)

    def __add__(self, other: Mean) -> Mean:
        moved = self.influence + other.influence
        return Mean(self.value + other.value, moved, self._clusters_with(other))

    def __sub__(self, other: Mean) -> Mean:
        moved = self.influence - other.influence
        return Mean(self.value - other.value, moved, self._clusters_with(other))

    def __mul__(self, factor: float) -> Mean:
        return Mean(self.value * factor, self.influence * factor, self.clusters)

    def _clusters_with(self, other: Mean) -> Index | None:
        return other.clusters if self.clusters is None else self.clusters

    def with_noise(self, influence: Floats) -> Mean:
        """Return the same mean on which rows have this influence too, if that raises its variance.

        Models that are not calibrated as `ModelNoise` takes them for may make it larger, never
        smaller.
        """
        moved = Mean(self.value, self.influence + influence, self.clusters)
        return moved if moved.se > self.se else self

    def times(self, other: Mean) -> Mean:
        """Return the product of two estimates."""
        moved = self.value * other.influence + other.value * self.influence
        return Mean(self.value * other.value, moved, self._clusters_with(other))

    @property
    def se(self) -> float:
        """The standard error."""
        return self.standard_error(self.clusters)

    def standard_error(self, clusters: Index | None = None) -> float:
        """Return the standard error; rows of one cluster may depend on each other."""
        return float(np.sqrt(covariance(self.influence[:, None], clusters)[0, 0]))

    def interval(self, confidence: float = 0.95) -> Estimate:
        """Return the estimate with its interval, longer where few rows decide it; see `reach`."""
        half = reach(self.influence, confidence, self.clusters) * self.se
        return Estimate(self.value, self.se, self.value - half, self.value + half)


def simultaneous_intervals(means: Sequence[Mean], confidence: float = 0.95) -> list[Estimate]:
    """Return estimates of the same rows with intervals that hold all of them at once.

    Of normal estimates the intervals reach as far as `simultaneous_factor` says, and further where
    few rows decide; see `reach`.

    Examples
    --------
    >>> rows = np.tile([1.0, -1.0], 50)
    >>> one, _ = simultaneous_intervals([Mean(0.0, rows), Mean(0.0, np.roll(rows, 1))])
    >>> round(one.high / one.se, 1)  # the same number twice, up to its sign
    2.0
    """
    clusters = next((each.clusters for each in means if each.clusters is not None), None)
    spread = covariance(np.column_stack([each.influence for each in means]), clusters)
    share = special.ndtr(simultaneous_factor(spread, confidence))
    confidence = 2 * float(share) - 1
    return [replace(mean, clusters=clusters).interval(confidence) for mean in means]


def covariance(influence: Floats, clusters: Index | None = None) -> Floats:
    """Return the covariance of K means from each row's influence on them, of shape (n, K).

    Rows are independent, or those of different clusters are: then what a cluster adds counts as one
    number, and the sum is multiplied by C/(C−1) for C clusters.

    Examples
    --------
    >>> twice = np.array([[1.0], [1.0], [-1.0], [-1.0]])  # two people, two rows each
    >>> covariance(twice).item(), covariance(twice, np.array([0, 0, 1, 1])).item()
    (0.25, 1.0)
    """
    n_rows, factor = len(influence), 1.0
    if clusters is not None:
        n_clusters = int(clusters.max()) + 1
        sums = [np.bincount(clusters, column, n_clusters) for column in influence.T]
        influence, factor = np.column_stack(sums), n_clusters / (n_clusters - 1)
    return np.asarray(factor * (influence.T @ influence) / n_rows**2)


def reach(influence: Floats, confidence: float, clusters: Index | None = None) -> float:
    """Return how many standard errors the interval of a mean reaches, from each row's influence.

    Where a few rows with large weights of one sign decide a mean, its standard error is small
    whenever these rows happen to be few. With x the normal quantile, and γ and κ the skewness and
    excess kurtosis of the influence of n rows, or of n clusters' sums, the interval holds to the
    second order if it reaches::

        x·(1 + [(x² + 3)/4 + γ²·(x⁴ + 2x² − 3)/18 − κ·(x² − 3)/12] / n)

    For normal rows that is the t distribution; never less than x is taken.

    References
    ----------
    Hall (1992), "The Bootstrap and Edgeworth Expansion", section 2.6.

    Examples
    --------
    >>> one_sided = np.r_[np.full(98, -1.0), 49.0, 49.0]  # two of a hundred rows decide all
    >>> round(reach(one_sided, 0.95), 2), round(reach(np.tile([1.0, -1.0], 50), 0.95), 2)
    (2.93, 2.0)
    """
    if clusters is not None:
        influence = np.asarray(np.bincount(clusters, influence), dtype=np.float64)
    x, n_rows = float(special.ndtri(0.5 + confidence / 2)), len(influence)
    variance = float(np.mean(influence**2))
    if variance == 0:
        return x
    skewness = float(np.mean(influence**3)) / variance**1.5
    excess = float(np.mean(influence**4)) / variance**2 - 3
    longer = (x**2 + 3) / 4 + skewness**2 * (x**4 + 2 * x**2 - 3) / 18 - excess * (x**2 - 3) / 12
    return x * (1 + max(longer, 0.0) / n_rows)


def gap(values: Floats, z: Floats, weights: Floats, clusters: Index | None = None) -> Mean:
    """Return E[values|z=1] − E[values|z=0]."""
    ones = Mean.average(values, weights * z, clusters)
    return ones - Mean.average(values, weights * (1 - z), clusters)


Effect = dict[str, Mean]


#: From y, z, weights of mean 1 and nuisances to every effect with its influence function.
Estimator = Callable[[Floats, Floats, Floats, Nuisances], Effect]


def doubly_robust(
    y: Floats, z: Floats, weights: Floats, nuisances: Nuisances, *, models_known: bool = True
) -> Effect:
    """Return the one-step estimates, right if either the propensity or the outcome models are.

    m(z,z') has φ = 1(Z=z)/P(z')·π_z'/π_z·(y−μ_z) + 1(Z=z')/P(z')·μ_z, and E[CDE] the augmented
    inverse-propensity score. The overlap-weighted effect is the residual regression
    Σ(z−b)(y−m)/Σ(z−b)², which needs no division by b. Unless the outcome models are known, their
    noise is part of the influence functions; see `ModelNoise`.
    """
    b, (mu0, mu1) = nuisances.propensity, nuisances.outcome.T
    odds, zero, one = b / (1 - b), weights * (1 - z), weights * z
    residual = z - b
    m01 = Mean.of(zero * odds * (y - mu0) + one * mu0, one)
    m10 = Mean.of(one / odds * (y - mu1) + zero * mu1, zero)
    everyone = Mean.average(augmented_effect(y, z, nuisances), weights)
    overlap = Mean.of(weights * residual * (y - nuisances.mean), weights * residual**2)
    if not models_known:
        noise = ModelNoise.of(y, z, weights, nuisances)
        m01 = m01.with_noise(noise.influence(0, one, zero * odds) / one.mean())
        m10 = m10.with_noise(noise.influence(1, zero, one / odds) / zero.mean())
        everyone = everyone.with_noise(
            noise.influence(1, weights, one / b) - noise.influence(0, weights, zero / (1 - b))
        )
        lean = weights * residual  # m̂ = b·μ₁ + (1−b)·μ₀ is made of both models
        of_mean = noise.influence(1, 0.0, lean * b) + noise.influence(0, 0.0, lean * (1 - b))
        overlap = overlap.with_noise(of_mean / float(np.mean(lean * residual)))
    return contrasts(y, z, weights, m01, m10, everyone, overlap)


def augmented_effect(y: Floats, z: Floats, nuisances: Nuisances) -> Floats:
    """Return τ̂ + z/b·(y−μ₁) − (1−z)/(1−b)·(y−μ₀), whose mean at X is the direct effect there."""
    b, (mu0, mu1) = nuisances.propensity, nuisances.outcome.T
    return nuisances.effect + z / b * (y - mu1) - (1 - z) / (1 - b) * (y - mu0)


def weighting(y: Floats, z: Floats, weights: Floats, nuisances: Nuisances) -> Effect:
    """Return inverse-propensity estimates with weights that add up to one within each group."""
    b = nuisances.propensity
    odds, zero, one = b / (1 - b), weights * (1 - z), weights * z
    m01 = Mean.average(y, zero * odds)
    m10 = Mean.average(y, one / odds)
    everyone = Mean.average(y, one / b) - Mean.average(y, zero / (1 - b))
    overlap = Mean.average(y, one * (1 - b)) - Mean.average(y, zero * b)
    return contrasts(y, z, weights, m01, m10, everyone, overlap)


def surrogate_effects(
    y: Floats, z: Floats, weights: Floats, nuisances: Nuisances, **options: Any
) -> Effect:
    """Return the effects that the surrogate gives: means of MFCDE(b) over those concerned.

    The influence functions hold the least-squares coefficients' uncertainty and that of the
    averages; the propensity counts as known. The options are those of `SurrogateDesign.of`.
    """
    b = nuisances.propensity
    design = SurrogateDesign.of(b, z, sample_weight=weights, **options)
    fitted = design.fit(y)
    residual = len(y) * (y - fitted.outcome(z, b))
    coefficients = design.coefficient_rows(len(fitted.outcome_coefficients)) * residual[:, None]
    functions, effect = design.effect_basis(b), fitted.effect(b)

    def average(share: Floats) -> Mean:
        mean = Mean.average(effect, share)
        shift = coefficients @ np.average(functions, axis=0, weights=share)
        return Mean(mean.value, mean.influence + shift)

    zero, one = weights * (1 - z), weights * z
    m01 = Mean.average(y, one) - average(one)
    m10 = Mean.average(y, zero) + average(zero)
    everyone = average(weights)
    overlap = average(weights * b * (1 - b))
    return contrasts(y, z, weights, m01, m10, everyone, overlap)


def contrasts(
    y: Floats, z: Floats, weights: Floats, m01: Mean, m10: Mean, everyone: Mean, overlap: Mean
) -> Effect:
    """Return every effect from m(0,1), m(1,0) and two means of the direct effect.

    m(0,0) and m(1,1) are the groups' mean outcomes.
    """
    m00, m11 = Mean.average(y, weights * (1 - z)), Mean.average(y, weights * z)
    at_reference, at_group = m01 - m00, m11 - m10
    return {
        "total": m11 - m00,
        "direct_reference": m10 - m00,
        "direct_group": m11 - m01,
        "indirect_reference": at_reference,
        "indirect_group": at_group,
        "explained": (at_reference + at_group) * 0.5,
        "direct_everyone": everyone,
        "direct_overlap": overlap,
    }
