"""What a whole default fit costs on two Dask workers, in plain fits of XGBoost on the same cluster.

Both train on the same collections with the same parameters, and stop early by the same patience on
a third of the rows. Times are CPU seconds of all workers, one thread each. ``--rows`` sets others.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import xgboost
from dask.distributed import Client, LocalCluster, wait
from tables import write_table
from xgboost import dask as dask_xgboost

from unsway import FairTarget
from unsway.distributed.dask import FairDaskXGBClassifier

WORKERS, COLUMNS, DEPTH, ETA, PATIENCE, HELD_OUT, REPEATS = 2, 20, 6, 0.1, 20, 0.33, 3
PARAMS: dict[str, Any] = {"eta": ETA, "max_depth": DEPTH}
ROWS = (100_000, 1_000_000)

#: The fits that take turns with plain XGBoost: criterion and strength.
FITS: dict[str, tuple[FairTarget, float | None]] = {
    "one model": (FairTarget(smoothing=0), None),
    "default": (FairTarget(), None),
    "strength 0": (FairTarget(), 0.0),
}


def draw(n: int) -> tuple[Any, Any, Any, Any]:
    """Return collections of one chunk a worker, and which rows plain XGBoost stops by.

    The label depends on products and steps, so that more than a hundred trees are needed.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    z = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int64)
    margin = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) * X[:, 4] + np.sin(2 * X[:, 5]) + z - 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(np.int64)
    held = rng.random(n) < HELD_OUT
    part = -(-n // WORKERS)
    tables = (da.from_array(each, chunks=(part, *each.shape[1:])) for each in (X, y, z, held))
    return tuple(table.persist() for table in tables)  # type: ignore[return-value]


def plain(client: Client, X: Any, y: Any, held: Any) -> int:
    """Train plain XGBoost on the workers; return its rounds."""
    X_train, y_train, X_stop, y_stop = (
        each.compute_chunk_sizes() for each in (X[~held], y[~held], X[held], y[held])
    )
    train = dask_xgboost.DaskQuantileDMatrix(client, X_train, y_train)
    stop = dask_xgboost.DaskQuantileDMatrix(client, X_stop, y_stop, ref=train)
    found = dask_xgboost.train(
        client, {**PARAMS, "objective": "binary:logistic", "eval_metric": "logloss", "nthread": 1},
        train, 10_000, evals=[(stop, "stop")], early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    return int(found["booster"].num_boosted_rounds())


def fair(name: str, client: Client, X: Any, y: Any, z: Any) -> int:
    """Train one of these fits on the workers; return the rounds of the model that is kept."""
    criterion, strength = FITS[name]
    model = FairDaskXGBClassifier(criterion, strength, params=PARAMS, n_jobs=1, client=client)
    return int(model.fit(X, y, sensitive_features=z).n_rounds_)


def seconds(client: Client, work: Callable[[], int]) -> tuple[float, int]:
    """Return the CPU seconds that a fit takes on all workers, and its rounds."""
    before = client.run(time.process_time)
    rounds = work()
    after = client.run(time.process_time)
    return sum(after[name] - before[name] for name in after), rounds


def measure(client: Client, n: int) -> list[tuple[str, ...]]:
    """Return a line of the table for each fit, all of them taking turns."""
    X, y, z, held = draw(n)
    wait([X, y, z, held])
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in ("plain", *FITS)}
    for _ in range(REPEATS):
        found["plain"].append(seconds(client, lambda: plain(client, X, y, held)))
        for name in FITS:
            found[name].append(seconds(client, lambda name=name: fair(name, client, X, y, z)))  # type: ignore[misc]
    base = [each[0] for each in found["plain"]]
    return [
        (
            f"{n:,}",
            name,
            f"{statistics.median(each[0] for each in runs):.2f}",
            f"{statistics.median(a[0] / b for a, b in zip(runs, base, strict=True)):.2f}",
            f"{statistics.median(each[1] for each in runs):.0f}",
        )
        for name, runs in found.items()
    ]


def main() -> None:
    """Measure, and write the page beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        measure(client, 5_000)  # warm
        rows = [line for n in given.rows for line in measure(client, n)]
    write_table(
        Path(__file__).with_suffix(".md"),
        "A whole default fit on two Dask workers",
        (
            f"{WORKERS} workers of one thread, {COLUMNS} columns in single precision, depth "
            f"{DEPTH}, η {ETA}, {REPEATS} fits of each kind in turn. CPU seconds of all workers, "
            "and the median ratio to plain XGBoost on the same collections. `one model` is "
            "`FairTarget(smoothing=0)`, `default` may train a second model. Rounds are those of "
            f"the model that is kept. XGBoost {xgboost.__version__}.",
        ),
        ("rows", "fit", "CPU seconds", "time", "rounds"),
        rows,
        ("unsway", "dask", "numpy"),
    )


if __name__ == "__main__":
    main()
