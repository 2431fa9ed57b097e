"""``unsway report``: a sweep's folder as one page to look at."""

from __future__ import annotations

from pathlib import Path

import click

from ..files import check_writable
from ..report import write_frontier_report
from ..sweeps import Choice, Frontier
from . import options
from .console import note, say
from .outputs import check_html


@click.command()
@click.argument("store", type=options.ANY_PATH)
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="The .html file.")  # fmt: skip
@options.limits("Mark", "; without a limit, the knee is marked")
@click.option("--title", help="What the report is about.")
@options.quiet
def report(
    store: Path, output: Path, max_direct_effect: float | None, max_accuracy_loss: float | None,
    title: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Show the sweep in the folder STORE, made by `unsway frontier`, as one HTML page.

    The page opens from disk, asks the network for nothing, and has a slider over the strengths.
    """
    check_html(output)
    found = Frontier.load(store)
    check_writable(output)
    choice = _choose(found, max_direct_effect, max_accuracy_loss, quiet)
    write_frontier_report(found, output, choice=choice, title=title)
    if not quiet:
        say(f"Report of {len(found.strengths)} strengths: {output}")


def _choose(
    found: Frontier, effect: float | None, loss: float | None, quiet: bool
) -> Choice | None:
    """Return the strength to mark; limits that cannot be met are an error, no knee is not."""
    if effect is not None or loss is not None:
        return found.select(max_direct_effect=effect, max_accuracy_loss=loss)
    try:
        return found.select("knee")
    except ValueError as error:
        if not quiet:
            note(f"no strength is marked: {error}")
        return None
