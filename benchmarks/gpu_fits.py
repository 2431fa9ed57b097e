"""Seconds of a whole fit on a CUDA device, beside plain XGBoost on the same rows.

Rows are on the host when the clock starts, and a model for the CPU exists when it stops. Plain
XGBoost quantises and boosts on the device too, and stops early with the same patience. All fits
take turns. ``--output`` says where the page goes.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import xgboost
from tables import median_ratio, write_table

from unsway import DirectEffect, FairTarget, FairXGBClassifier

COLUMNS, DEPTH, ETA, PATIENCE, HELD_OUT = 20, 6, 0.1, 20, 0.33
PARAMS: dict[str, Any] = {"device": "cuda", "eta": ETA, "max_depth": DEPTH}

#: The fits that take turns after plain XGBoost: criterion and strength.
FITS: dict[str, Callable[[], tuple[Any, float | None]]] = {
    "one model": lambda: (FairTarget(smoothing=0), None),
    "default": lambda: (FairTarget(), None),
    "direct effect": lambda: (DirectEffect(), None),
    "strength 0": lambda: (FairTarget(), 0.0),
}


def draw(n: int) -> tuple[Any, Any, Any]:
    """Draw rows on the host: covariates in single precision, labels, and the sensitive attribute.

    The label depends on products and steps, so that more than a hundred trees are needed.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    z = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.int64)
    margin = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) * X[:, 4] + np.sin(2 * X[:, 5]) + z - 0.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(np.int64), z


def plain(X: Any, y: Any) -> int:
    """Train plain XGBoost; return its rounds."""
    held = np.random.default_rng([0, 1]).random(len(X)) < HELD_OUT
    train = xgboost.QuantileDMatrix(X[~held], y[~held])
    stop = xgboost.QuantileDMatrix(X[held], y[held], ref=train)
    booster = xgboost.train(
        {**PARAMS, "objective": "binary:logistic", "eval_metric": "logloss"}, train, 10_000,
        evals=[(stop, "stop")], early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    return int(booster.num_boosted_rounds())


def fair(name: str, data: tuple[Any, Any, Any]) -> int:
    """Train one of ours; return the rounds of the model that is kept."""
    X, y, z = data
    criterion, strength = FITS[name]()
    model = FairXGBClassifier(criterion, strength, params=PARAMS)
    return int(model.fit(X, y, sensitive_features=z).n_rounds_)


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    """Return the seconds of a fit, the device done, and its rounds."""
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    rounds = work()
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start, rounds


def measure(n: int, repeats: int, names: list[str]) -> dict[str, Any]:
    """Return the seconds and rounds of each fit, in turn, once for each repeat."""
    data = draw(n)
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in ("plain", *names)}
    for _ in range(repeats):
        found["plain"].append(seconds(lambda: plain(data[0], data[1])))
        for name in names:
            found[name].append(seconds(lambda name=name: fair(name, data)))  # type: ignore[misc]
        cupy.get_default_memory_pool().free_all_blocks()
    result = {"rows": n, "fits": found}
    print(json.dumps(result), flush=True)
    return result


def table_rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a line for each fit at one number of rows."""
    times = {name: [each[0] for each in runs] for name, runs in found["fits"].items()}
    return [
        (
            f"{found['rows']:,}",
            name,
            f"{statistics.median(times[name]):.2f}",
            f"{median_ratio(times[name], times['plain']):.2f}",
            f"{statistics.median(each[1] for each in runs):.0f}",
        )
        for name, runs in found["fits"].items()
    ]


def show_profile(n: int, name: str) -> None:
    """Print where one fit spends its time."""
    data = draw(n)
    profile = cProfile.Profile()
    profile.enable()
    fair(name, data)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 4e6, 1e7])
    parser.add_argument("--fits", nargs="+", default=list(FITS), choices=list(FITS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", choices=list(FITS), help="print where this fit's time goes")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(100_000, 1, given.fits)  # warm
    if given.profile:
        show_profile(int(given.rows[0]), given.profile)
        return
    found = [measure(int(n), given.repeats, given.fits) for n in given.rows]
    (given.output / "gpu_fits.json").write_text(json.dumps(found, indent=1))
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    write_table(
        given.output / "gpu_fits.md",
        "A whole fit on a CUDA device",
        (
            f"{name}. {COLUMNS} columns in single precision, depth {DEPTH}, η {ETA}, "
            f"{given.repeats} fits of each kind in turn: from rows on the host to a model for the "
            "CPU. `time` is the median ratio to plain XGBoost, which quantises and boosts on the "
            "same device and stops early with the same patience. Its rows are split on the host, "
            "as by scikit-learn, ours on the device, so that strength 0 takes less. Rounds are "
            "those of the model that is kept.",
        ),
        ("rows", "fit", "seconds", "time", "rounds"),
        [row for each in found for row in table_rows(each)],
        ("xgboost", "numpy"),
    )


if __name__ == "__main__":
    main()
