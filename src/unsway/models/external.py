"""Training on Parquet files that are larger than memory.

XGBoost keeps one byte per row and column. Its quantised matrix is built from an iterator over the
files and kept in memory; the rows themselves are not. The objective's columns are memory-mapped
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._typing import Floats, Index, Mask
from ..checks import check_integer
from ..copies import find_copies, level_extremes, refuse_copy
from ..core import Objective
from ..core.derivatives import BoostingDerivatives, in_single_precision
from ..criteria import FittedCriterion
from ..hashes import row_keys, uniforms
from ..rows import Rows
from ..tables import CodedTable, EngineTable
from .boosted_regressor import bring_to_units
from .boosting import (
    Boosting,
    check_booster,
    learning_rate,
    nuisance_fitting,
    train_booster,
)
from .engine import BoosterSettings
from .held_out import after_hold_out, hold_out_rows
from .labels import criterion_of
from .number_objectives import XGBOOST_UNITS, start_of_counts
from .parquet import ParquetRows
from .regression import check_rebalance
from .row_fingerprint import KeptKeys, RowFingerprint
from .training import Part, fit_for, loss_of, read_table
from .xgboost import cuda_device, engine_params
from .xgboost_rows import XGBoostGrower, name_options, training_matrix, xgboost

if TYPE_CHECKING:
    from .xgboost import FairXGBClassifier
    from .xgboost_regressor import FairXGBRegressor

    Model: TypeAlias = FairXGBClassifier | FairXGBRegressor


@dataclass(frozen=True, kw_only=True)
class FittedRows:
    """The criterion and the hold-out of a training on files."""

    criterion: FittedCriterion
    held: Mask


def fit_parquet(
    model: Model,
    files: Any,
    *,
    target: str,
    sensitive: str,
    sample_weight: str | None = None,
    exposure: str | None = None,
    drop: Sequence[str] = (),
    criterion_rows: int = 1_000_000,
    folder: str | Path | None = None,
) -> None:
    """Fit a model on Parquet files; see `fit_parquet` of its class."""
    check_low_memory(model, criterion_rows)
    named = [each for each in (target, sensitive, sample_weight, exposure) if each is not None]
    if len(set(named)) < len(named):
        others = (
            "sensitive, sample_weight and exposure" if exposure else "sensitive and sample_weight"
        )
        raise ValueError(f"target, {others} must be different columns")
    drop = [drop] if isinstance(drop, str) else list(drop)
    opened = ParquetRows.of(files, leave_out=[*named, *drop])
    rows = opened.rows(
        target, sensitive, sample_weight, model.groups, loss=loss_of(model), exposure=exposure
    )
    if loss_of(model) is not None:
        model.per_exposure_ = exposure is not None
    fit_rows(model, opened, rows, criterion_rows=criterion_rows, folder=folder)


def check_low_memory(model: Model, criterion_rows: int) -> None:
    """Raise unless the model can be trained from files."""
    if loss_of(model) is not None:
        check_rebalance(model)
    check_booster(model)
    check_integer(criterion_rows, "criterion_rows", at_least=1)
    method = (model.params or {}).get("tree_method", "hist")
    if method != "hist":
        raise ValueError(
            f"params['tree_method'] is {method!r}; from files XGBoost trains with 'hist' alone"
        )
    if cuda_device(model.params or {}) is not None:
        raise ValueError("params['device'] asks for CUDA; from files it trains on the CPU alone")


def fit_rows(
    model: Model,
    files: ParquetRows,
    rows: Rows,
    *,
    criterion_rows: int = 1_000_000,
    folder: str | Path | None = None,
) -> FittedRows:
    """Fit a model on files; ``rows`` are all their rows, without the covariates."""
    read_table(model, files.head(), reset=True)
    model.sensitive_levels_, model.sensitive_name_ = rows.groups.levels, rows.groups.name
    if rows.outcome.is_label:
        model.classes_ = rows.outcome.classes
    else:
        rows = replace(rows, outcome=rows.outcome.standardised(rows.weights))
    model.table_ = files.engine_table()
    share = min(1.0, criterion_rows / files.n_rows)
    held, chosen = _survey(files, rows, (model.validation_fraction, share), model)
    sample = np.flatnonzero(chosen)
    taught = rows.take(sample).with_table(files.take(chosen))
    if share == 1:  # few enough rows to do what `fit` does
        parts = hold_out_rows(taught, model.validation_fraction, model.random_state)
        held = np.isin(np.arange(len(rows)), parts[1])
    for inside, place in ((~held, "the training part"), (held, "the hold-out")):
        rows.take(np.flatnonzero(inside)).check_present(place)
    fitted = _criterion_at(model, files, rows, (taught, sample), held)
    del taught
    with TemporaryDirectory(dir=folder) as scratch:
        folder = Path(scratch)

        def objectives(fitted: FittedCriterion) -> tuple[Objective, Objective]:
            train, validation = (_objective(fitted, rows, part, folder) for part in (~held, held))
            return train, validation

        def revise(margin: Floats) -> tuple[Objective, Objective] | None:
            chosen = np.flatnonzero(held)
            revised = fitted.take(chosen).revised(rows.take(chosen), margin)
            if revised is None:
                return None
            return objectives(fitted.with_settings(revised.criterion))

        train, validation = objectives(fitted)
        derivatives = BoostingDerivatives(train, model.curvature, learning_rate(model))
        grower = _grower(model, files, rows, held)
        train_booster(model, Boosting(grower, derivatives, validation, revise=revise))
    if not rows.outcome.is_label:
        _bring_to_units(model, files, Part(rows, fitted))
    return FittedRows(criterion=fitted, held=held)


def _grower(model: Model, files: ParquetRows, rows: Rows, held: Mask) -> XGBoostGrower:
    """Return the booster before its first tree, with its quantised rows."""
    settings, own = BoosterSettings.of(model), None
    if not rows.outcome.is_label:
        taught = rows.take(np.flatnonzero(~held))
        settings = settings.for_rows(taught, XGBOOST_UNITS)
        own = taught.outcome if settings.own_objective else None
    params = engine_params(settings)
    if own is not None:
        params |= start_of_counts(settings, own, model.engine.version())
    feeds = [feed_of(files, model.table_, inside, rows.weights) for inside in (~held, held)]
    first = training_matrix(params, feeds[0])
    other = training_matrix(params, feeds[1], bins_of=first)
    if own is None:
        return XGBoostGrower(params, first, other)
    first.set_info(label=own.as_given())
    return XGBoostGrower(params, first, other, own_offset=own.offset)


def predict_rows(model: Model, files: ParquetRows) -> Floats:
    """Return the score or the mean of every row, read a batch at a time."""
    scores, labels = np.empty(files.n_rows), hasattr(model, "predict_proba")
    for span, batch in files.batches():
        scores[span] = model.predict_proba(batch)[:, 1] if labels else model.predict(batch)
    return scores


def _bring_to_units(model: Any, files: ParquetRows, everything: Part) -> None:
    """Let a model of numbers predict in the user's units, and with their total if asked for."""

    def margin(_: Any) -> Floats:
        margins = np.empty(files.n_rows)
        for span, batch in files.batches():
            coded = CodedTable(files.matrix(model.table_, batch), model.table_)
            margins[span] = model.engine.margin(model.booster_, coded, model.n_jobs)
        return margins

    outcome, balanced = everything.rows.outcome, [everything] if check_rebalance(model) else None
    bring_to_units(model, outcome, balanced, margin=margin)


