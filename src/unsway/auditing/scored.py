"""Scores of people in any number of groups, checked, and the rules that approve some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Index, Mask
from ..checks import (
    check_choice,
    check_integer,
    check_length,
    check_number,
    check_weights,
    distinct_values,
    read_clusters,
    read_column,
    read_numbers,
    show_value,
)
from ..effects.influence import Mean
from ..outcome import Outcome

#: Which end of a score is approved.
ENDS = ("high", "low")
#: A column with more levels than this is no grouping of people.
MOST_LEVELS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The group of each row, and the group that the others are compared with.

    Parameters
    ----------
    codes : array of int of shape (n,)
        The position of each row's level among the names.
    names : tuple of str
        The levels as text.
    reference : int
        Position of the reference.
    """

    codes: Index = field(repr=False)
    names: tuple[str, ...]
    reference: int = 0

    @classmethod
    def check(
        cls,
        values: Any,
        n_rows: int,
        *,
        reference: Any = None,
        must_state: bool = True,
        role: str = "sensitive_features",
        beside: str = "y_pred",
    ) -> Self:
        """Return a user's column as levels, or say what is wrong with it.

        The reference is 0 or False of two such levels, else the level with the most rows; of two
        others it must be stated, unless the caller chooses later.

        Examples
        --------
        >>> found = Levels.check(["B", "A", "A", "C"], 4)
        >>> found.names, found.names[found.reference]
        (('A', 'B', 'C'), 'A')
        """
        if values is None:
            raise TypeError(f"{role} is required: pass {role}=column by name")
        array, _ = read_column(values, role)
        check_length(array, n_rows, role, beside)
        levels = distinct_values(array, role)
        if not 2 <= len(levels) <= MOST_LEVELS:
            raise ValueError(
                f"{role} has {len(levels)} levels; a comparison needs 2 to {MOST_LEVELS}. Group "
                "numbers into bands first"
            )
        codes = np.searchsorted(levels, array).astype(np.intp)
        known = levels.tolist()
        if reference is None and not must_state and len(known) == 2 and known != [0, 1]:
            reference = known[0]
        position = _reference(known, np.bincount(codes), reference, role)
        return cls(codes=codes, names=tuple(map(str, known)), reference=position)

    @property
    def others(self) -> tuple[int, ...]:
        """The positions of the levels that are compared with the reference."""
        return tuple(k for k in range(len(self.names)) if k != self.reference)

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        return replace(self, codes=self.codes[rows])


