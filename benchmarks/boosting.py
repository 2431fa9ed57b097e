"""What the fair objective costs a booster beside its built-in one: a round, and a whole fit.

A round is compared on the same rows, depth and threads, in turn. A whole fit on Adult is compared
with the engine's own early stopping on the same hold-out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from tables import interleave, median_ratio, peak_bytes, write_table

from unsway import (
    DirectEffect,
    FairLGBMClassifier,
    FairXGBClassifier,
    Objective,
    make_synthetic,
)
from unsway.core.derivatives import BoostingDerivatives
from unsway.criteria import FittedCriterion
from unsway.datasets import load_adult
from unsway.folds import hold_out
from unsway.rows import Rows

THREADS = 2
ROUNDS = 10
STRENGTH = 0.9


def xgboost_rounds(
    X: np.ndarray, y: np.ndarray, objective: Objective, depth: int
) -> dict[str, Any]:
    """Return ten rounds with the built-in objective and with ours, on one quantised matrix."""
    rows = xgboost.QuantileDMatrix(X, y, nthread=THREADS)
    params = {
        "objective": "binary:logistic", "base_score": 0.5, "eta": 0.1, "max_depth": depth,
        "nthread": THREADS, "disable_default_eval_metric": True,
    }  # fmt: skip
    derivatives = BoostingDerivatives(objective, learning_rate=0.1)

    def built_in() -> None:
        booster = xgboost.Booster(params, cache=[rows])
        for k in range(ROUNDS):
            booster.update(rows, k)

    def fair() -> None:
        booster = xgboost.Booster(params, cache=[rows])
        for k in range(ROUNDS):
            margin = booster.predict(rows, output_margin=True, training=True)
            gradient, curvature = derivatives(margin, STRENGTH)
            booster.boost(rows, k, grad=gradient, hess=curvature)

    return {"built-in": built_in, "fair": fair}


def lightgbm_rounds(
    X: np.ndarray, y: np.ndarray, objective: Objective, depth: int
) -> dict[str, Any]:
    """Return ten rounds with the built-in objective and with ours, on one binned data set."""
    params = {
        "learning_rate": 0.1, "max_depth": depth, "num_leaves": 2**depth, "verbosity": -1,
        "num_threads": THREADS, "boost_from_average": False,
    }  # fmt: skip
    rows = lightgbm.Dataset(X, y, params=params, free_raw_data=False).construct()
    derivatives = BoostingDerivatives(objective, learning_rate=0.1)

    def built_in() -> None:
        booster = lightgbm.Booster({**params, "objective": "binary"}, rows)
        for _ in range(ROUNDS):
            booster.update()

    def fair() -> None:
        booster = lightgbm.Booster({**params, "objective": "none"}, rows)
        for _ in range(ROUNDS):
            booster.update(fobj=lambda margin, _: derivatives(margin, STRENGTH))

    return {"built-in": built_in, "fair": fair}


def round_rows() -> Iterator[tuple[str, ...]]:
    """Yield the cost of a round at n = 1e6, p = 20."""
    people = make_synthetic(1_000_000, random_state=0)
    noise = np.random.default_rng(0).standard_normal((len(people.y), 4))
    X, y = np.hstack([people.X, noise]).astype(np.float32), people.y.astype(np.float64)
    objective = _objective(people).at(STRENGTH)
    memory = peak_bytes(
        lambda: BoostingDerivatives(objective)(np.zeros(len(y), np.float32), STRENGTH)
    )
    for depth in (6, 2):
        for engine, rounds in (("xgboost", xgboost_rounds), ("lightgbm", lightgbm_rounds)):
            seconds = interleave(rounds(X, people.y, objective, depth), repeats=5)
            columns = f"{memory / (4 * len(y)):.1f}"
            yield _row(
                f"a round, n=1,000,000, p=20, depth {depth}", engine, seconds, ROUNDS, columns
            )


def fit_rows() -> Iterator[tuple[str, ...]]:
    """Yield the cost of a whole fit on Adult at λ = .975."""
    adult = load_adult("train")
    X, y, z = adult.to_matrix()[0], adult.y, adult.z
    fitted = DirectEffect(1, 1).fit(Rows.check(X, y, sensitive_features=z))
    held = hold_out(X, y + 2 * z, 0.33)
    models = {
        "xgboost": (
            lambda: _plain_xgboost(X, y, held),
            FairXGBClassifier(fitted, 0.975, params={"eta": 0.1, "max_depth": 2}, n_jobs=THREADS),
        ),
        "lightgbm": (
            lambda: _plain_lightgbm(X, y, held),
            FairLGBMClassifier(
                fitted, 0.975, params={"learning_rate": 0.1, "num_leaves": 4}, n_jobs=THREADS
            ),
        ),
    }
    for engine, (plain, model) in models.items():
        tasks: dict[str, Callable[[], object]] = {
            "built-in": plain,
            "fair": lambda model=model: model.fit(X, y, sensitive_features=z),
        }
        yield _row("a whole fit, Adult, λ=.975", engine, interleave(tasks, repeats=3), 1, "")


def _plain_xgboost(X: np.ndarray, y: np.ndarray, held: np.ndarray) -> object:
    params = {
        "objective": "binary:logistic", "eta": 0.1, "max_depth": 2, "nthread": THREADS,
        "base_score": 0.5, "eval_metric": "logloss",
    }  # fmt: skip
    train = xgboost.QuantileDMatrix(X[~held], y[~held])
    stop = xgboost.QuantileDMatrix(X[held], y[held], ref=train)
    return xgboost.train(
        params, train, 10_000, evals=[(stop, "stop")], early_stopping_rounds=20, verbose_eval=False
    )


def _plain_lightgbm(X: np.ndarray, y: np.ndarray, held: np.ndarray) -> object:
    params = {
        "objective": "binary", "learning_rate": 0.1, "num_leaves": 4, "num_threads": THREADS,
        "verbosity": -1, "metric": "binary_logloss", "boost_from_average": False,
    }  # fmt: skip
    train = lightgbm.Dataset(X[~held], y[~held])
    stop = lightgbm.Dataset(X[held], y[held], reference=train)
    callbacks = [lightgbm.early_stopping(20, verbose=False)]
    return lightgbm.train(params, train, 10_000, valid_sets=[stop], callbacks=callbacks)


def _objective(people: Any) -> Any:
    """Return the direct effect's objective with the true propensity: its fit is not timed."""
    rows = Rows.check(people.X, people.y, sensitive_features=people.z)
    return FittedCriterion(DirectEffect(), people.propensity).objective(rows)


