"""The checked inputs of a sweep, and their fingerprint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit

from .._typing import Index
from ..checks import check_integer, check_number
from ..criteria import FittedCriterion, choose_strength, fit_criterion
from ..effects import HERE
from ..effects.learners import as_given
from ..folds import fold_numbers
from ..models.boosted_regressor import BoostedRegressor
from ..models.boosting import BoostedClassifier, check_booster, nuisance_fitting
from ..models.corrected import DirectEffectCorrector, corrector_criterion
from ..models.folder import MODEL_FILES, versions_of
from ..models.held_out import hold_out_rows
from ..models.labels import criterion_of
from ..models.other_rows import check_other_rows
from ..models.training import (
    fit_held_out,
    in_training_units,
    loss_of,
)
from ..outcome import Outcome
from ..rows import Rows
from ..tables import check_table, columns

#: The paper's strengths, for penalties.
PENALTY_STRENGTHS = tuple(round(0.025 * k, 3) for k in range(40))
#: Those where a strength of 1 is allowed.
FULL_STRENGTHS = tuple(round(0.05 * k, 2) for k in range(21))
#: Estimators that hold rows out themselves.
BOOSTERS = (BoostedClassifier, BoostedRegressor)
#: Settings of an estimator that do not change its model, and the one a sweep sets.
WITHOUT_EFFECT = ("strength", "callback", "progress", "n_jobs", "warm_start", "verbose")


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The checked inputs of a sweep.

    Parameters
    ----------
    estimator : estimator
        As given.
    rows : Rows
        All rows to learn from.
    eval_set, test_set : Rows, optional
    settings : mapping
        Threshold, effects (options of `estimate_effects`; None leaves the direct effect out), and
        how the rows are split and encoded.
    fit_rows : array of int
        Rows the estimator is fitted on; a booster holds some of them out itself.
    train_rows, validation_rows : array of int
        Rows of the training measures, and rows to choose by; None if ``eval_set`` is given.
    folds : tuple of pairs of arrays
        With ``cv``, the rows to fit on and to score in each fold.
    """

    estimator: Any
    rows: Rows = field(repr=False)
    eval_set: Rows | None = field(repr=False)
    test_set: Rows | None = field(repr=False)
    settings: Mapping[str, Any]
    fit_rows: Index = field(repr=False)
    train_rows: Index = field(repr=False)
    validation_rows: Index | None = field(default=None, repr=False)
    folds: tuple[tuple[Index, Index], ...] = field(default=(), repr=False)

    def encoded(self, rows: Rows) -> Rows:
        """Return rows with their table as the estimator takes it."""
        return rows.with_table((self.settings["encode"] or as_given)(rows.X))

    def as_trained(self, rows: Rows) -> Rows:
        """Return rows with numbers in the units that the kept model trains in; labels stay."""
        if rows.outcome.is_label:
            return rows
        trained = in_training_units(some_rows(self.rows, self.fit_rows), self.estimator).outcome
        return replace(rows, outcome=rows.outcome.in_units(trained.origin, trained.unit))

    def parts(self) -> Iterator[tuple[str, Rows, Index | None]]:
        """Yield each part by name, with the rows it is taken from, and which of them; None: all."""
        yield "train", self.rows, self.train_rows
        if self.eval_set is None:
            yield "validation", self.rows, self.validation_rows
        else:
            yield "validation", self.eval_set, None
        if self.test_set is not None:
            yield "test", self.test_set, None

    def fingerprint(self) -> dict[str, Any]:
        """Return settings and hashes of the data: a store continues only if they are the same.

        There is none of the sensitive attribute, whose values could be guessed from it.
        """
        estimator = describe(self.estimator)
        versions = versions_of(engine_of(self.estimator))
        return {
            "estimator": {k: v for k, v in estimator.items() if k not in WITHOUT_EFFECT},
            "settings": describe(self.settings),
            "data": {
                "rows": len(self.rows),
                "training rows": hash_rows(self.rows),
                "eval_set": None if self.eval_set is None else hash_rows(self.eval_set),
                "test_set": None if self.test_set is None else hash_rows(self.test_set),
            },
            "versions": {name: v for name, v in versions.items() if name != "python"},
        }


