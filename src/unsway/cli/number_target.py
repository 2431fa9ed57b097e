"""A target of counts or amounts: its loss, which is never guessed, and its exposure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..outcome import Outcome, number_loss, read_exposure
from ..rows import Rows
from .options import RoleFlags
from .table_files import plain_column

#: Whole numbers up to this, some of them 0, are taken for counts.
_MOST_COUNTED = 1_000
#: A column of more values than this is hardly meant as a label.
_FEW_VALUES = 20


def check_loss_flags(flags: RoleFlags) -> None:
    """Refuse flags of counts and amounts that do not go together, before any work."""
    if flags.loss is None:
        for name in ("power", "exposure"):
            if getattr(flags, name) is not None:
                raise click.UsageError(
                    f"--{name} belongs to a target of counts or amounts; say which with --loss"
                )
        return
    if flags.positive is not None:
        raise click.UsageError("--loss is for a target of numbers, --positive for a label")
    if flags.power is not None and flags.loss != "tweedie":
        raise click.UsageError(f"--power belongs to --loss tweedie, not to {flags.loss}")
    if flags.power is not None and not 1 < flags.power < 2:
        raise click.UsageError(f"--power must be above 1 and below 2; got {flags.power:g}")


def number_outcome(values: NDArray[Any], flags: RoleFlags) -> Outcome:
    """Return counts or amounts of a loss, or say what is wrong with the column."""
    if values.dtype.kind != "f":
        raise ValueError(f"--target: column {flags.target!r} holds words; --loss needs numbers")
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ValueError(f"--target: column {flags.target!r} is infinite in {infinite:,} rows")
    loss = number_loss(flags.loss, flags.power or 1.5)
    try:
        loss.check(values)
    except ValueError as error:
        raise ValueError(f"--target: column {flags.target!r}: {error}") from None
    return Outcome(values=values, loss=loss)


def expose(rows: Rows, table: Any, flags: RoleFlags) -> Rows:
    """Return rows whose counts or amounts are per unit of the exposure, which is in the weights."""
    if flags.exposure is None:
        return rows
    array, missing = plain_column(table, flags.exposure)
    if missing:
        raise ValueError(f"--exposure: column {flags.exposure!r} has {missing:,} rows without one")
    if array.dtype.kind != "f":
        raise ValueError(f"--exposure: column {flags.exposure!r} holds words, not numbers")
    exposure = exposure_column(array, flags.exposure)
    outcome = Outcome.numbers(
        rows.y, len(rows), loss=rows.outcome.loss, exposure=exposure, role=repr(flags.target)
    )
    outcome = replace(outcome, exposure=None, per=flags.exposure)
    weights = exposure if rows.weights is None else exposure * rows.weights
    return replace(rows, outcome=outcome, weights=weights)


def exposure_column(values: NDArray[Any], name: str) -> Floats:
    """Return the numbers of the column with the exposure, or say what is wrong with them."""
    try:
        return read_exposure(values, len(values))
    except (TypeError, ValueError) as error:
        raise ValueError(f"--exposure: column {name!r}: {error}") from None


def propose_loss(levels: Floats, name: str) -> str:
    """Return the error about a target of numbers without ``--loss``, which proposes one.

    Examples
    --------
    >>> propose_loss(np.array([0.0, 1.0, 2.0]), "claims").partition("; ")[2]
    'if they are counts, add --loss poisson (and --exposure COLUMN if they are of unequal times),
    or compare one value with the rest, as in --positive 2'
    """
    least, most = float(levels.min()), float(levels.max())
    whole, other = bool((levels % 1 == 0).all()), "or --loss squared_error"
    if whole and least == 0 and most <= _MOST_COUNTED:
        kind, advice = (
            "counts",
            "--loss poisson (and --exposure COLUMN if they are of unequal times)",
        )
    elif least < 0:
        kind, advice = "numbers of either sign", "--loss squared_error"
    elif least == 0:
        kind, advice = "amounts that may be zero", f"--loss tweedie {other}"
    else:
        kind, advice = "amounts above zero", f"--loss gamma {other}"
    few = f", or compare one value with the rest, as in --positive {most:g}"
    return (
        f"--target: column {name!r} holds {len(levels):,} different numbers from {least:g} to "
        f"{most:g}; if they are {kind}, add {advice}{few if len(levels) <= _FEW_VALUES else ''}"
    )
