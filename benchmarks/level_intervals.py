"""How often intervals of effects and of the direct effect left hold the truth, three levels.

Draws of 3,000 rows of a world with three levels, whose shares are about 57, 27 and 16 %. Draws are
kept as they are done, so that a run can stop after some minutes and another one goes on::

    python benchmarks/level_intervals.py --jobs 16 --minutes 9 --output DIR
    python benchmarks/level_intervals.py --jobs 16 --minutes 9 --output NEXT --records DIR
    python benchmarks/level_intervals.py --page --records DIR NEXT
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from levels import read_records
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from tables import write_table
from threadpoolctl import threadpool_limits

from unsway import Estimate, estimate_effects

Floats = NDArray[np.float64]

#: Shares of the levels at X = 0, their effects on the margin, and how X shifts their odds.
SHARES = (0.5, 0.25, 0.15)
SHIFTS = np.array([0.0, -0.8, 0.6])
LOADS = np.array([[0, 0.8, -0.6], [0, -0.5, 0.9], [0, 0.2, 0.4]])

ROWS, LEVELS, DRAWS = 3_000, 3, 1_000
RECORDS = "level_intervals.jsonl"
MODELS: Mapping[str, Mapping[str, Any]] = {
    "logistic": {
        "outcome_model": LogisticRegression(),
        "propensity_model": LogisticRegression(),
    },
    "default": {},
}
EFFECTS = ("direct_everyone", "explained")
#: From a draw's name to the error and the standard error of each number, and whether all intervals
#: of it hold the truth.
Found = dict[str, dict[str, Any]]


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


def draw(n: int, seed: int) -> People:
    """Return rows of the world.

    The effect of a level varies with a covariate, and two covariates interact.
    """
    rng = np.random.default_rng([seed, 1])  # not the stream of any model's seed
    X = rng.normal(size=(n, 6))
    odds = np.log(SHARES) + X[:, :3] @ LOADS
    b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    z = (b.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, LEVELS - 1)
    base = 0.6 * X[:, 0] + 0.5 * X[:, 1] - 0.4 * X[:, 3] + 0.3 * X[:, 4] * X[:, 0] - 0.3
    margin = base[:, None] + SHIFTS * (1 + 0.3 * X[:, [4]])
    own = np.arange(n), z
    means = expit(margin)
    return People(X, z, (rng.random(n) < means[own]).astype(float), means)


def score(X: Floats) -> Floats:
    """Return the score of a model that was not trained on the rows."""
    return np.asarray(expit(X[:, 0] + 0.4 * X[:, 1] - 0.4 * X[:, 3]))


@cache
def truth() -> dict[str, list[float]]:
    """Return the truth by level, from many rows of the world."""
    people = draw(2_000_000, 9_999)
    inside = [people.z == level for level in range(LEVELS)]
    apart = np.array([(score(people.X) - people.fair)[each].mean() for each in inside])
    fair = np.array([people.fair[each].mean() for each in inside])
    pairs = [inside[0] | each for each in inside]
    direct = people.means - people.means[:, [0]]
    halves = [people.means[:, [0, level]].mean(axis=1) for level in range(LEVELS)]
    return {
        "left": (apart - apart.mean()).tolist(),
        "fair_mean": fair.tolist(),
        "direct_everyone": [direct[pairs[k], k].mean() for k in range(1, LEVELS)],
        "explained": [
            halves[k][inside[k]].mean() - halves[k][inside[0]].mean() for k in range(1, LEVELS)
        ],
        "fair score: direct": [0.0] * (LEVELS - 1),
        "fair score: pass_through": [0.0] * (LEVELS - 1),
    }


def measure(seed: int, models: Mapping[str, Any]) -> Found:
    """Return errors and standard errors on one draw."""
    people = draw(ROWS, 10_000 + seed)
    found = estimate_effects(people.X, people.y, sensitive_features=people.z, **models)
    names = [str(level) for level in range(LEVELS)]
    place = {name: found.levels.index(name) for name in names}
    left, fair = found.direct_effect_left(score(people.X)), found.gap_parts(people.fair)
    estimates: dict[str, list[Estimate | None]] = {
        "left": [left.left[place[name]] for name in names],
        "fair_mean": [found.fair_means[place[name]] for name in names],
        "fair score: direct": [fair.direct[name] for name in names[1:]],
        "fair score: pass_through": [fair.pass_through[name] for name in names[1:]],
    }
    for effect in EFFECTS:
        estimates[effect] = [found.pairs[name][effect] for name in names[1:]]
    return {name: _judge(each, truth()[name]) for name, each in estimates.items()}


def _judge(estimates: list[Estimate | None], true: list[float]) -> dict[str, Any]:
    pairs = list(zip(estimates, true, strict=True))
    return {
        "error": [None if each is None else float(each.estimate - value) for each, value in pairs],
        "se": [None if each is None else float(each.se) for each, _ in pairs],
        "held": [each is None or bool(each.low <= value <= each.high) for each, value in pairs],
    }


def share(held: list[bool]) -> str:
    """Return a share, with a star where its 99.9 % binomial interval excludes .95."""
    low, high = stats.binomtest(sum(held), len(held)).proportion_ci(0.999, method="exact")
    return f"{np.mean(held):.3f}{'' if low <= 0.95 <= high else ' *'}"


def lines(models: str, known: list[Found]) -> list[list[str]]:
    """Return the table's rows of one kind of models."""
    rows = []
    for name, true in truth().items():
        errors, errors_of = (
            np.array([each[name][part] for each in known], dtype=float) for part in ("error", "se")
        )
        single = [
            "–"
            if name.endswith("pass_through")  # its intervals are not symmetric
            else share((np.abs(errors[:, k]) <= 1.96 * errors_of[:, k]).tolist())
            for k in range(len(true))
        ]
        joint = share([all(each[name]["held"]) for each in known])
        spread = np.nanstd(errors, axis=0) / np.nanmean(errors_of, axis=0)
        bias = np.nanmean(errors, axis=0)
        texts = (
            " / ".join(f"{value:+.4f}" for value in bias),
            " / ".join(f"{value:.2f}" for value in spread),
            " / ".join(single),
        )
        rows.append([models, str(len(known)), name, *texts, joint])
    return rows


