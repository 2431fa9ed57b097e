"""What effects on Parquet files cost in memory and time, beside XGBoost on the same files.

Each contender runs in a process of its own, on files that `external.py` writes. Seconds are those
of the processor, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
from external import COLUMNS, PARAMS, ROUNDS, THREADS, peak_gigabytes, run_alone, write_people
from tables import write_table

from unsway import estimate_effects, estimate_effects_parquet
from unsway.models.external import feed_of
from unsway.models.parquet import ParquetRows
from unsway.models.xgboost_rows import xgboost

#: In memory only where a table of so many rows fits beside what is made of it.
MOST_IN_MEMORY = 2_000_000


def effects_from_files(folder: Path) -> dict[str, float]:
    """Return an effect and its standard error."""
    found = estimate_effects_parquet(
        folder, target="y", sensitive="z", max_extreme_share=1, n_jobs=THREADS
    )
    return {"estimate": found.explained.estimate, "se": found.explained.se}


def effects_in_memory(folder: Path) -> dict[str, float]:
    """Return the same by the models of scikit-learn that are the default in memory."""
    table = parquet.read_table(folder)
    X, y, z = table.drop_columns(["y", "z"]), table["y"], table["z"]
    found = estimate_effects(X, y, sensitive_features=z, max_extreme_share=1)
    return {"estimate": found.explained.estimate, "se": found.explained.se}


def xgboost_alone(folder: Path) -> dict[str, float]:
    """Train XGBoost on the labels from the files, and predict every row."""
    rows = ParquetRows.of(folder, leave_out=("y", "z"))
    table, y = rows.engine_table(), rows.numbers("y")
    matrix = xgboost().QuantileDMatrix(
        feed_of(rows, table, np.ones(rows.n_rows, dtype=bool), None), nthread=THREADS
    )
    matrix.set_info(label=y)
    params = {**PARAMS, "objective": "binary:logistic", "nthread": THREADS}
    booster = xgboost().train(params, matrix, ROUNDS)
    for _, batch in rows.batches():
        booster.inplace_predict(rows.matrix(table, batch), validate_features=False)
    return {}


TASKS = {
    "effects, from files": effects_from_files,
    "effects, in memory": effects_in_memory,
    f"XGBoost, {ROUNDS} rounds and a prediction": xgboost_alone,
}


def measure(rows: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each contender on so many rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder, rows)
        for task in TASKS:
            if rows > MOST_IN_MEMORY and "memory" in task:
                continue
            found = run_alone(task, folder, __file__)
            effect = f"{found['estimate']:.4f} ± {found['se']:.4f}" if "se" in found else ""
            line = f"{rows:,}", task, f"{found['seconds']:.0f}", f"{found['peak']:.2f}", effect
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
        used = {"seconds": time.process_time(), "peak": peak_gigabytes()}
        print(json.dumps({**found, **used}))
        return
    write_table(
        Path(__file__).with_suffix(".md"),
        "Effects on files: memory and time",
        (
            f"{COLUMNS} columns of float32 in Parquet, {THREADS} threads. `s` are seconds of the "
            "processor, `peak` the most resident memory of the process, its libraries included. "
            "From files the models are trained on a sample of a million rows and predict all; "
            "`explained` is the effect through the covariates with its standard error. XGBoost "
            f"trains on the labels, depth {PARAMS['max_depth']}.",
        ),
        ("rows", "what", "s", "peak, GB", "explained"),
        [row for rows in given.rows for row in measure(int(rows))],
        ("unsway", "xgboost-cpu", "pyarrow"),
    )


if __name__ == "__main__":
    main()
