"""Whether a training worked, by the rows of another file: before and after, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path

import click

from ..auditing.audit_result import Audit
from ..auditing.level_audit import LevelAudit
from ..auditing.numbers import points, signed
from ..effects import Estimate, GapParts
from .audit import Source, judge, read_rows
from .console import note, say, show_table, steps
from .options import RoleFlags


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
    if quiet:
        return
    if isinstance(found, LevelAudit):
        say(found.to_text())
        return
    if found.causal is None:
        note(f"whether it worked is not known: {found.missing}")
        return
    show_table(f"On the {sum(found.n_rows):,} rows of {file.name}", *_lines(found))
    say(found.verdict)


def _lines(found: Audit) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the columns and the lines of the table."""
    causal = found.causal
    assert causal is not None  # noqa: S101, the caller has checked it
    before, after = causal.blind, causal.parts
    lines: list[Sequence[str]] = [
        ("direct effect left, points", _left(before), _left(after)),
        ("share of it passed on", _share(before), _share(after)),
    ]
    for metric in ("auc", "log_loss"):
        value = found.metrics[metric, "overall"].estimate
        lines.append((metric.replace("_", "-").replace("auc", "AUC"), "", f"{value:.4f}"))
    return ("", "a blind model", "this model"), lines


def _left(parts: GapParts | None) -> str:
    return "–" if parts is None else _with_interval(parts.left, points)


def _share(parts: GapParts | None) -> str:
    share = None if parts is None else parts.pass_through
    if share is None or not (isfinite(share.low) or isfinite(share.high)):
        return "–"
    return _with_interval(share, lambda value: signed(value, 2))


def _with_interval(each: Estimate, form: Callable[[float], str]) -> str:
    return f"{form(each.estimate)} [{form(each.low)}, {form(each.high)}]"
