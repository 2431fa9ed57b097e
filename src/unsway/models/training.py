"""What every fit goes through: checks, the criterion, and rows to train on and to stop by."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import validate_data

from .._typing import Floats, Index, Reduce
from ..checks import check_integer, check_number
from ..copies import warn_of_other_attributes
from ..core import Loss, Objective, Schedule, Step
from ..core.schedule import Run, Trainable
from ..criteria import (
    FittedCriterion,
    GroupCriterion,
    Plain,
    choose_strength,
    fit_criterion,
)
from ..effects import HERE, Fitting
from ..effects.nuisance import check_rows_of_levels
from ..outcome import number_loss
from ..rows import Rows
from ..tables import EngineTable, check_table, columns, take
from .held_out import after_hold_out, hold_out_rows
from .labels import check_classes_here, criterion_of, label_reader
from .other_rows import check_other_rows, outcome_reader
from .row_fingerprint import RowFingerprint

if TYPE_CHECKING:
    from .engine import PlacedRows

Estimator = TypeVar("Estimator")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, coded as the engine reads them, with the criterion at them.

    Parameters
    ----------
    rows : Rows
        With a `CodedTable` as X.
    criterion : FittedCriterion
        At these rows.
    reduce : callable, optional
        Sums a small array over the workers that share the rows.
    placed : PlacedRows, optional
        The rows as the engine has them already.
    """

    rows: Rows
    criterion: FittedCriterion
    reduce: Reduce | None = None
    placed: PlacedRows | None = None

    def objective(self) -> Objective:
        """Return the objective on all workers' rows, at strength 0."""
        return self.criterion.objective(self.rows, reduce=self.reduce)

    def take(self, chosen: Index) -> Part:
        """Return some of the rows."""
        return replace(self, rows=self.rows.take(chosen), criterion=self.criterion.take(chosen))


def revision(
    train: Part, validation: Part
) -> Callable[[Floats], tuple[Objective, Objective] | None]:
    """Return what gives a second model's objectives, from the first one's validation margin."""

    def revise(margin: Floats) -> tuple[Objective, Objective] | None:
        revised = validation.criterion.revised(validation.rows, margin, reduce=validation.reduce)
        if revised is None:
            return None
        second = train.criterion.with_settings(revised.criterion), revised
        parts = zip((train, validation), second, strict=True)
        first, other = (replace(part, criterion=fitted).objective() for part, fitted in parts)
        return first, other

    return revise


def refit(estimator: Estimator, fit: Callable[[Estimator], None]) -> Estimator:
    """Fit a copy of an estimator, and take its state over at once: a failed fit changes nothing."""
    fresh = copy(estimator)
    fit(fresh)
    estimator.__dict__ = fresh.__dict__
    return estimator


def strength_of(model: Any) -> float:
    """Return the strength an estimator trains at."""
    return choose_strength(criterion_of(model), model.strength)


def check_settings(model: Any) -> None:
    """Check the settings that all estimators driven by a schedule share."""
    strength_of(model)
    check_number(model.validation_fraction, "validation_fraction", above=0, below=1)
    check_integer(model.random_state, "random_state", at_least=0)
    if not isinstance(model.schedule, Schedule | None):
        raise TypeError(f"schedule must be a Schedule; got {model.schedule!r}")
    if not (model.callback is None or callable(model.callback)):
        raise TypeError(f"callback must be callable; got {model.callback!r}")


def fit_for(criterion: Any, strength: float | None, rows: Rows, *, fitting: Fitting = HERE) -> Any:
    """Return a criterion fitted on rows; at strength 0 nothing is estimated for it.

    ``strength`` is None where many strengths will share the criterion. A group criterion has
    nothing to estimate, and is kept at strength 0 to be reported.
    """
    if strength == 0 and not isinstance(criterion, FittedCriterion | GroupCriterion):
        if hasattr(criterion, "check_settings"):
            criterion.check_settings()
        criterion = Plain()
    if rows.adjust_for is not None and isinstance(criterion, GroupCriterion):
        raise ValueError(
            "adjust_for informs models of propensity and outcome, and "
            f"{type(criterion).__name__} has none; use FairTarget()"
        )
    taught = rows_with_levels(rows)
    if isinstance(criterion, FittedCriterion) or taught is None:
        return fit_criterion(criterion, rows, fitting=fitting)
    return fit_criterion(criterion, rows.take(taught), fitting=fitting).over(rows, taught)


