"""Functions of a score's rank: what a score can tell, whatever the coding it comes in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import Floats

#: Pieces of the functions of the rank: a piece per so many rows, within these bounds.
ROWS_PER_PIECE, FEWEST_PIECES, MOST_PIECES = 50, 6, 20

_RIDGE = 1e-9  # of the mean square of a function: a piece without rows gets the value of none


@dataclass(frozen=True, eq=False)
class Ranking:
    """Piecewise linear functions of a score's rank, and the mean of anything given that rank.

    The rank t is the share of the weight below a score, half of its ties included. Every strictly
    increasing coding of a score has the same ranks, so whatever is made of them is the same too.
    Knots lie closer together at both ends, where scores stretch out.

    Parameters
    ----------
    functions : array of shape (n, K)
        The hat functions of the knots at each row.
    weights : array of shape (n,)
        Of the rows in the means.

    Examples
    --------
    >>> scores = np.array([0.1, 0.2, 0.3, 0.9])
    >>> ranking, same = (Ranking.of(s, np.ones(4), np.ones(4)) for s in (scores, scores**2))
    >>> bool((ranking.functions == same.functions).all())
    True
    """

    functions: Floats
    weights: Floats

    @classmethod
    def of(cls, scores: Floats, rows: Floats, weights: Floats) -> Self:
        """Return the functions of the ranks that scores have among rows of these weights."""
        pieces = int(np.clip(len(scores) / ROWS_PER_PIECE, FEWEST_PIECES, MOST_PIECES))
        _, place = np.unique(scores, return_inverse=True)
        mass = np.bincount(place, rows)
        rank = ((np.cumsum(mass) - mass / 2) / mass.sum())[place]
        knots = (1 - np.cos(np.pi * np.linspace(0, 1, pieces + 1))) / 2
        piece = np.clip(np.searchsorted(knots, rank, side="right") - 1, 0, pieces - 1)
        share = (rank - knots[piece]) / (knots[piece + 1] - knots[piece])
        functions, every = np.zeros((len(scores), pieces + 1)), np.arange(len(scores))
        functions[every, piece] = 1 - share
        functions[every, piece + 1] = share
        return cls(functions, weights)

    def mean(self, values: Floats) -> Floats:
        """Return the weighted mean of each column of values given the rank."""
        return self._fitted((self.functions * self.weights[:, None]).T @ values)

    def represent(self, values: Floats) -> Floats:
        """Return the h with Σ weights·h·g = Σ values·g for every function g of the rank."""
        return self._fitted(self.functions.T @ values)

    def _fitted(self, sums: Floats) -> Floats:
        square = (self.functions * self.weights[:, None]).T @ self.functions
        square += _RIDGE * np.trace(square) / len(square) * np.eye(len(square))
        return np.asarray(self.functions @ np.linalg.solve(square, sums))
