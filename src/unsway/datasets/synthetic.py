"""Synthetic worlds in which the effects of the sensitive attribute are known exactly.

Every world is one :class:`World`, a handful of numbers in the same model::

    z           ~ Bernoulli(P(z=1))
    safe        ~ N(0, 1)         causes y
    indirect    ~ N(shift z, 1)   caused by z, causes y
    proxy       ~ N(shift z, 1)   caused by z, does not cause y
    noise       ~ N(0, 1)         touches nothing
    P(y=1|X,z)  = sigmoid(intercept + a.X + c (safe_0^2 - 1) + z (direct_effect + m.X))

The margin sees X through three Gaussian indices only, a.X, m.X and safe_0, so Gauss-Hermite
quadrature over those gives every effect to twelve digits, without simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Literal, get_args

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from .table import FloatArray, IntArray, one_of

__all__ = ["WORLDS", "SyntheticData", "TrueEffects", "World", "make_synthetic", "make_world"]

Role = Literal["safe", "indirect", "proxy", "noise"]
ROLES: tuple[Role, ...] = get_args(Role)

# Per axis: enough for twelve digits in every world below.
QUADRATURE_NODES = 48


@dataclass(frozen=True)
class World:
    """The parameters of one world; the defaults are the paper's.

    A role's coefficient (a, in the margin) and modifier (m, in the direct effect) belong to each
    of its variables; `curvature` is c.
    """

    name: str
    n_safe: int = 10
    n_indirect: int = 4
    n_proxy: int = 2
    n_noise: int = 0
    probability_z: float = 0.5
    indirect_shift: float = 1.0
    proxy_shift: float = 1.0
    intercept: float = 0.0
    safe_coefficient: float = 0.25
    indirect_coefficient: float = 0.25
    direct_effect: float = 1.25
    safe_modifier: float = 0.0
    indirect_modifier: float = 0.0
    curvature: float = 0.0

    def roles(self) -> tuple[Role, ...]:
        """Return the role of each column of X, in order."""
        counts = (self.n_safe, self.n_indirect, self.n_proxy, self.n_noise)
        return tuple(role for role, count in zip(ROLES, counts, strict=True) for _ in range(count))

    def by_column(self, **value_of_role: float) -> FloatArray:
        """Spread one value per role over the columns of X; roles left out get 0."""
        return np.array([value_of_role.get(role, 0.0) for role in self.roles()])

    def shifts(self) -> FloatArray:
        """Return E[X|z=1] - E[X|z=0]."""
        return self.by_column(indirect=self.indirect_shift, proxy=self.proxy_shift)

    def index_directions(self) -> FloatArray:
        """Return the 3-by-p matrix taking X to (a.X, m.X, safe_0), with 0 for an unused index."""
        linear = self.by_column(safe=self.safe_coefficient, indirect=self.indirect_coefficient)
        modifier = self.by_column(safe=self.safe_modifier, indirect=self.indirect_modifier)
        first_safe = np.eye(1, linear.size)[0] * (self.curvature != 0.0)
        return np.stack([linear, modifier, first_safe])

    def outcome_probability(self, indices: FloatArray, z: int | IntArray) -> FloatArray:
        """Return P(y=1|X,z) from the three indices of each row."""
        linear, modifier, first_safe = indices.T
        curved = self.curvature * (first_safe**2 - 1.0)
        return _sigmoid(self.intercept + linear + curved + z * (self.direct_effect + modifier))


_DEFINITIONS = (
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
)
_WORLDS = {world.name: world for world in _DEFINITIONS}
WORLDS: tuple[str, ...] = tuple(_WORLDS)


@dataclass(frozen=True, kw_only=True)
class TrueEffects:
    """The effects of z on y in the population, "z=1 minus z=0".

    With m(z,z') = E[E[y|z,X] | Z=z'], the gap between the groups splits into a direct and an
    indirect part, direct_reference + indirect_group = direct_group + indirect_reference. They are
    what an estimate or an audit should recover.

    Parameters
    ----------
    total : float
        E[y|z=1] - E[y|z=0] = m(1,1) - m(0,0).
    direct_reference, direct_group : float
        Natural direct effects on the z=0 and the z=1 population, m(1,z) - m(0,z).
    indirect_reference, indirect_group : float
        Natural indirect effects, m(z,1) - m(z,0).
    explained : float
        (indirect_reference + indirect_group)/2, the gap of the fair score.
    direct_everyone : float
        E[P(y=1|X,1) - P(y=1|X,0)] over the whole population: P(z=0) direct_reference +
        P(z=1) direct_group.

    Examples
    --------
    >>> effects = make_synthetic(1, random_state=0).effects
    >>> round(effects.direct_reference + effects.indirect_group, 6), round(effects.explained, 6)
    (0.375364, 0.166075)
    """

    total: float
    direct_reference: float
    direct_group: float
    indirect_reference: float
    indirect_group: float
    explained: float
    direct_everyone: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SyntheticData:
    """Rows drawn from a world, with the truth about them.

    Parameters
    ----------
    X : array of float64, shape (n, p)
        The covariates; z is not among them.
    y, z : arrays of int64, shape (n,)
        Label and sensitive attribute, 0 or 1.
    feature_names, roles : tuples of str, length p
        Such as "indirect_3", "indirect".
    coefficients : array of float64, shape (p,)
        The coefficients of X in the margin of y at z=0, curvature aside.
    propensity : array of float64, shape (n,)
        P(z=1|X).
    fair_score : array of float64, shape (n,)
        (P(y=1|X,z=1) + P(y=1|X,z=0))/2. In the population its gap between the groups is
        `explained`.
    effects : TrueEffects
        The effects in the population, not in these rows.
    world : str
        The name of the world.

    Examples
    --------
    >>> make_synthetic(100, random_state=0)
    SyntheticData(world='paper', 100 rows, 10 safe + 4 indirect + 2 proxy columns)
    """

    X: FloatArray
    y: IntArray
    z: IntArray
    feature_names: tuple[str, ...]
    roles: tuple[Role, ...]
    coefficients: FloatArray
    propensity: FloatArray
    fair_score: FloatArray
    effects: TrueEffects
    world: str

    def columns(self, role: Role) -> NDArray[np.intp]:
        """Return the positions in X of the columns with a role.

        Parameters
        ----------
        role : {"safe", "indirect", "proxy", "noise"}
            The role.

        Returns
        -------
        array of int
            The positions, in increasing order.

        Examples
        --------
        >>> make_synthetic(1, random_state=0).columns("proxy")
        array([14, 15])
        """
        one_of(role, ROLES, "role")
        return np.flatnonzero(np.array(self.roles) == role)

    def __repr__(self) -> str:
        """Name the world and count rows and columns; print no values."""
        counts = ((self.roles.count(role), role) for role in ROLES)
        columns = " + ".join(f"{count} {role}" for count, role in counts if count)
        return f"SyntheticData(world={self.world!r}, {self.y.size} rows, {columns} columns)"


def make_synthetic(
    n_samples: int = 10_000, *, random_state: int | np.random.Generator | None = None
) -> SyntheticData:
    """Draw rows from the synthetic world of the paper.

    Ten safe, four indirect and two proxy variables, and
    P(y=1|X,z) = sigmoid(.25 sum(safe) + .25 sum(indirect) + 1.25 z), with P(z=1) = 1/2.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of rows, at least 1.
    random_state : int, numpy.random.Generator or None, default=None
        The seed; the same one gives the same rows.

    Returns
    -------
    SyntheticData
        The rows, and the truth about them.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> data = make_synthetic(1000, random_state=0)
    >>> round(data.effects.total, 6)
    0.375364
    """
    return make_world("paper", n_samples, random_state=random_state)


def make_world(
    name: str,
    n_samples: int = 10_000,
    *,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticData:
    """Draw rows from one of the `WORLDS`.

    Parameters
    ----------
    name : str
        - "paper": see :func:`make_synthetic`; every other world is a variation of it
        - "varying_effect": the direct effect depends on X, and y is curved in safe_0
        - "poor_overlap": the proxies tell the groups apart
        - "imbalanced": P(z=1) = .1, P(y=1) about .05
        - "no_direct_effect": only the indirect effect is left
        - "opposed_effects": direct and indirect effect cancel
        - "many_noise_features": 50 columns of noise more
    n_samples : int, default=10_000
        Number of rows, at least 1.
    random_state : int, numpy.random.Generator or None, default=None
        The seed; the same one gives the same rows.

    Returns
    -------
    SyntheticData
        The rows, and the truth about them.

    Examples
    --------
    >>> effects = make_world("opposed_effects", 1, random_state=0).effects
    >>> round(effects.direct_reference, 6), round(effects.indirect_group, 6)
    (-0.200118, 0.200118)
    """
    n_rows = _whole_number(n_samples, 1, "n_samples must be an int of at least 1")
    if random_state is not None and not isinstance(random_state, np.random.Generator):
        allowed = "random_state must be None, a non-negative int or a numpy.random.Generator"
        random_state = _whole_number(random_state, 0, allowed)
    return _draw(_find_world(name), n_rows, np.random.default_rng(random_state))


def _draw(world: World, n_samples: int, rng: np.random.Generator) -> SyntheticData:
    """Draw the rows; noise comes last, so one seed gives the same signal with and without it."""
    roles, shifts, directions = world.roles(), world.shifts(), world.index_directions()
    n_signal = len(roles) - world.n_noise
    z = (rng.random(n_samples) < world.probability_z).astype(np.int64)
    signal = rng.standard_normal((n_samples, n_signal))
    uniform = rng.random(n_samples)
    X = np.hstack([signal, rng.standard_normal((n_samples, world.n_noise))])
    X += np.multiply.outer(z, shifts)

    indices = X @ directions.T
    y = (uniform < world.outcome_probability(indices, z)).astype(np.int64)
    log_odds_z = np.log(world.probability_z / (1 - world.probability_z))
    fair_score = (world.outcome_probability(indices, 0) + world.outcome_probability(indices, 1)) / 2
    return SyntheticData(
        X=X,
        y=y,
        z=z,
        feature_names=tuple(f"{role}_{i - roles.index(role)}" for i, role in enumerate(roles)),
        roles=roles,
        coefficients=directions[0],
        propensity=_sigmoid(log_odds_z + (X - shifts / 2) @ shifts),
        fair_score=fair_score,
        effects=_true_effects(world),
        world=world.name,
    )


def _true_effects(world: World) -> TrueEffects:
    """Integrate the four means m(z,z') and take their contrasts."""
    m00, m10 = _mean_outcomes(world, population=0)
    m01, m11 = _mean_outcomes(world, population=1)
    on_reference, on_group = m10 - m00, m11 - m01
    at_reference, at_group = m01 - m00, m11 - m10
    return TrueEffects(
        total=m11 - m00,
        direct_reference=on_reference,
        direct_group=on_group,
        indirect_reference=at_reference,
        indirect_group=at_group,
        explained=(at_reference + at_group) / 2,
        direct_everyone=(1 - world.probability_z) * on_reference + world.probability_z * on_group,
    )


def _mean_outcomes(world: World, population: int) -> tuple[float, float]:
    """Return m(0,z') and m(1,z'), z' the population, by tensor Gauss-Hermite quadrature."""
    directions = world.index_directions()
    # Given z the columns are independent with unit variance; keep only the axes that vary.
    variances, axes = np.linalg.eigh(directions @ directions.T)
    varies = variances > 1e-12 * variances.max()
    root = axes[:, varies] * np.sqrt(variances[varies])

    nodes, weights = hermegauss(QUADRATURE_NODES)
    n_axes = root.shape[1]
    grid = np.stack(np.meshgrid(*[nodes] * n_axes), axis=-1).reshape(-1, n_axes)
    grid_weights = np.prod(np.meshgrid(*[weights / weights.sum()] * n_axes), axis=0).ravel()
    indices = directions @ world.shifts() * population + grid @ root.T
    at_z0, at_z1 = (grid_weights @ world.outcome_probability(indices, z) for z in (0, 1))
    return float(at_z0), float(at_z1)


def _sigmoid(margin: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-margin))


def _find_world(name: str) -> World:
    one_of(name, WORLDS, "world")
    return _WORLDS[name]


def _whole_number(value: int, minimum: int, requirement: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{requirement}; got {value!r}")
    if value < minimum:
        raise ValueError(f"{requirement}; got {value!r}")
    return int(value)
