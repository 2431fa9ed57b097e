"""``unsway predict``: its options. The work is in ``cli/predict.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Score the rows of a table with a model folder.",
    epilog=options.example("unsway predict model new.csv -o scores.csv"),
)
@click.argument("model", type=options.ANY_PATH)
@click.argument("file", type=options.ANY_PATH)
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="A .csv or .parquet file for the scores.")  # fmt: skip
@click.option("--column", default="score", show_default=True, help="Name of the scores.")
@click.option("--keep", multiple=True, metavar="COLUMN,…",
              help="Columns of FILE to write with the scores; may be given again.")  # fmt: skip
@click.option(
    "--exposure",
    metavar="COLUMN",
    help="Predict counts or amounts for this exposure of each row, not per unit of it.",
)
@options.reading_options
@click.option("--reasons", type=click.IntRange(min=1), metavar="K",
              help="Write up to K reasons: columns that moved a row towards not being "
              "approved.")  # fmt: skip
@click.option("--reference", type=options.ANY_PATH, metavar="FILE",
              help="Rows to compare with in the reasons, such as approved people.")  # fmt: skip
@click.option("--never-name", multiple=True, metavar="COLUMN,…",
              help="Columns that are no reason; may be given again.")  # fmt: skip
@click.option("--approve", type=click.Choice(["high", "low"]), default="high", show_default=True,
              help="Which scores are approved, for the reasons.")  # fmt: skip
@options.quiet
def predict(**given: Any) -> None:
    """Score the rows of a CSV or Parquet FILE with the MODEL folder.

    Columns are found by their names; others, also the target and the sensitive one, are ignored.
    In a .csv file of scores, kept text that a spreadsheet would run as a formula (it begins with =,
    +, -, @, a tab or a carriage return and is no number) gets an apostrophe before it.

    With --reasons there are columns reason_1, reason_1_points and so on: what the column adds to
    the log-odds, against the model's training rows or those of --reference.
    """
    from ..predict import predict as run

    run(**given)
