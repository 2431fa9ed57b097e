"""What a sweep was made of, in words and hashes: to go on only with the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from ..tables import columns

#: Settings of an estimator that do not change its model, and the one a sweep sets.
WITHOUT_EFFECT = ("strength", "callback", "progress", "n_jobs", "warm_start", "verbose")


def hash_table(X: Any) -> str:
    """Return a hash of the names and values of a table's columns, rows in their order."""
    digest = sha256()
    for column in columns(X):
        digest.update(json.dumps(column.name).encode())
        digest.update(hash_column(column.values).encode())
    return digest.hexdigest()


def hash_column(values: Any) -> str:
    """Return a hash of the values of a column, rows in their order."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return sha256(np.ascontiguousarray(array, dtype=np.float64).tobytes()).hexdigest()
    return sha256("\0".join(map(str, array.tolist())).encode()).hexdigest()


def describe(value: Any) -> Any:
    """Return any setting as JSON can hold it: objects by class and settings, arrays by hash.

    Examples
    --------
    >>> from unsway import Parity
    >>> describe({"criterion": Parity(), "degrees": (1, 2)})
    {'criterion': {'class': 'Parity'}, 'degrees': [1, 2]}
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return hash_column(value)
    if isinstance(value, Mapping):
        return {str(key): describe(each) for key, each in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [describe(each) for each in value]
    if hasattr(value, "get_params"):
        settings = value.get_params(deep=False)
        return {"class": type(value).__name__, **describe(settings)}
    if is_dataclass(value):
        settings = {each.name: getattr(value, each.name) for each in fields(value)}
        return {"class": type(value).__name__, **describe(settings)}
    return getattr(value, "__qualname__", type(value).__name__)


def describe_estimator(estimator: Any) -> dict[str, Any]:
    """Return class and settings of an estimator, without those that do not change its model."""
    settings = estimator.get_params(deep=False)
    kept = {name: value for name, value in settings.items() if name not in WITHOUT_EFFECT}
    return {"class": type(estimator).__name__, **describe(kept)}


def versions(engine: str | None) -> dict[str, str]:
    """Return the versions of what the numbers depend on."""
    names = ["unsway", "numpy", "scikit-learn", *([engine] if engine else [])]
    return {name: _version(name) for name in names}


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return in words what differs between two fingerprints.

    Examples
    --------
    >>> differences({"rows": 3, "data": {"y": "a1"}}, {"rows": 4, "data": {"y": "b2"}})
    ['rows was 3 and is 4', 'data.y has other values']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        found = []
        for name in dict.fromkeys([*before, *now]):
            inner = f"{place}.{name}" if place else str(name)
            found += differences(before.get(name), now.get(name), inner)
        return found
    if before == now:
        return []
    if place.startswith("data.") and isinstance(before, str) and isinstance(now, str):
        return [f"{place} has other values"]
    return [f"{place} was {_short(before)} and is {_short(now)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"


def _version(name: str) -> str:
    if name == "unsway":
        from .. import __version__

        return __version__
    for candidate in (name, f"{name}-cpu"):
        try:
            return version(candidate)
        except ModuleNotFoundError:  # PackageNotFoundError is one
            continue
    return "unknown"
