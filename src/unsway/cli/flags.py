"""Roles by flags: which column is the target, which the sensitive one, which are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_weights
from ..core import LogLoss, SquaredError
from ..groups import Groups
from ..models.folder import TrainingRoles
from ..outcome import Outcome
from ..rows import Rows
from .coded_columns import Coded, as_two, check_column, code_column
from .covariates import choose_columns, with_notes
from .number_target import check_loss_flags, expose, number_outcome, propose_loss
from .options import RoleFlags
from .sensitive import read_groups, sensitive_columns, split_attributes
from .table_files import known_rows, plain_column, plain_columns, read_table


def take_roles(
    table: Any, flags: RoleFlags, *, numeric_target: bool = False
) -> tuple[Rows, TrainingRoles]:
    """Return a table's rows and the names of their roles, every column checked before any work.

    With `numeric_target`, a target of more than two numbers is taken as it is unless one of them is
    named; ``positive`` is then None. Rows with a missing label, sensitive value or weight are
    refused, not dropped.
    """
    check_loss_flags(flags)
    flags, level = find_columns(flags, table.columns)
    there = _with_level(table, flags)

    def read(name: str, flag: str) -> Coded:
        known = table if there is None or flag != "--sensitive" else table.take(there)
        return code_column(known, name, flag)

    outcome, groups, roles = code_roles(flags, level, read, numeric_target)
    if there is not None:
        groups = groups.spread(there)
    if groups.kept is not None:
        table, groups = table.take(groups.kept), replace(groups, kept=None)
    others = set(flags.columns)
    features = [name for name in table.columns if name not in others]
    if not features:
        raise ValueError("no column is left to train on")
    X = plain_columns(table.select(features))
    groups.refuse_in(X)
    accept = split_columns(flags.accept, table.columns, "--accept")
    X = choose_columns(X, outcome.values if outcome.binary else None, accept=accept)
    sample_weight = None if flags.weights is None else _weights(table, flags.weights)
    clusters = None
    if flags.cluster is not None:
        clusters = code_column(table, flags.cluster, "--cluster")[1].astype(np.intp)
    beside = None
    if flags.adjust_for:
        beside = plain_columns(table.select(list(flags.adjust_for)))
        groups.refuse_in(beside)
    rows = Rows(
        X=X, outcome=outcome, groups=groups, weights=sample_weight, clusters=clusters,
        adjust_for=beside,
    )  # fmt: skip
    roles = replace(roles, exposure=flags.exposure, adjusted_for=flags.adjust_for)
    return expose(rows, table, flags), roles


def read_rows(path: Path, flags: RoleFlags) -> Any:
    """Return a file as a table, without the rows that ``--drop-missing`` leaves out."""
    return drop_missing(read_table(path, reading=flags.reading), flags)[0]


def drop_missing(table: Any, flags: RoleFlags) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return the rows that have a label, a sensitive value and a weight, and which these are.

    All rows, and None, unless ``--drop-missing`` asks for it.
    """
    if not flags.drop_missing and flags.missing_sensitive != "drop":
        return table, None
    found, _ = find_columns(flags, table.columns)
    kept = np.ones(len(table), dtype=bool)
    others = (found.target, found.weights, found.exposure) if flags.drop_missing else ()
    used = flags.missing_sensitive == "use"
    sensitive = () if used else sensitive_columns(found)
    for name in filter(None, (*others, *sensitive)):
        kept &= known_rows(table, name)
    if not kept.any():
        raise ValueError("--drop-missing: no row has a label, a sensitive value and a weight")
    rows = table.take(np.flatnonzero(kept))
    return with_notes(rows, dropped_rows=int((~kept).sum())), kept


