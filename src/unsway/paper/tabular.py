"""The paper's experiments on real tables: a sweep over λ, judged on test rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .. import DirectEffect, FairLogisticRegression, FairXGBClassifier, selection_rate_difference
from ..criteria import FittedCriterion
from ..datasets import TabularData
from ..rows import Rows

#: The paper's hyper-parameters of XGBoost.
PAPER_PARAMS = {"eta": 0.1, "max_depth": 2}

ENGINES = ("logistic", "xgboost")


@dataclass(frozen=True, kw_only=True)
class TabularPoint:
    """One model: its figures on the test rows, and its penalty on both.

    ``alpha`` and ``beta`` are the surrogate coefficients of its scores on the test rows, ``gamma``
    the target of alpha there.
    """

    engine: str
    setting: str
    strength: float
    accuracy: float
    precision: float
    spd: float
    penalty_train: float
    penalty_test: float
    alpha: list[float]
    beta: list[float]
    gamma: list[float]
    rounds: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TabularExperiment:
    """Every point of a sweep over engines, settings and strengths on one data set."""

    data: str
    points: tuple[TabularPoint, ...]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per point."""
        return [asdict(point) for point in self.points]

    def lines(self) -> dict[tuple[str, str], list[TabularPoint]]:
        """Return the points of each pair of engine and setting, by strength."""
        found: dict[tuple[str, str], list[TabularPoint]] = {}
        for point in self.points:
            found.setdefault((point.engine, point.setting), []).append(point)
        return found


@dataclass(frozen=True)
class Judge:
    """Turns a fitted model into a point."""

    engine: str
    setting: str
    train: tuple[Rows, FittedCriterion]
    test: tuple[Rows, FittedCriterion]
    threshold: float

    def __call__(self, model: Any, rounds: int, seconds: float) -> TabularPoint:
        """Return the model's figures."""
        (train, at_train), (test, at_test) = self.train, self.test
        p, p_train = (model.predict_proba(rows.X)[:, 1] for rows in (test, train))
        chosen = p > self.threshold
        design = at_test.criterion.design(test, at_test.row_values)
        scores = design.fit(p)
        return TabularPoint(
            engine=self.engine,
            setting=self.setting,
            strength=float(model.strength),
            accuracy=float(np.mean(chosen == test.y)),
            precision=float(test.y[chosen].mean()) if chosen.any() else float("nan"),
            spd=selection_rate_difference(
                test.y, p, sensitive_features=test.z, threshold=self.threshold
            ),
            penalty_train=float(at_train.penalty(train).value(p_train)),
            penalty_test=float(at_test.penalty(test).value(p)),
            alpha=scores.outcome_coefficients.tolist(),
            beta=scores.effect_coefficients.tolist(),
            gamma=design.fit(test.y).fair_coefficients.tolist(),
            rounds=rounds,
            seconds=seconds,
        )


def run_tabular(
    train: TabularData,
    test: TabularData,
    *,
    settings: Mapping[str, DirectEffect],
    engines: Sequence[str],
    strengths: Sequence[float],
    threshold: float = 0.5,
    random_state: int = 0,
    n_jobs: int = 1,
    on_point: Callable[[], None] | None = None,
) -> TabularExperiment:
    """Fit every engine at every setting and strength, and judge each model on the test rows.

    The propensity score is fitted once, on the training rows.

    Parameters
    ----------
    train, test : TabularData
        The rows.
    settings : mapping of str to DirectEffect
        The criteria by name.
    engines : sequence of {"logistic", "xgboost"}
        The engines.
    strengths : sequence of float
        The values of λ.
    threshold : float, default=0.5
        A row is selected when its score exceeds it.
    random_state : int, default=0
        Seed of the boosters.
    n_jobs : int, default=1
        Boosters trained at a time, a thread each.
    on_point : callable, default=None
        Called after each fitted model.

    Returns
    -------
    TabularExperiment
    """
    points, tick = [], on_point or (lambda: None)
    tables = [
        Rows.check(table.to_matrix()[0], table.y, sensitive_features=table.z)
        for table in (train, test)
    ]
    propensity = DirectEffect().fit(tables[0]).model
    parts = [(rows, propensity.predict(rows.X)) for rows in tables]
    for name, criterion in settings.items():
        at_train, at_test = ((rows, FittedCriterion(criterion, b, propensity)) for rows, b in parts)
        for engine in engines:
            judge = Judge(engine, name, at_train, at_test, threshold)
            sweep = _logistic_path if engine == "logistic" else _xgboost_fits
            for point in sweep(judge, sorted(strengths), random_state, n_jobs):
                points.append(point)
                tick()
    return TabularExperiment(data=train.name, points=tuple(points))


def _logistic_path(
    judge: Judge, strengths: Sequence[float], random_state: int, n_jobs: int
) -> Iterator[TabularPoint]:
    rows, criterion = judge.train
    start = time.perf_counter()
    path = FairLogisticRegression(criterion).fit_path(
        rows.X, rows.y, strengths, sensitive_features=rows.z
    )
    for model in path:
        yield judge(model, int(model.n_iter_[0]), time.perf_counter() - start)
        start = time.perf_counter()


def _xgboost_fits(
    judge: Judge, strengths: Sequence[float], random_state: int, n_jobs: int
) -> Iterator[TabularPoint]:
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_xgboost_point)(judge, strength, random_state) for strength in strengths
    )


def _xgboost_point(judge: Judge, strength: float, random_state: int) -> TabularPoint:
    rows, criterion = judge.train
    start = time.perf_counter()
    model = FairXGBClassifier(
        criterion, strength, params=PAPER_PARAMS, random_state=random_state, n_jobs=1
    )
    model.fit(rows.X, rows.y, sensitive_features=rows.z)
    return judge(model, model.n_rounds_, time.perf_counter() - start)