def rows_with_levels(rows: Rows) -> Index | None:
    """Return which rows have a sensitive level, None where all have: they teach the criterion."""
    groups = rows.groups
    return np.flatnonzero(groups.known) if groups.partial and not groups.known.all() else None


def show(fitting: Fitting, rows: Rows, table: Any) -> None:
    """Let ``fitting`` see the rows that teach a criterion, and the table of all as engines do."""
    taught = rows_with_levels(rows)
    if taught is None:
        fitting.see(rows, table)
    else:
        fitting.see(rows.take(taught), take(table, taught))


def read_table(model: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape and the names of a table; numbers may be missing, categories may be text."""
    X = check_table(X, smallest=2 if reset else 1)
    validate_data(model, X, skip_check_array=True, reset=reset)
    return X


def number_loss_of(model: Any) -> Loss:
    """Return the loss of an estimator of numbers."""
    return number_loss(model.loss, check_number(model.power, "power"))


def loss_of(model: Any) -> Loss | None:
    """Return the loss of an estimator of numbers, None for a classifier."""
    return number_loss_of(model) if hasattr(model, "loss") else None


def read_rows(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    exposure: Any = None,
    *,
    adjust_for: Any = None,
    standardise: bool = True,
) -> Rows:
    """Check what an estimator is fitted on, and note on it what tells the rows again.

    See `check_rows`.
    """
    given = X, y, sensitive_features, sample_weight, exposure
    how = {"adjust_for": adjust_for, "standardise": standardise}
    rows = check_rows(model, *given, **how)
    model.training_rows_ = RowFingerprint.of(rows.X)
    return rows


def check_rows(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    exposure: Any = None,
    *,
    adjust_for: Any = None,
    standardise: bool = True,
) -> Rows:
    """Check what an estimator is fitted on, and note on it what the classes and levels are.

    Numbers are brought to units that do not depend on the user's, unless told otherwise.
    """
    loss = loss_of(model)
    rows = Rows.check(
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=model.groups,
        adjust_for=adjust_for,
        read_outcome=label_reader(model) if loss is None else outcome_reader(loss, exposure),
    )
    warn_of_other_attributes(rows.X, rows.groups.name)
    model.adjusted_for_ = () if adjust_for is None else _check_adjusted(model, rows)
    if rows.outcome.n_classes:
        check_classes_here(model)
    if not rows.groups.two:
        check_rows_of_levels(rows)
    model.sensitive_levels_, model.sensitive_name_ = rows.groups.levels, rows.groups.name
    if loss is None:
        model.classes_ = rows.outcome.classes
        return rows
    model.per_exposure_ = exposure is not None
    if standardise:
        rows = replace(rows, outcome=rows.outcome.standardised(rows.weights))
    return rows


def in_training_units(rows: Rows, model: Any) -> Rows:
    """Return rows of numbers in the units that a regressor trains in; labels stay."""
    if rows.outcome.is_label or not getattr(model, "fit_intercept", True):
        return rows
    return replace(rows, outcome=rows.outcome.standardised(rows.weights))


def _check_adjusted(model: Any, rows: Rows) -> tuple[str, ...]:
    """Return the names of the columns adjusted for, or say why nothing can be."""
    criterion = criterion_of(model)
    if isinstance(criterion, FittedCriterion):
        raise ValueError(
            "adjust_for informs the criterion, and this one is fitted: fit it on X with these "
            "columns, or hand in one that is not fitted"
        )
    return tuple(column.name for column in columns(take(rows.adjust_for, slice(1))))


def prepare(
    model: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    eval_set: Any,
    strength: float | None,
    *,
    exposure: Any = None,
    adjust_for: Any = None,
    fitting: Fitting = HERE,
) -> tuple[Part, Part]:
    """Check every input, fit the criterion, and return what to train on and what to stop by.

    Both parts are in their canonical order: the sums over rows, and with them the trees, are the
    same in whatever order the rows were given. ``strength`` is that of the fit, or None where many
    strengths share what is prepared. ``fitting`` trains the models of propensities and outcome
    means.
    """
    table = read_table(model, X, reset=True)
    given = table, y, sensitive_features, sample_weight, exposure
    rows = check_rows(model, *given, adjust_for=adjust_for)
    if adjust_for is not None and eval_set is not None:
        raise ValueError(
            "eval_set has no columns to adjust for; leave it out, and a part of the rows is held "
            "out in its place"
        )
    model.table_ = EngineTable.of(rows.X)
    order, whole = fitting.order(rows, model.table_.code(rows.X))
    model.training_rows_ = RowFingerprint.of(rows.X if whole.layout.levels else whole)
    rows, held = rows.with_order(order), None
    if eval_set is None:
        order, held = hold_out_rows(
            rows, model.validation_fraction, model.random_state, order=order
        )
    train, coded = rows.take(order, in_order=True), take(whole, order)
    if whole.matrix is rows.X:
        train = train.with_table(coded.matrix).with_order(train.order)
    if held is None:
        other = _evaluation_rows(model, eval_set, rows)
        other_coded = model.table_.code(other.X)
    else:
        other, other_coded = rows.take(held, in_order=True), take(whole, held)
    criterion = criterion_of(model)
    if isinstance(criterion, FittedCriterion):
        known = fit_criterion(criterion, rows)
        fitted, beside = known.take(order), known.at(other.X) if held is None else known.take(held)
    else:
        show(fitting, train, coded)
        with after_hold_out(0 if held is None else len(held) / len(rows)):
            fitted = fit_for(criterion, strength, train, fitting=fitting)
        coded_alike = other.adjust_for is None and reads_coded(fitted)
        beside = fitted.at(other_coded if coded_alike else other.observed)
    return Part(train.with_table(coded), fitted), Part(other.with_table(other_coded), beside)


def reads_coded(fitted: FittedCriterion) -> bool:
    """Return whether a criterion's models read tables as the engine has them coded."""
    encoders = getattr(fitted.model, "encoders", ())
    return bool(encoders) and all(getattr(each, "reads_coded", False) for each in encoders)


def _evaluation_rows(model: Any, eval_set: Any, rows: Rows) -> Rows:
    """Return the rows that a user stops training by, in their canonical order."""

    def read(table: Any) -> Any:
        table = read_table(model, table, reset=False)
        model.table_.code(table)  # says which column does not fit
        return table

    other = check_other_rows(eval_set, "eval_set", rows, read=read)
    return other.take(other.order)


def fit_held_out(
    criterion: Any,
    strength: float | None,
    rows: Rows,
    parts: tuple[Index, Index],
    *,
    fitting: Fitting = HERE,
) -> FittedCriterion:
    """Return a criterion at all rows, fitted on those to train on and predicted for the others.

    The rows held out judge the model, and so must not have taught the criterion either. One that
    was fitted before keeps its values.
    """
    train, held = parts
    if isinstance(criterion, FittedCriterion):
        return fit_criterion(criterion, rows)
    train = rows.order[np.isin(rows.order, train)]  # as `prepare` has them
    taught = rows.take(train)
    show(fitting, taught, EngineTable.of(rows.X).code(taught.X))
    with after_hold_out(len(held) / len(rows)):
        fitted: FittedCriterion = fit_for(criterion, strength, taught, fitting=fitting)
    if fitted.row_values is None:
        return fitted
    values = np.empty((len(rows), *fitted.row_values.shape[1:]))
    values[train], values[held] = fitted.row_values, fitted.predict(take(rows.observed, held))
    return fitted.with_values(values)


def drive(
    schedule: Schedule,
    training: Trainable,
    objective: Objective,
    strength: float,
    on_step: Callable[[Step], None] | None,
) -> Run:
    """Run a schedule; a loss that needs no way to its strength is trained at it from the start."""
    run = schedule.run if objective.shift is None else schedule.run_directly
    return run(training, strength, on_step)
