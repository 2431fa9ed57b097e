"""A level of a sensitive attribute and the reference, as rows of two levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Index
from ..rows import Rows
from .influence import Mean, doubly_robust
from .nuisance import Nuisances


def effects_of_pair(rows: Rows, nuisances: Nuisances, level: int) -> dict[str, Mean]:
    """Return the effects of a level against the reference, with the influence of all rows."""
    taken, inside, places = rows_of_pair(rows, nuisances, level)
    effects = doubly_robust(taken.y, taken.z, taken.mean_one_weights, inside, models_known=False)
    return {name: spread_mean(each, places, rows) for name, each in effects.items()}


def rows_of_pair(rows: Rows, nuisances: Nuisances, level: int) -> tuple[Rows, Nuisances, Index]:
    """Return the rows of a level and the reference, as rows of two levels, and their places."""
    groups = rows.groups
    places = np.flatnonzero((groups.codes == 0) | (groups.codes == level))
    codes = (groups.codes[places] == level).astype(np.uint8)
    two = replace(
        groups, codes=codes, levels=(groups.levels[0], groups.levels[level]),
        weighting="uniform", kept=None, recoding=None,
    )  # fmt: skip
    taken = replace(rows.with_table(None).take(places), groups=two)
    b, means = nuisances.pair(level)
    return taken, Nuisances(b[places], means[places]), places


def spread_mean(mean: Mean, places: Index, rows: Rows) -> Mean:
    """Return the mean of some rows as one on which the other rows have no influence."""
    influence = np.zeros(len(rows))
    influence[places] = mean.influence * len(rows) / len(places)
    return Mean(mean.value, influence, rows.clusters)
