"""Pass-through: the share κ of the labels' direct effect that the ranking of a score passes on.

A score ranks like f + κD if no other mixture of fair score and direct part is as well told by its
rank. For a score with P(·) the mean given its rank, r = z − b, and products with overlap weights::

    P(f + κD + εr) = λ·(f + κD + εr) + something uncorrelated with f, D and r

λ is the share of the mixture that the rank tells, ε what z itself adds. A fair score in whatever
coding solves it with κ = 0, a blind one with κ = 1, one from which D was removed twice with −1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import stats

from .._typing import Floats, Index
from .estimate import Estimate
from .fair_parts import FairParts
from .influence import Mean, covariance
from .ranking import Ranking

#: Where the share is looked for: closely around 0 and 1, then ever wider.
_GRID = np.union1d(np.linspace(-3.0, 4.0, 141), 0.5 + np.tan(np.linspace(-1.55, 1.55, 125)))

_STEP = 1e-4  # of a standard error, for the slopes of the equations


@dataclass(frozen=True, eq=False)
class Equations:
    """The products whose ratios say what a score passes on, each with its influence function.

    Parameters
    ----------
    values : array of shape (14,)
        E[w·P(v_j)·v_k] for v = (f, D, r), line by line, then E[w·v_j·v_k] for f and D, and for r.
        One factor of each product is a cross-fitted prediction, the other is debiased, so that the
        models' noise does not dilute the ratios.
    influence : array of shape (n, 14)
        What each row adds to them, less the mean.
    codes : array of shape (n, 3)
        P(f), P(D) and P(r): what a rank tells of each.
    ranking : Ranking
        The functions of the rank.
    """

    values: Floats
    influence: Floats
    codes: Floats
    ranking: Ranking

    @classmethod
    def of(cls, scores: Floats, fair: FairParts) -> Self:
        """Return the equations of a model's scores."""
        ranking = Ranking.of(scores, fair.weights, fair.mass)
        codes = ranking.mean(np.column_stack([fair.parts, fair.residual]))
        codes = codes - np.average(codes, axis=0, weights=fair.mass)
        told, known = _by_rank(codes, fair), _known(fair)
        rows = np.concatenate([told.reshape(len(told), 9), known], axis=1)
        rows *= (fair.weights / np.mean(fair.weights * fair.square))[:, None]
        values = rows.mean(axis=0)
        return cls(values, rows - values, codes, ranking)

    def mean(self, function: Callable[[Floats], Floats]) -> Mean:
        """Return a smooth function of the products as an estimate."""
        slopes = _slopes(function, self.values, _scale(self.influence))
        return Mean(float(function(self.values)), self.influence @ slopes)


def _by_rank(codes: Floats, fair: FairParts) -> Floats:
    """Return what each row adds to E[w·P(v_j)·v_k], of shape (n, 3, 3).

    Where a score depends on z beyond X, so does P(v): its part in r, a line whose slope is η, does
    not count as a function of X.
    """
    mass, r, w = fair.mass, fair.residual, fair.overlap
    left = codes - fair.functions @ _least_squares(fair.functions, codes, mass)
    slope = (mass * r) @ left / (mass @ r**2)
    found = np.empty((len(codes), 3, 3))
    found[:, :, :2] = fair.products(codes - np.outer(r, slope))
    away = fair.square - w  # what w is wrong by, to first order
    found[:, :2, 2] = (w * r)[:, None] * left[:, :2] + (w * away)[:, None] * slope[:2]
    found[:, 2, 2] = w * codes[:, 2] * r
    return found


def _known(fair: FairParts) -> Floats:
    """Return what each row adds to E[w·v_j·v_k] of f and D, and to E[w·r²] = E[w²]."""
    centred = fair.parts - np.average(fair.parts, axis=0, weights=fair.mass)
    own = fair.overlap * (2 * fair.square - fair.overlap)
    return np.column_stack([fair.products(centred).reshape(len(own), 4), own])


def _least_squares(functions: Floats, targets: Floats, weights: Floats) -> Floats:
    root = np.sqrt(weights)[:, None]
    return np.asarray(np.linalg.lstsq(functions * root, targets * root, rcond=1e-10)[0])


def pass_through(
    equations: Equations, confidence: float, clusters: Index | None = None
) -> tuple[Estimate, Mean] | None:
    """Return κ of the mixture that the rank tells best, with its influence; None if there is none.

    The interval holds every κ that the equations do not refute, and is infinite on a side where
    they refute none. The standard error is that of the first order.
    """
    kappa = _solution(equations.values)
    if kappa is None:
        return None
    slope = _slope(lambda at: _at(equations.values, at)[2], kappa)
    refuted = equations.mean(lambda values: _at(values, kappa)[2])
    found = Mean(kappa, -refuted.influence / slope, clusters)
    low, high = _not_refuted(equations, kappa, confidence, clusters)
    return Estimate(kappa, found.se, low, high), found


@dataclass(frozen=True, eq=False)
class Mixture:
    """What a score ranks by, f + κD + εr, and the share λ of it that its rank tells."""

    share: Mean
    own: Mean
    told: Mean

    @classmethod
    def at(cls, equations: Equations, share: Mean) -> Self:
        """Return the mixture with this κ, which may be estimated from the same rows."""
        own, told = (_with(equations, share, which) for which in (1, 0))
        return cls(share, own, told)


