"""What is left when a process is killed, a disk is full, a file is damaged, or two write at once.

Every trial runs a command in a process of its own, forked from this one, and judges what it leaves.
Trials are written down one by one under benchmarks/.cache: a run that is stopped goes on, and a
larger number adds to what is there.

    python benchmarks/faults.py --kills 60 --damages 400 --full 40 --writers 10

Linux only (fork and RLIMIT_FSIZE).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fault_commands import OLD_NEW, prepare, strays
from fault_trials import damage, fill, kill, two

import unsway

CACHE = Path(__file__).parent / ".cache" / "faults.jsonl"


def known() -> list[dict[str, Any]]:
    """Return the trials of earlier runs of the same code."""
    if not CACHE.exists():
        return []
    records = [json.loads(line) for line in CACHE.read_text("utf-8").splitlines()]
    return [each for each in records if each["code"] == CODE]


def code_digest() -> str:
    """Return a digest of what is tried: the files that write and read."""
    source = Path(unsway.__file__).parent
    names = ("files.py", "sweeps/store.py", "models/folder.py", "models/card_check.py")
    content = b"".join((source / name).read_bytes() for name in names)
    return hashlib.sha256(content).hexdigest()[:12]


CODE = code_digest()
TRIALS = {"kill": kill, "full": fill, "damage": damage, "two": two}


def measure(counts: dict[str, int]) -> None:
    """Make the trials that are missing."""
    have = Counter(each["kind"] for each in known())
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as place, CACHE.open("a", encoding="utf-8") as file:
        folder = Path(place)
        prepare(folder)
        for kind, number in counts.items():
            for trial in range(have[kind], number):
                found = TRIALS[kind](folder, random.Random(f"{kind} {trial}"))  # noqa: S311
                file.write(json.dumps({**found, "trial": trial, "code": CODE}) + "\n")
                file.flush()
                for name in ("out", "copy"):
                    shutil.rmtree(folder / name, ignore_errors=True)
                for stray in strays(folder):
                    shutil.rmtree(stray, ignore_errors=True)


def markdown(head: list[str], rows: list[list[Any]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def page(records: list[dict[str, Any]]) -> str:
    """Return the counts as Markdown."""
    kills = [each for each in records if each["kind"] == "kill"]
    rows = []
    for command in OLD_NEW:
        for aimed in (True, False):
            some = [e for e in kills if e["command"] == command and e["aimed"] == aimed]
            rows.append([f"{command}, {'aimed' if aimed else 'at random'}", len(some)])
            rows[-1] += [
                sum(e[name] for e in some) for name in ("killed", "torn", "absent", "lost")
            ]
            rows[-1] += [sum(e[name] for e in some) for name in ("redone", "wrong")]
            rows[-1] += [sum(e["strays"] > 0 for e in some)]
    head = ["kills", "trials", "killed", "torn", "absent", "lost", "redone", "wrong", "strays"]
    parts = [markdown(head, rows)]
    full = [each for each in records if each["kind"] == "full"]
    rows = [[c, len(s := [e for e in full if e["command"] == c]), sum(not e["said"] for e in s),
             sum(e["torn"] for e in s), sum(e["lost"] for e in s), sum(e["strays"] > 0 for e in s)]
            for c in OLD_NEW]  # fmt: skip
    head = ["full disk", "trials", "no sentence", "torn", "lost", "strays"]
    parts.append(markdown(head, rows))
    harm = [each for each in records if each["kind"] == "damage"]
    outcomes = ["refused", "harmless", "different in silence", "traceback"]
    rows = [[name, *(sum(e["file"] == name and e["outcome"].startswith(o) for e in harm)
                     for o in outcomes)] for name in sorted({e["file"] for e in harm})]  # fmt: skip
    rows.append(["all", *(sum(e["outcome"].startswith(o) for e in harm) for o in outcomes)])
    parts.append(markdown(["damaged file", *outcomes], rows))
    both = [each for each in records if each["kind"] == "two"]
    rows = [[c, len(s := [e for e in both if e["command"] == c]), sum(e["failed"] for e in s),
             sum(e["wrong"] for e in s), sum(e["strays"] > 0 for e in s)]
            for c in ("fit", "frontier")]  # fmt: skip
    parts.append(markdown(["two at once", "trials", "failed", "wrong", "strays"], rows))
    return "\n".join(parts)


def main() -> None:
    """Make the missing trials and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 600), ("full", 60), ("damages", 2_000), ("writers", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    counts = {
        "kill": given.kills,
        "full": given.full,
        "damage": given.damages,
        "two": given.writers,
    }
    measure(counts)
    text = Path(__file__).with_suffix(".md")
    text.write_text(INTRODUCTION + page(known()), encoding="utf-8")
    sys.stdout.write(text.read_text("utf-8"))


INTRODUCTION = """# Faults

`python benchmarks/faults.py` kills commands, fills the disk, damages files and lets two processes
write at once, on 400 rows with a logistic regression. An aimed kill is before or after one call
that writes (open, mkdir, rename, replace, exchange, fsync, chmod, unlink, rmdir, close); another
comes within a second. Some come too late: the command had finished. After a kill the output must
be the old or the new one, whole; finished strengths must be there; the same command must then
finish, with the right output and without anything left over.

- torn: neither the old nor the new output; absent: moments without a folder, of a watched `fit`
- lost, redone: finished strengths that are gone, or written again by the next run
- wrong: the next run fails or gives another output; strays: unfinished files after the next run
- different in silence: a damaged file is read and scores, figures or the card differ

"""


if __name__ == "__main__":
    main()
