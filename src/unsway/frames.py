"""Results as a data frame of the library a user has, as HTML for a notebook, or for JSON."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from .checks import check_choice
from .extras import MissingExtraError

#: The libraries a result can become a frame of.
BACKENDS = ("pandas", "polars", "pyarrow")
#: Rows of a table that a notebook shows at most.
_SHOWN = 60


class Tabular(ABC):
    """A result that is a table: what its class adds is the columns, by name."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name."""

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a frame of pandas, polars or pyarrow."""
        return make_frame(self._columns(), backend)

    def _repr_html_(self) -> str:
        return html_table(self._columns(), str(self))


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


def html_table(columns: Mapping[str, Sequence[Any]], caption: str) -> str:
    """Return named columns as an HTML table; of a long one, the first rows.

    Examples
    --------
    >>> html_table({"effect": ["a < b"], "estimate": [0.41234]}, "two")
    '<table><caption>two</caption><tr><th>effect</th><th>estimate</th></tr><tr><td>a &lt; b</td><td>0.4123</td></tr></table>'
    """  # noqa: E501
    rows = list(zip(*columns.values(), strict=True))
    lines = [_line("th", columns), *(_line("td", row) for row in rows[:_SHOWN])]
    if len(rows) > _SHOWN:
        lines.append(_line("td", (f"… {len(rows) - _SHOWN} more rows",)))
    return f"<table><caption>{html.escape(caption)}</caption>{''.join(lines)}</table>"


def _line(cell: str, values: Any) -> str:
    texts = ("" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in values)
    return f"<tr>{''.join(f'<{cell}>{html.escape(text)}</{cell}>' for text in texts)}</tr>"


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
