"""What a blind score is made of: the fair score f and the direct part D, with what debiases both.

With m = E[y|X] and τ the direct effect at X, f = m − (b−½)·τ is the fair score of two groups and
D = (b−½)·τ what proxies of z pass on: f + D = m is what a blind model learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import Floats
from .nuisance import Nuisances


@dataclass(frozen=True, eq=False)
class FairParts:
    """f and D from cross-fitted models, and each row's correction of them.

    A mean with overlap weights, E[w·g·f] with w = b(1−b) and g any function of X, is the mean of
    ``square·g·f + g·corrections[0]``; with D it is ``square·g·D + g·corrections[1]``. Errors of the
    models count there only by their products with each other: square = (z−b)² is w to first order,
    and with ρ = y − m − (z−b)τ::

        correction of D: w·τ·(z−b) + (b−½)·(z−b)·ρ        of f: w·ρ − (b−½)·(z−b)·ρ

    No row is divided by a small propensity.

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
        parts = np.column_stack([mean - direct, direct])
        corrections, square = np.column_stack([of_fair, of_direct]), residual**2
        sums = weights @ (square[:, None] * parts + corrections)
        functions = [np.ones_like(b), *parts.T, b, b**2, effect, mean**2]
        return cls(
            parts=parts - sums / (weights @ square),
            corrections=corrections,
            residual=residual,
            overlap=overlap,
            square=square,
            weights=weights,
            functions=np.column_stack(functions),
        )

    @property
    def mass(self) -> Floats:
        """The weight of each row in overlap-weighted means."""
        return self.weights * self.overlap

    def products(self, given: Floats) -> Floats:
        """Return what each row adds to E[w·given·(f, D)], for functions of X of shape (n, K).

        The result has the shape (n, K, 2).
        """
        rows = self.square[:, None] * self.parts
        return given[:, :, None] * (rows + self.corrections)[:, None, :]
