"""What the fair objective costs XGBoost on a CUDA device, beside its built-in one.

Rows are drawn on the device. Built-in and fair rounds run in turn on one quantised matrix, with the
device synchronised before each clock reading. ``--output`` says where the table goes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import xgboost
from tables import append_table, median_ratio, write_table

from unsway.core import Distance, LogLoss, Objective, Penalty, Poisson
from unsway.models.cuda import CudaDerivatives, DeviceGrower
from unsway.models.cuda_device import place_of
from unsway.tables import CodedTable, EngineTable

COLUMNS, DEPTH, ETA, STRENGTH = 20, 6, 0.1, 0.9
WARM, ROUNDS, REPEATS = 5, 25, 7
POOLED = "built-in, pooled memory"
PARAMS = {
    "eta": ETA, "max_depth": DEPTH, "device": "cuda", "disable_default_eval_metric": True,
}  # fmt: skip
#: XGBoost's own objective of each loss, with a margin that starts at 0.
BUILT_IN = {
    "log_loss": {"objective": "binary:logistic", "base_score": 0.5},
    "poisson": {"objective": "count:poisson", "base_score": 1.0, "max_delta_step": 0.7},
}


@dataclass(frozen=True)
class People:
    """Rows on the device: covariates, labels, and the objectives they are trained on."""

    X: Any
    y: Any
    objectives: dict[str, Objective]

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of XGBoost with its own objective of the same loss."""
        loss = next(iter(self.objectives.values())).loss
        return {**PARAMS, **BUILT_IN[loss.name]}


def draw_counts(n: int) -> People:
    """Draw rows with counts, and their fair targets."""
    rng = cupy.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    z = (rng.random(n, dtype=np.float32) < _sigmoid(X[:, 0])).astype(np.float32)
    mean = cupy.exp(0.3 * (X[:, 0] + X[:, 1]) + 0.4 * (z - 0.5))
    y = rng.poisson(mean).astype(np.float32)
    shift = (0.5 - z) * 0.4 * mean
    return People(X, y, {"fair target": Objective(Poisson(), y, shift=shift)})


def draw_people(n: int) -> People:
    """Draw rows whose propensity is known, with the direct-effect penalty and fair targets."""
    rng = cupy.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    b = _sigmoid(X[:, 0])
    z = (rng.random(n, dtype=np.float32) < b).astype(np.float32)
    y = (rng.random(n, dtype=np.float32) < _sigmoid(X[:, 0] + X[:, 1] + z - 0.5)).astype(np.float32)
    design = [cupy.ones(n), b.astype(np.float64), z.astype(np.float64)]
    gram = np.array([[float((one * other).sum()) for other in design] for one in design])
    inverse = np.linalg.inv(gram)
    rows = [sum(inverse[j, k] * design[j] for j in range(3)) for k in (1, 2)]
    alpha, beta = (float((row * y).sum()) for row in rows)
    penalty = Penalty(
        cupy.stack(rows, axis=1),
        Distance.of(["match", "match"], np.array([alpha + beta / 2, 0.0])),
        names=("alpha_1", "beta_0"),
    )
    shift = (0.5 - z) * 0.2
    objectives = {
        "direct effect, K=2": Objective(LogLoss(), y, penalty=penalty),
        "fair target": Objective(LogLoss(), y, shift=shift),
    }
    return People(X, y, objectives)


def _sigmoid(margin: Any) -> Any:
    return 1 / (1 + cupy.exp(-margin))


