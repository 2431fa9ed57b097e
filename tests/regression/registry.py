"""A named case, and how what it returns becomes a flat dict of numbers, strings and lists."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

#: Kind of a case → the largest difference allowed, relative to max(1, |value|). What is of kind
#: "words" is printed where it differs and is no failure.
TOLERANCES = {"exact": 1e-12, "iterative": 1e-8, "float32": 1e-6, "words": math.inf}

#: Fields that name a row of a table: such rows are found by them and not by their place.
IDENTITIES = (
    "metric", "group", "threshold", "effect", "on", "coefficient", "benchmark", "strength",
    "model", "name", "part", "criterion", "weighting", "column", "experiment", "engine",
)  # fmt: skip

#: Fields that are about the run or are sentences, and so are not recorded.
LEFT_OUT = {
    "created", "file", "files", "meaning", "missing", "notes", "rule", "schema_version", "seconds",
    "sentence", "unsway", "versions",
}  # fmt: skip

#: A longer text is a sentence, which may be worded anew.
LONGEST_NAME = 40


@dataclass(frozen=True)
class Case:
    """A named computation.

    Parameters
    ----------
    name : str
        Parts are separated by slashes, the first being what is tried.
    kind : {"exact", "iterative", "float32", "words"}
        Which tolerance it is compared with.
    run : callable
        Returns the values by name.
    engines : tuple of str
        Distributions whose version the values depend on beyond rounding; see `test_regression`.
    fixture : bool
        Whether it belongs to the small recording that is committed.
    defaults : bool
        Whether it depends on defaults of the library that cannot be passed, as in a command.
    """

    name: str
    kind: str
    run: Callable[[], Mapping[str, Any]] = field(repr=False)
    engines: tuple[str, ...] = ()
    fixture: bool = False
    defaults: bool = False

    def __post_init__(self) -> None:
        if self.kind not in TOLERANCES:
            raise ValueError(f"{self.name}: unknown kind {self.kind!r}")

    def values(self) -> dict[str, Any]:
        """Run the case, without its warnings, and return flat values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(self.run(), sentences=self.kind == "words")


def case(
    name: str,
    kind: str,
    function: Callable[..., Mapping[str, Any]],
    *args: Any,
    engines: Sequence[str] = (),
    fixture: bool = False,
    defaults: bool = False,
) -> Case:
    """Return the case that calls a function with these arguments."""
    return Case(name, kind, partial(function, *args), tuple(engines), fixture, defaults)


def flat(found: Any, *, sentences: bool = False) -> dict[str, Any]:
    """Return nested results as one dict, names joined by slashes; lists of plain values stay.

    Examples
    --------
    >>> flat({"a": {"b": 1.0}, "rows": [{"metric": "auc", "value": 0.5}]})
    {'a/b': 1.0, 'rows/auc/metric': 'auc', 'rows/auc/value': 0.5}
    """
    values: dict[str, Any] = {}
    for name, value in _leaves(found, "", sentences):
        if name in values:
            raise ValueError(f"two values are named {name!r}")
        values[name] = value
    return values


def _leaves(found: Any, name: str, sentences: bool) -> Iterator[tuple[str, Any]]:
    found = _plain(found)
    if isinstance(found, Mapping):
        for key, value in found.items():
            if sentences or key not in LEFT_OUT:
                yield from _leaves(value, f"{name}/{key}" if name else str(key), sentences)
    elif isinstance(found, list) and any(isinstance(each, Mapping | list) for each in found):
        for key, value in zip(_row_names(found), found, strict=True):
            yield from _leaves(value, f"{name}/{key}", sentences)
    elif sentences or not (isinstance(found, str) and len(found) > LONGEST_NAME):
        yield name, found


def _row_names(rows: list[Any]) -> list[str]:
    """Return a name for each row of a table: what identifies it, else its place."""
    names: list[str] = []
    for place, row in enumerate(rows):
        found = [row[key] for key in IDENTITIES if key in row] if isinstance(row, Mapping) else []
        name = "|".join(str(each) for each in found if each is not None) or str(place)
        names.append(name if name not in names else f"{name}#{place}")
    return names


def _plain(value: Any) -> Any:
    """Return what JSON holds: NaN and infinities as strings, arrays as lists."""
    if hasattr(value, "to_dict") and not isinstance(value, Mapping):
        value = value.to_dict()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, int | float | str | Mapping):
        return value
    raise TypeError(f"{type(value).__name__} is no value to record")


def digest(values: Any, n_shown: int = 12) -> dict[str, Any]:
    """Return a few numbers that change with any of the values, and some of the values.

    The projection weighs each row by another number, so that no exchange of two rows is missed.
    """
    array = np.asarray(values, dtype=np.float64)
    column = array.ravel()
    weights = np.cos(np.arange(len(column)) * 1.7 + 0.3)
    shown = column[np.linspace(0, len(column) - 1, min(n_shown, len(column))).astype(int)]
    return {
        "shape": list(array.shape),
        "mean": column.mean(),
        "square": (column**2).mean(),
        "projection": weights @ column / len(column),
        "shown": shown,
    }


def thin(values: Mapping[str, Any], n_shown: int = 8) -> dict[str, Any]:
    """Return few of a case's flat values, and two numbers that stand for all of them.

    `all` adds up asinh of every number, each with another weight, so that a change of any of them
    is seen, whatever their size; `count` says how many there are.

    Examples
    --------
    >>> thin({"a": [0.0, 0.0], "b": "x"})
    {'count': 2, 'all': 0.0, 'a': [0.0, 0.0], 'b': 'x'}
    """
    parts = [each if isinstance(each, list) else [each] for each in values.values()]
    numbers = [x for part in parts for x in part if isinstance(x, int | float)]
    weights = np.cos(np.arange(len(numbers)) * 1.7 + 0.3)
    names = list(values)
    places = np.linspace(0, len(names) - 1, min(n_shown, len(names))).astype(int)
    shown = {names[k]: values[names[k]] for k in places}
    few = {name: each[:5] if isinstance(each, list) else each for name, each in shown.items()}
    return {"count": len(numbers), "all": float(weights @ np.arcsinh(numbers)), **few}


def series(values: Sequence[float]) -> list[float]:
    """Return length, first, middle and last value, and mean of what was written down per round."""
    column = list(values)
    if not column:
        return [0]
    return [len(column), column[0], column[len(column) // 2], column[-1], float(np.mean(column))]


def histories(found: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    """Return each series of a training history in short."""
    return {
        rows: {name: series(values) for name, values in each.items()}
        for rows, each in found.items()
    }
