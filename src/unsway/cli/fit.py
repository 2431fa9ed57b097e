"""``unsway fit``: a model folder from a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import log_loss

from .. import FairLGBMClassifier, FairLogisticRegression, FairXGBClassifier
from .._typing import Floats, Index, Mask
from ..auditing import score_gap
from ..criteria import (
    NORMS,
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairTarget,
    FittedCriterion,
    Parity,
    choose_strength,
)
from ..effects import Propensity
from ..groups import find_copies, level_extremes
from ..models.boosting import check_booster
from ..models.features import Feature, features_of_table, one_hot
from ..models.folder import TrainingRoles, check_model_folder, save_model_folder
from ..models.logistic import check_regression
from ..models.training import fit_for, hold_out_rows
from ..rows import Rows
from ..sweeps.measures import fairness_of
from . import options
from .console import Steps, say, show_table, steps
from .flags import take_roles
from .low_memory import check_files, train_from_files
from .options import RoleFlags
from .table_files import read_table, refuse_row_names

#: Engine → its classifier.
ENGINES: dict[str, Any] = {
    "logistic": FairLogisticRegression,
    "xgboost": FairXGBClassifier,
    "lightgbm": FairLGBMClassifier,
}
GROUP_CRITERIA = {
    "parity": Parity,
    "equal-opportunity": EqualOpportunity,
    "equalized-odds": EqualizedOdds,
}
#: Line of the printed table, by what the objective calls its fairness part.
FAIRNESS_LINES = (
    ("penalty", "penalty", ".5f"),
    ("log-loss against the fair targets", "fair_log_loss", ".4f"),
)
#: What a logistic regression lets a user set by --param.
LOGISTIC_PARAMS = ("fit_intercept", "l2", "max_iter", "tol")


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What training gives beside the fitted classifier.

    `criterion` is fitted at the rows, `scores` are the model's of them, `parts` the rows trained on
    and held out, `features` what was made one-hot for a linear model.
    """

    rows: Rows
    roles: TrainingRoles
    criterion: FittedCriterion
    scores: Floats
    parts: dict[str, Index]
    features: tuple[Feature, ...] | None = None


def parse_engine(context: click.Context, option: click.Parameter, value: str) -> str:
    """Return the engine, or say which there are, and why CatBoost is not among them."""
    if value == "catboost":
        raise click.BadParameter(
            "CatBoost hands an objective at most 1,000 rows at a time, and the penalty needs all "
            "of them; use xgboost or lightgbm", context, option,
        )  # fmt: skip
    if value not in ENGINES:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(ENGINES)}", context, option)
    return value


def parse_params(
    context: click.Context, option: click.Parameter, values: Sequence[str]
) -> dict[str, Any]:
    """Return engine parameters a user wrote as ``name=value``; numbers and true/false are read."""
    params = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not name=value", context, option)
        try:
            read = json.loads(value.lower() if value.lower() in ("true", "false") else value)
        except ValueError:
            read = value
        params[name.strip()] = read if isinstance(read, (bool, int, float)) else value
    return params


#: The flags that say what is trained.
model_options = options.together(
    click.option("--engine", callback=parse_engine, default="xgboost", show_default=True,
                 metavar=f"[{'|'.join(ENGINES)}]"),
    click.option("--criterion",
                 type=click.Choice(["fair-target", "direct-effect", *GROUP_CRITERIA]),
                 help="fair-target, unless a setting of the direct effect is given."),
    click.option("--outcome-degree", type=click.IntRange(min=1),
                 help="N1 of the direct effect."),
    click.option("--effect-degree", type=click.IntRange(min=0),
                 help="N2 of the direct effect."),
    click.option("--norm", type=click.Choice(NORMS), help="Norm of the direct effect."),
    click.option("--param", "params", multiple=True, callback=parse_params,
                 metavar="NAME=VALUE",
                 help="A parameter of the engine; may be given again."),
    options.seed,
    click.option("--threads", type=click.IntRange(min=1), help="Threads of the engine."),
)  # fmt: skip


