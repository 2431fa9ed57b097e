"""Worlds with Gaussian covariates in which the margin of y is any formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from .table import FloatArray, IntArray
from .truth import TrueEffects, contrasts, sobol_points
from .worlds import Draw, GaussianCovariates, sigmoid

__all__ = ["FORMULA_WORLDS", "FormulaWorld", "integrate"]

#: From the safe columns, the indirect ones and the log-odds of z: what the margin of y has beyond
#: its linear part, and the direct effect on the margin.
Formula = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, kw_only=True)
class FormulaWorld(GaussianCovariates):
    """A world whose margin of y is a formula.

    ::

        P(y=1|X,z)  = sigmoid(a.X + g(X) + z d(X))

    The effects are quasi-random integrals over 2^17 points, with errors below .0001.

    Parameters
    ----------
    formula : callable
        Returns g and d from the safe columns, the indirect ones, and the log-odds of z given X.
    safe_coefficients, indirect_coefficients : tuple of float
        a, one for each column.
    missing_rates : pair of float, default=(0.0, 0.0)
        How often a value of the columns that can be missing, safe_0, safe_1 and the indirect ones,
        is NaN in the groups z=0 and z=1. A missing value counts as 0 in the margin of y, so that y
        depends on what is observed; that it is missing tells about z.
    """

    formula: Formula
    safe_coefficients: tuple[float, ...]
    indirect_coefficients: tuple[float, ...]
    missing_rates: tuple[float, float] = (0.0, 0.0)

    def coefficients(self) -> FloatArray:
        """Return a."""
        others = [0.0] * (self.n_proxy + self.n_noise)
        return np.array([*self.safe_coefficients, *self.indirect_coefficients, *others])

    def can_be_missing(self) -> IntArray:
        """Return the positions of the columns that can be missing."""
        if not any(self.missing_rates):
            return np.array([], dtype=np.int64)
        return np.array([0, 1, *range(self.n_safe, self.n_safe + self.n_indirect)])

    def draw(self, n_samples: int, rng: np.random.Generator) -> Draw:
        """Return covariates, some of them NaN, z, and a uniform number for each row."""
        X, z, uniform = super().draw(n_samples, rng)
        columns = self.can_be_missing()
        if columns.size:
            X = self.with_missing(X, z, rng.random((n_samples, columns.size)))
        return X, z, uniform

    def with_missing(self, X: FloatArray, z: IntArray, uniforms: FloatArray) -> FloatArray:
        """Return X with NaN where the uniform number lies below the rate of the row's group."""
        columns, rates = self.can_be_missing(), np.array(self.missing_rates)
        X[:, columns] = np.where(uniforms < rates[z][:, np.newaxis], np.nan, X[:, columns])
        return X

    def log_odds(self, X: FloatArray) -> FloatArray:
        """Return the log-odds of z=1 given what is observed, and given what is missing."""
        columns = self.can_be_missing()
        if not columns.size:
            return super().log_odds(X)
        # Where a value is missing, shift/2 in its place adds nothing.
        observed = super().log_odds(np.where(np.isnan(X), self.shifts() / 2, X))
        rate0, rate1 = self.missing_rates
        if_missing, if_present = np.log(rate1 / rate0), np.log((1 - rate1) / (1 - rate0))
        n_missing = np.isnan(X[:, columns]).sum(axis=1)
        return np.asarray(
            observed + n_missing * if_missing + (columns.size - n_missing) * if_present
        )

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return P(y=1|X,z=0) and P(y=1|X,z=1) as two columns."""
        values = np.nan_to_num(X)
        safe, indirect, _ = np.split(values, np.cumsum([self.n_safe, self.n_indirect]), axis=1)
        beyond, direct = self.formula(safe, indirect, self.log_odds(X))
        margin = values @ self.coefficients() + beyond
        return np.column_stack([sigmoid(margin), sigmoid(margin + direct)])

    def effects(self) -> TrueEffects:
        """Integrate the four means m(z,z') and take their contrasts."""
        return contrasts(integrate(self), self.probability_z)


@cache
def integrate(world: FormulaWorld, seed: int = 0) -> FloatArray:
    """Return m(z,z') at [z, z'] as means over quasi-random points."""
    n_columns = len(world.roles())
    points = sobol_points(n_columns + world.can_be_missing().size, seed)
    normal, uniforms = ndtri(points[:, :n_columns]) @ _axes(world), points[:, n_columns:]
    means = []
    for population in (0, 1):
        X = normal + population * world.shifts()
        X = world.with_missing(X, np.full(len(points), population), uniforms)
        means.append(world.outcome_probabilities(X).mean(axis=0))
    return np.column_stack(means)


def _axes(world: FormulaWorld) -> FloatArray:
    """Return orthogonal axes, one for each row, that make the integral easy.

    Most columns matter through a.X and the log-odds of z alone: the first axes span these two.
    Columns that the formula reads by themselves keep their own axes, which come last.
    """
    linear, shifts = world.coefficients(), world.shifts()
    alone = (linear == 0) & (np.arange(linear.size) < world.n_safe + world.n_indirect)
    alone[world.can_be_missing()] = True
    axes = np.eye(linear.size)
    indices = np.column_stack([linear, shifts])[~alone]
    axes[np.ix_(~alone, ~alone)] = np.linalg.qr(indices, mode="complete")[0].T
    return axes[np.argsort(alone, kind="stable")]


def _paper(
    safe: FloatArray, indirect: FloatArray, log_odds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return np.zeros(len(safe)), np.full(len(safe), 1.25)


def _steps(
    safe: FloatArray, indirect: FloatArray, log_odds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return thresholds, a kink, and interactions of safe and indirect columns."""
    beyond = (
        1.0 * (safe[:, 0] > 0.5)
        + 1.0 * ((safe[:, 1] > 0) & (safe[:, 2] < 0))
        + 0.6 * np.abs(safe[:, 3])
        + 0.7 * (safe[:, 4] > 0) * indirect[:, 0]
        - 1.5
    )
    return beyond, 0.4 + 1.2 * (indirect[:, 1] > 0.5) - 0.6 * (safe[:, 5] > 0.5)


def _wave(
    safe: FloatArray, indirect: FloatArray, log_odds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Let the direct effect be a sine of the log-odds of z, and so of the proxies too."""
    return np.zeros(len(safe)), 0.75 + 1.25 * np.sin(1.5 * log_odds)


FORMULA_WORLDS: tuple[FormulaWorld, ...] = (
    FormulaWorld(
        name="missing_by_group",
        formula=_paper,
        safe_coefficients=(0.25,) * 10,
        indirect_coefficients=(0.25,) * 4,
        missing_rates=(0.1, 0.35),
    ),
    FormulaWorld(
        name="steps",
        formula=_steps,
        safe_coefficients=(0.0,) * 6 + (0.25,) * 4,
        indirect_coefficients=(0.0, 0.0, 0.25, 0.25),
        indirect_shift=0.5,
        proxy_shift=0.5,
    ),
    FormulaWorld(
        name="wave",
        formula=_wave,
        safe_coefficients=(0.25,) * 10,
        indirect_coefficients=(0.25,) * 4,
    ),
)
