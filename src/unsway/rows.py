"""Covariates, outcome, groups and weights of the same rows: checked once, the only carrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats, Index
from .checks import check_same_order, check_weights, read_clusters
from .core import LogLoss
from .folds import canonical_order
from .grouping import Grouping
from .groups import Groups
from .joined_tables import beside, names_of_columns
from .outcome import Outcome
from .tables import Column, check_table, columns, row_count, take


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Some rows of a table, which are copied when they are first read."""

    table: Any
    rows: Index

    def take(self, rows: Index) -> _Chosen:
        return _Chosen(self.table, self.rows[rows])

    def read(self) -> Any:
        return take(self.table, self.rows)


class _Table:
    """The table of `Rows`. An engine codes rows for itself, and may never read those taken."""

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            raise AttributeError("X")  # the field has no default
        X = owner.__dict__["_table"]
        if isinstance(X, _Chosen):
            X = owner.__dict__["_table"] = X.read()
        return X

    def __set__(self, owner: Any, X: Any) -> None:
        owner.__dict__["_table"] = X


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Checked rows of one table.

    Parameters
    ----------
    X : table of n rows
        The covariates, the sensitive attribute not among them; None where only scores are judged.
    outcome : Outcome
        y, with its loss and its classes.
    groups : Groups
        The sensitive attribute.
    weights : array of shape (n,), optional
        Sample weights; a weight of 2 is the same as the row twice.
    clusters : array of int of shape (n,), optional
        The cluster of each row, from 0 on; None where rows are independent. They matter where
        effects are estimated.
    adjust_for : table of n rows, optional
        Columns that the models of propensity and outcome see beside X, and the final model does
        not.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.check(np.zeros((4, 1)), [0, 1, 0, 1], sensitive_features=[0, 0, 1, 1])
    >>> rows.y.tolist(), rows.z.tolist(), rows.strata().tolist()
    ([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0, 1, 2, 3])
    """

    X: Any = _Table()
    outcome: Outcome
    groups: Groups
    weights: Floats | None = None
    clusters: Index | None = None
    adjust_for: Any = None

    @classmethod
    def check(
        cls,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        groups: Grouping | None = None,
        cluster: Any = None,
        adjust_for: Any = None,
        read_outcome: Callable[[Any, int], Outcome] = Outcome.labels,
    ) -> Self:
        """Return what a user handed in as checked rows, or say what is wrong before any work.

        Where the outcome has an exposure the weights are multiplied by it: a rate over two years is
        known as well as two rates over one.
        """
        n_rows = row_count(X)
        check_same_order(X, y, "y")
        check_same_order(X, sensitive_features, "sensitive_features")
        check_same_order(X, cluster, "cluster")
        adjust_for = None if adjust_for is None else read_beside(X, adjust_for, "adjust_for")
        outcome = read_outcome(y, n_rows)
        sensitive = Groups.check(sensitive_features, n_rows, groups=groups)
        weights = check_weights(sample_weight, n_rows)
        if sensitive.kept is not None:  # rows of other levels are left out
            X, outcome = take(X, sensitive.kept), outcome.take(sensitive.kept)
            weights = None if weights is None else weights[sensitive.kept]
            adjust_for = None if adjust_for is None else take(adjust_for, sensitive.kept)
        if outcome.exposure is not None:
            weights = outcome.exposure if weights is None else weights * outcome.exposure
            outcome = replace(outcome, exposure=None)
        rows = cls(
            X=X,
            outcome=outcome,
            groups=sensitive,
            weights=weights,
            clusters=read_clusters(cluster, n_rows),
            adjust_for=adjust_for,
        )
        outcome.check_present(rows.weights, "y")
        sensitive.check_present(rows.weights, "sensitive_features")
        sensitive.refuse_in(X)
        if adjust_for is not None:
            sensitive.refuse_in(adjust_for)
        return rows

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def y(self) -> Floats:
        """The outcome as numbers; the position of the class for a label."""
        return self.outcome.values

    @property
    def target(self) -> Floats:
        """What the loss is of: y, or for several classes a 0/1 column for each."""
        return self.outcome.target

    @property
    def z(self) -> Floats:
        """The group as numbers: 0 for the reference, 1 for the other level."""
        return self.groups.z

    @property
    def mean_one_weights(self) -> Floats:
        """The weights scaled to a mean of 1."""
        return np.ones_like(self.y) if self.weights is None else self.weights / self.weights.mean()

    def take(self, rows: NDArray[np.intp], *, in_order: bool = False) -> Self:
        """Return these rows, ``in_order`` if that is known to be their canonical order."""
        X = self.__dict__["_table"]
        taken = replace(
            self,
            X=X.take(rows) if isinstance(X, _Chosen) else None if X is None else _Chosen(X, rows),
            outcome=self.outcome.take(rows),
            groups=self.groups.take(rows),
            weights=None if self.weights is None else self.weights[rows],
            adjust_for=None if self.adjust_for is None else take(self.adjust_for, rows),
            clusters=None
            if self.clusters is None
            else np.unique(self.clusters[rows], return_inverse=True)[1],
        )
        if in_order:
            return taken.with_order(np.arange(len(rows)))
        if "order" in self.__dict__:
            rank = np.empty(len(self), dtype=np.intp)
            rank[self.order] = np.arange(len(self))
            ranks = rank[rows]
            in_order = bool((ranks[1:] > ranks[:-1]).all())
            return taken.with_order(np.arange(len(ranks)) if in_order else np.argsort(ranks))
        return taken

    @property
    def observed(self) -> Any:
        """X with the columns adjusted for: what models of propensity and outcome see."""
        return self.X if self.adjust_for is None else beside(self.X, self.adjust_for)

    def adjusted(self) -> Self:
        """Return the same rows with the columns adjusted for among the covariates."""
        return self if self.adjust_for is None else replace(self, X=self.observed, adjust_for=None)

    @cached_property
    def order(self) -> Index:
        """The positions of the rows in an order that depends on their content alone.

        Rows that are taken keep it.
        """
        return canonical_order(self.X, self.ties())

    def ties(self) -> list[Floats]:
        """Return what orders rows that are alike in X."""
        codes = self.groups.codes.astype(np.float64)
        return [self.y, codes] if self.weights is None else [self.weights, self.y, codes]

    def with_order(self, order: Index) -> Self:
        """Return the same rows, with their order known."""
        known = copy(self)
        known.__dict__["order"] = order
        return known

    def with_table(self, X: Any) -> Self:
        """Return the same rows with another table of covariates, such as an engine's matrix."""
        return replace(self, X=X)

    def with_groups(self, groups: Groups) -> Self:
        """Return the same rows, in the order they have, with another sensitive attribute."""
        return replace(self, groups=groups).with_order(self.order)

    def with_label(self, label: NDArray[np.bool_]) -> Self:
        """Return the same rows, in the order they have, with a label of two classes as outcome."""
        outcome = Outcome(values=label.astype(np.float64), loss=LogLoss(), classes=np.array([0, 1]))
        return replace(self, outcome=outcome).with_order(self.order)

    def same_table(self, other: Rows) -> bool:
        """Return whether other rows have the very same table, which is not read."""
        return self.__dict__["_table"] is other.__dict__["_table"]

    def columns(self) -> Iterator[Column]:
        """Yield the covariates, read when the first is asked for."""
        yield from columns(self.X)

    def means_by_level(self, values: Floats) -> Floats:
        """Return the weighted mean of values in each level, NaN in one without rows."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        totals = self.groups.counts(weights)
        totals[totals == 0] = np.nan
        return self.groups.counts(weights * values) / totals

    def spread_of_levels(self, values: Floats) -> float:
        """Return the largest difference between the means of two levels."""
        means = self.means_by_level(values)
        return float(np.nanmax(means) - np.nanmin(means))

    def strata(self) -> NDArray[np.intp]:
        """Return a number for each combination of class and group, to split rows evenly by."""
        strata = self.groups.codes.astype(np.intp)
        if self.outcome.classes is None:
            return strata
        return len(self.outcome.classes) * strata + self.y.astype(np.intp)

    def check_present(self, place: str) -> None:
        """Raise unless every group and every class has a row of some weight in this place."""
        self.groups.check_present(self.weights, place)
        self.outcome.check_present(self.weights, place)


def read_beside(X: Any, table: Any, role: str) -> Any:
    """Return a table of further columns of the rows of X, or say what is wrong with it."""
    check_same_order(X, table, role)
    if np.ndim(table) == 1 and not hasattr(table, "columns"):
        raise TypeError(f"{role} must be a frame or an array of two dimensions, with named columns")
    table = check_table(table)
    if row_count(table) != row_count(X):
        raise ValueError(
            f"{role} has {row_count(table)} rows but X has {row_count(X)}; they must match"
        )
    both = set(names_of_columns(table)) & set(names_of_columns(X))
    if both:
        raise ValueError(
            f"{role} has the column {min(both)!r}, which X has too; what the model may use goes "
            f"into X, what it may not use into {role}"
        )
    return table
