"""What the benchmark scripts share: interleaved timing, and a Markdown table with its context."""

from __future__ import annotations

import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path


def interleave(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each task, run in turn `repeats` times after one warm-up each."""
    for task in tasks.values():
        task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def median_ratio(seconds: Sequence[float], reference: Sequence[float]) -> float:
    """Return the median over repeats of the ratio within a repeat."""
    return statistics.median(a / b for a, b in zip(seconds, reference, strict=True))


def peak_bytes(task: Callable[[], object]) -> int:
    """Return the most memory a task held beyond what was there before it."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def write_table(
    path: Path,
    title: str,
    notes: Sequence[str],
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    packages: Sequence[str] | str,
) -> None:
    """Write a Markdown table with the date and the versions above it, and print it.

    ``packages`` names those whose versions here are given, or is the line of versions itself.
    """
    versions = packages
    if not isinstance(packages, str):
        named = ", ".join(f"{name} {version(name)}" for name in packages)
        versions = f"Python {platform.python_version()}, {named}"
    lines = [
        f"# {title}",
        "",
        f"{date.today()}, {versions}.",
        "",
        *notes,
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def append_table(
    path: Path,
    heading: str,
    note: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    level: int = 2,
) -> None:
    """Add a table under a heading of its own, of this level, to a page, and print it."""
    lines = [
        "", f"{'#' * level} {heading}", "", *([note, ""] if note else []),
        "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]  # fmt: skip
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


def append_heading(path: Path, heading: str) -> None:
    """Add a heading of the second level, for tables of the third."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n## {heading}\n")
    print(f"\n## {heading}")
