"""Other libraries' fair models of numbers in worlds whose fair means are known.

Run by the interpreter of .venv-peers (requirements-peers.txt), with this library's ``src`` on its
path. insurance-fairness corrects predictions of a model of (X, z): its `LindholmCorrector` averages
them over z, by the shares of the groups in the exposure, and keeps the total; the model is the
XGBoost of the fair one. fairlearn's reduction bounds the squared error of each group; it takes no
weights, so that it runs on wages alone, with XGBoost of 100 trees.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from outcomes import AVERAGED, BLIND, FAIR, FLOOR, Case, Floats, true_means
from tables import write_table
from threadpoolctl import threadpool_limits

from unsway import make_world
from unsway.datasets import NUMBER_WORLDS

ROWS, TEST_ROWS, SEEDS = 40_000, 50_000, 3
CORRECTOR, REDUCTION = "insurance-fairness", "fairlearn"


def corrected(case: Case) -> Floats:
    """Return insurance-fairness's discrimination-free means at the test rows."""
    import polars as pl
    from insurance_fairness.optimal_transport import LindholmCorrector

    train, test = case.train, case.test
    coin = np.random.default_rng([case.seed, 2]).integers(0, 2, len(train.z))  # z is a covariate
    model = case.fit(np.column_stack([train.X, train.z]), coin, strength=0.0)
    names = [f"x{k}" for k in range(train.X.shape[1])]

    def table(X: Floats) -> pl.DataFrame:
        return pl.DataFrame({name: X[:, k] for k, name in enumerate(names)})

    def predict(both: pl.DataFrame) -> Floats:
        return np.asarray(model.predict(both.select([*names, "z"]).to_numpy()))

    known = LindholmCorrector(["z"])
    groups = [pl.DataFrame({"z": each.z.astype(float)}) for each in (train, test)]
    known.fit(predict, table(train.X), groups[0], exposure=train.exposure)
    return np.asarray(known.transform(predict, table(test.X), groups[1]))


def reduced(case: Case) -> Floats | None:
    """Return the means of fairlearn's reduction, whose grid weighs the losses of both groups."""
    from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss
    from xgboost import XGBRegressor

    train, test = case.train, case.test
    if train.loss != "squared_error":
        return None
    inner = XGBRegressor(n_estimators=100, max_depth=3, learning_rate=0.1, n_jobs=1)
    loss = SquareLoss(float(train.y.min()), float(train.y.max()))
    model = GridSearch(inner, BoundedGroupLoss(loss, upper_bound=0.0), grid_size=7)
    model.fit(train.X, train.y, sensitive_features=train.z)
    return np.asarray(model.predict(test.X), dtype=np.float64)


METHODS: dict[str, Callable[[Case], Floats | None]] = {
    FLOOR: lambda case: case.predict(FLOOR),
    FAIR: lambda case: case.predict(FAIR),
    AVERAGED: lambda case: case.predict(AVERAGED),
    BLIND: lambda case: case.predict(BLIND),
    CORRECTOR: corrected,
    REDUCTION: reduced,
}


def errors(case: Case, p: Floats) -> tuple[float, float, float]:
    """Return the RMSE to the fair means of equal weights, of shares, and what is left of z.

    Totals are brought to those of the fair means first: some methods keep the total of y.
    """
    test, train = case.test, case.train
    means = true_means(test)
    share = np.average(train.z, weights=train.exposure)
    by_share = (1 - share) * means[:, 0] + share * means[:, 1]

    def scaled(fair: Floats) -> Floats:
        return p * fair.mean() / p.mean() if test.loss != "squared_error" else p

    rmse = [float(np.sqrt(np.mean((scaled(f) - f) ** 2))) for f in (test.fair_score, by_share)]
    error, one = scaled(test.fair_score) - test.fair_score, test.z == 1
    left = float(error[one].mean() - error[~one].mean())
    return rmse[0], rmse[1], left / float(np.mean(test.fair_score))


def measure(world: str, seeds: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each method on a world."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(seeds):
        train = make_world(world, ROWS, random_state=2 * seed)
        test = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
        case = Case("XGBoost", train, test, seed)
        for name, predict in METHODS.items():
            start = time.process_time()
            p = predict(case)
            seconds = time.process_time() - start
            if p is not None:
                found.setdefault(name, []).append((*errors(case, p), seconds))
        print(world, seed, {name: errors_[-1] for name, errors_ in found.items()}, flush=True)
    floor = np.array(found[FLOOR])
    for name, values in found.items():
        table = np.array(values)
        ratios = (table[:, k] / floor[:, 0] for k in (0, 1))
        cells = [_shown(each, ".2f") for each in (*ratios, 100 * table[:, 2], table[:, 3])]
        yield world, name, *cells


def _shown(values: Sequence[float] | Floats, form: str) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):{form}} ± {error:{form}}"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", choices=NUMBER_WORLDS, default=["claims", "wages"])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = [line for world in given.worlds for line in measure(world, given.seeds)]
    write_table(
        given.output,
        "Other libraries' fair models of numbers",
        [
            f"{given.seeds} draws of {ROWS:,} rows, XGBoost. RMSE over the floor of outcomes.md: "
            "to the fair means that weigh both groups equally, and to those that weigh them by "
            "their shares, which is what insurance-fairness estimates. Predictions of counts and "
            "amounts are brought to the total of the fair means. Left: the direct effect left, in "
            "percent of the mean. fairlearn bounds the loss of each group and takes no weights: it "
            "runs on wages alone; its aim is another one. Mean ± standard error."
        ],
        ("world", "method", "RMSE, equal weights", "RMSE, shares", "left", "CPU s"),
        rows,
        ("insurance-fairness", "fairlearn", "xgboost-cpu", "numpy"),
    )


if __name__ == "__main__":
    main()
