"""Overlap: whether both groups are found at every propensity, so that people can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from .._typing import Floats, Mask
from ..checks import check_integer, check_weights, read_numbers
from ..frames import Tabular, make_frame, plain
from ..grouping import Grouping
from ..groups import Groups
from ..svg import histogram
from .plots import plot_overlap

#: Share of propensities beyond the bounds from which on effects are to be read with caution.
#: `estimate_effects` warns by it and `verdict` judges by it, so that the two agree.
MAX_EXTREME_SHARE = 0.25


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Overlap(Tabular):
    """How the propensities of the two groups overlap; pairs are (z=0, z=1).

    As a frame it has one row per group.

    Parameters
    ----------
    levels : tuple
        What z = 0 and z = 1 stand for.
    n_rows : tuple of int
        Rows of each group.
    low, high : float
        The bounds beyond which a propensity counts as extreme.
    share_below, share_above : float
        Shares of all rows with b < low and with b > high.
    share_outside_by_group : tuple of float
        Share of each group beyond the bounds.
    auc : float
        Chance that a z=1 row has a higher b than a z=0 row: ½ says X tells nothing about z, 1 that
        no two people can be compared.
    range_by_group : tuple of tuples
        Smallest and largest b of each group.
    share_in_support : float
        Share of all rows inside the common support.
    ate_sizes, overlap_sizes : tuple of float
        Effective sample sizes (Σw)²/Σw² under ATE and overlap weights; NaN where a weight is
        infinite, or where all are zero.
    n_exact, n_infinite : int
        Rows with b exactly 0 or 1, and those among them in the group b rules out, whose ATE weight
        is infinite.
    bin_edges : array of shape (B+1,)
    densities : array of shape (2, B)
        Histogram of b in each group, with area 1.
    """

    levels: tuple[Any, ...]
    n_rows: tuple[int, int]
    low: float
    high: float
    share_below: float
    share_above: float
    share_outside_by_group: tuple[float, float]
    auc: float
    range_by_group: tuple[tuple[float, float], tuple[float, float]]
    share_in_support: float
    ate_sizes: tuple[float, float]
    overlap_sizes: tuple[float, float]
    n_exact: int
    n_infinite: int
    bin_edges: Floats
    densities: Floats

    @property
    def share_outside(self) -> float:
        """Share of all rows with b beyond the bounds."""
        return self.share_below + self.share_above

    @property
    def support(self) -> tuple[float, float]:
        """Common support: the larger of the groups' minima, the smaller of their maxima.

        It is empty where the first exceeds the second.
        """
        (low0, high0), (low1, high1) = self.range_by_group
        return max(low0, low1), min(high0, high1)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        minima, maxima = zip(*self.range_by_group, strict=True)
        return {
            "group": list(map(str, self.levels)),
            "rows": self.n_rows,
            "minimum": minima,
            "maximum": maxima,
            "share_outside": self.share_outside_by_group,
            "effective_rows_ate": self.ate_sizes,
            "effective_rows_overlap": self.overlap_sizes,
        }

    def _charts(self) -> str:
        names = [
            f"{level} ({rows:,} rows)" for level, rows in zip(self.levels, self.n_rows, strict=True)
        ]
        title = "Propensities of the two groups"
        edges, heights = self.bin_edges.tolist(), self.densities.tolist()
        return histogram(edges, heights, names, title=title, x_title="propensity")

    def histogram_to_frame(self, backend: str = "pandas") -> Any:
        """Return the histogram, one row per bin."""
        data = {
            "low": self.bin_edges[:-1].tolist(),
            "high": self.bin_edges[1:].tolist(),
            "density_z0": self.densities[0].tolist(),
            "density_z1": self.densities[1].tolist(),
        }
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, ready for JSON; None where one is unknown."""
        return {
            "rows": list(self.n_rows),
            "bounds": [self.low, self.high],
            "share_outside": self.share_outside,
            "share_below": self.share_below,
            "share_above": self.share_above,
            "share_outside_by_group": list(self.share_outside_by_group),
            "auc": self.auc,
            "common_support": list(self.support),
            "share_in_support": self.share_in_support,
            "effective_sample_size_ate": [plain(size) for size in self.ate_sizes],
            "effective_sample_size_overlap": [plain(size) for size in self.overlap_sizes],
            "n_exact": self.n_exact,
            "n_infinite": self.n_infinite,
            "histogram": plain({"edges": self.bin_edges, "densities": self.densities}),
        }

    plot = plot_overlap

    def __repr__(self) -> str:
        start, end = self.support
        support = f"[{start:.3f}, {end:.3f}]" if start <= end else "empty"
        lines = [
            f"Overlap of {sum(self.n_rows):,} rows: {self.share_outside:.1%} of propensities "
            f"outside [{self.low:g}, {self.high:g}], AUC {self.auc:.3f}",
            f"common support {support} holds {self.share_in_support:.1%} of the rows",
            f"{'group':<20}{'rows':>10}{'outside':>9}{'ATE rows':>11}{'overlap rows':>14}",
        ]
        lines += [
            f"{self.levels[z]!s:<20}{self.n_rows[z]:>10,}{self.share_outside_by_group[z]:>9.1%}"
            f"{self.ate_sizes[z]:>11,.0f}{self.overlap_sizes[z]:>14,.0f}"
            for z in (0, 1)
        ]
        if self.n_exact:
            lines.append(
                f"{self.n_exact:,} propensities are exactly 0 or 1; {self.n_infinite:,} rows "
                "contradict theirs and would have an infinite weight"
            )
        return "\n".join(lines)


