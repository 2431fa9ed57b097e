"""The correction of the outcome means of three or more levels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from .._typing import Floats, Reduce
from ..core.penalty import identity
from ..outcome import Outcome
from ..rows import Rows
from .evidence import LEAST_MEAN, LEAST_SHARE, PRIOR_DEVIATIONS, expected_coefficients
from .nuisance_models import Nuisances


@dataclass(frozen=True, kw_only=True)
class LevelCorrection:
    """What is added to the outcome means of each level; see `fit_level_correction`.

    ::

        μ̃_l = μ̂_l + a_l − Σ_k b̂_k a_k,   a_l = s(X)·Σ_k D_lk Σ_j c_kj (2b̂_k(X)−1)ʲ

    s is as for two levels (see `Correction`). D has a column for each level, or for each level of
    each of several attributes; b̂_k is the propensity of what column k stands for. The mean
    m̂ = Σ b̂_l μ̂_l stays what it is.

    Parameters
    ----------
    coefficients : array of shape (k, degree + 1)
        c.
    design : array of shape (n_levels, k)
        D.
    binary : bool
        Whether y is a label.
    positive : bool
        Whether means are positive, as those of counts and amounts.
    """

    coefficients: Floats
    design: Floats = field(repr=False)
    binary: bool = True
    positive: bool = False

    @classmethod
    def none(cls, outcome: Outcome, design: Floats, degree: int = 0) -> Self:
        """Return the correction that changes nothing."""
        return cls(
            coefficients=np.zeros((design.shape[1], degree + 1)),
            design=design,
            binary=outcome.binary,
            positive=outcome.loss.link == "log",
        )

    def basis(self, nuisances: Nuisances) -> Floats:
        """Return s·(2b̂_k−1)ʲ of each row, of shape (n, k, degree + 1)."""
        centred = 2 * (nuisances.propensities @ self.design) - 1
        powers = centred[:, :, None] ** np.arange(self.coefficients.shape[1])
        if self.positive:
            return np.asarray(powers * self.mean(nuisances)[:, None, None])
        if not self.binary:
            return np.asarray(powers)
        mean = np.clip(nuisances.mean, 0, 1)
        return np.asarray(powers * (4 * mean * (1 - mean))[:, None, None])

    def mean(self, nuisances: Nuisances) -> Floats:
        """Return m̂; that of a count or an amount is at least `LEAST_MEAN`."""
        return np.maximum(nuisances.mean, LEAST_MEAN) if self.positive else nuisances.mean

    def means(self, nuisances: Nuisances) -> Floats:
        """Return μ̃ of each level.

        That of a label is within 1 of m̂, and that of a count or an amount at least `LEAST_SHARE`
        of it.
        """
        added = (self.basis(nuisances) * self.coefficients).sum(axis=2) @ self.design.T
        added -= (nuisances.propensities * added).sum(axis=1, keepdims=True)
        means, mean = nuisances.outcome + added, self.mean(nuisances)[:, None]
        if self.positive:
            return np.asarray(np.maximum(means, LEAST_SHARE * mean))
        return np.asarray(np.clip(means, mean - 1, mean + 1)) if self.binary else means


def fit_level_correction(
    rows: Rows, nuisances: Nuisances, degree: int, *, reduce: Reduce | None = None
) -> LevelCorrection:
    """Return the correction that the residuals of y ask for.

    ::

        c_t = argmin Σ w (y − μ̂_z − s·Σ_k (D_zk − b̂_k) Σ_j c_kj (2b̂_k−1)ʲ)² + (σ/t)²·‖c‖²

    What is common to all levels drops out of it, and so do, to first order, the errors of b̂ and m̂.
    Sizes t of the ridge are averaged by their likelihood, as for two levels.

    Parameters
    ----------
    rows : Rows
        With y, groups and weights.
    nuisances : Nuisances
        Of the rows.
    degree : int
        Highest power of b̂.
    reduce : callable, optional
        Sums the normal equations over the workers that share the rows.

    Returns
    -------
    LevelCorrection

    Examples
    --------
    Models that see no effect, where z decides the label:

    >>> z = np.tile([0, 1, 2], 500)
    >>> rows = Rows.check(np.zeros((1500, 1)), z == 2, sensitive_features=z)
    >>> no_effect = Nuisances(np.full((1500, 3), 1 / 3), np.full((1500, 3), 1 / 3))
    >>> fit_level_correction(rows, no_effect, 0).means(no_effect)[0].round(2).tolist()
    [0.0, 0.0, 1.0]
    """
    empty = LevelCorrection.none(rows.outcome, rows.groups.design, degree)
    codes = rows.groups.codes.astype(np.intp)
    slope = empty.design[codes] - nuisances.propensities @ empty.design
    regressors = (empty.basis(nuisances) * slope[:, :, None]).reshape(len(rows), -1)
    own = nuisances.outcome[np.arange(len(rows)), codes]
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    table = np.column_stack([regressors, rows.y - own])
    sums = (reduce or identity)(np.append((table * weights[:, None]).T @ table, weights.sum()))
    gram = sums[:-1].reshape(table.shape[1], -1)
    variance = gram[-1, -1] / sums[-1]
    deviations = np.array(PRIOR_DEVIATIONS) * (1.0 if rows.outcome.binary else np.sqrt(variance))
    found = expected_coefficients(gram[:-1, :-1], gram[:-1, -1], variance, deviations)
    return replace(empty, coefficients=found.reshape(empty.coefficients.shape))
