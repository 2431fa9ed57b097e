"""The fair training objective as a PyTorch loss that is correct in mini-batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import Floats
from ...core import LogLoss, Loss, Objective, check_strength
from ...criteria import FairTarget, choose_strength
from ...grouping import Grouping
from ..objectives import objective_on
from .checks import (
    LOOK_AT,
    check_device,
    check_rows,
    check_targets,
    logits_of,
    numbers,
    targets_of,
    warn_of_probabilities,
)
from .engine import Module, require_torch, torch
from .statistics import (
    Batch,
    RecentRows,
    Reduce,
    RunningStatistics,
    count_levels,
    device_only,
)


class FairLoss(Module):
    """(1−λ)·log-loss + λ·penalty of logits, or the log-loss against fair targets.

    ::

        loss = FairLoss(DirectEffect(), X=X, y=y, sensitive_features=z)
        loss(model(inputs), y[rows], rows).backward()

    Given the training rows, it is fitted on all of them, and a batch is identified by its row
    numbers. With fair targets the loss is the mean log-loss of the batch against y + λd. A penalty
    is not a mean over rows: its statistics are kept over all rows, and the batch contributes the
    slope. The gradient is then on average that of the whole objective, at any batch size (see
    `Notes`). A batch of all rows gives the objective itself and needs no row numbers.

    Parameters
    ----------
    criterion : criterion, fitted criterion or Objective, default=FairTarget()
        Fair targets to train on (`FairTarget`, with ``smoothing="auto"`` as 0), a penalty
        (`DirectEffect`, `Parity`, `EqualOpportunity`, `EqualizedOdds`), or an `Objective` of known
        rows.
    strength : float, optional
        λ: from 0 to 1 with fair targets and 1 by default; at least 0 and below 1 with a penalty and
        .9 by default. It may be set between steps; raise it to a large value over many steps.
    X, y, sensitive_features, sample_weight, groups
        The training rows, as for `FairXGBClassifier`, in the order that row numbers count. Without
        them pass z, and the ``row_values`` that the criterion needs, with each batch.
    memory : int, default=16384
        Without training rows: over how many of the last rows the statistics are taken.
    reduce : callable, optional
        Sums a small tensor over processes. By default `torch.distributed.all_reduce`, where a
        process group is up.

    Notes
    -----
    ζ̄ are the statistics of all rows at the last score of each row, corrected by how much the
    batch's own scores have changed since. ζ̂ is their estimate from the batch. The penalty's value
    is h(ζ̄) and its gradient h′(ζ̄)·∂ζ̂. A penalty of the batch alone would be too large by the
    variance of ζ̂, and its gradient would shrink that variance instead of the effect. Rows are
    assumed to be drawn uniformly; a row that is drawn twice counts twice in the slope and once in
    ζ̄. In ``eval`` mode nothing is kept. Sample weights are divided by their mean over all rows.

    Each process of `DistributedDataParallel` makes the loss of all rows and draws batches from its
    own part of them. A step sums 4(K+1) numbers over the processes; with equal batches it is the
    step of one process with the joined batch. A row that several processes draw counts in ζ̄ once
    for each, at the last score that each has seen.

    z, b and A are not in the ``state_dict``. Logits may have any precision: float16 and bfloat16
    are converted to float32, and the statistics are float64. On the CPU, row numbers and labels are
    checked at each step. On a GPU a check would have to wait for the device: an index out of range
    is a CUDA error. A warning is raised if all logits of the 50th batch lie within [0, 1], since
    they may be probabilities. NaN logits give a NaN loss and are not kept.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> import torch
    >>> from unsway import FairLoss, Parity, make_synthetic
    >>> data = make_synthetic(1_000, random_state=0)
    >>> loss = FairLoss(Parity(), 0.5, X=data.X, y=data.y, sensitive_features=data.z)
    >>> rows = torch.arange(256)
    >>> logits = torch.zeros(256, requires_grad=True)
    >>> value = loss(logits, torch.as_tensor(data.y[:256]), rows)  # ½·log 2: parity holds
    >>> round(value.item(), 4)
    0.3466
    >>> value.backward()
    """

    _share: torch.Tensor
    _weights: torch.Tensor | None
    _shift: torch.Tensor | None

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Grouping | None = None,
        memory: int = 16_384,
        reduce: Reduce | None = None,
    ) -> None:
        require_torch()
        super().__init__()
        objective = None
        roles = {"X": X, "y": y, "sensitive_features": sensitive_features}
        given = any(value is not None for value in roles.values())
        if isinstance(criterion, Objective):
            if given:
                raise TypeError("an Objective has its rows already; leave X, y and z out")
            objective = criterion
            strength = objective.strength if strength is None else strength
        else:
            criterion = FairTarget() if criterion is None else criterion
            strength = choose_strength(criterion, strength)
            if given:
                _check_complete(roles)
                rows = X, y, sensitive_features, sample_weight, groups
                objective = objective_on(criterion, strength, *rows)
        if sample_weight is not None and not given:
            raise TypeError("sample_weight comes with X, y and sensitive_features, or each batch")
        self.reduce = reduce
        self._batches = 0
        self._recent = RecentRows(criterion, memory) if objective is None else None
        self._full_strength = (
            criterion.allows_full_strength if objective is None else objective.shift is not None
        )
        self._hold(objective)
        self.register_buffer("_share", torch.zeros(1, dtype=torch.float64), persistent=False)
        self.strength = strength

    def _hold(self, objective: Objective | None) -> None:
        """Keep the columns of an objective."""
        shift = weights = None
        self._loss: Loss = LogLoss() if objective is None else objective.loss
        self.n_rows: int | None = None
        self.running: RunningStatistics | None = None
        if objective is not None:
            shift, weights = objective.shift, objective.sample_weight
            self.n_rows = len(objective.target)
            if objective.penalty.names:
                self.running = RunningStatistics(objective.penalty)
        if weights is not None:
            weights = weights * (len(weights) / weights.sum())
        for name, array in (("_shift", shift), ("_weights", weights)):
            tensor = None if array is None else torch.as_tensor(array, dtype=torch.float64)
            self.register_buffer(name, tensor, persistent=False)

    @property
    def strength(self) -> float:
        """λ."""
        return self._strength

    @strength.setter
    def strength(self, strength: float) -> None:
        check_strength(strength, shifted=self._full_strength)
        self._strength = float(strength)
        self._share.fill_(self._strength)  # a tensor, so that compiled code need not change

    @property
    def statistics(self) -> dict[str, float]:
        """The penalty's statistics over all rows, by name, at the last scores of each."""
        if self.running is None:
            return {}
        return dict(zip(self.running.names, self.running.statistics().tolist(), strict=True))

    def forward(
        self,
        logits: torch.Tensor,
        y: Any,
        rows: Any = None,
        *,
        z: Any = None,
        row_values: Any = None,
        sample_weight: Any = None,
    ) -> torch.Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (m,) or (m, 1), or (m, C) for C > 2 classes
            The margins of the batch, before any sigmoid or softmax.
        y : tensor of shape (m,) or (m, 1)
            Its labels, 0 or 1, or the positions of its classes.
        rows : tensor of shape (m,)
            Their row numbers in the training rows, from 0; not needed for all rows in order.
        z, sample_weight : tensors of shape (m,)
            If the loss has no training rows: the sensitive attribute as 0/1, and weights.
        row_values : tensor of shape (m,) or (m, 2)
            Then also what the criterion needs for each row: the propensity P(z=1|X) for
            `DirectEffect`; for `FairTarget` the mean outcome in both groups, two columns.

        Returns
        -------
        tensor of shape ()
            The loss, to be differentiated.
        """
        margin = logits_of(logits, self._loss)
        check_device(margin, self._share)
        y = numbers(y, "y", margin)
        looks = not torch.compiler.is_compiling()  # at values, which no compiled code can branch on
        if looks:
            check_targets(y, margin, self._loss)
            self._batches += self.training
            if self._batches == LOOK_AT and self.training and self._loss.link == "logit":
                warn_of_probabilities(margin)
        y = targets_of(y, margin, self._loss)
        if margin.dtype in (torch.float16, torch.bfloat16):
            margin = margin.float()
        if self._recent is not None:
            return self._streamed(self._recent, margin, y, rows, (z, row_values, sample_weight))
        if z is not None or row_values is not None or sample_weight is not None:
            raise TypeError("the loss has z and the weights of its training rows: pass row numbers")
        return self._known(margin, y, check_rows(rows, margin, self.n_rows or 0, look=looks))

    def _known(
        self, margin: torch.Tensor, y: torch.Tensor, rows: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the loss of some of the training rows."""
        penalty = None
        if self.running is not None:
            labels = self._loss.link == "logit"
            scores = torch.sigmoid(margin) if labels else self._loss.mean(margin)[0]
            penalty = self.running(scores.double(), rows, self._reduce())
        return self._whole(margin, y, _at(self._shift, rows), _at(self._weights, rows), penalty)

    def _whole(
        self, margin: torch.Tensor, y: torch.Tensor, shift: Any, weights: Any, penalty: Any
    ) -> torch.Tensor:
        """Return (1−λ)·loss + λ·penalty of a batch, or its loss against y + λ·shift."""
        share = self._share[0]
        if shift is not None:
            y = y + share * shift
        weights = None if weights is None else weights.to(margin.dtype)
        utility = self._loss.value(margin, y.to(margin.dtype), weights)
        if penalty is None:
            return utility
        return ((1 - share) * utility + share * penalty).to(margin.dtype)

    def _streamed(
        self,
        recent: RecentRows,
        margin: torch.Tensor,
        y: torch.Tensor,
        rows: Any,
        others: tuple[Any, Any, Any],
    ) -> torch.Tensor:
        """Return the loss of a batch with its own z, values and weights."""
        if rows is not None:
            raise TypeError(
                "row numbers need the training rows: FairLoss(criterion, X=X, y=y, "
                "sensitive_features=z); without them pass z=z and, where the criterion needs "
                "them, row_values=…"
            )
        weights: Any
        z, row_values, weights = (
            None
            if values is None
            else _host(numbers(values, role, margin, columns=role == "row_values"))
            for values, role in zip(others, ("z", "row_values", "sample_weight"), strict=True)
        )
        n_levels = count_levels(row_values)
        if z is None or not np.isin(z, np.arange(n_levels)).all():
            known = "0 and 1" if n_levels == 2 else f"whole numbers from 0 to {n_levels - 1}"
            raise ValueError(f"z must come with each batch, as {known}")
        if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("sample_weight must be finite and not negative")
        scores = torch.sigmoid(margin).double()
        batch = Batch(_host(y), z, _host(scores), row_values, weights)
        shift: Any
        penalty, mean_weight, shift = recent(scores, batch, keep=self.training)
        if weights is not None:
            weights = torch.as_tensor(weights / (mean_weight or 1.0), device=margin.device)
        if shift is not None:
            shift = torch.as_tensor(shift, device=margin.device)
        return self._whole(margin, y, shift, weights, penalty)

    def _reduce(self) -> Reduce | None:
        if self.reduce is not None:
            return self.reduce
        many = torch.distributed.is_available() and torch.distributed.is_initialized()
        return sum_over_processes if many else None

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        return super()._apply(device_only(fn), recurse)  # type: ignore[no-untyped-call]


def sum_over_processes(tensor: torch.Tensor) -> torch.Tensor:
    """Return the sum of a tensor over the processes of the default group."""
    tensor = tensor.contiguous()
    torch.distributed.all_reduce(tensor)
    return tensor


def _check_complete(roles: dict[str, Any]) -> None:
    missing = [name for name, value in roles.items() if value is None]
    if missing:
        raise TypeError(f"{missing[0]} is missing: X, y and sensitive_features go together")


def _at(values: torch.Tensor | None, rows: torch.Tensor | None) -> Any:
    return values if values is None or rows is None else values.index_select(0, rows)


def _host(tensor: torch.Tensor) -> Floats:
    return tensor.detach().cpu().double().numpy()
