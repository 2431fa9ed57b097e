"""``unsway predict``: scores of a table by a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ..extras import load
from ..files import check_writable
from ..models.folder import SavedModel, load_model_folder
from .console import note, say, steps
from .flags import split_columns
from .table_files import check_suffix, plain_columns, read_table, read_text, write_table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True,
              help="A .csv or .parquet file for the scores.")  # fmt: skip
@click.option("--column", default="score", show_default=True, help="Name of the scores.")
@click.option("--keep", multiple=True, metavar="COLUMN,…",
              help="Columns of FILE to write beside the scores; may be given again.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def predict(
    model: Path, file: Path, output: Path, column: str, keep: tuple[str, ...], quiet: bool
) -> None:
    """Score the rows of a CSV or Parquet FILE with the MODEL folder.

    Columns are found by their names; others, also the target and the sensitive one, are ignored.
    In a .csv file of scores, kept text that a spreadsheet would run as a formula (it begins with =,
    +, -, @, a tab or a carriage return and is no number) gets an apostrophe before it.
    """
    check_suffix(output)
    if output.exists() and file.exists() and output.samefile(file):
        raise ValueError(f"{output} is the table itself; give another name for the scores")
    check_writable(output)
    with steps(3, f"Reading {file.name}", quiet=quiet) as progress:
        saved = load_model_folder(model)
        words = [each.name for each in saved.features if each.kind == "category"]
        table = read_table(file, words=words)
        kept = split_columns(keep, table.column_names, "--keep")
        if column in kept:
            raise ValueError(f"--keep {column!r} has the name of the scores; choose --column")
        progress.advance()
        progress.describe("Scoring")
        features = select_features(saved, table)
        scores = saved.predict_proba(features)[:, 1]
        unseen = saved.unseen(features)
        progress.advance()
        progress.describe("Writing the scores")
        result = read_text(file, kept) if kept else None
        write_table(output, _with_scores(result, column, scores))
        progress.advance()
    if not quiet:
        for name, count in unseen.items():
            note(f"column {name!r}: {count:,} rows hold a level that training did not see")
        say(f"{len(scores):,} scores, {np.mean(scores):.3f} on average: {output}")


def select_features(model: SavedModel, table: Any) -> Any:
    """Return the columns the model reads, those that are there; the model says what is missing."""
    present = [each.name for each in model.features if each.name in table.column_names]
    if len(present) < len(model.features):
        return table  # with every name, so that the message can say which one is close
    return plain_columns(table.select(present))


def _with_scores(kept: Any, column: str, scores: Any) -> Any:
    pyarrow = load("pyarrow", "cli")
    if kept is None:
        return pyarrow.table({column: scores})
    return kept.append_column(column, pyarrow.array(scores))