def _survey(
    files: ParquetRows, rows: Rows, shares: tuple[float, float], model: Model
) -> tuple[Mask, Mask]:
    """Read every row once: draw a hold-out and a sample, and keep the fingerprint of the rows."""
    kept, seed = KeptKeys(), 2 * model.random_state
    masks = draw_rows(files, model.table_, rows, shares, seed, see=kept.see)
    model.training_rows_ = RowFingerprint.of_keys(kept)
    return masks[0], masks[1]


def draw_rows(
    files: ParquetRows,
    table: EngineTable,
    rows: Rows,
    shares: Sequence[float],
    seed: int,
    *,
    see: Callable[[Any], object] | None = None,
) -> Sequence[Mask]:
    """Read every row once and draw shares of them; refuse a column that is a copy of z.

    A row is drawn by its values, not by its position: equal rows are drawn together. ``see`` is
    shown each batch.
    """
    masks = np.zeros((len(shares), files.n_rows), dtype=bool)
    codes, n_levels = rows.groups.codes, len(rows.groups.levels)
    extremes = np.full((n_levels, 2, len(files.names)), -np.inf)
    for span, batch in files.batches():
        if see is not None:
            see(batch)
        matrix = files.matrix(table, batch)
        np.maximum(extremes, level_extremes(matrix, codes[span], n_levels), out=extremes)
        whole = np.column_stack([matrix, rows.y[span], codes[span]])
        for number, share in enumerate(shares):
            masks[number, span] = uniforms(row_keys(whole, seed + number)) < share
    copies = find_copies(extremes)
    if len(copies):
        refuse_copy(files.names[copies[0]])
    return list(masks)


