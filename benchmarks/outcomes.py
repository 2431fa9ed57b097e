"""Fair models of counts, amounts, wages and classes in worlds whose fair means are known.

The floor is the same estimator trained on oracle targets: its criterion has the true means of both
groups, and no smoothing. Models that keep the total of y are judged by the fair means times what
gives these the total. Direct effect left is the gap of the predictions between the groups less that
of the fair means on the same rows; of several classes it is that of the class on which z acts most.
Each figure is a line of benchmarks/.cache/outcomes.jsonl: running the script again measures only
what is missing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from tables import append_heading, append_table, write_table
from threadpoolctl import threadpool_limits

from unsway import (
    FairLGBMClassifier,
    FairLGBMRegressor,
    FairLinearRegressor,
    FairLogisticRegression,
    FairTarget,
    FairXGBClassifier,
    FairXGBRegressor,
    make_world,
)
from unsway.criteria import FittedCriterion
from unsway.datasets import CLASS_WORLDS, NUMBER_WORLDS, SyntheticData
from unsway.datasets.class_worlds import CLASS_WORLDS as WORLDS_OF_CLASSES
from unsway.datasets.number_worlds import NUMBER_WORLDS as WORLDS_OF_NUMBERS

Floats = NDArray[np.float64]
Record = dict[str, Any]

SIZES, TEST_ROWS, SEEDS = (5_000, 40_000), 50_000, 10
CACHE = Path(__file__).parent / ".cache"
FLOOR, FAIR, BLIND = "floor", "fair", "blind"
AVERAGED, REWEIGHTED = "averaged over z", "reweighted"
METHODS = (FLOOR, FAIR, AVERAGED, REWEIGHTED, BLIND)
#: Largest RMSE over the floor at 40,000 rows that is asked for.
BARS = {
    "squared_error": 1.05, "poisson": 1.05, "log_loss": 1.05, "gamma": 1.10, "tweedie": 1.10,
}  # fmt: skip
NAMES = (*NUMBER_WORLDS, *CLASS_WORLDS)
#: Of what the blind model leaves, how much more than the floor a fair one may leave.
LEFT_BAR = 0.1

#: Engine → the unfitted model of a loss; "linear" is right in no world.
ENGINES: dict[str, Callable[..., Any]] = {
    "XGBoost": lambda **options: FairXGBRegressor(n_jobs=1, **options),
    "LightGBM": lambda **options: FairLGBMRegressor(n_jobs=1, **options),
    "linear": lambda **options: FairLinearRegressor(**options),
}
#: The same of labels of several classes.
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "XGBoost": lambda **options: FairXGBClassifier(n_jobs=1, **options),
    "LightGBM": lambda **options: FairLGBMClassifier(n_jobs=1, **options),
    "linear": lambda **options: FairLogisticRegression(**options),
}


@dataclass(frozen=True)
class Case:
    """An engine on one draw of a world."""

    engine: str
    train: SyntheticData
    test: SyntheticData
    seed: int

    def fit(self, X: Floats, z: NDArray[Any], weights: Floats | None = None, **options: Any) -> Any:
        """Return the fitted model."""
        data = self.train
        if data.loss == "log_loss":
            return CLASSIFIERS[self.engine](**options).fit(
                X, data.y, sensitive_features=z, sample_weight=weights
            )
        exposure = {} if data.exposure is None else {"exposure": data.exposure}
        return ENGINES[self.engine](loss=data.loss, **options).fit(
            X, data.y, sensitive_features=z, sample_weight=weights, **exposure
        )

    def predict(self, method: str) -> Floats:
        """Return a method's means at the test rows."""
        X, z, test = self.train.X, self.train.z, self.test.X
        if method == FAIR:
            return means_of(self.fit(X, z), test)
        if method == FLOOR:
            return means_of(self.fit(X, z, criterion=self.oracle()), test)
        if method == REWEIGHTED:
            return means_of(self.fit(X, z, self.inverse_propensity(), strength=0.0), test)
        if method == BLIND:
            return means_of(self.fit(X, z, strength=0.0), test)
        coin = np.random.default_rng([self.seed, 2]).integers(0, 2, len(z))  # z is a covariate here
        model = self.fit(np.column_stack([X, z]), coin, strength=0.0)
        levels = [np.column_stack([test, np.full(len(test), level)]) for level in (0.0, 1.0)]
        return np.asarray(np.mean([means_of(model, table) for table in levels], axis=0))

    def oracle(self) -> FittedCriterion:
        """Return the fair target with the true means, in the units that estimators train in."""
        if self.train.loss == "log_loss":
            return FittedCriterion(FairTarget(smoothing=0.0), true_means(self.train), _NoModel())
        rates, weights = _rates(self.train)
        means, mean = true_means(self.train), np.average(rates, weights=weights)
        units = means / mean if self.train.loss != "squared_error" else means - mean
        return FittedCriterion(FairTarget(smoothing=0.0), units, _NoModel())

    def inverse_propensity(self) -> Floats:
        """Return weights under which z does not depend on X."""
        trees = HistGradientBoostingClassifier(max_leaf_nodes=8, early_stopping=False)
        b = cross_val_predict(trees, self.train.X, self.train.z, cv=2, method="predict_proba")[:, 1]
        b = b.clip(0.01, 0.99)
        return np.where(self.train.z == 1, 0.5 / b, 0.5 / (1 - b))

    def judge(self, method: str, p: Floats) -> Record:
        """Return a method's figures."""
        fair = self.test.fair_score
        if method in (FLOOR, FAIR, BLIND) and self.train.loss not in ("squared_error", "log_loss"):
            rates, weights = _rates(self.train)
            fair = fair * (weights @ rates) / (weights @ self.train.fair_score)
        error = p - fair
        one = self.test.z == 1
        left = error[one].mean(axis=0) - error[~one].mean(axis=0)
        if error.ndim == 2:
            left = left[np.argmax(np.abs(self.train.effects.direct_everyone))]
        return {
            "rmse": float(np.sqrt(np.mean(error**2)) / np.mean(fair)),
            "left": float(left / np.mean(fair)),
        }


