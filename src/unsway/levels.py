"""The levels of a sensitive column: which values are kept, merged or cut into bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats
from .checks import show_levels

#: What rare levels are merged into.
OTHER = "other"


@dataclass(frozen=True)
class Recoding:
    """Which level each distinct value of a column belongs to.

    Parameters
    ----------
    values : array
        The distinct values, sorted.
    codes : array of int
        Of each value the position of its level, −1 where its rows are left out.
    levels : tuple
        The levels, the reference first.
    bands : sequence of float, optional
        What cuts numbers, also those not among the values.
    """

    values: NDArray[Any]
    codes: NDArray[np.intp]
    levels: tuple[Any, ...]
    bands: Sequence[float] | None = None

    def of(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of the level of other rows, −1 where they are left out.

        A value that did not occur belongs to the level of merged ones, and is refused where there
        is none.
        """
        if self.bands is not None:
            names = band_names(self.bands)
            places = [self.levels.index(each) if each in self.levels else -1 for each in names]
            return np.array(places)[np.searchsorted(self.bands, column, side="right")]
        known = dict(zip(self.values.tolist(), self.codes, strict=True))
        other = self.levels.index(OTHER) if OTHER in self.levels else None
        distinct, positions = np.unique(column, return_inverse=True)
        codes = [known.get(value, other) for value in distinct.tolist()]
        if None in codes:
            raise UnknownLevelError(
                "sensitive_features has a level that the training rows have not"
            )
        return np.array(codes, dtype=np.intp)[positions]


class UnknownLevelError(ValueError):
    """A column has a level that the rows before have not."""


def band_names(bands: Sequence[float]) -> list[str]:
    """Return what the bands are called."""
    cuts = [f"{each:g}" for each in bands]
    between = [f"{low}-{high}" for low, high in pairwise(cuts)]
    return [f"<{cuts[0]}", *between, f">={cuts[-1]}"]


def keep_levels(
    codes: NDArray[np.intp], levels: list[Any], only: Sequence[Any], role: str
) -> tuple[NDArray[np.intp], list[Any]]:
    """Return levels and codes of those to keep, with −1 for rows of the others."""
    for each in only:
        if each not in levels:
            raise ValueError(
                f"only: {each!r} is not a level of {role}, which has {show_levels(levels)}"
            )
    kept = [place for place, level in enumerate(levels) if level in only]
    place = np.full(len(levels), -1)
    place[kept] = np.arange(len(kept))
    return place[codes], [levels[each] for each in kept]


def merge_levels(
    codes: NDArray[np.intp], levels: list[Any], sizes: Floats, fewest: int
) -> tuple[NDArray[np.intp], list[Any], Floats]:
    """Return levels and codes where levels of few rows are one level, with its other rows."""
    rare = (sizes < fewest) | np.array([level == OTHER for level in levels])
    if not (sizes < fewest).any():
        return codes, levels, sizes
    kept = np.flatnonzero(~rare)
    place = np.full(len(levels) + 1, len(kept))
    place[kept] = np.arange(len(kept))
    place[-1] = -1
    merged = np.append(sizes[kept], sizes[rare].sum())
    return place[codes], [*(levels[each] for each in kept), OTHER], merged
