"""Differences between the groups, with fairlearn's signature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import check_weights, read_column
from ..groups import Groups


def score_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    positive_level: Any = None,
) -> float:
    """Return mean(p | z=1) − mean(p | z=0) of any scores; ``y_true`` is not used.

    Examples
    --------
    >>> score_gap(None, [1.0, 0.5, 0.25, 0.25], sensitive_features=[1, 1, 0, 0])
    0.5
    """
    scores = _scores(y_pred)
    groups = Groups.check(
        sensitive_features, len(scores), positive_level=positive_level, beside="y_pred"
    )
    weights = check_weights(sample_weight, len(scores), beside="y_pred")
    groups.check_present(weights, "sensitive_features")
    weights = np.ones_like(scores) if weights is None else weights
    ones, zeros = (
        np.average(scores, weights=weights * groups.z),
        np.average(scores, weights=weights * (1 - groups.z)),
    )
    return float(ones - zeros)


def selection_rate_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    positive_level: Any = None,
    threshold: float = 0.5,
) -> float:
    """Return P(selected | z=1) − P(selected | z=0), the paper's SPD, with its sign.

    A row is selected when its score exceeds the threshold; fairlearn's
    ``demographic_parity_difference`` is the absolute value of this on 0/1 predictions.

    Examples
    --------
    >>> selection_rate_difference(None, [0.9, 0.6, 0.7, 0.2], sensitive_features=[1, 1, 0, 0])
    0.5
    """
    return score_gap(
        y_true,
        (_scores(y_pred) > threshold).astype(np.float64),
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        positive_level=positive_level,
    )


def _scores(y_pred: Any) -> Floats:
    array, _ = read_column(y_pred, "y_pred")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y_pred must hold numbers: scores, or labels coded as 0 and 1") from None