class Contest:
    """The same rows on one quantised matrix, boosted by the built-in objective and by ours."""

    def __init__(self, people: People) -> None:
        table = EngineTable(tuple(f"column {k}" for k in range(COLUMNS)), {})
        self.place = place_of("cuda")
        rows, few = CodedTable(people.X, table), CodedTable(people.X[:1], table)
        self.params = people.params
        self.engine = DeviceGrower(self.params, rows, few, arrays=cupy, place=self.place)
        self.engine._matrix.set_info(label=people.y)
        self.derivatives = {
            name: CudaDerivatives(objective, "adaptive", ETA)
            for name, objective in people.objectives.items()
        }

    def built_in(self, place: AbstractContextManager[Any] | None = None) -> Callable[[], None]:
        """Return a round with the built-in objective, its memory as a place has it."""
        place = nullcontext() if place is None else place
        with place:
            booster = xgboost.Booster(self.params, cache=[self.engine._matrix])

        def boost() -> None:
            with place:
                booster.update(self.engine._matrix, booster.num_boosted_rounds())

        return boost

    def fair(self, name: str) -> Callable[[], None]:
        """Return a round with one of ours."""
        engine, derivatives = self.engine.fork(), self.derivatives[name].fork()

        def boost() -> None:
            with self.place:  # as around a whole training
                engine.boost(lambda margin: derivatives(margin, STRENGTH))

        return boost

    def by_host(self, name: str) -> Callable[[], None]:
        """Return a round as ``xgboost.train(obj=…)`` goes: the margin takes the way by the host."""
        derivatives = self.derivatives[name].fork()
        matrix = self.engine._matrix
        booster = xgboost.Booster(self.params, cache=[matrix])

        def boost() -> None:
            margin = booster.predict(matrix, output_margin=True, training=True)
            gradient, curvature = derivatives(cupy.asarray(margin), STRENGTH)
            booster.boost(matrix, booster.num_boosted_rounds(), grad=gradient, hess=curvature)

        return boost

    def seconds(self) -> dict[str, list[float]]:
        """Return the seconds of a round, by contender, once for each repeat."""
        starts = {"built-in": self.built_in, POOLED: lambda: self.built_in(self.place)}
        starts |= {name: lambda name=name: self.fair(name) for name in self.derivatives}
        first = next(iter(self.derivatives))
        starts["by the host"] = lambda: self.by_host(first)
        found: dict[str, list[float]] = {name: [] for name in starts}
        for _ in range(REPEATS):
            for name, start in starts.items():
                found[name].append(timed(start(), 5 if name == "by the host" else ROUNDS))
        return found

    def parts(self) -> dict[str, float]:
        """Return the milliseconds of a fair round's parts, the device synchronised after each."""
        engine, derivatives = self.engine.fork(), next(iter(self.derivatives.values()))
        found: dict[str, list[float]] = {"margin": [], "derivatives": [], "tree": []}
        for _ in range(WARM + ROUNDS):
            with self.place:
                marks = [clock()]
                margin = engine._margin()[: engine._n_train]
                marks.append(clock())
                gradient, curvature = derivatives(margin, STRENGTH)
                marks.append(clock())
                engine.booster.boost(engine._matrix, engine.n_trees, grad=gradient, hess=curvature)
                marks.append(clock())
            for name, milliseconds in zip(found, 1e3 * np.diff(marks), strict=True):
                found[name].append(milliseconds)
        return {name: round(statistics.median(each[WARM:]), 3) for name, each in found.items()}


def timed(boost: Callable[[], None], rounds: int) -> float:
    """Return the seconds of a round, after some that are not counted."""
    for _ in range(WARM):
        boost()
    start = clock()
    for _ in range(rounds):
        boost()
    return (clock() - start) / rounds


def clock() -> float:
    """Return the time, once the device has nothing left to do."""
    cupy.cuda.Device().synchronize()
    return time.perf_counter()


def measure(n: int, draw: Callable[[int], People]) -> dict[str, Any]:
    """Return every contender's seconds at n rows."""
    people = draw(n)
    contest = Contest(people)
    seconds = contest.seconds()
    used = cupy.cuda.runtime.memGetInfo()
    found = {"rows": n, "seconds": seconds, "parts_ms": contest.parts()}
    found["loss"] = next(iter(people.objectives.values())).loss.name
    found["device_gb"] = round((used[1] - used[0]) / 1e9, 2)
    print(json.dumps(found), flush=True)
    return found


def table_rows(found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each contender at one number of rows."""
    seconds = found["seconds"]
    for name, each in seconds.items():
        ratios = (median_ratio(each, seconds[other]) for other in ("built-in", POOLED))
        milliseconds = 1e3 * statistics.median(each)
        yield (
            f"{found['rows']:,}",
            found["loss"].replace("_", "-"),
            name,
            f"{milliseconds:.2f}",
            *(f"{ratio:.2f}" for ratio in ratios),
        )


def main() -> None:
    """Measure, and write the table and every number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 5e7, 1e8])
    parser.add_argument("--counts", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    found = []
    for draw, sizes in ((draw_people, given.rows), (draw_counts, given.counts)):
        for n in sizes:
            found.append(measure(int(n), draw))
            cupy.get_default_memory_pool().free_all_blocks()
    (given.output / "gpu.json").write_text(json.dumps(found, indent=1))
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    write_table(
        given.output / "gpu.md",
        "XGBoost on a CUDA device: the cost of the fair objective",
        (
            f"{name}. {COLUMNS} columns, depth {DEPTH}, milliseconds a round: the median of "
            f"{REPEATS} interleaved repeats of {ROUNDS} rounds, the device synchronised before "
            "each clock reading. `time` is the median ratio to the built-in objective as XGBoost "
            "runs it, `pooled` that to the built-in objective with memory from the driver's pool, "
            "as our rounds have it. *By the host* is the way of `xgboost.train(obj=…)`, where "
            "margins leave the device.",
        ),
        ("rows", "loss", "objective", "ms a round", "time", "pooled"),
        [row for each in found for row in table_rows(each)],
        ("xgboost", "numpy"),
    )
    append_table(
        given.output / "gpu.md",
        "What a fair round is made of",
        "The first fair objective, milliseconds, the device synchronised after each part. What a "
        "tree adds comes from XGBoost's predictor.",
        ("rows", "loss", "what the last tree adds to the margins", "derivatives", "tree"),
        [
            (
                f"{each['rows']:,}",
                each["loss"].replace("_", "-"),
                *(f"{ms:.2f}" for ms in each["parts_ms"].values()),
            )
            for each in found
        ],
    )


if __name__ == "__main__":
    main()
