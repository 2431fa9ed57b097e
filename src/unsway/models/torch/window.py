"""A penalty's statistics over the rows that came last, where rows have no number."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Floats
from ...core import LogLoss, Loss, Objective, Penalty
from ...criteria import FittedCriterion
from ...groups import Groups
from ...outcome import Outcome
from ...rows import Rows
from .engine import torch
from .running import slope_of


@dataclass(frozen=True)
class Seen:
    """A batch with the scores it had when it came."""

    rows: Rows
    row_values: Floats | None
    scores: Floats


class RecentRows:
    """The objective over the last rows of a stream, at the scores they had when they came.

    The criterion makes its objective of these rows and their values, as it would of any. The slope
    of a penalty comes from the newest batch as in `RunningStatistics`, with n the number of rows
    kept.

    Parameters
    ----------
    criterion : criterion or FittedCriterion
        What the scores are trained on or held to.
    memory : int
        Rows to keep, at least; whole batches are forgotten, the oldest first.
    """

    def __init__(self, criterion: Any, memory: int) -> None:
        fitted = isinstance(criterion, FittedCriterion)
        self.criterion = criterion.criterion if fitted else criterion
        if hasattr(self.criterion, "check_settings"):
            self.criterion.check_settings()
        self.memory = memory
        self.batches: deque[Seen] = deque()

    def __call__(
        self, scores: torch.Tensor, rows: Rows, row_values: Floats | None, *, keep: bool
    ) -> tuple[torch.Tensor, float, Floats | None]:
        """Return R with the slope that these scores have in it, the mean weight of all rows kept,
        and what full strength adds to the labels of these.

        R is 0 as long as the rows so far do not determine it, as when all are of one group.
        """  # noqa: D205
        if hasattr(self.criterion, "check_row_values"):
            self.criterion.check_row_values(row_values)
        newest = Seen(rows, row_values, scores.detach().cpu().numpy())
        before = len(self.batches)
        self.batches.append(newest)
        together, values, known = _joined(self.batches)
        if not keep or np.isnan(newest.scores).any():
            self.batches.pop()
        self._forget()
        full = before > 0 and len(together) >= self.memory
        mean_weight = 1.0 if together.weights is None else float(together.weights.mean())
        objective = self._objective(together, values, full=full)
        if objective is None:
            return scores.sum() * 0.0, mean_weight, None
        if objective.shift is not None:
            return scores.sum() * 0.0, mean_weight, objective.shift[-len(rows) :]
        return _value(objective.penalty, known, scores), mean_weight, None

    def _forget(self) -> None:
        kept = sum(len(batch.rows) for batch in self.batches)
        while self.batches and kept - len(self.batches[0].rows) >= self.memory:
            kept -= len(self.batches.popleft().rows)

    def _objective(self, rows: Rows, values: Floats | None, *, full: bool) -> Objective | None:
        try:
            objective: Objective = self.criterion.objective(rows, values)
        except ValueError:
            if full:
                raise
            return None
        return objective


def batch_rows(y: Floats, z: Floats, weights: Floats | None, loss: Loss | None = None) -> Rows:
    """Return the rows of a batch that brings its labels, sensitive attribute and weights."""
    classes, levels = np.array([0, 1]), (0, 1)
    return Rows(
        X=None,
        outcome=Outcome(values=y, loss=loss or LogLoss(), classes=classes),
        groups=Groups(codes=z.astype(np.uint8), levels=levels),
        weights=weights,
    )


def _joined(batches: deque[Seen]) -> tuple[Rows, Floats | None, Floats]:
    """Return the rows of all batches, their values and their scores."""
    y, z, scores = (
        np.concatenate(parts)
        for parts in zip(*((b.rows.y, b.rows.z, b.scores) for b in batches), strict=True)
    )
    weights = None
    if any(batch.rows.weights is not None for batch in batches):
        weights = np.concatenate([_weights(batch.rows) for batch in batches])
    values = [batch.row_values for batch in batches if batch.row_values is not None]
    return batch_rows(y, z, weights), np.concatenate(values) if values else None, scores


def _value(penalty: Penalty, known: NDArray[Any], scores: torch.Tensor) -> torch.Tensor:
    """Return h(ζ) with ζ of all rows known, and the slope of the newest ones."""
    penalty = penalty.map(lambda array: torch.as_tensor(array, device=scores.device))
    statistics = penalty.statistics(torch.as_tensor(known, device=scores.device))
    matrix = torch.column_stack([penalty.matrix, torch.ones_like(penalty.matrix[:, :1])])
    newest = matrix[-scores.shape[0] :]
    drawn = slope_of(newest.T @ scores, newest.sum(0), matrix.sum(0), scores.shape[0])
    value: torch.Tensor = penalty.distance.value(statistics + (drawn - drawn.detach())[:-1])
    return value


def _weights(rows: Rows) -> Floats:
    return np.ones(len(rows)) if rows.weights is None else rows.weights
