"""Checks of the rows and of given nuisances whose effects are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Floats
from ..grouping import Grouping
from ..outcome import Outcome
from ..rows import Rows
from .nuisance import Nuisances

#: Fewest clusters in which a sensitive level must be found.
MIN_CLUSTERS = 10


def check_rows(
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    groups: Grouping | None,
    read_outcome: Callable[[Any, int], Outcome] = Outcome.labels_or_numbers,
    *,
    cluster: Any = None,
    cv: int = 1,
) -> Rows:
    """Return the rows of a table whose effects are wanted, or say what is wrong."""
    rows = Rows.check(
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=groups,
        cluster=cluster,
        read_outcome=read_outcome,
    )
    check_clusters(rows, cv)
    if not rows.groups.two:  # models of all levels together learn the effects of X from any
        return rows
    check_outcome_varies(rows)
    return rows


def check_outcome_varies(rows: Rows) -> None:
    """Raise where the outcome of a level is the same in every row that has a weight."""
    counted = np.ones(len(rows), dtype=bool) if rows.weights is None else rows.weights > 0
    for code, level in enumerate(rows.groups.levels):
        if np.ptp(rows.y[counted & (rows.groups.codes == code)]) == 0:
            raise ValueError(
                f"y is the same for every row of sensitive level {str(level)!r}, so an effect of X "
                "cannot be estimated there"
            )


def check_clusters(rows: Rows, cv: int) -> None:
    """Raise unless every level is found in enough clusters for folds and a standard error."""
    if rows.clusters is None:
        return
    fewest = max(MIN_CLUSTERS, 2 * cv)
    counted = slice(None) if rows.weights is None else rows.weights > 0
    if rows.groups.attributes is not None:  # combinations of few rows are not reported
        return
    for code, level in enumerate(rows.groups.levels):
        inside = rows.clusters[counted][rows.groups.codes[counted] == code]
        count = len(np.unique(inside))
        if count < fewest:
            raise ValueError(
                f"sensitive level {str(level)!r} is found in {count} clusters; at least {fewest} "
                f"are needed with cv={cv}, because rows of one cluster count as one. Lower cv, or "
                "leave cluster out if its rows are independent"
            )


def check_nuisances(nuisances: Nuisances, z: Floats, *, needs_outcome: bool) -> None:
    """Raise unless nuisances are those of as many rows and give finite weights and outcomes."""
    b = nuisances.propensity
    if b.shape != z.shape or nuisances.outcome.shape != (len(z), 2):
        raise ValueError(f"nuisances are not those of the {len(z)} rows of X")
    extreme = int((~((b > 0) & (b < 1))).sum())
    if extreme:
        raise ValueError(
            f"{extreme} propensities of nuisances are NaN, 0, 1 or beyond: a row with the other "
            "level would weigh infinitely; clip them"
        )
    if needs_outcome and not np.isfinite(nuisances.outcome).all():
        raise ValueError(
            "nuisances lack outcome means, which the doubly robust method needs; make them with it"
        )
