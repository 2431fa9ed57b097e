"""Four commands that write, run in processes of their own, and how their outputs are judged."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from unsway import Frontier
from unsway.cli.app import app
from unsway.models.folder import load_model

ROLES = ["--target", "hired", "--sensitive", "sex=Male", "--engine", "logistic"]
ROLES += ["--criterion", "parity", "--quiet"]
STRENGTHS = "0,0.3,0.6,0.9"
#: What the outputs are before and after each command.
OLD_NEW = {
    "fit": ("strength 0.3", "strength 0.9"),
    "frontier": ("2 strengths", "4 strengths"),
    "report": ("old", "new"),
    "predict": ("old", "new"),
}
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


def is_torn(command: str, seen: str) -> bool:
    """Return whether a state is neither the old nor the new one; a sweep may stop in between."""
    return seen not in (*OLD_NEW[command], "3 strengths")


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
