"""Calibration: whether of the people with a score of 70 % about 70 % have a positive label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats
from .measures import percentiles
from .tables import Table
from .tally import PLACES, Bins, Tally


@dataclass(frozen=True, repr=False, eq=False)
class Calibration:
    """Scores beside labels in bins of the score; arrays are [overall, z=0, z=1] by bin.

    Parameters
    ----------
    edges : array of shape (B+1,)
        The bins, those of scikit-learn's `calibration_curve`.
    weight : array of shape (3, B)
        Rows of each bin, or their weight.
    mean_score, positive_share : array of shape (3, B)
        NaN in a bin without rows.
    low, high : array of shape (3, B)
        Interval of the share of positive labels; NaN without a bootstrap.
    levels : tuple of str
        What z = 0 and z = 1 stand for.

    Examples
    --------
    >>> from unsway.auditing.tally import Sample
    >>> y, z = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> tally = Sample.of(y, np.array([0.2, 0.2, 0.9, 0.7]), z).tally()
    >>> found = Calibration.of(tally, Bins.of(tally.sample.scores, 2, "uniform"), ("a", "b"))
    >>> found.mean_score[0].round(6).tolist(), found.positive_share[0].tolist()
    ([0.2, 0.8], [0.5, 1.0])
    """

    edges: Floats
    weight: Floats
    mean_score: Floats
    positive_share: Floats
    low: Floats
    high: Floats
    levels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tally: Tally,
        bins: Bins,
        levels: tuple[str, ...],
        replicates: Floats | None = None,
        confidence: float = 0.95,
    ) -> Calibration:
        """Return the curves, with intervals from replicates of the shares by [place, bin]."""
        weight, score, label = tally.binned(bins)
        low, high = np.full((2, *weight.shape), np.nan)
        if replicates is not None:
            ends = [percentiles(column, confidence) for column in replicates.T]
            low, high = (np.reshape(side, weight.shape) for side in zip(*ends, strict=True))
        with np.errstate(invalid="ignore"):
            return cls(bins.edges, weight, score / weight, label / weight, low, high, levels)

    @property
    def table(self) -> Table:
        """One row per group and bin that has rows."""
        keep = [tuple(place) for place in np.argwhere(self.weight > 0)]
        names = ("", *self.levels)
        arrays = {
            "weight": self.weight,
            "mean_score": self.mean_score,
            "positive_share": self.positive_share,
            "low": self.low,
            "high": self.high,
        }
        return Table(
            {
                "group": [PLACES[place] for place, _ in keep],
                "level": [names[place] for place, _ in keep],
                "bin_low": [float(self.edges[k]) for _, k in keep],
                "bin_high": [float(self.edges[k + 1]) for _, k in keep],
                **{
                    name: [float(values[place]) for place in keep]
                    for name, values in arrays.items()
                },
            }
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per group and bin that has rows."""
        return self.table.to_frame(backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves of both groups; return the Axes."""
        from .plots import plot_calibration

        return plot_calibration(self, ax)

    def __repr__(self) -> str:
        return f"Calibration({len(self.edges) - 1} bins, overall and by group)"
