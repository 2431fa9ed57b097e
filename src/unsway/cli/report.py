"""``unsway report``: a sweep's folder as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import check_writable
from ..report import write_frontier_report
from ..sweeps import Frontier
from .console import say
from .outputs import check_html


def report(store: Path, output: Path, title: str | None, quiet: bool, **limits: Any) -> None:
    """Show the sweep in the folder STORE, made by `unsway frontier`, as one HTML page.

    The page opens from disk, asks the network for nothing, and has a slider over the strengths.
    """
    check_html(output)
    found = Frontier.load(store)
    check_writable(output)
    choice = found.select(**limits)
    write_frontier_report(found, output, choice=choice, title=title)
    if not quiet:
        say(f"Report of {len(found.strengths)} strengths: {output}")
