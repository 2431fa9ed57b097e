"""The sensitive attribute of each row: its level, and what the levels are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._typing import Codes, Floats, Index
from .attributes import Attributes, columns_of_attributes, join_columns, role_of
from .checks import (
    check_length,
    check_values_present,
    count_missing,
    distinct_values,
    read_column,
    read_known,
    show_levels,
    show_value,
)
from .copies import refuse_sensitive_columns
from .grouping import Grouping as Grouping
from .grouping import check_grouping as check_grouping
from .grouping import check_large_weights
from .levels import Recoding


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
    attributes : Attributes, optional
        Where there are several attributes, which combination of their levels each level is.

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
    attributes: Attributes | None = None

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
        sensitive_features : column of any kind, frame of several, or Groups
            At least two levels, no missing value. Groups are taken as they are.
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
        if isinstance(sensitive_features, cls):
            check_length(sensitive_features.codes, n_rows, "sensitive_features", beside)
            return replace(sensitive_features, kept=None)
        columns = columns_of_attributes(sensitive_features)
        if columns is not None:
            return cls._of_attributes(columns, n_rows, how, beside)
        return cls._of_column(sensitive_features, n_rows, how, beside=beside)

    @classmethod
    def _of_column(
        cls,
        sensitive_features: Any,
        n_rows: int,
        how: Grouping,
        *,
        role: str = "sensitive_features",
        beside: str = "X",
    ) -> Self:
        """Return one column as groups."""
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
            shown = f"a single level, {show_value(values[0])}"
            raise ValueError(f"{role} has {shown}; at least two are needed")
        if len(values) == 2:
            positions = (array == values[1]).astype(np.intp)
        else:
            positions = np.searchsorted(values, array)
        return cls.coded(positions, values, groups=how, name=name, role=role)

    @classmethod
    def _of_attributes(
        cls, columns: Mapping[str, Any], n_rows: int, how: Grouping, beside: str
    ) -> Self:
        """Return the combinations of the levels of several columns as groups."""
        parts = {
            name: cls._of_column(
                column, n_rows, how.of_column(name, list(columns)),
                role=role_of(name), beside=beside,
            )
            for name, column in columns.items()
        }  # fmt: skip
        return cls.joined(parts, n_rows, intersections=how.intersections)

    @classmethod
    def joined(cls, parts: Mapping[str, Groups], n_rows: int, *, intersections: bool) -> Self:
        """Return the groups of combinations of several attributes, each read by itself."""
        return cls.combined(*join_columns(parts, n_rows, intersections=intersections))

    @classmethod
    def combined(cls, attributes: Attributes, codes: NDArray[np.intp]) -> Self:
        """Return the groups of combinations of levels; rows of a code below 0 are left out."""
        return cls(
            codes=np.zeros(0, dtype=np.uint8),
            levels=attributes.names,
            name=attributes.title,
            weighting=attributes.weighting,
            attributes=attributes,
        ).with_codes(codes)

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
        how = check_grouping(groups).of_column(name, [name])
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
        if self.attributes is not None:
            return self.with_codes(self.attributes.code(sensitive_features, n_rows, beside))
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
                "with groups=Grouping(only=[…]). FairTarget(), estimate_effects, audit, compare "
                "and frontier take any number"
            )

    @property
    def design(self) -> Floats:
        """The columns that models of all groups have beside X, one row for each level."""
        return np.eye(self.n_levels) if self.attributes is None else self.attributes.design

    @cached_property
    def estimated(self) -> tuple[tuple[Groups, Floats], ...]:
        """The groups that each have an effect of their own and so need rows.

        Those of each attribute where a combination has the sum of their effects, else these. With
        them comes which of these levels belong to which of theirs, as 0 and 1.
        """
        attributes = self.attributes
        if attributes is None or attributes.intersections:
            return ((self, np.eye(self.n_levels)),)
        return tuple(
            (replace(self, codes=members.argmax(axis=1)[self.codes], levels=each.levels,
                     name=each.name, weighting=each.weighting, recoding=each.recoding,
                     attributes=None), members)
            for each, members in zip(attributes.each, attributes.memberships, strict=True)
        )  # fmt: skip

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
        if self.attributes is not None and self.weighting != "uniform":
            sizes = self.counts() if counts is None else counts
            return tuple(self.attributes.weights(sizes).tolist())
        if self.weighting == "uniform":
            return (1 / self.n_levels,) * self.n_levels
        if self.weighting == "prevalence":
            sizes = self.counts() if counts is None else counts
            return tuple((sizes / sizes.sum()).tolist())
        return tuple(map(float, self.weighting))

    def weighted(self, weighting: str) -> Self:
        """Return the groups with other weights by name."""
        attributes = self.attributes
        if attributes is not None:
            attributes = attributes.weighted(weighting)
        return replace(self, weighting=weighting, attributes=attributes)

    def check_weights(self, weights: Sequence[float], counts: Floats) -> None:
        """Warn of, or refuse, levels whose weight is far above their share of the rows."""
        shares = counts / counts.sum()
        for groups, members in self.estimated:
            each = np.asarray(weights) @ members
            check_large_weights(each.tolist(), (shares @ members).tolist(), groups.names)

    @property
    def grouping(self) -> Grouping:
        """What reads another column of the same levels in the same way."""
        how: dict[str, Any] = {"missing": "use"} if self.partial else {}
        return Grouping(reference=self.levels[0], sensitive_as="levels", **how)

    def as_given(self) -> NDArray[Any]:
        """Return the level of each row, as the user wrote it."""
        levels = np.asarray(self.levels, dtype=None if self.two else object)
        return np.asarray(levels[self.codes])

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(map(str, self.levels))

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        return replace(self, codes=self.codes[rows], kept=None)

    def check_present(self, sample_weight: Floats | None, place: str) -> None:
        """Raise if a level has no row, or no weight, in this place."""
        for groups, _ in self.estimated:
            check_values_present(
                groups.codes, sample_weight, groups.levels, place, "sensitive level"
            )

    def refuse_in(self, X: Any) -> None:
        """Raise if X still holds the sensitive attribute, under its name or as a recoded copy."""
        for groups in self.alone():
            refuse_sensitive_columns(X, groups.codes, groups.n_levels, groups.name)

    def alone(self) -> tuple[Groups, ...]:
        """Return each attribute by itself."""
        if self.attributes is None:
            return (self,)
        apart = replace(self, attributes=replace(self.attributes, intersections=False))
        return tuple(groups for groups, _ in apart.estimated)
