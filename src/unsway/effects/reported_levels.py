"""Which levels have figures of their own: combinations of few rows have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._typing import Floats
from ..groups import Groups
from ..rows import Rows
from .nuisance import MIN_ROWS_OF_MANY, LevelStacks, Nuisances


def reported_levels(rows: Rows) -> tuple[int, ...]:
    """Return the positions of the levels that have figures of their own, the reference first.

    Of several attributes these are the combinations with enough rows; the largest is the reference
    where that of the reference levels is not among them.
    """
    groups = rows.groups
    if groups.attributes is None:
        return tuple(range(groups.n_levels))
    counts = groups.counts(used_rows(rows))
    codes = np.flatnonzero(counts >= MIN_ROWS_OF_MANY).tolist()
    if 0 not in codes:
        codes.sort(key=lambda code: -counts[code])
    return tuple(codes)


def rows_not_reported(rows: Rows, codes: Sequence[int]) -> dict[str, int]:
    """Return the rows of combinations that have no figures of their own, if there are any."""
    rest = int((~np.isin(rows.groups.codes, codes)).sum())
    return {"rows_not_reported": rest} if rest else {}


def with_reported_levels(rows: Rows, nuisances: Nuisances) -> tuple[Rows, Nuisances]:
    """Return rows and nuisances of the levels that have figures of their own alone.

    The other rows stay, so that scores can be compared with them, without any weight.
    """
    groups = rows.groups
    if groups.attributes is None:
        return rows, nuisances
    codes = list(reported_levels(rows))
    if len(codes) < 2:
        raise ValueError(
            f"fewer than two combinations of {groups.name} have {MIN_ROWS_OF_MANY} rows; merge "
            "levels with groups=Grouping(merge_below=…), or take one attribute"
        )
    chosen = np.asarray(groups.weights_of(groups.counts(rows.weights)))[codes]
    place = np.zeros(groups.n_levels, dtype=np.intp)
    place[codes] = np.arange(len(codes))
    plain = Groups(
        codes=place[groups.codes],
        levels=tuple(groups.names[code] for code in codes),
        name=groups.name,
        weighting=tuple((chosen / chosen.sum()).tolist()),
    )
    reported = np.isin(groups.codes, codes)
    weights = rows.weights
    if not reported.all():
        weights = np.where(reported, 1.0 if weights is None else weights, 0.0)
    found = replace(
        nuisances,
        propensity=LevelStacks.joined(list(nuisances.propensities[:, codes].T)),
        outcome=nuisances.outcome[:, codes],
    )
    return replace(rows, groups=plain, weights=weights), found


def used_rows(rows: Rows) -> Floats | None:
    """Return 1 for rows of some weight and 0 for others, None where all have one."""
    return None if rows.weights is None else np.sign(rows.weights)


def weights_among(weights: Sequence[float], codes: Sequence[int]) -> tuple[float, ...]:
    """Return the weights of these levels, which sum to 1."""
    chosen = np.asarray(weights)[list(codes)]
    return tuple(weights) if len(codes) == len(weights) else tuple(chosen / chosen.sum())
