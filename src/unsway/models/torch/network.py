"""What networks of labels and of numbers share: their inputs, their training and what is kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._typing import Floats
from ...checks import check_integer, check_number
from ...core import Schedule
from ...core.schedule import Run
from ...tables import CodedTable
from ..margins import show_steps
from ..objectives import check_learning_rate
from ..replay import Replay
from ..training import (
    Part,
    check_settings,
    drive,
    read_table,
    strength_of,
)
from .engine import require_torch, torch
from .loss import FairLoss
from .training import (
    Checkpoint,
    Training,
    as_tensor,
    build,
    canonical_order,
    check_module,
    find_device,
    fingerprint,
    margins,
    scaled,
    seeded,
)

#: The paper's double early stopping, in epochs.
SCHEDULE = Schedule(ramp_steps=10, patience=10)
#: Settings that do not change what a fit finds.
_WITHOUT_EFFECT = ("callback", "checkpoint", "device", "progress")


@dataclass(frozen=True)
class NetworkInputs:
    """From the matrix of an `EngineTable` to the inputs of a network.

    Numbers are centred and in units of their spread over the training rows, each counting by its
    weight. A missing one becomes 0, the mean; if any was missing in training, a column of 0/1 says
    so. A category has a column of 0/1 for each level; missing or not seen in training, it has none.

    Examples
    --------
    >>> from unsway.tables import EngineTable
    >>> X = np.array([["b", 1], ["a", 3], ["a", None]], dtype=object)
    >>> table = EngineTable.of(X).code(X)
    >>> NetworkInputs.of(table)(table.matrix).tolist()
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    """

    numbers: NDArray[np.intp]
    center: Floats
    scale: Floats
    with_holes: NDArray[np.intp]
    #: Column of each category → how many levels it has.
    categories: dict[int, int]

    @classmethod
    def of(cls, table: CodedTable, weights: Floats | None = None) -> Self:
        """Measure the columns of the training rows."""
        layout, matrix = table.layout, table.matrix
        categories = {
            position: len(layout.levels[name])
            for position, name in enumerate(layout.names)
            if name in layout.levels
        }
        numbers = np.setdiff1d(np.arange(matrix.shape[1]), list(categories))
        values = matrix[:, numbers].astype(np.float64)
        holes = np.isnan(values)
        w = np.where(holes, 0.0, 1.0 if weights is None else weights[:, None])
        total = np.where(w.any(axis=0), w.sum(axis=0), 1.0)
        center = (w * np.where(holes, 0.0, values)).sum(axis=0) / total
        off = np.where(holes, 0.0, values - center)
        spread = np.sqrt((w * off**2).sum(axis=0) / total)
        scale = np.where(spread > 1e-10 * np.abs(center), spread, 1.0)  # below is rounding
        return cls(numbers, center, scale, np.flatnonzero(holes.any(axis=0)), categories)

    @property
    def width(self) -> int:
        """How many inputs the network has."""
        return len(self.numbers) + len(self.with_holes) + sum(self.categories.values())

    def __call__(self, matrix: NDArray[Any]) -> NDArray[np.float32]:
        """Return the inputs of each row."""
        values = matrix[:, self.numbers].astype(np.float64)
        holes = np.isnan(values)
        parts = [np.where(holes, 0.0, (values - self.center) / self.scale)]
        parts.append(holes[:, self.with_holes].astype(np.float64))
        for position, n_levels in self.categories.items():
            parts.append(matrix[:, position, None] == np.arange(n_levels))
        return np.hstack(parts).astype(np.float32)


def encode(self: Any, X: Any) -> NDArray[np.float32]:
    """Return the inputs of the module for each row."""
    check_is_fitted(self)
    return np.asarray(self.inputs_(self.table_.matrix(read_table(self, X, reset=False))))


def check_network(model: Any) -> None:
    """Check every setting of a network before any work, and note its strength on it."""
    require_torch()
    check_settings(model)
    model.strength_ = strength_of(model)
    find_device(model.device)
    check_learning_rate(model.learning_rate, "learning_rate")
    check_number(model.weight_decay, "weight_decay", at_least=0)
    check_integer(model.batch_size, "batch_size", at_least=1)
    if not isinstance(model.checkpoint, str | PathLike | None):
        raise TypeError(f"checkpoint must be the path of a folder; got {model.checkpoint!r}")


def train_network(model: Any, train: Part, validation: Part) -> tuple[Part, Part]:
    """Train a network by its schedule, keep the best state on it, and return its encoded rows."""
    model.inputs_ = NetworkInputs.of(train.rows.X, train.rows.weights)
    train, validation = (
        replace(part, rows=part.rows.with_table(model.inputs_(part.rows.X.matrix)))
        for part in (train, validation)
    )
    seed, device = int(model.random_state), find_device(model.device)
    codes = train.rows.groups.codes.astype(np.float64)
    train = train.take(canonical_order(train.rows.X, train.rows.y, codes, seed))
    with seeded(seed, device):
        training = _training(model, train, validation, device)
        show = show_steps(model.callback, progress=model.progress, unit="epoch")
        replay = Replay(training)
        if model.checkpoint is not None:
            settings = model.get_params(deep=False)
            known = {name: settings[name] for name in settings if name not in _WITHOUT_EFFECT}
            mark = fingerprint(training, known, train.rows.weights)
            checkpoint = Checkpoint(model.checkpoint, mark)
            replay = checkpoint.resume(training)
            show = replay.after_step(partial(checkpoint.save, training, replay.losses), show)
        schedule = SCHEDULE if model.schedule is None else model.schedule
        run = drive(schedule, replay, training.validation, model.strength_, show)
    _keep(model, training, run)
    return train, validation


def module_margins(model: Any, inputs: NDArray[np.float32], n_outputs: int = 1) -> Floats:
    """Return the margins that a fitted network gives encoded rows."""
    return np.asarray(margins(model.module_, as_tensor(inputs, model.module_), n_outputs))


def _training(model: Any, train: Part, validation: Part, device: Any) -> Training:
    """Return the module before its first step, with its rows and its loss."""
    outcome = train.rows.outcome
    n_outputs = outcome.n_classes or 1
    module = build(model.module, model.inputs_.width, n_outputs).to(device)
    inputs, validation_inputs = (
        as_tensor(part.rows.X, module, device) for part in (train, validation)
    )
    check_module(module, inputs[:2], n_outputs)
    unit = 1.0
    if not outcome.is_label:
        unit = outcome.spread(train.rows.weights) if outcome.loss.link == "identity" else 1.0
        module = scaled(module, inputs[:2], unit)
    optimizer = torch.optim.AdamW(
        module.parameters(), lr=model.learning_rate, weight_decay=model.weight_decay
    )
    return Training(
        module,
        optimizer,
        FairLoss(train.objective()).to(device),
        inputs,
        torch.as_tensor(train.rows.y).to(inputs),
        validation_inputs,
        validation.objective(),
        int(model.batch_size),
        n_outputs,
        unit,
    )


def _keep(model: Any, training: Training, run: Run) -> None:
    """Keep the best state and the history of a run."""
    if model.progress:
        print(file=sys.stderr)
    losses = run.best.losses
    if not np.isfinite([losses.utility, losses.penalty]).all():
        raise ValueError(
            f"training diverged: the losses are not finite; lower learning_rate="
            f"{model.learning_rate!r}"
        )
    model.best_epoch_, model.n_epochs_ = run.best_state, training.epochs
    model.history_ = training.history
    if training.kept is not None:
        training.module.load_state_dict(training.kept)
    model.module_ = training.module.cpu().eval()
