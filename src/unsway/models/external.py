"""Training on Parquet files that are larger than memory.

What XGBoost keeps of a row is one byte per column, so that its quantised matrix is built from an
iterator over the files and held in memory; the rows themselves never are. The objective's columns
lie in memory-mapped files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import Objective
from ..core.fused import FusedDerivatives, in_single_precision
from ..criteria import FittedCriterion, fit_criterion, needed_criterion
from ..criteria.direct_effect import FittedDirectEffect
from ..criteria.fair_target import FittedFairTarget
from ..folds import hold_out
from ..roles import Floats, Roles, check_both_levels
from ..tables import EngineTable
from .boosting import Boosting
from .parquet import ParquetRows
from .xgboost import XGBoostEngine, engine, name_options

if TYPE_CHECKING:
    from .xgboost import FairXGBClassifier

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FittedRows:
    """What training on files leaves behind beside the model."""

    criterion: FittedCriterion
    held: Mask


def fit_parquet(
    model: FairXGBClassifier,
    files: Any,
    *,
    target: str,
    sensitive: str,
    sample_weight: str | None = None,
    drop: Sequence[str] = (),
    criterion_rows: int = 1_000_000,
    folder: str | Path | None = None,
) -> None:
    """Fit a classifier on Parquet files; see `FairXGBClassifier.fit_parquet`."""
    check_low_memory(model, criterion_rows)
    named = [target, sensitive, *([] if sample_weight is None else [sample_weight])]
    if len(set(named)) < len(named):
        raise ValueError("target, sensitive and sample_weight must be different columns")
    drop = [drop] if isinstance(drop, str) else list(drop)
    rows = ParquetRows.of(files, leave_out=[*named, *drop])
    roles = rows.roles(target, sensitive, sample_weight, model.positive_level)
    fit_rows(model, rows, roles, criterion_rows=criterion_rows, folder=folder)


def check_low_memory(model: FairXGBClassifier, criterion_rows: int) -> None:
    """Raise unless the model can be trained from files."""
    model._check_settings()
    if not isinstance(criterion_rows, (int, np.integer)) or criterion_rows < 1:
        raise ValueError(f"criterion_rows must be a positive integer; got {criterion_rows!r}")
    method = (model.params or {}).get("tree_method", "hist")
    if method != "hist":
        raise ValueError(
            f"params['tree_method'] is {method!r}; from files XGBoost trains with 'hist' alone"
        )
    if model._cuda_device() is not None:
        raise ValueError("params['device'] asks for CUDA; from files it trains on the CPU alone")


def fit_rows(
    model: FairXGBClassifier,
    rows: ParquetRows,
    roles: Roles,
    *,
    criterion_rows: int = 1_000_000,
    folder: str | Path | None = None,
) -> FittedRows:
    """Fit a classifier on the rows of files whose roles are known."""
    model._checked(rows.head(), reset=True)
    model.classes_, model.sensitive_levels_ = roles.classes, roles.sensitive.levels
    model.table_ = rows.engine_table()
    share = min(1.0, criterion_rows / rows.n_rows)
    drawn = _survey(rows, model.table_, roles, (model.validation_fraction, share), model)
    held, sample = drawn
    if share == 1:  # few enough rows to do what `fit` does
        table = rows.take(sample)
        strata = roles.target + 2 * roles.sensitive.values
        held = hold_out(table, strata, model.validation_fraction, model.random_state)
    else:
        table = rows.take(sample)
    _check_parts(held, roles)
    criterion = needed_criterion(model._criterion(), model.strength_)
    fitted = _criterion_at(rows, roles, criterion, table, sample)
    del table
    with TemporaryDirectory(dir=folder) as place:
        parts = (_objective(fitted, roles, inside, Path(place)) for inside in (~held, held))
        train, validation = parts
        feeds = (_feed(rows, model.table_, inside, roles.weights) for inside in (~held, held))
        booster = XGBoostEngine(model._engine_params(), model.table_, *feeds)
        derivatives = FusedDerivatives(train, model.curvature, model._learning_rate())
        model._train(Boosting(booster, derivatives, validation))
    return FittedRows(fitted, held)


def predict_rows(model: FairXGBClassifier, rows: ParquetRows) -> Floats:
    """Return the score of every row, read a batch at a time."""
    scores = np.empty(rows.n_rows)
    for place, batch in rows.batches():
        scores[place] = model.predict_proba(batch)[:, 1]
    return scores


def _survey(
    rows: ParquetRows,
    table: EngineTable,
    roles: Roles,
    shares: tuple[float, float],
    model: FairXGBClassifier,
) -> tuple[Mask, Mask]:
    """Look at every row once: draw a hold-out and a sample, refuse a copy of z among the columns.

    A row is drawn by what it holds, not by its place: rows alike in everything go the same way.
    """
    masks = np.zeros((2, rows.n_rows), dtype=bool)
    copies = _Copies(rows.names)
    z = roles.sensitive.values
    for place, batch in rows.batches():
        matrix = rows.matrix(table, batch)
        copies.look(matrix, z[place] == 1)
        keys = _keys([*matrix.T, roles.target[place], z[place]], model.random_state)
        for mask, share in zip(masks, shares, strict=True):
            mask[place] = (keys >> np.uint64(11)) * 2.0**-53 < share
            keys = _mix(keys)
    copies.refuse()
    return masks[0], masks[1]


class _Copies:
    """Columns that have told the two levels of z apart in every row so far."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._alive = np.ones(len(names), dtype=bool)
        self._seen: list[NDArray[np.float32] | None] = [None, None]

    def look(self, matrix: NDArray[np.float32], positive: Mask) -> None:
        """Take in some rows."""
        for level, inside in enumerate((~positive, positive)):
            if not inside.any() or not self._alive.any():
                continue
            part = matrix[inside]
            first = self._seen[level]
            if first is None:
                self._seen[level] = first = part[0].copy()
            same = part[:, self._alive] == first[self._alive]
            self._alive[self._alive] = same.all(axis=0)

    def refuse(self) -> None:
        """Raise if a column is z up to its coding."""
        zero, one = self._seen
        if zero is None or one is None:
            return
        found = np.flatnonzero(self._alive & (zero != one))
        if len(found):
            raise ValueError(
                f"column {self._names[found[0]]!r} is the same as the sensitive column up to its "
                "coding; leave it out"
            )


