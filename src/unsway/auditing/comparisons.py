"""Several models on the same rows, with paired intervals of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Floats
from ..effects import Effects, Estimate, balance, verdict
from ..effects.estimate import Progress
from ..effects.influence import Mean
from ..effects.study import effects_of
from ..frames import Numbered, Tabular, plain
from ..grouping import Grouping
from ..rows import Rows
from .causal import why_no_effects
from .evidence import Evidence, from_parts, name_groups
from .inputs import MARGIN, Numbers, Settings, check_rows, name_favourable, name_of
from .level_comparison import LevelComparison, compare_by_level
from .metrics import estimates
from .non_inferiority import NonInferiority, check_margins, judge_margins
from .notebook import comparison_charts
from .number_tables import MeasuredNumbers, measure_numbers_of, target_units
from .numbers import POINTS, Units
from .tables import Measured, MetricTable, Table, measure_model, short, show, text_table
from .verdict import Decision, decide

#: Version of what `Comparison.to_dict` holds.
SCHEMA_VERSION = 1
#: The metrics a printed comparison shows.
_SHOWN = (
    "auc",
    "log_loss",
    "calibration_error",
    "accuracy",
    "score_gap",
    "selection_rate_difference",
    "equalized_odds_difference",
)
#: And one of predictions of numbers.
_OF_NUMBERS = ("deviance", "deviance_explained", "rmse", "gini", "actual_over_expected")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Comparison(Numbered, Tabular):
    """Models beside a reference, the first of them.

    Parameters
    ----------
    models : mapping of str to MetricTable
        The metrics of each model.
    differences : mapping of str to MetricTable
        Of each model but the first: its metrics minus the reference's, with paired intervals.
    left : mapping of str to Estimate, or None
        The direct effect of z left in each model's scores; None without X.
    left_differences : mapping of str to Estimate
        The same minus the reference's. What X explains is the same for all models of the rows, so
        this is the difference of their score gaps, and needs no X.
    missing : str or None
        Why there is no `left`.
    settings : mapping
    decisions : mapping of str to Decision, or None
        What is claimed of the direct effect in each model's scores; None without X.
    margins : mapping of str to float
        The loss of each metric that is accepted, named before the models were measured.
    """

    models: Mapping[str, MetricTable]
    differences: Mapping[str, MetricTable]
    left: Mapping[str, Estimate] | None
    left_differences: Mapping[str, Estimate]
    missing: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Decision] | None = None
    margins: Mapping[str, float] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The model the others are compared with."""
        return next(iter(self.models))

    @property
    def non_inferiority(self) -> tuple[NonInferiority, ...]:
        """Whether each model is not worse than the reference by more than each margin."""
        return judge_margins(self.differences, self.reference, self.margins)

    def _columns(self) -> Mapping[str, Any]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """One row per model, metric, group and threshold."""
        base = self.models[self.reference].entries
        return Table.of(
            {
                "model": name,
                "reference": self.reference,
                **found.about(key),
                "value": self.models[name].entries[key].estimate,
                "reference_value": base[key].estimate,
                "difference": each.estimate,
                "se": each.se,
                "low": each.low,
                "high": each.high,
            }
            for name, found in self.differences.items()
            for key, each in found.entries.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "models": list(self.models),
            "reference": self.reference,
            "differences": self.table.to_records(),
            "direct_effect_left": self.left and _dicts(self.left),
            "direct_effect_left_differences": _dicts(self.left_differences),
            "decisions": None
            if self.decisions is None
            else {name: each.to_dict() for name, each in self.decisions.items()},
            "missing": self.missing,
            "settings": self.settings,
        }
        if self.margins:
            found["margins"] = dict(self.margins)
            found["non_inferiority"] = [each.to_dict() for each in self.non_inferiority]
        return dict(plain(found))

    def _title(self) -> str:
        return f"Comparison of {len(self.models)} models with {short(self.reference)}"

    def _charts(self) -> str:
        return comparison_charts(self)

    def to_text(self) -> str:
        """Return the comparison for a terminal: each model's numbers, and its differences."""
        keys = list(self.models[self.reference].entries)
        first = min((key.threshold for key in keys if key.threshold is not None), default=None)
        rows = []
        known = {key.metric for key in keys}
        for name in (*_OF_NUMBERS, *_SHOWN):
            if name not in known:
                continue
            key = next(k for k in keys if k.metric == name and k.threshold in (None, first))
            values = [f"{each.entries[key].estimate:.4f}" for each in self.models.values()]
            differences = [show(each.entries[key], "+.4f") for each in self.differences.values()]
            rows.append((name, *values, *differences))
        if self.left is not None:
            form = "+.4f" if "auc" in known else "+.4g"
            values = [f"{each.estimate:{form}}" for each in self.left.values()]
            differences = [show(each, form) for each in self.left_differences.values()]
            rows.append(("direct_effect_left", *values, *differences))
        if self.decisions is not None:
            shares = (each.pass_through for each in self.decisions.values())
            values = ["–" if share is None else f"{share['estimate']:.2f}" for share in shares]
            rows.append(("pass_through", *values, *("" for _ in self.differences)))
        labels = [short(name, 20) for name in self.models]
        heads = [f"{label} − {labels[0]}" for label in labels[1:]]
        lines = text_table(("", *labels, *heads), rows)
        lines += map(str, self.non_inferiority)
        note = [] if self.missing is None else [f"Without the direct effect left: {self.missing}."]
        claims = self.decisions or {}
        said = [f"{short(name, 20)}: {each.headline}." for name, each in claims.items()]
        return "\n".join([*lines, *said, *note])

    def __repr__(self) -> str:
        return self.to_text()


