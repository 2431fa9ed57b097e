"""Every strength of an estimator in one call: shared work done once, finished work kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from .._typing import Index
from ..criteria import FittedCriterion, fit_criterion
from ..models.logistic import FairLogisticRegression
from ..models.path import QUARTERS, Path
from ..rows import Rows
from .inputs import (
    Inputs,
    check_inputs,
    check_strengths,
    criterion_of,
    engine_of,
    shareable,
)
from .job import Job, Outcome
from .parts import Part, judge_of
from .points import Point
from .result import Frontier
from .store import Store


def frontier(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strengths: Sequence[float] | None = None,
    sample_weight: Any = None,
    eval_set: tuple[Any, ...] | None = None,
    test_set: tuple[Any, ...] | None = None,
    cv: int | None = None,
    validation_fraction: float = 0.25,
    effects: bool | Mapping[str, Any] = True,
    threshold: float = 0.5,
    encode: Callable[[Any], Any] | None = None,
    store: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Point, int, int], None] | None = None,
    random_state: int = 0,
) -> Frontier:
    """Fit an estimator at many strengths, and measure what each costs and what it leaves.

    The criterion is fitted once (once per fold). Boosters share the pre-training of all strengths
    above .3 and give the very models of independent fits; a logistic regression starts each
    strength from the one below.

    Parameters
    ----------
    estimator : classifier with a ``strength``
        Such as `FairXGBClassifier`; its own strength is not used.
    X, y, sensitive_features, sample_weight
        The rows, as for the estimator's ``fit``.
    strengths : sequence of float, optional
        λ. For a penalty 0 to .975 by .025, as in the paper; where 1 is allowed, 0 to 1 by .05.
    eval_set, test_set : tuple (X, y, sensitive_features) or with a fourth, sample_weight
        Rows to choose a strength by, and rows to judge the chosen one by. By default a booster's
        own hold-out serves to choose, and other estimators leave out ``validation_fraction`` of
        the rows; there are no test rows unless they are given.
    cv : int, optional
        Choose by the out-of-fold scores of this many folds. The models are fitted on all rows.
    validation_fraction : float
        Share of the rows to choose by.
    effects : bool or mapping
        Whether to estimate the direct effect left on validation and test rows, or options for
        `estimate_effects`.
    threshold : float
        A row is selected when its score exceeds it.
    encode : callable, optional
        Turns X into what the estimator takes, such as one-hot columns for a linear model; the
        criterion and the effects see X as it is.
    store : path, optional
        Folder that keeps every finished strength; the same call goes on from it.
    n_jobs : int, optional
        Workers, through joblib: its backends (processes, threads, Dask) are chosen with
        ``joblib.parallel_config``. Each takes a block of strengths.
    callback : callable, optional
        Called with a finished `Point`, how many are finished and how many there are in all. With
        several workers it hears of a block when the whole block is done.
    random_state : int
        Seed of the splits and of the effects.

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
        eval_set=eval_set,
        test_set=test_set,
        cv=cv,
        validation_fraction=validation_fraction,
        effects=effects,
        threshold=threshold,
        encode=encode,
        random_state=random_state,
    )
    settings = {
        "validation_fraction": validation_fraction,
        "encode": encode,
        "random_state": random_state,
    }
    sweep = Sweep(inputs, inputs.fingerprint(settings), store)
    return sweep.run(check_strengths(estimator, strengths), n_jobs, callback)


