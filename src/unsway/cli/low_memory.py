"""``unsway fit --low-memory``: a model from Parquet files whose rows are never held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._typing import Floats
from ..extras import load
from ..models.external import FittedRows, check_low_memory, fit_rows, predict_rows
from ..models.folder import TrainingRoles
from ..models.parquet import ParquetRows, column_names
from ..rows import Rows
from .flags import find_columns, take_roles
from .options import RoleFlags
from .table_files import refuse_many_levels


def check_files(engine: str, file: Path, classifier: Any) -> None:
    """Refuse what cannot be trained from files."""
    if engine != "xgboost":
        raise click.UsageError(f"--low-memory trains with --engine xgboost, not with {engine}")
    if file.suffix.lower() == ".csv":
        raise ValueError(f"{file}: --low-memory reads Parquet; write the table as .parquet first")
    check_low_memory(classifier, 1)


def train_from_files(
    file: Path, flags: RoleFlags, classifier: Any
) -> tuple[Rows, TrainingRoles, FittedRows, Floats]:
    """Fit the classifier; return rows and roles, what the fit gave, and the scores of all rows."""
    files, rows, roles = roles_of_files(file, flags)
    levels = {name: len(each) for name, each in files.engine_table().levels.items()}
    refuse_many_levels(levels, files.n_rows)
    coded = replace(
        rows,
        outcome=replace(rows.outcome, classes=np.array([0, 1])),
        groups=replace(rows.groups, levels=(0, 1)),
    )
    fitted = fit_rows(classifier, files, coded)
    return rows, roles, fitted, predict_rows(classifier, files)


def roles_of_files(file: Path, flags: RoleFlags) -> tuple[ParquetRows, Rows, TrainingRoles]:
    """Return the covariates where they are, and rows and roles as `take_roles` gives them.

    Label and sensitive attribute are told apart by their levels, a handful, and brought to the
    rows by code: words are not held once for each row.
    """
    target, (sensitive, _), weights, dropped = find_columns(flags, column_names(file))
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
