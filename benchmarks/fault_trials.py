"""Trials of faults.py: a kill, a full disk, a damaged file, and two writers at once.

A trial returns what it found as a record of plain values.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from fault_commands import (
    OLD_NEW,
    SENTENCES,
    arguments,
    fork,
    is_torn,
    marks,
    place_old,
    run,
    state,
    strays,
    wait,
)

from unsway import Frontier, files
from unsway.models.folder import load_model

#: Calls that write; a process is killed before or after one of them.
MOMENTS = ("open", "mkdir", "rename", "replace", "fsync", "chmod", "unlink", "rmdir", "close")


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
        files._exchange = wrap(files._exchange)

    return arm


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

    seconds = rng.uniform(0, 1.0)
    watched = folder / "out" if command == "fit" else None
    code, absent = kill_after(fork(work), None if aimed else seconds, watched)
    seen, kept = state(command, folder), marks(folder)
    again = wait(fork(lambda: run(*arguments(command, folder))))
    return {
        "kind": "kill",
        "command": command,
        "aimed": aimed,
        "killed": code == -signal.SIGKILL,
        "absent": absent,
        "torn": is_torn(command, seen),
        "lost": not before.items() <= kept.items(),
        "redone": not kept.items() <= marks(folder).items(),
        "wrong": again != 0 or state(command, folder) != OLD_NEW[command][1],
        "strays": len(strays(folder)),
        "seen": seen,
    }


def kill_after(pid: int, seconds: float | None, watched: Path | None) -> tuple[int, int]:
    """Wait for a child, which is killed after some seconds; None does not kill.

    Returns its exit status, and how often a watched folder was seen to be absent.
    """
    absent, start = 0, time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), absent
        absent += watched is not None and not watched.exists()
        if seconds is not None and time.monotonic() - start > seconds:
            os.kill(pid, signal.SIGKILL)
            return wait(pid), absent


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
        "torn": is_torn(command, seen),
        "lost": not before.items() <= marks(folder).items(),
        "strays": len(strays(folder)),
        "seen": seen,
    }


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