def run_one(name: str) -> tuple[str, Found]:
    """Return what is measured on the draw of this name."""
    warnings.simplefilter("ignore")  # small levels hardly overlap in some draws
    models, seed = name.split()
    with threadpool_limits(1):
        return name, measure(int(seed), MODELS[models])


def run(names: Sequence[str], known: Mapping[str, Found], given: argparse.Namespace) -> None:
    """Measure what is missing until the time is over, and write it down draw by draw."""
    stop = time.monotonic() + 60 * given.minutes
    missing = [name for name in names if name not in known]
    truth()  # once, before the workers start
    given.output.mkdir(parents=True, exist_ok=True)
    with (
        multiprocessing.get_context("fork").Pool(given.jobs) as pool,
        (given.output / RECORDS).open("a", encoding="utf-8") as file,
    ):
        for name, found in pool.imap_unordered(run_one, missing):
            file.write(json.dumps({"draw": name, "found": found}) + "\n")
            file.flush()
            if time.monotonic() > stop:
                pool.terminate()
                break


def main() -> None:
    """Measure draws that were not measured before, or write the page beside this script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each kind of models")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--output", type=Path, help="folder that keeps finished draws")
    parser.add_argument("--records", type=Path, nargs="*", default=[], help="earlier folders")
    parser.add_argument("--page", action="store_true", help="write the page of the records")
    parser.add_argument("--note", help="a sentence for the page, such as where draws were made")
    given = parser.parse_args()
    folders = [*given.records, *([] if given.output is None else [given.output])]
    known = read_records(folders, RECORDS)
    if given.page:
        write_page(known, given.draws, given.note)
    elif given.output is None:
        parser.error("give --output, or --page")
    else:
        run([f"{models} {seed}" for seed in range(given.draws) for models in MODELS], known, given)


def write_page(known: Mapping[str, Found], draws: int, note: str | None) -> None:
    """Write the table of all draws."""
    write_table(
        Path(__file__).with_suffix(".md"),
        "Intervals of a sensitive attribute with three levels",
        (
            f"Draws of {ROWS:,} rows of a world with three levels, whose shares are about 57, 27 "
            "and 16 %. "
            "`default` is gradient boosting stacked with a linear model, `logistic` a regression "
            "for each level. `left` is the direct effect left in a score, `fair_mean` the mean "
            "fair score of each level; the direct effect in the true fair score and its "
            "pass-through are 0.",
            "",
            "By level, with slashes between: the bias, the standard deviation of the estimates "
            "over their mean standard error, and how often the estimate is within 1.96 standard "
            "errors of the truth; last, how often the intervals of all levels hold it at once. "
            "Nominal is .95; a star marks a 99.9 % binomial interval that excludes it.",
            *(["", note] if note else []),
        ),
        ("models", "draws", "number", "bias", "sd over se", "single intervals", "all at once"),
        [
            row
            for models in MODELS
            if (some := [known[name] for k in range(draws) if (name := f"{models} {k}") in known])
            for row in lines(models, some)
        ],
        ("unsway", "scikit-learn", "numpy"),
    )


if __name__ == "__main__":
    main()
