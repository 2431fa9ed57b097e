"""What the source weighs: lines by package, repeated runs of lines, inheritance, files of one fit.

    python benchmarks/code_size.py [COMMIT…]

Without commits these are the one before the redesign to five main types, its end, and the last.
Lines are those of code: without blank ones, comments and docstrings. Each commit is read from git
and, for the fit, run in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tables import append_table, write_table

HERE = Path(__file__).parent
COMMITS = ("78de37f", "39648a6", "HEAD")
#: A pair of places shares at least so many lines.
RUN = 6
#: A class is a carrier of data if it has a field of each of these kinds.
ROLES = (
    {"y", "outcome", "labels", "target"},
    {"z", "groups", "sensitive", "sensitive_features"},
    {"weights", "sample_weight"},
)
#: A line of a constructor that keeps a parameter.
KEPT_PARAMETER = re.compile(r"self\.(\w+) = \1")
#: The log-loss of a margin, in NumPy and JAX, torch or CUDA.
LOG_LOSS = re.compile(r"(?<!def )softplus\(|binary_cross_entropy|log1p\(tail\)")
#: Run in a process of its own: the files of the package whose functions a default fit calls.
FIT = """
import json, sys, warnings
from pathlib import Path
import unsway
from unsway import FairXGBClassifier, make_synthetic
warnings.simplefilter("ignore")
people, root = make_synthetic(2_000, random_state=0), str(Path(unsway.__file__).parent)
seen = set()
sys.setprofile(lambda frame, *_: seen.add(frame.f_code.co_filename))
FairXGBClassifier(n_jobs=1).fit(people.X, people.y, sensitive_features=people.z)
sys.setprofile(None)
print(json.dumps(sorted(name for name in seen if name.startswith(root))))
"""


def sources(commit: str, folder: Path) -> dict[str, str]:
    """Return the package's files at a commit by their path in it, written to a folder too."""
    packed = subprocess.run(["git", "archive", commit, "src"], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    root = folder / "src" / "unsway"
    files = sorted(root.rglob("*.py"))
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in files}


def code_lines(source: str, *, bodies: bool = False) -> list[str]:
    """Return the lines of code without what indents them; or those of bodies alone.

    Bodies have no signatures and no ``self.name = name``, which scikit-learn wants in full of every
    estimator.
    """
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        functions = ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, ast.Module | ast.ClassDef | functions):
            if ast.get_docstring(node, clean=False) is not None:
                left_out.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
            if bodies and isinstance(node, functions):
                left_out.update(range(node.lineno, node.body[0].lineno))
    lines = enumerate(map(str.strip, source.splitlines()), start=1)
    code = [line for at, line in lines if line and line[0] != "#" and at not in left_out]
    return [line for line in code if not bodies or not KEPT_PARAMETER.fullmatch(line)]


def repeated_pairs(files: dict[str, list[str]]) -> int:
    """Return the pairs of places that share a run of lines; imports and brackets do not count."""
    kept = {
        path: [line for line in lines if len(line) > 2 and not line.startswith(("import", "from"))]
        for path, lines in files.items()
    }
    places = defaultdict(list)
    for path, lines in kept.items():
        for at in range(len(lines) - RUN + 1):
            places[tuple(lines[at : at + RUN])].append((path, at))
    pairs = {
        (one, other)
        for found in places.values()
        for number, one in enumerate(found)
        for other in found[number + 1 :]
    }
    # Of a longer run only the place where it begins.
    return sum(
        ((one[0], one[1] - 1), (other[0], other[1] - 1)) not in pairs for one, other in pairs
    )


def classes(files: dict[str, str]) -> Iterator[ast.ClassDef]:
    """Yield every class."""
    for source in files.values():
        yield from (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef))


def longest_inheritance(files: dict[str, str]) -> int:
    """Return how many classes of the package stand above one, at most."""
    parents: dict[str, set[str]] = defaultdict(set)
    for each in classes(files):
        parents[each.name] |= {ast.unparse(base).rpartition(".")[2] for base in each.bases}

    def depth(name: str) -> int:
        return max((1 + depth(base) for base in parents[name] & set(parents) - {name}), default=0)

    return max(map(depth, list(parents)))


def carriers(files: dict[str, str]) -> list[str]:
    """Return the classes that hold an outcome, a sensitive attribute and weights."""
    found = []
    for each in classes(files):
        fields = [n for n in each.body if isinstance(n, ast.AnnAssign)]
        held = {ast.unparse(n.target) for n in fields if ast.unparse(n.annotation)[:3] != "str"}
        if all(held & kind for kind in ROLES):
            found.append(each.name)
    return found


def files_of_a_fit(folder: Path) -> int:
    """Return how many files have a function that a default fit calls."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True
    )
    return len(json.loads(done.stdout.splitlines()[-1]))


def measure(commit: str) -> tuple[list[str], Counter[str]]:
    """Return the facts of a commit in the order of the table, and its lines by package."""
    with tempfile.TemporaryDirectory() as place:
        files = sources(commit, Path(place))
        fit = files_of_a_fit(Path(place))
    code = {path: code_lines(source) for path, source in files.items()}
    packages: Counter[str] = Counter()
    for path, lines in code.items():
        packages[path.rpartition("/")[0].partition("/")[0] or "top level"] += len(lines)
    held = carriers(files)
    facts = [
        f"{sum(packages.values()):,}",
        str(len(files)),
        f"{len(held)}: {', '.join(held)}",
        str(sum(any(map(LOG_LOSS.search, lines)) for lines in code.values())),
        str(repeated_pairs(code)),
        str(repeated_pairs({path: code_lines(text, bodies=True) for path, text in files.items()})),
        str(longest_inheritance(files)),
        str(fit),
    ]
    return facts, packages


NAMES = (
    "lines of code",
    "files",
    "classes that hold an outcome, a sensitive attribute and weights",
    "files that compute the log-loss of a margin",
    f"pairs of places that share {RUN} lines of code or more",
    "the same without signatures and lines such as `self.name = name`",
    "longest inheritance",
    "files with a function that a default fit of `FairXGBClassifier` calls",
)


def main() -> None:
    """Measure the commits and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=COMMITS)
    named = ["git", "log", "--no-walk=unsorted", "--format=%h", *parser.parse_args().commits]
    commits = subprocess.run(named, capture_output=True, text=True, check=True).stdout.split()
    found = [measure(commit) for commit in commits]
    page = HERE / "code_size.md"
    rows = [[name, *values] for name, *values in zip(NAMES, *(f for f, _ in found), strict=True)]
    note = "`python benchmarks/code_size.py COMMIT…`. Code without blank lines, comments and "
    note += "docstrings. Each run of lines that two places share counts once."
    write_table(page, "The size of the source", [note], ["what", *commits], rows, ["xgboost-cpu"])
    names = sorted({name for _, packages in found for name in packages})
    rows = [[name, *(f"{packages[name]:,}" for _, packages in found)] for name in names]
    append_table(page, "Lines of code by package", "", ["package", *commits], rows)


if __name__ == "__main__":
    main()
