"""The sensitive attribute of each row: its level, and what the levels are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._typing import Codes, Floats
from .checks import check_length, distinct_values, read_column, show_value
from .tables import Column, columns, take

#: Rows looked at first: most columns are no copy of the sensitive attribute there already.
_HEAD = 1_000


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How a sensitive attribute is read: what its levels are compared with.

    Estimators, effects, audits and sweeps take it as ``groups``.

    Parameters
    ----------
    reference : optional
        The level that the other is compared with, z = 0. By default 0 or False; of two levels with
        other names it must be stated.

    Examples
    --------
    >>> from unsway import FairLogisticRegression
    >>> FairLogisticRegression(groups=Grouping(reference="Male"))
    FairLogisticRegression(groups=Grouping(reference='Male'))
    """

    reference: Any = None

    def choose_reference(self, levels: NDArray[Any]) -> Any:
        """Return the reference among the levels of a column, or ask for it."""
        known, stated = levels.tolist(), self.reference
        shown = " and ".join(map(repr, known))
        if stated is not None:
            if stated not in known:
                raise ValueError(
                    f"reference={stated!r} is not a level of sensitive_features, which has {shown}"
                )
            return levels[known.index(stated)]
        if known == [0, 1]:  # also False and True
            return levels[0]
        raise ValueError(
            f"sensitive_features has the levels {shown}; state the one that the other is compared "
            f"with: groups=Grouping(reference={known[0]!r}) or Grouping(reference={known[1]!r})"
        )


def check_grouping(groups: Any) -> Grouping:
    """Return how a sensitive attribute is read, by default if nothing is stated."""
    if not isinstance(groups, Grouping | None):
        raise TypeError(
            f"groups must be a Grouping, for instance groups=Grouping(reference={groups!r}); got "
            f"{groups!r}"
        )
    return Grouping() if groups is None else groups


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """The level of the sensitive attribute in each row.

    Parameters
    ----------
    codes : array of int of shape (n,)
        The position of each row's level.
    levels : tuple
        What the positions stand for, the reference first.
    name : str, optional
        The column's name.
    reference_weights : tuple of float
        w, the weight of each level in the fair score Σ_l w_l·E[y|X, z=l]; equal by default.

    Examples
    --------
    >>> groups = Groups.check(["F", "M", "M"], 3, groups=Grouping(reference="F"))
    >>> groups.names, groups.z.tolist(), groups.reference_weights
    (('F', 'M'), [0.0, 1.0, 1.0], (0.5, 0.5))
    """

    codes: Codes
    levels: tuple[Any, ...]
    name: str | None = None
    reference_weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.reference_weights:
            uniform = (1 / len(self.levels),) * len(self.levels)
            object.__setattr__(self, "reference_weights", uniform)

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
        sensitive_features : column of any kind
            Exactly two levels, no missing value.
        n_rows : int
            Rows it must have.
        groups : Grouping, optional
            How the column is read; see there for the default.
        beside : str, default="X"
            What has that many rows.
        """
        if sensitive_features is None:
            raise TypeError("sensitive_features is required: pass sensitive_features=z by name")
        how = check_grouping(groups)
        array, name = read_column(sensitive_features, "sensitive_features")
        check_length(array, n_rows, "sensitive_features", beside)
        levels = distinct_values(array, "sensitive_features")
        if len(levels) != 2:
            raise ValueError(
                f"sensitive_features has {_describe(levels)}; exactly two are needed. Compare the "
                "column with one level first, for instance z == 'Male'"
            )
        reference = how.choose_reference(levels)
        group = levels[1] if levels[0] == reference else levels[0]
        return cls(codes=(array == group).astype(np.uint8), levels=(reference, group), name=name)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def z(self) -> Floats:
        """The codes as floats: 0 for the reference and 1 for the group."""
        return self.codes.astype(np.float64)

    @property
    def grouping(self) -> Grouping:
        """What reads `as_given`, or another column of the same levels, in the same way."""
        return Grouping(reference=self.levels[0])

    def as_given(self) -> NDArray[Any]:
        """Return the level of each row, as the user wrote it."""
        return np.asarray(self.levels)[self.codes]

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(map(str, self.levels))

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        return replace(self, codes=self.codes[rows])

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
    present = extremes[seen]
    if len(seen) == 1:  # a head of one level rules out only what varies within it
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
    for code, value in enumerate(values):
        rows = codes == code
        if not rows.any():
            raise ValueError(f"{place} has no row of {kind} {show_value(value)}; both are needed")
        if sample_weight is not None and not sample_weight[rows].any():
            raise ValueError(
                f"{place} has rows of {kind} {show_value(value)}, but each has a sample_weight of "
                "zero; both are needed"
            )


def _describe(levels: NDArray[Any]) -> str:
    if len(levels) == 1:
        return f"a single level, {show_value(levels[0])}"
    return f"{len(levels)} levels"
