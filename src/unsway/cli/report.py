"""``unsway report``: a sweep's folder as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import check_writable
from ..report import write_frontier_report
from ..sweeps import Frontier
from .console import say
from .outputs import check_html


def report(
    store: Path, output: Path, quiet: bool, max_direct_effect: float | None,
    max_accuracy_loss: float | None, **page: Any,
) -> None:  # fmt: skip
    """Show the sweep in the folder STORE, made by `unsway frontier`, as one HTML page.

    The page opens from disk, asks the network for nothing, and has a slider over the strengths.
    """
    check_html(output)
    found = Frontier.load(store)
    check_writable(output)
    choice = found.select(max_direct_effect=max_direct_effect, max_accuracy_loss=max_accuracy_loss)
    write_frontier_report(found, output, choice=choice, **page)
    if not quiet:
        say(f"Report of {len(found.strengths)} strengths: {output}")
