"""Losses of a margin s that are linear in their target t, in every form an engine asks for.

::

    ℓ(s, t) = a(s) − t·c(s),   minimised where the mean μ(s) equals E[t]

Linearity is what fair targets rest on: (1−λ)·ℓ(s, y) + λ·ℓ(s, y+d) = ℓ(s, y+λd). A target may lie
where no label can, since only its mean matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, namespace, sigmoid, softplus

Singles = NDArray[np.float32]

#: Margin, of odds of a million, beyond which a target outside [0, 1] rewards no further step.
LARGEST_MARGIN = float(np.log(1e6))

_BELOW_ZERO = -1e-9  # by more than rounding

_LOG_LOSS_SOURCE = r"""
__device__ float mean_of(float s, float* slope) {
  const float p = 1.0f / (1.0f + expf(-s));
  *slope = p * (1.0f - p);
  return p;
}
__device__ float gradient_of(float mean, float t) { return mean - t; }
__device__ float curvature_of(float mean, float slope) { return slope; }
__device__ float mean_curvature_of(float mean) { return 1.0f - 2.0f * mean; }
__device__ double loss_of(double s, double t, double* mean) {
  const double tail = exp(-fabs(s));
  *mean = (s >= 0.0 ? 1.0 : tail) / (1.0 + tail);
  return log1p(tail) + 0.5 * (fabs(s) + s) - t * s;
}
__device__ double held_margin(double s, double t) {
  const double most = LARGEST_MARGIN;
  return t > 1.0 ? fmin(s, most) : t < 0.0 ? fmax(s, -most) : s;
}
""".replace("LARGEST_MARGIN", repr(LARGEST_MARGIN))

_SQUARED_ERROR_SOURCE = r"""
__device__ float mean_of(float s, float* slope) { *slope = 1.0f; return s; }
__device__ float gradient_of(float mean, float t) { return mean - t; }
__device__ float curvature_of(float mean, float slope) { return 1.0f; }
__device__ float mean_curvature_of(float mean) { return 0.0f; }
__device__ double loss_of(double s, double t, double* mean) { *mean = s; return s * (0.5 * s - t); }
__device__ double held_margin(double s, double t) { return s; }
"""


class Loss(Protocol):
    """A loss that is linear in its target.

    Gradient and curvature are those of a canonical link; a loss with another link overrides them.
    The methods take NumPy, CuPy, torch and JAX arrays alike. Boosters ask for two more forms:
    ``fill_mean``, which writes into float32 buffers, and ``cuda_source``, the same for a device.

    Attributes
    ----------
    name : str
        What the loss is called in histories and reports.
    link : {"logit", "identity", "log", "softmax"}
        What the margin is of the mean.
    largest_step : float, default=inf
        Largest change of a margin by one tree, before the learning rate.
    cuda_source : str
        C++ functions ``mean_of(s, &slope)``, ``gradient_of(mean, t)``, ``curvature_of(mean,
        slope)``, ``mean_curvature_of(mean)`` in single, ``loss_of(s, t, &mean)`` in double
        precision, and ``held_margin(s, t)``; empty for a loss that is trained on the CPU alone.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    largest_step: ClassVar[float] = float("inf")

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        return ""

    def rows(self, margin: Array, target: Array) -> Array:
        """Return ℓ of each row."""

    def value(self, margin: Array, target: Array, weights: Array | None = None) -> Array:
        """Return the mean of ℓ over the rows; weights are relative to their own mean of 1."""
        losses = self.rows(margin, target)
        return (losses if weights is None else losses * weights).mean()

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return μ and its slope μ′ in the margin."""

    def gradient(self, mean: Array, target: Array) -> Array:
        """Return ∂ℓ/∂s of each row, linear in the target; μ − t for a canonical link."""
        return mean - target

    def reward(self, margin: Array) -> Array:
        """Return c(s): by how much the loss falls with each unit of the target."""
        return margin

    def target_slope(self, mean: Array) -> Array | float:
        """Return c′(s): by how much the gradient falls with each unit of the target."""
        return 1.0

    def curvature(self, mean: Array, slope: Array) -> Array:
        """Return the expected ∂²ℓ/∂s² of each row, never negative whatever the target."""
        return slope

    def mean_curvature(self, mean: Array) -> Array:
        """Return μ″/μ′, which penalties on the mean need."""

    def margin_of(self, mean: Array) -> Array:
        """Return the margin whose mean this is: the link function."""

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return the margin, held where a target that no label has would reward it without end.

        It is the margin itself where the loss has a lower bound for any target.
        """
        return margin

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether a linear model with this mean loss has been seen to have no minimum."""
        return False

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless y holds values that the loss is meant for."""

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write μ and μ′ of a block of rows into float32 buffers."""


@dataclass(frozen=True)
class LogLoss(Loss):
    """The log-loss of two classes, ℓ = log(1 + exp(s)) − t·s, with μ(s) = σ(s).

    Examples
    --------
    At the margin 0 the score is ½ and the loss of either label log 2:

    >>> import numpy as np
    >>> loss = LogLoss()
    >>> loss.rows(np.zeros(2), np.array([0.0, 1.0])).round(6).tolist()
    [0.693147, 0.693147]
    >>> mean, slope = loss.mean(np.zeros(1))
    >>> loss.gradient(mean, np.array([1.0])).tolist(), loss.curvature(mean, slope).tolist()
    ([-0.5], [0.25])
    """

    name: ClassVar[str] = "log_loss"
    link: ClassVar[str] = "logit"

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        return _LOG_LOSS_SOURCE

    def rows(self, margin: Array, target: Array) -> Array:
        """Return log(1 + exp(s)) − t·s of each row."""
        return softplus(margin) - target * margin

    def value(self, margin: Array, target: Array, weights: Array | None = None) -> Array:
        """Return the mean over the rows; weights are relative to their own mean of 1."""
        xp = namespace(margin)
        if hasattr(xp, "nn"):  # torch has this loss as one kernel
            return xp.nn.functional.binary_cross_entropy_with_logits(margin, target, weights)
        return super().value(margin, target, weights)

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return p = σ(s) and p′ = p(1−p), both accurate in the tails."""
        return sigmoid(margin)

    def mean_curvature(self, mean: Array) -> Array:
        """Return p″/p′ = 1 − 2p."""
        return 1 - 2 * mean

    def margin_of(self, mean: Array) -> Array:
        """Return the log-odds."""
        xp = namespace(mean)
        return xp.log(mean) - xp.log1p(-mean)

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return the margin, held at `LARGEST_MARGIN` on the side of a target outside [0, 1].

        Against a target t > 1 the loss falls by t − 1 with every unit of s, without end, and
        likewise below 0: where a model can tell such rows from others, as it can where X nearly
        tells z, each step improves the loss and training never stops. Held, the loss has a lower
        bound, and is the log-loss itself for any score between one in a million and all but that.

        Examples
        --------
        >>> import numpy as np
        >>> margin, target = np.array([90.0, 90.0, -90.0, 2.0]), np.array([1.2, 1.0, 1.2, -0.2])
        >>> LogLoss().held_margin(margin, target).round(1).tolist()
        [13.8, 90.0, -90.0, 2.0]
        """
        xp = namespace(margin)
        above = (target > 1) & (margin > LARGEST_MARGIN)
        below = (target < 0) & (margin < -LARGEST_MARGIN)
        if not (above.any() or below.any()):
            return margin
        margin = xp.where(above, LARGEST_MARGIN, margin)
        return xp.where(below, -LARGEST_MARGIN, margin)

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether the mean loss is below 0.

        Each row's log(1+exp(s)) − t·s is at least max(s, 0) − t·s, which doubles with s. Where the
        mean of the former is below 0, that of the latter is too, and the weights times any number
        give as low a value as one likes. Only targets outside [0, 1] can do that.
        """
        return value < _BELOW_ZERO

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every label is 0 or 1."""
        if not ((y == 0) | (y == 1)).all():
            raise ValueError("y must hold 0 and 1 alone")

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write p and p′ of a block of rows into float32 buffers."""
        np.negative(margin, out=mean, casting="same_kind")
        with np.errstate(over="ignore"):  # exp(−s) = ∞ is p = 0
            np.exp(mean, out=mean)  # NumPy's float32 exp is several times faster than SciPy's expit
        mean += 1
        np.reciprocal(mean, out=mean)
        np.subtract(1, mean, out=slope)
        np.multiply(mean, slope, out=slope)


@dataclass(frozen=True)
class SquaredError(Loss):
    """Half the squared error less what no model can change, ℓ = ½s² − t·s, with μ(s) = s.

    Examples
    --------
    >>> import numpy as np
    >>> loss = SquaredError()
    >>> loss.rows(np.array([3.0]), np.array([1.0])).tolist()
    [1.5]
    >>> loss.gradient(np.array([3.0]), np.array([1.0])).tolist()
    [2.0]
    """

    name: ClassVar[str] = "squared_error"
    link: ClassVar[str] = "identity"

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        return _SQUARED_ERROR_SOURCE

    def rows(self, margin: Array, target: Array) -> Array:
        """Return ½s² − t·s of each row."""
        return margin * (margin / 2 - target)

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return the margin itself, with slope 1."""
        return margin, margin * 0 + 1

    def mean_curvature(self, mean: Array) -> Array:
        """Return 0: the mean is a straight line in the margin."""
        return mean * 0

    def margin_of(self, mean: Array) -> Array:
        """Return the mean itself."""
        return mean

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every value is finite."""
        if not np.isfinite(y).all():
            raise ValueError("y must hold finite numbers")

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write the margin and 1 of a block of rows into float32 buffers."""
        mean[:] = margin
        slope[:] = 1
