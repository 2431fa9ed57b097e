"""``unsway effects``: its options. The work is in ``cli/effects.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options
from ..options import INTERVALS, METHODS, PICTURES


def parse_method(text: str) -> str:
    """Return the method, written with hyphens or underscores, or raise with the known ones."""
    name = text.lower().replace("-", "_")
    if name not in METHODS:
        known = ", ".join(each.replace("_", "-") for each in METHODS)
        raise click.BadParameter(f"{text!r} is not one of {known}")
    return name


@click.command(
    short_help="Estimate what the sensitive column does to the target.",
    epilog=options.example("unsway effects people.csv --target hired --sensitive sex=Male"),
)
@options.table_with_roles
@options.cluster
@click.option("--method", type=parse_method, default="doubly-robust", show_default=True,
              metavar=f"[{'|'.join(each.replace('_', '-') for each in METHODS)}]",
              help="How effects are estimated.")  # fmt: skip
@click.option("--interval", type=click.Choice(INTERVALS),
              help="How intervals are made. [default: influence, or bootstrap where --bootstrap "
              "is given]")  # fmt: skip
@click.option("--bootstrap", type=click.IntRange(min=2), metavar="N",
              help="Replicates, every model fitted again in each. [default: 200]")  # fmt: skip
@options.confidence
@click.option("--cv", type=click.IntRange(min=2), default=5, show_default=True,
              help="Folds of the cross-fitting.")  # fmt: skip
@options.repeats
@options.allow_separation
@options.seed
@options.jobs(-1)
@options.json_file
@click.option("--plots", type=options.NEW_FOLDER, metavar="DIR",
              help=f"Write pictures there: {', '.join(PICTURES)}, as SVG and PNG.")  # fmt: skip
@click.option(
    "--low-memory",
    is_flag=True,
    help="Read a Parquet FILE, or a folder of them, without holding its rows; XGBoost's models are "
    "trained on a sample of 1,000,000.",
)
@options.quiet
def effects(**given: Any) -> None:
    """Estimate what the sensitive column of a CSV or Parquet FILE does to the target.

    Directly, and through the other columns. The target is a label (say which value counts with
    --positive) or a column of numbers, such as the scores of any model.
    """
    from ..effects import effects as run

    run(**given)
