"""From predictions of counts and amounts to a verdict, for any model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import check_choice, check_number, check_weights, read_column, read_numbers
from ..effects.estimate import Progress
from ..frames import Tabular, plain
from ..groups import Grouping, Groups
from ..outcome import NUMBER_LOSSES, Outcome, number_loss
from ..rows import Rows
from ..tables import row_count
from .causal import why_no_effects
from .comparisons import Comparison, comparison
from .inputs import MARGIN, Settings
from .metrics import PLACES
from .number_causal import NumberCausal, number_causal
from .number_metrics import check_means
from .number_tables import (
    DecileTable,
    DoubleLift,
    MeasuredNumbers,
    double_lift,
    measure_number_model,
)
from .number_text import number_lines
from .number_words import number_evidence, number_facts
from .numbers import Units, units_of
from .tables import MetricTable, Table, short
from .training_rows import TrainingRows, check_training_rows
from .verdict import Decision, decide

#: Version of what `NumberAudit.to_dict` holds, and of what it shares with `Audit.to_dict`.
SCHEMA_VERSION = 2


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NumberAudit(Tabular):
    """What an audit of predictions of numbers found; made by `audit_numbers`.

    As a frame it has one row per metric and group.

    Parameters
    ----------
    metrics : MetricTable
        Deviance, D², Gini, actual over expected … overall and by group, with intervals.
    deciles : DecileTable
        Target and predictions by tenths of the predictions.
    lorenz : Table
        Points of the Lorenz curve; empty where the target has negative numbers.
    causal : NumberCausal or None
    missing : str or None
        Why there is no causal part.
    comparison : Comparison or None
        The model compared with the baseline, if there is one.
    lift : DoubleLift or None
        Where the two differ most.
    n_rows : tuple of int
        Rows with z=0 and with z=1.
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    sensitive_name : str or None
    unit : str
        What the target is, such as "claims per years".
    scale : float
        The mean of the target; of numbers of either sign the standard deviation.
    settings : mapping
    training_rows : TrainingRows or None
        How many of the rows the model was trained on; None where it was not given.
    about : mapping of str to str
        What was audited, for the head of a page.
    """

    metrics: MetricTable
    deciles: DecileTable
    lorenz: Table
    causal: NumberCausal | None
    missing: str | None
    comparison: Comparison | None
    lift: DoubleLift | None
    n_rows: tuple[int, int]
    levels: tuple[str, ...]
    sensitive_name: str | None
    unit: str
    scale: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    training_rows: TrainingRows | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def units(self) -> Units:
        """How effects are written, and what a margin is a share of."""
        return units_of(self.settings["loss"], self.unit, self.scale)

    @property
    def decision(self) -> Decision:
        """What is claimed of the direct effect in the predictions, and on what it rests."""
        return decide(number_evidence(self))

    def _columns(self) -> Mapping[str, Any]:
        return self.metrics.table.columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "kind": "numbers",
            "decision": self.decision.to_dict(),
            "facts": list(number_facts(self)),
            "rows": dict(zip(PLACES[1:], self.n_rows, strict=True)),
            "sensitive": {"name": self.sensitive_name, "levels": self.levels},
            "about": self.about,
            "unit": self.unit,
            "scale": self.scale,
            "metrics": self.metrics.to_records(),
            "deciles": self.deciles.table.to_records(),
            "lorenz": self.lorenz.to_records() if self.lorenz.columns else [],
            "causal": self.causal and self.causal.to_dict(),
            "missing": self.missing,
            "comparison": self.comparison and self.comparison.to_dict(),
            "double_lift": self.lift and self.lift.to_dict(),
            "training_rows": self.training_rows and vars(self.training_rows),
            "settings": self.settings,
        }
        return dict(plain(found))

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_text(self) -> str:
        """Return the decision and the tables for a terminal."""
        return "\n".join(number_lines(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw target and predictions by tenths of the predictions; return the Axes."""
        return self.deciles.plot(ax)

    def __repr__(self) -> str:
        return self.to_text()


