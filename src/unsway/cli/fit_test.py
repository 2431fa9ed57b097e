"""Whether a training worked, by rows that it has not seen: before and after, with intervals.

These are the rows of another file. Without one, the same settings are trained again on four fifths
of the rows and judged by the other fifth: the rows held out for early stopping chose the number of
rounds, and scores out of fold are not those of one model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..auditing.audit_result import Audit
from ..auditing.level_audit import LevelAudit
from ..auditing.numbers import points, signed
from ..effects import Estimate, GapParts
from ..folds import hold_out
from ..models.folder import TrainingRoles
from ..rows import Rows
from ..tables import take
from .audit import Source, judge, read_rows
from .console import note, say, show_table, steps
from .options import RoleFlags

#: The share of the rows that judges a model of the others, and the fewest rows for that.
HELD_OUT, FEWEST_ROWS = 0.2, 2_000


def check_test(flags: RoleFlags, file: Path) -> None:
    """Refuse a test that cannot be made, before any work."""
    if flags.loss is not None:
        raise click.UsageError("--test judges labels; with --loss, use `unsway effects`")
    if not file.exists():
        raise ValueError(f"--test: there is no file {file}")


def show_test(file: Path, flags: RoleFlags, model: Path, *, quiet: bool) -> None:
    """Print what is left of the direct effect in the scores of a file, and what they cost."""
    with steps(1, f"Judging by {file.name}", quiet=quiet) as progress:
        sources = [Source.of(str(model), "--test")]
        rows, roles, columns, _ = read_rows(file, flags, sources)
        found = judge(rows, roles, columns, threshold=(0.5,), n_bootstrap=0)
        progress.advance()
    if not quiet:
        _show(found, f"On the {len(rows):,} rows of {file.name}")


def show_held_out(rows: Rows, roles: TrainingRoles, classifier: Any, X: Any) -> None:
    """Print whether a training of the unfitted classifier works, by rows that it is not shown.

    ``X`` is what the classifier is trained on: the table of the rows, or its one-hot columns.
    """
    if len(rows) < FEWEST_ROWS:
        say(f"{len(rows):,} rows are too few to hold some out; --test FILE judges by fresh ones.")
        return
    held = hold_out(rows.X, rows.strata(), HELD_OUT)
    others, judged = np.flatnonzero(~held), np.flatnonzero(held & rows.groups.known)
    train, test = rows.take(others), rows.take(judged)
    try:
        with (
            steps(2, "Training on four fifths of the rows", quiet=False) as progress,
            warnings.catch_warnings(action="ignore"),  # they were given for all rows
        ):
            classifier.fit(
                take(X, others), train.y.astype(int), sensitive_features=train.groups,
                sample_weight=train.weights,
            )  # fmt: skip
            progress.next("Judging by the other fifth")
            scores = classifier.predict_proba(take(X, judged))[:, 1]
            found = judge(test, roles, [scores], threshold=(0.5,), n_bootstrap=0)
            progress.advance()
    except ValueError as error:  # the model is written: this only says less about it
        note(f"whether it worked is not known: {error}")
        return
    say("A model of the same settings, trained on four fifths of the rows, judged by the others:")
    _show(found, f"On {len(test):,} rows held out")


def _show(found: Audit | LevelAudit, title: str) -> None:
    if isinstance(found, LevelAudit):
        say(found.to_text())
    elif found.causal is None:
        note(f"whether it worked is not known: {found.missing}")
    else:
        show_table(title, *_lines(found))
        say(found.verdict)


def _lines(found: Audit) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the columns and the lines of the table."""
    causal = found.causal
    assert causal is not None  # noqa: S101, the caller has checked it
    before, after = causal.blind, causal.parts
    lines: list[Sequence[str]] = [
        ("direct effect in the scores, points", _direct(before), _direct(after)),
        ("share of it passed on", _share(before), _share(after)),
    ]
    for metric in ("auc", "log_loss"):
        value = found.metrics[metric, "overall"].estimate
        lines.append((metric.replace("_", "-").replace("auc", "AUC"), "", f"{value:.4f}"))
    return ("", "a blind model", "this model"), lines


def _direct(parts: GapParts | None) -> str:
    return "–" if parts is None else _with_interval(parts.direct, points)


def _share(parts: GapParts | None) -> str:
    share = None if parts is None else parts.pass_through
    if share is None or not (isfinite(share.low) or isfinite(share.high)):
        return "–"
    return _with_interval(share, lambda value: signed(value, 2))


def _with_interval(each: Estimate, form: Callable[[float], str]) -> str:
    return f"{form(each.estimate)} [{form(each.low)}, {form(each.high)}]"
