"""``unsway fit``: a model folder from a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import (
    FairLGBMClassifier,
    FairLinearRegressor,
    FairLogisticRegression,
    FairXGBClassifier,
)
from .._typing import Floats, Index, Mask
from ..copies import find_copies, level_extremes, warn_of_other_attributes
from ..core import Step
from ..criteria import (
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairTarget,
    FittedCriterion,
    Parity,
    choose_strength,
)
from ..effects import Propensity
from ..effects.reported_levels import reported_levels
from ..models.boosting import check_booster, nuisance_fitting
from ..models.external import check_low_memory, fit_rows, predict_rows
from ..models.features import Feature, features_of_table, one_hot
from ..models.folder import TrainingRoles, check_model_folder, save_model
from ..models.held_out import hold_out_rows
from ..models.logistic import check_regression
from ..models.regression import scores_of
from ..models.training import fit_for, fit_held_out, in_training_units
from ..rows import Rows
from ..sweeps.measures import Part
from .console import Steps, say, show_table, steps
from .covariates import describe_columns, show_columns
from .fit_numbers import (
    NUMBER_METRICS,
    balance_line,
    make_regressor,
    number_figures,
    number_names,
)
from .fit_test import check_test, show_held_out, show_test
from .flags import read_rows, take_roles
from .low_memory import check_parquet, rows_of_files
from .number_target import check_loss_flags
from .options import RoleFlags
from .table_files import refuse_row_names

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
#: Metric of a part of the rows, as the card has it where it is known → its line in the printed
#: table, with the roles in braces, and its format.
METRICS = {
    "rows": ("rows", ","),
    "z1": ("{sensitive} = {group} (z = 1)", ","),
    "z0": ("{sensitive} = {reference} (z = 0)", ","),
    "positive_rate": ("share with {target} = {positive}", ".3f"),
    "log_loss": ("log-loss", ".4f"),
    "penalty": ("penalty", ".5f"),
    "fair_log_loss": ("log-loss against the fair targets", ".4f"),
    "accuracy": ("accuracy", ".3f"),
    "label_gap": ("gap of the labels, z = 1 over z = 0", "+.3f"),
    "score_gap": ("gap of the scores, z = 1 over z = 0", "+.3f"),
    "label_spread": ("largest gap of the labels between two levels", ".3f"),
    "score_spread": ("largest gap of the scores between two levels", ".3f"),
}
#: What a logistic regression lets a user set by --param.
LOGISTIC_PARAMS = ("fit_intercept", "l2", "max_iter", "tol")


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What training returns besides the fitted classifier.

    `criterion` is fitted on the rows, `scores` are the model's scores of them, `parts` the rows
    trained on and held out, `features` the columns that were one-hot encoded for a linear model,
    `X` what the model was trained on.
    """

    rows: Rows
    roles: TrainingRoles
    criterion: FittedCriterion
    scores: Floats
    parts: dict[str, Index]
    features: tuple[Feature, ...] | None = None
    X: Any = None


def fit(
    file: Path, flags: RoleFlags, strength: float | None, output: Path, overwrite: bool,
    low_memory: bool, quiet: bool, test_file: Path | None = None, check: bool = True, **model: Any,
) -> None:  # fmt: skip
    """Train a model on a CSV or Parquet FILE and write it to a folder."""
    check_loss_flags(flags)
    if test_file is not None:
        check_test(flags, test_file)
    title, classifier = make_classifier(
        strength=strength, loss=flags.loss, power=flags.power, **model
    )
    criterion = classifier.criterion
    check_model_folder(output, overwrite=overwrite)
    if low_memory:
        check_files(model["engine"], file, classifier)
    with steps(4, f"Reading {file.name}", quiet=quiet) as progress:
        train = train_from_files if low_memory else train_in_memory
        done = train(file, flags, classifier, progress)
        progress.next("Writing the model")
        training = _describe(done, classifier)
        classifier.criterion = criterion  # the settings; the fitted one holds the rows
        save_model(
            classifier, output, features=done.features, roles=done.roles, training=training,
            overwrite=overwrite,
        )  # fmt: skip
        progress.advance()
    if not quiet:
        _print(training, done.roles, f"{title}, strength {classifier.strength:g}", flags.loss)
        if flags.loss is not None:
            say(balance_line(classifier))
        if "rows_without_sensitive_value" in training:
            _say_without(training["rows_without_sensitive_value"])
        say(f"Model: {output}")
    if test_file is not None:
        show_test(test_file, flags, output, quiet=quiet)
    elif check and not quiet and done.rows.X is not None and flags.loss is None:
        again = make_classifier(strength=strength, **model)[1]
        show_held_out(done.rows, done.roles, again, done.X)


def _describe(done: Trained, classifier: Any) -> dict[str, Any]:
    """Return what the card says about the training."""
    metrics = {name: measure(done, name) for name in done.parts}
    training = {"rows": len(done.rows), **_length(classifier), "metrics": metrics}
    if done.rows.X is not None:
        training["columns"] = describe_columns(done.rows.X)
    without = int((~done.rows.groups.known).sum())
    if without:
        training["rows_without_sensitive_value"] = without
    if not done.rows.groups.two:
        training["groups"] = describe_levels(done)
    return training


