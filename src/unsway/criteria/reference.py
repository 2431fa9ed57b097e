"""The weight that each level of the sensitive attribute has in the fair score."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from .._typing import Floats, Reduce
from ..groups import Groups
from ..rows import Rows

#: Reference weights by name.
REFERENCE_WEIGHTS = ("uniform", "prevalence", "volume")

_ROUNDING = 1e-9


def check_weights_of_levels(stated: Any, groups: Groups) -> tuple[float, ...] | None:
    """Return reference weights that a user states for each level, None for those with a name.

    Examples
    --------
    >>> groups = Groups.check([0, 1], 2)
    >>> check_weights_of_levels({0: 0.2, 1: 0.8}, groups)
    (0.2, 0.8)
    """
    if stated is None:
        return None if isinstance(groups.weighting, str) else groups.weighting
    if isinstance(stated, str):
        if stated not in REFERENCE_WEIGHTS:
            raise ValueError(
                f"unknown reference_weights {stated!r}; choose from "
                f"{', '.join(REFERENCE_WEIGHTS)}, or give a number for each level of z"
            )
        return None
    levels = groups.levels
    if groups.attributes is not None:
        raise ValueError(
            "of several sensitive attributes the weights are stated by column, as in "
            "groups=Grouping(weights={'sex': 'prevalence'})"
        )
    if isinstance(stated, Mapping):
        if set(stated) != set(levels):
            shown = ", ".join(map(repr, groups.names))
            raise ValueError(f"reference_weights must have a number for each level of z: {shown}")
        stated = [stated[level] for level in levels]
    weights = tuple(stated) if np.ndim(stated) == 1 else ()
    if len(weights) != len(levels) or not all(isinstance(each, Real) for each in weights):
        raise TypeError("reference_weights must be a name, or a number for each level of z")
    weights = tuple(map(float, weights))
    if not (min(weights) >= 0 and abs(sum(weights) - 1) <= _ROUNDING):
        raise ValueError("reference_weights must not be negative and must sum to 1")
    return weights


def weights_of_levels(
    stated: Any, rows: Rows, means: Floats, propensity: Floats, reduce: Reduce
) -> str | tuple[float, ...]:
    """Return the reference weights of rows with these outcome means; uniform ones keep their name.

    Parameters
    ----------
    stated : str, mapping or sequence
        What the user asks for.
    rows : Rows
        The rows trained on.
    means : array of shape (n, n_levels)
        E[y|z,X] of each level.
    propensity : array of shape (n,)
        b.
    reduce : callable
        Sums a small array over the workers that share the rows.

    Examples
    --------
    Level 1 has three quarters of the rows; its effect is the same everywhere:

    >>> rows = Rows.check(np.zeros((4, 1)), [0, 1, 0, 1], sensitive_features=[0, 1, 1, 1])
    >>> means, b = np.tile([0.2, 0.6], (4, 1)), np.full(4, 0.75)
    >>> weights_of_levels("prevalence", rows, means, b, lambda sums: sums)
    (0.25, 0.75)
    >>> weights_of_levels("volume", rows, means, b, lambda sums: sums)
    (0.25, 0.75)
    """
    known = check_weights_of_levels(stated, rows.groups)
    groups, counts = rows.groups, reduce(rows.groups.counts(rows.weights))
    if stated == "volume":
        groups.require_two("reference_weights='volume'")
    elif isinstance(stated, str):
        groups = groups.weighted(stated)
    chosen = known or groups.weights_of(counts)
    if not groups.two:
        groups.check_weights(chosen, counts)
    if known is not None:
        return known
    if stated != "volume":
        return "uniform" if groups.weighting == "uniform" else chosen
    w = np.ones(len(rows)) if rows.weights is None else rows.weights
    effect = means[:, 1] - means[:, 0]
    moved, whole = reduce(np.array([w @ (propensity * effect), w @ effect]))
    share = float(moved / whole) if whole else 0.5
    if not 0 <= share <= 1:
        raise ValueError(
            f"reference_weights='volume' would be {1 - share:.2f} and {share:.2f}: the direct "
            "effect of z is positive for some rows and negative for others. Use 'prevalence', or "
            "an estimator that rebalances the total"
        )
    return 1 - share, share
