"""The measures of adverse impact as functions of columns.

Those that compare groups take ``sensitive_features``, as fairlearn's disparities do; the others
measure the rows they are given. Both go into fairlearn's `MetricFrame`: the second by group, the
first by segment, with the groups as a sample parameter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import check_choice, check_length, check_number, check_weights, read_numbers
from .impact_estimates import gini, separation, standardised_difference
from .impact_measures import median_split
from .scored import ENDS, Approval, Levels, Scored, decide_by_rate, decide_by_threshold


def adverse_impact_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    reference: Any = None,
    threshold: float = 0.5,
    approval_rate: float | None = None,
    approve: str = "high",
    sample_weight: Any = None,
) -> float:
    """Return the smallest ratio of a level's selection rate to that of the reference.

    Parameters
    ----------
    y_true : ignored
        For the signature of a metric.
    y_pred : column of numbers
        Scores, or decisions 0 and 1.
    sensitive_features : column
        The group of each row, of two levels or more.
    reference : optional
        The level the others are compared with; see `adverse_impact`. Without one, of two levels
        that are not 0 and 1, the one with the larger rate.
    threshold : float, default=0.5
        A row is approved when its score exceeds it (or is below it, if low scores are).
    approval_rate : float, default=None
        Approve this share of all rows instead.
    approve : {"high", "low"}, default="high"
        Which end of the score is approved.
    sample_weight : column, default=None
        Weights of the rows.

    Returns
    -------
    float
        NaN if nobody of the reference is approved.

    Examples
    --------
    >>> adverse_impact_ratio(None, [0.9, 0.2, 0.8, 0.7], sensitive_features=[1, 1, 0, 0])
    0.5
    """
    given = (y_pred, sensitive_features, reference, approve, sample_weight)
    people = _people(*given)
    rates = _rates(people, _decide(people, threshold, approval_rate))
    return _smallest_ratio(rates, people.levels, stated=reference is not None)


def scoring_rate_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    reference: Any = None,
    approve: str = "high",
    sample_weight: Any = None,
) -> float:
    """Return the smallest ratio of a level's scoring rate to that of the reference.

    The scoring rate is the share of a level on the approved side of the median score of all rows
    (New York City, rules on automated employment decision tools, 2023). Parameters are those of
    `adverse_impact_ratio`.

    Examples
    --------
    >>> scores = [0.9, 0.8, 0.2, 0.1, 0.7, 0.3]
    >>> round(scoring_rate_ratio(None, scores, sensitive_features=[0, 0, 0, 1, 1, 1]), 3)
    0.5
    """
    people = _people(y_pred, sensitive_features, reference, approve, sample_weight)
    rates = _rates(people, median_split(people))
    return _smallest_ratio(rates, people.levels, stated=reference is not None)


def selection_shortfall(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    reference: Any = None,
    threshold: float = 0.5,
    approval_rate: float | None = None,
    approve: str = "high",
    sample_weight: Any = None,
) -> float:
    """Return how many people more would be approved at the reference's rate, over all levels.

    Levels with a larger rate than the reference count as 0. Parameters are those of
    `adverse_impact_ratio`.

    Examples
    --------
    >>> selection_shortfall(None, [0.9, 0.2, 0.8, 0.7], sensitive_features=[1, 1, 0, 0])
    1.0
    """
    people = _people(y_pred, sensitive_features, reference, approve, sample_weight)
    rates = _rates(people, _decide(people, threshold, approval_rate))
    base = rates[_reference(rates, people.levels, stated=reference is not None)]
    sizes = np.array([people.inside(level).sum() for level in range(len(rates))])
    return float(np.maximum(0.0, base - rates) @ sizes)


def standardised_mean_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    reference: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return (mean score of a level − that of the reference) / standard deviation of all scores.

    Of several levels, the difference that is farthest from 0. The sign is that of the scores. The
    reference is stated, or 0, or the largest of three levels or more.

    Examples
    --------
    >>> standardised_mean_difference(None, [3.0, 5.0, 1.0, 3.0], sensitive_features=[0, 0, 1, 1])
    -1.414...
    """
    people = Scored.check(
        None, y_pred, sensitive_features, reference=reference, sample_weight=sample_weight
    )
    found = [standardised_difference(people, level).value for level in people.levels.others]
    return float(max(found, key=abs))


def approval_rate(
    y_true: Any,
    y_pred: Any,
    *,
    threshold: float = 0.5,
    approve: str = "high",
    sample_weight: Any = None,
) -> float:
    """Return the share of rows that are approved by a threshold.

    Examples
    --------
    >>> approval_rate(None, [0.9, 0.2, 0.8, 0.7])
    0.75
    """
    check_choice(approve, "approve", ENDS)
    scores = read_numbers(y_pred, "y_pred")
    weights = check_weights(sample_weight, len(scores), beside="y_pred")
    sign = 1 if approve == "high" else -1
    return float(np.average(sign * scores > sign * threshold, weights=weights))


def ks_statistic(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the Kolmogorov–Smirnov distance of the scores of positive and negative labels.

    NaN where a class is absent; labels are 0 and 1.

    Examples
    --------
    >>> ks_statistic([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    y, scores, weights = _labelled(y_true, y_pred, sample_weight)
    parts = weights * y, weights * (1 - y)
    return separation(scores, *parts).value if all(map(np.any, parts)) else float("nan")


def somers_d(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return 2·AUC − 1, the Gini of credit scoring; NaN where a class is absent.

    Examples
    --------
    >>> somers_d([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    y, scores, weights = _labelled(y_true, y_pred, sample_weight)
    parts = weights * y, weights * (1 - y)
    return gini(scores, *parts).value if all(map(np.any, parts)) else float("nan")


def _labelled(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Floats, Floats, Floats]:
    scores, y = read_numbers(y_pred, "y_pred"), read_numbers(y_true, "y_true")
    check_length(y, len(scores), "y_true", "y_pred")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("y_true must hold 0 and 1 only: compare labels with the positive class")
    weights = check_weights(sample_weight, len(scores), beside="y_pred")
    return y, scores, np.ones_like(y) if weights is None else weights


def _people(
    y_pred: Any, sensitive_features: Any, reference: Any, approve: str, sample_weight: Any
) -> Scored:
    return Scored.check(
        None, y_pred, sensitive_features, reference=reference, approve=approve,
        sample_weight=sample_weight, must_state=False,
    )  # fmt: skip


def _decide(people: Scored, threshold: float, rate: float | None) -> Approval:
    if rate is None:
        return decide_by_threshold(people, check_number(threshold, "threshold"))
    return decide_by_rate(people, check_number(rate, "approval_rate", above=0, below=1))


def _rates(people: Scored, decision: Approval) -> Floats:
    return np.array(
        [
            np.average(decision.approved, weights=people.inside(level))
            for level in range(len(people.levels.names))
        ]
    )


def _reference(rates: Floats, levels: Levels, *, stated: bool) -> int:
    """Return the reference: the stated one, or of two levels that are not 0 and 1 the larger."""
    if stated or len(rates) > 2 or levels.names in (("0", "1"), ("False", "True")):
        return levels.reference
    return int(np.argmax(rates))


def _smallest_ratio(rates: Floats, levels: Levels, *, stated: bool) -> float:
    base = _reference(rates, levels, stated=stated)
    if rates[base] == 0:
        return float("nan")
    return float(min(rate for level, rate in enumerate(rates) if level != base) / rates[base])
