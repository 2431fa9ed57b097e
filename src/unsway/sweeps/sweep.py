"""Every strength of an estimator in one call: shared work done once, finished work kept."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .._typing import Floats, Index
from ..criteria import FittedCriterion
from ..models.labels import criterion_of
from ..models.logistic import FairLogisticRegression
from ..models.path import QUARTERS, LinearPath, Path, strength_path
from ..models.regression import scores_of
from ..rows import Rows
from ..tables import take
from .inputs import Inputs, check_inputs, check_strengths, engine_of, fit_at, some_rows
from .level_judge import judge_rows
from .measures import Part, Point
from .paired import ScoresOf
from .result import Frontier
from .same_rows import refuse_other_groups
from .store import Store

#: A strength, its model where there is one and no store keeps it, and scores out of fold by part.
Fitted = tuple[Point, Any, dict[str, Floats]]
#: Called with a finished strength, how many are finished and how many there are in all.
Callback = Callable[[Point, int, int], None]


def frontier(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strengths: Sequence[float] | None = None,
    sample_weight: Any = None,
    exposure: Any = None,
    eval_set: tuple[Any, ...] | None = None,
    test_set: tuple[Any, ...] | None = None,
    cv: int | None = None,
    validation_fraction: float = 0.33,
    effects: bool | Mapping[str, Any] = True,
    threshold: float = 0.5,
    encode: Callable[[Any], Any] | None = None,
    store: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    random_state: int = 0,
) -> Frontier:
    """Fit an estimator at many strengths, and measure quality and fairness of each.

    The criterion is fitted once (once per fold). Boosters share the pre-training of all strengths
    above .3 and give the same models as independent fits; a logistic regression starts each
    strength from the one below.

    Parameters
    ----------
    estimator : classifier or regressor with a ``strength``
        Such as `FairXGBClassifier` or `FairXGBRegressor`; its own strength is not used.
    X, y, sensitive_features, sample_weight, exposure
        The rows, as for the estimator's ``fit``; only regressors take an exposure.
    strengths : sequence of float, default=None
        λ. By default 0 to 1 by .05 where 1 is allowed, else, as in the paper, 0 to .975 by .025.
    eval_set, test_set : tuple (X, y, sensitive_features[, sample_weight[, exposure]]), default=None
        Rows to choose a strength by, and rows to judge the chosen one by. By default a booster's
        own hold-out serves to choose, and other estimators leave out ``validation_fraction`` of
        the rows; there are no test rows unless they are given.
    cv : int, default=None
        Choose by the out-of-fold scores of this many folds. The models are fitted on all rows.
    validation_fraction : float, default=0.33
        Share of the rows to choose by.
    effects : bool or mapping, default=True
        Whether to estimate the direct effect left on validation and test rows, or options for
        `estimate_effects`.
    threshold : float, default=0.5
        A row is selected when its score exceeds it; predictions of numbers select nobody.
    encode : callable, default=None
        Turns X into what the estimator takes, such as one-hot columns for a linear model; the
        criterion and the effects see X as it is.
    store : path, default=None
        Folder that keeps every finished strength; the same call continues from it.
    n_jobs : int, default=None
        Workers, through joblib: its backends (processes, threads, Dask) are chosen with
        ``joblib.parallel_config``. Each takes a block of strengths.
    callback : callable, default=None
        Called with a finished `Point`, how many are finished and how many there are in all. With
        several workers it is called for a block when the whole block is done.
    random_state : int, default=0
        Seed of the splits and of the effects.

    Returns
    -------
    Frontier
        The strengths with their measures, and the fitted models.

    Examples
    --------
    >>> from unsway import FairLogisticRegression, Parity, make_synthetic
    >>> people = make_synthetic(2_000, random_state=0)
    >>> found = frontier(
    ...     FairLogisticRegression(Parity()),
    ...     people.X,
    ...     people.y,
    ...     sensitive_features=people.z,
    ...     strengths=[0, 0.5, 0.9],
    ...     effects=False,
    ... )
    >>> gaps = [point.value("score_gap", "validation") for point in found.points]
    >>> gaps[0] > gaps[1] > gaps[2]
    True
    """
    inputs = check_inputs(
        estimator,
        X,
        y,
        sensitive_features,
        sample_weight=sample_weight,
        exposure=exposure,
        eval_set=eval_set,
        test_set=test_set,
        cv=cv,
        validation_fraction=validation_fraction,
        effects=effects,
        threshold=threshold,
        encode=encode,
        random_state=random_state,
    )
    chosen = check_strengths(estimator, strengths)
    return Sweep(inputs, store).run(chosen, n_jobs, callback)


class Sweep:
    """A sweep with its inputs checked; criteria and effects are fitted when first needed."""

    def __init__(self, inputs: Inputs, store: Any = None) -> None:
        self.inputs = inputs
        self.fingerprint = inputs.fingerprint()
        self.store = None if store is None else Store.of(store)
        self.known: dict[float, Point] = {}
        self._models: dict[float, Any] = {}
        self._held_out: dict[float, dict[str, Floats]] = {}
        self._job: Job | None = None
        self._paths: tuple[Path, ...] = ()
        self._notes: list[str | None] = []
        if self.store is not None:
            if engine_of(inputs.estimator) is None:
                raise TypeError(
                    f"store: a {type(inputs.estimator).__name__} has no open format to be kept in; "
                    "leave store out, or use FairLogisticRegression, FairXGBClassifier or "
                    "FairLGBMClassifier"
                )
            self.store.open(self.fingerprint)
            kept = self.store.points()
            self.known = {s: point for s, point in kept.items() if not point.error}
            refuse_other_groups(inputs, self.store, self.known)

    def run(
        self,
        strengths: Sequence[float],
        n_jobs: int | None = None,
        callback: Callback | None = None,
    ) -> Frontier:
        """Fit the strengths that are missing or failed before, and return all that are known."""
        missing = [strength for strength in strengths if strength not in self.known]
        done = len(strengths) - len(missing)
        if missing and self.store is not None:
            self.store.check_writable()
        for point, model, held_out in self._fit(missing, n_jobs):
            self.known[point.strength] = point
            self._held_out[point.strength] = held_out
            if model is not None:
                self._models[point.strength] = model
            done += 1
            if callback is not None:
                callback(point, done, len(strengths))
        return self.result()

    def result(self) -> Frontier:
        """Return all strengths that were fitted here or that the store holds."""
        about = self._about()
        return Frontier(
            points=tuple(self.known[strength] for strength in sorted(self.known)),
            parts=about["parts"],
            notes=tuple(about["notes"]),
            fingerprint=self.fingerprint,
            store=None if self.store is None else self.store.path,
            models=dict(self._models),
        )

    def _fit(self, missing: Sequence[float], n_jobs: int | None) -> Iterator[Fitted]:
        """Yield each strength as it is finished, here or by a worker."""
        if not missing:
            return
        job = self._prepared()
        workers = min(effective_n_jobs(n_jobs), len(missing))
        if workers == 1:
            self._paths = self._paths or job.paths()  # their warm starts carry over to the next run
            for strength in missing:
                yield job.fit(self._paths, strength)
            self._notes.append(self._paths[-1].note)
            return
        warm = isinstance(job.inputs.estimator, FairLogisticRegression)
        tasks = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(job.fit_block)(block) for block in blocks_of(missing, workers, warm=warm)
        )
        for block, note in tasks:
            self._notes.append(note)
            yield from block

    def _prepared(self) -> Job:
        """Fit the criteria and estimate the effects, once."""
        if self._job is None:
            inputs, estimator = self.inputs, copy(self.inputs.estimator)
            given, criterion = getattr(estimator, "criterion", None), criterion_of(estimator)
            in_folds = [fit_at(inputs, criterion, rows) for rows, _ in inputs.folds]
            holds_out = inputs.eval_set is None
            fitted = fit_at(inputs, criterion, inputs.fit_rows, holds_out=holds_out)
            if fitted is not None:
                estimator.criterion = fitted
            self._job = Job(
                inputs=replace(
                    inputs,
                    estimator=estimator,
                    rows=inputs.encoded(inputs.rows),
                    eval_set=None if inputs.eval_set is None else inputs.encoded(inputs.eval_set),
                    test_set=None,
                ),
                criterion=given.criterion if isinstance(given, FittedCriterion) else given,
                fold_criteria=tuple(in_folds),
                parts=tuple(self._parts(fitted)),
                store=self.store,
                finished=tuple(self.known),
            )
        return self._job

    def _parts(self, fitted: FittedCriterion | None) -> Iterator[Part]:
        """Yield training, validation and test rows with their objectives and effects."""
        inputs, effects = self.inputs, self.inputs.settings["effects"]
        for name, rows, chosen in inputs.parts():
            here = rows if chosen is None else rows.take(chosen)
            objective = judge = None
            if fitted is not None:
                here = inputs.as_trained(here)
                objective = self._criterion_at(fitted, here, chosen).objective(here)
            if name != "train" and effects is not None:  # of the labels: on all rows there are
                places = None if inputs.folds else chosen
                judge, note = judge_rows(rows, effects, name, places)
                self._notes.append(note)
            yield Part(name=name, rows=inputs.encoded(here), objective=objective, judge=judge)

    def _criterion_at(self, fitted: Any, here: Rows, chosen: Index | None) -> FittedCriterion:
        """Return the criterion at a part: its cross-fitted values if it was fitted on the rows."""
        given, fit_rows = self.inputs.estimator.criterion, self.inputs.fit_rows
        if chosen is not None and isinstance(given, FittedCriterion):
            return given.take(chosen)
        if chosen is not None and np.isin(chosen, fit_rows).all():
            return fitted.take(np.searchsorted(fit_rows, chosen))
        return fitted.at(here.X)

    def _about(self) -> dict[str, Any]:
        """Return notes and facts; from the store if there was nothing left to do."""
        kept = None if self.store is None else self.store.about()
        if kept is not None and self._job is None:
            return kept
        parts = {part.name: part.describe() for part in self._prepared().parts}
        found = ScoresOf(self.inputs, self.store, self._models, self._held_out)
        for part in self._prepared().parts:
            earlier = (kept or {}).get("parts", {}).get(part.name, {})
            parts[part.name] |= found.compare(part, self.known, earlier)
        about = {"notes": list(dict.fromkeys(filter(None, self._notes))), "parts": parts}
        if self.store is not None:
            self.store.write_about(about)
        return about


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a worker needs to fit, measure and keep strengths.

    Parameters
    ----------
    inputs : Inputs
        With X as the estimator takes it, and the estimator with its fitted criterion.
    criterion : Criterion
        The criterion before it was fitted, for the models: a fitted one holds the rows.
    fold_criteria : tuple of FittedCriterion or None
        By fold.
    parts : tuple of Part
    store : Store, optional
    finished : tuple of float
        The strengths in the store, from which others start.
    """

    inputs: Inputs
    criterion: Any
    fold_criteria: tuple[FittedCriterion | None, ...] = field(repr=False)
    parts: tuple[Part, ...]
    store: Store | None
    finished: tuple[float, ...]

    def paths(self) -> tuple[Path, ...]:
        """Return the paths of all folds, and last that of the model to keep."""
        pairs = zip(self.inputs.folds, self.fold_criteria, strict=True)
        in_folds = [self._path(rows, criterion) for (rows, _), criterion in pairs]
        for path in in_folds:
            if isinstance(path, LinearPath):
                path.warm = False  # what earlier runs found in a fold is not kept
        last = self._path(self.inputs.fit_rows, None, self.inputs.eval_set)
        if isinstance(last, LinearPath) and self.store is not None:
            for strength in self.finished:
                saved = self.store.model(strength)
                assert saved.coefficients is not None  # noqa: S101
                last.know(strength, saved.coefficients, float(saved.intercept))
        return (*in_folds, last)

    def _path(self, chosen: Index, criterion: Any, eval_set: Rows | None = None) -> Path:
        estimator = copy(self.inputs.estimator)
        if criterion is not None:
            estimator.criterion = criterion
        others = None if eval_set is None else _as_given(eval_set)
        rows = _as_given(some_rows(self.inputs.rows, chosen))
        return strength_path(estimator, *rows, eval_set=others)

    def fit_block(self, strengths: Sequence[float]) -> tuple[list[Fitted], str | None]:
        """Return some strengths, one after the other on the same paths, and what these note."""
        paths = self.paths()
        return [self.fit(paths, strength) for strength in strengths], paths[-1].note

    def fit(self, paths: tuple[Path, ...], strength: float) -> Fitted:
        """Return a strength with its model, or with what went wrong; a store keeps the model."""
        point, model, held_out = self._fit(paths, strength)
        if self.store is None:
            return point, model, held_out
        return self.store.write(point, model), None, held_out

    def _fit(self, paths: tuple[Path, ...], strength: float) -> Fitted:
        started = time.perf_counter()
        try:
            held_out = self._out_of_fold(paths[:-1], strength)
            model = paths[-1].fit(strength)
            seconds = time.perf_counter() - started
            measures = {}
            for part in self.parts:
                known = part.name in held_out
                scores = held_out[part.name] if known else scores_of(model, part.rows.X)
                measures[part.name] = part.measure(scores, self.inputs.settings["threshold"])
        except Exception as error:
            seconds, message = time.perf_counter() - started, f"{type(error).__name__}: {error}"
            return Point(strength=strength, seconds=seconds, error=message), None, {}
        if hasattr(model, "criterion"):
            model.criterion = self.criterion
        if self.inputs.rows.outcome.per is not None:
            model.per_exposure_ = True  # it was fitted on rates, and weights that have the exposure
        point = Point(strength=strength, parts=measures, seconds=seconds, **_length(model))
        return point, model, held_out

    def _out_of_fold(self, paths: Sequence[Path], strength: float) -> dict[str, Floats]:
        """Return the out-of-fold scores of the rows to choose by, where there are folds."""
        rows = self.inputs.rows
        scores = np.empty(len(rows))
        for path, (_, held) in zip(paths, self.inputs.folds, strict=True):
            scores[held] = scores_of(path.fit(strength), take(rows.X, held))
        return {"validation": scores} if paths else {}


