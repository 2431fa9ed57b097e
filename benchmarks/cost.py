"""What a whole default fit costs, in plain fits of XGBoost on the same rows, and its peak memory.

Plain XGBoost, the default with one model, the default as it is and strength 0 take turns. Plain
XGBoost has the rows in the order in which all are trained on here, in which strength 0 grows the
same trees: another order moves the bins, and with them the rounds by up to a sixth. Times are CPU
seconds of one thread; peak memory is that of a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from booster import HELD_OUT, PARAMS, PATIENCE, matrices
from tables import append_table, write_table
from threadpoolctl import threadpool_limits

from unsway import FairTarget, FairXGBClassifier, make_world
from unsway.folds import hold_out
from unsway.rows import Rows

#: World, rows, depth, learning rate, times measured.
CASES = (
    ("paper", 50_000, 2, 0.1, 5),
    ("adult", 50_000, 2, 0.1, 5),
    ("imbalanced", 50_000, 2, 0.1, 5),
    ("paper", 100_000, 6, 0.1, 5),
    ("varying_effect", 100_000, 6, 0.1, 5),
    ("adult", 100_000, 6, 0.05, 5),
    ("paper", 1_000_000, 6, 0.1, 1),
)
MEMORY_ROWS, COLUMNS, MEMORY_ROUNDS = 1_000_000, 20, 20


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of some work, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure(world: str, n: int, depth: int, eta: float, times: int) -> tuple[str, ...]:
    """Return a row of the table: medians over several rounds of all four fits in turn."""
    data = make_world(world, n, random_state=0)
    order = Rows.check(data.X, data.y, sensitive_features=data.z).order
    X, y, z = data.X[order], data.y[order], data.z[order]
    held = hold_out(X, y + 2.0 * z, HELD_OUT, order=np.arange(n))
    params = {"eta": eta, "max_depth": depth}

    def plain() -> Any:
        train, stop = matrices(X, y, np.ones(n), held)
        return xgboost.train(
            {**PARAMS, **params, "eval_metric": "logloss"}, train, 10_000,
            evals=[(stop, "stop")], early_stopping_rounds=PATIENCE, verbose_eval=False,
        )  # fmt: skip

    def fair(criterion: FairTarget, strength: float | None = None) -> Any:
        model = FairXGBClassifier(criterion, strength, params=params, n_jobs=1)
        return model.fit(data.X, data.y, sensitive_features=data.z)

    found = []
    for _ in range(times):
        base, booster = seconds(plain)
        one, single = seconds(lambda: fair(FairTarget(smoothing=0)))
        two, auto = seconds(lambda: fair(FairTarget()))
        none, same = seconds(lambda: fair(FairTarget(), 0.0))
        rounds = booster.num_boosted_rounds(), single.n_rounds_, auto.n_rounds_, same.n_rounds_
        found.append((base, one / base, two / base, none / base, *rounds))
    medians = np.median(found, axis=0)
    base, *ratios = medians[:4]
    return (
        f"{world}, {n:,} rows, depth {depth}, η {eta}",
        f"{base:.2f}",
        *(f"{ratio:.2f}" for ratio in ratios),
        " / ".join(f"{each:.0f}" for each in medians[4:]),
    )


def peak(kind: str) -> float:
    """Return the peak memory of one kind of fit in MB, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", kind], check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout.split()[-1])


def fit_for_memory(kind: str) -> None:
    """Fit on many rows, and print the peak memory of this process in MB."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MEMORY_ROWS, COLUMNS))
    z = (rng.random(MEMORY_ROWS) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    y = (rng.random(MEMORY_ROWS) < 1 / (1 + np.exp(-X[:, 1] - z))).astype(int)
    params = {**PARAMS, "max_depth": 6}
    if kind == "plain":
        train, stop = matrices(X, y, np.ones(MEMORY_ROWS), rng.random(MEMORY_ROWS) < HELD_OUT)
        xgboost.train(params, train, MEMORY_ROUNDS, evals=[(stop, "stop")], verbose_eval=False)
    else:
        FairXGBClassifier(params={"eta": 0.1, "max_depth": 6}, n_jobs=1).fit(
            X, y, sensitive_features=z
        )
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measure, and write the page beside this script."""
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--memory"]:
        fit_for_memory(sys.argv[2])
        return
    with threadpool_limits(1):
        measure("paper", 2_000, 2, 0.1, 1)  # warm
        rows = [measure(*case) for case in CASES]
    path = Path(__file__).with_suffix(".md")
    write_table(
        path,
        "Cost of a whole default fit",
        (
            "CPU seconds of one thread over those of plain XGBoost on the same rows in the same "
            "order with the same parameters and patience; medians of fits in turn. `one model` is "
            "`FairTarget(smoothing=0)`, `default` may train a second model. Rounds: plain, one "
            "model, default (of the model that is kept), strength 0.",
        ),
        ("fit", "plain, s", "one model", "default", "strength 0", "rounds"),
        rows,
        ("unsway", "xgboost-cpu", "numpy"),
    )
    memory = {kind: peak(kind) for kind in ("plain", "default")}
    append_table(
        path,
        "Peak memory",
        f"{MEMORY_ROWS:,} rows, {COLUMNS} columns, the whole process with its rows, MB.",
        ("plain XGBoost", "default"),
        [tuple(f"{memory[kind]:.0f}" for kind in memory)],
    )


if __name__ == "__main__":
    main()
