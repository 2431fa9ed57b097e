"""Fair targets of attributes that are more than two groups, in worlds whose fair score is known.

Five levels, sex with age in four bands, and age cut into five bands where its effect is a curve;
see `unsway.datasets.make_level_world`. RMSE to the true fair score over the noise floor, which is
the same booster trained on outcomes drawn from it; the spread of the direct effect left, the
largest difference between two levels, combinations or tenths by age; and seconds. Draws are kept
as they are done, so that a run can stop after some minutes and another one goes on::

    python benchmarks/levels.py --jobs 16 --minutes 9 --output DIR
    python benchmarks/levels.py --jobs 16 --minutes 9 --output NEXT --records DIR
    python benchmarks/levels.py --page --records DIR NEXT
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from records import with_error
from tables import write_table
from threadpoolctl import threadpool_limits

from unsway import FairXGBClassifier, FairXGBRegressor, Grouping
from unsway.datasets import LEVEL_WORLDS, LevelData, make_level_world

Floats = NDArray[np.float64]

#: How the attributes of each world are read.
GROUPS: Mapping[str, Grouping] = {
    "five_levels": Grouping(sensitive_as="levels"),
    "sex_and_age": Grouping(reference={"sex": "woman"}, bands={"age": [25, 40, 60]}),
    "age": Grouping(bands=[30, 40, 50, 60]),
}
SIZES, SEEDS, TEST_ROWS, NODES = (5_000, 30_000), 5, 30_000, 25
WAYS = ("floor", "blind", "fair targets", "averaged over z", "two levels")
RECORDS = "levels.jsonl"
#: From a way to RMSE, spread and seconds.
Found = dict[str, list[float]]


def sensitive(people: LevelData) -> Any:
    """Return the attributes as an estimator takes them."""
    return people.z if len(people.z) > 1 else next(iter(people.z.values()))


def columns_of_z(world: str, people: LevelData) -> tuple[Floats, Floats]:
    """Return z as columns of numbers, and the rows of them that a mean over z is of."""
    if world == "age":
        age = people.z["age"][:, None]
        return age, np.quantile(age, (np.arange(NODES) + 0.5) / NODES)[:, None]
    if world == "five_levels":
        return np.eye(5)[people.z["origin"]], np.eye(5)
    man, band = np.divmod(people.cells, 4)
    every = [[*np.eye(2)[one], *np.eye(4)[other]] for one, other in product(range(2), range(4))]
    return np.hstack([np.eye(2)[man], np.eye(4)[band]]), np.array(every)


def booster(*, numbers: bool, **settings: Any) -> Any:
    """Return a booster with its default settings."""
    return (FairXGBRegressor if numbers else FairXGBClassifier)(n_jobs=1, **settings)


def scores_of(model: Any, X: Floats) -> Floats:
    """Return predictions of a number, or probabilities."""
    is_classifier = hasattr(model, "predict_proba")
    return np.asarray(model.predict_proba(X)[:, 1] if is_classifier else model.predict(X))


def plain(X: Floats, y: Floats, *, numbers: bool) -> Any:
    """Return a booster without a criterion, which makes no use of what counts as sensitive."""
    halves = np.arange(len(y)) % 2
    return booster(numbers=numbers, strength=0).fit(X, y, sensitive_features=halves)


def averaged(world: str, people: LevelData, X: Floats, *, numbers: bool) -> Floats:
    """Return the predictions of a booster of X and z, averaged over z."""
    joined, every = columns_of_z(world, people)
    model = plain(np.hstack([people.X, joined]), people.y, numbers=numbers)
    each = [scores_of(model, np.hstack([X, np.tile(z, (len(X), 1))])) for z in every]
    return np.asarray(np.mean(each, axis=0))


def measure(world: str, n: int, seed: int, *, numbers: bool) -> Found:
    """Return RMSE, spread and seconds of each way on one draw."""
    given: dict[str, Any] = {"numbers": numbers}
    people = make_level_world(world, n, random_state=2 * seed, **given)
    test = make_level_world(world, TEST_ROWS, random_state=2 * seed + 1, **given)
    rng = np.random.default_rng([seed, 2])
    fair = people.fair_score + rng.normal(size=n) if numbers else None
    if fair is None:
        fair = (rng.random(n) < people.fair_score).astype(float)
    halves = (people.cells > 0).astype(int)

    def fair_targets(z: Any, groups: Grouping | None) -> Floats:
        model = booster(numbers=numbers, groups=groups)
        return scores_of(model.fit(people.X, people.y, sensitive_features=z), test.X)

    ways: dict[str, Callable[[], Floats]] = {
        "floor": lambda: scores_of(plain(people.X, fair, **given), test.X),
        "blind": lambda: scores_of(plain(people.X, people.y, **given), test.X),
        "fair targets": partial(fair_targets, sensitive(people), GROUPS[world]),
        "averaged over z": lambda: averaged(world, people, test.X, **given),
        "two levels": partial(fair_targets, halves, None),
    }
    found = {}
    for name, way in ways.items():
        start = time.perf_counter()
        p = way()
        seconds = time.perf_counter() - start
        rmse = float(np.sqrt(np.mean((p - test.fair_score) ** 2)))
        found[name] = [rmse, test.spread(p), seconds]
    return found


def run_one(name: str) -> tuple[str, Found]:
    """Return what is measured on the draw of this name."""
    warnings.simplefilter("ignore")  # small levels hardly overlap in some draws
    world, outcome, n, seed = name.split()
    with threadpool_limits(1):
        return name, measure(world, int(n), int(seed), numbers=outcome == "number")


def names_of(seeds: int) -> list[str]:
    """Return the names of all draws, the short ones first."""
    every = product(SIZES, range(seeds), LEVEL_WORLDS, ("label", "number"))
    return [f"{world} {outcome} {n} {seed}" for n, seed, world, outcome in every]


def read_records(folders: Iterable[Path], file: str = RECORDS) -> dict[str, Any]:
    """Return the draws that were measured before, by name."""
    known = {}
    for folder in folders:
        for path in sorted(folder.glob(f"{file}*")):
            texts = path.read_text("utf-8").splitlines()
            known.update({line["draw"]: line["found"] for line in map(json.loads, texts)})
    return known


def run(names: Sequence[str], known: Mapping[str, Found], given: argparse.Namespace) -> None:
    """Measure what is missing until the time is over, and write it down draw by draw."""
    stop = time.monotonic() + 60 * given.minutes
    given.output.mkdir(parents=True, exist_ok=True)
    with (
        multiprocessing.get_context("fork").Pool(given.jobs) as pool,
        (given.output / RECORDS).open("a", encoding="utf-8") as file,
    ):
        missing = [name for name in names if name not in known]
        for name, found in pool.imap_unordered(run_one, missing):
            file.write(json.dumps({"draw": name, "found": found}) + "\n")
            file.flush()
            if time.monotonic() > stop:
                pool.terminate()
                break


def line(place: str, draws: Sequence[Found]) -> list[str]:
    """Return the table's row of one world, outcome and size."""
    cells = [place, str(len(draws))]
    over = ([each[way][0] / each["floor"][0] for each in draws] for way in WAYS[1:-1])
    cells += [with_error(ratios, ".2f") for ratios in over]
    cells += [with_error([each[way][1] for each in draws], ".3f") for way in WAYS[:-1]]
    left = [each["fair targets"][1] / each["blind"][1] for each in draws]
    cost = [each["fair targets"][2] / each["two levels"][2] for each in draws]
    return [*cells, f"{np.mean(left):.0%}", with_error(cost, ".2f")]


