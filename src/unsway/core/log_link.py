"""Losses whose mean is the exponential of the margin: counts, amounts, and totals with zeros.

Targets are expected in units of their mean, so that a margin of 0 is where training starts. The
step of a booster is capped at `LARGEST_STEP`: where targets average below 0 the loss falls with
every step downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, namespace
from .loss import Loss, Singles

#: Largest change of a margin by one tree, before the learning rate.
LARGEST_STEP = 0.7

#: Margin, of a thousandth of the mean, below which a target below 0 rewards no further step.
LOWEST_MARGIN = float(np.log(1e-3))

_NO_MINIMUM = 2 * LOWEST_MARGIN  # a millionth of the mean, where no target is

_MEAN_SOURCE = r"""
__device__ float mean_of(float s, float* slope) { return *slope = expf(s); }
__device__ float mean_curvature_of(float mean) { return 1.0f; }
__device__ double held_margin(double s, double t) { return t < FLOOR ? fmax(s, LOWEST) : s; }
"""


@dataclass(frozen=True)
class Poisson(Loss):
    """The loss of counts, ℓ = μ − t·s with μ(s) = exp(s): a rate, where rows have an exposure.

    Up to a constant of the target it is half the Poisson deviance.

    Examples
    --------
    At the margin 0 the mean is 1, and one event costs as much as none:

    >>> import numpy as np
    >>> loss = Poisson()
    >>> loss.rows(np.zeros(2), np.array([0.0, 1.0])).tolist()
    [1.0, 1.0]
    >>> mean, slope = loss.mean(np.zeros(1))
    >>> loss.gradient(mean, np.array([3.0])).tolist(), loss.curvature(mean, slope).tolist()
    ([-2.0], [1.0])
    """

    name: ClassVar[str] = "poisson"
    link: ClassVar[str] = "log"
    largest_step: ClassVar[float] = LARGEST_STEP

    @property
    def power(self) -> float:
        """r, where the variance is in proportion to μ^r."""
        return 1.0

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        return (
            _source(0.0)
            + r"""
__device__ float gradient_of(float mean, float t) { return mean - t; }
__device__ float curvature_of(float mean, float slope) { return mean; }
__device__ double loss_of(double s, double t, double* mean) {
  *mean = exp(s);
  return *mean - t * s;
}
"""
        )

    def rows(self, margin: Array, target: Array) -> Array:
        """Return μ − t·s of each row."""
        return namespace(margin).exp(margin) - target * margin

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return μ = exp(s), which is its own slope."""
        return _mean(margin)

    def mean_curvature(self, mean: Array) -> Array:
        """Return μ″/μ′ = 1."""
        return mean * 0 + 1

    def margin_of(self, mean: Array) -> Array:
        """Return the logarithm."""
        return namespace(mean).log(mean)

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return the margin, held at `LOWEST_MARGIN` where the target is below 0."""
        return _held(margin, target < 0)

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether rows whose targets sum to less than 0 have nearly no mean left."""
        return _sinks(margin, target)

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every count is finite and at least 0, and not all of them are 0."""
        _check_not_negative(y, "counts")

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write μ twice."""
        _fill_exponential(margin, mean, slope)


@dataclass(frozen=True)
class Gamma(Loss):
    """The loss of positive amounts, ℓ = t/μ + s with μ(s) = exp(s).

    Up to a constant of the target it is half the gamma deviance. Its gradient 1 − t/μ has no unit.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Gamma()
    >>> loss.rows(np.log([2.0]), np.array([4.0])).round(6).tolist()  # 4/2 + log 2
    [2.693147]
    >>> mean, slope = loss.mean(np.log([2.0]))
    >>> loss.gradient(mean, np.array([4.0])).tolist(), loss.curvature(mean, slope).tolist()
    ([-1.0], [1.0])
    """

    name: ClassVar[str] = "gamma"
    link: ClassVar[str] = "log"
    largest_step: ClassVar[float] = LARGEST_STEP

    @property
    def power(self) -> float:
        """r, where the variance is in proportion to μ^r."""
        return 2.0

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        return (
            _source(1e-12)
            + r"""
__device__ float gradient_of(float mean, float t) { return 1.0f - t / mean; }
__device__ float curvature_of(float mean, float slope) { return 1.0f; }
__device__ double loss_of(double s, double t, double* mean) {
  *mean = exp(s);
  return t * exp(-s) + s;
}
"""
        )

    def rows(self, margin: Array, target: Array) -> Array:
        """Return t·exp(−s) + s of each row."""
        return target * namespace(margin).exp(-margin) + margin

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return μ = exp(s), which is its own slope."""
        return _mean(margin)

    def gradient(self, mean: Array, target: Array) -> Array:
        """Return 1 − t/μ."""
        return 1 - target / mean

    def reward(self, margin: Array) -> Array:
        """Return −exp(−s)."""
        return -namespace(margin).exp(-margin)

    def target_slope(self, mean: Array) -> Array:
        """Return 1/μ."""
        return 1 / mean

    def curvature(self, mean: Array, slope: Array) -> Array:
        """Return 1: the second derivative t/μ where the target is its mean."""
        return mean * 0 + 1

    def mean_curvature(self, mean: Array) -> Array:
        """Return μ″/μ′ = 1."""
        return mean * 0 + 1

    def margin_of(self, mean: Array) -> Array:
        """Return the logarithm."""
        return namespace(mean).log(mean)

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return the margin, held at `LOWEST_MARGIN` where the target is not above 0."""
        return _held(margin, target <= 0)

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether rows whose targets sum to less than 0 have nearly no mean left."""
        return _sinks(margin, target)

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every amount is finite and above 0."""
        _check_not_negative(y, "amounts")
        zeros = int((y == 0).sum())
        if zeros:
            raise ValueError(
                f"y has {zeros} amounts of zero, which loss='gamma' does not allow; leave those "
                "rows out, or use loss='tweedie'"
            )

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write μ twice."""
        _fill_exponential(margin, mean, slope)


@dataclass(frozen=True)
class Tweedie(Loss):
    """The loss of totals, zero or positive: ℓ = μ^(2−r)/(2−r) − t·μ^(1−r)/(1−r), μ(s) = exp(s).

    Up to a constant of the target it is half the Tweedie deviance.

    Parameters
    ----------
    power : float, default=1.5
        r, above 1 (Poisson) and below 2 (gamma): the variance is in proportion to μ^r.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Tweedie(1.5)
    >>> loss.rows(np.log([4.0]), np.array([1.0])).round(6).tolist()  # 2·√4 + 2/√4
    [5.0]
    >>> mean, slope = loss.mean(np.log([4.0]))
    >>> gradient, curvature = loss.gradient(mean, np.ones(1)), loss.curvature(mean, slope)
    >>> gradient.round(6).tolist(), curvature.round(6).tolist()  # (4−1)/√4 and √4
    ([1.5], [2.0])
    """

    power: float = 1.5
    name: ClassVar[str] = "tweedie"
    link: ClassVar[str] = "log"
    largest_step: ClassVar[float] = LARGEST_STEP

    def __post_init__(self) -> None:
        if not 1 < self.power < 2:
            raise ValueError(f"power must be above 1 and below 2; got {self.power!r}")

    @property
    def cuda_source(self) -> str:
        """The loss as C++ functions of one row."""
        source = (
            _source(0.0)
            + r"""
