"""``unsway report``: its options. The work is in ``cli/report.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Show the folder of a frontier as one HTML page.",
    epilog=options.example("unsway report frontier -o report.html"),
)
@click.argument("store", type=options.ANY_PATH)
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="The .html file.")  # fmt: skip
@options.limits("Mark", "; without a limit, that of the default rule is marked")
@options.favourable
@options.margin
@options.page_options
@options.quiet
def report(**given: Any) -> None:
    """Show the sweep in the folder STORE, made by `unsway frontier`, as one HTML page.

    The page opens from disk, asks the network for nothing, and has a slider over the strengths.
    """
    from ..report import report as run

    run(**given)
