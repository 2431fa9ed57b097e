"""What training minimises: (1−λ)·log-loss + λ·fairness, with its derivatives in the margin.

Fairness is a penalty on statistics of the scores, or the log-loss against shifted labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array, namespace, sigmoid, softplus
from .penalty import Penalty

#: Margin, of odds of a million, beyond which a target outside [0, 1] rewards no further step.
LARGEST_MARGIN = float(np.log(1e6))


@dataclass(frozen=True)
class Losses:
    """The two halves of an objective at one model: mean log-loss, and the fairness part."""

    utility: float
    penalty: float

    def whole(self, strength: float) -> float:
        """Return (1−λ)·utility + λ·penalty."""
        return (1 - strength) * self.utility + strength * self.penalty


@dataclass(frozen=True)
class Expansion:
    """The objective to second order around a margin, scaled by the total weight W.

    ::

        W·f(s + d) ≈ W·f(s) + gradientᵀd + ½ dᵀHd
        H = diag(utility_curvature + bend) + V·diag(stiffness)·Vᵀ,   V = diag(density)·A

    An engine takes what it can use: logistic regression all of it, a booster the gradient and a
    diagonal in place of H (see `unsway.core.curvature`).

    Parameters
    ----------
    losses : Losses
        The two halves of f, unscaled.
    statistics : array of shape (K,)
        ζ.
    gradient : array of shape (n,)
        (1−λ)·w(p−y) + λ·W·p′·[A h′].
    utility_curvature : array of shape (n,)
        (1−λ)·w·p′, never negative.
    bend : array of shape (n,)
        λ·W·p″·[A h′], of either sign.
    density : array of shape (n,)
        p′, which turns A into V.
    stiffness : array of shape (K,)
        λ·W·h″.
    """

    losses: Losses
    statistics: Array
    gradient: Array
    utility_curvature: Array
    bend: Array
    density: Array
    stiffness: Array


@dataclass(frozen=True)
class Objective:
    """The training objective f = (1−λ)·L + λ·R of a margin s, with p = σ(s).

    ::

        L = Σ_i w_i (log(1+exp(s_i)) − y_i s_i) / W,   W = Σ_i w_i

    L is a mean, so λ weighs it against R alike on ten rows and on ten million; boosters, which
    sum derivatives over rows, are handed those of W·f.

    With a ``shift`` d the second half is L itself, against the targets y + d. Since L is linear in
    its target, f is then the log-loss against y + λd, and λ = 1 is as good a model as any.

    Parameters
    ----------
    penalty : Penalty
        R; one without statistics where a shift takes its place.
    target : array of shape (n,)
        y: labels 0/1.
    strength : float
        λ, at least 0 and below 1; with a shift it may be 1.
    sample_weight : array of shape (n,), optional
        w; a weight of 2 is the same as the row twice.
    shift : array of shape (n,), optional
        d, what is added to the labels at full strength.

    Notes
    -----
    The derivatives are those of `Expansion`. ``value`` is differentiable by torch and JAX.

    Examples
    --------
    At the margin 0 every score is ½, the log-loss log 2, and parity holds:

    >>> import numpy as np
    >>> from unsway.core import Distance, Penalty
    >>> A = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> parity = Penalty(A, Distance.of(["match"], np.zeros(1)), names=("gap",))
    >>> objective = Objective(parity, np.array([1.0, 1.0, 0.0, 1.0]), strength=0.5)
    >>> round(float(objective.value(np.zeros(4))), 6)
    0.346574
    """

    penalty: Penalty
    target: Array
    strength: float
    sample_weight: Array | None = None
    shift: Array | None = None

    def __post_init__(self) -> None:
        if self.shift is not None and self.penalty.names:
            raise ValueError("an objective has a penalty or a shift, not both")
        check_strength(self.strength, shifted=self.shift is not None)

    def at(self, strength: float) -> Objective:
        """Return the same objective with another λ."""
        return replace(self, strength=strength)

    @property
    def total_weight(self) -> float:
        """W: the weights summed over all rows and workers, the number of rows without weights."""
        # Not a cached_property: Python 3.11's holds a lock, and workers in threads wait in reduce.
        known: float | None = self.__dict__.get("_total_weight")
        if known is None:
            rows = self.target.shape[0] if self.sample_weight is None else self.sample_weight.sum()
            known = float(self.penalty.reduce(np.array([float(rows)]))[0])
            self.__dict__["_total_weight"] = known
        return known

    @property
    def is_plain(self) -> bool:
        """Whether it is the log-loss alone: without a penalty, without a shift."""
        return self.shift is None and not self.penalty.names

    @property
    def fairness_name(self) -> str:
        """What the second half of the losses is called."""
        return "penalty" if self.shift is None else "fair_log_loss"

    @property
    def utility_share(self) -> float:
        """The weight of the log-loss: 1−λ beside a penalty, 1 where labels are shifted."""
        return 1 - self.strength if self.shift is None else 1.0

    def shifted_target(self) -> Array:
        """Return y + λd, or y itself without a shift."""
        return self.target if self.shift is None else self.target + self.strength * self.shift

    def value(self, margin: Array) -> Array:
        """Return f(s)."""
        if self.shift is not None:
            return self.log_loss(margin, self.shifted_target())
        scores, _ = sigmoid(margin)
        fairness = self.penalty.value(scores)
        return (1 - self.strength) * self.log_loss(margin) + self.strength * fairness

    def losses(self, margin: Array) -> Losses:
        """Return the two halves of f at a margin, for reports and for early stopping.

        Against a shifted target t > 1 the log-loss log(1+exp(s)) − t·s falls by t − 1 with every
        unit of s, without end, and likewise below 0: where a model can tell such rows from others,
        as it can where X nearly tells z, each step improves the loss and training never stops. Such
        a row therefore counts as if its margin had stopped at `LARGEST_MARGIN`, on that side alone:
        the loss has a lower bound, and is the log-loss itself for any score between one in a
        million and all but that. Derivatives are not touched.
        """
        if self.shift is not None:
            target = self.target + self.shift
            fair = self.log_loss(_held(margin, target), target)
            return Losses(float(self.log_loss(margin)), float(fair))
        scores, _ = sigmoid(margin)
        return self._halves(margin, float(self.penalty.value(scores)))

    def _halves(self, margin: Array, penalty: float) -> Losses:
        if self.shift is None:
            return Losses(float(self.log_loss(margin)), penalty)
        fair = self.log_loss(margin, self.target + self.shift)
        return Losses(float(self.log_loss(margin)), float(fair))

    def log_loss(self, margin: Array, target: Array | None = None) -> Array:
        """Return L against the labels or against another target, summed over workers."""
        rows = softplus(margin) - (self.target if target is None else target) * margin
        if self.sample_weight is not None:
            rows = rows * self.sample_weight
        return self.penalty.reduce(rows.sum().reshape(1))[0] / self.total_weight

    def expand(self, margin: Array) -> Expansion:
        """Return value, gradient and Hessian of W·f at a margin, in parts."""
        scores, density = sigmoid(margin)
        zeta = self.penalty.statistics(scores)
        distance, weight = self.penalty.distance, self.strength * self.total_weight
        pull = self.penalty.matrix @ (weight * distance.slope(zeta))
        pull *= density
        gradient = scores - self.shifted_target()
        gradient *= self.utility_share
        curvature = self.utility_share * density
        if self.sample_weight is not None:
            gradient *= self.sample_weight
            curvature *= self.sample_weight
        gradient += pull
        scores *= -2  # 1 − 2p in place of p, which is no longer needed
        scores += 1
        scores *= pull
        return Expansion(
            losses=self._halves(margin, float(distance.value(zeta))),
            statistics=zeta,
            gradient=gradient,
            utility_curvature=curvature,
            bend=scores,
            density=density,
            stiffness=weight * distance.curvature(zeta),
        )


def _held(margin: Array, target: Array) -> Array:
    """Return the margin, held at `LARGEST_MARGIN` on the side of a target outside [0, 1].

    Examples
    --------
    >>> _held(np.array([90.0, 90.0, -90.0, 2.0]), np.array([1.2, 1.0, 1.2, -0.2])).round(1).tolist()
    [13.8, 90.0, -90.0, 2.0]
    """
    xp = namespace(margin)
    margin = xp.where((target > 1) & (margin > LARGEST_MARGIN), LARGEST_MARGIN, margin)
    return xp.where((target < 0) & (margin < -LARGEST_MARGIN), -LARGEST_MARGIN, margin)


def check_strength(strength: float, *, shifted: bool = False) -> None:
    """Raise unless 0 ≤ λ < 1; shifted labels allow 1 as well."""
    if shifted and not 0 <= strength <= 1:
        raise ValueError(f"strength must be at least 0 and at most 1; got {strength!r}")
    if not shifted and not 0 <= strength < 1:
        raise ValueError(f"strength must be at least 0 and below 1; got {strength!r}")