def write_page(known: Mapping[str, Found], seeds: int) -> None:
    """Write the table of all draws."""
    rows = []
    for world, outcome, n in product(LEVEL_WORLDS, ("label", "number"), SIZES):
        names = [f"{world} {outcome} {n} {seed}" for seed in range(seeds)]
        draws = [known[name] for name in names if name in known]
        if draws:
            rows.append(line(f"{world}, {outcome}, {n:,} rows", draws))
    over = [f"{way}: RMSE" for way in WAYS[1:-1]]
    spreads = [f"{way}: spread" for way in WAYS[:-1]]
    write_table(
        Path(__file__).with_suffix(".md"),
        "Fair targets of attributes that are more than two groups",
        (
            f"XGBoost with its default settings, {TEST_ROWS:,} fresh rows to judge by. RMSE to the "
            "fair score over that of the noise floor, the same booster trained on outcomes drawn "
            "from the fair score. The spread is the largest difference in the direct effect left "
            "between two levels, combinations or tenths by age; last but one its share of that of "
            "the blind model. Last the seconds of a fit over those of one with two levels. "
            "Figures with their standard errors over the draws.",
        ),
        ("world", "draws", *over, *spreads, "left of blind", "cost"),
        rows,
        ("unsway", "xgboost-cpu", "numpy"),
    )


def main() -> None:
    """Measure draws that were not measured before, or write the page beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--output", type=Path, help="folder that keeps finished draws")
    parser.add_argument("--records", type=Path, nargs="*", default=[], help="earlier folders")
    parser.add_argument("--page", action="store_true", help="write the page of the records")
    given = parser.parse_args()
    folders = [*given.records, *([] if given.output is None else [given.output])]
    known = read_records(folders)
    if given.page:
        write_page(known, given.seeds)
    elif given.output is None:
        parser.error("give --output, or --page")
    else:
        run(names_of(given.seeds), known, given)


if __name__ == "__main__":
    main()