def overlap(
    propensity: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    low: float = 0.05,
    high: float = 0.95,
    bins: int = 20,
    groups: Grouping | None = None,
) -> Overlap:
    """Say how far the propensities of the two groups overlap.

    Where b is near 0 or 1 almost everyone is of one group, and what z does to such people is
    extrapolated, not seen.

    Parameters
    ----------
    propensity : array of shape (n,)
        b = P(z=1 | X), within [0, 1].
    sensitive_features : column of length n
        z, with two levels.
    sample_weight : array of shape (n,), optional
        Weights of the rows in every share, in the AUC, the sizes and the histogram.
    low : float, default=0.05
    high : float, default=0.95
        Bounds beyond which a propensity counts as extreme.
    bins : int, default=20
        Bins of the histogram on [0, 1].
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Returns
    -------
    Overlap

    References
    ----------
    Crump, Hotz, Imbens & Mitnik (2009), Biometrika 96(1), 187–199. Li, Morgan & Zaslavsky (2018),
    JASA 113(521), 390–400.

    Examples
    --------
    One of four rows is extreme; three of the four pairs (z=1, z=0) are in order:

    >>> found = overlap([0.02, 0.6, 0.4, 0.9], sensitive_features=[0, 0, 1, 1])
    >>> found.share_outside, found.auc, found.support
    (0.25, 0.75, (0.4, 0.6))
    """
    scores = check_propensity(propensity)
    sensitive = Groups.check(sensitive_features, len(scores), groups=groups, beside="propensity")
    given = check_weights(sample_weight, len(scores), beside="propensity")
    sensitive.check_present(given, "sensitive_features")
    if not 0 <= low < high <= 1:
        raise ValueError(f"low and high must keep 0 <= low < high <= 1; got {low!r} and {high!r}")
    check_integer(bins, "bins", at_least=1)
    weights = np.ones(len(scores)) if given is None else given
    keep = weights > 0  # rows without weight count in no range and no number of rows
    return _describe(scores[keep], sensitive.take(keep), weights[keep], (low, high), bins)


def _describe(
    b: Floats, groups: Groups, weights: Floats, bounds: tuple[float, float], bins: int
) -> Overlap:
    (low, high), z, edges = bounds, groups.z, np.linspace(0, 1, bins + 1)
    (b0, w0), (b1, w1) = ((b[z == level], weights[z == level]) for level in (0, 1))
    start, end = max(b0.min(), b1.min()), min(b0.max(), b1.max())
    factors = propensity_weights(b, z)
    ate, kept = weights * factors["ATE"], weights * factors["overlap"]

    def share(inside: Mask, weights: Floats = weights) -> float:
        return float(np.average(inside, weights=weights))

    return Overlap(
        levels=groups.levels,
        n_rows=(len(b0), len(b1)),
        low=low,
        high=high,
        share_below=share(b < low),
        share_above=share(b > high),
        share_outside_by_group=(
            share((b0 < low) | (b0 > high), w0),
            share((b1 < low) | (b1 > high), w1),
        ),
        auc=float(roc_auc_score(z, b, sample_weight=weights)),
        range_by_group=((float(b0.min()), float(b0.max())), (float(b1.min()), float(b1.max()))),
        share_in_support=share((b >= start) & (b <= end)),
        ate_sizes=(effective_size(ate[z == 0]), effective_size(ate[z == 1])),
        overlap_sizes=(effective_size(kept[z == 0]), effective_size(kept[z == 1])),
        n_exact=int(((b == 0) | (b == 1)).sum()),
        n_infinite=int(np.isinf(ate).sum()),
        bin_edges=edges,
        densities=np.stack(
            [np.histogram(x, edges, weights=w, density=True)[0] for x, w in ((b0, w0), (b1, w1))]
        ),
    )


def effective_size(weights: Floats) -> float:
    """Return (Σw)²/Σw², the number of rows of equal weight with as much information.

    NaN where a weight is infinite or all are zero.

    Examples
    --------
    >>> round(effective_size(np.array([1.0, 1.0, 2.0])), 3)
    2.667
    """
    largest = float(weights.max())
    if not 0 < largest < np.inf:
        return float("nan")
    scaled = weights / largest
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def check_propensity(b: Any, n_rows: int | None = None, *, beside: str = "X") -> Floats:
    """Return propensities as floats, or say how many are not finite or outside [0, 1]."""
    scores = read_numbers(b, "propensity", n_rows, beside=beside)
    outside = int(((scores < 0) | (scores > 1)).sum())
    if outside:
        raise ValueError(
            f"propensity has {outside} values outside [0, 1] in {len(scores)} rows; it must be "
            "the probability of z = 1, not a margin"
        )
    return scores


def propensity_weights(b: Floats, z: Floats) -> dict[str, Floats]:
    """Return the ATE, ATT, ATC and overlap weights; infinite where b rules out a row's own z.

    Examples
    --------
    >>> found = propensity_weights(np.array([0.25, 0.25]), np.array([0.0, 1.0]))
    >>> found["ATE"].round(6).tolist(), found["overlap"].tolist()
    ([1.333333, 4.0], [0.25, 0.75])
    """
    own = np.where(z == 1, b, 1 - b)
    with np.errstate(divide="ignore"):
        inverse = 1 / own
    odds = inverse - 1  # exactly 0 where own is 1
    return {
        "ATE": inverse,
        "ATT": np.where(z == 1, 1.0, odds),
        "ATC": np.where(z == 1, odds, 1.0),
        "overlap": 1 - own,
    }
