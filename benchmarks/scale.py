"""What a fair round costs where the rows are spread over workers, and how far one process goes.

Two processes under XGBoost's collective take turns between a round of the built-in log-loss and
fair rounds, on the same quantised rows, one thread each. Then one process trains on more and more
rows. `python benchmarks/scale.py 100` divides all sizes by 100, to try it out.
"""

from __future__ import annotations

import multiprocessing
import resource
import socket
import statistics
import sys
import time
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
from tables import median_ratio, write_table

from unsway import DirectEffect, FairTarget, FairXGBClassifier, Schedule
from unsway.distributed import Collective, Faults, NuisanceSettings, Part, fit_here, together
from unsway.distributed.worker import Worker
from unsway.models.boosting import BoosterSettings
from unsway.models.boosting import start as start_boosting
from unsway.models.xgboost import engine_params
from unsway.models.xgboost_rows import training_matrix, xgboost

COLUMNS, DEPTH, ETA = 20, 6, 0.1
SPREAD_ROWS = (100_000, 1_000_000)
SINGLE_ROWS = (100_000, 1_000_000, 10_000_000)
TURNS, ROUNDS_A_TURN, SINGLE_ROUNDS = 5, 2, 6
CRITERIA = {"fair target": FairTarget(), "direct effect": DirectEffect()}
FEW_TREES = NuisanceSettings(
    n_rounds=2, linear=False
)  # what the rounds cost does not depend on them


def people(n_rows: int, seed: int) -> Part:
    """Return rows in which two of the columns give z away."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS), dtype=np.float32)
    z = (rng.random(n_rows) < 0.5).astype(np.int8)
    X[:, :2] += z[:, None]
    margin = X[:, :6].sum(axis=1) / 4 + 0.8 * (z - 0.5)
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-margin))).astype(np.int8)
    return Part(X, y, z)


def model(criterion: Any, n_jobs: int, rounds: int = 1_000) -> FairXGBClassifier:
    """Return the settings of all figures."""
    schedule = Schedule(ramp_steps=0, pretrain_patience=rounds, patience=rounds, max_steps=rounds)
    return FairXGBClassifier(
        criterion, params={"eta": ETA, "max_depth": DEPTH}, schedule=schedule, n_jobs=n_jobs
    )


def take_turns(rank: int, port: int, n_rows: int, answer: Any) -> None:
    """Time rounds of each kind in turns; both processes wait for each other in every round."""
    with together(rank, 2, "127.0.0.1", port):
        part, collective, kinds, sums = people(n_rows, rank), Collective(), {}, {}
        for name, criterion in CRITERIA.items():
            fresh = model(criterion, 1)
            rows = Worker(fresh, FEW_TREES, Faults(), collective).prepare(part, None)
            boosting = start_boosting(fresh, *rows)

            def fair_round(boosting: Any = boosting, strength: float = fresh.strength_) -> None:
                boosting.step(strength)
                boosting.evaluate()

            kinds[name] = fair_round
            fair_round()
            before = collective.bytes
            fair_round()
            sums[name] = collective.bytes - before
        kinds["built-in"] = built_in_round(fresh, *rows)
        seconds: dict[str, list[float]] = {name: [] for name in kinds}
        for turn in range(TURNS + 1):
            for name, round_of in kinds.items():
                collective.sum(np.ones(1))  # start together
                start = time.perf_counter()
                for _ in range(ROUNDS_A_TURN):
                    round_of()
                if turn:  # the first turn warms up
                    seconds[name].append((time.perf_counter() - start) / ROUNDS_A_TURN)
    answer.put((rank, seconds, sums))


def built_in_round(fresh: FairXGBClassifier, train: Any, validation: Any) -> Any:
    """Return a round of XGBoost's own log-loss on the same rows, with its look at the hold-out."""
    params = {**engine_params(BoosterSettings.of(fresh)), "disable_default_eval_metric": False}
    matrix = training_matrix(params, train.rows.X)
    beside = training_matrix(params, validation.rows.X, bins_of=matrix)
    matrix.set_label(train.rows.y)
    beside.set_label(validation.rows.y)
    booster = xgboost().Booster(params, cache=[matrix, beside])

    def one() -> None:
        number = booster.num_boosted_rounds()
        booster.update(matrix, number)
        booster.eval_set([(beside, "hold-out")], number)

    return one