def compare(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    sensitive_features: Any,
    loss: str | None = None,
    power: float = 1.5,
    exposure: Any = None,
    X: Any = None,
    threshold: Any = 0.5,
    favourable: Any = None,
    margin: float = MARGIN,
    sample_weight: Any = None,
    cluster: Any = None,
    groups: Grouping | None = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    calibration_bins: int = 10,
    calibration_strategy: str = "uniform",
    max_rows_for_effects: int | None = 200_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    margins: Mapping[str, float] | None = None,
    **effect_options: Any,
) -> Comparison | LevelComparison:
    """Compare models' scores of the same rows with the first of them.

    Intervals are paired: each resample measures all models, so what they have in common cancels.

    Parameters
    ----------
    y_true : column of length n
        As in `audit`.
    y_pred : mapping of str to column
        Each model's probabilities by its name, or of numbers its means; the first is the reference.
    sensitive_features, X, threshold, favourable, margin, sample_weight, cluster, groups
        As in `audit`.
    loss, power, exposure
        As in `audit`.
    n_bootstrap, confidence
        As in `audit`. Without resamples, only the direct effect left has intervals.
    calibration_bins, calibration_strategy, max_rows_for_effects, random_state, n_jobs, progress
        As in `audit`.
    margins : mapping of str to float, default=None
        By metric, such as ``{"auc": 0.01}``, by how much a model may be worse than the reference.
        ``non_inferiority`` of the result says whether the interval is within the margin. Name the
        margins before you look at the models.
    **effect_options
        Passed to `estimate_effects`, for the effects of z on the labels.

    Returns
    -------
    Comparison or LevelComparison
        The second for three levels or more.

    Examples
    --------
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(2000, random_state=0)
    >>> found = compare(
    ...     people.y,
    ...     {"labels": people.y, "fair": people.fair_score},
    ...     sensitive_features=people.z,
    ...     n_bootstrap=50,
    ... )
    >>> found.left_differences["fair"].high < 0
    True
    """
    if not isinstance(y_pred, Mapping) or len(y_pred) < 2:
        raise ValueError("y_pred must map at least two models' names to their scores")
    margins = check_margins(margins)
    settings = Settings.check(
        threshold,
        calibration_bins=calibration_bins,
        calibration_strategy=calibration_strategy,
        n_bootstrap=n_bootstrap,
        confidence=confidence,
        max_rows_for_effects=max_rows_for_effects,
        random_state=random_state,
        n_jobs=n_jobs,
        margin=margin,
        effects=effect_options,
    )
    given = {f"y_pred[{str(name)!r}]": values for name, values in y_pred.items()}
    if len(given) < len(y_pred):
        raise ValueError("two models of y_pred have the same name as text; rename one")
    columns = sensitive_features, X, sample_weight, groups, cluster
    numbers = Numbers.check(loss, power, exposure)
    rows, checked = check_rows(y_true, given, *columns, numbers=numbers)
    named = dict(zip(map(str, y_pred), checked.values(), strict=True))
    if numbers is None:
        settings = replace(settings, favourable=name_favourable(favourable, rows.outcome))
    elif threshold != 0.5 or favourable is not None:
        raise ValueError("threshold and favourable are for scores of a label, not with loss=")
    if numbers is None and not rows.groups.two:
        return compare_by_level(rows, named, settings, margins)
    target = name_of(y_true)
    return replace(_compared(rows, named, settings, target, progress, margins), margins=margins)


