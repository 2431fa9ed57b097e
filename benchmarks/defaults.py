"""Learning rate and depth of XGBoost with early stopping, where the user gives no parameters.

Each cell is the log-loss on fresh rows less the lowest of the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xgboost
from booster import HELD_OUT, PARAMS, PATIENCE, Floats
from tables import write_table

from unsway import make_world
from unsway.datasets import load_adult, load_german

SETTINGS = ((0.3, 6), (0.1, 2), (0.1, 3), (0.1, 4), (0.1, 6), (0.05, 3), (0.05, 4))
WORLDS = ("paper", "steps", "adult", "imbalanced", "deep")
ROWS, TEST_ROWS, SPLITS, MOST_TREES = (2_000, 50_000), 20_000, 5, 3_000

Data = tuple[Floats, Floats, Floats, Floats]


def data_sets() -> Iterator[tuple[str, list[Data]]]:
    """Yield a name and its draws: X, probabilities of y, and both of fresh rows."""
    train, test = (load_adult(part) for part in ("train", "test"))
    yield "Adult", [(train.to_matrix()[0], train.y, test.to_matrix()[0], test.y)]
    german = load_german()
    X, y = german.to_matrix()[0], german.y
    orders = [np.random.default_rng([split, 3]).permutation(len(X)) for split in range(SPLITS)]
    yield "German credit", [(X[o[:667]], y[o[:667]], X[o[667:]], y[o[667:]]) for o in orders]
    for world in WORLDS:
        for n in ROWS:
            draws = []
            for seed in range(SPLITS if n < TEST_ROWS else 1):
                one = make_world(world, n, random_state=2 * seed)
                two = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
                draws.append((one.X, one.fair_score, two.X, two.fair_score))
            yield f"{world}, {n:,} rows", draws


def losses(data: Data, seed: int) -> list[float]:
    """Return the log-loss on fresh rows at each setting, for labels drawn from p."""
    X, p, fresh, truth = data
    rng = np.random.default_rng([seed, 1])
    y, held = (rng.random(len(p)) < p).astype(int), rng.random(len(p)) < HELD_OUT
    train = xgboost.QuantileDMatrix(X[~held], y[~held], nthread=1)
    stop = xgboost.QuantileDMatrix(X[held], y[held], ref=train, nthread=1)
    found = []
    for eta, depth in SETTINGS:
        model = xgboost.train(
            {**PARAMS, "eta": eta, "max_depth": depth}, train, MOST_TREES, evals=[(stop, "stop")],
            early_stopping_rounds=PATIENCE, verbose_eval=False,
        )  # fmt: skip
        best = (0, model.best_iteration + 1)
        score = model.predict(xgboost.DMatrix(fresh, nthread=1), iteration_range=best)
        found.append(-float(np.mean(truth * np.log(score) + (1 - truth) * np.log1p(-score))))
    return found


def main() -> None:
    """Measure, and write the table beside this script."""
    rows = []
    for name, draws in data_sets():
        mean = np.mean([losses(data, seed) for seed, data in enumerate(draws)], axis=0)
        rows.append((name, *(f"{loss - mean.min():.4f}" for loss in mean)))
        print(rows[-1], flush=True)
    write_table(
        Path(__file__).with_suffix(".md"),
        "Learning rate and depth with early stopping",
        (
            "XGBoost on labels, without any criterion; a third of the rows held out to stop by, "
            f"patience {PATIENCE}. Log-loss on fresh rows less the lowest of the row, in worlds "
            f"against the true fair score. {SPLITS} splits of German credit and draws of 2,000 "
            "rows, one of the others. The default of the boosters is η .1, depth 3.",
        ),
        ("data", *(f"η {eta}, depth {depth}" for eta, depth in SETTINGS)),
        rows,
        ("unsway", "xgboost-cpu", "numpy"),
    )


if __name__ == "__main__":
    main()
