"""Where known_truth.py and real_data.py keep what they measured, and the tables made of it.

A JSON file under benchmarks/.cache for each draw of the data: running a script again measures only
what is missing. Another machine may measure (``--no-page``): the records say by which versions.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import xgboost
from booster import Floats
from methods import ALTERNATIVES, DEFAULT, METHODS, PEERS, Fit

import unsway

Record = dict[str, Any]

CACHE = Path(__file__).parent / ".cache"

#: What the figures of a record depend on.
VERSIONS = (
    f"Python {platform.python_version()}, unsway {unsway.__version__}, xgboost "
    f"{xgboost.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
)


class Records:
    """What was measured on one draw: a record per method and setting."""

    def __init__(self, name: str) -> None:
        self.path = CACHE / f"{name}.json"
        self.records: list[Record] = []
        if self.path.exists():
            self.records = json.loads(self.path.read_text(encoding="utf-8"))

    def missing(self, methods: Iterable[str]) -> list[str]:
        """Return the methods without a record."""
        known = {record["method"] for record in self.records}
        return [method for method in methods if method not in known]

    def forget(self, methods: Iterable[str]) -> None:
        """Drop the records of these methods, so that they are measured again."""
        dropped = set(methods)
        self.records = [record for record in self.records if record["method"] not in dropped]

    def add(self, fits: Iterable[Fit], measure: Callable[[Fit], Record]) -> None:
        """Measure each fit and write it down at once."""
        for fit in fits:
            self.records.append(
                {
                    "method": fit.method,
                    "setting": fit.setting,
                    "time": fit.seconds / fit.plain,
                    "seconds": fit.seconds,
                    "versions": VERSIONS,
                    **measure(fit),
                }
            )
            self._write()

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        (CACHE / ".gitignore").write_text("*\n", encoding="utf-8")
        fresh = self.path.with_suffix(".tmp")
        fresh.write_text(json.dumps(self.records, indent=1), encoding="utf-8")
        fresh.replace(self.path)


def versions_of(draws: Iterable[Sequence[Record]]) -> str:
    """Return by which versions records were measured; more than one are all named."""
    return "; ".join(sorted({record["versions"] for draw in draws for record in draw}))


class Scores:
    """Test scores by method and setting, and what they are judged by, beside the records."""

    def __init__(self, name: str) -> None:
        self.path = CACHE / f"{name}.npz"
        self.arrays: dict[str, Floats] = {}
        if self.path.exists():
            with np.load(self.path) as file:
                names = json.loads(str(file["names"]))
                self.arrays = {name: file[f"array_{k}"] for k, name in enumerate(names)}

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __getitem__(self, name: str) -> Floats:
        return self.arrays[name]

    def keep(self, name: str, values: Floats) -> None:
        """Add an array and write all of them down."""
        self.arrays[name] = np.asarray(values, dtype=np.float64)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".tmp.npz")
        numbered = {f"array_{k}": each for k, each in enumerate(self.arrays.values())}
        np.savez(fresh, names=json.dumps(list(self.arrays)), **numbered)
        fresh.replace(self.path)


def best_settings(
    draws: Sequence[Sequence[Record]], key: Callable[[Record], float]
) -> dict[str, list[Record]]:
    """Return each method's records, a draw each, at the setting with the smallest mean key.

    A method that is missing in some draw keeps the draws it has.
    """
    found: dict[str, dict[str, list[Record]]] = {}
    for draw in draws:
        for record in draw:
            settings = found.setdefault(record["method"], {})
            settings.setdefault(record["setting"], []).append(record)
    return {
        method: min(settings.values(), key=lambda runs: float(np.mean([key(run) for run in runs])))
        for method, settings in found.items()
    }


def default_settings(draws: Sequence[Sequence[Record]]) -> dict[str, list[Record]]:
    """Return each method's records at its first setting, a draw each."""
    found: dict[str, list[Record]] = {}
    for draw in draws:
        first: dict[str, Record] = {}
        for record in draw:
            first.setdefault(record["method"], record)
        for method, record in first.items():
            found.setdefault(method, []).append(record)
    return found


def with_error(values: Sequence[float], form: str) -> str:
    """Return mean ± standard error over the draws; with one draw, the value alone."""
    mean = format(float(np.mean(values)), form)
    if len(values) < 2:
        return mean
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return f"{mean} ± {format(error, form.lstrip('+'))}"


def ordered(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of the registry, with any others (such as a floor) first."""
    known = list(METHODS)
    return sorted(methods, key=lambda name: (known.index(name) if name in known else -1, name))


def grid(
    cells: Mapping[str, Mapping[str, Sequence[Record]]], cell: Callable[[Sequence[Record]], str]
) -> list[tuple[str, ...]]:
    """Return a row per method and a column per data set, from data set → method → records."""
    methods = ordered({method for found in cells.values() for method in found})
    draws = {
        method: max(len(found[method]) for found in cells.values() if method in found)
        for method in methods
    }
    return [
        (
            _label(method, draws[method], max(draws.values())),
            *(cell(found[method]) if method in found else "–" for found in cells.values()),
        )
        for method in methods
    ]


def _label(method: str, draws: int, most: int) -> str:
    """Return a method's name, whose it is, and on how many draws it ran if on fewer than others."""
    notes = ["peer"] * (method in PEERS) + [f"{draws} of {most} draws"] * (draws < most)
    return f"{method} ({', '.join(notes)})" if notes else method


def arguments(
    what: str, names: Sequence[str], seeds: int, rows: Sequence[int] | None = None
) -> argparse.Namespace:
    """Read the command line of a script over `names`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one seed on little data; no page")
    parser.add_argument(f"--{what}", dest="names", nargs="+", choices=names, default=list(names))
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--methods", nargs="+", metavar="NAME", default=[DEFAULT, *ALTERNATIVES])
    chosen.add_argument(
        "--all", dest="methods", action="store_const", const=list(METHODS),
        help="every method, those of other libraries included",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=seeds)
    if rows is not None:
        parser.add_argument(
            "--rows", type=int, nargs="+", default=list(rows), help="rows to train on"
        )
    parser.add_argument("--jobs", type=int, default=2, help="processes, a thread each")
    parser.add_argument("--again", action="store_true", help="measure these methods anew")
    parser.add_argument("--no-page", action="store_true", help="measure, and write no page")
    parser.add_argument("--output", type=Path, help="the page; beside the script by default")
    return parser.parse_args()
