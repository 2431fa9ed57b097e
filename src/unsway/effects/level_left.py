"""The direct effect that a model's scores hold, one number for each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from ..frames import Tabular
from .estimate import Estimate
from .influence import Mean, simultaneous_intervals


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelsLeft(Tabular):
    """How much higher each level scores than the covariates explain.

    As a frame it has one row per level.

    Parameters
    ----------
    levels : tuple of str
        The levels, the reference first.
    left : tuple of Estimate
        left_l = E[p − f | z=l] − Σ_k w_k E[p − f | z=k]. The intervals hold for all levels at once.
    spread : Estimate
        The largest difference between two levels, 0 for a fair score. Its interval holds the
        largest difference of all pairs: it is wide, and starts at 0 unless some pair differs.
    highest, lowest : str
        The two levels that are furthest apart.
    confidence : float
        How often the intervals should hold the truth.
    """

    levels: tuple[str, ...]
    left: tuple[Estimate, ...]
    spread: Estimate
    highest: str
    lowest: str
    confidence: float

    @classmethod
    def of(
        cls,
        apart: Sequence[Mean],
        weights: Sequence[float],
        levels: Sequence[str],
        confidence: float,
    ) -> Self:
        """Return it from E[p − f | z=l] of each level.

        Examples
        --------
        >>> none = np.zeros(4)
        >>> found = LevelsLeft.of([Mean(0.3, none), Mean(0.1, none)], (0.5, 0.5), "ab", 0.95)
        >>> [round(each.estimate, 3) for each in found.left], round(found.spread.estimate, 3)
        ([0.1, -0.1], 0.2)
        """
        centre = Mean(0.0, np.zeros_like(apart[0].influence))
        for mean, weight in zip(apart, weights, strict=True):
            centre = centre + mean * weight
        left = [mean - centre for mean in apart]
        order = np.argsort([each.value for each in left], kind="stable")
        low, high = int(order[0]), int(order[-1])
        return cls(
            levels=tuple(levels),
            left=tuple(simultaneous_intervals(left, confidence)),
            spread=_spread(left, confidence, (low, high)),
            highest=levels[high],
            lowest=levels[low],
            confidence=confidence,
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {"level": list(self.levels)}
        for part in ("estimate", "se", "low", "high"):
            columns[part] = [getattr(each, part) for each in self.left]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name, ready for JSON."""
        return {
            "spread": self.spread.to_dict(),
            "highest": self.highest,
            "lowest": self.lowest,
            "confidence": self.confidence,
            "groups": [
                {"level": level, **each.to_dict()}
                for level, each in zip(self.levels, self.left, strict=True)
            ],
        }

    def __repr__(self) -> str:
        lines = [
            f"Direct effect left, spread {self.spread!r} between {self.highest} and {self.lowest}"
        ]
        lines += [
            f"{level:<24}{each!r}" for level, each in zip(self.levels, self.left, strict=True)
        ]
        return "\n".join(lines)


def _spread(left: Sequence[Mean], confidence: float, ends: tuple[int, int]) -> Estimate:
    """Return the largest difference, with an interval that holds that of all pairs."""
    pairs = list(combinations(range(len(left)), 2))
    each = simultaneous_intervals([left[k] - left[j] for j, k in pairs], confidence)
    largest = each[pairs.index((min(ends), max(ends)))]
    low = max(max(pair.low, -pair.high) for pair in each)
    high = max(max(pair.high, -pair.low) for pair in each)
    return Estimate(abs(largest.estimate), largest.se, max(low, 0.0), high)
