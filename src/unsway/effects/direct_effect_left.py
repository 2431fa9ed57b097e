"""How much of the direct effect of z the scores of a model still hold.

For three levels or more the result is that of `level_left`.
"""

from __future__ import annotations

from typing import Any

from .estimate import Estimate
from .estimation import estimate_effects
from .level_left import LevelsLeft


def direct_effect_left(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, X: Any, **options: Any
) -> Estimate | LevelsLeft:
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
    Estimate or LevelsLeft
        The second for three levels or more: how much higher each scores than X explains.

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
    effects = estimate_effects(X, y_true, sensitive_features=sensitive_features, **options)
    return effects.direct_effect_left(y_pred)