def blocks_of(strengths: Sequence[float], workers: int, *, warm: bool) -> list[list[float]]:
    """Return blocks of strengths: quarters where each starts from the one below, else interleaved.

    Examples
    --------
    >>> blocks_of([0, 0.2, 0.4, 0.6], 2, warm=False), blocks_of([0, 0.2, 0.4, 0.6], 2, warm=True)
    ([[0, 0.4], [0.2, 0.6]], [[0, 0.2], [0.4], [0.6]])
    """
    if not warm:
        return [list(strengths[start::workers]) for start in range(workers)]
    return [list(block) for _, block in groupby(strengths, partial(bisect_right, QUARTERS))]


def _as_given(rows: Rows) -> tuple[Any, Any, Any, Any]:
    """Return covariates, labels, sensitive attribute and weights as an estimator's fit has them."""
    return rows.X, rows.outcome.as_given(), rows.groups.as_given(), rows.weights


def _length(model: Any) -> dict[str, Any]:
    """Return the rounds a model took and the trees it kept, where it has any."""
    if hasattr(model, "best_iteration_"):
        return {"rounds": int(model.n_rounds_), "trees": int(model.best_iteration_)}
    return {"rounds": int(np.ravel(model.n_iter_)[0])} if hasattr(model, "n_iter_") else {}
