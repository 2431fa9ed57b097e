"""Which changes to the code the tests notice: a random sample of the mutants that mutmut makes.

What is mutated and which tests look is said in pyproject.toml, under ``[tool.mutmut]``. Results
are kept by mutmut in ``mutants/``, so that a run can stop after some minutes and go on later::

    python benchmarks/mutation.py --minutes 30
    python benchmarks/mutation.py --page

The page lists every survivor with its reason from ``mutation_survivors.toml``; one without a
reason stands there as unexplained. Needs ``pip install mutmut``.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tables import write_table

ROOT = Path(__file__).parents[1]
MUTANTS = ROOT / "mutants"
REASONS = Path(__file__).with_name("mutation_survivors.toml")

#: mutmut's exit codes of a mutant whose tests all passed, and of one that no test runs.
SURVIVED, UNTESTED = 0, 33

#: Mutants in one call of mutmut, which first runs the tests once without any.
CHUNK = 200


@dataclass(frozen=True)
class Mutant:
    """One changed place: its name, where it is, and what its tests said."""

    name: str
    path: str
    exit_code: int | None

    @property
    def survives(self) -> bool:
        """Whether no test failed."""
        return self.exit_code in (SURVIVED, UNTESTED)

    @property
    def room(self) -> str:
        """The folder or file of src/unsway it is in."""
        return self.path.removeprefix("src/unsway/").split("/")[0]


def mutmut(*arguments: str) -> str:
    """Run mutmut from the root and return what it printed."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def all_mutants() -> Iterator[Mutant]:
    """Yield the mutants that were generated, in the order of their names."""
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        known = json.loads(path.read_text("utf-8"))["exit_code_by_key"]
        source = str(path.relative_to(MUTANTS).with_suffix(""))
        yield from (Mutant(name, source, known[name]) for name in sorted(known))


def sample(size: int, seed: int) -> list[Mutant]:
    """Return a random sample of all mutants, the same for the same code and seed."""
    found = list(all_mutants())
    return random.Random(seed).sample(found, min(size, len(found)))  # noqa: S311


def run(size: int, seed: int, minutes: float, jobs: int) -> None:
    """Test what is missing of the sample for so many minutes."""
    stop = time.monotonic() + 60 * minutes
    if not MUTANTS.exists():
        print("generating mutants, and timing the tests of each function", flush=True)
        mutmut("run", "unsway.none.*", "--max-children", str(jobs))
    while time.monotonic() < stop:
        missing = [each.name for each in sample(size, seed) if each.exit_code is None]
        print(f"{len(missing)} of {size} mutants are missing", flush=True)
        if not missing:
            return
        mutmut("run", *missing[:CHUNK], "--max-children", str(jobs))
        if missing == [each.name for each in sample(size, seed) if each.exit_code is None]:
            raise SystemExit("mutmut tested nothing; run it by hand: python -m mutmut run")


def changed_lines(name: str) -> tuple[str, str]:
    """Return the line of a mutant before and after."""
    lines = mutmut("show", name).splitlines()
    old = [line[1:].strip() for line in lines if line.startswith("-") and line[:3] != "---"]
    new = [line[1:].strip() for line in lines if line.startswith("+") and line[:3] != "+++"]
    return " ".join(old), " ".join(new)


def code(text: str) -> str:
    """Return text as code in a cell of a Markdown table."""
    return f"`` {text.replace('|', chr(92) + '|')} ``" if text else "(nothing)"


def write_page(size: int, seed: int) -> None:
    """Write the score by room, and every survivor with its reason."""
    tested = [each for each in sample(size, seed) if each.exit_code is not None]
    reasons = tomllib.loads(REASONS.read_text("utf-8")) if REASONS.exists() else {}
    total, alive = Counter(m.room for m in tested), Counter(m.room for m in tested if m.survives)
    rooms = [
        (room, str(total[room]), str(total[room] - alive[room]),
         f"{1 - alive[room] / total[room]:.1%}")
        for room in sorted(total)
    ]  # fmt: skip
    survivors, explained = [], 0
    for each in (mutant for mutant in tested if mutant.survives):
        before, after = changed_lines(each.name)
        reason = reasons.get(f"{before} -> {after}", "")
        explained += bool(reason)
        survivors.append(f"| {each.path} | {code(before)} | {code(after)} | {reason or '?'} |")
    killed = len(tested) - len(survivors)
    write_table(
        Path(__file__).with_suffix(".md"),
        "Which changes to the code the tests notice",
        (
            f"{len(tested)} mutants drawn at random (seed {seed}) from the "
            f"{len(list(all_mutants())):,} that mutmut makes of the files named in pyproject.toml; "
            f"**{killed / len(tested):.1%} are noticed** by the tests named there. "
            f"{explained} of the {len(survivors)} survivors are explained below.",
        ),
        ("place", "mutants", "noticed", "share"),
        rooms,
        ("mutmut", "pytest"),
    )
    with Path(__file__).with_suffix(".md").open("a", encoding="utf-8") as page:
        page.write(
            "\n## Survivors\n\n| file | before | after | why it is left |\n|---|---|---|---|\n"
        )
        page.write("\n".join(survivors) + "\n")


def main() -> None:
    """Run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=800, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tested at a time")
    parser.add_argument("--minutes", type=float, default=600, help="stop after so many")
    parser.add_argument("--page", action="store_true", help="write the page from the results")
    given = parser.parse_args()
    if given.page:
        write_page(given.sample, given.seed)
    else:
        run(given.sample, given.seed, given.minutes, given.jobs)


if __name__ == "__main__":
    main()
