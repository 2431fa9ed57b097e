"""Rows for the distributed tests, and people who share nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import numpy as np

from unsway import DirectEffect, FairXGBClassifier, Parity, Schedule
from unsway.core.penalty import identity

#: Settings that end quickly.
QUICK: dict[str, Any] = {
    "params": {"eta": 0.3, "max_depth": 3},
    "schedule": Schedule(ramp_steps=5, patience=5, max_steps=40),
    "n_jobs": 1,
}


class LonelyParity(Parity):
    """Parity whose sums over workers are left out: what a forgotten reduction does."""

    def objective(self, *given: Any, reduce: Any = None) -> Any:
        objective = super().objective(*given, reduce=reduce)
        return replace(objective, penalty=replace(objective.penalty, reduce=identity))


CRITERIA = {
    "parity": Parity(),
    "direct effect": DirectEffect(),
    "curves": DirectEffect(5, 4, norm="function", basis="spline", base_rate="fair"),
    "one-sided": DirectEffect(form="paper"),
    "fair target": None,
    "lonely": LonelyParity(),
}


def coarse_people(n_rows: int = 4_000, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return X, y and z; columns of X have fewer values than XGBoost has bins, rows differ."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    X = rng.integers(0, 40, (n_rows, 6)).astype(float)
    X[:, 0] += 8 * z
    margin = (X[:, :3] - 20) @ [0.06, 0.05, -0.04] + 1.2 * (z - 0.5)
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-margin))).astype(int)
    return X, y, z


def quick_model(criterion: str, **more: Any) -> FairXGBClassifier:
    return FairXGBClassifier(CRITERIA[criterion], **{**QUICK, **more})


def in_threads(size: int, work: Callable[[int, Callable[[Any], Any]], Any]) -> list[Any]:
    """Return work(rank, reduce) of several threads, whose reduce adds up what all hand in."""
    barrier, shared, found = Barrier(size), [None] * size, [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        def reduce(array: Any) -> Any:
            shared[rank] = array
            barrier.wait(timeout=20)
            total = sum(shared[1:], np.array(shared[0], dtype=float))
            barrier.wait(timeout=20)
            return total

        try:
            found[rank] = work(rank, reduce)
        except BaseException as error:  # so that the test sees it
            errors.append(error)
            barrier.abort()

    threads = [Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found
