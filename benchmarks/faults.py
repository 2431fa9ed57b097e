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
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

from unsway import Frontier
from unsway.cli.app import app
from unsway.models.folder import load_model

CACHE = Path(__file__).parent / ".cache" / "faults.jsonl"
ROLES = ["--target", "hired", "--sensitive", "sex=Male", "--engine", "logistic"]
ROLES += ["--criterion", "parity", "--quiet"]
STRENGTHS = "0,0.3,0.6,0.9"
#: Calls that write; a process is killed before or after one of them.
MOMENTS = ("open", "mkdir", "rename", "replace", "fsync", "chmod", "unlink", "rmdir", "close")
#: What a reader may raise for a damaged file: a sentence.
SENTENCES = (ValueError, OSError)


def run(*arguments: str) -> int:
    """Run a command here; return its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return 1 if isinstance(done.exception, SENTENCES) else 99
    return done.exit_code


def fork(task: Callable[[], int]) -> int:
    """Run a task in a child; return its process number."""
    pid = os.fork()
    if pid:
        return pid
    status = 98
    try:
        status = task()
    finally:
        os._exit(status)


def wait(pid: int) -> int:
    """Return the exit status of a child, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die_at(place: int, after: bool) -> Callable[[], None]:
    """Return what makes this process kill itself at a writing call of this number."""

    def arm() -> None:
        seen = 0

        def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal seen
                seen += 1
                if seen == place and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                found = real(*given, **named)
                if seen == place and after:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            return call

        for name in MOMENTS:
            setattr(os, name, wrap(getattr(os, name)))
        from unsway import files

        files._exchange = wrap(files._exchange)

    return arm


# --- the four commands ---------------------------------------------------------------------------


def arguments(command: str, folder: Path) -> list[str]:
    """Return a command line that writes into a folder, which has the table and a store."""
    table, store = str(folder / "people.csv"), str(folder / "store")
    return {
        "fit": ["fit", table, *ROLES, "--strength", "0.9", "-o", str(folder / "out"),
                "--overwrite"],
        "frontier": ["frontier", table, *ROLES, "--strengths", STRENGTHS, "-o",
                     str(folder / "out")],
        "report": ["report", store, "-o", str(folder / "out.html"), "--quiet"],
        "predict": ["predict", str(folder / "model"), table, "-o", str(folder / "out.csv"),
                    "--quiet"],
    }[command]  # fmt: skip


def prepare(folder: Path) -> None:
    """Write a table, a model, a store and an old output of each command."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 400)
    age = 40 + 10 * rng.normal(size=400)
    hired = (age + 5 * sex + 10 * rng.normal(size=400) > 42).astype(int)
    table = pd.DataFrame({"hired": hired, "sex": np.where(sex, "Male", "Female"), "age": age})
    table["job"] = rng.choice(["clerk", "smith", "baker"], 400)
    table.to_csv(folder / "people.csv", index=False)
    fit = [*ROLES, "--strength", "0.3", "-o"]
    codes = [run("fit", str(folder / "people.csv"), *fit, str(folder / "model"))]
    sweep = [*ROLES, "--strengths", "0,0.9", "-o", str(folder / "store")]
    codes.append(run("frontier", str(folder / "people.csv"), *sweep))
    if codes != [0, 0]:
        raise RuntimeError(f"the commands do not run here: {codes}")


def place_old(command: str, folder: Path) -> None:
    """Put an older output where the command writes its own."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    if command == "fit":
        shutil.copytree(folder / "model", folder / "out")
    elif command == "frontier":
        shutil.copytree(folder / "store", folder / "out")
    for name in ("out.html", "out.csv"):
        (folder / name).write_text("old")


def state(command: str, folder: Path) -> str:
    """Return what the output is now: a digest of a whole one, or what is wrong with it."""
    try:
        if command == "fit":
            return f"strength {load_model(folder / 'out').card['strength']}"
        if command == "frontier":
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = Frontier.load(folder / "out")
            load_model(folder / "out" / "chosen")
            return f"{len(found.strengths)} strengths"
        text = (folder / ("out.html" if command == "report" else "out.csv")).read_text("utf-8")
    except (*SENTENCES, UserWarning) as error:
        return f"broken: {error}"
    whole = text == "old" or text.rstrip().endswith("</html>") or text.count("\n") == 401
    return ("old" if text == "old" else "new") if whole else "broken: cut"


def marks(folder: Path) -> dict[str, tuple[int, int]]:
    """Return when each finished strength was written, and as which file."""
    found = sorted((folder / "out" / "models").glob("[!.]*/row.json"))
    return {each.parent.name: (each.stat().st_mtime_ns, each.stat().st_ino) for each in found}


def strays(folder: Path) -> list[str]:
    """Return what is left of unfinished writing."""
    return [str(each) for each in folder.rglob(".*") if each.name not in (".", "..")]


OLD_NEW = {
    "fit": ("strength 0.3", "strength 0.9"),
    "frontier": ("2 strengths", "4 strengths"),
    "report": ("old", "new"),
    "predict": ("old", "new"),
}