def _with(equations: Equations, kappa: Mean, which: int) -> Mean:
    """Return λ or ε, which depend on the products and on κ."""
    still = equations.mean(lambda values: _at(values, kappa.value)[which])
    slope = _slope(lambda at: _at(equations.values, at)[which], kappa.value)
    return Mean(still.value, still.influence + kappa.influence * slope)


def _matrices(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the products told by the rank, those of f and D, and that of r."""
    before = values.shape[:-1]
    known = values[..., 9:13].reshape(*before, 2, 2)
    return values[..., :9].reshape(*before, 3, 3), known, values[..., 13]


def _solution(values: Floats) -> float | None:
    """Return κ of the mixture that the rank tells best."""
    told, known, own = _matrices(values)
    whole = np.zeros((3, 3))
    whole[:2, :2], whole[2, 2] = known, own
    if np.linalg.det(known) <= 0 or own <= 0:
        return None
    shares, mixtures = np.linalg.eig(np.linalg.solve(whole, told))
    real = np.abs(shares.imag) <= 1e-9 * np.abs(shares).max()
    best = int(np.argmax(np.where(real, shares.real, -np.inf)))
    fair, direct = mixtures[:2, best].real
    return float(direct / fair) if real[best] and abs(fair) > 1e-9 else None


def _at(values: Floats, kappa: Any) -> tuple[Floats, Floats, Floats]:
    """Return λ and ε at a given κ, and how far the equations are from being solved by it.

    With u = f + κD, λ and ε solve the equations of u and r. Those of f and of D then agree only at
    a solution: (P(u+εr), D)·(u, f) = (P(u+εr), f)·(u, D).
    """
    told, known, own = _matrices(values)
    mixture = np.stack([np.ones_like(kappa), kappa], axis=-1)
    by_rank = np.einsum("...jk,...k->...j", told[..., :2, :2], mixture)
    by_all = np.einsum("...jk,...k->...j", known, mixture)
    first = (mixture * by_rank).sum(-1) / (mixture * by_all).sum(-1)
    last = told[..., 2, 2] / own
    down = (mixture * told[..., 2, :2]).sum(-1)
    across = (mixture * told[..., :2, 2]).sum(-1) * down / (mixture * by_all).sum(-1) / own
    share = (first + last) / 2 + np.sqrt(np.maximum(((first - last) / 2) ** 2 + across, 0))
    rest = share * own - told[..., 2, 2]  # 0 for a score that tells nothing
    extra = np.divide(down, rest, out=np.zeros_like(down + rest), where=rest != 0)
    whole = by_rank + extra[..., None] * told[..., :2, 2]
    return share, extra, whole[..., 1] * by_all[..., 0] - whole[..., 0] * by_all[..., 1]


def _not_refuted(
    equations: Equations, kappa: float, confidence: float, clusters: Index | None
) -> tuple[float, float]:
    """Return the ends of the κ around the solution whose mismatch may be chance.

    As in Fieller's and Anderson and Rubin's intervals, no ratio is taken, so that the interval
    holds where D hardly varies: it then has no end.
    """
    grid = np.sort(np.append(_GRID, kappa))
    slopes = _slopes(
        lambda values: _at(values[..., None, :], grid)[2],
        equations.values,
        _scale(equations.influence),
    )
    spread = covariance(equations.influence, clusters)
    variance = np.einsum("jk,ji,ik->k", slopes, spread, slopes)
    bound = stats.norm.ppf(0.5 + confidence / 2) ** 2 * variance
    same = np.broadcast_to(equations.values, (len(grid), len(equations.values)))
    excess = _at(same, grid)[2] ** 2 - bound
    place = int(np.searchsorted(grid, kappa))
    return _end(grid, excess, place, -1), _end(grid, excess, place, 1)


def _end(grid: Floats, excess: Floats, place: int, side: int) -> float:
    """Return where the excess turns positive on one side of a place; infinite if it does not."""
    while 0 <= place + side < len(grid):
        here, there = excess[place], excess[place + side]
        if there > 0:
            share = -here / (there - here) if here < 0 else 0.0
            return float(grid[place] + share * (grid[place + side] - grid[place]))
        place += side
    return side * np.inf


def _scale(influence: Floats) -> Floats:
    """Return the standard errors of means, or 1 where there is none: the scale of slopes."""
    se = np.sqrt(np.mean(influence**2, axis=0) / len(influence))
    return np.where(se > 0, se, 1.0)


def _slopes(function: Callable[[Floats], Floats], at: Floats, scale: Floats) -> Floats:
    """Return the slopes of a function in each of its arguments, by central differences.

    The function takes several lines of arguments at once.
    """
    steps = _STEP * np.diag(scale)
    change = np.asarray(function(at + steps) - function(at - steps))
    return change / (2 * _STEP * scale).reshape(-1, *[1] * (change.ndim - 1))


def _slope(function: Callable[[float], Floats], at: float) -> float:
    """Return the slope of a function of one number."""
    return float(function(at + _STEP) - function(at - _STEP)) / (2 * _STEP)