class _NoModel:
    """Stands where a fitted criterion has its models: the true means are not predicted."""

    def predict(self, X: Any) -> Floats:
        raise NotImplementedError


def means_of(model: Any, X: Floats) -> Floats:
    """Return the mean of each row, or the share of each class."""
    return np.asarray(model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X))


def true_means(data: SyntheticData) -> Floats:
    """Return the means of both groups at each row."""
    worlds = (*WORLDS_OF_NUMBERS, *WORLDS_OF_CLASSES)
    world = next(world for world in worlds if world.name == data.world)
    return world.means(data.X)


def _rates(data: SyntheticData) -> tuple[Floats, Floats]:
    """Return y per unit of exposure, and the exposure."""
    exposure = np.ones(len(data.y)) if data.exposure is None else data.exposure
    return data.y / exposure, exposure


class Lines:
    """What was measured: a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
            self.records = [json.loads(line) for line in lines]

    def has(self, key: Record) -> bool:
        """Return whether there is a record with these entries."""
        return any(key.items() <= record.items() for record in self.records)

    def add(self, record: Record) -> None:
        """Write a record down."""
        self.records.append(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        (self.path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def measure(
    lines: Lines, worlds: Sequence[str], engines: Sequence[str], rows: int, seed: int
) -> None:
    """Measure what has no record yet of one draw of each world."""
    for world in worlds:
        train = make_world(world, rows, random_state=2 * seed)
        test = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
        for engine in engines:
            case = Case(engine, train, test, seed)
            for method in METHODS:
                place = {"world": world, "engine": engine, "rows": rows, "seed": seed}
                key = {**place, "method": method}
                if lines.has(key):
                    continue
                start = time.process_time()
                p = case.predict(method)
                seconds = time.process_time() - start
                lines.add({**key, **case.judge(method, p), "seconds": round(seconds, 2)})
        print(f"{world}, {rows:,} rows, draw {seed}", flush=True)


def ratios(draws: Mapping[int, Mapping[str, Record]], method: str) -> list[float]:
    """Return the RMSE over that of the floor, a draw each."""
    return [
        d[method]["rmse"] / d[FLOOR]["rmse"] for d in draws.values() if {method, FLOOR} <= set(d)
    ]


def excess_left(draws: Mapping[int, Mapping[str, Record]]) -> list[float]:
    """Return what the fair model leaves beyond the floor, over what the blind one leaves."""
    blind = np.mean([draw[BLIND]["left"] for draw in draws.values()])
    return [(draw[FAIR]["left"] - draw[FLOOR]["left"]) / blind for draw in draws.values()]


def leaves_little(draws: Mapping[int, Mapping[str, Record]]) -> bool:
    """Return whether on average no more is left than by the floor and a tenth of the blind one."""
    fair, floor, blind = (
        abs(float(np.mean([draw[method]["left"] for draw in draws.values()])))
        for method in (FAIR, FLOOR, BLIND)
    )
    return fair <= floor + LEFT_BAR * blind


def _with_error(values: Sequence[float], form: str) -> str:
    mean = format(float(np.mean(values)), form)
    if len(values) < 2:
        return mean
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return f"{mean} ± {format(error, form.lstrip('+'))}"


def _cells(lines: Lines, rows: int) -> Iterator[tuple[str, str, dict[int, dict[str, Record]]]]:
    """Yield world, engine and, by draw and method, the records of one number of rows."""
    for world in NAMES:
        for engine in ENGINES:
            draws: dict[int, dict[str, Record]] = {}
            for record in lines.records:
                if (record["world"], record["engine"], record["rows"]) == (world, engine, rows):
                    draws.setdefault(record["seed"], {})[record["method"]] = record
            whole = {seed: found for seed, found in draws.items() if set(METHODS) <= set(found)}
            if whole:
                yield world, engine, whole


NOTES = (
    "RMSE to the fair means is over that of the same engine on oracle targets; below 1 the "
    "outcome models, which may smooth the targets, know more than the targets say. Direct effect "
    "left is in percent of the mean; of several classes it is that of the class on which z acts "
    "most. Two bars for 40,000 rows: RMSE at most 1.05 (wages, claims, classes) or 1.10 (severity, "
    "pure_premium), and on average no more left, of either sign, than by the floor and a tenth of "
    "what the blind model leaves. The distance from the floor is beside it: "
    "where the floor is too flat, a model that leaves less than the floor is far from it. Mean ± "
    f"standard error over the draws; test sets of {TEST_ROWS:,} rows. Averaged over z: the same "
    "engine on (X, z), its predictions averaged over both levels. Reweighted: the engine with "
    "weights ½/P(z|X), cross-fitted.",
)


def write_page(lines: Lines, path: Path) -> None:
    """Write every table from the records."""
    largest = max(record["rows"] for record in lines.records)
    rows_of = []
    for world, engine, draws in _cells(lines, largest):
        bar = BARS[make_world(world, 1, random_state=0).loss]
        ratio, excess = ratios(draws, FAIR), excess_left(draws)
        kept = float(np.mean(ratio)) <= bar and leaves_little(draws)
        cells = _with_error(ratio, ".3f"), f"{bar:.2f}", _with_error(excess, "+.3f")
        rows_of.append((world, engine, *cells, "yes" if kept else "**no**", str(len(draws))))
    columns = "world", "engine", "RMSE over the floor", "bar", "(left − floor's) / blind's"
    write_table(
        path, "Counts, amounts, wages and classes with known fair means", NOTES,
        (*columns, "within both", "draws"), rows_of,
        ("unsway", "xgboost-cpu", "lightgbm", "numpy", "scikit-learn"),
    )  # fmt: skip
    for rows in sorted({record["rows"] for record in lines.records}, reverse=True):
        append_heading(path, f"{rows:,} rows")
        others = [method for method in METHODS if method != FLOOR]
        found = list(_cells(lines, rows))
        append_table(
            path, "RMSE over the floor", "", ("world", "engine", *others),
            [(w, e, *(_with_error(ratios(d, m), ".2f") for m in others)) for w, e, d in found],
            level=3,
        )  # fmt: skip
        for heading, key, form, factor in (
            ("Direct effect left, in percent of the mean", "left", "+.1f", 100.0),
            ("Seconds of a fit and its predictions", "seconds", ".1f", 1.0),
        ):
            table = [
                (
                    w,
                    e,
                    *(_with_error([factor * r[m][key] for r in d.values()], form) for m in METHODS),
                )
                for w, e, d in found
            ]
            append_table(path, heading, "", ("world", "engine", *METHODS), table, level=3)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--page", action="store_true", help="write the page of what there is")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    options = parser.parse_args()
    lines = Lines(CACHE / "outcomes.jsonl")
    warnings.simplefilter("ignore")
    if not options.page:
        with threadpool_limits(1):
            for seed in range(options.seeds):
                for rows in options.rows:
                    measure(lines, options.worlds, options.engines, rows, seed)
    write_page(lines, options.output)


if __name__ == "__main__":
    main()