def _reference(known: list[Any], counts: Index, stated: Any, role: str) -> int:
    if stated is not None:
        if stated not in known:
            shown = ", ".join(map(show_value, known[:10]))
            raise ValueError(f"reference={stated!r} is not a level of {role}, which has {shown}")
        return known.index(stated)
    if known == [0, 1]:  # also False and True
        return 0
    if len(known) == 2:
        raise ValueError(
            f"{role} has the levels {known[0]!r} and {known[1]!r}; state the one that the other is "
            f"compared with: reference={known[0]!r} or {known[1]!r}, in adverse_impact "
            f"groups=Grouping(reference={known[0]!r})"
        )
    return int(np.argmax(counts))


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """People with their scores, groups, labels and weights.

    Parameters
    ----------
    scores : array of shape (n,)
        As given; any numbers.
    levels : Levels
    y : array of shape (n,), optional
        Labels, 0 or 1.
    weights : array of shape (n,), optional
    clusters : array of int of shape (n,), optional
        The cluster of each row, from 0 on; None where rows are independent.
    approve : {"high", "low"}, default="high"
        Which end of the score is approved.
    """

    scores: Floats = field(repr=False)
    levels: Levels
    y: Floats | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    clusters: Index | None = field(default=None, repr=False)
    approve: str = "high"

    @classmethod
    def check(
        cls,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        *,
        reference: Any = None,
        approve: str | None = None,
        sample_weight: Any = None,
        cluster: Any = None,
        must_state: bool = True,
    ) -> Self:
        """Return what a user hands in, or say what is wrong with it; labels may be None."""
        if approve is not None:
            check_choice(approve, "approve", ENDS)
        scores = read_numbers(y_pred, "y_pred", kind="numbers: scores, or decisions 0 and 1")
        n_rows = len(scores)
        levels = Levels.check(
            sensitive_features, n_rows, reference=reference, must_state=must_state
        )
        labels = None
        if y_true is not None:
            check_length(read_column(y_true, "y_true")[0], n_rows, "y_true", "y_pred")
            labels = Outcome.labels(y_true, n_rows, "y_true").values
        weights = check_weights(sample_weight, n_rows, beside="y_pred")
        _check_weighed(levels, weights)
        clusters = read_clusters(cluster, n_rows, beside="y_pred")
        return cls(
            scores=scores,
            levels=levels,
            y=labels,
            weights=weights,
            clusters=clusters,
            approve=approve or "high",
        )

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def oriented(self) -> Floats:
        """The scores so that more is nearer to approval."""
        return self.scores if self.approve == "high" else -self.scores

    @cached_property
    def w(self) -> Floats:
        """The weights; ones where none were given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def are_alike(self) -> bool:
        """Whether rows are independent and weigh alike, as tests that count people take them."""
        return self.weights is None and self.clusters is None

    def mean(self, values: Floats, inside: Floats) -> Mean:
        """Return the mean of the values with these weights; rows of a cluster may be dependent."""
        return Mean.average(values, inside, self.clusters)

    def inside(self, level: int) -> Floats:
        """Return the weights of the rows of a level, 0 elsewhere."""
        return np.where(self.levels.codes == level, self.w, 0.0)

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        clusters = self.clusters
        if clusters is not None:
            clusters = np.unique(clusters[rows], return_inverse=True)[1]
        return replace(
            self,
            clusters=clusters,
            scores=self.scores[rows],
            levels=self.levels.take(rows),
            y=None if self.y is None else self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
        )


def _check_weighed(levels: Levels, weights: Floats | None) -> None:
    if weights is not None:
        sums = np.bincount(levels.codes, weights, len(levels.names))
        if not sums.all():
            name = levels.names[int(np.argmin(sums))]
            raise ValueError(
                f"every row of sensitive level {name!r} has a sample_weight of zero; leave it out"
            )


# --- who is approved -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Approval:
    """Who is approved by one rule.

    Parameters
    ----------
    rule : str
        The rule in words: "threshold 0.5", "approval rate 0.2".
    cut : float
        The score that the approved exceed (or, where low scores are approved, stay under).
    approved : array of bool of shape (n,)
    share : float
        The share of all people that is approved, by weight.
    estimated : bool
        Whether the cut was found from these rows.
    """

    rule: str
    cut: float
    approved: Mask = field(repr=False)
    share: float
    estimated: bool = False


def decide_by_threshold(people: Scored, threshold: float) -> Approval:
    """Approve whoever scores above a threshold, or under it where low scores are approved."""
    sign = 1 if people.approve == "high" else -1
    approved = people.oriented > sign * threshold
    share = float(np.average(approved, weights=people.w))
    return Approval(
        rule=f"threshold {threshold:g}", cut=float(threshold), approved=approved, share=share
    )


def decide_by_rate(people: Scored, rate: float, name: str = "approval rate") -> Approval:
    """Approve the share of the people nearest to a rate; equal scores are decided alike.

    Examples
    --------
    >>> people = Scored.check(None, [0.9, 0.5, 0.5, 0.1], [0, 1, 0, 1])
    >>> [decide_by_rate(people, rate).share for rate in (0.25, 0.3, 0.7)]
    [0.25, 0.25, 0.75]
    """
    values, place = np.unique(people.oriented, return_inverse=True)
    mass = np.bincount(place.ravel(), people.w, len(values))
    above = np.cumsum(mass[::-1])[::-1] / mass.sum()  # share at or above each value
    if len(values) < 2:
        raise ValueError("y_pred has the same score in every row: nobody can be told apart by it")
    lowest = 1 + int(np.argmin(np.abs(above[1:] - rate)))  # the lowest approved value
    cut = float((values[lowest - 1] + values[lowest]) / 2)
    approved = people.oriented >= values[lowest]
    sign = 1 if people.approve == "high" else -1
    return Approval(
        rule=f"{name} {rate:g}",
        cut=sign * cut,
        approved=approved,
        share=float(above[lowest]),
        estimated=True,
    )


def decisions_of(
    people: Scored, threshold: Any, approval_rate: Any, quantiles: int | None
) -> tuple[Approval, ...]:
    """Return the decisions by every rule a user named; a threshold of .5 where none is."""
    if threshold is None and approval_rate is None and quantiles is None:
        threshold = 0.5
    found = [
        decide_by_threshold(people, check_number(each, "threshold")) for each in _several(threshold)
    ]
    found += [
        decide_by_rate(people, check_number(each, "approval_rate", above=0, below=1))
        for each in _several(approval_rate)
    ]
    if quantiles is not None:
        number = check_integer(quantiles, "quantiles", at_least=2)
        found += [
            decide_by_rate(
                people, round(k / number, 12), f"quantile {k} of {number}, approval rate"
            )
            for k in range(1, number)
        ]
    return tuple(found)


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(value)
    return (value,)


def segments_of(by: Any, n_rows: int) -> Mapping[str, NDArray[np.intp] | None]:
    """Return the rows of each segment by its name; all of them under "" without segments."""
    if by is None:
        return {"": None}
    array, _ = read_column(by, "by")
    check_length(array, n_rows, "by", "y_pred")
    levels = distinct_values(array, "by")
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"by has {len(levels)} segments; give a column of at most {MOST_LEVELS}, such as bands"
        )
    return {str(level): np.flatnonzero(array == level) for level in levels.tolist()}
