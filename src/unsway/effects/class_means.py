"""The correction of the shares of several classes in each group at each row's own X."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Codes, Floats, Reduce
from ..core.penalty import identity
from ..rows import Rows
from .evidence import PRIOR_DEVIATIONS, expected_coefficients
from .nuisance import NuisanceModels, Nuisances


@dataclass(frozen=True, kw_only=True)
class ClassCorrection:
    """What is added to the difference of the shares of the classes, τ̂(X) = μ̂₁ − μ̂₀.

    ::

        4(diag(m̂) − m̂m̂ᵀ)·Σ_k c_k (2b̂−1)ᵏ,   c_k a number for each class

    The matrix is the covariance of a label with the shares m̂: what is added sums to 0 over the
    classes, and is small for classes that are rare. For two classes it is `Correction`.

    Parameters
    ----------
    coefficients : array of shape (degree + 1, C)
        c; without rows for no correction.
    """

    coefficients: Floats

    def basis(self, nuisances: Nuisances) -> Floats:
        """Return the effect of each coefficient on each class, of shape (n, degree + 1, C, C)."""
        mean, b = class_mean(nuisances), nuisances.propensity
        powers = np.vander(2 * b - 1, len(self.coefficients), increasing=True)
        covariance = 4 * (mean[:, :, None] * np.eye(mean.shape[1]) - _outer(mean))
        return np.asarray(powers[:, :, None, None] * covariance[:, None])

    def effect(self, nuisances: Nuisances) -> Floats:
        """Return the corrected effect on each class."""
        added = np.einsum("nkij,kj->ni", self.basis(nuisances), self.coefficients)
        return np.asarray(nuisances.effect + added)

    def means(self, nuisances: Nuisances) -> Floats:
        """Return the shares of the classes in each group, of shape (n, 2, C).

        The shares of both groups together stay what they are.
        """
        effect, mean = self.effect(nuisances), class_mean(nuisances)
        b = nuisances.propensity[:, None]
        return np.stack([mean - b * effect, mean + (1 - b) * effect], axis=1)


def class_mean(nuisances: Nuisances) -> Floats:
    """Return m̂ of each class, the shares at each row's X."""
    return np.asarray(nuisances.outcome[:, 0] + nuisances.propensity[:, None] * nuisances.effect)


@dataclass(frozen=True)
class ConditionalShares:
    """The shares of the classes in both groups, as nuisance models and their correction have them.

    Parameters
    ----------
    models : NuisanceModels
        Of b̂ and of the shares.
    correction : ClassCorrection
        What is added to their difference.
    """

    models: NuisanceModels = field(repr=False)
    correction: ClassCorrection

    def predict(self, X: Any) -> Floats:
        """Return the shares in each group, of shape (n, 2, C), of rows not seen before."""
        return self.correction.means(self.models.predict(X))


def fit_class_correction(
    rows: Rows, nuisances: Nuisances, degree: int, *, reduce: Reduce | None = None
) -> ClassCorrection:
    """Return the correction that the residuals of the classes ask for, as `fit_correction` does.

    The residuals of all classes are regressed together, so that their corrections sum to 0. Their
    variance is counted once for each class but one, which the others determine.

    Parameters
    ----------
    rows : Rows
        With a label of several classes, z and weights.
    nuisances : Nuisances
        Of the rows.
    degree : int
        Highest power of b̂.
    reduce : callable, optional
        Sums the normal equations over the workers that share the rows.

    Returns
    -------
    ClassCorrection
    """
    n_classes = rows.outcome.n_classes
    empty = ClassCorrection(coefficients=np.zeros((degree + 1, n_classes)))
    size, some = empty.coefficients.size, 65_536
    sums = np.zeros((size + 1) * (size + 1) + 1)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    for first in range(0, len(rows), some):
        part = slice(first, first + some)
        inside = Nuisances(nuisances.propensity[part], nuisances.outcome[part])
        table = _regressors(empty, inside, rows.groups.codes[part], rows.target[part])
        table = table.reshape(-1, size + 1)
        w = np.repeat(weights[part], n_classes)[:, None]
        sums += np.append((table * w).T @ table, weights[part].sum())
    sums = (reduce or identity)(sums)
    gram = sums[:-1].reshape(size + 1, size + 1)
    variance = gram[-1, -1] / (sums[-1] * (n_classes - 1))
    deviations = np.array(PRIOR_DEVIATIONS) / np.sqrt(2)  # of a difference of two, as for a label
    found = expected_coefficients(gram[:-1, :-1], gram[:-1, -1], variance, deviations)
    return ClassCorrection(coefficients=found.reshape(degree + 1, n_classes))


def _regressors(
    correction: ClassCorrection, nuisances: Nuisances, codes: Codes, target: Floats
) -> Floats:
    """Return (z−b̂)·basis and the residual of each class, of shape (n, C, coefficients + 1)."""
    basis, slope = correction.basis(nuisances), codes - nuisances.propensity
    own = np.moveaxis(basis, 2, 1).reshape(len(codes), basis.shape[2], -1)
    residual = target - class_mean(nuisances) - slope[:, None] * nuisances.effect
    return np.concatenate([own * slope[:, None, None], residual[:, :, None]], axis=2)


def _outer(mean: Floats) -> Floats:
    return np.asarray(mean[:, :, None] * mean[:, None, :])
