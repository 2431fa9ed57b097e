"""Fair targets of a sensitive attribute with five levels, in a world whose fair score is known.

The levels have shares of about 50, 25, 15, 7 and 3 %. RMSE to the true fair score over the noise
floor, which is the same booster trained on outcomes drawn from it, and the spread of the direct
effect left, the largest difference between two levels. With --store an interrupted run goes on
where it stopped.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from records import with_error
from scipy.special import expit
from tables import write_table
from threadpoolctl import threadpool_limits

from unsway import FairXGBClassifier, FairXGBRegressor

Floats = NDArray[np.float64]

SHARES = (0.5, 0.25, 0.15, 0.07, 0.03)
EFFECTS = np.array([0.0, -0.8, 0.6, -1.2, 1.0])
LOADS = np.array([[0, 0.8, -0.6, 1.0, -0.8], [0, -0.5, 0.9, 0.6, 0.3], [0, 0.2, 0.4, -0.7, 0.9]])
SIZES, SEEDS, TEST_ROWS = (5_000, 30_000), 3, 30_000
WAYS = ("blind", "fair targets", "averaged over z")


@dataclass(frozen=True)
class People:
    """Rows of the world with their truth."""

    X: Floats
    z: NDArray[np.intp]
    y: Floats
    means: Floats

    @property
    def fair(self) -> Floats:
        """The fair score with equal weights of the levels."""
        return np.asarray(self.means.mean(axis=1))

    def spread(self, score: Floats) -> float:
        """Return the spread of the direct effect left."""
        sizes = np.bincount(self.z, minlength=len(SHARES))
        left = np.bincount(self.z, score - self.fair, len(SHARES)) / sizes
        return float(np.ptp(left))


def draw(n: int, seed: int, *, numbers: bool, levels: int = len(SHARES)) -> People:
    """Return rows of the world, labels or numbers, with the first levels only if fewer are asked.

    The effect of a level varies with a covariate, and two covariates interact.
    """
    rng = np.random.default_rng([seed, 1])  # not the stream of any model's seed
    X = rng.normal(size=(n, 6))
    odds = np.log(SHARES[:levels]) + X[:, :3] @ LOADS[:, :levels]
    b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    z = (b.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, levels - 1)
    base = 0.6 * X[:, 0] + 0.5 * X[:, 1] - 0.4 * X[:, 3] + 0.3 * X[:, 4] * X[:, 0] - 0.3
    margin = base[:, None] + EFFECTS[:levels] * (1 + 0.3 * X[:, [4]])
    own = np.arange(n), z
    if numbers:
        return People(X, z, margin[own] + rng.normal(size=n), margin)
    means = expit(margin)
    return People(X, z, (rng.random(n) < means[own]).astype(float), means)


def predict(people: People, y: Floats, test: Any, *, numbers: bool, strength: float) -> Floats:
    """Return the predictions of a booster of the people's rows, with its default settings."""
    if numbers:
        model = FairXGBRegressor(strength=strength, n_jobs=1)
        return np.asarray(model.fit(people.X, y, sensitive_features=people.z).predict(test))
    booster = FairXGBClassifier(strength=strength, n_jobs=1)
    booster.fit(people.X, y.astype(int), sensitive_features=people.z)
    return np.asarray(booster.predict_proba(test)[:, 1])


def averaged(people: People, test: Floats, *, numbers: bool) -> Floats:
    """Return the predictions of a booster of X and z, averaged over the levels."""
    joined = np.column_stack([people.X, np.eye(len(SHARES))[people.z]])
    kind: Any = FairXGBRegressor if numbers else FairXGBClassifier
    halves = np.arange(len(people.y)) % 2  # strength 0 makes no use of the sensitive attribute
    model = kind(strength=0, n_jobs=1)
    y = people.y if numbers else people.y.astype(int)
    model.fit(joined, y, sensitive_features=halves)
    total = np.zeros(len(test))
    for level in np.eye(len(SHARES)):
        rows = np.column_stack([test, np.tile(level, (len(test), 1))])
        total += model.predict(rows) if numbers else model.predict_proba(rows)[:, 1]
    return np.asarray(total / len(SHARES))


def measure(n: int, seed: int, *, numbers: bool) -> dict[str, list[float]]:
    """Return RMSE over the floor and spread of each way on one draw."""
    warnings.simplefilter("ignore")
    people = draw(n, 2 * seed, numbers=numbers)
    test = draw(TEST_ROWS, 2 * seed + 1, numbers=numbers)
    rng = np.random.default_rng([seed, 2])
    noise = rng.normal(size=n) if numbers else rng.random(n)
    fair = people.fair + noise if numbers else (noise < people.fair).astype(float)
    given = {"numbers": numbers}
    with threadpool_limits(1):
        found = {
            "floor": predict(people, fair, test.X, strength=0, **given),
            "blind": predict(people, people.y, test.X, strength=0, **given),
            "fair targets": predict(people, people.y, test.X, strength=1, **given),
            "averaged over z": averaged(people, test.X, **given),
        }
    error = {name: float(np.sqrt(np.mean((p - test.fair) ** 2))) for name, p in found.items()}
    return {name: [error[name] / error["floor"], test.spread(p)] for name, p in found.items()}


def main() -> None:
    """Measure every draw that is not stored, and write the page beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--store", type=Path, help="file that keeps finished draws")
    given = parser.parse_args()
    known: dict[str, Any] = {}
    if given.store and given.store.exists():
        lines = given.store.read_text("utf-8").splitlines()
        known = {line["draw"]: line["found"] for line in map(json.loads, lines)}
    for numbers in (False, True):
        for n in SIZES:
            for seed in range(given.seeds):
                name = f"{'number' if numbers else 'label'}, {n:,} rows, {seed}"
                if name in known:
                    continue
                known[name] = measure(n, seed, numbers=numbers)
                print(name, {way: np.round(v, 3).tolist() for way, v in known[name].items()})
                if given.store:
                    with given.store.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"draw": name, "found": known[name]}) + "\n")
    write_page(known, given.seeds)


def write_page(known: dict[str, Any], seeds: int) -> None:
    """Write the table of all draws."""
    places = [f"{y}, {n:,} rows" for y in ("label", "number") for n in SIZES]
    cells = {
        (place, way): [known[f"{place}, {seed}"][way] for seed in range(seeds)]
        for place in places
        for way in ("floor", *WAYS)
    }
    write_table(
        Path(__file__).with_suffix(".md"),
        "Fair targets of a sensitive attribute with five levels",
        (
            f"XGBoost with its default settings, {seeds} draws, {TEST_ROWS:,} fresh rows to judge "
            "by. The levels have shares of about 50, 25, 15, 7 and 3 %, the same weight in the "
            "fair score, and effects that vary with a covariate. RMSE to the fair score over the "
            "noise floor, and the largest difference between two levels of the direct effect left.",
        ),
        ("outcome", *(f"{way}: {what}" for way in ("floor", *WAYS) for what in ("RMSE", "spread"))),
        [
            (
                place,
                *(
                    with_error([each[part] for each in cells[place, way]], form)
                    for way in ("floor", *WAYS)
                    for part, form in enumerate((".2f", ".3f"))
                ),
            )
            for place in places
        ],
        ("unsway", "xgboost-cpu", "numpy"),
    )


if __name__ == "__main__":
    main()
