"""Worlds with Gaussian covariates whose effects Gauss-Hermite quadrature gives exactly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr

from .table import FloatArray, IntArray
from .truth import TrueEffects, contrasts

__all__ = ["INDEX_WORLDS", "AnyWorld", "GaussianCovariates", "Role", "SignWorld", "World"]

Role = Literal["safe", "indirect", "proxy", "noise"]
ROLES: tuple[Role, ...] = get_args(Role)

# Per axis: enough for twelve digits in every world below.
QUADRATURE_NODES = 48

#: Covariates, z, and the uniform numbers that y is drawn with.
Draw = tuple[FloatArray, IntArray, FloatArray]


class AnyWorld(Protocol):
    """What `make_world` needs to know of a world."""

    @property
    def name(self) -> str:
        """The name."""

    def roles(self) -> tuple[Role, ...]:
        """Return the role of each column of X."""

    def feature_names(self) -> tuple[str, ...]:
        """Return the name of each column of X."""

    def coefficients(self) -> FloatArray:
        """Return the linear coefficients of X in the margin of y at z=0."""

    def draw(self, n_samples: int, rng: np.random.Generator) -> Draw:
        """Return covariates, z, and a uniform number for each row."""

    def propensity(self, X: FloatArray) -> FloatArray:
        """Return P(z=1|X)."""

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return P(y=1|X,z=0) and P(y=1|X,z=1) as two columns."""

    def effects(self) -> TrueEffects:
        """Return the effects in the population."""


@dataclass(frozen=True)
class GaussianCovariates:
    """Covariates that are independent and Gaussian given z; the defaults are the paper's.

    ::

        z           ~ Bernoulli(P(z=1))
        safe        ~ N(0, 1)         causes y
        indirect    ~ N(shift z, 1)   caused by z, causes y
        proxy       ~ N(shift z, 1)   caused by z, does not cause y
        noise       ~ N(0, 1)         independent of everything
    """

    name: str
    n_safe: int = 10
    n_indirect: int = 4
    n_proxy: int = 2
    n_noise: int = 0
    probability_z: float = 0.5
    indirect_shift: float = 1.0
    proxy_shift: float = 1.0

    def roles(self) -> tuple[Role, ...]:
        """Return the role of each column of X, in order."""
        counts = (self.n_safe, self.n_indirect, self.n_proxy, self.n_noise)
        return tuple(role for role, count in zip(ROLES, counts, strict=True) for _ in range(count))

    def feature_names(self) -> tuple[str, ...]:
        """Return names such as "indirect_3"."""
        roles = self.roles()
        return tuple(f"{role}_{i - roles.index(role)}" for i, role in enumerate(roles))

    def by_column(self, **value_of_role: float) -> FloatArray:
        """Spread one value per role over the columns of X; roles left out get 0."""
        return np.array([value_of_role.get(role, 0.0) for role in self.roles()])

    def shifts(self) -> FloatArray:
        """Return E[X|z=1] - E[X|z=0]."""
        return self.by_column(indirect=self.indirect_shift, proxy=self.proxy_shift)

    def draw(self, n_samples: int, rng: np.random.Generator) -> Draw:
        """Return covariates, z, and a uniform number for each row.

        Noise comes last, so that one seed gives the same signal with and without it.
        """
        z = (rng.random(n_samples) < self.probability_z).astype(np.int64)
        signal = rng.standard_normal((n_samples, len(self.roles()) - self.n_noise))
        uniform = rng.random(n_samples)
        X = np.hstack([signal, rng.standard_normal((n_samples, self.n_noise))])
        X += np.multiply.outer(z, self.shifts())
        return X, z, uniform

    def log_odds(self, X: FloatArray) -> FloatArray:
        """Return the log-odds of z=1 given X."""
        prior = np.log(self.probability_z / (1 - self.probability_z))
        shifts = self.shifts()
        return np.asarray(prior + (X - shifts / 2) @ shifts)

    def propensity(self, X: FloatArray) -> FloatArray:
        """Return P(z=1|X)."""
        return sigmoid(self.log_odds(X))


