"""Tables of an audit: rows of numbers with what they are about, as frames, dicts and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..effects import Estimate
from ..frames import make_frame
from .measures import BETWEEN, MEANINGS, Key

#: How a cell may begin that a spreadsheet would take for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Named columns of equal length.

    Examples
    --------
    Text that a spreadsheet would run comes out of `to_csv` as text:

    >>> print(Table({"group": ["=cmd", "b"], "rate": [0.5, -1.0]}).to_csv(), end="")
    group,rate
    '=cmd,0.5
    b,-1.0
    """

    columns: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame of pandas, polars or pyarrow."""
        return make_frame({name: list(values) for name, values in self.columns.items()}, backend)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one mapping per row, ready for JSON; None where a number is unknown."""
        names = list(self.columns)
        return [
            dict(zip(names, map(plain, row), strict=True))
            for row in zip(*self.columns.values(), strict=True)
        ]

    def to_csv(self) -> str:
        """Return CSV text; text that looks like a formula gets an apostrophe before it."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_safe, self.columns))
        for row in zip(*self.columns.values(), strict=True):
            writer.writerow(map(_safe, row))
        return file.getvalue()

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"


def _safe(cell: Any) -> Any:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, str) and cell.lstrip(" \n").startswith(_FORMULAS):
        return f"'{cell}"
    return cell


@dataclass(frozen=True, repr=False, eq=False)
class MetricTable:
    """Every metric with its interval, by group and threshold.

    Parameters
    ----------
    entries : mapping of Key to Estimate
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    """

    entries: Mapping[Key, Estimate] = field(repr=False)
    levels: tuple[str, ...]

    def __getitem__(self, key: tuple[Any, ...] | str) -> Estimate:
        """Return an estimate by metric, group ("overall", "z=0", "z=1") and threshold.

        A metric that compares the groups needs no group, one of several thresholds its threshold.
        """
        name, *rest = (key,) if isinstance(key, str) else key
        group = next((each for each in rest if isinstance(each, str)), None)
        threshold = next((float(each) for each in rest if not isinstance(each, str)), None)
        found = [
            (entry, value)
            for entry, value in self.entries.items()
            if entry.metric == name
            and (group is None or entry.group == group)
            and (threshold is None or entry.threshold == threshold)
        ]
        if group is None and len(found) > 1:
            found = [each for each in found if each[0].group in ("overall", BETWEEN)]
        if len(found) != 1:
            why = "there is none" if not found else f"there are {len(found)}; give the threshold"
            raise KeyError(f"{key!r}: {why}")
        return found[0][1]

    @property
    def table(self) -> Table:
        """The same as columns: metric, group, level, threshold, the four numbers, meaning."""
        names = {"z=0": self.levels[0], "z=1": self.levels[1]}
        keys, found = list(self.entries), list(self.entries.values())
        return Table(
            {
                "metric": [key.metric for key in keys],
                "group": [key.group for key in keys],
                "level": [names.get(key.group, "") for key in keys],
                "threshold": [math.nan if k.threshold is None else k.threshold for k in keys],
                **{
                    name: [getattr(each, name) for each in found]
                    for name in ("estimate", "se", "low", "high")
                },
                "meaning": [MEANINGS[key.metric] for key in keys],
            }
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per metric, group and threshold."""
        return self.table.to_frame(backend)

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows ready for JSON."""
        return self.table.to_records()

    def __repr__(self) -> str:
        return f"MetricTable({len(self.entries)} metrics)"


def plain(value: Any) -> Any:
    """Return a value JSON can hold: lists for arrays, None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def short(text: Any, longest: int = 32) -> str:
    """Return text for one line of a terminal: no control characters, long ones cut in the middle.

    Examples
    --------
    >>> short("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    line = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text)
    )
    if len(line) <= longest:
        return line
    half = (longest - 1) // 2
    return f"{line[:half]}…{line[-half:]}"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return aligned lines: the first column to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
