"""Synthetic worlds in which the effects of the sensitive attribute are known."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .adult_world import AdultWorld
from .class_worlds import CLASS_WORLDS as _CLASSES
from .class_worlds import ClassWorld
from .formula_worlds import FORMULA_WORLDS
from .number_worlds import NUMBER_WORLDS as _NUMBERS
from .number_worlds import NumberWorld
from .table import FloatArray, IntArray, one_of
from .truth import TrueEffects
from .worlds import INDEX_WORLDS, ROLES, AnyWorld, Role, SignWorld

__all__ = [
    "CLASS_WORLDS",
    "NUMBER_WORLDS",
    "WORLDS",
    "SyntheticData",
    "make_synthetic",
    "make_world",
]

# Products of four signs; the groups overlap better than in the paper's world.
_DEEP = SignWorld(name="deep", indirect_shift=0.5, proxy_shift=0.5)
_ALL: tuple[AnyWorld, ...] = (*INDEX_WORLDS, *FORMULA_WORLDS, _DEEP, AdultWorld())
_WORLDS = {world.name: world for world in _ALL}
#: Worlds of labels.
WORLDS: tuple[str, ...] = tuple(_WORLDS)
_NUMBER_WORLDS = {world.name: world for world in _NUMBERS}
#: Worlds of counts, amounts and wages.
NUMBER_WORLDS: tuple[str, ...] = tuple(_NUMBER_WORLDS)
_CLASS_WORLDS = {world.name: world for world in _CLASSES}
#: Worlds of labels of several classes.
CLASS_WORLDS: tuple[str, ...] = tuple(_CLASS_WORLDS)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SyntheticData:
    """Rows drawn from a world, with the truth about them.

    Parameters
    ----------
    X : array of float64, shape (n, p)
        The covariates; z is not among them. NaN where a value is missing.
    y, z : arrays of shape (n,)
        Label, 0 or 1, or the position of its class, or a number; and the sensitive attribute, 0 or
        1.
    feature_names, roles : tuples of str, length p
        Such as "indirect_3", "indirect". A safe column causes y and does not depend on z; an
        indirect one does both; a proxy depends on z and does not cause y; noise does neither.
    coefficients : array of float64, shape (p,)
        The linear part of the margin of y at z=0; curves, thresholds and products come on top, and
        0 stands for a column that has no linear part.
    propensity : array of float64, shape (n,)
        P(z=1|X).
    fair_score : array of float64, shape (n,) or (n, C)
        (P(y=1|X,z=1) + P(y=1|X,z=0))/2, or the same of the means of a number per exposure, or of
        the share of each of C classes. In the population its gap between the groups is `explained`.
    effects : TrueEffects
        The effects in the population, not in these rows.
    world : str
        The name of the world.
    loss : str, default="log_loss"
        The loss that suits y.
    exposure : array of float64, shape (n,), optional
        Where y is the total of an exposure, such as the claims of part of a year.

    Examples
    --------
    >>> make_synthetic(100, random_state=0)
    SyntheticData(world='paper', 100 rows, 10 safe + 4 indirect + 2 proxy columns)
    """

    X: FloatArray
    y: NDArray[Any]
    z: IntArray
    feature_names: tuple[str, ...]
    roles: tuple[Role, ...]
    coefficients: FloatArray
    propensity: FloatArray
    fair_score: FloatArray
    effects: TrueEffects
    world: str
    loss: str = "log_loss"
    exposure: FloatArray | None = None

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
    """Draw rows from one of the `WORLDS`, the `NUMBER_WORLDS` or the `CLASS_WORLDS`.

    Parameters
    ----------
    name : str
        - "paper": see :func:`make_synthetic`; every other one but "adult" is a variation of it
        - "varying_effect": the direct effect depends on X, and y is curved in safe_0
        - "poor_overlap": the proxies tell the groups apart
        - "imbalanced": P(z=1) = .1, P(y=1) about .05
        - "no_direct_effect": only the indirect effect is left
        - "opposed_effects": direct and indirect effect cancel
        - "many_noise_features": 50 columns of noise more
        - "small_group": P(z=1) = .03
        - "missing_by_group": the indirect columns and two safe ones are NaN in a tenth of the rows
          with z=0 and in 35 % of those with z=1. A missing value counts as 0 in the margin of y;
          propensity and fair score are those given what is observed
        - "steps": y and the direct effect depend on thresholds and interactions of safe and
          indirect columns; the shifts are .5, so that the groups overlap better
        - "wave": the direct effect on the margin is .75 + 1.25 sin(1.5 log-odds of z given X),
          which the proxies therefore change too
        - "deep": y depends on two products of the signs of four columns; the shifts are .5
        - "adult": the covariates are those of Adult, 6 numbers and 31 columns of 0 and 1; z and y
          are drawn from formulas with thresholds and interactions. P(z=1) = .56, P(y=1) = .27,
          the propensities lie between .11 and .92, the direct effect is .10 on average. The roles
          say which of the two formulas a column is in. Rows repeat where `n_samples` is above
          48,842; another draw has rows with the same covariates, and other z and y
        - "claims": claims of a part of a year, with that part as `exposure`, which is longer for
          z=1. z adds about a third, by itself and through vehicle and region
        - "severity": the amount of a claim
        - "pure_premium": the amounts of all claims of a part of a year
        - "wages": pay in a month, lower for z=1 by itself and through occupation and hours
        - "classes": an application is refused, reviewed or accepted, 0, 1 or 2; z=1 is refused more
          often by itself and through employment, debt and district
    n_samples : int, default=10_000
        Number of rows, at least 1.
    random_state : int, numpy.random.Generator or None, default=None
        The seed; the same one gives the same rows.

    Returns
    -------
    SyntheticData
        The rows, and the truth about them.

    Notes
    -----
    `propensity` and `fair_score` are exact. The effects are exact to twelve digits (quadrature; in
    "adult" sums over the 48,842 rows of the table, which are the population). Those of
    "missing_by_group", "steps", "wave", "classes" and the worlds of numbers are quasi-random
    integrals over 2^17 points, with a standard error below .0001, or below .0001 of the mean of a
    number.

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
    rng = np.random.default_rng(random_state)
    if name in _NUMBER_WORLDS:
        return _draw_numbers(_NUMBER_WORLDS[name], n_rows, rng)
    if name in _CLASS_WORLDS:
        return _draw_classes(_CLASS_WORLDS[name], n_rows, rng)
    return _draw(_find_world(name), n_rows, rng)


