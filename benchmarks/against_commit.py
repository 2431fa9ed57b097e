"""What a change costs: rounds and whole fits of this checkout beside those of another one.

``git worktree add ../before COMMIT``, then ``python benchmarks/against_commit.py ../before``. Two
processes, one for each checkout, prepare the same work and take turns, so that what the machine
does meanwhile meets both alike. Only public names that both have are used.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
REPEATS = 7
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def tasks() -> dict[str, Callable[[], object]]:
    """Return what is timed, by name, its data ready."""
    import numpy as np
    import xgboost

    from unsway import (
        FairLGBMClassifier,
        FairLogisticRegression,
        FairTarget,
        FairXGBClassifier,
        Parity,
        Schedule,
        estimate_effects,
        make_synthetic,
        xgboost_objective,
    )
    from unsway.datasets import load_adult

    many, some = make_synthetic(400_000, random_state=0), make_synthetic(20_000, random_state=1)
    adult = load_adult("train")
    table = adult.to_frame()
    target = FairTarget(max_extreme_share=1)
    rounds = Schedule(pretrain_patience=60, patience=60, ramp_steps=0, max_steps=60)
    objective = xgboost_objective(
        Parity(), many.X, many.y, sensitive_features=many.z, strength=0.9, learning_rate=0.1
    )
    matrix = xgboost.QuantileDMatrix(many.X, nthread=1)
    params = {"objective": "binary:logistic", "base_score": 0.5, "nthread": 1, "max_depth": 6}
    margin = np.zeros(len(many.y), np.float32)
    small = {"params": {"max_depth": 6, "learning_rate": 0.1}, "n_jobs": 1, "schedule": rounds}
    given = {"sensitive_features": some.z}
    return {
        "derivatives, parity, n=400,000": lambda: [objective(margin) for _ in range(10)],
        "20 rounds of XGBoost, parity, n=400,000": lambda: xgboost.train(
            params, matrix, 20, obj=objective
        ),
        "fit, XGBoost, parity, 60 rounds, n=20,000": lambda: FairXGBClassifier(
            Parity(), **small
        ).fit(some.X, some.y, **given),
        "fit, XGBoost, fair target, 60 rounds, n=20,000": lambda: FairXGBClassifier(
            target, **small
        ).fit(some.X, some.y, **given),
        "fit, LightGBM, fair target, 60 rounds, n=20,000": lambda: FairLGBMClassifier(
            target, **small
        ).fit(some.X, some.y, **given),
        "fit, XGBoost, strength 0, 60 rounds, Adult with categories": lambda: FairXGBClassifier(
            strength=0, **small
        ).fit(table, adult.y, sensitive_features=adult.z),
        "fit, logistic regression, fair target, n=20,000": lambda: FairLogisticRegression(
            target
        ).fit(some.X, some.y, **given),
        "estimate_effects, n=20,000": lambda: estimate_effects(
            some.X, some.y, max_extreme_share=1, **given
        ),
    }


def serve() -> None:
    """Run tasks by number as they are asked for on standard input; answer with seconds."""
    warnings.simplefilter("ignore")
    ready = tasks()
    print("\t".join(ready), flush=True)
    for line in sys.stdin:
        work = list(ready.values())[int(line)]
        start = time.process_time()
        work()
        print(time.process_time() - start, flush=True)


def start(checkout: Path) -> subprocess.Popen[str]:
    """Start a process that serves the tasks from the sources of a checkout."""
    env = {**os.environ, **THREADS, "PYTHONPATH": str(checkout.resolve() / "src")}
    return subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def ask(process: subprocess.Popen[str], number: int) -> float:
    """Return the CPU seconds of a task in a process."""
    process.stdin.write(f"{number}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(other: Path) -> None:
    """Time both checkouts in turns, and write the table."""
    from tables import write_table

    before, after = start(other), start(HERE.parent)
    names = [process.stdout.readline().rstrip("\n").split("\t") for process in (before, after)]
    assert names[0] == names[1]  # noqa: S101
    rows = []
    for number, name in enumerate(names[1]):
        pairs = [(ask(before, number), ask(after, number)) for _ in range(REPEATS + 1)][1:]
        ratios = sorted(new / old for old, new in pairs)
        old, new = (statistics.median(each) for each in zip(*pairs, strict=True))
        spread = f"{ratios[1]:.2f}–{ratios[-2]:.2f}"
        rows.append((name, f"{old:.3f}", f"{new:.3f}", f"{statistics.median(ratios):.2f}", spread))
        print(*rows[-1], sep=" | ", flush=True)
    for process in (before, after):
        process.stdin.close()
        process.wait()
    commit = subprocess.run(
        ["git", "-C", str(other), "rev-parse", "--short", "HEAD"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    write_table(
        HERE / "against_commit.md",
        "This checkout beside an earlier commit",
        [
            f"Against {commit}. CPU seconds, one thread; the median of {REPEATS} turns of two "
            "processes, and of the ratios of the pairs, with the range of all but the extremes."
        ],
        ["what", "before", "after", "ratio", "range"],
        rows,
        ["xgboost-cpu", "lightgbm", "numpy", "scikit-learn"],
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(Path(sys.argv[1]))
