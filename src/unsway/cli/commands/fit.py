"""``unsway fit``: its options. The work is in ``cli/fit.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Train a model on a table and write it to a folder.",
    epilog=options.example("unsway fit people.csv --target hired --sensitive sex=Male -o model"),
)
@options.table_with_roles
@options.model_options
@click.option("--strength", type=float, help="λ; 1 for fair targets and 0.9 for a penalty.")
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="Folder for the model.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a model that is there.")
@click.option(
    "--low-memory",
    is_flag=True,
    help="Train from a Parquet FILE, or a folder of them, without holding its rows.",
)
@click.option(
    "--test",
    "test_file",
    type=options.ANY_PATH,
    help="Say by the rows of this file, which are not trained on, whether it worked.",
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Without --test: say by a second training, on four fifths of the rows, whether it worked.",
)
@options.quiet
def fit(**given: Any) -> None:
    """Train a model on a CSV or Parquet FILE and write it to a folder."""
    from ..fit import fit as run

    run(**given)
