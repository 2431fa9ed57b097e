"""Results as a data frame of the library a user has, or as values for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

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
