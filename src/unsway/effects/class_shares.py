"""Shares of several classes in each group, and the models that they come from.

Each class has models of its own, of the class against all others, and their predictions are
divided by their sum over the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .._typing import Floats, Index, Reduce
from ..core.penalty import identity
from ..rows import Rows

#: Fewest rows of each class in each group.
MIN_CLASS_ROWS = 10


class MeanModel(Protocol):
    """Models of the outcome means."""

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """What reads a table for each of them."""

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each model in the mixture."""

    def predict(self, X: Any) -> Floats:
        """Return the means of other rows."""


@dataclass(frozen=True)
class ClassStacks:
    """The models of the shares of several classes.

    Parameters
    ----------
    classes : sequence of sequences of MeanModel
        Of each class, one model of all groups, or one for each.
    """

    classes: Sequence[Sequence[MeanModel]] = field(repr=False)

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """What reads a table for the models of each class in turn."""
        models = [each for stacks in self.classes for each in stacks]
        return tuple(encode for each in models for encode in each.encoders)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights of the models of each class in turn."""
        return tuple(share for stacks in self.classes for share in stacks[0].shares)

    def predict(self, X: Any) -> Floats:
        """Return the share of each class in each group, of shape (n, L, C)."""
        means = [np.column_stack([each.predict(X) for each in stacks]) for stacks in self.classes]
        return shares_of_classes(means)


def shares_of_classes(means: Sequence[Floats]) -> Floats:
    """Return the means of each class, of shape (n, L), as shares of shape (n, L, C) that sum to 1.

    Examples
    --------
    >>> shares_of_classes([np.array([[0.2]]), np.array([[0.2]]), np.array([[0.6]])]).tolist()
    [[[0.2, 0.2, 0.6]]]
    """
    joined = np.stack(means, axis=-1).clip(1e-9)
    return np.asarray(joined / joined.sum(axis=-1, keepdims=True))


def check_classes(rows: Rows, folds: Index, n_folds: int, reduce: Reduce | None = None) -> None:
    """Raise unless each class has enough rows in each group, and some to train on in each fold.

    Rows without weight do not count.
    """
    known = np.ones(len(rows), dtype=bool) if rows.weights is None else rows.weights > 0
    n_levels, n_classes = len(rows.groups.levels), rows.outcome.n_classes
    cells = rows.groups.codes.astype(np.intp) * n_classes + rows.y.astype(np.intp)
    shape = n_folds, n_levels * n_classes
    counts = np.zeros(shape)
    np.add.at(counts, (folds[known], cells[known]), 1)
    counts = (reduce or identity)(counts)
    total = counts.sum(axis=0)
    untaught = (n_folds > 1) & ((total - counts).min(axis=0) == 0)
    for cell in np.flatnonzero((total < MIN_CLASS_ROWS) | untaught):
        level, one = divmod(int(cell), n_classes)
        name, group = rows.outcome.names[one], rows.groups.names[level]
        where = f"class {name!r} has {int(total[cell])} rows in the sensitive level {group!r}"
        if total[cell] >= MIN_CLASS_ROWS:
            raise ValueError(
                f"{where}, all of them in one fold, so that no model could be trained without them;"
                " give more rows, or merge the class with another"
            )
        raise ValueError(
            f"{where}; at least {MIN_CLASS_ROWS} are needed to estimate its effect there. Give "
            "more rows, or merge the class with another"
        )
