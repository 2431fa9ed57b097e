"""Fair targets where the sensitive attribute is known for some rows only, in worlds of known truth.

Who has a value depends on X alone: twice as likely where the first column is large. RMSE to the
true fair score over the noise floor, which is the same booster trained on labels drawn from it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from booster import Floats
from joblib import Parallel, delayed, parallel_config
from records import with_error
from tables import write_table
from threadpoolctl import threadpool_limits

from unsway import FairTarget, FairXGBClassifier, Grouping, make_world, score_gap

WORLDS, ROWS, TEST_ROWS, SEEDS, SHARES = ("paper", "varying_effect"), 20_000, 50_000, 5, (0.2, 0.1)
PARAMS: dict[str, Any] = {"eta": 0.1, "max_depth": 2}

Found = dict[str, tuple[float, float]]


def measure(world: str, seed: int) -> Found:
    """Return RMSE over the floor, and the direct effect left, of each way on one draw."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    train = make_world(world, ROWS, random_state=2 * seed)
    test = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
    rng = np.random.default_rng([seed, 1])  # a stream the world has not used

    def scores(y: Any, z: Any, **settings: Any) -> Floats:
        model = FairXGBClassifier(params=PARAMS, n_jobs=1, **settings)
        return model.fit(train.X, y, sensitive_features=z).predict_proba(test.X)[:, 1]

    def judge(p: Floats) -> tuple[float, float]:
        left = score_gap(None, p - test.fair_score, sensitive_features=test.z)
        return float(np.sqrt(np.mean((p - test.fair_score) ** 2))), left

    with threadpool_limits(1):
        labels = (rng.random(ROWS) < train.fair_score).astype(int)
        found = {"floor": judge(scores(labels, train.z, strength=0))}
        found["blind"] = judge(scores(train.y, train.z, strength=0))
        likely = np.where(train.X[:, 0] > np.median(train.X[:, 0]), 2.0, 1.0)
        for smoothing in (0, "auto"):
            kind, settings = ("one model", "default")[smoothing == "auto"], {}
            settings["criterion"] = FairTarget(smoothing=smoothing)
            found[f"{kind}, z of all rows"] = judge(scores(train.y, train.z, **settings))
            for share in SHARES:
                chance = np.random.default_rng([seed, 2]).random(ROWS)
                z = np.where(chance < share * likely / likely.mean(), train.z, np.nan)
                for way in ("use", "drop"):
                    p = scores(train.y, z, groups=Grouping(missing=way), **settings)
                    found[f"{kind}, z of {share:.0%}, missing={way!r}"] = judge(p)
    floor = found["floor"][0]
    print(f"{world}, seed {seed}", flush=True)
    return {name: (rmse / floor, left) for name, (rmse, left) in found.items()}


def main() -> None:
    """Measure every draw, and write the page beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=2, help="processes, a thread each")
    given = parser.parse_args()
    with parallel_config(backend="loky", inner_max_num_threads=1):
        draws = Parallel(n_jobs=given.jobs)(
            delayed(measure)(world, seed) for world in WORLDS for seed in range(given.seeds)
        )
    worlds = {
        world: draws[each * given.seeds : (each + 1) * given.seeds]
        for each, world in enumerate(WORLDS)
    }
    write_table(
        Path(__file__).with_suffix(".md"),
        "Fair targets where the sensitive attribute is known for some rows",
        (
            f"XGBoost, η 0.1, depth 2, {ROWS:,} rows, {given.seeds} draws, {TEST_ROWS:,} fresh "
            "rows to judge by. Who has a value of z depends on X. RMSE to the fair score over the "
            "noise floor, and the direct effect left. `one model` is `FairTarget(smoothing=0)`.",
        ),
        ("way", *(f"{world}: {what}" for world in WORLDS for what in ("RMSE", "left"))),
        [
            (
                name,
                *(
                    with_error([draw[name][place] for draw in found], form)
                    for found in worlds.values()
                    for place, form in enumerate((".2f", "+.3f"))
                ),
            )
            for name in draws[0]
        ],
        ("unsway", "xgboost-cpu", "numpy"),
    )


if __name__ == "__main__":
    main()
