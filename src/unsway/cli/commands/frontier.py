"""``unsway frontier``: its options. The work is in ``cli/frontier.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Train models of many strengths, and choose one.",
    epilog=options.example(
        "unsway frontier people.csv --target hired --sensitive sex=Male -o frontier"
    ),
)
@options.table_with_roles
@options.model_options
@click.option("--strengths", type=options.parse_numbers, metavar="λ,λ,…",
              help="0 to 1 by 0.05 for fair targets and 0 to 0.975 by 0.025 for a penalty; may "
                   "grow from run to run.")  # fmt: skip
@click.option("--test", "test_file", type=options.ANY_PATH,
              help="A file of rows to judge by, with the same columns.")  # fmt: skip
@click.option("--test-fraction", type=click.FloatRange(0, 1, max_open=True), default=0.25,
              show_default=True, help="Without --test: share of the rows to judge by.")  # fmt: skip
@click.option("--cv", type=click.IntRange(min=2), help="Choose by this many folds.")
@click.option("--choose", type=click.Choice(["default", "knee"]),
              help="Unless a limit is given, the default strength, or one that is shown to pass "
                   "less of the direct effect on.")  # fmt: skip
@options.limits("Choose")
@options.favourable
@options.margin
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True,
              help="Strengths trained at a time, each in a process of its own.")  # fmt: skip
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="Folder for models and table; what is finished there is kept.")  # fmt: skip
@options.quiet
def frontier(**given: Any) -> None:
    """Train models of many strengths on a CSV or Parquet FILE, and choose one.

    A run that was stopped goes on where it was when the same command is given again.
    """
    from ..frontier import frontier as run

    run(**given)
