"""A world whose label has three classes, with known shares in both groups of z."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri, softmax

from .table import FloatArray, IntArray
from .truth import TrueEffects, contrasts, sobol_points
from .worlds import GaussianCovariates

__all__ = ["CLASS_WORLDS", "ClassWorld"]

_COLUMNS = (
    *("income", "savings", "age"),
    *("employment", "debt", "district"),
    *("shopping", "holidays"),
)


@dataclass(frozen=True, kw_only=True)
class ClassWorld(GaussianCovariates):
    """A world in which an application is refused, reviewed or accepted.

    ::

        P(y|X,z) = softmax of margins of three classes, with thresholds and an interaction

    z acts by itself, more where savings are high, and through employment, debt and district.
    """

    name: str = "classes"
    n_safe: int = 3
    n_indirect: int = 3

    def feature_names(self) -> tuple[str, ...]:
        """Return the name of each column of X."""
        return _COLUMNS

    def coefficients(self) -> FloatArray:
        """Return zeros: each class has a margin of its own."""
        return np.zeros(len(_COLUMNS))

    def means(self, X: FloatArray) -> FloatArray:
        """Return the share of each class at z=0 and z=1, of shape (n, 2, 3)."""
        income, savings, age, employment, debt, district, *_ = X.T
        refused = -0.4 - 0.5 * income + 0.4 * debt + 0.5 * (savings < -0.5) - 0.2 * employment
        reviewed = 0.2 + 0.3 * np.abs(age) - 0.25 * district + 0.3 * (income > 0.5) * debt
        accepted = 0.5 * savings + 0.3 * employment + 0.2 * income * (age > 0)
        at_zero = np.column_stack([refused, reviewed, accepted])
        direct = np.column_stack(
            [0.5 + 0.2 * np.tanh(savings), 0.1 * np.tanh(age), -0.6 - 0.2 * np.tanh(savings)]
        )
        return np.stack([softmax(at_zero, axis=1), softmax(at_zero + direct, axis=1)], axis=1)

    def draw_label(self, shares: FloatArray, z: IntArray, uniform: FloatArray) -> IntArray:
        """Return the class of each row: 0, 1 or 2."""
        own = shares[np.arange(len(z)), z].cumsum(axis=1)[:, :-1]
        return np.asarray((uniform[:, None] > own).sum(axis=1).astype(np.int64))

    def effects(self) -> TrueEffects:
        """Return contrasts of the four means m(z,z'), an array with a number for each class."""
        return contrasts(_integrate(self), self.probability_z)


@cache
def _integrate(world: ClassWorld) -> FloatArray:
    """Return m(z,z') at [z, z'] of each class as means over quasi-random points."""
    normal = ndtri(sobol_points(len(_COLUMNS), 0))
    return np.stack(
        [world.means(normal + population * world.shifts()).mean(axis=0) for population in (0, 1)],
        axis=1,
    )


CLASS_WORLDS: tuple[ClassWorld, ...] = (ClassWorld(),)
