"""What a round of boosting on fair targets of numbers costs beside the engine's own objective.

The same rows, depth and threads, in turn; the true means of both groups, as only rounds are timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from outcomes import true_means
from tables import interleave, median_ratio, write_table

from unsway import FairTarget, make_world
from unsway.core.derivatives import BoostingDerivatives
from unsway.criteria import FittedCriterion
from unsway.datasets import NUMBER_WORLDS
from unsway.outcome import Outcome, number_loss
from unsway.rows import Rows

N_ROWS, N_COLUMNS, ROUNDS, REPEATS, ETA = 1_000_000, 20, 10, 5, 0.1
DEPTHS = (6, 2)
XGBOOST_NAMES = {
    "squared_error": "reg:squarederror", "poisson": "count:poisson", "gamma": "reg:gamma",
    "tweedie": "reg:tweedie",
}  # fmt: skip


def draw(world: str) -> tuple[Rows, BoostingDerivatives]:
    """Return the rows of a world, y in units of its mean, and the derivatives of fair targets."""
    data = make_world(world, N_ROWS, random_state=0)
    noise = np.random.default_rng(0).standard_normal((N_ROWS, N_COLUMNS - data.X.shape[1]))

    def read(y: Any, n_rows: int) -> Outcome:
        return Outcome.numbers(y, n_rows, loss=number_loss(data.loss), exposure=data.exposure)

    X = np.hstack([data.X, noise]).astype(np.float32)
    rows = Rows.check(X, data.y, sensitive_features=data.z, read_outcome=read)
    outcome = rows.outcome.standardised(rows.weights)
    means = (true_means(data) - outcome.origin) / outcome.unit
    rows = Rows(X=X, outcome=outcome, groups=rows.groups, weights=rows.weights)
    objective = FittedCriterion(FairTarget(), means).objective(rows)
    return rows, BoostingDerivatives(objective, "adaptive", ETA)


def xgboost_rounds(
    rows: Rows, derivatives: BoostingDerivatives, depth: int, threads: int
) -> dict[str, Callable[[], object]]:
    """Return ten rounds with the built-in objective and with ours, on one quantised matrix."""
    matrix = xgboost.QuantileDMatrix(rows.X, rows.y, weight=rows.weights, nthread=threads)
    params = {
        "objective": XGBOOST_NAMES[rows.outcome.loss.name], "eta": ETA, "max_depth": depth,
        "base_score": 1.0 if rows.outcome.loss.link == "log" else 0.0, "nthread": threads,
        "disable_default_eval_metric": True,
    }  # fmt: skip

    def built_in() -> None:
        booster = xgboost.Booster(params, cache=[matrix])
        for k in range(ROUNDS):
            booster.update(matrix, k)

    def fair() -> None:
        booster = xgboost.Booster(params, cache=[matrix])
        for k in range(ROUNDS):
            margin = booster.predict(matrix, output_margin=True, training=True)
            gradient, curvature = derivatives(margin, 1.0)
            booster.boost(matrix, k, grad=gradient, hess=curvature)

    return {"built-in": built_in, "fair": fair}


def lightgbm_rounds(
    rows: Rows, derivatives: BoostingDerivatives, depth: int, threads: int
) -> dict[str, Callable[[], object]]:
    """Return ten rounds with the built-in objective and with ours, on one binned data set."""
    params = {
        "learning_rate": ETA, "max_depth": depth, "num_leaves": 2**depth, "verbosity": -1,
        "num_threads": threads, "boost_from_average": False,
    }  # fmt: skip
    loss = rows.outcome.loss.name
    data = lightgbm.Dataset(
        rows.X, rows.y, weight=rows.weights, params=params, free_raw_data=False
    ).construct()

    def built_in() -> None:
        name = "regression" if loss == "squared_error" else loss
        booster = lightgbm.Booster({**params, "objective": name}, data)
        for _ in range(ROUNDS):
            booster.update()

    def fair() -> None:
        booster = lightgbm.Booster({**params, "objective": "none"}, data)
        for _ in range(ROUNDS):
            booster.update(fobj=lambda margin, _: derivatives(margin, 1.0))

    return {"built-in": built_in, "fair": fair}


def measure(threads: int) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table for each world, engine and depth."""
    for world in NUMBER_WORLDS:
        rows, derivatives = draw(world)
        for depth in DEPTHS:
            for engine, rounds in (("XGBoost", xgboost_rounds), ("LightGBM", lightgbm_rounds)):
                seconds = interleave(rounds(rows, derivatives, depth, threads), REPEATS)
                ratio = median_ratio(seconds["fair"], seconds["built-in"])
                times = (np.median(seconds[name]) / ROUNDS for name in ("built-in", "fair"))
                shown = " / ".join(f"{each:.3f}" for each in times)
                row = rows.outcome.loss.name, engine, str(depth), f"{ratio:.2f}", shown
                print(*row, flush=True)
                yield row


def main() -> None:
    """Measure, and write the table beside this script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    options = parser.parse_args()
    write_table(
        options.output,
        "Rounds on fair targets of counts and amounts",
        (
            f"n = {N_ROWS:,}, p = {N_COLUMNS}, {options.threads} threads, {REPEATS} repeats of "
            f"{ROUNDS} rounds in turn. `time` is the median ratio to the engine's built-in "
            "objective of the same loss; the bar is 1.15.",
        ),
        ("loss", "engine", "depth", "time", "s built-in / fair"),
        list(measure(options.threads)),
        ("unsway", "xgboost-cpu", "lightgbm", "numpy"),
    )


if __name__ == "__main__":
    main()
