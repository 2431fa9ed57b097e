"""What training on files costs in memory and time, beside the same table in memory.

Each contender runs in a process of its own; its peak is the kernel's count of resident memory.
``--rows`` sets the sizes, the largest of which is trained from files alone.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from tables import write_table

from unsway import FairXGBClassifier, Schedule, make_synthetic
from unsway.models.external import feed_of
from unsway.models.parquet import ParquetRows
from unsway.models.xgboost_rows import xgboost

COLUMNS, CHUNK, ROUNDS, THREADS = 20, 500_000, 30, 2
PARAMS = {"max_depth": 6, "eta": 0.1}
#: In memory only where a table of so many rows fits beside what is made of it.
MOST_IN_MEMORY = 5_000_000


def write_people(folder: Path, rows: int) -> None:
    """Write synthetic people as Parquet files of at most half a million rows each."""
    for number in range(0, rows, CHUNK):
        count = min(CHUNK, rows - number)
        people = make_synthetic(count, random_state=number)
        noise = np.random.default_rng(number).standard_normal((count, COLUMNS))
        X = np.hstack([people.X, noise])[:, :COLUMNS].astype(np.float32)
        columns: dict[str, Any] = {f"x{k}": X[:, k] for k in range(COLUMNS)}
        columns |= {"y": people.y.astype(np.int8), "z": people.z.astype(np.int8)}
        parquet.write_table(pa.table(columns), folder / f"{number:012d}.parquet")


def model() -> FairXGBClassifier:
    """Return the classifier everyone trains: fair targets, thirty rounds."""
    return FairXGBClassifier(params=PARAMS, schedule=Schedule(max_steps=ROUNDS), n_jobs=THREADS)


def train_from_files(folder: Path) -> dict[str, float]:
    """Return the seconds of a fit on the files."""
    start = time.perf_counter()
    model().fit_parquet(folder, target="y", sensitive="z")
    return {"seconds": time.perf_counter() - start}


def train_in_memory(folder: Path) -> dict[str, float]:
    """Return the seconds of reading the files and fitting on the table."""
    start = time.perf_counter()
    table = parquet.read_table(folder)
    X, y, z = table.drop_columns(["y", "z"]), table["y"], table["z"]
    del table
    model().fit(X, y, sensitive_features=z)
    return {"seconds": time.perf_counter() - start}


def build_and_boost(folder: Path, kind: str) -> dict[str, float]:
    """Return the seconds of building a matrix from the files, and of a round on it."""
    rows = ParquetRows.of(folder, leave_out=("y", "z"))
    feed = feed_of(rows, rows.engine_table(), np.ones(rows.n_rows, dtype=bool), None)
    if kind == "ExtMemQuantileDMatrix":
        feed.cache_prefix = str(folder / "pages")
    start = time.perf_counter()
    matrix = getattr(xgboost(), kind)(feed, max_bin=256, nthread=THREADS)
    built = time.perf_counter() - start
    gradient = np.random.default_rng(0).standard_normal(rows.n_rows).astype(np.float32)
    booster = xgboost().Booster({**PARAMS, "nthread": THREADS}, cache=[matrix])
    start = time.perf_counter()
    for number in range(10):
        booster.boost(matrix, number, grad=gradient, hess=np.ones_like(gradient))
    return {"seconds": built, "round": (time.perf_counter() - start) / 10}


TASKS = {
    "fit_parquet": train_from_files,
    "fit, in memory": train_in_memory,
    "QuantileDMatrix": lambda folder: build_and_boost(folder, "QuantileDMatrix"),
    "ExtMemQuantileDMatrix": lambda folder: build_and_boost(folder, "ExtMemQuantileDMatrix"),
}


def peak_gigabytes() -> float:
    """Return the most memory this process was resident in."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e6


def run_alone(task: str, folder: Path, script: str = __file__) -> dict[str, float]:
    """Run a task of a script in a process of its own."""
    command = [sys.executable, script, "--task", task, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(rows: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each contender on so many rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder, rows)
        for task in TASKS:
            if rows > MOST_IN_MEMORY and task != "fit_parquet":
                continue
            found = run_alone(task, folder)
            speed = f"{found['round']:.2f}" if "round" in found else ""
            line = f"{rows:,}", task, f"{found['seconds']:.0f}", speed, f"{found['peak']:.2f}"
            print(line, flush=True)
            yield line


def main() -> None:
    """Measure, and write the table beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[2e6, 2e7])
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.task:
        found = TASKS[given.task](given.folder)
        print(json.dumps({**found, "peak": peak_gigabytes()}))
        return
    write_table(
        Path(__file__).with_suffix(".md"),
        "Training on files: memory and time",
        (
            f"{COLUMNS} columns of float32 in Parquet, fair targets, depth 6, {ROUNDS} rounds, "
            f"{THREADS} threads. `peak` is the most resident memory of the process, its libraries "
            "included. `fit_parquet` estimates the direct effect on a sample of a million rows, "
            "`fit` on all. The two matrices are built from the same iterator, by a pass for the "
            "quantiles and one for the bins: the first holds its bins in memory, the second reads "
            "them from disk in every round; their `s a round` is a tree of depth 6 on given "
            "gradients.",
        ),
        ("rows", "what", "s", "s a round", "peak, GB"),
        [row for rows in given.rows for row in measure(int(rows))],
        ("unsway", "xgboost-cpu", "pyarrow"),
    )


if __name__ == "__main__":
    main()