def check_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    eval_set: Any = None,
    test_set: Any = None,
    cv: int | None = None,
    validation_fraction: float = 0.33,
    effects: Any = True,
    threshold: float = 0.5,
    encode: Callable[[Any], Any] | None = None,
    random_state: int = 0,
) -> Inputs:
    """Check the inputs of a sweep, and split the rows."""
    check_estimator(estimator)
    if cv is not None:
        check_integer(cv, "cv", at_least=2)
        if eval_set is not None:
            raise ValueError("cv chooses by every row in turn; give either cv or eval_set")
    settings = {
        "threshold": check_number(threshold, "threshold", above=0, below=1),
        "effects": _effect_options(effects, random_state),
        "cv": cv,
        "encode": encode,
        "random_state": check_integer(random_state, "random_state", at_least=0),
        "validation_fraction": check_number(
            validation_fraction, "validation_fraction", above=0, below=1
        ),
    }
    rows = Rows.check(
        check_table(X),
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=getattr(estimator, "groups", None),
        read_outcome=_reader(estimator, exposure),
    )
    _check_folds(cv, rows)
    eval_rows, test_rows = (
        None if given is None else check_other_rows(given, name, rows)
        for name, given in (("eval_set", eval_set), ("test_set", test_set))
    )
    whole = np.arange(len(rows))
    inputs = Inputs(
        estimator=estimator, rows=rows, eval_set=eval_rows, test_set=test_rows, settings=settings,
        fit_rows=whole, train_rows=whole,
    )  # fmt: skip
    inputs = inputs if eval_rows is not None else _split(inputs)
    _check_fitted(inputs)
    return inputs


def _effect_options(effects: Any, seed: int) -> dict[str, Any] | None:
    """Return the options of `estimate_effects`, None where the direct effect is left out."""
    if effects is False or effects is None:
        return None
    return {"random_state": seed, **(effects if isinstance(effects, Mapping) else {})}


def _reader(estimator: Any, exposure: Any) -> Callable[[Any, int], Outcome]:
    """Return what reads the outcome: labels of a classifier, or numbers of a loss."""
    loss = loss_of(estimator)
    if loss is not None:
        return partial(Outcome.numbers, loss=loss, exposure=exposure)
    if exposure is not None:
        raise ValueError(
            f"exposure is for counts and amounts, and a {type(estimator).__name__} takes labels; "
            "leave it out, or use a regressor such as FairXGBRegressor(loss='poisson')"
        )
    return Outcome.labels


def _check_fitted(inputs: Inputs) -> None:
    """Refuse a criterion of numbers that was fitted on other rows than the models will be."""
    fitted = isinstance(criterion_of(inputs.estimator), FittedCriterion)
    some = bool(inputs.folds) or len(inputs.fit_rows) < len(inputs.rows)
    if fitted and some and not inputs.rows.outcome.is_label:
        raise ValueError(
            "criterion is fitted, in units of all rows, but models are fitted on some of them: "
            "give the criterion itself, or eval_set"
        )


def _check_folds(cv: int | None, rows: Rows) -> None:
    """Raise unless every fold can have a row of each class and sensitive level."""
    fewest = int(np.bincount(rows.strata()).min())
    if cv is not None and cv > fewest:
        raise ValueError(
            f"cv={cv} asks for a row of each class and sensitive level in every fold; the rarest "
            f"of them has {fewest}: give a smaller cv"
        )


def _split(inputs: Inputs) -> Inputs:
    """Return the inputs with the rows to fit on and the rows to choose by."""
    rows, booster, settings = inputs.rows, inputs.estimator, inputs.settings
    seed = settings["random_state"]
    if settings["cv"] is not None:
        folds = PredefinedSplit(fold_numbers(rows.X, rows.strata(), settings["cv"], seed))
        return replace(inputs, folds=tuple(folds.split()), validation_rows=inputs.fit_rows)
    if isinstance(booster, BOOSTERS):
        check_booster(booster)
        train, held = hold_out_rows(
            inputs.encoded(inputs.as_trained(rows)),
            booster.validation_fraction,
            booster.random_state,
        )
        return replace(inputs, train_rows=train, validation_rows=held)
    train, held = hold_out_rows(rows, settings["validation_fraction"], seed)
    return replace(inputs, fit_rows=train, train_rows=train, validation_rows=held)


def fit_at(
    inputs: Inputs, criterion: Any, chosen: Index, *, holds_out: bool = True
) -> FittedCriterion | None:
    """Return a criterion at some of the rows, as the estimator's own fit on them has it.

    ``holds_out`` says whether an estimator that stops early holds out some of them. None if the
    estimator takes no criterion.
    """
    if criterion is None:
        return None
    if isinstance(criterion, FittedCriterion):
        return fit_criterion(criterion, inputs.rows).take(chosen)
    estimator = inputs.estimator
    rows = in_training_units(some_rows(inputs.rows, chosen), estimator)
    fitting = nuisance_fitting(estimator) if isinstance(estimator, BOOSTERS) else HERE
    if not holds_out or not hasattr(estimator, "validation_fraction"):
        return fit_criterion(criterion, rows, fitting=fitting)
    parts = hold_out_rows(
        inputs.encoded(rows), estimator.validation_fraction, estimator.random_state
    )
    return fit_held_out(criterion, None, rows, parts, fitting=fitting)


