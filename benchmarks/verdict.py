"""False alarms, wrong "below the margin", power and coverage in worlds whose truth is known.

Draws are kept as they are done, in one file per number of rows and kind of models, so that a run
can stop after some minutes and another one goes on::

    python benchmarks/verdict.py --jobs 16 --minutes 9 --output DIR
    python benchmarks/verdict.py --jobs 16 --minutes 9 --output NEXT --records DIR
    python benchmarks/verdict.py --page --records DIR NEXT
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from verdict_draws import (
    COLUMNS,
    MARGIN,
    Floats,
    Truth,
    refused,
    replicate,
    truth_of,
)

import unsway
from unsway.datasets import WORLDS

#: Seconds between two writings of the records.
SAVE_EVERY = 60


@dataclass(frozen=True)
class Kind:
    """Draws of so many rows with one kind of models, in several worlds.

    "selections" are draws with linear models on decisions.
    """

    models: str
    n_rows: int
    draws: int
    batch: int
    worlds: tuple[str, ...] = WORLDS

    @property
    def name(self) -> str:
        """The name of the file of its records."""
        return f"{self.models}-{self.n_rows}"


KINDS = (
    Kind("linear", 1_000, 2_000, 40),
    Kind("linear", 4_000, 2_000, 20),
    Kind("linear", 20_000, 500, 5),
    Kind("default", 4_000, 300, 1, ("paper", "steps", "adult")),
    Kind("default", 20_000, 100, 1, ("adult",)),
    Kind("selections", 4_000, 500, 5, ("paper", "steps", "adult")),
)


@dataclass(frozen=True)
class Task:
    """Some draws of one world."""

    kind: int
    world: str
    draws: tuple[int, ...]


class Records:
    """What was measured: for each kind the world, the number of the draw, and the columns."""

    def __init__(self) -> None:
        self.known: dict[str, dict[tuple[int, int], Floats]] = {kind.name: {} for kind in KINDS}
        self.codes: set[str] = set()

    def read(self, folder: Path) -> None:
        """Add the records of a folder; columns added since are NaN, other ones are refused."""
        for kind in KINDS:
            path = folder / f"{kind.name}.npz"
            if not path.exists():
                continue
            with np.load(path) as file:
                columns = tuple(file["columns"].tolist())
                if columns != COLUMNS[: len(columns)]:
                    raise SystemExit(f"{path} has other columns; measure again in another folder")
                self.codes.add(str(file["code"]))
                keys = zip(file["world"].tolist(), file["draw"].tolist(), strict=True)
                more = ((0, 0), (0, len(COLUMNS) - len(columns)))
                values = np.pad(file["values"], more, constant_values=np.nan)
                self.known[kind.name].update(zip(keys, values, strict=True))

    def add(self, task: Task, values: Floats) -> None:
        """Add the draws of a task."""
        for draw, row in zip(task.draws, values, strict=True):
            self.known[KINDS[task.kind].name][WORLDS.index(task.world), draw] = row

    def write(self, folder: Path, code: str) -> None:
        """Write every kind that has records, each file atomically."""
        folder.mkdir(parents=True, exist_ok=True)
        for kind, known in self.known.items():
            if not known:
                continue
            keys = sorted(known)
            fresh = folder / f"{kind}.tmp.npz"
            np.savez_compressed(
                fresh,
                columns=np.array(COLUMNS),
                code=np.array(code),
                world=np.array([world for world, _ in keys], dtype=np.uint8),
                draw=np.array([draw for _, draw in keys], dtype=np.uint16),
                values=np.array([known[key] for key in keys], dtype=np.float32),
            )
            fresh.replace(folder / f"{kind}.npz")

    def of(self, kind: Kind, world: str) -> Floats:
        """Return the draws of a cell, a row each, in their order."""
        place, known = WORLDS.index(world), self.known[kind.name]
        rows = [row for (at, _), row in sorted(known.items(), key=lambda each: each[0])
                if at == place]  # fmt: skip
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))


def tasks(done: Iterable[Records], kinds: Iterable[str]) -> Iterator[Task]:
    """Yield what is missing, so that all cells progress alike."""
    found = []
    for place, kind in enumerate(KINDS):
        if kind.name not in kinds:
            continue
        for world in kind.worlds:
            known = {key for each in done for key in each.known[kind.name]}
            at = WORLDS.index(world)
            missing = [draw for draw in range(kind.draws) if (at, draw) not in known]
            for first in range(0, len(missing), kind.batch):
                part = tuple(missing[first : first + kind.batch])
                found.append((part[0] / kind.draws, place, Task(place, world, part)))
    yield from (task for *_, task in sorted(found, key=lambda each: each[:2]))


def read_truths(folder: Path) -> dict[str, Truth]:
    """Return the truth of every world, computed once and kept in the folder."""
    path = folder / "truths.json"
    if path.exists():
        return {name: Truth(**each) for name, each in json.loads(path.read_text()).items()}
    found = {world: truth_of(world) for world in WORLDS}
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: asdict(each) for name, each in found.items()}, indent=1))
    return found


_STOP = 0.0
_TRUTHS: dict[str, Truth] = {}


def _start(stop: float, truths: dict[str, Truth]) -> None:
    global _STOP
    _STOP = stop
    _TRUTHS.update(truths)
    warnings.simplefilter("ignore")  # poor overlap is the point of many worlds


def run_task(task: Task) -> tuple[Task, Floats] | None:
    """Return the draws of a task; None where no time is left."""
    kind, rows, done = KINDS[task.kind], [], []
    for draw in task.draws:
        if time.time() > _STOP:
            break
        try:
            rows.append(replicate(task.world, kind.n_rows, draw, kind.models, _TRUTHS[task.world]))
        except ValueError as error:
            rows.append(refused(error))
        done.append(draw)
    if not done:
        return None
    return Task(task.kind, task.world, tuple(done)), np.array(rows)


def run(folder: Path, others: Iterable[Path], jobs: int, minutes: float, kinds: set[str]) -> None:
    """Measure what is missing for so many minutes, and write it to the folder."""
    stop, mine, elsewhere = time.time() + 60 * minutes, Records(), Records()
    truths = read_truths(folder)
    mine.read(folder)
    for other in others:
        elsewhere.read(other)
    waiting = list(tasks((mine, elsewhere), kinds))
    print(f"{sum(len(task.draws) for task in waiting):,} draws are missing", flush=True)
    code, saved, count = code_hash(), time.time(), 0
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the processes, which import NumPy after this
    context = multiprocessing.get_context("forkserver")
    with context.Pool(jobs, _start, (stop, truths)) as pool:
        for found in pool.imap_unordered(run_task, waiting):
            if found is None:
                continue
            mine.add(*found)
            count += len(found[0].draws)
            if time.time() - saved > SAVE_EVERY:
                mine.write(folder, code)
                saved = time.time()
                print(f"{count:,} draws done", flush=True)
    mine.write(folder, code)
    print(f"{count:,} draws done in this run; records in {folder}", flush=True)


def code_hash() -> str:
    """Return a hash of the code that estimates and decides, to tell records of two states apart."""
    base = Path(unsway.__file__).parent
    files = sorted([*(base / "effects").glob("*.py"), *(base / "auditing").glob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def main() -> None:
    """Run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes, a thread each")
    parser.add_argument("--minutes", type=float, default=9, help="stop after so many")
    parser.add_argument("--output", type=Path, help="folder of the records of this run")
    parser.add_argument("--records", type=Path, nargs="+", default=[], help="of earlier runs")
    parser.add_argument(
        "--kinds", nargs="+", default=[kind.name for kind in KINDS],
        choices=[kind.name for kind in KINDS],
    )  # fmt: skip
    parser.add_argument("--page", action="store_true", help="write the page from the records")
    given = parser.parse_args()
    folder = given.output or Path(__file__).parent / ".cache" / "verdict"
    if not given.page:
        run(folder, given.records, given.jobs, given.minutes, set(given.kinds))
        return
    from verdict_page import write_page

    found = Records()
    for each in [*given.records, *([folder] if folder.exists() else [])]:
        found.read(each)
    truths = read_truths(given.records[0] if given.records else folder)
    write_page(Path(__file__).with_suffix(".md"), KINDS, found, truths, MARGIN)


if __name__ == "__main__":
    main()
