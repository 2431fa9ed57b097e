"""``unsway predict``: scores of a table by a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Floats
from ..models.folder import load_model
from ..models.reasons import reasons as find_reasons
from ..models.regression import scores_of
from ..models.saved_model import SavedModel
from ..tables import ColumnTable
from .coded_columns import check_column
from .console import note, say, steps
from .flags import split_columns
from .number_target import exposure_column
from .options import Reading
from .outputs import places
from .table_files import (
    check_suffix,
    plain_column,
    plain_columns,
    read_table,
    read_text,
    write_table,
)


def predict(
    model: Path, file: Path, output: Path, column: str, keep: tuple[str, ...], quiet: bool,
    exposure: str | None = None, reasons: int | None = None, reference: Path | None = None,
    never_name: tuple[str, ...] = (), approve: str = "high",
    **written: str | None,
) -> None:  # fmt: skip
    """Score the rows of a CSV or Parquet FILE with the MODEL folder.

    Columns are found by their names; others, also the target and the sensitive one, are ignored.
    In a .csv file of scores, kept text that a spreadsheet would run as a formula (it begins with =,
    +, -, @, a tab or a carriage return and is no number) gets an apostrophe before it.
    """
    check_suffix(output)
    if reasons is None and (reference is not None or never_name):
        raise ValueError("--reference and --never-name are for reasons; give --reasons K too")
    with places([output], file), steps(3, f"Reading {file.name}", quiet=quiet) as progress:
        saved = load_model(model)
        reading = Reading(**written)
        table = read_table(file, as_text=text_columns(saved), reading=reading)
        kept = split_columns(keep, table.columns, "--keep")
        if column in kept:
            raise ValueError(f"--keep {column!r} has the name of the scores; choose --column")
        progress.next("Scoring")
        scores, notes = predict_table(saved, table)
        scores = for_column(saved, scores, table, exposure)
        as_written = read_text(file, kept, reading) if kept else ColumnTable({})
        result = as_written.with_columns({column: scores})
        if reasons is not None:
            hidden = split_columns(never_name, table.columns, "--never-name")
            others = None if reference is None else _reference(saved, reference, reading)
            given = {"reference": others, "never_name": hidden, "approve": approve}
            result = _with_reasons(result, saved, model_columns(saved, table), reasons, given)
        progress.next("Writing the scores")
        write_table(output, result)
        progress.advance()
    if not quiet:
        if table.notes.get("form"):
            note(table.notes["form"])
        for each in notes:
            note(each)
        what, form = ("scores", ".3f") if saved.loss is None else ("predictions", ",.5g")
        say(f"{len(scores):,} {what}, {np.mean(scores):{form}} on average: {output}")


def text_columns(model: SavedModel) -> list[str]:
    """Return the columns that must be read as text for the model."""
    return [each.name for each in model.features if each.kind == "category"]


def model_columns(model: SavedModel, table: Any) -> Any:
    """Return the columns of a table that the model reads; all of them if one is missing."""
    names = [each.name for each in model.features]
    return plain_columns(table.select(names)) if set(names) <= set(table.columns) else table


def predict_table(model: SavedModel, table: Any) -> tuple[Floats, list[str]]:
    """Return the model's scores, and a note on each column with levels that training did not see.

    Other columns are ignored; the model raises if a column is missing.
    """
    if model.classes:
        raise ValueError(
            f"the model has {len(model.classes)} classes, and no single score; in Python use "
            "load_model(…).predict_proba"
        )
    table = model_columns(model, table)
    scores = scores_of(model, table)  # raises first if a column is missing
    notes = [
        f"column {name!r}: {count:,} rows hold a level that training did not see"
        for name, count in model.unseen(table).items()
    ]
    return scores, notes


def for_column(model: SavedModel, scores: Floats, table: Any, exposure: str | None) -> Floats:
    """Return means per unit of exposure for the exposure in a column, where one is given."""
    if exposure is None:
        return scores
    if model.loss is None:
        raise ValueError("--exposure is for a model of counts or amounts; this one is a classifier")
    values, missing = plain_column(table, check_column(exposure, table.columns, "--exposure"))
    if missing:
        raise ValueError(f"--exposure: column {exposure!r} has {missing:,} rows without one")
    return scores * exposure_column(values, exposure)


def _reference(model: SavedModel, file: Path, reading: Reading) -> Any:
    """Return the rows that reasons are compared with."""
    return model_columns(model, read_table(file, as_text=text_columns(model), reading=reading))


def _with_reasons(result: Any, model: SavedModel, table: Any, k: int, given: dict[str, Any]) -> Any:
    """Return the scores with the reasons of each row and their points beside them."""
    found = find_reasons(model, table, k, **given)
    for rank in range(k):
        for title, values in (
            (f"reason_{rank + 1}", found.names), (f"reason_{rank + 1}_points", found.points)
        ):  # fmt: skip
            if title in result.columns:
                raise ValueError(f"--keep {title!r} has the name of a column of reasons")
            column = [row[rank] if rank < len(row) else None for row in values]
            kind = np.float64 if title.endswith("points") else object  # None as a float is NaN
            result = result.with_columns({title: np.array(column, dtype=kind)})
    return result