def audit_numbers(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    loss: str,
    power: float = 1.5,
    exposure: Any = None,
    X: Any = None,
    model: Any = None,
    allow_training_rows: bool = False,
    baseline: Any = None,
    margin: float = MARGIN,
    sample_weight: Any = None,
    groups: Grouping | None = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    n_bins: int = 10,
    propensity_model: Any = None,
    outcome_model: Any = None,
    cv: int = 5,
    clip: float = 0.01,
    max_rows_for_effects: int | None = 200_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NumberAudit:
    """Judge any model of counts or amounts by its predictions.

    How good they are, how they treat two groups, and what z does to target and predictions. There
    are no thresholds: a price is not a decision. Judge rows that the model was not trained on.

    Parameters
    ----------
    y_true : column of numbers
        Totals of each row's exposure; rates where there is none.
    y_pred : column of numbers
        Predicted means, per unit of exposure where there is one.
    sensitive_features : column of length n
        z, with two levels.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}
        What y is: any numbers, counts, positive amounts, or totals that may be zero.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    exposure : column of positive numbers, optional
        Rates are y per unit of it, and rows weigh by it in every figure.
    X : frame or array, optional
        Covariates, z not among them. Without it there is no causal part.
    model, allow_training_rows
        As in `audit`.
    baseline : column of length n, optional
        Another model's predictions, to compare with.
    margin : float, default=0.02
        A direct effect within this share of the mean of the target is small; for
        ``loss="squared_error"`` of its standard deviation.
    sample_weight, groups, n_bootstrap, confidence
        As in `audit`.
    n_bins : int, default=10
        Bins of the predictions of about equal weight.
    propensity_model, outcome_model, cv, clip, max_rows_for_effects, random_state, n_jobs, progress
        As in `audit`.

    Returns
    -------
    NumberAudit

    Examples
    --------
    >>> from unsway import make_world
    >>> people = make_world("claims", 2000, random_state=0)
    >>> found = audit_numbers(
    ...     people.y,
    ...     people.fair_score,
    ...     sensitive_features=people.z,
    ...     loss="poisson",
    ...     exposure=people.exposure,
    ...     n_bootstrap=0,
    ... )
    >>> found.unit, bool(found.metrics["actual_over_expected", "z=1"].estimate > 1)
    ('y per unit of exposure', True)
    """
    check_choice(loss, "loss", NUMBER_LOSSES)
    outcome = Outcome.numbers(
        y_true, len(read_numbers(y_true, "y_true")), loss=number_loss(loss, power),
        exposure=exposure, role="y_true",
    )  # fmt: skip
    rows = _rows(outcome, X, sensitive_features, sample_weight, groups)
    trained = None
    if model is not None and X is not None:
        trained = check_training_rows(model, X, allowed=allow_training_rows)
    _, name = read_column(y_true, "y_true")
    given = {"model": y_pred, **({} if baseline is None else {"baseline": baseline})}
    effects = {"propensity_model": propensity_model, "outcome_model": outcome_model}
    settings = number_settings(
        effects={**effects, "cv": cv, "clip": clip},
        margin=margin,
        n_bootstrap=n_bootstrap,
        confidence=confidence,
        calibration_bins=n_bins,
        max_rows_for_effects=max_rows_for_effects,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    found = judge_numbers(rows, given, settings, target=name or "y", progress=progress)
    return replace(found, training_rows=trained)


def _rows(
    outcome: Outcome, X: Any, sensitive_features: Any, sample_weight: Any, groups: Any
) -> Rows:
    """Return checked rows; their exposure is part of the weights."""
    weights = check_weights(sample_weight, len(outcome), beside="y_true")
    if outcome.exposure is not None:
        weights = outcome.exposure if weights is None else weights * outcome.exposure
    sensitive = Groups.check(sensitive_features, len(outcome), groups=groups, beside="y_true")
    sensitive.require_two("an audit of numbers")
    if sensitive.kept is not None:
        raise ValueError("groups leaves rows out; leave them out of every column first")
    sensitive.check_present(weights, "sensitive_features")
    if X is not None:
        if row_count(X) != len(outcome):
            raise ValueError(
                f"X has {row_count(X)} rows but y_true has {len(outcome)}; they must match"
            )
        sensitive.refuse_in(X)
    return Rows(X=X, outcome=replace(outcome, exposure=None), groups=sensitive, weights=weights)


def number_settings(*, effects: Mapping[str, Any], **given: Any) -> Settings:
    """Return checked settings of an audit of numbers, which has no thresholds."""
    check_number(given.get("margin", MARGIN), "margin", above=0, below=1)
    known = {"cv": 5, "clip": 0.01, "propensity_model": None, "outcome_model": None}
    options = {**known, **effects, "interval": "influence", "n_bootstrap": 200}
    return Settings.check(0.5, calibration_strategy="quantile", effects=options, **given)


def judge_numbers(
    rows: Rows,
    predictions: Mapping[str, Any],
    settings: Settings,
    *,
    target: str = "y",
    effects: bool = True,
    progress: Progress | None = None,
) -> NumberAudit:
    """Return the audit of the predictions "model" of checked rows, beside "baseline" if given."""
    from .. import __version__

    rows.groups.require_two("an audit of numbers")
    scores = {name: _read(values, rows, name) for name, values in predictions.items()}
    measured = {
        name: _measure(p, rows, settings, progress if name == "model" else None)
        for name, p in scores.items()
    }
    model, missing = measured["model"], why_no_effects(rows, settings.effects["cv"])
    missing = missing if effects or missing else "effects were not asked for"
    causal = None if missing else number_causal(rows, scores, settings)
    per, loss = rows.outcome.per, rows.outcome.loss
    return NumberAudit(
        metrics=model.metrics,
        deciles=model.deciles,
        lorenz=model.lorenz,
        causal=causal,
        missing=missing,
        **_beside(rows, scores, measured, settings, causal),
        n_rows=(int((rows.z == 0).sum()), int((rows.z == 1).sum())),
        levels=rows.groups.names,
        sensitive_name=rows.groups.name,
        unit=short(f"{target} per {per}" if per else target, 60),
        scale=_scale(rows),
        settings={
            "unsway": __version__,
            "loss": loss.name,
            **({"power": loss.power} if loss.name == "tweedie" else {}),  # type: ignore[attr-defined]
            "exposure": per,
            **settings.named("n_bootstrap", "confidence", "calibration_bins", "margin"),
            **settings.named("max_rows_for_effects", "random_state"),
            "cv": int(settings.effects["cv"]),
            "clip": float(settings.effects["clip"]),
            "weighted": rows.weights is not None,
        },
    )


def _read(values: Any, rows: Rows, name: str) -> Floats:
    role = "y_pred" if name == "model" else name
    p = read_numbers(values, role, len(rows), beside="y_true")
    check_means(rows.outcome.loss, rows.y, p, role)
    return p


def _measure(
    p: Floats, rows: Rows, settings: Settings, progress: Progress | None
) -> MeasuredNumbers:
    return measure_number_model(
        p,
        rows.y,
        rows.groups.codes,
        settings,
        loss=rows.outcome.loss,
        weights=rows.weights,
        levels=rows.groups.names,
        progress=progress,
        clusters=rows.clusters,
    )


def _scale(rows: Rows) -> float:
    """Return the size that effects are compared with."""
    mean = float(np.average(rows.y, weights=rows.weights))
    return mean if rows.outcome.loss.link == "log" else rows.outcome.spread(rows.weights)


def _beside(
    rows: Rows,
    scores: Mapping[str, Floats],
    measured: Mapping[str, MeasuredNumbers],
    settings: Settings,
    causal: NumberCausal | None,
) -> dict[str, Any]:
    """Return the comparison with a baseline, and where the two differ most."""
    if "baseline" not in scores:
        return {"comparison": None, "lift": None}
    names = ("baseline", "model")
    left = None
    if causal is not None and causal.baseline_left is not None:
        left = {"baseline": causal.baseline_left, "model": causal.direct_effect_left}
    compared = comparison({name: measured[name] for name in names}, rows, settings, left, None)
    lift = None
    if all((scores[name] > 0).all() for name in names):
        how = settings.named("n_bootstrap", "confidence", "random_state")
        pair = {name: scores[name] for name in names}
        lift = double_lift(rows.y, pair, sample_weight=rows.weights, **how)
    return {"comparison": compared, "lift": lift}