__device__ float gradient_of(float mean, float t) { return (mean - t) * powf(mean, 1.0f - POWER); }
__device__ float curvature_of(float mean, float slope) { return powf(mean, 2.0f - POWER); }
__device__ double loss_of(double s, double t, double* mean) {
  const double r = POWER;
  *mean = exp(s);
  return exp((2.0 - r) * s) / (2.0 - r) + t * exp((1.0 - r) * s) / (r - 1.0);
}
"""
        )
        return source.replace("POWER", repr(float(self.power)))

    def rows(self, margin: Array, target: Array) -> Array:
        """Return μ^(2−r)/(2−r) − t·μ^(1−r)/(1−r) of each row."""
        exp, up, down = namespace(margin).exp, 2 - self.power, self.power - 1
        return exp(up * margin) / up + target * exp(-down * margin) / down

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return μ = exp(s), which is its own slope."""
        return _mean(margin)

    def gradient(self, mean: Array, target: Array) -> Array:
        """Return (μ − t)·μ^(1−r)."""
        return (mean - target) * mean ** (1 - self.power)

    def reward(self, margin: Array) -> Array:
        """Return μ^(1−r)/(1−r)."""
        down = self.power - 1
        return -namespace(margin).exp(-down * margin) / down

    def target_slope(self, mean: Array) -> Array:
        """Return μ^(1−r)."""
        return mean ** (1 - self.power)

    def curvature(self, mean: Array, slope: Array) -> Array:
        """Return μ^(2−r): the second derivative where the target is its mean."""
        return mean ** (2 - self.power)

    def mean_curvature(self, mean: Array) -> Array:
        """Return μ″/μ′ = 1."""
        return mean * 0 + 1

    def margin_of(self, mean: Array) -> Array:
        """Return the logarithm."""
        return namespace(mean).log(mean)

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return the margin, held at `LOWEST_MARGIN` where the target is below 0."""
        return _held(margin, target < 0)

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether rows whose targets sum to less than 0 have nearly no mean left."""
        return _sinks(margin, target)

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every amount is finite and at least 0, and not all of them are 0."""
        _check_not_negative(y, "amounts")

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write μ twice."""
        _fill_exponential(margin, mean, slope)


def _mean(margin: Array) -> tuple[Array, Array]:
    mean = namespace(margin).exp(margin)
    return mean, mean


def _held(margin: Array, below: Array) -> Array:
    low = below & (margin < LOWEST_MARGIN)
    return namespace(margin).where(low, LOWEST_MARGIN, margin) if low.any() else margin


def _sinks(margin: Array, target: Array) -> bool:
    sunk = margin < _NO_MINIMUM
    return bool(sunk.any()) and float(target[sunk].sum()) < 0


def _source(floor: float) -> str:
    """Return C++ of the mean; targets below the floor hold the margin up."""
    return _MEAN_SOURCE.replace("FLOOR", repr(floor)).replace("LOWEST", repr(LOWEST_MARGIN))


def _fill_exponential(margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
    np.copyto(mean, margin, casting="same_kind")
    with np.errstate(over="ignore"):
        np.exp(mean, out=mean)
    slope[:] = mean


def _check_not_negative(y: NDArray[Any], kind: str) -> None:
    if not np.isfinite(y).all():
        raise ValueError(f"y must hold finite {kind}")
    negative = int((y < 0).sum())
    if negative:
        raise ValueError(
            f"y has {negative} negative values; {kind} are at least 0. Use loss='squared_error' "
            "for numbers of either sign"
        )
    if not y.any():
        raise ValueError(f"y is 0 in every row: {kind} of which none is positive teach nothing")
