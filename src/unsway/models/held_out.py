"""Rows that are held out of training, to stop it by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .._typing import Index
from ..effects import TooFewRowsError
from ..folds import hold_out
from ..rows import Rows


@contextmanager
def after_hold_out(share: float) -> Iterator[None]:
    """Let an error about too few rows say that a share of them was held out before."""
    try:
        yield
    except TooFewRowsError as error:
        if not share:
            raise
        enough = error.n_rows >= error.fewest * (1 - share)
        raise ValueError(
            f"too few rows are left to train on after {share:.0%} are held out: {error}"
            + ("; a smaller validation_fraction leaves more to train on" if enough else "")
        ) from None


def hold_out_rows(
    rows: Rows, fraction: float, seed: int, *, order: Index | None = None
) -> tuple[Index, Index]:
    """Return which rows to train on and which to hold out, each class and group in its share.

    Both are in ``order``, and by default as they come. Numbers, which have no class, are held out
    evenly from small to large where rows are alike in X.
    """
    order = np.arange(len(rows)) if order is None else order
    evenly = rows.outcome.classes is None
    held = hold_out(rows.X, rows.strata(), fraction, seed, order=rows.order, evenly=evenly)[order]
    parts = order[~held], order[held]
    for chosen, place in zip(parts, ("the training part", "the hold-out"), strict=True):
        rows.with_table(None).take(chosen, in_order=True).check_present(place)
    return parts
