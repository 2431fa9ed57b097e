"""The sensitive attribute of each row: its level, and what the levels are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._typing import Codes, Floats, Index
from .checks import (
    check_length,
    count_missing,
    distinct_values,
    read_column,
    read_known,
    show_value,
)
from .grouping import MOST_NUMBERS, Recoding, show_levels
from .grouping import Grouping as Grouping
from .grouping import check_grouping as check_grouping
from .tables import Column, columns, take

#: Rows looked at first: most columns are no copy of the sensitive attribute there already.
_HEAD = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """The level of the sensitive attribute in each row.

    Parameters
    ----------
    codes : array of int of shape (n,)
        The position of each row's level; ``n_levels`` where it is missing.
    levels : tuple
        What the positions stand for, the reference first.
    name : str, optional
        The column's name.
    partial : bool, default=False
        Whether the level is missing for some of the rows given; see ``missing`` of `Grouping`.
    weighting : {"uniform", "prevalence"} or tuple of float, default="uniform"
        w, the weight of each level in the fair score Σ_l w_l·E[y|X, z=l]; see `weights_of`.
    kept : array of int, optional
        The positions of these rows among those given, where rows of other levels were left out.
    recoding : Recoding, optional
        Which level each distinct value of the column belongs to; see `like`.

    Examples
    --------
    >>> groups = Groups.check(["F", "M", "M"], 3, groups=Grouping(reference="F"))
    >>> groups.names, groups.z.tolist(), groups.weights_of()
    (('F', 'M'), [0.0, 1.0, 1.0], (0.5, 0.5))
    >>> Groups.check(["b", "a", "c", "b"], 4).names  # the largest level is the reference
    ('b', 'a', 'c')
    """

    codes: Codes
    levels: tuple[Any, ...]
    name: str | None = None
    partial: bool = False
    weighting: str | tuple[float, ...] = "uniform"
    kept: Index | None = None
    recoding: Recoding | None = field(default=None, repr=False)

    @classmethod
    def check(
        cls,
        sensitive_features: Any,
        n_rows: int,
        *,
        groups: Grouping | None = None,
        beside: str = "X",
    ) -> Self:
        """Return a user's column as groups, or say what is wrong with it.

        Parameters
        ----------
        sensitive_features : column of any kind, or Groups
            At least two levels, no missing value. Groups are taken as they are.
        n_rows : int
            Rows it must have.
        groups : Grouping, optional
            How the column is read; see there for the default.
        beside : str, default="X"
            What has that many rows.
        """
        role = "sensitive_features"
        if sensitive_features is None:
            raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
        how = check_grouping(groups)
        if isinstance(sensitive_features, cls):
            check_length(sensitive_features.codes, n_rows, role, beside)
            return replace(sensitive_features, kept=None)
        missing = count_missing(sensitive_features, role)
        if missing and how.missing != "refuse":
            return cls._partly(sensitive_features, n_rows, how, role, beside)
        if missing:
            raise ValueError(
                f"{role} has {missing} missing values (NaN or None) in {n_rows} rows. Leave those "
                "rows out with groups=Grouping(missing='drop'), train on them too with "
                "missing='use', or fill them in first"
            )
        array, name = read_column(sensitive_features, role)
        check_length(array, n_rows, role, beside)
        values = distinct_values(array, role)
        if len(values) == 1:
            raise ValueError(f"{role} has {_describe(values)}; at least two are needed")
        if len(values) == 2:
            positions = (array == values[1]).astype(np.intp)
        else:
            positions = np.searchsorted(values, array)
        return cls.coded(positions, values, groups=how, name=name)

    @classmethod
    def _partly(
        cls, sensitive_features: Any, n_rows: int, how: Grouping, role: str, beside: str
    ) -> Self:
        """Return groups of which some rows have no level, or leave these rows out."""
        array, name, there = read_known(sensitive_features, role)
        check_length(there, n_rows, role, beside)
        values, positions = np.unique(array, return_inverse=True)
        found = cls.coded(positions, values, groups=how, name=name, role=role)
        if how.missing == "drop":
            places = np.flatnonzero(there)
            return replace(found, kept=places if found.kept is None else places[found.kept])
        if found.kept is not None:
            raise ValueError("only=… leaves rows out; it does not go with missing='use'")
        return found.spread(there)

    def spread(self, there: NDArray[np.bool_]) -> Self:
        """Return these rows among others without a level; ``there`` says where they are.

        Examples
        --------
        >>> groups = Groups.check([0, 1], 2).spread(np.array([True, False, True]))
        >>> groups.codes.tolist(), groups.known.tolist()
        ([0, 2, 1], [True, False, True])
        """
        codes = np.full(len(there), self.n_levels)
        codes[there] = self.codes
        return replace(self, partial=True).with_codes(codes)

    @classmethod
    def coded(
        cls,
        positions: NDArray[Any],
        values: NDArray[Any],
        *,
        groups: Grouping | None = None,
        name: str | None = None,
        counts: NDArray[Any] | None = None,
        role: str = "sensitive_features",
    ) -> Self:
        """Return the groups of rows whose values are known by their positions.

        Parameters
        ----------
        positions : array of int of shape (n,)
            The place of each row's value among the distinct ones.
        values : array
            The distinct values, sorted.
        groups : Grouping, optional
            How they are read.
        name : str, optional
            The column's name.
        counts : array of int, optional
            The rows of each value, where they are not all here.
        role : str
            What messages call the column.
        """
        how = check_grouping(groups)
        if counts is None:
            counts = np.bincount(positions, minlength=len(values))
        found = how.recode(values, counts, role)
        few = cls(
            codes=np.zeros(0, dtype=np.uint8),
            levels=found.levels,
            name=name,
            weighting=how.weights_of(found.levels),
            recoding=found,
        )
        return few.with_codes(found.codes[positions])

    def with_codes(self, codes: NDArray[Any]) -> Self:
        """Return the same levels of other rows; those with a code below 0 are left out."""
        kept = None
        if (codes < 0).any():
            kept = np.flatnonzero(codes >= 0)
            codes = codes[kept]
        small = np.uint8 if self.n_levels < 256 else np.int32
        return replace(self, codes=codes.astype(small), kept=kept)

    def like(self, sensitive_features: Any, n_rows: int, *, beside: str = "X") -> Self:
        """Return another column of the same attribute as groups of the same levels."""
        missing = count_missing(sensitive_features, "sensitive_features") if self.partial else 0
        if self.two or self.recoding is None or missing:
            return self.check(sensitive_features, n_rows, groups=self.grouping, beside=beside)
        array, _ = read_column(sensitive_features, "sensitive_features")
        check_length(array, n_rows, "sensitive_features", beside)
        return self.with_codes(self.recoding.of(array))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def two(self) -> bool:
        """Whether there are two levels."""
        return len(self.levels) == 2

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a level."""
        return np.asarray(self.codes < self.n_levels)

    def require_known(self, what: str) -> None:
        """Raise if a row has no level; ``what`` is what needs it."""
        missing = int((~self.known).sum()) if self.partial else 0
        if missing:
            raise ValueError(
                f"{what} needs the sensitive level of every row, and {missing} of {len(self)} have "
                "none. Leave them out with groups=Grouping(missing='drop')"
            )

    @cached_property
    def z(self) -> Floats:
        """The codes as floats: 0 for the reference and 1 for the group; of two levels only."""
        self.require_two("this")
        self.require_known("this")
        return self.codes.astype(np.float64)

    def require_two(self, what: str) -> None:
        """Raise unless there are two levels; ``what`` is what needs them."""
        if not self.two:
            raise ValueError(
                f"{what} needs a sensitive attribute of two levels, and there are "
                f"{self.n_levels} ({show_levels(self.levels)}). Compare two of them "
                "with groups=Grouping(only=[…]). FairTarget(), estimate_effects and audit_levels "
                "take any number"
            )

    @property
    def design(self) -> Floats:
        """The columns that models of all groups have beside X, one row for each level."""
        return np.eye(self.n_levels)

    def counts(self, sample_weight: Floats | None = None) -> Floats:
        """Return the rows, or their weight, of each level."""
        counts = np.bincount(self.codes, sample_weight, self.n_levels).astype(np.float64)
        return counts[: self.n_levels]

    def weights_of(self, counts: Floats | None = None) -> tuple[float, ...]:
        """Return w, the weight of each level in the fair score.

        Parameters
        ----------
        counts : array of shape (n_levels,), optional
            The rows of each level, or their weight, where they are not all here.
        """
        if self.weighting == "uniform":
            return (1 / self.n_levels,) * self.n_levels
        if self.weighting == "prevalence":
            sizes = self.counts() if counts is None else counts
            return tuple((sizes / sizes.sum()).tolist())
        return tuple(map(float, self.weighting))

    @property
    def grouping(self) -> Grouping:
        """What reads another column of the same levels in the same way."""
        missing = "use" if self.partial else "refuse"
        return Grouping(reference=self.levels[0], sensitive_as="levels", missing=missing)

    def as_given(self) -> NDArray[Any]:
        """Return the level of each row, as the user wrote it."""
        if self.two:
            return np.asarray(self.levels)[self.codes]
        levels = np.empty(self.n_levels, dtype=object)
        levels[:] = self.levels
        return levels[self.codes]

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(map(str, self.levels))

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        return replace(self, codes=self.codes[rows], kept=None)

    def check_present(self, sample_weight: Floats | None, place: str) -> None:
        """Raise if a level has no row, or no weight, in this place."""
        check_values_present(self.codes, sample_weight, self.levels, place, "sensitive level")

    def refuse_in(self, X: Any) -> None:
        """Raise if X still holds the sensitive attribute, under its name or as a recoded copy."""
        for position, head in enumerate(columns(take(X, slice(_HEAD)))):
            if self.name is not None and head.name == self.name:
                raise ValueError(
                    f"X contains the sensitive column {head.name!r}; drop it: it is needed in "
                    "fit only, as sensitive_features"
                )
            if self._is_copy(head) and self._is_copy(next(islice(columns(X), position, None))):
                refuse_copy(head.name)

    def _is_copy(self, column: Column) -> bool:
        """Return whether the column of the first rows, or of all, is the level recoded."""
        values, codes = column.values, self.codes[: len(column.values)]
        if column.categorical:
            values = np.unique(values, return_inverse=True)[1].astype(np.float64)
        extremes = level_extremes(values[:, None], codes, len(self.levels))
        return _varies_with_level(extremes, np.unique(codes))


