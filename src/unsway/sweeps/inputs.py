"""From what a user hands in to the rows of a sweep: to train on, to choose by, to judge by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from .._typing import Index
from ..checks import check_integer, check_number
from ..criteria import Criterion, FittedCriterion, choose_strength
from ..effects.learners import as_given
from ..folds import fold_numbers, hold_out
from ..models.boosting import BoostedClassifier, check_booster
from ..models.corrected import DirectEffectCorrector, corrector_criterion
from ..models.folder import MODEL_FILES
from ..models.training import check_other_rows
from ..models.training import criterion_of as default_criterion_of
from ..rows import Rows
from ..tables import check_table
from .fingerprint import describe, describe_estimator, hash_column, hash_table, versions

#: The paper's strengths, for penalties.
PENALTY_STRENGTHS = tuple(round(0.025 * k, 3) for k in range(40))
#: Those where a strength of 1 is allowed.
FULL_STRENGTHS = tuple(round(0.05 * k, 2) for k in range(21))


@dataclass(frozen=True)
class Inputs:
    """The checked inputs of a sweep.

    Parameters
    ----------
    estimator : estimator
        As given.
    rows : Rows
        All rows that were handed in to learn from.
    encode : callable
        Returns a table as the estimator takes it.
    fit_rows : array of int
        Those the estimator is fitted on; a booster holds some of them out itself.
    train_rows, validation_rows : array of int
        Those the training figures are of, and those to choose by; None stands for ``eval_set``.
    folds : tuple of pairs of arrays
        With ``cv``, the rows to fit on and to score in each fold.
    eval_set, test_set : Rows, optional
    effects : mapping, optional
        Options of `estimate_effects`; None leaves the direct effect out.
    threshold : float
    """

    estimator: Any
    rows: Rows = field(repr=False)
    encode: Callable[[Any], Any] = field(repr=False)
    fit_rows: Index = field(repr=False)
    train_rows: Index = field(repr=False)
    validation_rows: Index | None = field(repr=False)
    folds: tuple[tuple[Index, Index], ...] = field(repr=False)
    eval_set: Rows | None = field(repr=False)
    test_set: Rows | None = field(repr=False)
    effects: Mapping[str, Any] | None
    threshold: float

    @property
    def part_names(self) -> tuple[str, ...]:
        """The parts that figures are made of."""
        return ("train", "validation", *(() if self.test_set is None else ("test",)))

    def encoded(self, rows: Rows) -> Rows:
        """Return rows with their table as the estimator takes it."""
        return rows.with_table(self.encode(rows.X))

    def fingerprint(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the sweep is made of."""
        engine = engine_of(self.estimator)
        return {
            "estimator": describe_estimator(self.estimator),
            "settings": {
                "threshold": self.threshold,
                "effects": describe(self.effects),
                "cv": len(self.folds) or None,
                **describe(settings),
            },
            "data": {
                "rows": len(self.rows),
                "training rows": _hash_rows(self.rows),
                "eval_set": None if self.eval_set is None else _hash_rows(self.eval_set),
                "test_set": None if self.test_set is None else _hash_rows(self.test_set),
            },
            "versions": versions(engine if engine in ("xgboost", "lightgbm") else None),
        }


def check_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    eval_set: Any = None,
    test_set: Any = None,
    cv: int | None = None,
    validation_fraction: float = 0.25,
    effects: Any = True,
    threshold: float = 0.5,
    encode: Callable[[Any], Any] | None = None,
    random_state: int = 0,
) -> Inputs:
    """Check everything a sweep is told, and split the rows."""
    check_estimator(estimator)
    _check_settings(cv, eval_set, validation_fraction, threshold, random_state)
    X = check_table(X)
    rows = Rows.check(
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        positive_level=getattr(estimator, "positive_level", None),
    )
    others = [
        None if given is None else check_other_rows(given, name, rows)
        for given, name in ((eval_set, "eval_set"), (test_set, "test_set"))
    ]
    options = {"random_state": random_state, **(effects if isinstance(effects, Mapping) else {})}
    everything = np.arange(len(rows))
    inputs = Inputs(
        estimator,
        rows,
        encode=encode or as_given,
        fit_rows=everything,
        train_rows=everything,
        validation_rows=None,
        folds=(),
        eval_set=others[0],
        test_set=others[1],
        effects=options if effects is not False and effects is not None else None,
        threshold=float(threshold),
    )
    return _split(inputs, cv, validation_fraction, random_state)


