"""Training on this process's rows together with those of every other process."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from .._typing import Floats
from ..checks import check_integer
from ..core import Schedule
from ..core.schedule import Run
from ..criteria import FittedCriterion
from ..folds import draws
from ..hashes import row_keys
from ..models.boosted_regressor import bring_to_units
from ..models.boosting import Boosting, check_booster, keep_best, on_step, start
from ..models.held_out import after_hold_out
from ..models.labels import criterion_of
from ..models.regression import check_rebalance
from ..models.replay import Replay
from ..models.second_model import train_twice
from ..models.training import Part as TrainingPart
from ..models.training import drive, fit_for, loss_of
from ..models.xgboost import FairXGBClassifier
from ..models.xgboost_regressor import FairXGBRegressor
from ..rows import Rows
from .checkpoint import FILE_NAMES, Checkpoint
from .collective import Collective
from .nuisances import NuisanceSettings, SharedFitting
from .rows import Layout, Part, check_everywhere, read_facts, refuse_copies_of_z, ties_of

#: What is trained on several workers.
Model = FairXGBClassifier | FairXGBRegressor

_HOLD_OUT = 1  # so that the hold-out is drawn by another seed than the folds


@dataclass(frozen=True, kw_only=True)
class Communication:
    """The sums of this library over the processes, in bytes that each process sent.

    The sums of XGBoost itself, of its histograms, are not included.

    Parameters
    ----------
    setup : int
        Before the first round: levels, propensity and outcome models, the penalty's matrices.
    rounds : int
        In all rounds.
    n_rounds : int
        The number of rounds.
    """

    setup: int
    rounds: int
    n_rounds: int

    @property
    def per_round(self) -> float:
        """Bytes a round."""
        return self.rounds / max(1, self.n_rounds)


@dataclass(frozen=True)
class Faults:
    """How to recover from the loss of a process.

    Parameters
    ----------
    folder : path, optional
        Where the state of the training is written, and read if a run starts again; that of a second
        model is another file there.
    every : int, default=10
        Rounds between two writes.
    n_rows : int, optional
        The number of rows of all processes, to be checked.
    """

    folder: str | Path | None = None
    every: int = 10
    n_rows: int | None = None

    def __post_init__(self) -> None:
        check_integer(self.every, "checkpoint_every", at_least=1)


def fit_here(
    model: Model,
    parts: Part | Iterable[Part],
    *,
    eval_parts: Part | Iterable[Part] | None = None,
    nuisances: NuisanceSettings | None = None,
    faults: Faults | None = None,
) -> Any:
    """Fit a model on the rows of all processes of XGBoost's collective; call it in each of them.

    No row leaves its process. In each round the processes sum K numbers for a penalty of K
    statistics and two or three for the losses, and before the first round the sums for the
    criterion. None of this depends on the number of rows. Every process returns the same model.

    Parameters
    ----------
    model : FairXGBClassifier or FairXGBRegressor
        The settings, the same in every process; it is not changed.
    parts : Part or iterable of Part
        The rows of this process; there may be none, as long as some process has rows.
    eval_parts : Part or iterable of Part, optional
        Rows for early stopping; by default a share of the training rows, chosen by a hash.
    nuisances : NuisanceSettings, optional
        How propensity and outcome means are fitted.
    faults : Faults, optional
        Where the state of the training is written, and how many rows there must be.

    Returns
    -------
    FairXGBClassifier or FairXGBRegressor
        Fitted, with the additional attributes ``communication_``, ``n_workers_``, ``n_rows_`` and
        ``resumed_at_``, the number of rounds taken over from a checkpoint, those of a second model
        included.

    Examples
    --------
    In one process it needs no collective:

    >>> from unsway import FairXGBClassifier, Parity, make_synthetic
    >>> people = make_synthetic(1_000, random_state=0)
    >>> part = Part(people.X, people.y, people.z)
    >>> model = fit_here(FairXGBClassifier(Parity(), n_jobs=1), part)
    >>> model.n_rows_
    1000
    """
    fresh, collective = clone(model), Collective()
    worker = Worker(fresh, nuisances or NuisanceSettings(), faults or Faults(), collective)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Empty dataset at worker")  # which is no error
        train, validation = worker.prepare(parts, eval_parts)
        boosting = start(fresh, train, validation)
        setup = collective.bytes
        n_rounds = worker.train(boosting, train.rows)
        if loss_of(fresh) is not None:
            balanced = (train, validation) if eval_parts is None else (train,)
            bring_to_units(
                fresh,
                train.rows.outcome,
                balanced if check_rebalance(fresh) else None,
                reduce=collective.sum,
            )
    fresh.n_workers_ = collective.size
    rounds = collective.bytes - setup
    fresh.communication_ = Communication(setup=setup, rounds=rounds, n_rounds=n_rounds)
    return fresh


@dataclass(frozen=True)
class Worker:
    """One process of a training: the settings, and its collective.

    Every process calls the same methods in the same order.
    """

    model: Model
    nuisances: NuisanceSettings
    faults: Faults
    collective: Collective

    def prepare(
        self, parts: Part | Iterable[Part], eval_parts: Part | Iterable[Part] | None
    ) -> tuple[TrainingPart, TrainingPart]:
        """Check every input on all processes, and return the rows with their criterion."""
        model, collective = self.model, self.collective
        collective.agree(lambda: _check_settings(model))
        here = _listed(parts)
        loss = loss_of(model)
        layout = Layout.of(read_facts(here, collective, loss), model.groups, loss)
        rows, tables = collective.agree(lambda: layout.rows(here))
        self._check_count(rows)
        rows = self._in_units(rows)
        check_everywhere(rows, "the training table", collective)
        refuse_copies_of_z(rows, collective)
        self._describe(layout)
        if eval_parts is None:
            return self._split(rows, tables)
        listed = _listed(eval_parts)
        other, other_tables = collective.agree(lambda: layout.rows(listed, "eval_set"))
        if loss is not None:
            units = rows.outcome.origin, rows.outcome.unit
            other = replace(other, outcome=other.outcome.in_units(*units))
        check_everywhere(other, "eval_set", collective)
        fitted = self._fit_criterion(rows, tables)
        return (
            TrainingPart(rows, fitted, collective.sum),
            TrainingPart(other, _at(fitted, other_tables), collective.sum),
        )

    def train(self, boosting: Boosting, rows: Rows) -> int:
        """Train by the schedule, keep the best state on the model, and return the rounds taken."""
        model, first = self.model, self.collective.rank == 0
        model.progress = model.progress and first
        checkpoints: list[Checkpoint | None] = [None, None]
        if self.faults.folder is not None:
            folder, mark = Path(self.faults.folder), self._fingerprint(rows)
            checkpoints = [Checkpoint(folder, mark, self.collective, name) for name in FILE_NAMES]
        unused, model.resumed_at_, runs = iter(checkpoints), 0, []

        def train(boosting: Boosting, schedule: Schedule) -> Run:
            runs.append(self._run(boosting, schedule, next(unused)))
            return runs[-1]

        schedule = Schedule() if model.schedule is None else model.schedule
        with threadpool_limits(1, user_api="blas"):  # BLAS threads would fight the engine's
            keep_best(model, *train_twice(boosting, schedule, train, model.strength_))
        for checkpoint in filter(None, checkpoints):
            checkpoint.remove()
        return sum(len(run.steps) for run in runs) - model.resumed_at_

    def _run(self, boosting: Boosting, schedule: Schedule, checkpoint: Checkpoint | None) -> Run:
        """Run the schedule, from where a checkpoint has it if there is one."""
        show = on_step(self.model) if self.collective.rank == 0 else None
        replay = Replay(boosting)
        if checkpoint is not None:
            replay = checkpoint.resume(boosting)
            save = partial(checkpoint.save, boosting, replay.losses)
            show = replay.after_step(save, show, self.faults.every)
        self.model.resumed_at_ += replay.n_done
        return drive(schedule, replay, boosting.validation, self.model.strength_, show)

    def _check_count(self, rows: Rows) -> None:
        n_rows = int(self.collective.sum(np.array([len(rows)]))[0])
        if self.faults.n_rows is not None and n_rows != self.faults.n_rows:
            raise RuntimeError(
                f"the workers have {n_rows} rows together but the table has {self.faults.n_rows}: "
                "a partition is missing or there twice"
            )
        self.model.n_rows_ = n_rows

    def _in_units(self, rows: Rows) -> Rows:
        """Return numbers in units of their mean over all processes, or less it; labels stay."""
        if rows.outcome.is_label:
            return rows
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        total, weight = self.collective.sum(np.array([weights @ rows.y, weights.sum()]))
        if not weight > 0:
            raise ValueError("sample_weight is zero for every row")
        mean, log = float(total / weight), rows.outcome.loss.link == "log"
        if log and not mean > 0:
            raise ValueError("y is 0 in every row that has a weight")
        units = (0.0, mean) if log else (mean, 1.0)
        return replace(rows, outcome=rows.outcome.in_units(*units))

    def _describe(self, layout: Layout) -> None:
        """Set the columns, classes and levels of the model."""
        model, table = self.model, layout.table
        model.table_, model.n_features_in_ = table, len(table.names)
        model.sensitive_levels_ = layout.groups.levels
        if layout.outcome.is_label:
            model.classes_ = layout.outcome.classes
        else:
            model.per_exposure_ = layout.exposed
        if table.named:
            model.feature_names_in_ = np.array(table.names, dtype=object)

    def _fit_criterion(self, rows: Rows, tables: Sequence[Any]) -> FittedCriterion:
        """Fit the criterion on the rows of all processes; one that is fitted predicts for these."""
        criterion = criterion_of(self.model)
        if isinstance(criterion, FittedCriterion):
            return self.collective.agree(lambda: _at(criterion, tables))
        fitting = SharedFitting(self.nuisances, self.collective, self.model.n_jobs)
        fitted: FittedCriterion = fit_for(criterion, self.model.strength_, rows, fitting=fitting)
        return fitted

    def _split(self, rows: Rows, tables: Sequence[Any]) -> tuple[TrainingPart, TrainingPart]:
        """Return training rows and hold-out, split by a hash of each row, with their criterion."""
        seed = self.model.random_state * 2 + _HOLD_OUT
        held = draws(rows.X.matrix, ties_of(rows), seed) < self.model.validation_fraction
        chosen = np.flatnonzero(~held), np.flatnonzero(held)
        parts = [rows.take(each) for each in chosen]
        for part, place in zip(parts, ("the training part", "the hold-out"), strict=True):
            check_everywhere(part, place, self.collective)
        if isinstance(criterion_of(self.model), FittedCriterion):
            whole = self._fit_criterion(rows, tables)
            criteria = [whole.take(each) for each in chosen]
        else:
            with after_hold_out(self.model.validation_fraction):
                fitted = self._fit_criterion(parts[0], ())
            criteria = [fitted, fitted.at(parts[1].X)]
        train, validation = (
            TrainingPart(part, criterion, self.collective.sum)
            for part, criterion in zip(parts, criteria, strict=True)
        )
        return train, validation

    def _fingerprint(self, rows: Rows) -> str:
        """Return a digest of the settings and of the training rows of all processes."""
        model = self.model
        columns: list[Floats] = [rows.y, rows.groups.codes.astype(np.float64)]
        if rows.weights is not None:
            columns.append(rows.weights)
        keys = row_keys(np.column_stack([rows.X.matrix, *columns]), seed=0)
        total = self.collective.sum(np.array([keys.sum(dtype=np.uint64)], dtype=np.uint64))[0]
        settings = {
            "criterion": repr(criterion_of(model)),
            "strength": model.strength_,
            "params": model.params,
            "schedule": repr(model.schedule),
            "curvature": model.curvature,
            "random_state": model.random_state,
            "n_rows": model.n_rows_,
            **({} if loss_of(model) is None else {"loss": repr(loss_of(model))}),
        }
        described = json.dumps([int(total), settings], default=repr)
        return hashlib.sha256(described.encode()).hexdigest()


def _check_settings(model: Model) -> None:
    check_booster(model)
    if loss_of(model) is not None:
        check_rebalance(model)
    device = str((model.params or {}).get("device", "cpu"))
    if not device.startswith("cpu"):
        raise ValueError(f"params['device'] must be 'cpu' on several workers; got {device!r}")


def _at(criterion: FittedCriterion, tables: Sequence[Any]) -> FittedCriterion:
    """Return a fitted criterion at the rows of several tables."""
    if criterion.row_values is None:
        return criterion
    no_rows = np.empty((0, *criterion.row_values.shape[1:]))
    predicted = [np.asarray(criterion.predict(table)) for table in tables]
    return criterion.with_values(np.concatenate([no_rows, *predicted]))


def _listed(parts: Part | Iterable[Part]) -> list[Part]:
    listed = [parts] if isinstance(parts, Part) else list(parts)
    for part in listed:
        if not isinstance(part, Part):
            raise TypeError(f"parts must be Part(X, y, sensitive_features, …); got {type(part)!r}")
    return listed
