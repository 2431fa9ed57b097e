"""Training on this process's rows together with those of every other process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..core import Objective, Schedule, Step
from ..criteria import (
    DirectEffect,
    FairTarget,
    FittedCriterion,
    FittedDirectEffect,
    FittedFairTarget,
    GroupCriterion,
    NoCriterion,
    needed_criterion,
)
from ..models.boosting import Boosting
from ..models.rows import Rows
from ..models.xgboost import FairXGBClassifier
from ..roles import Floats
from .checkpoint import Checkpointed, fingerprint
from .collective import Collective
from .nuisances import NuisanceSettings, fit_direct_effect, fit_fair_target
from .rows import Layout, LocalRows, Part, check_everywhere, read_facts, refuse_copies_of_z
from .shares import draws, row_keys

_HOLD_OUT = 1  # tells the hold-out's draws from the folds', which have the user's seed


@dataclass(frozen=True)
class Communication:
    """What this library summed over the processes, in bytes that each handed in.

    XGBoost's own sums, of the histograms its trees grow by, come on top as they would without it.

    Parameters
    ----------
    setup : int
        Before the first round: levels, propensity and outcome models, the penalty's matrices.
    rounds : int
        In all rounds together.
    n_rounds : int
        How many rounds there were.
    """

    setup: int
    rounds: int
    n_rounds: int

    @property
    def per_round(self) -> float:
        """Bytes a round."""
        return self.rounds / max(1, self.n_rounds)


@dataclass(frozen=True)
class SharedRows(Rows):
    """Rows of one process, whose objective is that of all processes' rows."""

    collective: Collective

    def objective(self) -> Objective:
        """Return the objective on all rows, at strength 0 until it is told another."""
        return self.criterion.objective(
            self.y, self.z, self.sample_weight, reduce=self.collective.sum
        )


@dataclass(frozen=True)
class Faults:
    """What to do about processes that die.

    Parameters
    ----------
    folder : path, optional
        Where the state of the training is written, and read when a run starts again.
    every : int
        Rounds between two writes.
    n_rows : int, optional
        Rows that all processes must have together.
    """

    folder: str | Path | None = None
    every: int = 10
    n_rows: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.every, Integral) or self.every < 1:
            raise ValueError(
                f"checkpoint_every must be an integer of at least 1; got {self.every!r}"
            )


def fit_here(
    model: FairXGBClassifier,
    parts: Part | Iterable[Part],
    *,
    eval_parts: Part | Iterable[Part] | None = None,
    nuisances: NuisanceSettings | None = None,
    faults: Faults | None = None,
) -> FairXGBClassifier:
    """Fit a model on the rows of all processes of XGBoost's collective; call it in each of them.

    No row leaves its process. The processes sum K numbers a round for a penalty of K statistics,
    two or three more for the losses, and before the first round what the criterion needs: all of
    it independent of the number of rows. Every process returns the same model.

    Parameters
    ----------
    model : FairXGBClassifier
        The settings, the same in every process; it is not changed.
    parts : Part or iterable of Part
        The rows here; none at all is fine, as long as some process has rows.
    eval_parts : Part or iterable of Part, optional
        Rows to stop early by; by default a share of the training rows, chosen by what they hold.
    nuisances : NuisanceSettings, optional
        How propensity and outcome means are fitted.
    faults : Faults, optional
        Where to keep the state of the training, and how many rows there must be.

    Returns
    -------
    FairXGBClassifier
        Fitted, with ``communication_``, ``n_workers_``, ``n_rows_`` and ``resumed_at_``, the rounds
        taken over from a checkpoint, beside its own attributes.

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
    collective = Collective()
    fresh, faults = clone(model), faults or Faults()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Empty dataset at worker")  # which is no fault
        train, validation = _prepare(fresh, parts, eval_parts, nuisances, faults, collective)
        boosting = fresh._boosting(train, validation)
        setup = collective.bytes
        _drive(fresh, boosting, _trained(fresh, boosting, train, faults, collective), collective)
    fresh.n_workers_ = collective.size
    fresh.communication_ = Communication(setup, collective.bytes - setup, fresh.n_rounds_)
    return fresh


def _prepare(
    model: FairXGBClassifier,
    parts: Part | Iterable[Part],
    eval_parts: Part | Iterable[Part] | None,
    nuisances: NuisanceSettings | None,
    faults: Faults,
    collective: Collective,
) -> tuple[SharedRows, SharedRows]:
    """Check every input on all processes, and return the rows with their criterion."""
    collective.agree(lambda: _check_settings(model))
    here = _listed(parts)
    layout = Layout.of(read_facts(here, collective), model.positive_level)
    rows = collective.agree(lambda: LocalRows.of(here, layout))
    _check_count(rows, model, faults, collective)
    check_everywhere(rows, layout, "the training table", collective)
    refuse_copies_of_z(rows, layout, collective)
    _describe(model, layout)
    settings = NuisanceSettings() if nuisances is None else nuisances
    if eval_parts is None:
        fitted = _fit_criterion(model, rows, layout, settings, collective)
        return _held_out(model, rows, layout, fitted, collective)
    beside = _listed(eval_parts)
    other = collective.agree(lambda: LocalRows.of(beside, layout, "eval_set"))
    check_everywhere(other, layout, "eval_set", collective)
    fitted = _fit_criterion(model, rows, layout, settings, collective)
    return (
        _shared(rows, fitted, collective),
        _shared(other, _at(fitted, other.tables), collective),
    )


def _check_settings(model: FairXGBClassifier) -> None:
    model._check_settings()
    device = str((model.params or {}).get("device", "cpu"))
    if not device.startswith("cpu"):
        raise ValueError(f"params['device'] must be 'cpu' on several workers; got {device!r}")


def _check_count(
    rows: LocalRows, model: FairXGBClassifier, faults: Faults, collective: Collective
) -> None:
    model.n_rows_ = int(collective.sum(np.array([len(rows)]))[0])
    if faults.n_rows is not None and model.n_rows_ != faults.n_rows:
        raise RuntimeError(
            f"the workers have {model.n_rows_} rows together but the table has {faults.n_rows}: a "
            "partition is missing or there twice"
        )


def _describe(model: FairXGBClassifier, layout: Layout) -> None:
    model.table_, model.classes_ = layout.table, layout.classes
    model.sensitive_levels_ = layout.sensitive_levels
    model.n_features_in_ = len(layout.table.names)
    if layout.named:
        model.feature_names_in_ = np.array(layout.table.names, dtype=object)


def _fit_criterion(
    model: FairXGBClassifier,
    rows: LocalRows,
    layout: Layout,
    settings: NuisanceSettings,
    collective: Collective,
) -> Any:
    """Fit the criterion on all processes' rows; a fitted one is taken to those here."""
    criterion = needed_criterion(model._criterion(), model.strength_)
    more = (rows, layout.table, settings, collective, model.n_jobs)
    if isinstance(criterion, FairTarget):
        return fit_fair_target(criterion, *more)
    if isinstance(criterion, DirectEffect):
        return fit_direct_effect(criterion, *more)
    return collective.agree(lambda: _at(criterion, rows.tables))


