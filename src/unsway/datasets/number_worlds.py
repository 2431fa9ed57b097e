"""Worlds of counts, amounts and wages whose means are known in both groups of z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from .table import FloatArray, IntArray
from .truth import TrueEffects, contrasts, sobol_points
from .worlds import GaussianCovariates

__all__ = ["INSURANCE_COLUMNS", "NUMBER_WORLDS", "NumberWorld"]

#: From X: the means of y at z=0 and z=1, per unit of exposure, as two columns.
Means = Callable[[FloatArray], FloatArray]
#: From the means of the rows, their exposure and a generator: y, the total of the exposure.
Noise = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]

#: Three safe columns, three that z shifts and that cause y, two that z shifts alone.
INSURANCE_COLUMNS = (
    *("experience", "mileage", "claims_before"),
    *("vehicle_power", "vehicle_value", "density"),
    *("occupation", "night_driving"),
)
_WAGE_COLUMNS = (
    *("schooling", "experience", "tests"),
    *("occupation", "hours", "firm_size"),
    *("hobbies", "commute"),
)


@dataclass(frozen=True, kw_only=True)
class NumberWorld(GaussianCovariates):
    """A world whose y is a number with a known mean.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma", "tweedie"}
        The loss that suits y.
    names : tuple of str
        The names of the columns.
    means : callable
        Returns the means of y at z=0 and z=1 from X.
    noise : callable
        Draws y from its mean.
    least_exposure : pair of float, optional
        In the groups z=0 and z=1 the exposure is uniform between this and 1; without it, it is 1.
    """

    loss: str
    names: tuple[str, ...]
    means: Means
    noise: Noise
    least_exposure: tuple[float, float] | None = None

    def feature_names(self) -> tuple[str, ...]:
        """Return the name of each column of X."""
        return self.names

    def coefficients(self) -> FloatArray:
        """Return zeros: the means have no linear part that says enough."""
        return np.zeros(len(self.names))

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return the means of y at z=0 and z=1 as two columns."""
        return self.means(X)

    def draw_exposure(self, z: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return the exposure of each row, which depends on z alone."""
        if self.least_exposure is None:
            return np.ones(len(z))
        return np.asarray(rng.uniform(np.array(self.least_exposure)[z], 1.0))

    def effects(self) -> TrueEffects:
        """Return contrasts of the four means m(z,z'), in units of y per exposure."""
        return contrasts(_integrate(self), self.probability_z)


@cache
def _integrate(world: NumberWorld) -> FloatArray:
    """Return m(z,z') at [z, z'] as means over quasi-random points."""
    normal = ndtri(sobol_points(len(world.names), 0))
    return np.column_stack(
        [world.means(normal + population * world.shifts()).mean(axis=0) for population in (0, 1)]
    )


def _frequency(X: FloatArray) -> FloatArray:
    """Return claims per year: about .19, a third more for z=1, and more so for strong vehicles."""
    experience, mileage, before, power, _, density, *_ = X.T
    log_rate = (
        -2.4
        + 0.35 * np.maximum(0, -experience)
        + 0.2 * mileage
        + 0.25 * (before > 0.8)
        + 0.12 * power
        + 0.15 * density
        + 0.2 * (power > 1) * (experience < 0)
    )
    direct = 0.3 + 0.15 * np.tanh(power) - 0.1 * np.tanh(experience)
    return np.exp(log_rate[:, None] + np.outer(direct, [0.0, 1.0]))


def _severity(X: FloatArray) -> FloatArray:
    """Return euros per claim: about 1,900, a fifth more for z=1."""
    _, mileage, _, power, value, density, *_ = X.T
    log_amount = 7.2 + 0.2 * value + 0.1 * power - 0.1 * density + 0.15 * (mileage > 0.5)
    direct = 0.2 + 0.1 * np.tanh(value)
    return np.exp(log_amount[:, None] + np.outer(direct, [0.0, 1.0]))


def _pure_premium(X: FloatArray) -> FloatArray:
    """Return euros per year: claims per year times euros per claim, in each group."""
    return _frequency(X) * _severity(X)


def _wages(X: FloatArray) -> FloatArray:
    """Return euros per month: about 3,300, some 260 less for z=1."""
    schooling, experience, tests, occupation, hours, firm, *_ = X.T
    wage = (
        3_200
        + 250 * schooling
        + 200 * np.sqrt(1 + np.maximum(0, experience + 1))
        + 150 * (tests > 0)
        - 120 * occupation
        - 100 * hours
        + 80 * firm * (schooling > 0)
    )
    direct = -300 - 80 * np.tanh(experience) + 60 * (firm > 0)
    return np.asarray(wage[:, None] + np.outer(direct, [0.0, 1.0]))


def _poisson(mean: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.poisson(mean * exposure).astype(np.float64)


def _gamma(mean: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(mean * exposure * rng.gamma(1.5, 1 / 1.5, len(mean)))


def _normal(mean: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(mean + 600 * rng.standard_normal(len(mean)))


def _compound(mean: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return totals of exponential amounts, Poisson many.

    Their size grows with the root of the mean, and so does their number: the variance is in
    proportion to the mean to the power of 1.5.
    """
    size = 1_800.0 * np.sqrt(mean / 400.0)
    count = rng.poisson(mean * exposure / size)
    return np.where(count > 0, rng.standard_gamma(np.maximum(count, 1)) * size, 0.0)


NUMBER_WORLDS: tuple[NumberWorld, ...] = (
    NumberWorld(
        name="claims",
        loss="poisson",
        names=INSURANCE_COLUMNS,
        means=_frequency,
        noise=_poisson,
        least_exposure=(0.1, 0.4),
        n_safe=3,
        n_indirect=3,
    ),
    NumberWorld(
        name="severity",
        loss="gamma",
        names=INSURANCE_COLUMNS,
        means=_severity,
        noise=_gamma,
        n_safe=3,
        n_indirect=3,
    ),
    NumberWorld(
        name="pure_premium",
        loss="tweedie",
        names=INSURANCE_COLUMNS,
        means=_pure_premium,
        noise=_compound,
        least_exposure=(0.1, 0.4),
        n_safe=3,
        n_indirect=3,
    ),
    NumberWorld(
        name="wages",
        loss="squared_error",
        names=_WAGE_COLUMNS,
        means=_wages,
        noise=_normal,
        n_safe=3,
        n_indirect=3,
    ),
)
