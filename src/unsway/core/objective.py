"""What training minimises: (1−λ)·loss + λ·fairness, with its derivatives in the margin.

Fairness is a penalty on statistics of the scores, or the loss against shifted targets.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real

import numpy as np

from .arrays import Array
from .loss import Loss
from .penalty import Penalty


@dataclass(frozen=True)
class Losses:
    """The two halves of an objective at one model: the mean loss, and the fairness part."""

    utility: float
    penalty: float

    def whole(self, strength: float) -> float:
        """Return (1−λ)·utility + λ·penalty."""
        return (1 - strength) * self.utility + strength * self.penalty


@dataclass(frozen=True, kw_only=True)
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
    """The training objective f = (1−λ)·L + λ·R of a margin s, with scores p = μ(s).

    ::

        L = Σ_i w_i ℓ(s_i, y_i) / W,   W = Σ_i w_i

    L is a mean, so λ weighs it against R alike on ten rows and on ten million; boosters, which
    sum derivatives over rows, get those of W·f.

    With a ``shift`` d the second half is L itself, against the targets y + d. Since L is linear in
    its target, f is then the loss against y + λd, and λ = 1 is as good a model as any.

    Parameters
    ----------
    loss : Loss
        ℓ, with the mean μ of a margin.
    target : array of shape (n,)
        y.
    penalty : Penalty, optional
        R; none where a shift takes its place. Its ``reduce`` sums over workers.
    shift : array of shape (n,), optional
        d, what is added to the target at full strength.
    strength : float, default=0
        λ, at least 0 and below 1; with a shift it may be 1.
    sample_weight : array of shape (n,), optional
        w; a weight of 2 is the same as the row twice.

    Notes
    -----
    The derivatives are those of `Expansion`. ``value`` is differentiable by torch and JAX.

    Examples
    --------
    At the margin 0 every score is ½, the log-loss log 2, and parity holds:

    >>> import numpy as np
    >>> from unsway.core import Distance, LogLoss, Penalty
    >>> A = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> parity = Penalty(A, Distance.of(["match"], np.zeros(1)), names=("gap",))
    >>> y = np.array([1.0, 1.0, 0.0, 1.0])
    >>> objective = Objective(LogLoss(), y, penalty=parity, strength=0.5)
    >>> round(float(objective.value(np.zeros(4))), 6)
    0.346574
    """

    loss: Loss
    target: Array
    _: KW_ONLY
    penalty: Penalty = None  # type: ignore[assignment]  # set below where none is given
    shift: Array | None = None
    strength: float = 0.0
    sample_weight: Array | None = None

    def __post_init__(self) -> None:
        if self.penalty is None:
            object.__setattr__(self, "penalty", Penalty.none(len(self.target)))
        elif self.shift is not None and self.penalty.names:
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
        """Whether it is the loss alone: without a penalty, without a shift."""
        return self.shift is None and not self.penalty.names

    @property
    def fairness_name(self) -> str:
        """What the second half of the losses is called."""
        return "penalty" if self.shift is None else f"fair_{self.loss.name}"

    @property
    def utility_share(self) -> float:
        """The weight of the loss: 1−λ beside a penalty, 1 where targets are shifted."""
        return 1 - self.strength if self.shift is None else 1.0

    def shifted_target(self) -> Array:
        """Return y + λd, or y itself without a shift."""
        return self.target if self.shift is None else self.target + self.strength * self.shift

    def value(self, margin: Array) -> Array:
        """Return f(s)."""
        if self.shift is not None:
            return self.mean_loss(margin, self.shifted_target())
        fairness = self._penalty_value(margin)
        return (1 - self.strength) * self.mean_loss(margin) + self.strength * fairness

    def losses(self, margin: Array) -> Losses:
        """Return the two halves of f at a margin, for reports and for early stopping.

        Margins are held where a target that no label has would reward them without end (see
        `Loss.held_margin`), so that both halves have a lower bound. Derivatives are not touched.
        """
        rows = self.loss.rows(margin, self.target)
        if self.shift is None:
            return Losses(float(self._average(rows)), float(self._penalty_value(margin)))
        target = self.target + self.shift
        held = self.loss.held_margin(margin, target)
        if held is margin:  # ℓ is linear in the target: only a product is new
            fair = rows - self.shift * self.loss.reward(margin)
        else:
            fair = self.loss.rows(held, target)
        return Losses(float(self._average(rows)), float(self._average(fair)))

    def _penalty_value(self, margin: Array) -> Array | float:
        """Return R; 0 without a penalty, which margins of several classes never have."""
        return self.penalty.value(self.loss.mean(margin)[0]) if self.penalty.names else 0.0

    def _halves(self, margin: Array, fairness: Array | float) -> Losses:
        return Losses(float(self.mean_loss(margin)), float(fairness))

    def mean_loss(self, margin: Array, target: Array | None = None) -> Array:
        """Return L against the outcome or against another target, summed over workers."""
        return self._average(self.loss.rows(margin, self.target if target is None else target))

    def _average(self, rows: Array) -> Array:
        """Return the weighted mean of rows, those of all workers among them."""
        if self.sample_weight is not None:
            rows = rows * self.sample_weight
        return self.penalty.reduce(rows.sum().reshape(1))[0] / self.total_weight

    def expand(self, margin: Array) -> Expansion:
        """Return value, gradient and Hessian of W·f at a margin, in parts."""
        scores, density = self.loss.mean(margin)
        zeta = self.penalty.statistics(scores)
        distance, weight = self.penalty.distance, self.strength * self.total_weight
        pull = self.penalty.matrix @ (weight * distance.slope(zeta))
        pull *= density
        gradient = self.loss.gradient(scores, self.shifted_target())
        gradient *= self.utility_share
        curvature = self.utility_share * self.loss.curvature(scores, density)
        if self.sample_weight is not None:
            gradient *= self.sample_weight
            curvature *= self.sample_weight
        gradient += pull
        bend = self.loss.mean_curvature(scores)
        bend *= pull
        shifted = None if self.shift is None else self.target + self.shift
        fairness = distance.value(zeta) if shifted is None else self.mean_loss(margin, shifted)
        return Expansion(
            losses=self._halves(margin, fairness),
            statistics=zeta,
            gradient=gradient,
            utility_curvature=curvature,
            bend=bend,
            density=density,
            stiffness=weight * distance.curvature(zeta),
        )


def check_strength(strength: float, *, shifted: bool = False) -> None:
    """Raise unless 0 ≤ λ < 1; shifted targets allow 1 as well."""
    if isinstance(strength, (bool, np.bool_)) or not isinstance(strength, Real):
        raise TypeError(f"strength must be a number; got {strength!r}")
    if shifted and not 0 <= strength <= 1:
        raise ValueError(f"strength must be at least 0 and at most 1; got {strength!r}")
    if not shifted and not 0 <= strength < 1:
        raise ValueError(f"strength must be at least 0 and below 1; got {strength!r}")