def level_extremes(matrix: NDArray[Any], codes: Codes, n_levels: int) -> Floats:
    """Return the largest value of each column, and minus its smallest, within each level.

    The elementwise maximum over batches or workers is that of all rows, which is how
    `find_copies` sees a table that is never in one place. A missing value counts as infinite.

    Returns
    -------
    array of shape (n_levels, 2, n_columns)
    """
    extremes = np.full((n_levels, 2, matrix.shape[1]), -np.inf)
    for level in range(n_levels):
        inside = matrix[codes == level]
        if len(inside):
            extremes[level] = [inside.max(axis=0), -inside.min(axis=0)]
    extremes[np.isnan(extremes)] = np.inf
    return extremes


def find_copies(extremes: Floats) -> NDArray[np.intp]:
    """Return the columns that are constant within every level and differ between two of them.

    Examples
    --------
    >>> import numpy as np
    >>> matrix = np.array([[5.0, 1.0], [5.0, 2.0], [7.0, 3.0]])
    >>> find_copies(level_extremes(matrix, np.array([0, 0, 1]), 2)).tolist()
    [0]
    """
    high, low = extremes[:, 0], -extremes[:, 1]
    constant = (high == low).all(axis=0)
    return np.flatnonzero(constant & (high != high[0]).any(axis=0))


