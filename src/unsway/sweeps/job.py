"""What a worker does: fit strengths one after the other, measure them, keep them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..criteria import FittedCriterion
from ..models.path import LinearPath, Path, strength_path
from ..rows import Rows
from ..tables import take
from .parts import Part
from .points import Point
from .store import Store

Outcome = tuple[Point, Any]


@dataclass(frozen=True)
class Job:
    """What a worker needs to fit and measure strengths; X is as the estimator takes it."""

    estimator: Any
    plain_criterion: Any
    rows: Rows = field(repr=False)
    fit_rows: Index = field(repr=False)
    eval_set: Rows | None = field(repr=False)
    folds: tuple[tuple[Index, Index], ...] = field(repr=False)
    fold_criteria: tuple[FittedCriterion | None, ...] = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    threshold: float
    store: Store | None
    finished: tuple[float, ...]

    def paths(self) -> tuple[Path, ...]:
        """Return the paths of all folds, and last that of the model to keep."""
        found = [
            self._path(rows, criterion)
            for (rows, _), criterion in zip(self.folds, self.fold_criteria, strict=True)
        ]
        for path in found:
            if isinstance(path, LinearPath):
                path.warm = False  # what earlier runs found in a fold is not kept
        last = self._path(self.fit_rows, None, self.eval_set)
        if isinstance(last, LinearPath) and self.store is not None:
            for strength in self.finished:
                saved = self.store.model(strength)
                assert saved.coefficients is not None  # noqa: S101
                last.know(strength, saved.coefficients, saved.intercept)
        return (*found, last)

    def _path(self, chosen: Index, criterion: Any, eval_set: Rows | None = None) -> Path:
        rows = self.rows.take(chosen) if len(chosen) < len(self.rows) else self.rows
        estimator = copy(self.estimator)
        if criterion is not None:
            estimator.criterion = criterion
        beside = None
        if eval_set is not None:
            beside = _as_given(eval_set)
        return strength_path(estimator, *_as_given(rows), eval_set=beside)

    def fit(self, paths: tuple[Path, ...], strength: float) -> Outcome:
        """Return a strength with its figures and its model, or with what went wrong."""
        started = time.perf_counter()
        try:
            held_out = self._out_of_fold(paths[:-1], strength)
            model = paths[-1].fit(strength)
            seconds = time.perf_counter() - started
            figures = {
                part.name: part.measure(
                    held_out
                    if held_out is not None and part.name == "validation"
                    else _scores(model, part.rows.X),
                    self.threshold,
                )
                for part in self.parts
            }
        except Exception as error:
            seconds = time.perf_counter() - started
            return Point(strength, seconds=seconds, error=f"{type(error).__name__}: {error}"), None
        if hasattr(model, "criterion"):
            model.criterion = self.plain_criterion  # the fitted one knows the rows
        rounds, trees = _length(model)
        return Point(strength, figures, rounds, trees, seconds), model

    def _out_of_fold(self, paths: Sequence[Path], strength: float) -> Floats | None:
        if not self.folds:
            return None
        scores = np.empty(len(self.rows))
        for path, (_, held) in zip(paths, self.folds, strict=True):
            scores[held] = _scores(path.fit(strength), take(self.rows.X, held))
        return scores

    def keep(self, outcome: Outcome) -> Outcome:
        """Write a strength to the store, if there is one; its model then lives there."""
        if self.store is None:
            return outcome
        return self.store.write(*outcome), None

    def block(self, strengths: Sequence[float]) -> tuple[list[Outcome], str | None]:
        """Return some strengths, one after the other on the same paths, and what these note."""
        paths = self.paths()
        found = [self.keep(self.fit(paths, strength)) for strength in strengths]
        return found, paths[-1].note


def _as_given(rows: Rows) -> tuple[Any, Any, Any, Any]:
    """Return covariates, labels, sensitive attribute and weights as an estimator's fit has them."""
    return rows.X, rows.outcome.as_given(), rows.groups.as_given(), rows.weights


def _scores(model: Any, X: Any) -> Floats:
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)


def _length(model: Any) -> tuple[int | None, int | None]:
    """Return the rounds a model took and the trees it kept, where it has any."""
    if hasattr(model, "best_iteration_"):
        return int(model.n_rounds_), int(model.best_iteration_)
    steps = getattr(model, "n_iter_", None)
    return (None if steps is None else int(np.ravel(steps)[0])), None
