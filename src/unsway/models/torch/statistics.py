"""A penalty's statistics over all rows, kept up to date from mini-batches.

`RunningStatistics` knows the rows by their numbers; `RecentRows` sees a stream, and remembers the
last of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Floats
from ...checks import check_integer
from ...core import LogLoss, Objective, Penalty
from ...criteria import FittedCriterion
from ...groups import Groups
from ...outcome import Outcome
from ...rows import Rows
from .engine import Module, torch

#: Sums a small tensor over processes.
Reduce = Callable[["torch.Tensor"], "torch.Tensor"]


class RunningStatistics(Module):
    """R over all n rows, updated by the scores of a batch B of m rows.

    ::

        R = h(ζ̄ + ½δ̂),   ∂R = h′(ζ̄ + ½δ̂)·∂ζ̂
        ζ̄ = Σ_i A_i p_i                   over all rows, at the last score of each
        ζ̂ = Σ̂ A p,   δ̂ = Σ̂ A (p − p_last)   estimated from the batch, for all rows
        Σ̂ A v = v̄_B·Σ_i A_i + (n−1)/(m−1)·Σ_{i∈B} A_i (v_i − v̄_B)

    R is not a mean over rows: the statistics of a batch alone would add their variance to it. Here
    the statistics are those of all rows, at scores at most an epoch or two old, and only the slope
    comes from the batch. Σ̂ is unbiased if rows are drawn without replacement, and it is the sum
    itself if m = n; subtracting the mean v̄_B removes most of its noise. The last scores of a batch
    are about an epoch old and those of all rows half an epoch on average, so half the drift of the
    batch brings ζ̄ up to date. Without this a large λ overshoots and the statistics oscillate.

    Until every row was seen, ζ̄ is Σ̂ over the rows seen.

    Parameters
    ----------
    penalty : Penalty
        R, on NumPy arrays. Its matrix is kept in float64, never in ``state_dict``.

    References
    ----------
    Defazio, Bach & Lacoste-Julien (2014), SAGA, for the table of each row's last value; Wang,
    Fang & Liu (2017), Mathematical Programming 161, for gradients of functions of expectations.
    """

    columns: torch.Tensor
    whole: torch.Tensor
    table: torch.Tensor
    sums: torch.Tensor
    winner: torch.Tensor

    def __init__(self, penalty: Penalty) -> None:
        super().__init__()
        self.names = penalty.names
        self.distance = penalty.distance.map(torch.as_tensor)
        self.n_rows = len(penalty.matrix)
        columns = torch.as_tensor(np.column_stack([penalty.matrix, np.ones(self.n_rows)]))
        n_columns = columns.shape[1]
        for name, tensor in {
            "columns": columns,
            "whole": columns.sum(0),
            "table": columns.new_zeros(self.n_rows, 2),  # last score, and 1 once there is one
            "sums": columns.new_zeros(n_columns, 2),  # columnsᵀ·table
            "winner": torch.zeros(self.n_rows, dtype=torch.long),
        }.items():
            self.register_buffer(name, tensor, persistent=False)

    def forward(
        self, scores: torch.Tensor, rows: torch.Tensor | None, reduce: Reduce | None = None
    ) -> torch.Tensor:
        """Return R, differentiable in these scores; in training mode the scores are kept.

        Parameters
        ----------
        scores : tensor of shape (m,)
            p in float64.
        rows : tensor of shape (m,), optional
            Their row numbers; all rows in order by default.
        reduce : callable, optional
            Sums the change of ζ̄ over processes.
        """
        columns, known = self.columns, self.table
        if rows is not None:
            columns, known = columns.index_select(0, rows), known.index_select(0, rows)
        with torch.no_grad():
            change = self._change(scores, known, rows)
            drift, ones = change[:, :1] * known[:, 1:], torch.ones_like(known[:, :1])
            news = columns.T @ torch.cat([change, drift, ones], 1)
            if reduce is not None and self.training:
                news = reduce(news)
            sums, count = self.sums + news[:, :2], news[:, 3]
            unseen_drift = expected(news[:, 2], count, self.whole) - news[:, 2]
            statistics = expected(sums[:, 0], sums[:, 1], self.whole) + unseen_drift / 2
            if self.training:
                self._keep(sums, change, rows)
        drawn = slope_of(columns.T @ scores, count, self.whole, scores.shape[0])
        return self.distance.value(statistics[:-1] + (drawn - drawn.detach())[:-1])

    def statistics(self) -> Floats:
        """Return the present ζ̄."""
        with torch.no_grad():
            found = expected(self.sums[:, 0], self.sums[:, 1], self.whole)
            return np.asarray(found[:-1].cpu().numpy())

    def _change(
        self, scores: torch.Tensor, known: torch.Tensor, rows: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the change of the table at each score; a row that was drawn twice counts once.

        A score that is NaN changes nothing, so that the table stays finite.
        """
        news = torch.stack([scores, torch.ones_like(scores)], 1) - known
        counts = scores == scores
        if rows is not None:
            place = torch.arange(rows.shape[0], device=rows.device)
            self.winner.index_copy_(0, rows, place)
            counts = counts & (self.winner.index_select(0, rows) == place)
        return torch.where(counts[:, None], news, 0.0)

    def _keep(self, sums: torch.Tensor, change: torch.Tensor, rows: torch.Tensor | None) -> None:
        self.sums.copy_(sums)
        if rows is None:
            self.table.add_(change)
        else:  # added, not copied: table and sums take the very same steps
            self.table.index_add_(0, rows, change)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        move = device_only(fn)
        self.distance = self.distance.map(move)
        return super()._apply(move, recurse)  # type: ignore[no-untyped-call]


