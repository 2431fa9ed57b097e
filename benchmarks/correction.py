"""The residual correction of fair targets: none, one number (the default), or a line in b.

The default was chosen on the draws of known_truth.py and the splits of real_data.py. These are
others, so that they favour none of the three.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fair_losses import difference
from joblib import Parallel, delayed, parallel_config
from known_truth import TEST_ROWS, judge
from methods import DEFAULT, Rows, fit_all
from real_data import measure_data, readable, records_of, split_of
from records import Record, Records, versions_of, with_error
from tables import append_table, write_table
from threadpoolctl import threadpool_limits

from unsway import make_world
from unsway.datasets import WORLDS

OTHERS = ("fair target, not corrected", "fair target, corrected by a line")
#: First draw and first split: those of the other pages are below.
FIRST = 100
#: Rows to train on → draws of each world.
DRAWS = {50_000: 4, 2_000: 10}
#: Data → random splits; all rows of Adult are split anew.
SPLITS = {"adult shuffled": 6, "bank 25": 8, "bank 50": 4, "pakdd": 4, "german": 20}


def measure_draw(world: str, rows: int, seed: int) -> None:
    """Measure the methods that have no record yet for this draw of a world."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    records = _records(world, rows, seed)
    missing = records.missing((DEFAULT, *OTHERS))
    train = make_world(world, rows, random_state=2 * seed)
    test = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
    both = (Rows(data.X, data.y, data.z) for data in (train, test))
    with threadpool_limits(1):
        records.add(fit_all(missing, *both), lambda fit: judge(fit, test))


def _records(world: str, rows: int, seed: int) -> Records:
    return Records(f"correction/{world}-{rows}-{seed}")


def tasks() -> Iterator[Any]:
    """Return what is to be measured, the longest first."""
    for name in readable(SPLITS):
        for split in _numbers(SPLITS[name]):
            yield delayed(measure_data)(name, split, (DEFAULT, *OTHERS), False)
    for rows, draws in DRAWS.items():
        for seed in _numbers(draws):
            for world in WORLDS:
                yield delayed(measure_draw)(world, rows, seed)


def write_page(path: Path) -> None:
    """Write the tables from the records."""
    found = {
        (world, rows): [_records(world, rows, seed).records for seed in _numbers(draws)]
        for rows, draws in DRAWS.items()
        for world in WORLDS
    }
    names = [f"{rows:,} rows: {name}" for rows in sorted(DRAWS) for name in OTHERS]

    def table(cells: Callable[[list[dict[str, Record]]], list[str]]) -> list[tuple[str, ...]]:
        return [
            (world, *(c for rows in sorted(DRAWS) for c in cells(_by_method(found[world, rows]))))
            for world in WORLDS
        ]

    write_table(
        path,
        "The residual correction: RMSE to the fair score over that of the default",
        (
            "The default corrects the direct effect by one number. Boosters and draws are as in "
            f"`known_truth.py`, from draw {FIRST} on, which no setting was chosen by: "
            f"{DRAWS[2_000]} draws of 2,000 rows and {DRAWS[50_000]} of 50,000; ratios by draw, "
            "mean ± standard error. Above 1 the default is better.",
        ),
        ("world", *names),
        table(lambda draws: [_ratio(draws, name) for name in OTHERS]),
        versions_of(draw for draws in found.values() for draw in draws),
    )
    sizes = [f"{rows:,} rows: {name}" for rows in sorted(DRAWS) for name in (DEFAULT, *OTHERS)]
    append_table(
        path, "Direct effect left, without its sign", "Means over the draws.", ("world", *sizes),
        table(lambda draws: [_left(draws, name) for name in (DEFAULT, *OTHERS)]),
    )  # fmt: skip
    append_table(
        path,
        "Real data: fair log-loss less that of the default",
        f"Random splits from number {FIRST} on, a third of the rows to judge by; those of Adult "
        "are of all its rows. ± is the standard error of Nadeau and Bengio. Above 0 the default "
        "is better.",
        ("data", "splits", *OTHERS),
        [(name, str(SPLITS[name]), *_differences(name, SPLITS[name])) for name in readable(SPLITS)],
    )


def _numbers(count: int) -> range:
    return range(FIRST, FIRST + count)


def _by_method(draws: list[list[Record]]) -> list[dict[str, Record]]:
    return [{record["method"]: record for record in draw} for draw in draws]


def _ratio(draws: list[dict[str, Record]], name: str) -> str:
    return with_error([draw[name]["rmse"] / draw[DEFAULT]["rmse"] for draw in draws], ".3f")


def _left(draws: list[dict[str, Record]], name: str) -> str:
    return format(float(np.mean([abs(draw[name]["left"]) for draw in draws])), ".3f")


def _differences(name: str, count: int) -> list[str]:
    """Return the difference of each other method from the default."""
    splits = [split_of(name, split) for split in _numbers(count)]
    found = _by_method([records_of(name, split).records for split in _numbers(count)])
    default = [records[DEFAULT] for records in found]
    pairs = [difference(splits, [records[m] for records in found], default) for m in OTHERS]
    return [f"{estimate:+.4f} ± {error:.4f}" for estimate, error in pairs]


def main() -> None:
    """Measure what is missing, and write the page beside this script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2, help="processes, a thread each")
    parser.add_argument("--no-page", action="store_true", help="measure, and write no page")
    options = parser.parse_args()
    with parallel_config(backend="loky", inner_max_num_threads=1):
        Parallel(n_jobs=options.jobs)(tasks())
    if not options.no_page:
        write_page(Path(__file__).with_suffix(".md"))


if __name__ == "__main__":
    main()
