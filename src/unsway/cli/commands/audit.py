"""``unsway audit``: its options. The work is in ``cli/audit.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    "audit",
    short_help="Judge a model by its scores of the rows of a table.",
    epilog=options.example(
        "unsway audit new.csv --target hired --sensitive sex=Male --scores model -o report.html"
    ),
)
@options.table_with_roles
@options.cluster
@click.option("--scores", required=True, metavar="MODEL/|column:NAME|FILE",
              help="A model folder, a column of FILE, or a .csv or .parquet file with the scores "
              "of its rows in their order.")  # fmt: skip
@click.option("--baseline", metavar="MODEL/|column:NAME|FILE", help="Scores to compare with.")
@click.option("--threshold", type=click.FloatRange(0, 1), multiple=True, default=(0.5,),
              show_default=True, help="Select scores above it; may be given again.")  # fmt: skip
@click.option("--selection-rate", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              multiple=True, help="Share of the rows that is selected, such as a rate of approval, "
              "to compare with a fair ranking; may be given again.")  # fmt: skip
@options.favourable
@options.margin
@click.option("--bootstrap", "n_bootstrap", type=click.IntRange(min=0), default=200,
              show_default=True, metavar="N",
              help="Resamples for the intervals of the metrics; 0: none.")  # fmt: skip
@options.confidence
@click.option("--max-rows-for-effects", type=click.IntRange(min=100), default=200_000,
              show_default=True, help="Estimate effects on at most so many rows.")  # fmt: skip
@click.option("--allow-training-rows", is_flag=True,
              help="Audit rows that the model was trained on, and say so.")  # fmt: skip
@options.repeats
@click.option("--no-effects", is_flag=True, help="Leave the causal part out.")
@options.seed
@options.jobs(1)
@click.option("-o", "--output", type=options.NEW_FILE,
              help="Write the report as one HTML file.")  # fmt: skip
@options.page_options
@options.json_file
@click.option("--csv", "csv_file", type=options.NEW_FILE,
              help="Write the table of metrics to this file.")  # fmt: skip
@options.quiet
def audit_command(**given: Any) -> None:
    """Judge a model by its scores of the rows of a CSV or Parquet FILE.

    Any model: a folder that unsway wrote, or scores that somebody else's made. Best on rows that it
    was not trained on.
    """
    from ..audit import audit_command as run

    run(**given)