def _criterion_at(
    model: Model,
    files: ParquetRows,
    rows: Rows,
    sample: tuple[Rows, Index],
    held: Mask,
) -> FittedCriterion:
    """Fit the criterion on the training rows of a sample, and bring its values to all rows.

    ``sample`` are its rows with their covariates, and their positions among all.
    """
    (known, positions), criterion = sample, criterion_of(model)
    if isinstance(criterion, FittedCriterion):
        return fit_for(criterion, model.strength_, rows.with_table(None))
    inside = np.flatnonzero(~held[positions])
    taught, fitting = known.take(inside), nuisance_fitting(model)
    inside, taught = inside[taught.order], taught.take(taught.order)
    fitting.see(taught, model.table_.code(taught.X))
    with after_hold_out(float(held.mean())):
        fitted = fit_for(criterion, model.strength_, taught, fitting=fitting)
    if fitted.row_values is None:
        return fitted
    values = np.empty((files.n_rows, *fitted.row_values.shape[1:]))
    for span, batch in files.batches():
        values[span] = fitted.predict(batch)
    values[positions[inside]] = fitted.row_values  # from models that have not seen them
    return fitted.with_values(values)


def _objective(fitted: FittedCriterion, rows: Rows, inside: Mask, folder: Path) -> Objective:
    """Return the objective on a part of the rows, its columns in memory-mapped files."""
    chosen = np.flatnonzero(inside)
    objective = fitted.take(chosen).objective(rows.take(chosen))

    def mapped(values: Any, dtype: Any) -> Any:
        if not values.size:
            return np.empty(values.shape, dtype=dtype)
        path = folder / f"{sum(1 for _ in folder.iterdir())}.column"
        column = np.memmap(path, dtype, "w+", shape=values.shape, order="F")
        column[...] = values
        return column

    return in_single_precision(objective, mapped, mapped)


def feed_of(files: ParquetRows, table: EngineTable, inside: Mask, weights: Floats | None) -> Any:
    """Return XGBoost's iterator over a part of the rows."""
    names = name_options(table)

    class Feed(xgboost().DataIter):  # type: ignore[misc]
        def __init__(self) -> None:
            self._batches: Iterator[Any] = iter(())
            super().__init__()

        def reset(self) -> None:
            self._batches = files.batches()

        def next(self, input_data: Any) -> bool:
            for span, batch in self._batches:
                chosen = inside[span]
                if chosen.any():
                    weight = None if weights is None else weights[span][chosen]
                    matrix = files.matrix(table, batch)
                    input_data(data=matrix[chosen], weight=weight, **names)
                    return True
            return False

    return Feed()
