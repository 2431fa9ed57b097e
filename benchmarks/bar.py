"""The bar of known_truth.py: the default's RMSE over that of the best alternative, by draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from methods import ALTERNATIVES, DEFAULT
from records import Record


@dataclass(frozen=True)
class Bar:
    """The ratio of the default's RMSE to that of the best alternative in each draw of a world.

    The best alternative is the one with the smallest mean RMSE; both are measured on the same
    draws, which may be fewer than `n_draws`, where the default failed in some.
    """

    alternative: str
    ratios: tuple[float, ...]
    n_draws: int

    @property
    def mean(self) -> float:
        """The mean over the draws."""
        return float(np.mean(self.ratios))

    @property
    def se(self) -> float:
        """The standard error of the mean; NaN with a single draw."""
        if len(self.ratios) < 2:
            return float("nan")
        return float(np.std(self.ratios, ddof=1) / np.sqrt(len(self.ratios)))

    def cells(self) -> tuple[str, ...]:
        """Return the alternative, the ratio with its error, and the ratio less two errors."""
        fewer = f" ({len(self.ratios)} of {self.n_draws} draws)" * (len(self.ratios) < self.n_draws)
        if np.isnan(self.se):
            return self.alternative, f"{self.mean:.3f}{fewer}", "–"
        return (
            self.alternative,
            f"{self.mean:.3f} ± {self.se:.3f}{fewer}",
            f"{self.mean - 2 * self.se:.3f}",
        )


def bar(draws: Sequence[Sequence[Record]]) -> Bar | None:
    """Return the bar of a world from the records of its draws; None if either side is missing.

    Examples
    --------
    >>> draw = [{"method": "fair target", "rmse": 0.03}, {"method": "blind", "rmse": 0.06}]
    >>> bar([draw, draw]).cells()
    ('blind', '0.500 ± 0.000', '0.500')
    """
    errors = [{r["method"]: r["rmse"] for r in draw if "rmse" in r} for draw in draws]
    errors = [found for found in errors if DEFAULT in found]
    complete = [name for name in ALTERNATIVES if errors and all(name in each for each in errors)]
    if not complete:
        return None
    best = min(complete, key=lambda name: float(np.mean([each[name] for each in errors])))
    return Bar(best, tuple(each[DEFAULT] / each[best] for each in errors), len(draws))
