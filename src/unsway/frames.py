"""Results as a data frame of the library a user has, as HTML for a notebook, or for JSON."""

from __future__ import annotations

import csv
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from .checks import check_choice
from .display import folded, fragment, table
from .extras import MissingExtraError

#: The libraries a result can become a frame of.
BACKENDS = ("pandas", "polars", "pyarrow")
#: A table below a chart that has more rows than this is folded.
_FOLDED = 12
#: How a cell begins that a spreadsheet would run as a formula, and text that is a number after all.
_FORMULA = re.compile(r"[ \n]*[=+\-@\t\r]")
_NUMBER = re.compile(
    r"\s*[+-]?(\d[\d.,]*|[.,]\d+|inf|infinity|nan)(e[+-]?\d+)?%?\s*", re.IGNORECASE
)


class Numbered(ABC):
    """A result whose numbers have names: what its class adds is the mapping of them."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return every number by name, ready for JSON."""

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class Tabular(ABC):
    """A result that is a table: what its class adds is the columns, by name."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name."""

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a frame of pandas, polars or pyarrow."""
        return make_frame(self._columns(), backend)

    def to_csv(self) -> str:
        """Return the table as CSV, without any text that a spreadsheet would run."""
        return csv_text(self._columns())

    def _title(self) -> str:
        """Return what a notebook shows above the table: the first line of the text."""
        return str(self).partition("\n")[0]

    def _charts(self) -> str:
        """Return the charts that a notebook shows, by default none."""
        return ""

    def _repr_html_(self) -> str:
        columns, charts = self._columns(), self._charts()
        rows = table(columns)
        if charts and len(next(iter(columns.values()), ())) > _FOLDED:
            rows = folded("Table", rows)
        return fragment(self._title(), charts, rows)


def make_frame(columns: Mapping[str, Sequence[Any]], backend: str = "pandas") -> Any:
    """Return named columns as a frame of pandas, polars or pyarrow.

    Examples
    --------
    >>> make_frame({"effect": ["total"], "estimate": [0.4]}, "pyarrow").shape
    (1, 2)
    """
    check_choice(backend, "backend", BACKENDS)
    if find_spec(backend) is None:
        raise MissingExtraError(f"{backend} is not installed; run: pip install {backend}")
    native: Any = backend  # narwhals spells the names out as literals
    return nw.from_dict(dict(columns), backend=native).to_native()


def csv_text(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return named columns as CSV; what is missing is empty.

    Text that a spreadsheet would run as a formula gets an apostrophe before it, as OWASP advises.
    Numbers stay as they are, also those that are text.

    Examples
    --------
    >>> print(csv_text({"job": ["=cmd()", "-5"], "score": [0.5, None]}), end="")
    job,score
    '=cmd(),0.5
    -5,
    """
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")  # so that both signs are quoted in text
    writer.writerow(map(_guarded, columns))
    writer.writerows(zip(*(map(_cell, values) for values in columns.values()), strict=True))
    return "".join(f"{line[:-2]}\n" for line in lines)


class _Lines(list[str]):
    """What a csv writer writes to."""

    write = list.append


def _cell(value: Any) -> Any:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return _guarded(value) if isinstance(value, str) else value


def _guarded(text: str) -> str:
    runs = _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
    return f"'{text}" if runs else text


def frame_of(rows: Sequence[Mapping[str, Any]], backend: str = "pandas") -> Any:
    """Return rows that have the same names as a frame.

    Examples
    --------
    >>> frame_of([{"effect": "total", "estimate": 0.4}], "pyarrow").shape
    (1, 2)
    """
    return make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)


def plain(value: Any) -> Any:
    """Return a value JSON can hold: lists for arrays, None for NaN and infinity.

    Examples
    --------
    >>> plain({"estimate": 0.5, "low": float("nan")})
    {'estimate': 0.5, 'low': None}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def with_nan(parts: Mapping[str, Mapping[str, float | None]]) -> dict[str, dict[str, float]]:
    """Return measures by part as they were before `plain`: NaN where a number is not known.

    Examples
    --------
    >>> with_nan({"test": {"auc": None}})
    {'test': {'auc': nan}}
    """
    return {
        part: {name: math.nan if value is None else value for name, value in measures.items()}
        for part, measures in parts.items()
    }