def _at(criterion: Any, tables: Sequence[Any]) -> Any:
    """Return a fitted criterion at the rows of several tables."""
    if isinstance(criterion, GroupCriterion | NoCriterion):
        return criterion
    found = [criterion.at(table) for table in tables]
    nobody = np.zeros(0)
    if isinstance(criterion, FittedDirectEffect):
        return replace(criterion, scores=np.concatenate([nobody, *(each.scores for each in found)]))
    if isinstance(criterion, FittedFairTarget):
        return replace(criterion, effect=np.concatenate([nobody, *(each.effect for each in found)]))
    raise TypeError(
        f"criterion {criterion!r} cannot be spread over workers; use FairTarget(), DirectEffect(), "
        "Parity(), EqualOpportunity() or EqualizedOdds(), or one of them fitted"
    )


def _held_out(
    model: FairXGBClassifier,
    rows: LocalRows,
    layout: Layout,
    fitted: FittedCriterion,
    collective: Collective,
) -> tuple[SharedRows, SharedRows]:
    """Return training rows and hold-out, told apart by what the rows hold."""
    drawn = draws(rows.matrix, rows.ties, model.random_state * 2 + _HOLD_OUT)
    held = drawn < model.validation_fraction
    parts = []
    for inside, place in ((~held, "the training part"), (held, "the hold-out")):
        numbers = np.flatnonzero(inside)
        part = LocalRows(
            (),
            rows.matrix[numbers],
            rows.y[numbers],
            rows.z[numbers],
            None if rows.weights is None else rows.weights[numbers],
        )
        check_everywhere(part, layout, place, collective)
        parts.append(_shared(part, fitted.take(numbers), collective))
    return parts[0], parts[1]


def _shared(rows: LocalRows, fitted: FittedCriterion, collective: Collective) -> SharedRows:
    return SharedRows(rows.matrix, rows.y, rows.z, rows.weights, fitted, collective)


def _trained(
    model: FairXGBClassifier,
    boosting: Boosting,
    train: SharedRows,
    faults: Faults,
    collective: Collective,
) -> Boosting | Checkpointed:
    """Return what the schedule drives: with a folder, something that can be taken up again."""
    if faults.folder is None:
        return boosting
    columns: list[Floats] = [train.y, train.z]
    if train.sample_weight is not None:
        columns.append(train.sample_weight)
    keys = row_keys(np.column_stack([train.matrix, *columns]), seed=0)
    total = collective.sum(np.array([keys.sum(dtype=np.uint64)], dtype=np.uint64))[0]
    settings = {
        "criterion": repr(model._criterion()),
        "strength": model.strength_,
        "params": model.params,
        "schedule": repr(model.schedule),
        "curvature": model.curvature,
        "random_state": model.random_state,
        "n_rows": model.n_rows_,
    }
    mark = fingerprint(total, settings)
    return Checkpointed(boosting, collective, Path(faults.folder), faults.every, mark)


def _drive(
    model: FairXGBClassifier,
    boosting: Boosting,
    trained: Boosting | Checkpointed,
    collective: Collective,
) -> None:
    """Train by the schedule, and keep the best state."""
    schedule = Schedule() if model.schedule is None else model.schedule
    drive = schedule.run if boosting.validation.shift is None else schedule.run_directly
    told, done = model._on_step() if collective.rank == 0 else None, 0
    if isinstance(trained, Checkpointed):
        done = trained.resumed_at

    def on_step(step: Step) -> None:
        if told is not None and step.number > done:
            told(step)

    with threadpool_limits(1, user_api="blas"):  # BLAS threads would fight the engine's
        run = drive(trained, model.strength_, on_step)
    model.progress = model.progress and collective.rank == 0
    model._keep(boosting, run)
    model.resumed_at_ = done
    if isinstance(trained, Checkpointed):
        trained.finish()


def _listed(parts: Part | Iterable[Part]) -> list[Part]:
    found = [parts] if isinstance(parts, Part) else list(parts)
    for part in found:
        if not isinstance(part, Part):
            raise TypeError(f"parts must be Part(X, y, sensitive_features, …); got {type(part)!r}")
    return found