def some_rows(rows: Rows, chosen: Index) -> Rows:
    """Return these rows, without a copy if they are all there are."""
    return rows.take(chosen) if len(chosen) < len(rows) else rows


def check_estimator(estimator: Any) -> None:
    """Raise unless it is an estimator with a strength, and its criterion is one."""
    is_class = isinstance(estimator, type)
    known = not is_class and hasattr(estimator, "get_params")
    if not known or "strength" not in estimator.get_params(deep=False):
        shown = f"the class {estimator.__name__}" if is_class else type(estimator).__name__
        raise TypeError(
            f"estimator must be one with a strength, such as FairXGBClassifier(); got {shown}"
        )
    if isinstance(estimator, DirectEffectCorrector):
        corrector_criterion(estimator)  # raises if its settings make no sense
    criterion = criterion_of(estimator)
    if criterion is not None:
        choose_strength(criterion, None)  # raises if it is no criterion


def check_strengths(estimator: Any, strengths: Sequence[float] | None) -> tuple[float, ...]:
    """Return the strengths in increasing order, each once; the paper's where none are given."""
    criterion = criterion_of(estimator)
    full = criterion is None or criterion.allows_full_strength
    full = full or isinstance(estimator, DirectEffectCorrector)
    if strengths is None:
        return FULL_STRENGTHS if full else PENALTY_STRENGTHS
    limit = {"at_most": 1} if full else {"below": 1}
    distinct = {
        check_number(each, "each of strengths", at_least=0, **limit)
        for each in np.ravel(np.asarray(strengths, dtype=object))
    }
    if not distinct:
        raise ValueError("strengths is empty; give at least one")
    return tuple(sorted(distinct))


def engine_of(estimator: Any) -> str | None:
    """Return the engine if its models can be saved as folders of open files."""
    name = getattr(getattr(estimator, "engine", None), "name", None)
    return name if name in MODEL_FILES else None


# --- the fingerprint -----------------------------------------------------------------------------


def describe(value: Any) -> Any:
    """Return any setting as JSON: objects by class and settings, arrays by hash.

    Examples
    --------
    >>> from unsway import Parity
    >>> describe({"criterion": Parity(), "degrees": (1, 2)})
    {'criterion': {'class': 'Parity'}, 'degrees': [1, 2]}
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return hash_column(value)
    if isinstance(value, Mapping):
        return {str(key): describe(each) for key, each in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [describe(each) for each in value]
    if hasattr(value, "get_params"):
        settings = value.get_params(deep=False)
    elif is_dataclass(value):
        settings = {each.name: getattr(value, each.name) for each in fields(value)}
    else:
        return getattr(value, "__qualname__", type(value).__name__)
    return {"class": type(value).__name__, **describe(settings)}


def differences(before: Any, now: Any, key: str = "") -> list[str]:
    """Return a sentence for each difference between two fingerprints.

    An option that an older version did not have is no difference where it is off.

    Examples
    --------
    >>> differences({"rows": 3, "data": {"y": "a1"}}, {"rows": 4, "data": {"y": "b2"}})
    ['rows was 3 and is 4', 'data.y has other values']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return [
            sentence
            for name in dict.fromkeys([*before, *now])
            if name in before or now[name] is not False
            for sentence in differences(before.get(name), now.get(name), f"{key}.{name}".strip("."))
        ]
    if before == now:
        return []
    if key.startswith("data.") and isinstance(before, str) and isinstance(now, str):
        return [f"{key} has other values"]
    return [f"{key} was {_short(before)} and is {_short(now)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"


def hash_rows(rows: Rows) -> dict[str, Any]:
    """Return hashes of covariates, labels and weights."""
    return {
        "X": hash_table(rows.X),
        "y": hash_column(rows.outcome.as_given()),
        "sample_weight": None if rows.weights is None else hash_column(rows.weights),
    }


def hash_table(X: Any) -> str:
    """Return a hash of the names and values of a table's columns, rows in their order."""
    digest = sha256()
    for column in columns(X):
        digest.update(json.dumps(column.name).encode())
        digest.update(hash_column(column.values).encode())
    return digest.hexdigest()


def hash_column(values: Any) -> str:
    """Return a hash of the values of a column, rows in their order."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return sha256(np.ascontiguousarray(array, dtype=np.float64).tobytes()).hexdigest()
    return sha256("\0".join(map(str, array.tolist())).encode()).hexdigest()