def free_port() -> int:
    """Return a port nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spread_figures(n_rows: int) -> list[list[str]]:
    """Return the table's rows for two processes with so many rows each."""
    context, port = multiprocessing.get_context("spawn"), free_port()
    answer = context.Queue()
    workers = [
        context.Process(target=take_turns, args=(rank, port, n_rows, answer)) for rank in (0, 1)
    ]
    for worker in workers:
        worker.start()
    _, seconds, sums = min((answer.get() for _ in workers), key=lambda found: found[0])
    for worker in workers:
        worker.join()
    built_in = seconds["built-in"]
    return [
        [
            "2 × 1",
            f"{n_rows:.0e}",
            name,
            f"{1e3 * statistics.median(seconds[name]):.0f}",
            f"{median_ratio(seconds[name], built_in):.2f}",
            f"{sums[name]:.0f}",
            "",
            "",
        ]
        for name in CRITERIA
    ]


def train_alone(n_rows: int, answer: Any) -> None:
    """Train for a few rounds on so many rows; tell the time of a round and the memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends: list[float] = []
    settings = model(DirectEffect(), 2, SINGLE_ROUNDS)
    settings.callback = lambda step: ends.append(time.perf_counter())
    part, start = people(n_rows, 0), time.perf_counter()
    fitted = fit_here(settings, part)
    held = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    rounds = statistics.median(np.diff(ends))
    answer.put((rounds, ends[0] - start, held, fitted.communication_.per_round))


def single_figures(n_rows: int) -> list[str]:
    """Return the table's row for one process, which is new so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    worker = context.Process(target=train_alone, args=(n_rows, answer))
    worker.start()
    seconds, setup, held, _ = answer.get()
    worker.join()
    return [
        "1 × 2",
        f"{n_rows:.0e}",
        "direct effect",
        f"{1e3 * seconds:.0f}",
        "",
        "",
        f"{setup:.1f}",
        f"{held / n_rows:.0f}",
    ]


def main() -> None:
    """Measure, and write the table as it grows."""
    smaller = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rows: list[list[str]] = []
    for n_rows in SPREAD_ROWS:
        rows += spread_figures(n_rows // smaller)
        write(rows, smaller)
    for n_rows in SINGLE_ROWS:
        rows.append(single_figures(n_rows // smaller))
        write(rows, smaller)


def write(rows: list[list[str]], smaller: int) -> None:
    """Write what is measured so far; a trial of smaller sizes is only printed."""
    page = Path(__file__).with_suffix(".md")
    write_table(
        page if smaller == 1 else Path(gettempdir()) / page.name,
        "Rows on several workers",
        [
            f"{COLUMNS} columns of float32, depth {DEPTH}, a third held out, two cores that other "
            "work shares. A round grows a tree and looks at the hold-out, and so does the built-in "
            "one. "
            f"Spread: medians of {TURNS} turns of {ROUNDS_A_TURN} rounds, the built-in log-loss "
            "in the same turns; bytes are what each worker hands in for this library's sums, "
            "XGBoost's own histograms come on top in both. Alone: median of "
            f"{SINGLE_ROUNDS} rounds; setup is everything before the second, the propensity "
            "included; memory is the peak over that of the interpreter, the table itself "
            f"({4 * COLUMNS} bytes a row) among it.",
        ],
        [
            "workers × threads",
            "rows a worker",
            "criterion",
            "ms a round",
            "over built-in",
            "bytes summed a round",
            "setup, s",
            "peak bytes a row",
        ],
        rows,
        ["unsway", "xgboost-cpu", "numpy"],
    )


if __name__ == "__main__":
    main()
