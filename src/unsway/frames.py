"""Results as a data frame of the library a user has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import isfinite
from typing import Any

import narwhals as nw

from .extras import MissingExtraError

#: The libraries a result can become a frame of.
BACKENDS = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Sequence[Any]], backend: str = "pandas") -> Any:
    """Return named columns as a frame of pandas, polars or pyarrow.

    Examples
    --------
    >>> make_frame({"effect": ["total"], "estimate": [0.4]}, "pyarrow").shape
    (1, 2)
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose from {', '.join(BACKENDS)}")
    if find_spec(backend) is None:
        raise MissingExtraError(f"{backend} is not installed; run: pip install {backend}")
    native: Any = backend  # narwhals spells the names out as literals
    return nw.from_dict(dict(columns), backend=native).to_native()


def frame_of(rows: Sequence[Mapping[str, Any]], backend: str = "pandas") -> Any:
    """Return rows that have the same names as a frame.

    Examples
    --------
    >>> frame_of([{"effect": "total", "estimate": 0.4}], "pyarrow").shape
    (1, 2)
    """
    return make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)


def plain_number(value: float) -> float | None:
    """Return a number JSON can hold: None in place of NaN and infinity.

    Examples
    --------
    >>> plain_number(0.5), plain_number(float("nan"))
    (0.5, None)
    """
    return float(value) if isfinite(value) else None
