"""Rows beside those trained on, such as an eval_set, read with their classes and levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..core import Loss
from ..outcome import Outcome
from ..rows import Rows
from ..tables import check_table, row_count


def check_other_rows(
    given: Any, name: str, rows: Rows, *, read: Callable[[Any], Any] = check_table
) -> Rows:
    """Return the rows of a tuple such as ``eval_set``, with the classes and levels of the others.

    ``read`` checks their table.
    """
    labels = rows.outcome.classes is not None
    if not isinstance(given, tuple) or len(given) not in ((3, 4) if labels else (3, 4, 5)):
        raise TypeError(
            f"{name} must be a tuple (X, y, sensitive_features), with sample_weight as an optional "
            f"fourth{'' if labels else ' and exposure as an optional fifth'}"
        )
    exposure = given[4] if len(given) == 5 else None
    with inside(name):
        table = read(given[0])
        other = Rows.check(
            table,
            given[1],
            sensitive_features=rows.groups.like(given[2], row_count(table)),
            sample_weight=given[3] if len(given) > 3 else None,
            read_outcome=outcome_reader(
                None if labels else rows.outcome.loss,
                exposure,
                several=bool(rows.outcome.n_classes),
            ),
        )
    if not labels:
        units = rows.outcome.origin, rows.outcome.unit
        other = replace(other, outcome=other.outcome.in_units(*units))
    for kind, ours, known in (
        ("label", other.outcome.classes, rows.outcome.classes),
        ("sensitive level", np.array(other.groups.levels), np.array(rows.groups.levels)),
    ):
        if ours is not None and not np.array_equal(np.asarray(ours), np.asarray(known)):
            if rows.outcome.n_classes and kind == "label" and set(ours) < set(np.asarray(known)):
                lacking = [each for each in np.asarray(known).tolist() if each not in ours]
                raise ValueError(f"{name} has no row of the {kind} {lacking[0]!r}")
            raise ValueError(f"{name} has a {kind} that the training rows have not")
    return other


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Let every refusal of what a user handed in say under which name it was."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"in {name}: {error}") from None


def outcome_reader(
    loss: Loss | None, exposure: Any, *, several: bool = False
) -> Callable[[Any, int], Outcome]:
    """Return what reads a column as the outcome of a loss, or as a label where there is none."""
    if loss is None:
        return partial(Outcome.labels, several=several)
    return partial(Outcome.numbers, loss=loss, exposure=exposure)
