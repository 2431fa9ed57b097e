"""The direct effect left: how much of what z does directly a model's scores still hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import read_numbers
from .estimate import Estimate, resample
from .influence import Mean


def direct_effect_left(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, X: Any, **options: Any
) -> Estimate:
    """Return gap(p) − explained: how much of the direct effect of z a model's scores still hold.

    gap(p) = E[p|z=1] − E[p|z=0]; what is explained is what z does to the labels through X. A fair
    score has 0; where the figure is positive, people with z=1 score higher than X explains, where
    it is negative, lower. The interval carries the uncertainty of both.

    Parameters
    ----------
    y_true : column of length n
        Labels of rows, best of those that the model was not trained on.
    y_pred : column of length n
        Any model's scores p of the same rows.
    sensitive_features, X
        z and the covariates of the rows.
    **options
        Passed to `estimate_effects`. To judge several models on the same rows, estimate once and
        call `Effects.direct_effect_left` for each.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(4000, random_state=0)
    >>> left = direct_effect_left(
    ...     people.y,
    ...     people.fair_score,
    ...     sensitive_features=people.z,
    ...     X=people.X,
    ...     max_extreme_share=1,
    ... )
    >>> left.low < 0 < left.high
    True
    """
    from .estimation import estimate_effects  # its result holds what is defined below

    effects = estimate_effects(X, y_true, sensitive_features=sensitive_features, **options)
    return effects.direct_effect_left(y_pred)


@dataclass(frozen=True, kw_only=True, eq=False)
class Explained:
    """The explained difference with its rows, for scores of the same rows to be held against.

    Parameters
    ----------
    mean : Mean
        The difference, with its influence function.
    z, weights : array of shape (n,)
        Of the rows; the weights have mean 1.
    replicates : array, or None
        The difference in each bootstrap replicate; None without a bootstrap.
    seed : int
        Of the bootstrap.
    confidence : float
        Coverage of the intervals.
    """

    mean: Mean
    z: Floats
    weights: Floats
    replicates: Floats | None
    seed: int
    confidence: float

    def left_in(self, y_pred: Any) -> Estimate:
        """Return gap(p) − explained, the same resamples behind both."""
        p = read_numbers(y_pred, "y_pred")
        if len(p) != len(self.z):
            raise ValueError(
                f"y_pred has {len(p)} rows but the effects were estimated on {len(self.z)}; score "
                "the same rows"
            )
        left = _gap(p, self.z, self.weights) - self.mean
        se = left.se
        if self.replicates is not None:
            draws = (resample(self.z, self.seed, k) for k in range(len(self.replicates)))
            gaps = [_gap(p[rows], self.z[rows], self.weights[rows]).value for rows in draws]
            se = float(np.std(gaps - self.replicates, ddof=1))
        return Estimate.normal(left.value, se, self.confidence)


def _gap(scores: Floats, z: Floats, weights: Floats) -> Mean:
    """Return E[p|z=1] − E[p|z=0] with its influence function."""
    return Mean.average(scores, weights * z) - Mean.average(scores, weights * (1 - z))
