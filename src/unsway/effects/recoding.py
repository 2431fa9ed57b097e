"""The gap of scores recoded to the scale of the labels, and the gaps of what they are made of."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .fair_parts import FairParts
from .influence import Mean, gap
from .pass_through import Equations, Mixture


def recoded_gap(equations: Equations, fair: FairParts, mixture: Mixture, z: Floats) -> Mean:
    """Return the gap of q = P(f + κD + εr), the mixture as far as the score's rank tells it.

    q is the same for every strictly increasing coding of a score, f itself for a fair score and m
    for a blind one. The means given the rank are estimated too: with h(rank) such that
    E[w·h·g] = gap(g) for functions g of the rank, their errors move the gap by that of
    w·h·(f + κD + εr − q), debiased.
    """
    weights, share, own = fair.weights, mixture.share, mixture.own
    by_share = np.array([1.0, share.value])
    shown = equations.codes[:, :2] @ by_share
    code = shown + own.value * equations.codes[:, 2]
    reached = equations.ranking.represent(weights * _contrast(z, weights))
    missed = (fair.square - fair.overlap) * (fair.parts @ by_share - shown)
    missed += fair.corrections @ by_share
    missed += own.value * fair.overlap * (fair.residual - equations.codes[:, 2])
    moved = weights * reached * missed
    found = gap(code, z, weights) + Mean(moved.mean(), moved - moved.mean())
    slopes = [gap(column, z, weights).value for column in equations.codes.T[1:]]
    shift = share.influence * slopes[0] + own.influence * slopes[1]
    return Mean(found.value, found.influence + shift)


def gaps_of_parts(
    y: Floats, mean: Floats, z: Floats, fair: FairParts, total: Mean, explained: Mean
) -> tuple[Mean, Mean]:
    """Return the gaps of D and of r = z − b.

    gap(r) = E[w]/(π(1−π)). The whole gap of the labels is that of f, of D and of τ·r, of which the
    last is E[w·τ]/(π(1−π)).
    """
    of_direct = _scaled(fair.residual * (y - mean), z, fair.weights)
    return total - explained - of_direct, _scaled(fair.square, z, fair.weights)


def _scaled(values: Floats, z: Floats, weights: Floats) -> Mean:
    """Return E[values]/(π(1−π)), with π the share of z = 1."""
    share = float(np.average(z, weights=weights))
    spread = share * (1 - share)
    rows = weights * values
    value = float(rows.mean()) / spread
    moved = (1 - 2 * share) * weights * (z - share)
    return Mean(value, (rows - rows.mean() - value * moved) / spread)


def _contrast(z: Floats, weights: Floats) -> Floats:
    """Return z/π − (1−z)/(1−π), whose mean with values is their gap."""
    share = float(np.average(z, weights=weights))
    return z / share - (1 - z) / (1 - share)