def _draw_numbers(world: NumberWorld, n_samples: int, rng: np.random.Generator) -> SyntheticData:
    """Draw the rows of a world of numbers."""
    X, z, _ = world.draw(n_samples, rng)
    means, exposure = world.means(X), world.draw_exposure(z, rng)
    return SyntheticData(
        X=X,
        y=world.noise(means[np.arange(n_samples), z], exposure, rng),
        z=z,
        feature_names=world.feature_names(),
        roles=world.roles(),
        coefficients=world.coefficients(),
        propensity=world.propensity(X),
        fair_score=means.mean(axis=1),
        effects=world.effects(),
        world=world.name,
        loss=world.loss,
        exposure=None if world.least_exposure is None else exposure,
    )


def _draw_classes(world: ClassWorld, n_samples: int, rng: np.random.Generator) -> SyntheticData:
    """Draw the rows of a world of several classes."""
    X, z, uniform = world.draw(n_samples, rng)
    shares = world.means(X)
    return SyntheticData(
        X=X,
        y=world.draw_label(shares, z, uniform),
        z=z,
        feature_names=world.feature_names(),
        roles=world.roles(),
        coefficients=world.coefficients(),
        propensity=world.propensity(X),
        fair_score=shares.mean(axis=1),
        effects=world.effects(),
        world=world.name,
    )


def _draw(world: AnyWorld, n_samples: int, rng: np.random.Generator) -> SyntheticData:
    """Draw the rows of a world."""
    X, z, uniform = world.draw(n_samples, rng)
    outcome = world.outcome_probabilities(X)
    return SyntheticData(
        X=X,
        y=(uniform < outcome[np.arange(n_samples), z]).astype(np.int64),
        z=z,
        feature_names=world.feature_names(),
        roles=world.roles(),
        coefficients=world.coefficients(),
        propensity=world.propensity(X),
        fair_score=outcome.mean(axis=1),
        effects=world.effects(),
        world=world.name,
    )


def _find_world(name: str) -> AnyWorld:
    one_of(name, (*WORLDS, *NUMBER_WORLDS, *CLASS_WORLDS), "world")
    return _WORLDS[name]


def _whole_number(value: int, minimum: int, requirement: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{requirement}; got {value!r}")
    if value < minimum:
        raise ValueError(f"{requirement}; got {value!r}")
    return int(value)
