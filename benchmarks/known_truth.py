"""Every method in worlds whose fair score is known: how close it comes, and what it costs.

The noise floor is the same booster trained on labels drawn from the fair score itself. Direct
effect left is the scores' gap between the groups less the fair score's gap on the same rows: in the
population that is gap − explained, and most of the sampling noise cancels. The first table has the
default's RMSE over that of the best of a few alternatives; a section per number of rows follows.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from bar import bar
from booster import DEPTH, ETA, HELD_OUT, Booster
from joblib import Parallel, delayed, parallel_config
from methods import (
    ALTERNATIVES,
    DEFAULT,
    Fit,
    Rows,
    fit_all,
    fit_peers,
    time_propensity,
    usable_methods,
)
from peers import NETWORK
from records import (
    Record,
    Records,
    arguments,
    best_settings,
    default_settings,
    grid,
    versions_of,
    with_error,
)
from sklearn.metrics import log_loss
from tables import append_heading, append_table, write_table
from threadpoolctl import threadpool_limits

from unsway import make_world, score_gap
from unsway.datasets import WORLDS, SyntheticData

Cells = Mapping[str, Mapping[str, Sequence[Record]]]

SIZES, TEST_ROWS, SEEDS = (2_000, 50_000), 50_000, 5
QUICK_ROWS, QUICK_WORLDS = 4_000, ("paper", "opposed_effects")
FLOOR_DRAWS = 3
FLOOR, NETWORK_FLOOR, PROPENSITY = "floor", "floor of the network", "propensity score alone"
#: Method with another base model → its floor.
OTHER_FLOORS = {"fairret, network": NETWORK_FLOOR, NETWORK_FLOOR: NETWORK_FLOOR}


def measure_world(world: str, seed: int, rows: int, methods: Sequence[str], again: bool) -> None:
    """Measure the methods that have no record yet for this draw of a world."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    records = _records(world, seed, rows)
    if again:
        records.forget(methods)
    missing = records.missing(methods)
    train = make_world(world, rows, random_state=2 * seed)
    test = make_world(world, TEST_ROWS, random_state=2 * seed + 1)
    with threadpool_limits(1):
        for floor in records.missing([FLOOR, *({NETWORK_FLOOR} & _floors(methods))]):
            fits = _floor(floor, train, test, seed)
            records.add(fits[:1], lambda _, fits=fits: _mean([judge(fit, test) for fit in fits]))
        if records.missing([PROPENSITY]):
            fit = Fit(PROPENSITY, "", np.empty(0), *time_propensity(_rows(train)))
            records.add([fit], lambda _: {})
        fits = fit_all(missing, _rows(train), _rows(test))
        records.add(fits, lambda fit: judge(fit, test))
    print(f"{world}, seed {seed}: {len(missing)} methods", flush=True)


def judge(fit: Fit, test: SyntheticData) -> Record:
    """Return a method's figures on the test rows."""
    p = fit.scores
    left = score_gap(None, p - test.fair_score, sensitive_features=test.z)
    return {
        "rmse": float(np.sqrt(np.mean((p - test.fair_score) ** 2))),
        "left": left,
        "accuracy": float(np.mean((p > 0.5) == test.y)),
        "log_loss": float(log_loss(test.y, np.clip(p, 0, 1))),
    }


def _floors(methods: Sequence[str]) -> set[str]:
    return {OTHER_FLOORS.get(method, FLOOR) for method in methods}


def _floor(floor: str, train: SyntheticData, test: SyntheticData, seed: int) -> list[Fit]:
    """Fit the base model on labels drawn from the fair score, a few times."""
    rng = np.random.default_rng([seed, 1])  # a stream the world has not used
    fits = []
    for draw in rng.random((FLOOR_DRAWS, len(train.y))):
        labels = (draw < train.fair_score).astype(int)
        if floor == NETWORK_FLOOR:
            (fit,) = fit_peers([NETWORK], Rows(train.X, labels, train.z), _rows(test))
            return [replace(fit, method=floor)]  # one draw: networks vary little
        p = Booster(_rows(train).held()).fit(train.X, labels).predict_proba(test.X)[:, 1]
        fits.append(Fit(floor, "", p, 1.0, 1.0))
    return fits


def _mean(records: Sequence[Record]) -> Record:
    return {key: float(np.mean([record[key] for record in records])) for key in records[0]}


def _rows(data: SyntheticData) -> Rows:
    return Rows(data.X, data.y, data.z)


def _records(world: str, seed: int, rows: int) -> Records:
    return Records(f"known_truth/{world}-{rows}-{seed}")


def write_page(
    path: Path,
    worlds: Sequence[str],
    seeds: int,
    sizes: Sequence[int],
    versions: Mapping[str, str],
) -> None:
    """Write every table from the records."""
    draws = {
        rows: {
            world: [_with_ratio(_records(world, seed, rows).records) for seed in range(seeds)]
            for world in worlds
        }
        for rows in sizes
    }
    write_table(
        path,
        "Every method in worlds of known truth",
        _notes(seeds, versions),
        (
            "world",
            *(
                f"{rows:,} rows: {what}"
                for rows in sizes
                for what in ("best alternative", "RMSE of the default over its RMSE", "less two se")
            ),
        ),
        [(world, *(c for rows in sizes for c in _bar(draws[rows][world]))) for world in worlds],
        versions_of(_records(*key).records for key in product(worlds, range(seeds), sizes)),
    )
    for rows in sizes:
        append_heading(path, f"{rows:,} rows")
        _write_size(path, draws[rows])
    from pictures import draw_ratios  # a machine that only measures need not have matplotlib

    largest = _best(draws[max(sizes)])
    draw_ratios(largest, path.with_suffix(".svg"), highlighted=DEFAULT)