def _compared(
    rows: Rows,
    named: Mapping[str, Floats],
    settings: Settings,
    target: str,
    progress: Progress | None,
    margins: Mapping[str, float],
) -> Comparison:
    """Measure every model of rows of two levels."""
    if margins and settings.n_bootstrap == 0:
        raise ValueError("margins are judged by intervals; n_bootstrap must be at least 2")
    is_label = rows.outcome.is_label
    missing = why_no_effects(rows, settings.effects.get("cv", 5))
    units = POINTS if is_label else target_units(rows, target)
    left, decisions = (None, None) if missing else _judged(rows, named, settings, units)
    measure: Any = measure_model if is_label else measure_numbers_of
    measured = {
        name: measure(p, rows, settings, progress if name == list(named)[-1] else None)
        for name, p in named.items()
    }
    return comparison(measured, rows, settings, left, missing, decisions)


def _judged(
    rows: Rows, named: Mapping[str, Floats], settings: Settings, units: Units
) -> tuple[dict[str, Estimate], dict[str, Decision]]:
    """Return the direct effect left in each model's scores, and what is claimed of it."""
    chosen, scores = settings.rows_for_effects(rows, named)
    effects = effects_of(chosen, **settings.effect_options)
    left = {name: effects.direct_effect_left(p) for name, p in scores.items()}
    return left, decide_each(scores, chosen, effects, settings, units)


def decide_each(
    scores: Mapping[str, Floats],
    rows: Rows,
    effects: Effects,
    settings: Settings,
    units: Units = POINTS,
) -> dict[str, Decision]:
    """Return what is claimed of the direct effect in each model's scores of the rows."""
    has_models = bool(np.isfinite(effects.nuisances.outcome).all())
    balanced = balance(
        rows.X,
        sensitive_features=rows.groups.as_given(),
        propensity=effects.nuisances.propensity,
        sample_weight=rows.weights,
        groups=rows.groups.grouping,
    )
    about: dict[str, Any] = {
        "groups": name_groups(rows.groups.names, rows.groups.name),
        "confidence": settings.confidence,
        "findings": verdict(effects.overlap, balanced).to_dict()["findings"],
        "margin": settings.margin,
        "units": units,
        "n_rows": len(rows),
    }
    if rows.outcome.is_label:
        about["scored"] = short(rows.outcome.names[1])
        about["favourable"] = short(settings.favourable)
    parts = {name: effects.gap_parts(p) if has_models else None for name, p in scores.items()}
    return {
        name: decide(Evidence(**from_parts(parts[name], effects.direct_effect_left(p)), **about))
        for name, p in scores.items()
    }


def comparison(
    measured: Mapping[str, Measured] | Mapping[str, MeasuredNumbers],
    rows: Rows,
    settings: Settings,
    left: Mapping[str, Estimate] | None,
    missing: str | None,
    decisions: Mapping[str, Decision] | None = None,
) -> Comparison:
    """Put models that were measured on the same rows, with the same seed, side by side."""
    (_, reference), *others = measured.items()
    level = settings.confidence
    return Comparison(
        models={name: each.metrics for name, each in measured.items()},
        differences={name: _differences(each, reference, level) for name, each in others},
        left=left,
        left_differences={
            name: _gap_difference(each.scores - reference.scores, rows, level)
            for name, each in others
        },
        missing=missing,
        settings={
            **settings.named("thresholds", "n_bootstrap", "confidence", "random_state"),
            **settings.named("margin", "favourable"),
            "rows": len(rows),
        },
        decisions=decisions,
    )


def _dicts(estimates: Mapping[str, Estimate]) -> dict[str, dict[str, float]]:
    return {name: each.to_dict() for name, each in estimates.items()}


def _differences(
    model: Measured | MeasuredNumbers, base: Measured | MeasuredNumbers, confidence: float
) -> MetricTable:
    before = base.metrics.entries
    values = {k: each.estimate - before[k].estimate for k, each in model.metrics.entries.items()}
    replicates = model.replicates - base.replicates
    entries = estimates(values, replicates, confidence, signed=True)
    return MetricTable(entries=entries, levels=model.metrics.levels)


def _gap_difference(difference: Floats, rows: Rows, confidence: float) -> Estimate:
    """Return the difference of two score gaps, with its influence-function interval."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    ones, zeros = weights * rows.z, weights * (1 - rows.z)
    found = Mean.of(ones * difference, ones, rows.clusters)
    return (found - Mean.of(zeros * difference, zeros)).interval(confidence)
