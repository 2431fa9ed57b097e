"""From predictions to a verdict, for any model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._typing import Floats
from ..display import page
from ..effects.estimate import Progress
from ..frames import plain
from ..grouping import Grouping
from ..rows import Rows
from .causal import CausalAudit, causal_audit, share_intervals, why_no_effects
from .comparisons import Comparison, comparison
from .evidence import Evidence, from_parts, name_groups
from .inputs import MARGIN, Settings, check_rows, name_favourable
from .metrics import BETWEEN, PLACES
from .notebook import audit_html
from .summary import facts
from .tables import Calibration, MetricTable, Table, measure_model, short
from .training_rows import TrainingRows, check_training_rows
from .verdict import Decision, decide

#: Version of what `Audit.to_dict` holds.
SCHEMA_VERSION = 2


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Audit:
    """What an audit found; made by `audit`. Printed, it is the decision with its tables.

    Parameters
    ----------
    metrics : MetricTable
        Performance overall and by group, and differences between the groups, with intervals:
        ``audit.metrics["auc", "z=1"]``, ``audit.metrics["demographic_parity_difference"]``.
    calibration : Calibration
        Mean scores and shares of positive labels, overall and by group.
    causal : CausalAudit or None
        Effects of z on labels and scores, the direct effect left, and whether the data can tell.
    missing : str or None
        Why there is no causal part.
    comparison : Comparison or None
        The model compared with the baseline, if there is one.
    n_rows : tuple of int
        Rows with z=0 and with z=1.
    levels, classes : tuple of str
        What z = 0 and z = 1, and what y = 0 and y = 1 stand for.
    sensitive_name : str or None
        Name of the sensitive column.
    settings : mapping
        How the audit was made.
    training_rows : TrainingRows or None
        How many of the rows the model was trained on; None where the model was not given.
    about : mapping
        What was audited, in words, such as the file and the model; a report begins with it.
    """

    metrics: MetricTable
    calibration: Calibration
    causal: CausalAudit | None
    missing: str | None
    comparison: Comparison | None
    n_rows: tuple[int, int]
    levels: tuple[str, ...]
    classes: tuple[str, ...]
    sensitive_name: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    training_rows: TrainingRows | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds of the decisions."""
        return tuple(self.settings["thresholds"])

    @property
    def decision(self) -> Decision:
        """What is claimed of the direct effect in the scores, and on what it rests."""
        return decide(_evidence(self))

    @property
    def verdict(self) -> str:
        """The decision in one paragraph, and what else a reader must know."""
        return " ".join([self.decision.text, *_notes(self)])

    @property
    def performance(self) -> Table:
        """The metrics of all rows and of each group."""
        return self._part(PLACES)

    @property
    def groups(self) -> Table:
        """The metrics that compare the groups."""
        return self._part((BETWEEN,))

    def _part(self, places: tuple[str, ...]) -> Table:
        entries = {k: v for k, v in self.metrics.entries.items() if k.group in places}
        return MetricTable(entries=entries, levels=self.levels).table

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per metric, group and threshold."""
        return self.metrics.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "decision": self.decision.to_dict(),
            "facts": list(facts(self)),
            "about": self.about,
            "rows": dict(zip(PLACES[1:], self.n_rows, strict=True)),
            "sensitive": {"name": self.sensitive_name, "levels": self.levels},
            "classes": self.classes,
            "metrics": self.metrics.to_records(),
            "calibration": self.calibration.table.to_records(),
            "causal": self.causal and self.causal.to_dict(),
            "missing": self.missing,
            "training_rows": self.training_rows and vars(self.training_rows),
            "comparison": self.comparison and self.comparison.to_dict(),
            "settings": self.settings,
        }
        return dict(plain(found))

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_text(self) -> str:
        """Return the decision and the tables for a terminal."""
        from .text import audit_lines

        return "\n".join(audit_lines(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the selection rates of the groups by threshold; return the Axes."""
        from .plots import plot_groups

        return plot_groups(self, ax)

    def to_html(self) -> str:
        """Return verdict, charts and tables as a page of HTML that opens without the network.

        `write_audit_report` makes the whole report.
        """
        return page(self._heading(), self._repr_html_())

    def _heading(self) -> str:
        from .text import audit_lines

        return next(audit_lines(self))

    def _repr_html_(self) -> str:
        return audit_html(self, self._heading())

    def __repr__(self) -> str:
        return self.to_text()


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    X: Any = None,
    model: Any = None,
    allow_training_rows: bool = False,
    threshold: Any = 0.5,
    selection_rate: Any = None,
    favourable: Any = None,
    margin: float = MARGIN,
    about: Mapping[str, Any] | None = None,
    baseline: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    groups: Grouping | None = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    calibration_bins: int = 10,
    calibration_strategy: str = "uniform",
    propensity_model: Any = None,
    outcome_model: Any = None,
    score_model: Any = None,
    cv: int = 5,
    repeats: int = 1,
    clip: float = 0.01,
    effect_interval: str = "influence",
    outcome_degree: int = 1,
    effect_degree: int = 0,
    max_rows_for_effects: int | None = 200_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Judge any model by its scores: how good, how they treat two groups, and what z does to them.

    The decision is about the direct effect in the scores: what of the difference of the groups'
    mean scores neither X nor the sharpness of the scores explains, on the scale of the labels. It
    and the pass-through, the share of the labels' direct effect that the scores pass on, are the
    same for every strictly increasing coding of a score (`Effects.gap_parts`). Judge rows that the
    model was not trained on.

    Parameters
    ----------
    y_true : column of length n
        Labels of two classes; the second in sorted order is the positive one.
    y_pred : column of length n
        p, the model's probability of the positive class.
    sensitive_features : column of length n
        z, with two levels.
    X : frame or array, optional
        Covariates, z not among them. Without it there is no causal part.
    model : fitted estimator or SavedModel, optional
        The model of ``y_pred``, if it is one of unsway with the columns of X: rows that it was
        trained on are refused. It is asked for nothing else.
    allow_training_rows : bool, default=False
        Whether to audit rows that the ``model`` was largely trained on; the verdict then says so.
    threshold : float or list of float, default=0.5
        A row is selected when its score exceeds it.
    selection_rate : float or list of float, optional
        Shares of all rows to select, such as a rate of approval: decisions are compared with a fair
        ranking at these rates too.
    favourable : optional
        The label that is good for a person, one of the two. Until it is stated, texts say only who
        scores higher.
    margin : float, default=0.02
        A direct effect is called small only if its 90% interval lies within ±margin.
    about : mapping of str to str, optional
        What was audited, such as ``{"file": "spring.csv", "model": "loans 7"}``, for the report.
    baseline : column of length n, optional
        Another model's probabilities, to compare with.
    sample_weight : column of length n, optional
        Weights of the rows.
    cluster : column of length n, optional
        What several rows belong to; intervals count clusters in place of rows.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    n_bootstrap : int, default=200
        Resamples of the rows, within the groups, for the intervals of the metrics; 0 for none.
    confidence : float, default=0.95
        Share of intervals that should hold the truth.
    calibration_bins : int, default=10
        Number of bins of the calibration.
    calibration_strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or with as many rows each, as in scikit-learn's `calibration_curve`.
    propensity_model, outcome_model, score_model : scikit-learn model or list of them, optional
        Models of P(z=1|X), E[y|z,X] and E[p|z,X]; see `estimate_effects`.
    cv : int, default=5
        Folds of the cross-fitting.
    repeats : int, default=1
        How often it is done, with other folds each time; see `estimate_effects`.
    clip : float, default=0.01
        Propensities are clipped to [clip, 1 − clip].
    effect_interval : {"influence", "bootstrap"}, default="influence"
        Of the effects; the bootstrap fits every model again in each of `n_bootstrap` resamples.
    outcome_degree : int, default=1
        N1, the largest power of the propensity in the surrogate's α.
    effect_degree : int, default=0
        N2, the largest power of the propensity in the surrogate's β.
    max_rows_for_effects : int or None, default=200_000
        With more rows than this the effects are estimated on a part, which the result says; the
        part depends on what the rows hold, not on their order. None takes all.
    random_state : int, default=0
        Seed.
    n_jobs : int, optional
        Processes of the bootstrap.
    progress : callable, optional
        Called with the resamples done and their number.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(2000, random_state=0)
    >>> y, p, z = people.y, people.fair_score, people.z
    >>> found = audit(y, p, sensitive_features=z, X=people.X, n_bootstrap=0)
    >>> found.decision.state
    'cannot tell'
    >>> share = found.causal.parts.pass_through
    >>> share.low < 0 < share.high
    True
    >>> audit(y, p, sensitive_features=z, n_bootstrap=0).missing.split(":")[0]
    'X was not given'
    """
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
        selection_rate=selection_rate,
        effects={
            "propensity_model": propensity_model,
            "outcome_model": outcome_model,
            "cv": cv,
            "repeats": repeats,
            "clip": clip,
            "interval": effect_interval,
            "n_bootstrap": n_bootstrap or 200,
        },
    )
    given = {"y_pred": y_pred, **({} if baseline is None else {"baseline": baseline})}
    rows, scores = check_rows(y_true, given, sensitive_features, X, sample_weight, groups, cluster)
    settings = replace(settings, favourable=name_favourable(favourable, rows.outcome))
    trained = None
    if model is not None and X is not None:
        trained = check_training_rows(model, X, allowed=allow_training_rows)
    missing, causal = why_no_effects(rows, cv), None
    if missing is None:
        degrees = {"outcome_degree": outcome_degree, "effect_degree": effect_degree}
        causal = causal_audit(rows, scores, settings, score_model=score_model, degrees=degrees)
    found = _judge(rows, scores, settings, causal, missing, progress)
    return replace(found, training_rows=trained, about=dict(about or {}))


def _judge(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: Settings,
    causal: CausalAudit | None,
    missing: str | None,
    progress: Progress | None,
) -> Audit:
    """Measure the model, and the baseline if there is one."""
    from .. import __version__

    model, compared = measure_model(scores["y_pred"], rows, settings, progress), None
    model = share_intervals(model, causal, judged=True)
    if "baseline" in scores:
        other = share_intervals(measure_model(scores["baseline"], rows, settings), causal)
        models = {"baseline": other, "model": model}
        left = None
        if causal is not None and causal.baseline_left is not None:
            left = {"baseline": causal.baseline_left, "model": causal.direct_effect_left}
        compared = comparison(models, rows, settings, left, missing)
    judged = ("thresholds", "n_bootstrap", "confidence", "calibration_bins", "calibration_strategy")
    return Audit(
        metrics=model.metrics,
        calibration=model.calibration,
        causal=causal,
        missing=missing,
        comparison=compared,
        n_rows=(int((rows.z == 0).sum()), int((rows.z == 1).sum())),
        levels=rows.groups.names,
        classes=rows.outcome.names,
        sensitive_name=rows.groups.name,
        settings={
            "unsway": __version__,
            **settings.named(*judged),
            "effect_interval": settings.effects["interval"],
            "cv": int(settings.effects["cv"]),
            "clip": float(settings.effects["clip"]),
            **settings.named("max_rows_for_effects", "random_state", "margin", "favourable"),
            "selection_rates": list(settings.selection_rates),
            "weighted": rows.weights is not None,
            **({} if rows.clusters is None else {"clusters": int(rows.clusters.max()) + 1}),
        },
    )


def _evidence(found: Audit) -> Evidence:
    """Return what the decision on an audit rests on."""
    causal, how = found.causal, found.settings
    about: dict[str, Any] = {
        "groups": name_groups(found.levels, found.sensitive_name),
        "margin": how["margin"],
        "scored": short(found.classes[1]),
        "favourable": short(how["favourable"]),
        "notes": _notes(found),
    }
    if causal is None:
        unknown = dict.fromkeys(("estimate", "se", "low", "high"))
        return Evidence(direct=unknown, why_not=found.missing or "", **about)
    blind = None if causal.blind is None else causal.blind.pass_through
    return Evidence(
        **from_parts(causal.parts, causal.direct_effect_left),
        confidence=how["confidence"],
        blind=None if blind is None else blind.to_dict(),
        findings=causal.verdict.to_dict()["findings"],
        n_rows=causal.n_rows,
        **about,
    )


def _notes(found: Audit) -> list[str]:
    """Return what a reader must know of the rows."""
    note = None if found.training_rows is None else found.training_rows.note
    return [] if note is None else [note]
