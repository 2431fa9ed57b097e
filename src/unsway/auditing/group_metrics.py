"""Differences between groups as functions of columns, with fairlearn's signatures.

Those under fairlearn's names take decisions, 0 or 1, and any number of groups. As in fairlearn, a
rate over no row (the true positive rate of a group without a positive label) counts as 0, and a
ratio 0/0 is NaN. `score_gap` and `selection_rate_difference` take scores, and keep the sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_choice, check_length, check_weights, distinct_values, read_column
from ..grouping import Grouping
from ..groups import Groups

#: How the groups are compared, and how the two rates of equalised odds are put together.
METHODS, AGGREGATIONS = ("between_groups", "to_overall"), ("worst_case", "mean")
#: Metric → the rates that it compares between the groups.
RATES = {
    "demographic_parity": ("selection_rate",),
    "equalized_odds": ("recall", "false_positive_rate"),
    "equal_opportunity": ("recall",),
}
#: What the columns hold, and how to make 0 and 1 of it.
_CODING = {
    "y_true": "labels: compare them with the positive class first",
    "y_pred": "decisions: compare scores with a threshold first, as in p > 0.5",
}


def decision_rates(cells: Floats) -> dict[str, Floats]:
    """Return rates of decisions by name: of all rows, then of each group.

    Parameters
    ----------
    cells : array of shape (n_groups, 2, 2)
        Weight of the rows by [group, label, decision].

    Returns
    -------
    dict of str to array of shape (1 + n_groups,)
        A rate over no row is NaN.

    Examples
    --------
    Two groups; the first selects 1 of 4 rows and the second 3:

    >>> counts = np.array([[[2.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 2.0]]])
    >>> rates = decision_rates(counts)
    >>> rates["selection_rate"].tolist(), rates["recall"].tolist()
    ([0.5, 0.25, 0.75], [0.75, 0.5, 1.0])
    """
    cells = with_overall(cells)
    rows, selected = cells.sum(axis=(1, 2)), cells[..., 1].sum(axis=1)
    return {
        "accuracy": share(cells[:, 0, 0] + cells[:, 1, 1], rows),
        "precision": share(cells[:, 1, 1], selected),
        "recall": share(cells[:, 1, 1], cells[:, 1].sum(axis=1)),
        "false_positive_rate": share(cells[:, 0, 1], cells[:, 0].sum(axis=1)),
        "selection_rate": share(selected, rows),
    }


def with_overall(by_group: Floats) -> Floats:
    """Return sums by group with those of all rows before them."""
    return np.concatenate([by_group.sum(axis=0, keepdims=True), by_group])


def share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def _difference(overall: float, rates: Floats, method: str) -> float:
    """Return the largest absolute difference of a rate, between groups or to all rows."""
    if method == "between_groups":
        return float(rates.max() - rates.min())
    return float(np.abs(rates - overall).max())


def _ratio(overall: float, rates: Floats, method: str) -> float:
    """Return the smallest ratio of a rate, at most 1; NaN where every rate is 0."""
    if rates.max() == 0:
        return float("nan")
    if method == "between_groups":
        return float(rates.min() / rates.max())
    ratios = rates / overall
    with np.errstate(divide="ignore"):  # 1 / 0 is never the smaller one
        return float(np.minimum(ratios, 1 / ratios).min())


#: How the rates of the groups are compared.
COMPARISONS = {"difference": _difference, "ratio": _ratio}


def compare_rates(
    rates: Mapping[str, Floats],
    metric: str,
    how: str,
    method: str = "between_groups",
    agg: str = "worst_case",
) -> float:
    """Return the worst, or the mean, of the differences or ratios of a metric's rates.

    The smallest ratio is Python's ``min`` also where a ratio is NaN: NaN if the first is, the
    first if only the second is.
    """
    found = []
    for name in RATES[metric]:
        overall, *by_group = np.nan_to_num(rates[name])
        found.append(COMPARISONS[how](overall, np.array(by_group), method))
    if agg == "worst_case":
        return max(found) if how == "difference" else min(found)
    known = [each for each in found if not np.isnan(each)]
    return float(np.mean(known)) if known else float("nan")


def count_cells(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any = None
) -> Floats:
    """Return the weight of the rows by [group, label, decision], groups in sorted order."""
    decisions = _zero_one(y_pred, "y_pred")
    labels = _zero_one(y_true, "y_true")
    check_length(labels, len(decisions), "y_true", "y_pred")
    if sensitive_features is None:
        raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
    groups, _ = read_column(sensitive_features, "sensitive_features")
    check_length(groups, len(decisions), "sensitive_features", "y_pred")
    weights = check_weights(sample_weight, len(decisions), beside="y_pred")
    levels = distinct_values(groups, "sensitive_features")
    if len(levels) < 2:
        raise ValueError("sensitive_features has a single level; groups need at least two")
    places = 4 * np.searchsorted(levels, groups) + 2 * labels + decisions
    cells = np.bincount(places, weights, 4 * len(levels)).reshape(-1, 2, 2).astype(np.float64)
    empty = int((cells.sum(axis=(1, 2)) == 0).sum())
    if empty:
        raise ValueError(
            f"{empty} groups have a sample_weight of zero in every row; leave them out"
        )
    return cells


def _zero_one(values: Any, role: str) -> NDArray[np.intp]:
    """Return 0/1 (or −1/1, or booleans) as integers, whichever of them occur."""
    array, _ = read_column(values, role)
    if array.dtype.kind in "biuf":
        levels = set(distinct_values(array, role).tolist())
        if levels <= {0, 1} or levels <= {-1, 1}:
            return np.asarray(array == 1, dtype=np.intp)
    raise ValueError(f"{role} must hold 0 and 1 only; these are {_CODING[role]}")


_PARAMETERS = """
    Parameters
    ----------
    y_true, y_pred : columns of 0 and 1
        Labels and decisions.
    sensitive_features : column
        The group of each row, of two levels or more.
    method : {"between_groups", "to_overall"}, default="between_groups"
        The largest rate against the smallest, or each against the rate of all rows.
    sample_weight : column, optional
        Weights of the rows.
    agg : {"worst_case", "mean"}, default="worst_case"
        How the two rates of equalised odds are put together.

    Returns
    -------
    float

    Examples
    --------"""


def _group_metric(
    metric: str, how: str, summary: str, example: str, value: float
) -> Callable[..., float]:
    """Return one of fairlearn's metrics: the rates of a metric, compared by difference or ratio."""

    def group_metric(
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        method: str = "between_groups",
        sample_weight: Any = None,
        agg: str = "worst_case",
    ) -> float:
        check_choice(method, "method", METHODS)
        check_choice(agg, "agg", AGGREGATIONS)
        cells = count_cells(y_true, y_pred, sensitive_features, sample_weight)
        return compare_rates(decision_rates(cells), metric, how, method, agg)

    group_metric.__name__ = group_metric.__qualname__ = f"{metric}_{how}"
    call = f"{group_metric.__name__}({example}, sensitive_features=[0, 0, 1, 1])"
    group_metric.__doc__ = f"{summary}\n{_PARAMETERS}\n    >>> {call}\n    {value}\n"
    return group_metric


