"""Nuisances of rows, and the fitted models that predict them for other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import Floats, Index
from ..core.arrays import on_host
from ..tables import row_count
from .class_shares import MeanModel
from .learners import FittedModel, side_by_side

#: Below this many rows several threads wait for each other longer than they work.
FEW_ROWS = 200_000


@dataclass(frozen=True)
class Nuisances:
    """What is needed about each row before effects can be estimated.

    Parameters
    ----------
    propensity : array of shape (n,) or (n, n_levels)
        b = P(z=1|X) of two levels, or P(z=l|X) of each of three or more, within the clipping
        bounds.
    outcome : array of shape (n, n_levels)
        μ_l, the mean outcome at the row's X under each level.
    n_clipped : int
        Rows whose propensity lay outside the bounds.
    shares : mapping of str to tuple of float
        Per nuisance, the weight of each stacked model.
    folds : array of int of shape (n,), optional
        The fold of each row: its models were trained on the others. None where that is not known,
        or the nuisances are means over several cross-fittings.
    unclipped : array of shape (n,), optional
        b of two levels as the models predict it, for what divides by no propensity.
    refined : tuple of str, default=()
        The given models that trees corrected; see `Refinement`.
    """

    propensity: Floats = field(repr=False)
    outcome: Floats = field(repr=False)
    n_clipped: int = 0
    shares: dict[str, tuple[float, ...]] = field(default_factory=dict)
    folds: Index | None = field(default=None, repr=False)
    unclipped: Floats | None = field(default=None, repr=False)
    refined: tuple[str, ...] = ()

    @classmethod
    def average(cls, several: Sequence[Nuisances]) -> Nuisances:
        """Return the mean of cross-fittings; its models have not seen the row either."""
        if len(several) == 1:
            return several[0]
        names = several[0].shares
        shares = {name: np.mean([each.shares[name] for each in several], axis=0) for name in names}
        unclipped = [each.unclipped for each in several if each.unclipped is not None]
        return cls(
            propensity=np.mean([each.propensity for each in several], axis=0),
            outcome=np.mean([each.outcome for each in several], axis=0),
            n_clipped=min(each.n_clipped for each in several),
            shares={name: tuple(mean.tolist()) for name, mean in shares.items()},
            unclipped=np.mean(unclipped, axis=0) if unclipped else None,
        )

    def take(self, rows: Index) -> Nuisances:
        """Return those of some rows."""
        each = {name: getattr(self, name) for name in ("folds", "unclipped")}
        some: dict[str, Any] = {
            name: None if values is None else values[rows] for name, values in each.items()
        }
        return Nuisances(self.propensity[rows], self.outcome[rows], shares=self.shares, **some)

    @property
    def propensities(self) -> Floats:
        """P(z=l|X) of each level, which sum to one."""
        return by_level(self.propensity)

    @property
    def effect(self) -> Floats:
        """τ̂ = μ₁ − μ₀, the direct effect at each row's X, of two levels."""
        if self.outcome.shape[1] != 2:
            raise ValueError("the effect of z is that between two levels; take a pair of levels")
        return self.outcome[:, 1] - self.outcome[:, 0]

    @property
    def mean(self) -> Floats:
        """m̂ = Σ b_l·μ_l, the mean outcome at each row's X."""
        if self.propensity.ndim == 2:
            return np.asarray((self.propensity * self.outcome).sum(axis=1))
        return self.outcome[:, 0] + self.propensity * self.effect

    def fair(self, weights: Sequence[float]) -> Floats:
        """Return f̂ = Σ w_l·μ_l, the fair score at each row's X."""
        return np.asarray(self.outcome @ np.asarray(weights))

    def pair(self, level: int, reference: int = 0) -> tuple[Floats, Floats]:
        """Return P(z=level | X, z one of the two), and both outcome means, the reference first."""
        b = self.propensities[:, [reference, level]]
        return b[:, 1] / b.sum(axis=1), self.outcome[:, [reference, level]]


@dataclass(frozen=True)
class Stack:
    """The models of one nuisance: several learners, each trained once per fold.

    Parameters
    ----------
    encoders : tuple of callable
        Of each learner.
    models : tuple of tuple of FittedModel
        Of each fold, of each learner.
    shares : tuple of float
        The weight of each model in the mixture.
    n_means : int, default=0
        1 if each model predicts the mean in every group, 0 if it predicts one mean.
    """

    encoders: tuple[Callable[[Any], Any], ...] = field(repr=False)
    models: tuple[tuple[FittedModel, ...], ...] = field(repr=False)
    shares: tuple[float, ...]
    n_means: int = 0

    def predict(self, X: Any) -> Floats:
        """Return the prediction for other rows, averaged over the folds."""
        tables = [encode(X) for encode in self.encoders]
        total: Any = 0.0
        for fold in self.models:
            parts = [m.predict(table) for m, table in zip(fold, tables, strict=True)]
            total = total + self.mixed(side_by_side(parts, self.n_means))
        return np.asarray(total / len(self.models))

    def mixed(self, predicted: Any) -> Floats:
        """Return predictions, of which the models are the last axis, mixed by their shares."""
        mixture: Any = 0.0
        for number, share in enumerate(self.shares):
            mixture = mixture + share * predicted[..., number]
        return np.asarray(on_host(mixture))


