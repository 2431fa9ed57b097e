"""What a blind score is made of: the fair score f and the direct part D, with what debiases both.

With m = E[y|X] and τ the direct effect at X, f = m − (b−½)·τ is the fair score of two groups and
D = (b−½)·τ what proxies of z pass on: f + D = m is what a blind model learns. Of several levels
f = Σ w_l·μ_l, and D = m − f again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import Floats
from ..rows import Rows
from .influence import Mean
from .nuisance import Nuisances


@dataclass(frozen=True, eq=False)
class FairParts:
    """f and D from cross-fitted models, and each row's correction of them.

    A mean with overlap weights, E[w·g·f] with w = b(1−b) and g any function of X, is the mean of
    ``square·g·f + g·corrections[0]``; with D it is ``square·g·D + g·corrections[1]``. Errors of the
    models count there only by their products with each other: square = (z−b)² is w to first order,
    and with ρ = y − m − (z−b)τ::

        correction of D: w·τ·(z−b) + (b−½)·(z−b)·ρ        of f: w·ρ − (b−½)·(z−b)·ρ

    No row is divided by a small propensity. Of several levels, one is compared with the reference:
    b is P(level | X, one of the two), z − b is 0 in rows of other levels, and
    w = b_0·b_l/(b_0+b_l) = E[(z−b)² | X]. Then::

        correction of f: w·(w_z/b_z)·(y − μ_z)        of f + D = m: w·(y − m)

    Parameters
    ----------
    parts : array of shape (n, 2)
        f and D, less their means.
    corrections : array of shape (n, 2)
        Of f and of D.
    residual : array of shape (n,)
        z − b.
    overlap, square : array of shape (n,)
        w = b(1−b) and (z−b)².
    members : array of shape (n, 2)
        The weight of rows of the reference and of those of the level, 0 in others.
    unforeseen : array of shape (n, 2)
        Whether a row is of the reference, and of the level, less the propensity of each.
    weights : array of shape (n,)
        Of the rows, with a mean of 1.
    functions : array of shape (n, K)
        Functions of X that a score may follow, for a regression on them.
    """

    parts: Floats
    corrections: Floats
    residual: Floats
    overlap: Floats
    square: Floats
    members: Floats
    unforeseen: Floats
    weights: Floats
    functions: Floats

    @classmethod
    def of(cls, y: Floats, z: Floats, weights: Floats, nuisances: Nuisances) -> Self:
        """Return the parts of rows whose nuisances these are.

        Clipped propensities would move (z−b)² away from w, of which 0 and 1 do no harm here.
        """
        b = nuisances.propensity if nuisances.unclipped is None else nuisances.unclipped
        effect = nuisances.effect
        mean = nuisances.outcome[:, 0] + b * effect
        residual, overlap, lean = z - b, b * (1 - b), b - 0.5
        noise = y - mean - residual * effect
        direct = lean * effect
        of_direct = overlap * effect * residual + lean * residual * noise
        of_fair = overlap * noise - lean * residual * noise
        return cls._centred(
            np.column_stack([mean - direct, direct]),
            np.column_stack([of_fair, of_direct]),
            (b, b**2, effect, mean**2),
            residual=residual,
            overlap=overlap,
            square=residual**2,
            members=weights[:, None] * np.column_stack([1 - z, z]),
            unforeseen=np.column_stack([-residual, residual]),
            weights=weights,
        )

    @classmethod
    def of_level(
        cls, rows: Rows, nuisances: Nuisances, level_weights: Sequence[float], level: int
    ) -> Self:
        """Return the parts of one of several levels, compared with the reference."""
        codes, b = rows.groups.codes.astype(np.intp), nuisances.propensities
        own, weights = (np.arange(len(rows)), codes), rows.mean_one_weights
        pair = np.column_stack([codes == 0, codes == level])
        share, outcome = nuisances.pair(level)
        overlap = b[:, 0] * share
        residual = pair[:, 1] - share * pair.any(axis=1)
        mean, fair = nuisances.mean, nuisances.fair(level_weights)
        of_fair = overlap * np.asarray(level_weights)[codes] / b[own]
        of_fair = of_fair * (rows.y - nuisances.outcome[own])
        effect = outcome[:, 1] - outcome[:, 0]
        return cls._centred(
            np.column_stack([fair, mean - fair]),
            np.column_stack([of_fair, overlap * (rows.y - mean) - of_fair]),
            (share, share**2, effect, mean**2),
            residual=residual,
            overlap=overlap,
            square=residual**2,
            members=weights[:, None] * pair,
            unforeseen=pair - b[:, [0, level]],
            weights=weights,
        )

    @classmethod
    def _centred(
        cls, parts: Floats, corrections: Floats, functions: tuple[Floats, ...], **known: Floats
    ) -> Self:
        """Return parts less their means, with the functions of X that a score may follow."""
        square, weights = known["square"], known["weights"]
        sums = weights @ (square[:, None] * parts + corrections)
        return cls(
            parts=parts - sums / (weights @ square),
            corrections=corrections,
            functions=np.column_stack([np.ones_like(square), *parts.T, *functions]),
            **known,
        )

    @property
    def mass(self) -> Floats:
        """The weight of each row in overlap-weighted means."""
        return self.weights * self.overlap

    def gap(self, values: Floats) -> Mean:
        """Return E[values | level] − E[values | reference]."""
        zeros, ones = self.members.T
        return Mean.of(values * ones, ones) - Mean.of(values * zeros, zeros)

    @property
    def contrast(self) -> Floats:
        """What values are averaged with to give their gap."""
        zeros, ones = (self.members / self.members.mean(axis=0)).T
        return np.asarray(ones - zeros)

    def products(self, given: Floats) -> Floats:
        """Return what each row adds to E[w·given·(f, D)], for functions of X of shape (n, K).

        The result has the shape (n, K, 2).
        """
        rows = self.square[:, None] * self.parts
        return given[:, :, None] * (rows + self.corrections)[:, None, :]
