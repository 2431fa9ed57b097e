"""``unsway demo``: its options. The work is in ``cli/demo.py``, imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import options


@click.command(
    short_help="Train a blind and three fair models, and report on them.",
    epilog=options.example("unsway demo -o demo"),
)
@click.option("-o", "--output", type=options.NEW_FOLDER, default=Path("demo"), show_default=True,
              help="Folder for report.html and story.html.")  # fmt: skip
@click.option(
    "--samples",
    "n_samples",
    type=click.IntRange(min=1_000),
    default=50_000,
    show_default=True,
    help="Rows to train on, and as many to judge by.",
)
@click.option("--strength", type=float, default=0.9, show_default=True, help="λ of both penalties.")
@options.seed
@options.quiet
def demo(**given: Any) -> None:
    """Train a blind model and three fair ones on data whose truth is known, and report on them."""
    from ..demo import demo as run

    run(**given)
