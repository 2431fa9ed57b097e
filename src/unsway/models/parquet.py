"""The rows of Parquet files in batches, for tables larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_weights
from ..core import Loss
from ..extras import load
from ..grouping import Grouping
from ..groups import Groups
from ..outcome import Outcome
from ..rows import Rows
from ..tables import EngineTable

#: A text column with more levels than this identifies rows rather than groups of rows.
MOST_LEVELS = 10_000
#: Rows read at once: 21 MB of single precision for 20 columns.
BATCH_ROWS = 262_144

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class ParquetRows:
    """The covariates of one or several Parquet files, in the order of the files.

    Parameters
    ----------
    files : tuple of Path
        Of the same columns and types.
    names : tuple of str
        The covariates.
    categories : tuple of str
        The covariates that hold text.
    n_rows : int
        Of all files.
    """

    files: tuple[Path, ...]
    names: tuple[str, ...]
    categories: tuple[str, ...]
    n_rows: int

    @classmethod
    def of(cls, files: Any, leave_out: Sequence[str] = ()) -> Self:
        """Open the files, and refuse columns that are neither numbers nor text."""
        paths = _paths(files)
        schemas, counts = zip(*map(_opened, paths), strict=True)
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise ValueError(f"{path} has other columns or types than {paths[0]}")
        known = schemas[0].names
        absent = next((name for name in leave_out if name not in known), None)
        if absent is not None:
            raise ValueError(f"there is no column {absent!r}; there are {', '.join(known)}")
        twice = next((name for name in known if known.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{paths[0]} has more than one column named {twice!r}; rename one")
        names = tuple(name for name in known if name not in leave_out)
        if not names:
            raise ValueError("no column is left to train on")
        empty = schemas[0].empty_table()
        categories = tuple(name for name in names if _is_text(_plain(name, empty.column(name))))
        if not sum(counts):
            raise ValueError(f"{paths[0]} has no rows")
        return cls(paths, names, categories, sum(counts))

    def batches(self, names: Sequence[str] | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield the positions of some rows and their pyarrow table, batch by batch."""
        parquet, pyarrow = load("pyarrow.parquet", "parquet"), load("pyarrow", "parquet")
        first, chosen = 0, list(self.names if names is None else names)
        for path in self.files:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=chosen):
                    table = pyarrow.Table.from_batches([batch]).select(chosen)
                    yield slice(first, first + len(table)), table
                    first += len(table)

    def engine_table(self) -> EngineTable:
        """Return names and levels of the covariates, read from all rows."""
        compute = load("pyarrow.compute", "parquet")
        found: dict[str, set[str | None]] = {name: set() for name in self.categories}
        for _, table in self.batches(self.categories) if self.categories else ():
            for name, seen in found.items():
                seen.update(compute.unique(_plain(name, table.column(name))).to_pylist())
                if len(seen) > MOST_LEVELS:
                    raise ValueError(
                        f"column {name!r} has more than {MOST_LEVELS:,} different words: too many "
                        "for a category; leave it out"
                    )
        levels = {
            name: tuple(sorted(level for level in seen if level is not None))
            for name, seen in found.items()
        }
        return EngineTable(self.names, {name: each for name, each in levels.items() if each})

    def matrix(self, table: EngineTable, batch: Any) -> NDArray[np.float32]:
        """Return a batch as XGBoost takes it: numbers with NaN, categories as codes."""
        matrix = np.empty((len(batch), len(self.names)), dtype=np.float32)
        for position, name in enumerate(self.names):
            levels = table.levels.get(name)
            column = _plain(name, batch.column(name))
            matrix[:, position] = (
                _numbers(name, column) if levels is None else _codes(column, levels)
            )
        return matrix

    def rows(
        self,
        target: str,
        sensitive: str,
        sample_weight: str | None,
        groups: Grouping | None,
        *,
        loss: Loss | None = None,
        exposure: str | None = None,
    ) -> Rows:
        """Return outcome, sensitive attribute and weights of all rows, without their covariates.

        Numbers have a loss, and may have an exposure, which becomes part of the weights.
        """
        if loss is None:
            codes, classes = self.coded(target)
            outcome = Outcome.labels(classes, len(classes)).take(codes)
        else:
            periods = None if exposure is None else self.numbers(exposure)
            outcome = Outcome.numbers(
                self.numbers(target), self.n_rows, loss=loss, exposure=periods
            )
        codes, levels = self.coded(sensitive)
        values, places = np.unique(levels, return_inverse=True)
        role = f"column {sensitive!r}"
        found = Groups.coded(places[codes], values, groups=groups, name=sensitive, role=role)
        if found.kept is not None:
            raise ValueError("only= leaves rows out; take them out of the files first")
        weights = None if sample_weight is None else self.weights(sample_weight)
        if outcome.exposure is not None:
            weights = outcome.exposure if weights is None else weights * outcome.exposure
            outcome = replace(outcome, exposure=None)
        outcome.check_present(weights, f"column {target!r}")
        found.check_present(weights, f"column {sensitive!r}")
        return Rows(X=None, outcome=outcome, groups=found, weights=weights)

    def coded(self, name: str) -> tuple[NDArray[np.int16], NDArray[Any]]:
        """Return the position of each row's level, and the levels; no value may be missing."""
        places: dict[Any, int] = {}
        codes, missing = np.zeros(self.n_rows, dtype=np.int16), 0
        for rows, table in self.batches([name]):
            column = table.column(name)
            text = _plain(name, column)
            column = text if _is_text(text) else column
            part = column.chunk(0).dictionary_encode()
            levels = part.dictionary.to_pylist()
            missing += part.null_count + sum(level != level for level in levels)
            for level in levels:
                places.setdefault(level, len(places))
            if len(places) > 1_000:
                raise ValueError(f"column {name!r} has more than 1,000 values; give one with fewer")
            lookup = np.array([places[level] for level in levels] or [0], dtype=np.int16)
            codes[rows] = lookup[part.indices.fill_null(0).to_numpy(zero_copy_only=False)]
        if missing:
            raise ValueError(
                f"column {name!r} has rows without a value; fill them in or take those rows out "
                "first"
            )
        return codes, np.array(list(places))

    def weights(self, name: str) -> Floats | None:
        """Return a column of weights."""
        return check_weights(self.numbers(name), self.n_rows, role=f"sample_weight column {name!r}")

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers, NaN where a value is missing."""
        parts = [
            _numbers(name, _plain(name, table.column(name))) for _, table in self.batches([name])
        ]
        return np.concatenate(parts)

    def take(self, chosen: NDArray[np.bool_]) -> Any:
        """Return the covariates of the chosen rows as one pyarrow table."""
        pyarrow = load("pyarrow", "parquet")
        parts = [table.filter(pyarrow.array(chosen[rows])) for rows, table in self.batches()]
        return pyarrow.concat_tables(parts, promote_options="default").combine_chunks()

    def head(self) -> Any:
        """Return the first batch."""
        return next(self.batches())[1]


def column_names(files: Any) -> list[str]:
    """Return the names of all columns of the first file."""
    return list(_opened(_paths(files)[0])[0].names)


def _paths(files: Any) -> tuple[Path, ...]:
    """Return the files a user named: one, several, or all of a folder."""
    given = [files] if isinstance(files, str | Path) else list(files)
    paths: list[Path] = []
    for each in map(Path, given):
        inside = sorted(each.glob("*.parquet")) if each.is_dir() else [each]
        if not inside:
            raise FileNotFoundError(f"{each}: there is no .parquet file in this folder")
        paths += inside
    if not paths:
        raise ValueError("no file is given; name one Parquet file or several")
    gone = next((path for path in paths if not path.exists()), None)
    if gone is not None:
        raise FileNotFoundError(f"{gone}: there is no such file")
    return tuple(paths)


def _opened(path: Path) -> tuple[Any, int]:
    """Return schema and number of rows of a file, without its metadata."""
    parquet, pyarrow = load("pyarrow.parquet", "parquet"), load("pyarrow", "parquet")
    try:
        with parquet.ParquetFile(path) as file:
            return file.schema_arrow.remove_metadata(), int(file.metadata.num_rows)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet: {reason}") from error


def _plain(name: str, column: Any) -> Any:
    """Return a column as floats or as text; refuse what is neither."""
    pyarrow = load("pyarrow", "parquet")
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        return column.cast(pyarrow.string())
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if numeric or types.is_boolean(kind) or types.is_null(kind):
        return column.cast(pyarrow.float64(), safe=False)
    raise ValueError(
        f"column {name!r} holds {kind}: neither numbers nor words; convert it or leave it out"
    )


def _is_text(column: Any) -> bool:
    return bool(load("pyarrow", "parquet").types.is_string(column.type))


def _codes(column: Any, levels: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the positions of the levels in a column of text, NaN where it has none of them."""
    compute, pyarrow = load("pyarrow.compute", "parquet"), load("pyarrow", "parquet")
    places = compute.index_in(column, value_set=pyarrow.array(levels, pyarrow.string()))
    return np.asarray(places.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)


def _numbers(name: str, column: Any) -> NDArray[np.float64]:
    """Return a column of floats, NaN where missing; refuse what single precision cannot hold."""
    if _is_text(column):
        return np.full(len(column), np.nan)  # text without any level: all values are missing
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    if (np.abs(values) > _LARGEST).any():
        raise ValueError(
            f"column {name!r} contains infinity or a number too large; make it finite or missing "
            "first"
        )
    return values
