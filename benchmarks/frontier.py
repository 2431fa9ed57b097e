"""What forty strengths cost: one sweep beside forty fits, and beside fairlearn's grid of forty.

Everything runs on one thread and is timed in CPU seconds: on an idle machine they are seconds, and
on a busy one they still compare. ``frontier.py --grid in.npz`` is run by the interpreter of
.venv-peers, which has fairlearn, and prints the CPU seconds of its `GridSearch`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from booster import DEPTH, ETA, HELD_OUT, Booster
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
PEERS_PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
STRENGTHS = tuple(round(0.025 * k, 3) for k in range(40))


def cpu_seconds(task: Callable[[], object]) -> float:
    """Return the CPU seconds of a task."""
    started = time.process_time()
    task()
    return time.process_time() - started


def grid_of_peers(path: str) -> None:
    """Print the CPU seconds of fairlearn's GridSearch with as many points, on the same booster."""
    from fairlearn.reductions import DemographicParity, GridSearch

    data = np.load(path)
    model = GridSearch(Booster(data["held"]), DemographicParity(), grid_size=int(data["points"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(cpu_seconds(lambda: model.fit(data["X"], data["y"], sensitive_features=data["z"])))


def booster_rows(data: Any, strengths: tuple[float, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the cost of a sweep of boosters beside independent fits and fairlearn's grid."""
    from sklearn.base import clone

    from unsway import DirectEffect, FairXGBClassifier
    from unsway.folds import hold_out
    from unsway.rows import Rows
    from unsway.sweeps import frontier

    X, y, z = data
    params = {"eta": ETA, "max_depth": DEPTH}
    model = FairXGBClassifier(DirectEffect(), params=params, n_jobs=1)
    criterion: list[Any] = []
    rows = Rows.check(X, y, sensitive_features=z)
    fitting = cpu_seconds(lambda: criterion.append(DirectEffect().fit(rows)))
    shared = FairXGBClassifier(criterion[0], params=params, n_jobs=1)
    sweep, with_criterion = (
        cpu_seconds(
            lambda each=each: frontier(
                each, X, y, sensitive_features=z, strengths=strengths, effects=False
            )
        )
        for each in (model, shared)
    )
    alone = sum(
        cpu_seconds(
            lambda s=s: clone(shared).set_params(strength=s).fit(X, y, sensitive_features=z)
        )
        for s in strengths
    )
    number = len(strengths)
    yield _row(f"{number} XGBoost strengths", sweep, f"{number} fits", alone + number * fitting)
    yield _row(
        f"{number} XGBoost strengths, one propensity given to both",
        with_criterion,
        f"{number} fits",
        alone,
    )
    if PEERS_PYTHON.exists():
        held = hold_out(X, y + 2.0 * z, HELD_OUT)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "in.npz"
            np.savez(path, X=X, y=y, z=z, held=held, points=number)
            command = [str(PEERS_PYTHON), str(HERE / "frontier.py"), "--grid", str(path)]
            done = subprocess.run(
                command, env=os.environ, check=True, stdout=subprocess.PIPE, text=True
            )
        grid = float(done.stdout.split()[-1])
        yield _row(f"{number} XGBoost strengths", sweep, f"fairlearn GridSearch, {number}", grid)


def logistic_rows(data: Any, strengths: tuple[float, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the cost of a sweep of logistic regressions beside single fits, on the same rows."""
    from unsway import DirectEffect, FairLogisticRegression
    from unsway.rows import Rows
    from unsway.sweeps import frontier

    X, y, z = data
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    few = np.arange(0, len(y), 10)
    beside = (X[few], y[few], z[few])
    fitted = DirectEffect().fit(Rows.check(X, y, sensitive_features=z))
    for name, criterion in (("", DirectEffect()), (", one propensity given to both", fitted)):
        model = FairLogisticRegression(criterion, l2=1e-4)
        pairs = []
        for _ in range(3):
            sweep = cpu_seconds(
                lambda model=model: frontier(
                    model, X, y, sensitive_features=z, strengths=strengths, effects=False,
                    eval_set=beside,
                )
            )  # fmt: skip
            single = cpu_seconds(
                lambda criterion=criterion: FairLogisticRegression(criterion, 0.9, l2=1e-4).fit(
                    X, y, sensitive_features=z
                )
            )
            pairs.append((sweep, single))
        sweep, single = sorted(pairs, key=lambda pair: pair[0] / pair[1])[1]
        yield _row(f"{len(strengths)} logistic strengths{name}", sweep, "one fit", single)


def _row(task: str, seconds: float, beside: str, other: float) -> tuple[str, ...]:
    return task, f"{seconds:.1f}", beside, f"{other:.1f}", f"{seconds / other:.2f}"


def main() -> None:
    """Run the benchmark and write its table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grid", help="what the peers' interpreter is asked to do")
    parser.add_argument("--quick", action="store_true", help="few strengths, few rows; no page")
    chosen = parser.parse_args()
    if chosen.grid:
        grid_of_peers(chosen.grid)
        return
    from tables import write_table

    from unsway.datasets import load_adult

    warnings.simplefilter("ignore")
    adult = load_adult("train")
    data = adult.to_matrix()[0], adult.y, adult.z
    strengths = STRENGTHS
    if chosen.quick:
        data, strengths = tuple(each[:3_000] for each in data), STRENGTHS[::8]
    rows = [*booster_rows(data, strengths), *logistic_rows(data, strengths)]
    path = Path(tempfile.mkdtemp()) / "frontier.md" if chosen.quick else HERE / "frontier.md"
    write_table(
        path,
        "Forty strengths",
        (
            "Adult, training rows; CPU seconds on one thread. A sweep checks and quantises the "
            "rows, fits the propensity and pre-trains once, and measures every model; the fits "
            "beside it are independent, each with a propensity of its own (timed once and counted "
            "as often) unless one is given to both. The logistic rows are medians of three.",
        ),
        ("task", "seconds", "beside", "seconds", "ratio"),
        rows,
        ("unsway", "xgboost-cpu", "scikit-learn", "numpy"),
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
