"""The objective's derivatives for boosters: float32, block by block, in buffers made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curvature import CURVATURES
from .objective import Objective, check_strength

Singles = NDArray[np.float32]

#: The choices by name, the default first.
BOOSTING_CURVATURES = ("adaptive", *CURVATURES)

_BLOCK_ROWS = 16_384
_RISE = 1.02  # a penalty this much larger than before has risen
_LENGTHEN, _SHORTEN = 0.95, 4.0
_SMALLEST_DAMPING = 0.1


class BoostingDerivatives:
    """Gradient and diagonal curvature of W·f at a margin, as `Objective` and `diagonal` give them.

    A booster asks for both once a round, so they must cost little beside growing a tree. Two passes
    over blocks that stay in the cache do it: the first finds p, p′ and the sums over all rows, the
    second combines them. Sums are kept in double precision.

    Parameters
    ----------
    objective : Objective
        What is minimised; each call brings its own strength.
    curvature : {"adaptive", "bound", "exact"}, default="bound"
        See `unsway.core.curvature`. ``"adaptive"`` is the bound with its shared part scaled by a
        factor of at most 1, which shrinks while the penalty falls from call to call and grows as
        soon as it rises: steps as long as the penalty allows.
    learning_rate : float, default=1
        η, by which the engine shrinks its step.

    Attributes
    ----------
    statistics : array of shape (K,)
        ζ at the last margin.
    damping : float
        The present factor of ``"adaptive"``, 1 otherwise.
    last_penalty : float
        The penalty that the next one is held against, infinite before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.core import Distance, LogLoss, Objective, Penalty
    >>> A = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> parity = Penalty(A, Distance.of(["match"], np.zeros(1)), names=("gap",))
    >>> y = np.array([1.0, 1.0, 0.0, 0.0])
    >>> objective = Objective(LogLoss(), y, penalty=parity, strength=0.5)
    >>> gradient, curvature = BoostingDerivatives(objective)(np.zeros(4, np.float32), strength=0.5)
    >>> gradient.tolist(), curvature.tolist()
    ([-0.25, -0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25])
    """

    def __init__(
        self, objective: Objective, curvature: str = "bound", learning_rate: float = 1.0
    ) -> None:
        if curvature not in BOOSTING_CURVATURES:
            raise ValueError(
                f"unknown curvature {curvature!r}; choose from {', '.join(BOOSTING_CURVATURES)}"
            )
        self.objective = self._in_single_precision(objective)
        self.curvature = curvature
        self.learning_rate = learning_rate
        self.statistics = np.zeros(len(objective.penalty.names))
        self.damping = 1.0
        self.last_penalty = np.inf
        self._exact = curvature == "exact"
        self._matrix = self.objective.penalty.matrix
        self._target, self._shift = self.objective.target, self.objective.shift
        self._weights = self.objective.sample_weight
        # Before the first tree a statistic often lies on a border of its zone, where rounding would
        # choose between two curvatures: a border that 1e-6 of score can reach counts as met.
        self._reach = 1e-6 * objective.penalty.reduce(self._column_sizes())
        self._prepare()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.objective, self.curvature, self.learning_rate)  # no buffers

    def fork(self) -> BoostingDerivatives:
        """Return the same in its present state; the two share their buffers, and take turns."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __call__(self, margin: NDArray[Any], strength: float) -> tuple[Singles, Singles]:
        """Return both at a margin; the arrays are overwritten by the next call."""
        check_strength(strength, shifted=self._shift is not None)
        penalty, total = self.objective.penalty, self.objective.total_weight
        self.statistics, sizes = self._sums(margin)
        if self.curvature == "adaptive":
            self._adapt()
        half_step = self.damping * self.learning_rate / 2
        stiffness = strength * total * self._stiffness()
        slope = strength * total * penalty.distance.slope(self.statistics)
        if self._exact:
            shares = stiffness
        elif penalty.spectral is None:
            shares = half_step * stiffness * sizes
        else:
            shares = np.array([half_step * penalty.spectral * stiffness.max()])
        self._fill(margin, slope.astype(np.float32), shares.astype(np.float32), strength)
        return self._gradient, self._curvature

    @staticmethod
    def _in_single_precision(objective: Objective) -> Objective:
        """Return the same objective with its columns in float32, so that the doubles can go."""
        return in_single_precision(objective, np.asarray, np.asfortranarray)

    def _column_sizes(self) -> NDArray[np.float64]:
        """Return Σ_i |A_ik|, K numbers."""
        return np.abs(self._matrix).sum(axis=0, dtype=np.float64)

    def _prepare(self) -> None:
        """Make the buffers that every call fills."""
        self._scores, self._density, self._gradient, self._curvature = (
            np.empty(len(self._target), dtype=np.float32) for _ in range(4)
        )
        self._spare = np.empty((3, _BLOCK_ROWS), dtype=np.float32)

    def _adapt(self) -> None:
        """Lengthen the next step a little if the penalty fell, shorten it a lot if it rose."""
        penalty = float(self.objective.penalty.distance.value(self.statistics))
        if penalty > _RISE * self.last_penalty:
            self.damping = min(1.0, self.damping * _SHORTEN)
        elif np.isfinite(self.last_penalty):
            self.damping = max(_SMALLEST_DAMPING, self.damping * _LENGTHEN)
        self.last_penalty = penalty

    def _stiffness(self) -> NDArray[np.float64]:
        """Return h″ at ζ, the larger where a border is within reach."""
        curvature = self.objective.penalty.distance.curvature
        nearby = (self.statistics - self._reach, self.statistics + self._reach)
        return np.maximum(*map(curvature, nearby))

    def _sums(self, margin: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Fill p and p′; return ζ = Aᵀp and, where the bound asks for it, |A|ᵀp′."""
        sums = np.zeros((2, self._matrix.shape[1]))
        rowwise = not self._exact and self.objective.penalty.spectral is None
        for rows in self._blocks():
            scores, density, matrix = self._scores[rows], self._density[rows], self._matrix[rows]
            self.objective.loss.fill_mean(margin[rows], scores, density)
            for k, column in enumerate(matrix.T):
                sums[0, k] += column @ scores
                if rowwise:
                    sums[1, k] += np.abs(column, out=self._spare[0, : len(column)]) @ density
        statistics, sizes = self.objective.penalty.reduce(sums)
        return statistics, sizes

    def _blocks(self) -> Iterator[slice]:
        starts = range(0, len(self._target), _BLOCK_ROWS)
        return (slice(first, first + _BLOCK_ROWS) for first in starts)

    def _fill(self, margin: NDArray[Any], slope: Singles, shares: Singles, strength: float) -> None:
        """Fill gradient and curvature of all rows from the sums."""
        for rows in self._blocks():
            self._combine(rows, slope, shares, strength)

    def _combine(self, rows: slice, slope: Singles, shares: Singles, strength: float) -> None:
        """Fill gradient and curvature of a block from the sums."""
        loss, scores, density = self.objective.loss, self._scores[rows], self._density[rows]
        gradient, curvature = self._gradient[rows], self._curvature[rows]
        spare = self._spare[2, : len(scores)]
        share = 1 - strength if self._shift is None else 1.0
        np.multiply(loss.gradient(scores, self._target[rows]), share, out=gradient)
        if self._shift is not None:  # taken off the gradient, which is exact; y + λd is rounded
            np.multiply(self._shift[rows], strength, out=spare)
            spare *= loss.target_slope(scores)
            gradient -= spare
        np.multiply(loss.curvature(scores, density), share, out=curvature)
        if self._weights is not None:
            gradient *= self._weights[rows]
            curvature *= self._weights[rows]
        if len(slope):
            self._add_penalty(rows, slope, shares)

    def _add_penalty(self, rows: slice, slope: Singles, shares: Singles) -> None:
        """Add what a penalty gives to gradient and curvature of a block."""
        scores, density = self._scores[rows], self._density[rows]
        gradient, curvature = self._gradient[rows], self._curvature[rows]
        pull, shared, spare = self._spare[:, : len(scores)]
        _weigh(self._matrix[rows], slope, pull, spare)
        pull *= density
        gradient += pull
        if self._exact or self.objective.penalty.spectral is None:
            change = np.square if self._exact else np.abs
            _weigh(self._matrix[rows], shares, shared, spare, change=change)
            shared *= density
            if self._exact:
                shared *= density
        else:
            np.multiply(density, density, out=shared)
            shared *= shares[0]
            if self._weights is not None:
                shared *= self._weights[rows]
        curvature += shared
        pull *= self.objective.loss.mean_curvature(scores)  # p″·[A h′], of either sign
        if not self._exact:
            np.maximum(pull, 0, out=pull)
        curvature += pull


def in_single_precision(
    objective: Objective, column: Callable[..., Any], matrix: Callable[..., Any]
) -> Objective:
    """Return the same objective in float32, by an array library's ``asarray`` and ``asfortran…``.

    The few numbers of the distance stay as they are.
    """
    weights, penalty = objective.sample_weight, objective.penalty
    single = replace(
        objective,
        target=column(objective.target, dtype=np.float32),
        penalty=replace(penalty, matrix=matrix(penalty.matrix, dtype=np.float32)),
        shift=None if objective.shift is None else column(objective.shift, dtype=np.float32),
        sample_weight=None if weights is None else column(weights, dtype=np.float32),
    )
    single.__dict__["_total_weight"] = objective.total_weight  # summed in double precision
    return single


def _weigh(
    matrix: Singles, weights: Singles, out: Singles, spare: Singles, change: Any = None
) -> None:
    """Fill out with Σ_k weights_k·column_k, each column changed first where asked."""
    for k, (weight, column) in enumerate(zip(weights, matrix.T, strict=True)):
        source = column if change is None else change(column, out=spare)
        np.multiply(source, weight, out=spare if k else out)
        if k:
            out += spare
