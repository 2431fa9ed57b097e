"""From predictions to a verdict, for any model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

from .._typing import Floats
from ..effects.estimate import Progress
from ..grouping import Grouping
from ..rows import Rows
from .audit_result import Audit
from .causal import causal_audit, share_intervals, why_no_effects
from .comparisons import comparison
from .inputs import MARGIN, Numbers, Settings, check_rows, name_favourable, name_of
from .level_audit import LevelAudit, audit_levels
from .number_audits import NumberAudit, judge_numbers
from .tables import measure_model
from .training_rows import check_training_rows


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    loss: str | None = None,
    power: float = 1.5,
    exposure: Any = None,
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
) -> Audit | LevelAudit | NumberAudit:
    """Judge any model by its scores: how good, how they treat groups, and what z does to them.

    With ``loss=`` they are predictions of counts, amounts or other numbers, which have no
    thresholds: a price is not a decision.

    The decision is about the direct effect in the scores: what of the difference of the groups'
    mean scores neither X nor the sharpness of the scores explains, on the scale of the labels. It
    and the pass-through, the share of the labels' direct effect that the scores pass on, are the
    same for every strictly increasing coding of a score (`Effects.gap_parts`). Judge rows that the
    model was not trained on.

    Parameters
    ----------
    y_true : column of length n
        Labels of two classes; the second in sorted order is the positive one. Of numbers the totals
        of each row's exposure; rates where there is none.
    y_pred : column of length n
        p, the model's probability of the positive class; of numbers the mean, per unit of exposure
        where there is one.
    sensitive_features : column of length n
        z, with two levels or more. Of three or more each is compared with the reference, and
        intervals of effects hold for all of them at once; bootstrap, calibration,
        ``selection_rate``, ``score_model`` and ``loss`` are for two.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, optional
        What numbers ``y_true`` holds: any numbers, counts, positive amounts, or totals that may be
        zero. By default it holds labels.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    exposure : column of positive numbers, optional
        Of numbers: rates are y per unit of it, and rows weigh by it in every figure.
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
        A direct effect is called small only if its 90% interval lies within ±margin. Of numbers it
        is a share of their mean, or for ``loss="squared_error"`` of their standard deviation.
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
        Number of bins of the calibration; of numbers they have equal weight.
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
    Audit, LevelAudit or NumberAudit
        The second for three levels or more, the last with ``loss=``, whose metrics are deviance,
        D², Gini and actual over expected.

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

    Claims, with the time insured:

    >>> from unsway import make_world
    >>> people = make_world("claims", 2000, random_state=0)
    >>> found = audit(
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
    numbers = Numbers.check(loss, power, exposure)
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
    columns = sensitive_features, X, sample_weight, groups, cluster
    rows, scores = check_rows(y_true, given, *columns, numbers=numbers)
    trained = None
    if model is not None and X is not None:
        trained = check_training_rows(model, X, allowed=allow_training_rows)
    degrees = {"outcome_degree": outcome_degree, "effect_degree": effect_degree}
    found: Audit | LevelAudit | NumberAudit
    if numbers is None:
        settings = replace(settings, favourable=name_favourable(favourable, rows.outcome))
        found = _judge_labels(rows, scores, settings, progress, score_model, degrees)
    else:
        _refuse_for_numbers(threshold=threshold, selection_rate=selection_rate,
                            favourable=favourable, score_model=score_model, **degrees,
                            calibration_strategy=calibration_strategy)  # fmt: skip
        found = judge_numbers(rows, scores, settings, target=name_of(y_true), progress=progress)
    return replace(found, training_rows=trained, about=dict(about or {}))


def _refuse_for_numbers(**given: Any) -> None:
    """Raise if an option was given that predictions of numbers do not have."""
    usual = signature(audit).parameters
    for name, value in given.items():
        if value is not usual[name].default and value != usual[name].default:
            raise ValueError(
                f"{name} is for scores of a label; predictions of numbers, with loss=, have none"
            )


def _judge_labels(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: Settings,
    progress: Progress | None,
    score_model: Any,
    degrees: Mapping[str, int],
) -> Audit | LevelAudit:
    """Measure the model, and the baseline if there is one."""
    from .. import __version__

    if not rows.groups.two:
        return audit_levels(rows, scores, settings)
    missing, causal = why_no_effects(rows, settings.effects["cv"]), None
    if missing is None:
        causal = causal_audit(rows, scores, settings, score_model=score_model, degrees=degrees)
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
