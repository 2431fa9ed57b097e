"""``unsway frontier``: every strength of a model, and the one to take."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import FairLinearRegressor, FairLogisticRegression
from .._typing import Floats
from ..auditing.evidence import name_groups
from ..files import write_atomically, write_folder_atomically
from ..folds import hold_out
from ..groups import Groups
from ..models.features import Feature, align, features_of_table, one_hot
from ..paper.plots import to_bytes
from ..report import write_frontier_report
from ..report.facts import target_units
from ..rows import Rows
from ..sweeps import Choice, Frontier, Point, Store
from ..sweeps.inputs import check_inputs, check_strengths
from ..sweeps.level_judge import decide_worst
from ..sweeps.sweep import Sweep
from .console import Steps, note, say, show_table, steps
from .covariates import show_columns
from .fit import make_classifier, one_hot_rows
from .flags import read_rows, take_roles
from .number_target import check_loss_flags
from .options import RoleFlags
from .outputs import REPORT_PACKAGES, are_installed
from .table_files import refuse_row_names

#: Lines of the printed table at most; frontier.csv has all.
SHOWN = 12


@dataclass(frozen=True)
class OneHot:
    """One-hot columns of a table, for a linear model."""

    features: tuple[Feature, ...]

    def __call__(self, X: Any) -> Floats:
        """Return the table as numbers."""
        return one_hot(X, self.features, keep_missing=True)[0]


def frontier(
    file: Path, flags: RoleFlags, strengths: tuple[float, ...] | None, test_file: Path | None,
    test_fraction: float, cv: int | None, choose: str | None, max_direct_effect: float | None,
    max_accuracy_loss: float | None, jobs: int, output: Path, quiet: bool,
    favourable: str | None, margin: float, **model: Any,
) -> None:  # fmt: skip
    """Train models of many strengths on a CSV or Parquet FILE, and choose one.

    A run that was stopped goes on where it was when the same command is given again.
    """
    check_loss_flags(flags)
    if flags.loss is not None and favourable is not None:
        raise click.UsageError("--favourable is for a label; --loss is for a target of numbers")
    given = {"max_direct_effect": max_direct_effect, "max_accuracy_loss": max_accuracy_loss}
    limits = {name: limit for name, limit in given.items() if limit is not None}
    if choose is not None and limits:
        raise click.UsageError(f"--choose {choose} takes no limit; give either")
    seed = model["random_state"]
    title, classifier = make_classifier(strength=0.0, loss=flags.loss, power=flags.power, **model)
    chosen = check_strengths(classifier, strengths)
    rows, roles = take_roles(read_rows(file, flags), flags)
    refuse_row_names(rows.X)
    show_columns(rows.X, quiet=quiet)
    if not rows.groups.two:
        _with_levels(classifier, rows.groups)
    is_linear = isinstance(classifier, FairLogisticRegression | FairLinearRegressor)
    encode = OneHot(one_hot_rows(rows)[1]) if is_linear else None
    train, test = _split(rows, flags, test_file, test_fraction, seed)
    store = Store(output, None if encode is None else encode.features, roles)
    split = {"cv": cv, "encode": encode, "random_state": seed}
    if model["allow_separation"]:
        split["effects"] = {"allow_separation": True}
    found = _run(classifier, train, test, chosen, store, jobs, quiet, **split)
    stated = {"favourable": favourable, "margin": margin}
    _finish(found, store, quiet, title, {"rule": choose, **limits}, stated)


def _split(
    rows: Rows, flags: RoleFlags, test_file: Path | None, fraction: float, seed: int
) -> tuple[Rows, Rows | None]:
    """Return the rows to train on, and the test rows: those of another file, or held out."""
    if test_file is not None:
        table = read_rows(test_file, flags)
        other, _ = take_roles(table, replace(flags, accept=tuple(table.columns)))
        try:
            return rows, other.with_table(align(other.X, features_of_table(rows.X)))
        except ValueError as error:
            raise ValueError(f"{test_file}: {error}") from None
    if fraction == 0:
        return rows, None
    held = hold_out(rows.X, rows.strata(), fraction, seed)
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def _as_codes(rows: Rows) -> tuple[Any, ...]:
    """Return covariates, label and sensitive attribute as 0 and 1, and weights.

    Numbers stay, and so do three levels or more.
    """
    y = rows.y.astype(int) if rows.outcome.is_label else rows.y
    z = rows.z.astype(int) if rows.groups.two else rows.groups.as_given()
    return rows.X, y, z, rows.weights


def _with_levels(classifier: Any, groups: Groups) -> None:
    """State to a classifier how three levels or more are read."""
    if groups.attributes is not None:
        raise ValueError("unsway frontier takes one sensitive column; give one of them")
    weighting: Any = groups.weighting
    if not isinstance(weighting, str):
        weighting = dict(zip(groups.levels, weighting, strict=True))
    classifier.groups = replace(groups.grouping, weights=weighting)


def _run(
    classifier: Any, train: Rows, test: Rows | None, strengths: tuple[float, ...], store: Store,
    n_jobs: int, quiet: bool, **options: Any,
) -> Frontier:  # fmt: skip
    """Train the missing strengths; after Ctrl-C, print how to continue."""
    X, y, z, weights = _as_codes(train)
    options["test_set"] = None if test is None else _as_codes(test)
    try:
        inputs = check_inputs(classifier, X, y, z, sample_weight=weights, **options)
        sweep = Sweep(inputs, store)
        missing = len(set(strengths) - set(sweep.known))
        with steps(missing, "Estimating what the sensitive attribute does", quiet=quiet) as shown:
            return sweep.run(strengths, n_jobs, _on_point(shown))
    except KeyboardInterrupt:
        note(
            f"what is finished is kept in {store.path}; to go on: unsway {shlex.join(sys.argv[1:])}"
        )
        raise click.Abort from None


def _on_point(progress: Steps) -> Callable[[Point, int, int], None]:
    def show(point: Point, done: int, total: int) -> None:
        progress.advance()
        progress.describe(f"Strength {point.strength:g} done, {done} of {total}")
        if point.error:
            note(f"strength {point.strength:g} failed: {point.error}")

    return show


def _finish(
    found: Frontier, store: Store, quiet: bool, title: str, limits: dict[str, Any],
    stated: dict[str, Any],
) -> None:  # fmt: skip
    """Write table, figure and chosen model, and print the results."""
    writable = os.access(store.path, os.W_OK)
    if writable:
        write_atomically(store.path / "frontier.csv", found.to_csv())
    else:
        note(f"{store.path} cannot be written: table, figure and chosen model stay as they are")
    for each in found.notes:
        note(each)
    fairness = "direct_effect_left"
    if not any(fairness in point.parts.get("validation", {}) for point in found.points):
        fairness = "score_gap"
        note("the direct effect left is not known: limits go by the gap of the scores")
    choice = found.select(fairness=fairness, **limits)
    page = store.path / "frontier.html" if writable and are_installed(REPORT_PACKAGES) else None
    if writable:
        write_folder_atomically(store.path / "chosen", store.model_folder(choice.strength))
        if are_installed(["matplotlib"]):
            figure = found.plot(y=fairness, choice=choice).figure
            write_atomically(store.path / "frontier.svg", to_bytes(figure, "svg"))
    if page is not None:
        write_frontier_report(found, page, choice=choice, **stated)
    if not quiet:
        _print(found, choice, title)
        _say_decision(choice, store, stated, found.parts)
        say(f"Table: {store.path / 'frontier.csv'}")
        if page is not None:
            say(f"Report, with every strength: {page}")
        say(f"Models: {store.path / 'models'}, the chosen one: {store.path / 'chosen'}")


def _say_decision(
    choice: Choice, store: Store, stated: dict[str, Any], facts: Mapping[str, Mapping[str, Any]]
) -> None:
    """Print what is claimed of the chosen model, on test rows if there are any."""
    roles, part = store.roles, "test" if choice.test_figures is not None else choice.part
    if roles is None or roles.sensitive_levels is None:
        return
    about: dict[str, Any] = {"margin": stated["margin"]}
    if roles.positive is not None:
        about |= {"scored": str(roles.positive), "favourable": stated["favourable"] or ""}
    about["units"] = target_units(facts[part], vars(roles))
    levels = roles.sensitive_levels
    if len(levels) > 2:
        _, decision = decide_worst(choice.point, part, tuple(levels), roles.sensitive, **about)
    else:
        groups = name_groups(levels, roles.sensitive)
        decision = choice.point.decision(part, groups, **about)
    say(f"On the {part} rows: {decision.text}")


def _print(found: Frontier, choice: Choice, title: str) -> None:
    """Print some of the strengths, the chosen one among them."""
    fine = [point for point in found.points if not point.error]
    every = -(-len(fine) // SHOWN)
    shown = [point for k, point in enumerate(fine) if k % every == 0 or point == choice.point]
    parts = [part for part in found.part_names if part != "train"]
    forms = {"accuracy": ".4f", "deviance_explained": ".4f"}
    forms |= dict.fromkeys(
        ("score_gap", "direct_effect_left"), "+.4f" if found.utility == "accuracy" else "+,.3g"
    )
    measures = [(name, form) for name, form in forms.items() if name in choice.figures]
    names = {name: name.replace("_", " ") for name, _ in measures} | {"deviance_explained": "D²"}
    columns = [f"{part}\n{names[name]}" for part in parts for name, _ in measures]
    rows = [
        (
            f"{point.strength:g}" + (" ←" if point == choice.point else ""),
            *(format(point.value(name, part), form) for part in parts for name, form in measures),
        )
        for point in shown
    ]
    show_table(title, ("strength", *columns), rows)
    say(f"Chosen: {choice}")
