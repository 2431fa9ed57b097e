"""Coverage of the intervals of an audit of counts, amounts and wages where the truth is known.

The predictions are the means given X alone, (1−b)·E[y|X,0] + b·E[y|X,1], which a perfect blind
model would give. The true numbers are those of large draws, where the effects have the true
propensity and the true means of both groups. A run stops after some minutes, and another goes on::

    python benchmarks/number_measures.py --jobs 16 --minutes 9 --output DIR
    python benchmarks/number_measures.py --page --records DIR
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from outcomes import true_means
from scipy import stats
from tables import write_table

from unsway import audit, estimate_effects, make_world
from unsway.datasets import NUMBER_WORLDS, SyntheticData
from unsway.effects import Nuisances

N_ROWS, N_BOOTSTRAP, LARGE, LARGE_DRAWS = 4_000, 100, 250_000, 4
OVERALL = ("deviance", "deviance_explained", "rmse", "gini", "actual_over_expected")
BETWEEN = (
    "outcome_gap", "score_gap", "outcome_ratio", "actual_over_expected_difference",
    "actual_over_expected_ratio", "deviance_explained_difference", "gini_difference",
)  # fmt: skip
EFFECTS = ("total", "explained", "direct_everyone", "direct_overlap")

CACHE, FILE = Path(__file__).parent / ".cache", "number_measures.jsonl"

#: What lies between the 2.5 % and 97.5 % quantiles of so many draws, interpolated, on average.
HELD = 1 - 2 * (0.025 * (N_BOOTSTRAP - 1) + 1) / (N_BOOTSTRAP + 1)

Record = dict[str, Any]


def blind_means(data: SyntheticData) -> np.ndarray:
    """Return the mean of each row given X alone."""
    means, b = true_means(data), data.propensity
    return (1 - b) * means[:, 0] + b * means[:, 1]


def numbers(found: Any, effects: Any, p: np.ndarray) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield every estimate of an audit and of its effects by group and name."""
    for key, each in found.metrics.entries.items():
        if key.metric in (*OVERALL, *BETWEEN):
            yield (key.group, key.metric), each
    for name in EFFECTS:
        yield ("effects", name), getattr(effects, name)
    yield ("predictions", "direct effect left"), effects.direct_effect_left(p)
    parts = effects.gap_parts(p)
    yield ("predictions", "direct effect"), parts.direct
    if parts.pass_through is not None:
        yield ("predictions", "pass-through"), parts.pass_through


def roles(data: SyntheticData) -> dict[str, Any]:
    """Return what an audit is told of rows."""
    exposure = {} if data.exposure is None else {"exposure": data.exposure}
    return {"sensitive_features": data.z, "loss": data.loss, **exposure}


def measure(world: str, seed: int, stop: float) -> Record | None:
    """Return every estimate with its interval, of one draw; None after the time is over."""
    if time.time() > stop:
        return None
    warnings.simplefilter("ignore")
    data = make_world(world, N_ROWS, random_state=10_000 + seed)
    p = blind_means(data)
    found = audit(data.y, p, X=data.X, n_bootstrap=N_BOOTSTRAP, random_state=seed, **roles(data))
    named = numbers(found, found.causal.labels, p)
    numbers_of = {"/".join(key): (each.estimate, each.low, each.high) for key, each in named}
    return {"world": world, "seed": seed, "numbers": numbers_of}


def read_records(folders: Sequence[Path]) -> list[Record]:
    """Return the draws in some folders, each once."""
    found: dict[tuple[str, int], Record] = {}
    for folder in folders:
        path = folder / FILE
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            found[record["world"], record["seed"]] = record
    return list(found.values())


def run(folder: Path, others: Sequence[Path], draws: int, jobs: int, minutes: float) -> None:
    """Measure what is missing for so many minutes, a line of JSON for each draw."""
    known = {(each["world"], each["seed"]) for each in read_records([folder, *others])}
    wanted = [(world, seed) for seed in range(draws) for world in NUMBER_WORLDS]
    stop = time.time() + 60 * minutes
    tasks = (delayed(measure)(*each, stop) for each in wanted if each not in known)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / FILE).open("a", encoding="utf-8") as file:
        for record in Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks):
            if record is not None:
                file.write(json.dumps(record) + "\n")
                file.flush()