@dataclass(frozen=True)
class World(GaussianCovariates):
    """A world whose margin of y sees X through three Gaussian indices, a.X, m.X and safe_0.

    ::

        P(y=1|X,z)  = sigmoid(intercept + a.X + c (safe_0^2 - 1) + z (direct_effect + m.X))

    Gauss-Hermite quadrature over the indices gives every effect to twelve digits. A role's
    coefficient (a, in the margin) and modifier (m, in the direct effect) belong to each of its
    variables; `curvature` is c.
    """

    intercept: float = 0.0
    safe_coefficient: float = 0.25
    indirect_coefficient: float = 0.25
    direct_effect: float = 1.25
    safe_modifier: float = 0.0
    indirect_modifier: float = 0.0
    curvature: float = 0.0

    def coefficients(self) -> FloatArray:
        """Return a."""
        return self.by_column(safe=self.safe_coefficient, indirect=self.indirect_coefficient)

    def index_directions(self) -> FloatArray:
        """Return the 3-by-p matrix taking X to (a.X, m.X, safe_0), with 0 for an unused index."""
        linear = self.coefficients()
        modifier = self.by_column(safe=self.safe_modifier, indirect=self.indirect_modifier)
        first_safe = np.eye(1, linear.size)[0] * (self.curvature != 0.0)
        return np.stack([linear, modifier, first_safe])

    def outcome_probability(self, indices: FloatArray, z: int | IntArray) -> FloatArray:
        """Return P(y=1|X,z) from the three indices of each row."""
        linear, modifier, first_safe = indices.T
        curved = self.curvature * (first_safe**2 - 1.0)
        return sigmoid(self.intercept + linear + curved + z * (self.direct_effect + modifier))

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return P(y=1|X,z=0) and P(y=1|X,z=1) as two columns."""
        indices = X @ self.index_directions().T
        return np.column_stack([self.outcome_probability(indices, z) for z in (0, 1)])

    def effects(self) -> TrueEffects:
        """Integrate the four means m(z,z') and take their contrasts."""
        means = np.column_stack([self._means(population) for population in (0, 1)])
        return contrasts(means, self.probability_z)

    def _means(self, population: int) -> FloatArray:
        """Return m(0,z') and m(1,z'), z' the population, by tensor Gauss-Hermite quadrature."""
        directions = self.index_directions()
        # Given z the columns are independent with unit variance; keep only the axes that vary.
        variances, axes = np.linalg.eigh(directions @ directions.T)
        varies = variances > 1e-12 * variances.max()
        root = axes[:, varies] * np.sqrt(variances[varies])

        nodes, weights = hermegauss(QUADRATURE_NODES)
        n_axes = root.shape[1]
        grid = np.stack(np.meshgrid(*[nodes] * n_axes), axis=-1).reshape(-1, n_axes)
        grid_weights = np.prod(np.meshgrid(*[weights / weights.sum()] * n_axes), axis=0).ravel()
        indices = directions @ self.shifts() * population + grid @ root.T
        return np.array([grid_weights @ self.outcome_probability(indices, z) for z in (0, 1)])


@dataclass(frozen=True, kw_only=True)
class SignWorld(GaussianCovariates):
    """A world whose margin of y has products of four signs.

    ::

        P(y=1|X,z)  = sigmoid(a.X + w (s_1 + s_2) + direct_effect z)
        s_k         = the product of sign(x - threshold) over four columns

    No column of a product has a linear part. Given z the two products and a.X are independent, and
    quadrature over a.X for each sign of the products gives every effect to twelve digits.
    """

    products: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3), (4, 5, 10, 11))
    weight: float = 0.6
    threshold: float = 0.5
    coefficient: float = 0.25
    direct_effect: float = 1.25

    def coefficients(self) -> FloatArray:
        """Return a."""
        linear = self.by_column(safe=self.coefficient, indirect=self.coefficient)
        linear[np.concatenate(self.products)] = 0.0
        return linear

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return P(y=1|X,z=0) and P(y=1|X,z=1) as two columns."""
        signs = [np.sign(X[:, columns] - self.threshold).prod(axis=1) for columns in self.products]
        margin = X @ self.coefficients() + self.weight * np.sum(signs, axis=0)
        return np.column_stack([sigmoid(margin), sigmoid(margin + self.direct_effect)])

    def effects(self) -> TrueEffects:
        """Integrate the four means m(z,z') and take their contrasts."""
        means = np.column_stack([self._means(population) for population in (0, 1)])
        return contrasts(means, self.probability_z)

    def _means(self, population: int) -> FloatArray:
        """Return m(0,z') and m(1,z'), z' the population."""
        linear, centres = self.coefficients(), self.shifts() * population
        nodes, weights = hermegauss(QUADRATURE_NODES)
        index = linear @ centres + np.linalg.norm(linear) * nodes
        # E[sign(x - threshold)] of each column, whose product is that of the product.
        mean_signs = 2 * ndtr(centres - self.threshold) - 1
        expected = [mean_signs[list(columns)].prod() for columns in self.products]
        means = np.zeros(2)
        for signs in product((-1, 1), repeat=len(self.products)):
            chance = np.prod([(1 + s * mean) / 2 for s, mean in zip(signs, expected, strict=True)])
            margin = index + self.weight * sum(signs)
            for z in (0, 1):
                mean = weights @ sigmoid(margin + z * self.direct_effect) / weights.sum()
                means[z] += chance * mean
        return means


def sigmoid(margin: FloatArray) -> FloatArray:
    """Return 1/(1 + exp(-margin))."""
    return np.asarray(1.0 / (1.0 + np.exp(-margin)))


INDEX_WORLDS: tuple[World, ...] = (
    World("paper"),
    World(
        "varying_effect",
        direct_effect=0.5,
        safe_modifier=-0.2,
        indirect_modifier=0.25,
        curvature=0.5,
    ),
    # Only the proxies move further apart: harder to compare the groups, same truths.
    World("poor_overlap", proxy_shift=2.0),
    World("imbalanced", probability_z=0.1, intercept=-3.8),
    World("no_direct_effect", direct_effect=0.0),
    # 4 indirect variables x shift 1 x coefficient .25 = +1: z's two effects cancel and total = 0.
    World("opposed_effects", direct_effect=-1.0),
    World("many_noise_features", n_noise=50),
    World("small_group", probability_z=0.03),
)
