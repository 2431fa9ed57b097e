"""Record what every case gives: ``python tests/regression/record.py OUT.json [--only PATTERN]``.

Floats are written in full, so that they are read back to the last bit. A case that fails is
recorded with its error, and the exit status is 1. ``--fixture`` records the committed subset, of
whose values only a few are kept beside a number that stands for all.
One thread is used throughout; the seconds of each case are printed and not recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

if __name__ == "__main__":  # before NumPy is imported, and so that `regression` can be
    os.environ.update(dict.fromkeys(THREADS, "1"))
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from regression.cases import CASES  # noqa: E402
from regression.registry import Case, thin  # noqa: E402

#: What the values can depend on; an engine may be installed under one of several names.
PACKAGES = {
    "numpy": ("numpy",),
    "scipy": ("scipy",),
    "scikit-learn": ("scikit-learn",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "lightgbm": ("lightgbm",),
    "torch": ("torch",),
    "jax": ("jax",),
    "dask": ("dask",),
}


def versions() -> dict[str, str | None]:
    """Return the versions installed here, and the kind of machine."""
    found: dict[str, str | None] = {"machine": platform.machine()}
    for name, distributions in PACKAGES.items():
        found[name] = next(filter(None, map(_version, distributions)), None)
    return found


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def record(case: Case) -> dict[str, Any]:
    """Return kind and values of a case, or its error."""
    entry: dict[str, Any] = {"kind": case.kind, "defaults": case.defaults}
    try:
        entry["values"] = case.values()
    except Exception as error:  # whatever it is, the other cases are run
        traceback.print_exc()
        entry["error"] = f"{type(error).__name__}: {error}"
    return entry


def chosen_cases(pattern: str | None, *, fixture: bool) -> list[Case]:
    """Return the cases whose name has the pattern in it."""
    return [
        case
        for case in CASES.values()
        if (case.fixture or not fixture) and (pattern is None or re.search(pattern, case.name))
    ]


def _text(document: dict[str, Any]) -> str:
    """Return a recording as JSON, a case a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(entry, allow_nan=False)}"
        for name, entry in document["cases"].items()
    ]
    cases = ",\n".join(lines)
    return f'{{"versions": {json.dumps(document["versions"])},\n"cases": {{\n{cases}\n}}}}\n'


def main(arguments: list[str]) -> int:
    """Record, and return the exit status."""
    parser = argparse.ArgumentParser(description="Record what every case gives.")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    parser.add_argument("--only", metavar="PATTERN", help="cases whose name this is found in")
    parser.add_argument("--fixture", action="store_true", help="the committed subset alone")
    given = parser.parse_args(arguments)
    chosen = chosen_cases(given.only, fixture=given.fixture)
    if not chosen:
        parser.error(f"no case is named like {given.only!r}")
    found, start = {}, time.perf_counter()
    for case in chosen:
        before = time.perf_counter()
        found[case.name] = entry = record(case)
        if given.fixture and "values" in entry:
            entry["values"] = thin(entry["values"])
        state = "FAILED" if "error" in entry else "ok"
        print(f"{time.perf_counter() - before:7.2f} s  {state:<6}  {case.name}", flush=True)
    document = {"versions": versions(), "cases": found}
    given.output.write_text(_text(document), "utf-8")
    failed = [name for name, entry in found.items() if "error" in entry]
    total = time.perf_counter() - start
    print(f"{len(found)} cases, {len(failed)} failed, {total:.0f} s: {given.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
