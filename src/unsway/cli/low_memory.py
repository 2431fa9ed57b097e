"""``unsway fit --low-memory``: a model from Parquet files whose rows are never held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._typing import Floats
from ..criteria import FittedCriterion
from ..extras import load
from ..models.external import check_low_memory, fit_rows, predict_rows
from ..models.folder import TrainingRoles
from ..models.parquet import ParquetRows, column_names
from ..rows import Rows
from .flags import RoleFlags, check_column, split_columns, split_sensitive, take_roles
from .table_files import MANY_LEVELS


def check_files(engine: str, file: Path, classifier: Any) -> None:
    """Refuse what cannot be trained from files."""
    if engine != "xgboost":
        raise click.UsageError(f"--low-memory trains with --engine xgboost, not with {engine}")
    if file.suffix.lower() == ".csv":
        raise ValueError(f"{file}: --low-memory reads Parquet; write the table as .parquet first")
    check_low_memory(classifier, 1)


def train_from_files(
    file: Path,
    flags: RoleFlags,
    classifier: Any,
    criterion: Any,
    on_step: Callable[[Any], None],
) -> tuple[Rows, TrainingRoles, FittedCriterion, Floats, dict[str, Any]]:
    """Fit the classifier; return rows, roles, criterion, scores and parts of all rows."""
    files, rows, roles = roles_of_files(file, flags)
    refuse_row_names(files)
    classifier.criterion, classifier.callback = criterion, on_step
    coded = replace(
        rows,
        outcome=replace(rows.outcome, classes=np.array([0, 1])),
        groups=replace(rows.groups, levels=(0, 1)),
    )
    fitted = fit_rows(classifier, files, coded)
    parts = {"train": np.flatnonzero(~fitted.held), "validation": np.flatnonzero(fitted.held)}
    return rows, roles, fitted.criterion, predict_rows(classifier, files), parts


def roles_of_files(file: Path, flags: RoleFlags) -> tuple[ParquetRows, Rows, TrainingRoles]:
    """Return the covariates where they are, and rows and roles as `take_roles` gives them.

    Label and sensitive attribute are told apart by their levels, a handful, and brought to the
    rows by code: words are not held once for each row.
    """
    names = column_names(file)
    target = check_column(flags.target, names, "--target")
    sensitive, _ = split_sensitive(flags.sensitive, names)
    weights = None
    if flags.weights is not None:
        weights = check_column(flags.weights, names, "--weights")
        if weights in (target, sensitive):
            raise ValueError(f"--weights {weights!r} is the target or the sensitive column")
    dropped = split_columns(flags.drop, names, "--drop")
    out = [target, sensitive, *([] if weights is None else [weights]), *dropped]
    files = ParquetRows.of(file, leave_out=out)
    coded = {name: files.coded(name) for name in (target, sensitive)}
    few, roles = take_roles(_levels_as_table(coded), replace(flags, drop=(), weights=None))
    rows = Rows(
        X=None,
        outcome=few.outcome.take(coded[target][0]),
        groups=few.groups.take(coded[sensitive][0]),
        weights=None if weights is None else files.weights(weights),
    )
    return files, rows, replace(roles, weights=weights, dropped=dropped)


def refuse_row_names(rows: ParquetRows) -> None:
    """Raise if a column of words tells rows apart: a model folder would list its values."""
    for name, levels in rows.engine_table().levels.items():
        if len(levels) > MANY_LEVELS or (len(levels) > 20 and len(levels) > rows.n_rows / 2):
            raise ValueError(
                f"column {name!r} has {len(levels):,} different words in {rows.n_rows:,} rows: too "
                "many for a category; leave it out with --drop"
            )


def _levels_as_table(coded: dict[str, Any]) -> Any:
    """Return a table in whose first rows each column has its levels, one after the other."""
    pyarrow = load("pyarrow", "cli")
    length = max(len(levels) for _, levels in coded.values())
    columns = {
        name: pyarrow.array([levels.tolist()[k % len(levels)] for k in range(length)])
        for name, (_, levels) in coded.items()
    }
    covariate = "covariates" + "_" * sum(name.startswith("covariates") for name in coded)
    return pyarrow.table({**columns, covariate: np.zeros(length)})
