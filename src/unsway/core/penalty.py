"""The one form of every fairness penalty: squared distances of a few linear statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array

#: How a statistic is held to its target; see `Distance.of`.
FORMS = ("match", "interval", "paper")


def identity(array: Array) -> Array:
    """Return the array itself: the sum over workers when there is one worker."""
    return array


@dataclass(frozen=True)
class Distance:
    """Squared distances h_k(ζ_k) of K statistics to where each is allowed to be.

    Statistic k is free inside its zone and pulled back from outside it::

        h_k(ζ) = (ζ − above_k)²  if ζ > high_k
                 (ζ − below_k)²  if ζ < low_k
                 0               in between

    Parameters
    ----------
    low, high : array of shape (K,)
        The zone in which a statistic costs nothing.
    below, above : array of shape (K,)
        What a statistic is pulled to from below and from above its zone.

    Notes
    -----
    h′ = 2(ζ − above) or 2(ζ − below) outside the zone and 0 inside; h″ = 2 outside and on its
    border, 0 inside.

    Examples
    --------
    >>> import numpy as np
    >>> distance = Distance.of(["interval"], np.array([0.5]))
    >>> [float(distance.value(np.array([zeta]))) for zeta in (-1.0, 0.25, 1.5)]
    [1.0, 0.0, 1.0]
    """

    low: Array
    high: Array
    below: Array
    above: Array

    @classmethod
    def of(cls, forms: Sequence[str], target: Array) -> Distance:
        """Build the distances from a form and a target t per statistic.

        ``match`` is (ζ−t)²; ``interval`` the squared distance to [min(0,t), max(0,t)]; ``paper``
        is 1(abs(ζ) > abs(t))·(ζ−t)² as printed, which jumps by 4t² at ζ = −t.
        """
        unknown = sorted(set(forms) - set(FORMS))
        if unknown:
            raise ValueError(f"unknown form {unknown[0]!r}; choose from {', '.join(FORMS)}")
        if len(forms) != len(target):
            raise ValueError(f"{len(forms)} forms for {len(target)} targets; give one each")
        target, form = np.asarray(target, dtype=float), np.asarray(forms)
        lower, upper = np.minimum(0, target), np.maximum(0, target)
        size = abs(target)
        return cls(
            low=np.select([form == "match", form == "interval"], [target, lower], -size),
            high=np.select([form == "match", form == "interval"], [target, upper], size),
            below=np.where(form == "interval", lower, target),
            above=np.where(form == "interval", upper, target),
        )

    def value(self, zeta: Array) -> Array:
        """Return Σ_k h_k(ζ_k)."""
        residual = self._residual(zeta)
        return (residual * residual).sum()

    def slope(self, zeta: Array) -> Array:
        """Return h′_k(ζ_k), K numbers."""
        return 2 * self._residual(zeta)

    def curvature(self, zeta: Array) -> Array:
        """Return h″_k(ζ_k), K numbers, each 0 or 2."""
        return ((zeta <= self.low) | (zeta >= self.high)) * (zeta * 0 + 2)

    def map(self, convert: Callable[[Array], Array]) -> Distance:
        """Return the same distances with every array converted."""
        return Distance(*map(convert, (self.low, self.high, self.below, self.above)))

    def _residual(self, zeta: Array) -> Array:
        return (zeta > self.high) * (zeta - self.above) + (zeta < self.low) * (zeta - self.below)


@dataclass(frozen=True)
class Penalty:
    """A fairness penalty: squared distances on K linear statistics of the scores.

    ::

        R(p) = Σ_k h_k(ζ_k),   ζ = Aᵀp

    Every criterion of the library is this with its own A and targets, so that one set of
    derivatives, one curvature bound and one reduction over workers serve them all.

    Parameters
    ----------
    matrix : array of shape (n, K)
        A, one row per person; sample weights are already inside.
    distance : Distance
        h, one per statistic.
    names : tuple of str
        What the K statistics are called.
    reduce : callable, default=identity
        Sums a small array over workers; the identity when all rows are here.
    spectral : float, optional
        A number ρ with A·Aᵀ ≤ ρ·diag(w), where the criterion knows one. It gives a tighter
        curvature bound than the rows alone.

    Notes
    -----
    Gradient A·h′(ζ), Hessian A·diag(h″)·Aᵀ of rank at most K. Only products, sums and
    comparisons are used, so NumPy, CuPy, torch and JAX arrays all serve.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    The mean score of the first two rows minus that of the last two, held to zero:

    >>> import numpy as np
    >>> A = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> parity = Penalty(A, Distance.of(["match"], np.zeros(1)), names=("gap",))
    >>> float(parity.value(np.array([1.0, 0.5, 0.25, 0.25])))
    0.25
    """

    matrix: Array
    distance: Distance
    names: tuple[str, ...]
    reduce: Callable[[Array], Array] = identity
    spectral: float | None = None

    @classmethod
    def none(cls, n_rows: int, reduce: Callable[[Array], Array] | None = None) -> Penalty:
        """Return the penalty on nothing: no statistics, always 0."""
        nothing = Distance.of((), np.zeros(0))
        return cls(np.zeros((n_rows, 0)), nothing, names=(), reduce=reduce or identity)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[1] != len(self.names):
            raise ValueError(
                f"matrix has shape {tuple(self.matrix.shape)}; expected one column for each of "
                f"the {len(self.names)} statistics"
            )

    def statistics(self, scores: Array) -> Array:
        """Return ζ = Aᵀp, summed over workers."""
        return self.reduce(self.matrix.T @ scores)

    def value(self, scores: Array) -> Array:
        """Return R(p)."""
        return self.distance.value(self.statistics(scores))

    def gradient(self, scores: Array) -> Array:
        """Return ∂R/∂p = A·h′(ζ), one number per row."""
        return self.matrix @ self.distance.slope(self.statistics(scores))

    def curvature(self, scores: Array) -> Array:
        """Return h″(ζ), K numbers: the Hessian in p is A·diag(h″)·Aᵀ."""
        return self.distance.curvature(self.statistics(scores))

    def map(self, convert: Callable[[Array], Array]) -> Penalty:
        """Return the same penalty in another array library or precision.

        ``penalty.map(torch.as_tensor)``, ``penalty.map(lambda a: a.astype("float32"))``.
        """
        return replace(self, matrix=convert(self.matrix), distance=self.distance.map(convert))