@dataclass(frozen=True)
class LevelStacks:
    """The propensities of three or more levels: a model of each against the rest, normalised.

    Each of them tends to P(z=l|X), so that their sum tends to one. The same models and the same
    trees serve two levels, many workers and a device.

    Parameters
    ----------
    stacks : tuple of Stack
        One for each level.
    """

    stacks: tuple[Stack, ...]

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """Those of all levels."""
        return tuple(each for stack in self.stacks for each in stack.encoders)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each model in the mixture, averaged over the levels."""
        return tuple(np.mean([each.shares for each in self.stacks], axis=0).tolist())

    def predict(self, X: Any) -> Floats:
        """Return P(z=l|X) of each level."""
        return self.joined([stack.predict(X) for stack in self.stacks])

    @staticmethod
    def joined(each: Sequence[Floats]) -> Floats:
        """Return one column per level, which sum to one.

        Examples
        --------
        >>> LevelStacks.joined([np.array([0.5]), np.array([0.25]), np.array([0.5])]).tolist()
        [[0.4, 0.2, 0.4]]
        """
        found = np.column_stack(each).clip(np.finfo(float).tiny)
        return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class ChainedStacks:
    """The propensities of the combinations of several attributes, one attribute after the other.

    ::

        P(z₁, z₂, … | X) = P(z₁|X)·P(z₂|X, z₁)·…

    The models of an attribute are of all combinations of those before it together, so that a
    combination of few rows, or of none, borrows from the others.

    Parameters
    ----------
    first : Stack or LevelStacks
        Of the first attribute.
    others : tuple of tuple of Stack
        Of each further attribute, one for each level, or one where it has two.
    """

    first: PropensityModels
    others: tuple[tuple[Stack, ...], ...]

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """Those of all attributes."""
        others = [each for stacks in self.others for stack in stacks for each in stack.encoders]
        return (*self.first.encoders, *others)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each model of the first attribute in the mixture."""
        return self.first.shares

    def predict(self, X: Any) -> Floats:
        """Return the propensity of each combination."""
        found = by_level(self.first.predict(X))
        for stacks in self.others:
            found = self.joined(found, [stack.predict(X) for stack in stacks])
        return found

    @staticmethod
    def joined(before: Floats, each: Sequence[Floats]) -> Floats:
        """Return the propensities of combinations with one more attribute.

        Parameters
        ----------
        before : array of shape (n, k)
            Those of the combinations of the attributes before it.
        each : sequence of array of shape (n, k)
            The propensity of each level, or of the second of two, in each of these combinations.

        Examples
        --------
        >>> before, each = np.array([[0.4, 0.6]]), [np.array([[0.5, 0.25]])]
        >>> ChainedStacks.joined(before, each).round(2).tolist()
        [[0.2, 0.2, 0.45, 0.15]]
        """
        parts = [1 - each[0], each[0]] if len(each) == 1 else each
        found = np.stack(parts, axis=-1).clip(np.finfo(float).tiny)
        found = before[:, :, None] * found / found.sum(axis=-1, keepdims=True)
        return np.asarray(found.reshape(len(before), -1))


#: What predicts the propensities.
PropensityModels: TypeAlias = "Stack | LevelStacks | ChainedStacks"


def by_level(b: Floats) -> Floats:
    """Return P(z=l|X) of each level, also where b is that of the second of two."""
    return b if b.ndim == 2 else np.column_stack([1 - b, b])


@dataclass(frozen=True)
class NuisanceModels:
    """The fitted models of the propensity b and of the outcome means.

    Parameters
    ----------
    propensity : Stack, LevelStacks or ChainedStacks
        Of b.
    outcome : tuple of MeanModel
        One of all groups, or one for each.
    clip : float
        The propensity is kept within [clip, 1−clip].
    """

    propensity: PropensityModels
    outcome: tuple[MeanModel, ...]
    clip: float

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """What reads a table for each of the models."""
        return tuple(each for model in (self.propensity, *self.outcome) for each in model.encoders)

    def predict(self, X: Any) -> Nuisances:
        """Return the nuisances of rows the models have not seen."""
        with threadpool_limits(1 if row_count(X) < FEW_ROWS else None):
            means = [stack.predict(X) for stack in self.outcome]
            return self.nuisances(self.propensity.predict(X), np.column_stack(means))

    def nuisances(self, b: Floats, means: Floats) -> Nuisances:
        """Return predictions as nuisances, the propensity clipped.

        Of L levels each propensity is at least 2/L times the bound.
        """
        shares = {"propensity": self.propensity.shares}
        for level in range(means.shape[1]):
            shares[f"outcome z={level}"] = self.outcome[min(level, len(self.outcome) - 1)].shares
        if b.ndim == 1:
            outside = (b < self.clip) | (b > 1 - self.clip)
            clipped = np.clip(b, self.clip, 1 - self.clip)
            return Nuisances(clipped, means, int(outside.sum()), shares, unclipped=b)
        least = self.clip * 2 / b.shape[1]
        clipped = LevelStacks.joined(list(np.clip(b, least, None).T))
        return Nuisances(clipped, means, int((b < least).any(axis=1).sum()), shares)