def _keys(columns: Sequence[NDArray[Any]], seed: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row, in single precision."""
    start = np.random.default_rng(seed).integers(2**63)
    keys = np.full(len(columns[0]), start, dtype=np.uint64)
    for column in columns:
        values = np.ascontiguousarray(column, dtype=np.float32) + np.float32(0)  # −0 is 0
        keys = _mix(keys ^ values.view(np.uint32))
    return keys


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on all of the given ones."""
    keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return (keys ^ (keys >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def _check_parts(held: Mask, roles: Roles) -> None:
    z, y, weights = roles.sensitive.values, roles.target, roles.weights
    for inside, place in ((~held, "the training part"), (held, "the hold-out")):
        part = None if weights is None else weights[inside]
        check_both_levels(z[inside], part, roles.sensitive.levels, place)
        check_both_levels(y[inside], part, roles.classes, place, kind="class")


def _criterion_at(
    rows: ParquetRows, roles: Roles, criterion: Any, table: Any, sample: Mask
) -> FittedCriterion:
    """Fit the criterion on a sample, and bring it to all rows, a batch at a time."""
    y, z, weights = roles.target, roles.sensitive.values, roles.weights
    if sample.all() or not hasattr(criterion, "fit"):
        return fit_criterion(criterion, table if sample.all() else None, z, weights, y=y)
    inside = None if weights is None else weights[sample]
    fitted = fit_criterion(criterion, table, z[sample], inside, y=y[sample])
    if fitted.n_rows is None:
        return fitted
    if not isinstance(fitted, FittedFairTarget | FittedDirectEffect):
        raise TypeError(
            f"{type(fitted).__name__} cannot be brought to rows in files; use FairTarget(), "
            "DirectEffect() or a group criterion"
        )
    name = "effect" if isinstance(fitted, FittedFairTarget) else "scores"
    known = np.empty(rows.n_rows)
    for place, batch in rows.batches():
        known[place] = getattr(fitted.at(batch), name)
    known[sample] = getattr(fitted, name)  # from models that have not seen them
    return replace(fitted, **{name: known})  # type: ignore[arg-type]


def _objective(fitted: FittedCriterion, roles: Roles, inside: Mask, folder: Path) -> Objective:
    """Return the objective on a part of the rows, its columns in memory-mapped files."""
    chosen = np.flatnonzero(inside)
    weights = None if roles.weights is None else roles.weights[chosen]
    objective = fitted.take(chosen).objective(
        roles.target[chosen], roles.sensitive.values[chosen], weights
    )

    def mapped(values: Any, dtype: Any) -> Any:
        if not values.size:
            return np.empty(values.shape, dtype=dtype)
        path = folder / f"{sum(1 for _ in folder.iterdir())}.column"
        found = np.memmap(path, dtype, "w+", shape=values.shape, order="F")
        found[...] = values
        return found

    return in_single_precision(objective, mapped, mapped)


def _feed(rows: ParquetRows, table: EngineTable, inside: Mask, weights: Floats | None) -> Any:
    """Return XGBoost's iterator over a part of the rows."""
    names = name_options(table)

    class Feed(engine().DataIter):  # type: ignore[misc]
        def __init__(self) -> None:
            self._batches: Iterator[Any] = iter(())
            super().__init__()

        def reset(self) -> None:
            self._batches = rows.batches()

        def next(self, input_data: Any) -> bool:
            for place, batch in self._batches:
                chosen = inside[place]
                if chosen.any():
                    weight = None if weights is None else weights[place][chosen]
                    matrix = rows.matrix(table, batch)
                    input_data(data=matrix[chosen], weight=weight, **names)
                    return True
            return False

    return Feed()