@click.command()
@options.table_with_roles
@model_options
@click.option("--strength", type=float, help="λ; 1 for fair targets and 0.9 for a penalty.")
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="Folder for the model.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a model that is there.")
@click.option(
    "--low-memory",
    is_flag=True,
    help="Train from a Parquet FILE, or a folder of them, without holding its rows.",
)
@options.quiet
def fit(
    file: Path, flags: RoleFlags, engine: str, criterion: str | None, outcome_degree: int | None,
    effect_degree: int | None, norm: str | None, strength: float | None, params: dict[str, Any],
    random_state: int, threads: int | None, output: Path, overwrite: bool, low_memory: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Train a model on a CSV or Parquet FILE and write it to a folder."""
    degrees = {"outcome_degree": outcome_degree, "effect_degree": effect_degree, "norm": norm}
    criterion, chosen = make_criterion(criterion, degrees, seed=random_state)
    strength = choose_strength(chosen, strength)
    classifier = make_classifier(
        engine, params, strength=strength, seed=random_state, threads=threads
    )
    check_model_folder(output, overwrite=overwrite)
    if low_memory:
        check_files(engine, file, classifier)
    with steps(4, f"Reading {file.name}", quiet=quiet) as progress:
        work = _from_files if low_memory else _in_memory
        done = work(file, flags, classifier, chosen, progress)
        progress.next("Writing the model")
        metrics = {name: measure(done, part) for name, part in done.parts.items()}
        training = {"rows": len(done.rows), **_length(classifier), "metrics": metrics}
        classifier.criterion = chosen  # the settings; what was fitted knows the rows
        save_model_folder(
            classifier, output, features=done.features, roles=done.roles, training=training,
            overwrite=overwrite,
        )  # fmt: skip
        progress.advance()
    if not quiet:
        title = f"{engine}, {criterion}, strength {strength:g}"
        _print(classifier, done.roles, metrics, title)
        say(f"Model: {output}")


def _in_memory(
    file: Path, flags: RoleFlags, classifier: Any, criterion: Any, progress: Steps
) -> Trained:
    """Read the table and train on it, on one-hot columns if the model is linear."""
    rows, roles = take_roles(read_table(file), flags)
    refuse_row_names(rows.X)
    is_linear = isinstance(classifier, FairLogisticRegression)
    X, features = one_hot_rows(rows) if is_linear else (rows.X, None)
    progress.next("Estimating what the sensitive attribute does")
    classifier.criterion = fitted = fit_for(criterion, classifier.strength_, rows)
    progress.next("Training")
    if not is_linear:
        classifier.callback = _on_step(progress)
    classifier.fit(
        X, rows.y.astype(int), sensitive_features=rows.z.astype(int), sample_weight=rows.weights
    )
    held = np.zeros(len(rows), dtype=bool)
    if not is_linear:
        fraction = classifier.validation_fraction
        held[hold_out_rows(rows, fraction, classifier.random_state)[1]] = True
    return Trained(
        rows=rows, roles=roles, criterion=fitted, scores=classifier.predict_proba(X)[:, 1],
        parts=_parts(held), features=features,
    )  # fmt: skip


def _from_files(
    file: Path, flags: RoleFlags, classifier: Any, criterion: Any, progress: Steps
) -> Trained:
    """Do the same without holding the table."""
    progress.next("Estimating what the sensitive attribute does")
    classifier.criterion, classifier.callback = criterion, _on_step(progress)
    rows, roles, fitted, scores = train_from_files(file, flags, classifier)
    progress.advance()
    return Trained(
        rows=rows, roles=roles, criterion=fitted.criterion, scores=scores, parts=_parts(fitted.held)
    )


def _parts(held: Mask) -> dict[str, Index]:
    """Return the rows trained on, and those held out to stop by where there are any."""
    parts = {"train": np.flatnonzero(~held), "validation": np.flatnonzero(held)}
    return {name: part for name, part in parts.items() if len(part)}


def make_criterion(name: str | None, degrees: dict[str, Any], *, seed: int) -> tuple[str, Any]:
    """Return a criterion and its name on the command line; degrees ask for the direct effect."""
    settings = {each: value for each, value in degrees.items() if value is not None}
    name = name or ("direct-effect" if settings else "fair-target")
    if name == "direct-effect":
        return name, DirectEffect(**settings, propensity=Propensity(random_state=seed))
    if settings:
        flag = "--" + next(iter(settings)).replace("_", "-")
        raise click.UsageError(f"{flag} belongs to --criterion direct-effect, not to {name}")
    return name, FairTarget(random_state=seed) if name == "fair-target" else GROUP_CRITERIA[name]()


def make_classifier(
    engine: str, params: dict[str, Any], *, strength: float, seed: int, threads: int | None
) -> Any:
    """Return an unfitted classifier; refuse parameters it does not take."""
    factory = ENGINES[engine]
    if engine == "logistic":
        for each in params:
            if each not in LOGISTIC_PARAMS:
                raise click.UsageError(
                    f"--param: a logistic regression has no {each!r}; it takes "
                    f"{', '.join(LOGISTIC_PARAMS)}"
                )
        regression = factory(strength=strength, **params)
        check_regression(regression)  # now, rather than when the propensity score is fitted
        return regression
    booster = factory(strength=strength, params=params, random_state=seed, n_jobs=threads)
    check_booster(booster)
    return booster


def measure(trained: Trained, part: Index) -> dict[str, float | int]:
    """Return what a part of the rows says about the scores."""
    inside = trained.rows.with_table(None).take(part)
    y, z, weights, p = inside.y, inside.z, inside.weights, trained.scores[part]
    objective = trained.criterion.take(part).objective(inside)
    gap = {"sensitive_features": z, "sample_weight": weights}
    fairness = {}
    if not objective.is_plain:
        fairness[objective.fairness_name] = fairness_of(objective, p)
    return {
        "rows": len(part),
        "z1": int(z.sum()),
        "z0": int((1 - z).sum()),
        "positive_rate": float(np.average(y, weights=weights)),
        "log_loss": float(log_loss(y, p, sample_weight=weights, labels=[0, 1])),
        **fairness,
        "accuracy": float(np.average((p > 0.5) == y, weights=weights)),
        "score_gap": score_gap(y, p, **gap),
        "label_gap": score_gap(y, y, **gap),
    }


def _length(model: Any) -> dict[str, int]:
    if hasattr(model, "best_iteration_"):
        return {"rounds": int(model.n_rounds_), "trees_kept": int(model.best_iteration_)}
    return {"newton_steps": int(model.n_iter_[0])}


def one_hot_rows(rows: Rows) -> tuple[Floats, tuple[Feature, ...]]:
    """Return covariates for a linear model; raise if a column is the sensitive attribute itself."""
    features = features_of_table(rows.X)
    matrix, names = one_hot(rows.X, features, keep_missing=True)
    copies = find_copies(level_extremes(matrix, rows.groups.codes, len(rows.groups.levels)))
    if len(copies):
        raise ValueError(
            f"{names[copies[0]]!r} is the same as the sensitive column in every row; leave that "
            "column out with --drop"
        )
    return matrix, features


def _on_step(progress: Steps) -> Callable[[Any], None]:
    def show(step: Any) -> None:
        progress.describe(f"Training, round {step.number}, λ = {step.strength:.3f}")

    return show


def _print(
    model: Any, names: TrainingRoles, metrics: dict[str, dict[str, float | int]], title: str
) -> None:
    parts = list(metrics.values())
    assert names.sensitive_levels is not None  # noqa: S101
    reference, positive = names.sensitive_levels
    lines = (
        ("rows", "rows", ","),
        (f"{names.sensitive} = {positive} (z = 1)", "z1", ","),
        (f"{names.sensitive} = {reference} (z = 0)", "z0", ","),
        (f"share with {names.target} = {names.positive}", "positive_rate", ".3f"),
        ("log-loss", "log_loss", ".4f"),
        *FAIRNESS_LINES,
        ("accuracy", "accuracy", ".3f"),
        ("gap of the labels, z = 1 over z = 0", "label_gap", "+.3f"),
        ("gap of the scores, z = 1 over z = 0", "score_gap", "+.3f"),
    )
    rows = [
        (label, *(format(part[key], form) for part in parts))
        for label, key, form in lines
        if key in parts[0]
    ]
    show_table(title, ("", *metrics), rows)
    length = _length(model)
    if "rounds" in length:
        say(f"{length['rounds']} rounds, of which {length['trees_kept']} are kept.")
        say("The validation rows chose the round: expect slightly less on fresh rows.")
    else:
        say(f"{length['newton_steps']} Newton steps; no rows were held out.")