def _difference_and_ratio(
    metric: str, rate: str, example: str, difference: float = 0.5, ratio: float = 0.5
) -> tuple[Callable[..., float], Callable[..., float]]:
    """Return both metrics of a rate, with an example of their values."""
    largest = f"Return the largest difference between groups in {rate}; 0 is parity."
    smallest = f"Return the smallest ratio between groups of {rate}; 1 is parity."
    return (
        _group_metric(metric, "difference", largest, example, difference),
        _group_metric(metric, "ratio", smallest, example, ratio),
    )


demographic_parity_difference, demographic_parity_ratio = _difference_and_ratio(
    "demographic_parity", "P(decision 1)", "[0, 1, 0, 1], [1, 1, 0, 1]"
)
equal_opportunity_difference, equal_opportunity_ratio = _difference_and_ratio(
    "equal_opportunity", "the true positive rate", "[1, 1, 1, 1], [1, 1, 0, 1]"
)
equalized_odds_difference, equalized_odds_ratio = _difference_and_ratio(
    "equalized_odds", "the true or the false positive rate", "[1, 0, 1, 0], [1, 1, 1, 0]", 1.0, 0.0
)


def score_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    groups: Grouping | None = None,
) -> float:
    """Return mean(p | z=1) − mean(p | z=0) of any scores.

    Parameters
    ----------
    y_true : ignored
        For the signature of a metric.
    y_pred : column of numbers
        Scores.
    sensitive_features : column
        z, with two levels.
    sample_weight : column, optional
        Weights of the rows.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Returns
    -------
    float

    Examples
    --------
    >>> score_gap(None, [1.0, 0.5, 0.25, 0.25], sensitive_features=[1, 1, 0, 0])
    0.5
    """
    scores = _scores(y_pred)
    sensitive = Groups.check(sensitive_features, len(scores), groups=groups, beside="y_pred")
    weights = check_weights(sample_weight, len(scores), beside="y_pred")
    sensitive.check_present(weights, "sensitive_features")
    weights = np.ones_like(scores) if weights is None else weights
    ones = np.average(scores, weights=weights * sensitive.z)
    zeros = np.average(scores, weights=weights * (1 - sensitive.z))
    return float(ones - zeros)


def selection_rate_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    groups: Grouping | None = None,
    threshold: float = 0.5,
) -> float:
    """Return P(selected | z=1) − P(selected | z=0), the paper's SPD, with its sign.

    A row is selected when its score exceeds the threshold; fairlearn's
    ``demographic_parity_difference`` is the absolute value of this on 0/1 predictions.

    Parameters
    ----------
    y_true : ignored
        For the signature of a metric.
    y_pred : column of numbers
        Scores.
    sensitive_features : column
        z, with two levels.
    sample_weight : column, optional
        Weights of the rows.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    threshold : float, default=0.5
        A row is selected when its score exceeds it.

    Returns
    -------
    float

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
        groups=groups,
    )


def _scores(y_pred: Any) -> Floats:
    array, _ = read_column(y_pred, "y_pred")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y_pred must hold numbers: scores, or labels coded as 0 and 1") from None
