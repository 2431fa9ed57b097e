"""Rows of Parquet files that stay in their files: ``--low-memory``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..models.folder import TrainingRoles
from ..models.parquet import ParquetRows, column_names
from ..rows import Rows
from ..tables import ColumnTable
from .coded_columns import Coded, code_column
from .flags import code_roles, find_columns
from .options import RoleFlags
from .table_files import refuse_many_levels


def check_parquet(file: Path) -> None:
    """Refuse a file that is read whole."""
    if file.suffix.lower() == ".csv":
        raise ValueError(f"{file}: --low-memory reads Parquet; write the table as .parquet first")


def rows_of_files(file: Path, flags: RoleFlags) -> tuple[ParquetRows, Rows, TrainingRoles]:
    """Return the files of the covariates, and rows and roles as `take_roles` returns them.

    Only the levels of a label or a sensitive attribute are held as text, the rows as codes.
    """
    if flags.adjust_for:
        raise ValueError("--low-memory reads no columns to adjust for; leave --adjust-for out")
    flags, level = find_columns(flags, column_names(file))
    files = ParquetRows.of(file, leave_out=flags.columns)
    levels = files.engine_table().levels
    refuse_many_levels({name: len(each) for name, each in levels.items()}, files.n_rows)

    def read(name: str, flag: str) -> Coded:
        codes, found = files.coded(name)
        few = ColumnTable({name: np.array(found.tolist(), dtype=object)})
        levels, positions = code_column(few, name, flag)
        return levels, positions.astype(np.int16)[codes]

    outcome, groups, roles = code_roles(flags, level, read, numeric_target=False)
    weights = None if flags.weights is None else files.weights(flags.weights)
    return files, Rows(X=None, outcome=outcome, groups=groups, weights=weights), roles