def _row(
    what: str, engine: str, seconds: dict[str, list[float]], per: int, memory: str
) -> tuple[str, ...]:
    medians = [f"{np.median(seconds[name]) / per:.3f}" for name in ("built-in", "fair")]
    ratio = median_ratio(seconds["fair"], seconds["built-in"])
    return what, engine, f"{ratio:.2f}", " / ".join(medians), memory


def main() -> None:
    """Measure, and write the table beside this script."""
    warnings.simplefilter("ignore")
    rows = [*round_rows(), *fit_rows()]
    write_table(
        Path(__file__).with_suffix(".md"),
        "Boosted trees: the cost of the fair objective",
        (
            f"Interleaved repeats, {THREADS} threads. `time` is the median ratio to the engine's "
            "built-in objective; `memory` what the objective holds beyond the engine, in float32 "
            "columns of length n. A whole fit has the paper's hyper-parameters (η .1, depth 2 or "
            "4 leaves) and stands beside the engine's own early stopping, patience 20, on the "
            "same hold-out; the propensity score is fitted beforehand.",
        ),
        ("what", "engine", "time", "s built-in / fair", "memory"),
        rows,
        ("unsway", "xgboost-cpu", "lightgbm", "numpy"),
    )


if __name__ == "__main__":
    main()
