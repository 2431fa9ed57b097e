"""``unsway pack`` and ``unsway verify``: their options. The work is in ``cli/pack.py``."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Write the audit of a model as a folder that can be verified.",
    epilog=options.example(
        "unsway pack new.csv --target hired --sensitive sex=Male --scores model -o pack"
    ),
)
@options.table_with_roles
@click.option("--scores", required=True, metavar="MODEL/|column:NAME|FILE",
              help="A model folder, a column of FILE, or a .csv or .parquet file with the scores "
              "of its rows in their order.")  # fmt: skip
@click.option("--threshold", type=click.FloatRange(0, 1), multiple=True, default=(0.5,),
              show_default=True, help="Select scores above it; may be given again.")  # fmt: skip
@click.option("--approval-rate", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              multiple=True, default=(0.25,), show_default=True,
              help="Share of people approved, for adverse impact; may be given again.")  # fmt: skip
@click.option("--approve", type=click.Choice(["high", "low"]), default="high", show_default=True,
              help="Which scores are approved.")  # fmt: skip
@options.favourable
@click.option("--bootstrap", "n_bootstrap", type=click.IntRange(min=0), default=200,
              show_default=True, metavar="N", help="Resamples for the intervals.")  # fmt: skip
@options.confidence
@click.option("--no-effects", is_flag=True, help="Leave the causal part out.")
@click.option("--allow-training-rows", is_flag=True,
              help="Audit rows that the model was trained on, and say so.")  # fmt: skip
@options.seed
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="The folder, new or empty.")  # fmt: skip
@options.quiet
def pack(**given: Any) -> None:
    """Write audit, adverse impact, report, card and scores of a model as one folder.

    The folder has a hash of each of its files and of FILE, which stays where it is: it holds the
    sensitive attribute. `unsway verify` computes every number again.
    """
    from ..pack import pack as run

    run(**given)


@click.command(
    short_help="Compute every number of a pack again.",
    epilog=options.example("unsway verify pack"),
)
@click.argument("folder", type=options.ANY_PATH)
@click.option("--table", type=options.ANY_PATH, metavar="FILE",
              help="The table, if it is no longer where it was.")  # fmt: skip
def verify(**given: Any) -> int:
    """Check the hashes of a FOLDER that `unsway pack` wrote, and compute its numbers again.

    Prints a line for each check. The exit status is 0 if all hold, else 1.
    """
    from ..pack import verify as run

    return run(**given)