def kill(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Kill a command, judge what is there, run it again, and judge once more."""
    command = rng.choice(tuple(OLD_NEW))
    aimed = rng.random() < 0.6
    place_old(command, folder)
    before = marks(folder)
    arm = die_at(rng.randint(1, 60 if command == "frontier" else 24), rng.random() < 0.5)

    def work() -> int:
        if aimed:
            arm()
        return run(*arguments(command, folder))

    pid = fork(work)
    delay, absent, until = rng.uniform(0, 1.0), 0, time.monotonic()
    until += delay
    target = folder / ("out" if command in ("fit", "frontier") else arguments(command, folder)[-2])
    target = target if target.exists() else folder / "out"
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        if command == "fit":
            absent += not target.exists()
        if not aimed and time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            code = wait(pid)
            break
    seen, kept = state(command, folder), marks(folder)
    lost = not before.items() <= kept.items()
    again = wait(fork(lambda: run(*arguments(command, folder))))
    after = marks(folder)
    return {
        "kind": "kill",
        "command": command,
        "aimed": aimed,
        "killed": code == -signal.SIGKILL,
        "absent": absent,
        "torn": seen not in OLD_NEW[command] and seen != "3 strengths",
        "lost": lost,
        "redone": not kept.items() <= after.items(),
        "wrong": again != 0 or state(command, folder) != OLD_NEW[command][1],
        "strays": len(strays(folder)),
        "seen": seen,
    }


def fill(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Run a command that can write only so many bytes to a file."""
    command = rng.choice(tuple(OLD_NEW))
    place_old(command, folder)
    limit = rng.choice([0, 1, 100, 1_000, 5_000, 50_000])
    before = marks(folder)

    def work() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        return run(*arguments(command, folder))

    code = wait(fork(work))
    seen = state(command, folder)
    return {
        "kind": "full",
        "command": command,
        "said": code in (0, 1),
        "torn": seen not in OLD_NEW[command] and seen != "3 strengths",
        "lost": not before.items() <= marks(folder).items(),
        "strays": len(strays(folder)),
        "seen": seen,
    }


# --- damage --------------------------------------------------------------------------------------


def damaged(content: bytes, rng: random.Random) -> bytes | None:
    """Return a file with one damage; None for a file that is gone."""
    place = rng.randrange(len(content))
    kind = rng.choice(["flip", "flip", "flip", "cut", "gone", "zeros", "twice", "swap", "nested"])
    if kind == "flip":
        return (
            content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
        )
    if kind == "swap":
        other = rng.randrange(len(content))
        low, high = sorted((place, other))
        return (
            content[:low]
            + content[high : high + 9]
            + content[low + 9 : high]
            + content[low : low + 9]
        )
    return {
        "cut": content[:place],
        "gone": None,
        "zeros": content[:place] + bytes(len(content) - place),
        "twice": content + content,
        "nested": b"[" * 100_000,
    }[kind]


def read_model(folder: Path) -> Any:
    """Return all that a reader gets of a model folder."""
    saved, table = load_model(folder), pd.read_csv(folder.parent / "people.csv")
    shown = {name: value for name, value in saved.card.items() if name != "checksum"}
    return saved.predict_proba(table).tobytes(), json.dumps(shown, sort_keys=True)


def read_store(folder: Path) -> Any:
    """Return all that a reader gets of a store."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Frontier.load(folder)
    table = pd.read_csv(folder.parent / "people.csv")
    scores = [found.model(each).predict_proba(table).tobytes() for each in found.strengths]
    facts = json.dumps([dict(found.parts), found.notes, dict(found.fingerprint)], sort_keys=True)
    return repr(found.points), scores, facts


def damage(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Damage one file of a model or a store, and read it."""
    kind, read = rng.choice([("model", read_model), ("store", read_store)])
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / kind, copy)
    whole = read(copy)
    inside = [each for each in sorted(copy.rglob("*")) if each.is_file()]
    path = rng.choice([each for each in inside if "chosen" not in each.parts])
    content = damaged(path.read_bytes(), rng)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    try:
        outcome = "harmless" if read(copy) == whole else "different in silence"
    except (*SENTENCES, UserWarning):
        outcome = "refused"
    except Exception as error:
        outcome = f"traceback: {type(error).__name__}"
    where = path.name if path.name != "card.md" else "card.md, which nothing reads"
    return {"kind": "damage", "file": where, "outcome": outcome}


def two(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Run one command twice at once."""
    command = rng.choice(["fit", "frontier"])
    place_old(command, folder)
    if command == "frontier":
        shutil.rmtree(folder / "out")
    pids = [fork(lambda: run(*arguments(command, folder))) for _ in range(2)]
    codes = [wait(pid) for pid in pids]
    return {
        "kind": "two",
        "command": command,
        "failed": codes != [0, 0],
        "wrong": state(command, folder) != OLD_NEW[command][1],
        "strays": len(strays(folder)),
        "seen": f"{codes} {state(command, folder)}",
    }


# --- the counts ----------------------------------------------------------------------------------


def known() -> list[dict[str, Any]]:
    """Return the trials of earlier runs of the same code."""
    if not CACHE.exists():
        return []
    records = [json.loads(line) for line in CACHE.read_text("utf-8").splitlines()]
    return [each for each in records if each["code"] == CODE]


def code_digest() -> str:
    """Return a digest of what is tried: the files that write and read."""
    import unsway

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
