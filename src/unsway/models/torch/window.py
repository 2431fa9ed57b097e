"""A penalty's statistics over the rows that came last, where rows have no number."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Penalty
from ...criteria import DirectEffect, FittedDirectEffect, GroupCriterion
from ...roles import Floats
from .engine import torch
from .running import slope_of

#: Labels, z, b, weights and scores of one batch.
Batch = tuple[Floats, Floats, Floats, Floats, Floats]


class RecentRows:
    """R over the last rows of a stream, at the scores they had when they came.

    The criterion makes its penalty of these rows, as it would of any; the slope comes from the
    newest batch as in `RunningStatistics`, with n the number of rows kept.

    Parameters
    ----------
    criterion : DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        What the scores are held to.
    memory : int
        Rows to keep, at least; whole batches are forgotten, the oldest first.
    """

    def __init__(self, criterion: Any, memory: int) -> None:
        if not isinstance(criterion, (DirectEffect, FittedDirectEffect, GroupCriterion)):
            raise TypeError(
                f"{type(criterion).__name__} needs the training rows: FairLoss(criterion, X=X, "
                "y=y, sensitive_features=z)"
            )
        if isinstance(criterion, DirectEffect):
            criterion.check_settings()
        self.criterion = criterion
        self.memory = memory
        self.batches: deque[Batch] = deque()

    @property
    def needs_propensity(self) -> bool:
        """Whether b must come with each batch."""
        return not isinstance(self.criterion, GroupCriterion)

    def __call__(
        self,
        scores: torch.Tensor,
        y: Floats,
        z: Floats,
        b: Floats | None,
        weights: Floats | None,
        *,
        keep: bool,
    ) -> tuple[torch.Tensor, float]:
        """Return R with the slope that these scores have in it, and the mean weight of all rows.

        R is 0 as long as the rows so far do not determine it, as when all are of one group.
        """
        n_new = len(y)
        ones, p = np.ones(n_new), scores.detach().cpu().numpy()
        batch = (y, z, ones / 2 if b is None else b, ones if weights is None else weights, p)
        before = len(self.batches)
        self.batches.append(batch)
        y, z, b, weights, p = map(np.concatenate, zip(*self.batches, strict=True))
        if not keep or np.isnan(batch[-1]).any():
            self.batches.pop()
        self._forget()
        penalty = self._penalty(y, z, b, weights, full=before > 0 and len(y) >= self.memory)
        if penalty is None:
            return scores.sum() * 0.0, float(weights.mean())
        return _value(penalty, p, scores), float(weights.mean())

    def _forget(self) -> None:
        kept = sum(len(batch[0]) for batch in self.batches)
        while self.batches and kept - len(self.batches[0][0]) >= self.memory:
            kept -= len(self.batches.popleft()[0])

    def _penalty(
        self, y: Floats, z: Floats, b: Floats, weights: Floats, *, full: bool
    ) -> Penalty | None:
        fitted: Any = self.criterion
        if isinstance(fitted, DirectEffect):
            fitted = FittedDirectEffect(fitted, None, b)  # type: ignore[arg-type]  # b is known
        elif isinstance(fitted, FittedDirectEffect):
            fitted = replace(fitted, scores=b)
        if z.min() == z.max() and not full:
            return None
        try:
            return fitted.penalty(y, z, weights)
        except ValueError:
            if full:
                raise
            return None


def _value(penalty: Penalty, known: NDArray[Any], scores: torch.Tensor) -> torch.Tensor:
    """Return h(ζ) with ζ of all rows known, and the slope of the newest ones."""
    penalty = penalty.map(lambda array: torch.as_tensor(array, device=scores.device))
    statistics = penalty.statistics(torch.as_tensor(known, device=scores.device))
    matrix = torch.column_stack([penalty.matrix, torch.ones_like(penalty.matrix[:, :1])])
    newest = matrix[-scores.shape[0] :]
    drawn = slope_of(newest.T @ scores, newest.sum(0), matrix.sum(0), scores.shape[0])
    value: torch.Tensor = penalty.distance.value(statistics + (drawn - drawn.detach())[:-1])
    return value