def _say_without(rows: int) -> None:
    say(
        f"{rows:,} rows have no sensitive value: the models of its effect are taught by the "
        "others, the final model by all rows. The figures above are those of rows with a value. "
        "It is assumed that who has one depends on the other columns alone."
    )


def train_in_memory(file: Path, flags: RoleFlags, classifier: Any, progress: Steps) -> Trained:
    """Read the table and train on it, on one-hot columns if the model is linear."""
    rows, roles = take_roles(read_rows(file, flags), flags)
    refuse_row_names(rows.X)
    given, rows = rows, in_training_units(rows, classifier)
    show_columns(rows.X, quiet=progress.quiet)
    X, features, held = rows.X, None, np.zeros(len(rows), dtype=bool)
    criterion, strength = classifier.criterion, classifier.strength
    progress.next("Estimating what the sensitive attribute does")
    if isinstance(classifier, FairLogisticRegression | FairLinearRegressor):
        X, features = one_hot_rows(rows)
        fitted = fit_for(criterion, strength, rows)
    else:
        chosen = hold_out_rows(rows, classifier.validation_fraction, classifier.random_state)
        fitting = nuisance_fitting(classifier)
        fitted = fit_held_out(criterion, strength, rows, chosen, fitting=fitting)
        held[chosen[1]] = True
        classifier.callback = _on_step(progress)
    progress.next("Training")
    classifier.criterion = fitted
    y = rows.y.astype(int) if rows.outcome.is_label else given.y
    classifier.fit(X, y, sensitive_features=rows.groups, sample_weight=rows.weights)
    return Trained(
        rows=rows, roles=roles, criterion=fitted, scores=scores_of(classifier, X),
        parts=_parts(held), features=features, X=X,
    )  # fmt: skip


def train_from_files(file: Path, flags: RoleFlags, classifier: Any, progress: Steps) -> Trained:
    """Train on Parquet files whose rows are never held in memory."""
    progress.next("Estimating what the sensitive attribute does")
    classifier.callback = _on_step(progress)
    files, rows, roles = rows_of_files(file, flags)
    coded = replace(
        rows,
        outcome=replace(rows.outcome, classes=np.array([0, 1])),
        groups=replace(rows.groups, levels=(0, 1)) if rows.groups.two else rows.groups,
    )
    fitted = fit_rows(classifier, files, coded)
    scores = predict_rows(classifier, files)
    progress.advance()
    return Trained(
        rows=rows, roles=roles, criterion=fitted.criterion, scores=scores, parts=_parts(fitted.held)
    )


def check_files(engine: str, file: Path, classifier: Any) -> None:
    """Refuse what cannot be trained from files."""
    if hasattr(classifier, "loss"):
        raise click.UsageError("--low-memory trains on labels, not with --loss")
    if engine != "xgboost":
        raise click.UsageError(f"--low-memory trains with --engine xgboost, not with {engine}")
    check_parquet(file)
    check_low_memory(classifier, 1)


def _parts(held: Mask) -> dict[str, Index]:
    """Return the rows trained on, and the rows held out for early stopping, if any."""
    parts = {"train": np.flatnonzero(~held), "validation": np.flatnonzero(held)}
    return {name: part for name, part in parts.items() if len(part)}


def make_criterion(
    name: str | None, degrees: dict[str, Any], *, seed: int, allow_separation: bool = False
) -> tuple[str, Any]:
    """Return a criterion and its name on the command line; degrees ask for the direct effect."""
    settings = {each: value for each, value in degrees.items() if value is not None}
    name = name or ("direct-effect" if settings else "fair-target")
    if name == "direct-effect":
        propensity = Propensity(random_state=seed)
        return name, DirectEffect(
            **settings, propensity=propensity, allow_separation=allow_separation
        )
    if settings:
        flag = "--" + next(iter(settings)).replace("_", "-")
        raise click.UsageError(f"{flag} belongs to --criterion direct-effect, not to {name}")
    if name == "fair-target":
        return name, FairTarget(random_state=seed, allow_separation=allow_separation)
    if allow_separation:
        raise click.UsageError(
            "--allow-separation belongs to --criterion fair-target or direct-effect, not to "
            f"{name}, which needs no propensity"
        )
    return name, GROUP_CRITERIA[name]()