class Sweep:
    """A sweep with its inputs checked; the costly preparations wait until a fit needs them."""

    def __init__(self, inputs: Inputs, fingerprint: Mapping[str, Any], store: Any = None) -> None:
        self.inputs = inputs
        self.fingerprint = fingerprint
        self.store = None if store is None else Store.of(store)
        self._job: Job | None = None
        self._paths: tuple[Path, ...] | None = None
        self._notes: tuple[str, ...] = ()
        self._models: dict[float, Any] = {}
        self.known: dict[float, Point] = {}
        if self.store is not None:
            if engine_of(inputs.estimator) is None:
                raise TypeError(
                    f"store: a {type(inputs.estimator).__name__} has no open format to be kept in; "
                    "leave store out, or use FairLogisticRegression, FairXGBClassifier or "
                    "FairLGBMClassifier"
                )
            self.store.open(fingerprint)
            self.known = {
                strength: point
                for strength, point in self.store.points().items()
                if not point.error  # what failed is tried again
            }

    def run(
        self,
        strengths: Sequence[float],
        n_jobs: int | None = None,
        callback: Callable[[Point, int, int], None] | None = None,
    ) -> Frontier:
        """Fit what is missing, and return all of it."""
        missing = [strength for strength in strengths if strength not in self.known]
        done = len(strengths) - len(missing)
        for point, model in self._outcomes(missing, n_jobs):
            self.known[point.strength] = point
            if model is not None:
                self._models[point.strength] = model
            done += 1
            if callback is not None:
                callback(point, done, len(strengths))
        return self.result(strengths)

    def result(self, strengths: Sequence[float]) -> Frontier:
        """Return these strengths, which are known, and what else the store holds."""
        more = set(self.known) if self.store is not None else set(strengths)
        about = self._about()
        return Frontier(
            points=tuple(self.known[strength] for strength in sorted({*more, *strengths})),
            parts=about["parts"],
            notes=tuple(about["notes"]),
            fingerprint=self.fingerprint,
            store=None if self.store is None else self.store.path,
            models=dict(self._models),
        )

    def _outcomes(self, missing: Sequence[float], n_jobs: int | None) -> Iterator[Outcome]:
        if not missing:
            return
        job = self.job()
        workers = min(effective_n_jobs(n_jobs), len(missing))
        if workers == 1:
            paths = self.paths()
            for strength in missing:
                yield job.keep(job.fit(paths, strength))
            self._note(paths[-1].note)
            return
        warm = isinstance(job.estimator, FairLogisticRegression)
        tasks = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(job.block)(block) for block in blocks_of(missing, workers, warm=warm)
        )
        for block, note in tasks:
            self._note(note)
            yield from block

    def paths(self) -> tuple[Path, ...]:
        """Return the paths of this process, which learn from one run to the next."""
        if self._paths is None:
            self._paths = self.job().paths()
        return self._paths

    def job(self) -> Job:
        """Fit the criteria and estimate the effects, once."""
        if self._job is None:
            self._job = self._prepare()
        return self._job

    def _prepare(self) -> Job:
        inputs, plain = self.inputs, getattr(self.inputs.estimator, "criterion", None)
        estimator, criterion = copy(inputs.estimator), criterion_of(inputs.estimator)
        share = shareable(criterion)
        folds = tuple(
            _fitted(criterion, inputs.rows, rows) if share else None for rows, _ in inputs.folds
        )
        fitted = _fitted(criterion, inputs.rows, inputs.fit_rows) if share else None
        if share:
            estimator.criterion = fitted
        if isinstance(criterion, FittedCriterion):
            plain = criterion.criterion
        return Job(
            estimator,
            plain,
            inputs.encoded(inputs.rows),
            inputs.fit_rows,
            None if inputs.eval_set is None else inputs.encoded(inputs.eval_set),
            inputs.folds,
            folds,
            self._parts(fitted, criterion),
            inputs.threshold,
            self.store,
            tuple(self.known),
        )

    def _parts(self, fitted: Any, criterion: Any) -> tuple[Part, ...]:
        """Return training, validation and test rows with what judges them."""
        inputs = self.inputs
        places: list[tuple[str, Rows, Index | None]] = [("train", inputs.rows, inputs.train_rows)]
        if inputs.eval_set is not None:
            places.append(("validation", inputs.eval_set, None))
        else:
            places.append(("validation", inputs.rows, inputs.validation_rows))
        if inputs.test_set is not None:
            places.append(("test", inputs.test_set, None))
        parts = []
        for name, rows, chosen in places:
            here = rows if chosen is None else rows.take(chosen)
            at = None
            if fitted is not None:
                at = _at(fitted, criterion, inputs.fit_rows, chosen, here)
            judge = None
            if (
                name != "train" and inputs.effects is not None
            ):  # of the labels: on all rows there are
                scored = None if inputs.folds else chosen
                judge, note = judge_of(rows, inputs.effects, name, scored)
                self._note(note)
            objective = None if at is None else at.objective(here)
            parts.append(Part(name, inputs.encoded(here), objective, judge))
        return tuple(parts)

    def _note(self, note: str | None) -> None:
        if note is not None and note not in self._notes:
            self._notes = (*self._notes, note)

    def _about(self) -> dict[str, Any]:
        """Return notes and facts; from the store if there was nothing left to do."""
        kept = None if self.store is None else self.store.about()
        if kept is not None and self._job is None:
            return kept
        about = {
            "notes": list(self._notes),
            "parts": {part.name: part.describe() for part in self.job().parts},
        }
        if self.store is not None:
            self.store.write_about(about)
        return about


def blocks_of(strengths: Sequence[float], workers: int, *, warm: bool) -> list[list[float]]:
    """Return blocks of strengths: quarters where each starts from the one below, else interleaved.

    Examples
    --------
    >>> blocks_of([0, 0.2, 0.4, 0.6], 2, warm=False), blocks_of([0, 0.2, 0.4, 0.6], 2, warm=True)
    ([[0, 0.4], [0.2, 0.6]], [[0, 0.2], [0.4], [0.6]])
    """
    if not warm:
        return [list(strengths[start::workers]) for start in range(workers)]
    quarters = np.searchsorted(QUARTERS, strengths, "right")
    return [
        [s for s, number in zip(strengths, quarters, strict=True) if number == quarter]
        for quarter in np.unique(quarters)
    ]


def _fitted(criterion: Any, rows: Rows, chosen: Index) -> FittedCriterion:
    """Return a criterion at some of the rows, fitted on them unless it was fitted before."""
    if isinstance(criterion, FittedCriterion):
        return fit_criterion(criterion, rows).take(chosen)
    here = rows.take(chosen) if len(chosen) < len(rows) else rows
    return fit_criterion(criterion, here)


def _at(
    fitted: FittedCriterion, given: Any, fit_rows: Index, chosen: Index | None, here: Rows
) -> FittedCriterion:
    """Return the criterion at a part: as it was cross-fitted if it knows the rows."""
    if chosen is None:
        return fitted.at(here.X)
    if isinstance(given, FittedCriterion):
        return given.take(chosen)
    places = np.searchsorted(fit_rows, chosen)
    places = np.minimum(places, len(fit_rows) - 1)
    known = fit_rows[places] == chosen
    return fitted.take(places) if known.all() else fitted.at(here.X)