def _varies_with_level(extremes: Floats, seen: Codes) -> bool:
    """Return whether one column is the level recoded, as far as the levels seen go."""
    present = extremes[seen[seen < len(extremes)]]
    if not len(present):  # no row of the head has a level
        return True
    if len(present) == 1:  # a head of one level rules out only what varies within it
        return bool((present[:, 0] == -present[:, 1]).all())
    return bool(len(find_copies(present)))


def refuse_copy(name: str) -> None:
    """Raise because this column is the sensitive attribute under another coding."""
    raise ValueError(
        f"X contains the sensitive attribute: {name!r} is the same as sensitive_features up to its "
        "coding; drop that column"
    )


def check_values_present(
    codes: NDArray[Any],
    sample_weight: Floats | None,
    values: Iterable[Any],
    place: str,
    kind: str,
) -> None:
    """Raise if a value has no row, or no weight, in this place."""
    values = list(values)
    needed = "both are needed" if len(values) == 2 else "all are needed"
    many = len(values) > MOST_NUMBERS  # names of levels that may be values of single rows
    for code, value in enumerate(values):
        rows, name = codes == code, f"one of {len(values)}" if many else show_value(value)
        if not rows.any():
            raise ValueError(f"{place} has no row of {kind} {name}; {needed}")
        if sample_weight is not None and not sample_weight[rows].any():
            raise ValueError(
                f"{place} has rows of {kind} {name}, but each has a sample_weight of zero; {needed}"
            )


def _describe(levels: NDArray[Any]) -> str:
    if len(levels) == 1:
        return f"a single level, {show_value(levels[0])}"
    return f"{len(levels)} levels"
