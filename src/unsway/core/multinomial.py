"""The log-loss of several classes, whose margins and targets have a column for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, namespace
from .loss import LARGEST_MARGIN, Loss, Singles


@dataclass(frozen=True)
class MultinomialLogLoss(Loss):
    """The log-loss of C classes, ℓ = log Σ_k exp(s_k) − Σ_k t_k·s_k, with μ the softmax of s.

    Margins and targets are arrays of shape (n, C), and so are all derivatives. The curvature is
    2p_k(1−p_k), as boosting libraries have it: twice the diagonal of the Hessian diag(p) − ppᵀ
    bounds the Hessian, so that trees of all classes may be grown at once.

    Parameters
    ----------
    factor : float, default=2
        What p_k(1−p_k) is multiplied by in the curvature. XGBoost has 2, LightGBM C/(C−1).

    Examples
    --------
    Two of three classes, all margins 0:

    >>> import numpy as np
    >>> loss, margin = MultinomialLogLoss(), np.zeros((2, 3))
    >>> target = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    >>> loss.rows(margin, target).round(6).tolist()  # log 3
    [1.098612, 1.098612]
    >>> mean, slope = loss.mean(margin)
    >>> loss.gradient(mean, target)[0].round(3).tolist(), loss.curvature(mean, slope)[0].round(3)
    ([-0.667, 0.333, 0.333], array([0.444, 0.444, 0.444]))
    """

    name: ClassVar[str] = "log_loss"
    link: ClassVar[str] = "softmax"
    factor: float = 2.0

    def rows(self, margin: Array, target: Array) -> Array:
        """Return the loss of each row, one number."""
        xp, most = namespace(margin), _largest(margin)
        return xp.log(xp.exp(margin - most).sum(-1)) + most[..., 0] - (target * margin).sum(-1)

    def mean(self, margin: Array) -> tuple[Array, Array]:
        """Return p and p(1−p) of each class."""
        powers = namespace(margin).exp(margin - _largest(margin))
        p = powers / powers.sum(-1)[..., None]
        return p, p * (1 - p)

    def curvature(self, mean: Array, slope: Array) -> Array:
        """Return 2p(1−p) of each class, or another multiple of p(1−p)."""
        return self.factor * slope

    def mean_curvature(self, mean: Array) -> Array:
        """Return p″/p′ = 1 − 2p of each class in its own margin."""
        return 1 - 2 * mean

    def margin_of(self, mean: Array) -> Array:
        """Return the logarithms, which are margins of these probabilities."""
        return namespace(mean).log(mean)

    def held_margin(self, margin: Array, target: Array) -> Array:
        """Return margins whose distances from the largest are at most `LARGEST_MARGIN`.

        They are held in rows with a target outside [0, 1] alone, where the loss would fall without
        end.
        """
        outside = ((target < 0) | (target > 1)).any(-1)[..., None]
        lowest = _largest(margin) - LARGEST_MARGIN
        return namespace(margin).where(outside & (margin < lowest), lowest, margin)

    def falls_without_end(self, value: float, margin: Array, target: Array) -> bool:
        """Return whether the mean loss is below 0, as for two classes."""
        return value < -1e-9

    def check(self, y: NDArray[Any]) -> None:
        """Raise unless every row has the share 1 in one class and 0 in the others."""
        if not (((y == 0) | (y == 1)).all() and (y.sum(axis=-1) == 1).all()):
            raise ValueError("y must hold a single 1 in each row, and 0 elsewhere")

    def fill_mean(self, margin: NDArray[Any], mean: Singles, slope: Singles) -> None:
        """Write p and p(1−p) of a block of rows into float32 buffers."""
        np.subtract(margin, margin.max(axis=-1, keepdims=True), out=mean, casting="same_kind")
        np.exp(mean, out=mean)
        mean /= mean.sum(axis=-1, keepdims=True)
        np.subtract(1, mean, out=slope)
        slope *= mean


def _largest(margin: Array) -> Array:
    """Return the largest margin of each row as a column; torch's ``max`` gives two arrays."""
    return namespace(margin).amax(margin, -1)[..., None]
