"""Several sensitive attributes at once: the combinations of their levels are the levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, Protocol, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ._typing import Codes, Floats, Index
from .checks import check_length, read_column
from .levels import Recoding

#: What stands between the levels of a combination.
SEPARATOR = " × "

#: With more combinations than this, levels have to be merged first.
MOST_COMBINATIONS = 200


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One of several sensitive attributes.

    Parameters
    ----------
    name : str
        Its column.
    levels : tuple
        Its levels, the reference first.
    weighting : {"uniform", "prevalence"} or tuple of float
        The weight of each of its levels in the fair score.
    recoding : Recoding, optional
        Which level each distinct value of the column belongs to.
    """

    name: str
    levels: tuple[Any, ...]
    weighting: str | tuple[float, ...] = "uniform"
    recoding: Recoding | None = field(default=None, repr=False)

    def code(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of the level of other rows, −1 where they are left out."""
        if self.recoding is None:
            raise ValueError(f"the values of {self.name!r} are not known")
        return self.recoding.of(column)

    def weights(self, counts: Floats) -> Floats:
        """Return the weight of each level, given the rows of each."""
        if self.weighting == "uniform":
            return np.full(len(self.levels), 1 / len(self.levels))
        if self.weighting == "prevalence":
            return np.asarray(counts / counts.sum())
        return np.array(self.weighting)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attributes:
    """Several sensitive attributes, and which combination of their levels each code stands for.

    All combinations have a code, also those without a row. The first is that of the reference
    levels; the level of the last attribute changes fastest.

    Parameters
    ----------
    each : tuple of Attribute
        The attributes.
    intersections : bool, default=False
        Whether combinations have effects of their own; else there are those of each attribute, and
        a combination has their sum.

    Examples
    --------
    >>> sex, age = Attribute(name="sex", levels="FM"), Attribute(name="age", levels=("<40", ">=40"))
    >>> both = Attributes(each=(sex, age))
    >>> both.names
    ('F × <40', 'F × >=40', 'M × <40', 'M × >=40')
    >>> both.join([np.array([1, 0]), np.array([0, 1])]).tolist()
    [2, 1]
    >>> both.design[2].tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    each: tuple[Attribute, ...]
    intersections: bool = False

    def __post_init__(self) -> None:
        if self.n_combinations > MOST_COMBINATIONS:
            raise ValueError(
                f"the levels of {self.title} have {self.n_combinations:,} combinations, more than "
                f"{MOST_COMBINATIONS}; merge levels with groups=Grouping(merge_below=…), cut "
                "numbers with bands={…}, or leave an attribute out"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return tuple(len(attribute.levels) for attribute in self.each)

    @property
    def n_combinations(self) -> int:
        """The number of combinations."""
        return prod(self.sizes)

    @property
    def title(self) -> str:
        """The names of the attributes."""
        return ", ".join(attribute.name for attribute in self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations as text."""
        every = product(*(attribute.levels for attribute in self.each))
        return tuple(SEPARATOR.join(map(str, levels)) for levels in every)

    def code(self, sensitive_features: Any, n_rows: int, beside: str) -> NDArray[np.intp]:
        """Return the code of other rows' combinations, −1 where they are left out."""
        columns = columns_of_attributes(sensitive_features) or {}
        if set(columns) != {each.name for each in self.each}:
            raise ValueError(f"sensitive_features must be a frame with the columns {self.title}")
        codes = []
        for each in self.each:
            array, _ = read_column(columns[each.name], role_of(each.name))
            check_length(array, n_rows, role_of(each.name), beside)
            codes.append(each.code(array))
        left = np.min(codes, axis=0) < 0
        return np.where(left, -1, self.join([np.maximum(code, 0) for code in codes]))

    def join(self, codes: Sequence[Codes]) -> NDArray[np.intp]:
        """Return the code of each row's combination from its codes of each attribute."""
        wide = tuple(np.asarray(each, dtype=np.intp) for each in codes)
        return np.asarray(np.ravel_multi_index(wide, self.sizes), dtype=np.intp)

    @cached_property
    def memberships(self) -> tuple[Floats, ...]:
        """Of each attribute, which combinations belong to which of its levels, as 0 and 1."""
        places = np.unravel_index(np.arange(self.n_combinations), self.sizes)
        return tuple(np.eye(size)[place] for size, place in zip(self.sizes, places, strict=True))

    @cached_property
    def design(self) -> Floats:
        """The columns that models of all groups have beside X, one row for each combination.

        Those of each attribute, and with ``intersections`` one for each combination too, whose
        effect models shrink towards the sum of the attributes'.
        """
        columns = list(self.memberships)
        if self.intersections:
            columns.append(np.eye(self.n_combinations))
        return np.hstack(columns)

    def weights(self, counts: Floats) -> Floats:
        """Return the product of the weights of a combination's levels, given the rows of each."""
        each = [
            attribute.weights(counts @ members)
            for attribute, members in zip(self.each, self.memberships, strict=True)
        ]
        return np.asarray(reduce(np.multiply.outer, each)).ravel()

    @property
    def weighting(self) -> str | tuple[float, ...]:
        """The weights of the combinations, "prevalence" where they depend on the rows."""
        named = {one.weighting for one in self.each}
        if named == {"uniform"}:
            return "uniform"
        if "prevalence" in named:
            return "prevalence"
        return tuple(self.weights(np.ones(self.n_combinations)).tolist())

    def weighted(self, weighting: str) -> Self:
        """Return the attributes, the levels of each weighted by this name."""
        return replace(self, each=tuple(replace(one, weighting=weighting) for one in self.each))

    def chain(self, codes: Codes) -> Iterator[tuple[Attributes, NDArray[np.intp]]]:
        """Yield the first attribute with each row's code, the first two, and so on but for all."""
        places = np.unravel_index(codes, self.sizes)
        for count in range(1, len(places)):
            first = replace(self, each=self.each[:count], intersections=False)
            yield first, first.join(places[:count])


class ReadColumn(Protocol):
    """One column of several, read by itself, as `Groups` are."""

    @property
    def codes(self) -> Codes:
        """The position of each row's level."""

    @property
    def levels(self) -> tuple[Any, ...]:
        """The levels, the reference first."""

    @property
    def weighting(self) -> str | tuple[float, ...]:
        """The weights of the levels."""

    @property
    def kept(self) -> Index | None:
        """The rows that are not left out, None where all are there."""

    @property
    def recoding(self) -> Recoding | None:
        """Which level each distinct value belongs to."""


def join_columns(
    parts: Mapping[str, ReadColumn], n_rows: int, *, intersections: bool
) -> tuple[Attributes, NDArray[np.intp]]:
    """Return the attributes that were read, and the code of each row's combination.

    Rows that are left out by one of them have −1.
    """
    each, codes, left = [], [], np.zeros(n_rows, dtype=bool)
    for name, part in parts.items():
        own = np.full(n_rows, -1)
        own[slice(None) if part.kept is None else part.kept] = part.codes
        left |= own < 0
        codes.append(np.maximum(own, 0))
        each.append(
            Attribute(
                name=name, levels=part.levels, weighting=part.weighting, recoding=part.recoding
            )
        )
    found = Attributes(each=tuple(each), intersections=intersections)
    return found, np.where(left, -1, found.join(codes))


def role_of(name: str) -> str:
    """Return what messages call one of several sensitive columns."""
    return f"sensitive_features[{name!r}]"


def columns_of_attributes(sensitive_features: Any) -> dict[str, Any] | None:
    """Return the columns of a frame or a mapping of several by name, None for anything else.

    Examples
    --------
    >>> columns_of_attributes(np.zeros(3)) is None
    True
    """
    if isinstance(sensitive_features, Mapping):
        if len(sensitive_features) < 2:
            raise ValueError("sensitive_features is a mapping of one column; give the column")
        return {str(name): column for name, column in sensitive_features.items()}
    frame = nw.from_native(
        sensitive_features, eager_only=True, allow_series=True, pass_through=True
    )
    if isinstance(frame, nw.DataFrame):
        if len(frame.columns) < 2:
            return None
        return {str(name): frame[name].to_native() for name in frame.columns}
    if getattr(sensitive_features, "ndim", 1) == 2 and sensitive_features.shape[1] > 1:
        raise ValueError(
            f"sensitive_features has {sensitive_features.shape[1]} columns without names; give a "
            "data frame, whose columns name the attributes"
        )
    return None
