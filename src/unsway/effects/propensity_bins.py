"""Bins of the propensity, and what is left of numbers beside a line in b within each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Index

#: A bin with fewer rows of a group than this is merged with others.
MIN_GROUP_ROWS = 10


@dataclass(frozen=True, eq=False)
class PropensityBins:
    """Rows by bin of the propensity.

    Parameters
    ----------
    b, base : arrays of shape (n,)
        Propensities, and weights of the rows.
    weights : array of shape (n,)
        Overlap weights, base·b(1−b).
    of_row : array of int of shape (n,)
        The bin of each row.
    centre, share : arrays of shape (K,)
        Mean b and share of the overlap weight of each bin.
    along : array of shape (n,)
        b less its bin's mean.
    """

    b: Floats
    base: Floats
    weights: Floats
    of_row: NDArray[np.intp]
    centre: Floats
    share: Floats
    along: Floats

    @classmethod
    def of(cls, b: Floats, base: Floats, n_bins: int, z: Floats | None) -> Self:
        """Cut b into bins of about equal weight, each with enough rows of either group."""
        weights = base * b * (1 - b)
        of_row = _cut(b, weights, n_bins, z)
        total = np.bincount(of_row, weights)
        centre = np.bincount(of_row, weights * b) / total
        along = b - centre[of_row]
        along[np.abs(along) < 1e-12] = 0.0  # a bin of one b has no line in b
        return cls(b, base, weights, of_row, centre, total / total.sum(), along)

    def means(self, values: Floats) -> Floats:
        """Return the mean of each bin."""
        total = np.bincount(self.of_row, self.weights)
        return np.bincount(self.of_row, self.weights * values) / total


def _cut(b: Floats, weights: Floats, n_bins: int, z: Floats | None) -> NDArray[np.intp]:
    _, owner = np.unique(b, return_inverse=True)
    mass = np.bincount(owner, weights)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    for count in range(n_bins, 0, -1):
        places = np.minimum((middle * count).astype(int), count - 1)
        used, places = np.unique(places, return_inverse=True)
        of_row: NDArray[np.intp] = places[owner]
        if z is None:
            return of_row
        table = np.bincount(2 * of_row + (z == 1), minlength=2 * len(used))
        if table.min() >= MIN_GROUP_ROWS:
            return of_row
    raise ValueError(f"a group has fewer than {MIN_GROUP_ROWS} rows; too few to compare the groups")


def slope_by_fold(
    effect: Floats,
    unexplained: Floats,
    bins: PropensityBins,
    z: Floats,
    folds: Index,
    n_bins: int,
) -> tuple[float, Floats] | None:
    """Return the slope θ of the labels on the effects within bins, and each row's error in it.

    Each fold has bins and lines of its own, and its slope is that of labels on predictions that are
    independent of them. The mean over the folds then has no bias. A slope of all rows together has:
    the models of one fold were trained on the rows of the others, so that the effects vary most
    where labels follow them by chance. None where a fold has too few rows.
    """
    parts = []
    for fold in np.unique(folds):
        rows = np.flatnonzero(folds == fold)
        b, base, own = bins.b[rows], bins.base[rows], z[rows]
        if min(np.bincount(own.astype(int), minlength=2)) < MIN_GROUP_ROWS:
            return None
        inside = PropensityBins.of(b, base, n_bins, own)
        rest = partial_out(effect[rows], np.ones(len(rows)), inside.weights, inside)[0]
        target = np.stack([unexplained[rows], (own - b) * rest], axis=1)
        answer, source = partial_out(target, own - b, base, inside)[0].T
        power = float(base @ source**2)
        if power <= 0:
            return None
        parts.append((rows, answer, source, base * source / power))
    theta = float(np.mean([gain @ answer for _, answer, _, gain in parts]))
    errors = np.zeros(len(effect))
    for rows, answer, source, gain in parts:
        errors[rows] = gain * (answer - theta * source) / len(parts)
    return theta, errors


def partial_out(
    target: Floats, factor: Floats, weights: Floats, bins: PropensityBins
) -> tuple[Floats, Floats, Floats]:
    """Return what weighted least squares on factor·(1, b − b̄_k) leaves of the targets, by bin.

    With it come the coefficient of the factor in each bin, and each row's part in it.
    """
    residual, gains = np.empty_like(target), np.empty(len(target))
    lines = []
    for place in range(len(bins.share)):
        rows = bins.of_row == place
        design = factor[rows, None] * np.vander(bins.along[rows], 2, increasing=True)
        root = np.sqrt(weights[rows])
        inverse = np.linalg.pinv(design * root[:, None], rcond=1e-10) * root
        fitted = inverse @ target[rows]
        residual[rows] = target[rows] - design @ fitted
        gains[rows] = inverse[0]
        lines.append(fitted[0])
    return residual, np.array(lines), gains
