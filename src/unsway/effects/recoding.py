"""The gap of scores recoded to the scale of the labels, and the gaps of what they are made of."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .fair_parts import FairParts
from .influence import Mean
from .pass_through import Equations, Mixture


def recoded_gap(equations: Equations, fair: FairParts, mixture: Mixture) -> Mean:
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
    reached = equations.ranking.represent(fair.contrast)
    missed = (fair.square - fair.overlap) * (fair.parts @ by_share - shown)
    missed += fair.corrections @ by_share
    missed += own.value * fair.overlap * (fair.residual - equations.codes[:, 2])
    moved = weights * reached * missed
    found = fair.gap(code) + Mean(moved.mean(), moved - moved.mean())
    slopes = [fair.gap(column).value for column in equations.codes.T[1:]]
    shift = share.influence * slopes[0] + own.influence * slopes[1]
    return Mean(found.value, found.influence + shift)


def gaps_of_parts(
    surprise: Floats, fair: FairParts, total: Mean, explained: Mean
) -> tuple[Mean, Mean]:
    """Return the gaps of D and of r = z − b; ``surprise`` is y − m.

    The whole gap of the labels is that of f, that of D, and what of it m misses: in each level
    E[(1(z=l) − b_l)·(y − m)]/P(l), which of two levels is E[w·τ]/(π(1−π)) in all. gap(r) is
    E[w]/P(l) in the one and −E[w]/P(0) in the other.
    """
    (at_reference, own_reference), (at_level, own_level) = (
        (
            Mean.of(fair.weights * unforeseen * surprise, member),
            Mean.of(fair.weights * fair.square, member),
        )
        for unforeseen, member in zip(fair.unforeseen.T, fair.members.T, strict=True)
    )
    return total - explained - (at_level - at_reference), own_level + own_reference