def make_classifier(
    *, engine: str, criterion: str | None, params: Sequence[tuple[str, Any]], random_state: int,
    threads: int | None, strength: float | None, allow_separation: bool = False,
    loss: str | None = None, power: float | None = None, **degrees: Any,
) -> tuple[str, Any]:  # fmt: skip
    """Return engine and criterion by name, and an unfitted classifier whose settings are checked.

    ``degrees`` are the settings of the direct effect.
    """
    name, chosen = make_criterion(
        criterion, degrees, seed=random_state, allow_separation=allow_separation
    )
    if loss is not None:
        return f"{engine}, {name}, {loss.replace('_', ' ')}", make_regressor(
            chosen, engine=engine, params=params, random_state=random_state, threads=threads,
            strength=strength, loss=loss, power=power,
        )  # fmt: skip
    if engine == "linear":
        raise click.UsageError(
            "--engine linear is for counts and amounts, with --loss; labels have --engine logistic"
        )
    given = {"criterion": chosen, "strength": choose_strength(chosen, strength)}
    if engine != "logistic":
        given |= {"params": dict(params) or None, "random_state": random_state, "n_jobs": threads}
        booster = ENGINES[engine](**given)
        check_booster(booster)
        return f"{engine}, {name}", booster
    for each, _ in params:
        if each not in LOGISTIC_PARAMS:
            raise click.UsageError(
                f"--param: a logistic regression has no {each!r}; it takes "
                f"{', '.join(LOGISTIC_PARAMS)}"
            )
    regression = FairLogisticRegression(**given, **dict(params))
    check_regression(regression)  # now, rather than when the propensity score is fitted
    return f"{engine}, {name}", regression


def measure(trained: Trained, name: str) -> dict[str, float]:
    """Return the metrics of the scores on a part of the rows."""
    chosen = trained.parts[name]
    chosen = chosen[trained.rows.groups.known[chosen]]
    rows = trained.rows.with_table(None).take(chosen)
    objective = trained.criterion.take(chosen).objective(rows)
    part = Part(name=name, rows=rows, objective=None if objective.is_plain else objective)
    found = part.describe() | part.measure(trained.scores[chosen], threshold=0.5)
    if rows.groups.two:
        found |= {"z1": int(rows.z.sum()), "z0": int((1 - rows.z).sum())}
    if not rows.outcome.is_label:
        return number_figures(found, rows.outcome.loss.name)
    return {metric: found[metric] for metric in METRICS if metric in found}


def describe_levels(trained: Trained) -> list[dict[str, Any]]:
    """Return rows, labels and scores of each level of the training rows, ready for JSON.

    Combinations of several attributes with few rows are left out.
    """
    chosen = trained.parts["train"]
    chosen = chosen[trained.rows.groups.known[chosen]]
    rows = trained.rows.with_table(None).take(chosen)
    scores, found = trained.scores[chosen], []
    for code in reported_levels(rows):
        inside = rows.groups.codes == code
        weights = None if rows.weights is None else rows.weights[inside]
        y, p = (float(np.average(each[inside], weights=weights)) for each in (rows.y, scores))
        found.append(
            {
                "level": rows.groups.names[code],
                "rows": int(inside.sum()),
                "positive_rate": y,
                "mean_score": p,
            }
        )
    return found


def _length(model: Any) -> dict[str, Any]:
    if hasattr(model, "best_iteration_"):
        length = {"rounds": int(model.n_rounds_), "trees_kept": int(model.best_iteration_)}
        return {**length, "params": model.params_}
    return {"newton_steps": int(np.ravel(model.n_iter_)[0])}


def one_hot_rows(rows: Rows) -> tuple[Floats, tuple[Feature, ...]]:
    """Return covariates for a linear model; raise if a column is the sensitive attribute itself."""
    warn_of_other_attributes(rows.X, rows.groups.name)
    features = features_of_table(rows.X)
    matrix, names = one_hot(rows.X, features, keep_missing=True)
    for groups in rows.groups.alone():
        copies = find_copies(level_extremes(matrix, groups.codes, groups.n_levels))
        if not len(copies):
            continue
        raise ValueError(
            f"{names[copies[0]]!r} is the same as the sensitive column in every row; leave that "
            "column out with --drop"
        )
    return matrix, features


def _on_step(progress: Steps) -> Callable[[Step], None]:
    return lambda step: progress.describe(f"Training, round {step.number}, λ = {step.strength:.3f}")


def _print(
    training: dict[str, Any], roles: TrainingRoles, title: str, loss: str | None = None
) -> None:
    parts = training["metrics"]
    levels = roles.sensitive_levels or ("0", "1")
    reference, group = levels[:2]
    names = {**vars(roles), "reference": reference, "group": group}
    metrics = METRICS
    if loss is not None:
        metrics, names = NUMBER_METRICS, {**names, **number_names(roles, loss)}
    rows = [
        (label.format(**names), *(format(part[metric], form) for part in parts.values()))
        for metric, (label, form) in metrics.items()
        if metric in parts["train"]
    ]
    show_table(title, ("", *parts), rows)
    if "groups" in training:
        levels_shown = [
            (each["level"], f"{each['rows']:,}", f"{each['positive_rate']:.3f}",
             f"{each['mean_score']:.3f}")
            for each in training["groups"]
        ]  # fmt: skip
        head = (str(roles.sensitive), "rows", "share of labels", "mean score")
        show_table("Levels, training rows", head, levels_shown)
    if "rounds" in training:
        used = ", ".join(f"{name}={value}" for name, value in training["params"].items())
        say(f"{training['rounds']} rounds, of which {training['trees_kept']} are kept ({used}).")
        say("The validation rows chose the round: expect slightly less on fresh rows.")
    else:
        say(f"{training['newton_steps']} Newton steps; no rows were held out.")