def true_numbers(world: str) -> dict[tuple[str, str], float]:
    """Return the true numbers: means over large draws."""
    draws = defaultdict(list)
    for seed in range(LARGE_DRAWS):
        data = make_world(world, LARGE, random_state=seed)
        p, rows = blind_means(data), roles(data)
        known = Nuisances(propensity=data.propensity, outcome=true_means(data))
        effects = estimate_effects(data.X, data.y, nuisances=known, max_extreme_share=1, **rows)
        found = audit(data.y, p, n_bootstrap=0, **rows)
        for key, each in numbers(found, effects, p):
            draws[key].append(each.estimate)
    return {key: float(np.mean(values)) for key, values in draws.items()}


def excludes(hits: int, draws: int) -> bool:
    """Return whether the 99.9 % binomial interval of a coverage leaves .95 out."""
    interval = stats.binomtest(hits, draws).proportion_ci(confidence_level=0.999)
    return not interval.low <= 0.95 <= interval.high


def table(world: str, draws: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each number of a world."""
    for key, value in true_numbers(world).items():
        known = [each["numbers"].get("/".join(key)) for each in draws]
        ends = np.array([each for each in known if each is not None], dtype=float)
        if not len(ends) or not np.isfinite(value):
            continue
        hits = int(((ends[:, 1] <= value) & (value <= ends[:, 2])).sum())
        flag = " *" if excludes(hits, len(ends)) else ""
        mean, spread = np.mean(ends[:, 0]), np.std(ends[:, 0], ddof=1)
        cells = (f"{value:.4g}", f"{mean:.4g} ± {spread / np.sqrt(len(ends)):.2g}")
        bounded = f"{np.mean(np.isfinite(ends[:, 1:]).all(axis=1)):.0%}"
        yield world, *key, *cells, f"{spread:.2g}", bounded, f"{hits / len(ends):.3f}{flag}"


def write_page(path: Path, records: Sequence[Record]) -> None:
    """Write the table of what was measured."""
    by_world = {name: [r for r in records if r["world"] == name] for name in NUMBER_WORLDS}
    rows = [line for name, draws in by_world.items() if draws for line in table(name, draws)]
    out = sum(line[-1].endswith("*") for line in rows)
    counts = sorted({len(draws) for draws in by_world.values() if draws})
    shown = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    note = (
        f"Coverage of 95 % intervals over {shown} draws of {N_ROWS:,} rows, with {N_BOOTSTRAP} "
        "resamples. The predictions are the true means given X alone. True numbers: "
        f"{LARGE_DRAWS} draws of {LARGE:,} rows with the true propensity and means. Bounded: "
        "intervals with both ends; the others hold every value on a side. Intervals of metrics lie "
        f"between two quantiles of the resamples, which hold {HELD:.1%} with so many and more with "
        "more; those of effects have formulas. A star marks a coverage "
        f"whose 99.9 % binomial interval leaves .95 out: {out} of {len(rows)}."
    )
    columns = ("world", "group", "measure", "true", "mean estimate", "spread", "bounded",
               "coverage")  # fmt: skip
    packages = ("unsway", "numpy", "scikit-learn")
    write_table(path, "Intervals of audits of numbers", [note], columns, rows, packages)


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10, help="stop after so many")
    parser.add_argument("--output", type=Path, default=CACHE, help="folder of the records")
    parser.add_argument("--records", type=Path, nargs="+", default=[], help="of earlier runs")
    parser.add_argument("--page", action="store_true", help="write the page from the records")
    given = parser.parse_args()
    if not given.page:
        run(given.output, given.records, given.draws, given.jobs, given.minutes)
        return
    write_page(Path(__file__).with_suffix(".md"), read_records([*given.records, given.output]))


if __name__ == "__main__":
    main()