def check_estimator(estimator: Any) -> None:
    """Raise unless it is an estimator with a strength, and its criterion is one."""
    is_class = isinstance(estimator, type)
    known = not is_class and hasattr(estimator, "get_params")
    if not known or "strength" not in estimator.get_params(deep=False):
        shown = f"the class {estimator.__name__}" if is_class else type(estimator).__name__
        raise TypeError(
            f"estimator must be one with a strength, such as FairXGBClassifier(); got {shown}"
        )
    criterion = criterion_of(estimator)
    if criterion is not None:
        choose_strength(criterion, None)  # raises if it is no criterion


def criterion_of(estimator: Any) -> Any:
    """Return the criterion an estimator will use, or None where it keeps that to itself."""
    if isinstance(estimator, DirectEffectCorrector):
        return corrector_criterion(estimator)
    if "criterion" not in estimator.get_params(deep=False):
        return None
    return default_criterion_of(estimator)


def check_strengths(estimator: Any, strengths: Sequence[float] | None) -> tuple[float, ...]:
    """Return the strengths in increasing order, each once; the paper's where none are given."""
    criterion = criterion_of(estimator)
    full = criterion is None or criterion.allows_full_strength
    full = full or isinstance(estimator, DirectEffectCorrector)
    if strengths is None:
        return FULL_STRENGTHS if full else PENALTY_STRENGTHS
    found = list(np.ravel(np.asarray(strengths, dtype=object)))
    if not found:
        raise ValueError("strengths is empty; give at least one")
    for each in found:
        if isinstance(each, bool) or not isinstance(each, Real):
            raise TypeError(f"strengths must be numbers; got {each!r}")
        if not 0 <= float(each) <= 1 or (each == 1 and not full):
            allowed = "at most 1" if full else "below 1"
            raise ValueError(f"strengths must be at least 0 and {allowed}; got {each!r}")
    return tuple(sorted({float(each) for each in found}))


def engine_of(estimator: Any) -> str | None:
    """Return the engine if its models can be saved as folders of open files."""
    name = getattr(getattr(estimator, "engine", None), "name", None)
    return name if name in MODEL_FILES else None


def shareable(criterion: Any) -> bool:
    """Return whether many strengths can share one fitted criterion."""
    return isinstance(criterion, (Criterion, FittedCriterion))


def _split(inputs: Inputs, cv: int | None, fraction: float, seed: int) -> Inputs:
    """Say which rows are fitted on, and which are chosen by."""
    rows, everything, booster = inputs.rows, inputs.fit_rows, inputs.estimator
    strata = rows.strata()
    if cv is not None:
        numbers = fold_numbers(rows.X, strata, cv, seed)
        pairs = tuple(
            (np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(cv)
        )
        return replace(inputs, folds=pairs, validation_rows=everything)
    if inputs.eval_set is not None:
        return inputs
    if isinstance(booster, BoostedClassifier):
        check_booster(booster)
        held = hold_out(
            inputs.encode(rows.X), strata, booster.validation_fraction, booster.random_state
        )
        return replace(
            inputs, train_rows=np.flatnonzero(~held), validation_rows=np.flatnonzero(held)
        )
    held = hold_out(rows.X, strata, fraction, seed)
    kept, others = np.flatnonzero(~held), np.flatnonzero(held)
    for part, place in ((kept, "the training part"), (others, "the validation part")):
        rows.with_table(None).take(part).check_present(place)
    return replace(inputs, fit_rows=kept, train_rows=kept, validation_rows=others)


def _check_settings(
    cv: Any, eval_set: Any, validation_fraction: Any, threshold: Any, random_state: Any
) -> None:
    if cv is not None:
        check_integer(cv, "cv", at_least=2)
        if eval_set is not None:
            raise ValueError("cv chooses by every row in turn; give either cv or eval_set")
    for name, value in (("validation_fraction", validation_fraction), ("threshold", threshold)):
        check_number(value, name, above=0, below=1)
    check_integer(random_state, "random_state", at_least=0)


def _hash_rows(rows: Rows) -> dict[str, Any]:
    return {
        "X": hash_table(rows.X),
        "y": hash_column(rows.outcome.as_given()),
        "sensitive_features": hash_column(rows.groups.as_given()),
        "sample_weight": None if rows.weights is None else hash_column(rows.weights),
    }