def _bar(draws: Sequence[Sequence[Record]]) -> tuple[str, ...]:
    found = bar(draws)
    return ("–", "–", "–") if found is None else found.cells()


def _best(draws: Mapping[str, Sequence[Sequence[Record]]]) -> dict[str, dict[str, list[Record]]]:
    return {
        world: best_settings(found, lambda run: run.get("rmse", 0.0))
        for world, found in draws.items()
    }


#: Heading, note, key of the record, format.
FIGURES = (
    ("RMSE to the fair score over the noise floor", "", "ratio", ".2f"),
    ("Direct effect left", "Below 0 too much was removed.", "left", "+.3f"),
    ("RMSE to the fair score", "", "rmse", ".4f"),
    ("Accuracy", "Of labels that hold the direct effect: the blind model's is no goal.",
     "accuracy", ".4f"),
    ("Log-loss", "Of the same labels.", "log_loss", ".4f"),
    ("Fit time over a plain fit", "A whole fit, with the propensity score where a method has "
     "one; CPU time of one thread, each beside a plain fit of its own.", "time", ".1f"),
)  # fmt: skip


def _write_size(path: Path, draws: Mapping[str, Sequence[Sequence[Record]]]) -> None:
    """Write the tables of one number of rows."""
    best, columns = _best(draws), ("method", *draws)
    for heading, note, key, form in FIGURES:
        rows_of = grid(
            _having(best, key),
            lambda runs, key=key, form=form: with_error([r[key] for r in runs], form),
        )
        append_table(path, heading, note, columns, rows_of, level=3)
    default = {world: default_settings(found) for world, found in draws.items()}
    several = {
        world: {
            method: [{**runs[0], "default": default[world][method]}]
            for method, runs in found.items()
            if len({r["setting"] for draw in draws[world] for r in draw if r["method"] == method})
            > 1
        }
        for world, found in best.items()
    }
    if any(several.values()):
        note = "The one chosen in each world, and the ratio of RMSE to the floor at the default."
        rows_of = grid(several, _setting)
        append_table(path, "Settings of the peers", note, columns, rows_of, level=3)


def _having(best: Cells, key: str) -> Cells:
    """Leave out methods without this figure, and floors where it says nothing."""
    dull = (FLOOR, NETWORK_FLOOR) if key == "time" else ()
    return {
        world: {m: runs for m, runs in found.items() if key in runs[0] and m not in dull}
        for world, found in best.items()
    }


def _with_ratio(records: Sequence[Record]) -> list[Record]:
    """Return a draw's records with the ratio of RMSE to the floor of the same base model."""
    floors = {r["method"]: r["rmse"] for r in records if r["method"] in (FLOOR, NETWORK_FLOOR)}
    return [
        {**r, "ratio": r["rmse"] / floors.get(OTHER_FLOORS.get(r["method"], FLOOR), np.nan)}
        if "rmse" in r
        else r
        for r in records
    ]


def _setting(runs: Sequence[Record]) -> str:
    ratio = np.mean([run["ratio"] for run in runs[0]["default"]])
    return f"{runs[0]['setting']}; default {ratio:.2f}"


def _notes(seeds: int, versions: Mapping[str, str]) -> tuple[str, ...]:
    peers = ", ".join(f"{name} {number}" for name, number in versions.items())
    about_peers = (
        "",
        "A peer stands at the setting with the lowest mean RMSE to the fair score in each world, "
        "which a user could not know: that favours the peers. They aim at parity or equal error "
        "rates, not at the direct effect. ExponentiatedGradient's score is the mean score of its "
        "predictors by their weights; CorrelationRemover also needs z to predict; FairGBM is a "
        "fork of LightGBM, with 4 leaves and the same η and hold-out; `fairret, network`, with 32 "
        "hidden units, stands over a floor of its own.",
        "",
        f"Peers: {peers}.",
    )
    return (
        f"XGBoost, η {ETA}, depth {DEPTH}, {HELD_OUT:.0%} held out to stop early by, the same rows "
        f"for all; {TEST_ROWS:,} fresh rows to judge by; mean ± standard error over {seeds} draws "
        "of the world, or as many as stand beside a method. The floor is the same booster trained "
        f"on labels drawn from the fair score, {FLOOR_DRAWS} times a draw.",
        "",
        f"The default is `{DEFAULT}`. The best alternative is the one with the smallest mean RMSE "
        f"in a world among {', '.join(f'`{name}`' for name in ALTERNATIVES)}; the ratio is taken "
        "draw by draw.",
        *(about_peers if peers else ()),
    )


def main() -> None:
    """Measure what is missing, and write the page beside this script."""
    options = arguments("worlds", WORLDS, SEEDS, rows=SIZES)
    methods, versions = usable_methods(options.methods)
    worlds, seeds, sizes = options.names, options.seeds, options.rows
    if options.quick:
        worlds = [world for world in worlds if world in QUICK_WORLDS]
        seeds, sizes = 1, [QUICK_ROWS]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        Parallel(n_jobs=options.jobs)(
            delayed(measure_world)(world, seed, rows, methods, options.again)
            for rows in sorted(sizes, reverse=True)  # the longest first
            for seed in range(seeds)
            for world in worlds
        )
    if options.no_page:
        return
    complete = {DEFAULT, *ALTERNATIVES} <= set(options.methods) and seeds >= SEEDS
    whole = sizes == list(SIZES) and worlds == list(WORLDS) and complete
    path = options.output or Path(__file__).with_suffix(".md")
    if not whole and options.output is None:  # a part is shown, and does not replace the page
        path = Path(tempfile.mkdtemp()) / path.name
    write_page(path, worlds, seeds, sizes, versions)


if __name__ == "__main__":
    main()
