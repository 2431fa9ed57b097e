"""Rows told apart by group, label and score: every metric of an audit follows from their weights.

A score that many rows share is kept once, so the table has one line per distinct score, and a
bootstrap replicate is one pass over the rows that fills the same table again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats

#: Log-losses treat a score closer to 0 or 1 than this as this close, as scikit-learn does.
TINY = float(np.finfo(np.float64).eps)
#: The places of the groups in a tally's tables.
PLACES = ("overall", "z=0", "z=1")


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of the scores, those of scikit-learn's `calibration_curve`.

    `edges` has one more entry than there are bins; a score on an inner edge belongs to the lower
    bin.
    """

    edges: Floats

    @classmethod
    def of(cls, scores: Floats, n_bins: int, strategy: str) -> Bins:
        """Return bins of equal width, or with as many rows each."""
        steps = np.linspace(0, 1, n_bins + 1)
        return cls(steps if strategy == "uniform" else np.percentile(scores, steps * 100))

    def starts(self, scores: Floats) -> NDArray[np.intp]:
        """Return where each bin begins among increasing scores."""
        return np.append(0, np.searchsorted(scores, self.edges[1:-1], side="right"))


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows ready to be tallied, all of them or a resample.

    Parameters
    ----------
    scores : array of shape (U,)
        The distinct scores in increasing order.
    cells : array of shape (n,)
        Where each row is counted in a table [group, label, score].
    weights : array of shape (n,) or None
    functions : array of shape (U, 5)
        Of each score p: p, log p, log(1−p), p², (1−p)².
    """

    scores: Floats
    cells: NDArray[np.intp] = field(repr=False)
    weights: Floats | None = field(repr=False)
    functions: Floats = field(repr=False)

    @classmethod
    def of(cls, y: Floats, p: Floats, z: Floats, weights: Floats | None = None) -> Sample:
        """Index the rows once."""
        scores, place = np.unique(p, return_inverse=True)
        cells = (2 * z + y).astype(np.intp) * len(scores) + place.ravel()
        inner = np.clip(scores, TINY, 1 - TINY)
        functions = [scores, np.log(inner), np.log1p(-inner), scores**2, (1 - scores) ** 2]
        return cls(scores, cells, weights, np.column_stack(functions))

    def tally(self, rows: Any = slice(None)) -> Tally:
        """Return the weights of these rows, repeated ones included."""
        weights = None if self.weights is None else self.weights[rows]
        counts = np.bincount(self.cells[rows], weights, 4 * len(self.scores))
        return Tally(self, counts.reshape(2, 2, -1).astype(np.float64, copy=False))


@dataclass(frozen=True, eq=False)
class Tally:
    """Weight of the rows by [group, label, distinct score].

    Examples
    --------
    Of three pairs of a positive and a negative row, two are in order:

    >>> y, z = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> found = Sample.of(y, np.array([0.1, 0.9, 0.2, 0.4]), z).tally()
    >>> found.auc()[[0, 2]].round(4).tolist()
    [0.6667, 1.0]
    """

    sample: Sample = field(repr=False)
    weights: Floats = field(repr=False)

    def totals(self) -> Floats:
        """Return the weights by [place, label]: overall, z=0, z=1."""
        return _with_overall(self.weights.sum(axis=2))

    def sums(self) -> Floats:
        """Return sums of the functions of the score by [place, label, function]."""
        flat = self.weights.reshape(4, -1) @ self.sample.functions
        return _with_overall(flat.reshape(2, 2, -1))

    def auc(self) -> Floats:
        """Return P(positive scores higher) + ½P(tie) by place; NaN where a class is absent."""
        found = [_auc(part) for part in (self.weights.sum(axis=0), *self.weights)]
        return np.array(found)

    def decisions(self, threshold: float) -> Floats:
        """Return the weights by [group, label, decision]; a row is selected above the threshold."""
        cut = int(np.searchsorted(self.sample.scores, threshold, side="right"))
        return np.stack(
            [self.weights[..., :cut].sum(axis=2), self.weights[..., cut:].sum(axis=2)], axis=2
        )

    def binned(self, bins: Bins) -> tuple[Floats, Floats, Floats]:
        """Return weights, sums of scores and sums of labels by [place, bin]."""
        starts = bins.starts(self.sample.scores)
        rows = self.weights.sum(axis=1)
        parts = (rows, rows * self.sample.scores, self.weights[:, 1])
        weight, score, label = (_with_overall(_segments(part, starts)) for part in parts)
        return weight, score, label


def _with_overall(by_group: Floats) -> Floats:
    return np.concatenate([by_group.sum(axis=0, keepdims=True), by_group])


def _segments(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Return the sums from each start to the next; 0 where that is nothing."""
    ends = np.append(starts[1:], values.shape[1])
    return np.stack(
        [values[:, start:end].sum(axis=1) for start, end in zip(starts, ends, strict=True)], axis=1
    )


def _auc(part: Floats) -> float:
    """Return the AUC of weights by [label, distinct score]."""
    negative, positive = part
    totals = part.sum(axis=1)
    if not totals.all():
        return float("nan")
    below = np.cumsum(negative)
    below -= negative / 2
    return float(positive @ below / totals.prod())
