"""``unsway alternatives``: a search for models with less adverse impact."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..files import write_atomically, write_folder_atomically
from ..report import write_alternatives_report
from ..sweeps import Alternatives, Candidate, Stopping, Store, search_alternatives
from .console import Steps, note, say, steps
from .covariates import show_columns
from .fit import make_classifier
from .flags import read_rows, split_columns, take_roles
from .options import RoleFlags
from .outputs import REPORT_PACKAGES, are_installed
from .table_files import refuse_row_names


def alternatives(
    file: Path, flags: RoleFlags, candidates: int, without: tuple[str, ...], reach: float | None,
    chance: float, jobs: int, output: Path, quiet: bool, axis: str, utility: str,
    max_utility_loss: float, approval_rate: float, approve: str, **model: Any,
) -> None:  # fmt: skip
    """Search for a model as useful as the plain one and with less adverse impact."""
    if flags.loss is not None:
        raise click.UsageError("alternatives are searched for models of labels, not with --loss")
    seed, engine = model["random_state"], model["engine"]
    _, classifier = make_classifier(strength=0.0, **model)
    rows, roles = take_roles(read_rows(file, flags), flags)
    rows.groups.require_two("A search for alternatives")
    refuse_row_names(rows.X)
    show_columns(rows.X, quiet=quiet)
    names = rows.X.columns
    sets = {}
    for text in without:
        dropped = split_columns([text], names, "--without")
        sets[f"without {', '.join(dropped)}"] = [name for name in names if name not in dropped]
    effects = {"allow_separation": True} if model["allow_separation"] else True
    try:
        with steps(candidates, "Estimating what the columns explain", quiet=quiet) as progress:
            found = search_alternatives(
                {engine: classifier}, rows.X, rows.y.astype(int),
                sensitive_features=rows.z.astype(int), sample_weight=rows.weights,
                n_candidates=candidates, feature_sets=sets or None, axis=axis, utility=utility,
                max_utility_loss=max_utility_loss, target=reach, approval_rate=approval_rate,
                approve=approve, stopping=Stopping(chance=chance), effects=effects, n_jobs=jobs,
                store=Store(output, None, roles), callback=_on_candidate(progress),
                random_state=seed,
            )  # fmt: skip
    except KeyboardInterrupt:
        note(f"what is finished is kept in {output}; to go on: unsway {shlex.join(sys.argv[1:])}")
        raise click.Abort from None
    _finish(found, Store(output).holding(Candidate), roles.sensitive_levels, quiet)


def _on_candidate(progress: Steps) -> Callable[[Candidate, int, int], None]:
    def show(candidate: Candidate, done: int, total: int) -> None:
        progress.advance()
        progress.describe(f"{candidate.name.capitalize()} done, {done} of at most {total}")
        if candidate.error:
            note(f"{candidate.name} failed: {candidate.error}")

    return show


def _finish(found: Alternatives, store: Store, levels: Any, quiet: bool) -> None:
    """Write record, table, report and the winner's model, and print the verdict."""
    write_atomically(store.path / "alternatives.json", found.to_json())
    write_atomically(store.path / "alternatives.csv", found.to_csv())
    for each in found.notes:
        note(each)
    if found.winner is not None:
        files = store.model_folder(found.winner.key)
        write_folder_atomically(store.path / "chosen", files, replace=True)
    if are_installed(REPORT_PACKAGES):
        title = None if levels is None else f"Alternatives for {levels[1]} against {levels[0]}"
        write_alternatives_report(found, store.path / "report.html", title=title)
    if not quiet:
        say(found.verdict)
        say(f"Record: {store.path / 'alternatives.json'}")
        if are_installed(REPORT_PACKAGES):
            say(f"Report: {store.path / 'report.html'}")
        if found.winner is not None:
            say(f"The chosen model: {store.path / 'chosen'}")