def expected(total: torch.Tensor, count: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Return Σ̂ of [A, 1]·v over all n rows, from some of them.

    Parameters
    ----------
    total, count, whole : tensors of shape (K+1,)
        [A, 1]ᵀv and [A, 1]ᵀ1 over these rows, and [A, 1]ᵀ1 over all.
    """
    mean = total[-1] / count[-1]
    growth = (whole[-1] - 1) / (count[-1] - 1).clamp(min=1)
    return mean * whole + (total - mean * count) * growth


def slope_of(
    total: torch.Tensor, count: torch.Tensor, whole: torch.Tensor, n_here: int
) -> torch.Tensor:
    """Return this process's part of Σ̂ of [A, 1]·v, times the number of processes.

    ``total`` is of the rows of this process and ``count`` of those of all processes; the mean of
    the results over the processes is Σ̂.
    """
    if n_here == 1:  # the spread of one row is unknown
        return total * whole[-1]
    return expected(total, count, whole) * (count[-1] / n_here)


def device_only(change: Callable[[torch.Tensor], torch.Tensor]) -> Reduce:
    """Return a function that moves a tensor as a change of a module does, but keeps its precision.

    ``module.to("cuda")`` has an effect, ``module.bfloat16()`` has none.
    """

    def move(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(change(tensor[:0]).device)

    return move


@dataclass(frozen=True)
class Batch:
    """Rows of a stream, with their scores when they arrived."""

    y: Floats
    z: Floats
    scores: Floats
    row_values: Floats | None
    weights: Floats | None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_levels(self) -> int:
        """The columns of the row values where there are several, else two."""
        return count_levels(self.row_values)

    def rows(self) -> Rows:
        """Return the rows as a criterion takes them."""
        return Rows(
            X=None,
            outcome=Outcome(values=self.y, loss=LogLoss(), classes=np.array([0, 1])),
            groups=Groups(codes=self.z.astype(np.uint8), levels=tuple(range(self.n_levels))),
            weights=self.weights,
        )


def count_levels(row_values: Floats | None) -> int:
    """Return how many levels rows with these values may have: one for each column of several."""
    several = row_values is not None and row_values.ndim == 2
    return max(2, row_values.shape[1]) if several and row_values is not None else 2


class RecentRows:
    """The objective over the last rows of a stream, each at its score when it arrived.

    The criterion makes its objective from these rows and their values. The slope of a penalty comes
    from the newest batch as in `RunningStatistics`, where n is the number of rows kept.

    Parameters
    ----------
    criterion : criterion or FittedCriterion
        Fair targets or a penalty.
    memory : int
        The least number of rows to keep; whole batches are dropped, the oldest first.
    """

    def __init__(self, criterion: Any, memory: int) -> None:
        fitted = isinstance(criterion, FittedCriterion)
        self.criterion = criterion.criterion if fitted else criterion
        if hasattr(self.criterion, "check_settings"):
            self.criterion.check_settings()
        self.memory = check_integer(memory, "memory", at_least=1)
        self.batches: deque[Batch] = deque()

    def __call__(
        self, scores: torch.Tensor, newest: Batch, *, keep: bool
    ) -> tuple[torch.Tensor | None, float, Floats | None]:
        """Return R with the slope of these scores, the mean weight of the rows kept, and a shift.

        R is None if the criterion shifts the labels instead. It is 0 as long as the rows so far do
        not determine it, for instance if all are of one group.
        """
        if hasattr(self.criterion, "check_row_values"):
            self.criterion.check_row_values(newest.row_values)
        before = len(self.batches)
        together = _joined([*self.batches, newest])
        if keep and not np.isnan(newest.scores).any():
            self.batches.append(newest)
        self._forget()
        mean_weight = 1.0 if together.weights is None else float(together.weights.mean())
        try:
            objective: Objective = self.criterion.objective(together.rows(), together.row_values)
        except ValueError:
            if before > 0 and len(together) >= self.memory:
                raise
            return scores.sum() * 0.0, mean_weight, None
        if objective.shift is not None:
            return None, mean_weight, objective.shift[-len(newest) :]
        return _value(objective.penalty, together.scores, scores), mean_weight, None

    def _forget(self) -> None:
        kept = sum(map(len, self.batches))
        while self.batches and kept - len(self.batches[0]) >= self.memory:
            kept -= len(self.batches.popleft())


def _joined(batches: Sequence[Batch]) -> Batch:
    """Return all batches as one; without weights of its own, a batch counts one for each row."""
    y, z, scores = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("y", "z", "scores")
    )
    weights = None
    if any(batch.weights is not None for batch in batches):
        known = (np.ones(len(each)) if each.weights is None else each.weights for each in batches)
        weights = np.concatenate([*known])
    values = [batch.row_values for batch in batches if batch.row_values is not None]
    return Batch(y, z, scores, np.concatenate(values) if values else None, weights)


def _value(penalty: Penalty, known: NDArray[Any], scores: torch.Tensor) -> torch.Tensor:
    """Return h(ζ) with ζ of all rows known, and the slope of the newest ones."""
    penalty = penalty.map(lambda array: torch.as_tensor(array, device=scores.device))
    statistics = penalty.statistics(torch.as_tensor(known, device=scores.device))
    matrix = torch.column_stack([penalty.matrix, torch.ones_like(penalty.matrix[:, :1])])
    newest = matrix[-scores.shape[0] :]
    drawn = slope_of(newest.T @ scores, newest.sum(0), matrix.sum(0), scores.shape[0])
    value: torch.Tensor = penalty.distance.value(statistics + (drawn - drawn.detach())[:-1])
    return value