def used_rows(table: Any, flags: RoleFlags) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows that ``--drop-missing`` and ``--only`` leave, and which these are."""
    table, known = drop_missing(table, flags)
    places = np.arange(len(table)) if known is None else np.flatnonzero(known)
    if flags.only is None:
        return table, places
    found, level = find_columns(flags, table.columns)
    kept = read_groups(found, level, lambda name, flag: code_column(table, name, flag)).kept
    return (table, places) if kept is None else (table.take(kept), places[kept])


def _with_level(table: Any, flags: RoleFlags) -> NDArray[np.bool_] | None:
    """Return which rows have a sensitive value, None where all must have one."""
    if flags.missing_sensitive != "use":
        return None
    if flags.only is not None:
        raise ValueError("--only leaves rows out; it does not go with --missing-sensitive use")
    if flags.attributes:
        raise ValueError("--missing-sensitive use is for one sensitive column; leave rows out")
    there = known_rows(table, flags.sensitive)
    return None if there.all() else there


def find_columns(flags: RoleFlags, names: Sequence[str]) -> tuple[RoleFlags, str | None]:
    """Return the flags with columns that are among the names, and the value that counts as z=1."""
    target = check_column(flags.target, names, "--target")
    attributes = split_attributes(flags.sensitive, names)
    sensitive, level = attributes[0]
    several = tuple(name for name, _ in attributes)
    if target in several:
        raise ValueError(f"--target and --sensitive are both {target!r}; give two columns")
    weights = flags.weights
    if weights is not None and check_column(weights, names, "--weights") in (target, *several):
        raise ValueError(f"--weights {weights!r} is the target or the sensitive column")
    taken = (target, *several, weights)
    if flags.exposure is not None and check_column(flags.exposure, names, "--exposure") in taken:
        raise ValueError(f"--exposure {flags.exposure!r} is the column of another flag too")
    cluster = flags.cluster
    if cluster is not None and check_column(cluster, names, "--cluster") in (target, *several):
        raise ValueError(f"--cluster {cluster!r} is the target or the sensitive column")
    drop = split_columns(flags.drop, names, "--drop")
    beside = split_columns(flags.adjust_for, names, "--adjust-for")
    flags = replace(flags, adjust_for=())
    twice = [name for name in beside if name in (*flags.columns, target, *several, *drop)]
    if twice:
        raise ValueError(f"--adjust-for {twice[0]!r} is the column of another flag too")
    flags = replace(flags, adjust_for=beside)
    if len(attributes) > 1:
        title = ", ".join(several)
        return replace(flags, sensitive=title, attributes=attributes, drop=drop), None
    if flags.intersections:
        raise ValueError("--intersections is for several columns, as in --sensitive sex,race")
    return replace(flags, sensitive=sensitive, drop=drop), level


def code_roles(
    flags: RoleFlags, level: str | None, read: Callable[[str, str], Coded], numeric_target: bool
) -> tuple[Outcome, Groups, TrainingRoles]:
    """Return outcome, groups and the names of the roles.

    ``read`` returns the levels and codes of a column by its name and its flag.
    """
    outcome = _outcome(read(flags.target, "--target"), flags, numeric_target)
    groups = read_groups(flags, level, read)
    positive = outcome.names[1] if outcome.binary else None
    roles = TrainingRoles(
        flags.target, positive, flags.sensitive, groups.names, flags.weights, flags.drop
    )
    if groups.kept is not None:
        outcome = outcome.take(groups.kept)
    return outcome, groups, roles


def split_columns(texts: Sequence[str], names: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return the columns a user wrote, each alone or several with commas between.

    Examples
    --------
    >>> split_columns(["a,b", "c,d"], ["a", "b", "c,d"], "--drop")
    ('a', 'b', 'c,d')
    """
    found: list[str] = []
    for text in texts:
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return tuple(dict.fromkeys(check_column(name, names, flag) for name in found))


def _outcome(coded: Coded, flags: RoleFlags, numeric: bool) -> Outcome:
    """Return the target as 0/1 with the names of its classes, or as its numbers."""
    name, (levels, codes) = flags.target, coded
    if flags.loss is not None:
        return number_outcome(levels[codes], flags)
    many = flags.positive is None and levels.dtype.kind == "f" and len(levels) > 2
    if many and not numeric:
        raise ValueError(propose_loss(levels, name))
    if numeric and flags.positive is None and levels.dtype.kind == "f" and len(levels) > 2:
        values = levels[codes]
        infinite = int(np.isinf(values).sum())
        if infinite:
            raise ValueError(f"--target: column {name!r} is infinite in {infinite:,} rows")
        return Outcome(values=values, loss=SquaredError())
    how = f"--positive {{}} with --target {name}"
    labels, classes = as_two(coded, name, flags.positive, "--target", how)
    return Outcome(values=labels.astype(np.float64), loss=LogLoss(), classes=np.array(classes))


def _weights(table: Any, name: str) -> Floats | None:
    try:
        return check_weights(plain_column(table, name)[0], len(table))
    except ValueError as error:
        raise ValueError(f"--weights: column {name!r}: {error}") from None
