"""What the sensitive attribute does to an outcome, directly and through the covariates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..checks import check_choice, check_integer
from ..grouping import Grouping
from ..outcome import outcome_reader
from ..rows import Rows
from .estimate import Estimate, Progress, bootstrap, check_confidence, check_replicates
from .estimation_input import check_nuisances, check_rows
from .influence import EFFECTS, Effect, Estimator, doubly_robust, surrogate_effects, weighting
from .level_effects import LevelEffects
from .level_estimation import effects_of_levels
from .nuisance import CrossFit, Nuisances
from .overlap import MAX_EXTREME_SHARE, Overlap, overlap
from .refinement import Refinement
from .result import Effects
from .separation import warn_of_extremes
from .surrogate import BASES

METHODS = ("doubly_robust", "surrogate", "weighting")
INTERVALS = ("influence", "bootstrap")


def estimate_effects(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    method: str = "doubly_robust",
    outcome_model: Any = None,
    propensity_model: Any = None,
    cv: int = 5,
    repeats: int = 1,
    clip: float = 0.01,
    refine: bool = True,
    interval: str = "influence",
    confidence: float = 0.95,
    n_bootstrap: int = 200,
    outcome_degree: int = 5,
    effect_degree: int = 4,
    basis: str = "spline",
    nuisances: Nuisances | None = None,
    loss: str | None = None,
    power: float = 1.5,
    exposure: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    groups: Grouping | None = None,
    max_extreme_share: float = MAX_EXTREME_SHARE,
    allow_separation: bool = False,
    keep_rows: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Effects | LevelEffects:
    """Estimate what z does to y directly, and what it does through X.

    Of three levels or more each is compared with the reference. Every effect is "group minus
    reference", z=1 minus z=0. With m(z,z') = E[ E[y|z,X] | Z=z' ]::

        direct_reference = m(1,0) − m(0,0)        direct_group = m(1,1) − m(0,1)
        indirect_reference = m(0,1) − m(0,0)      indirect_group = m(1,1) − m(1,0)

    Columns of X that are common causes of z and y, rather than caused by z, leave the direct
    effects as they are, but count in the indirect ones.

    Parameters
    ----------
    X : frame or array
        The covariates, z not among them.
    y : column of length n
        Labels (0/1 or two classes), any numbers, or a model's scores.
    sensitive_features : column of length n
        z, with two levels or more.
    method : {"doubly_robust", "surrogate", "weighting"}, default="doubly_robust"
        ``"doubly_robust"`` is right if either the propensity or the outcome models are.
        ``"surrogate"`` averages MFCDE(b); ``"weighting"`` is inverse-propensity weighting. The last
        two are for two levels.
    outcome_model, propensity_model : scikit-learn model or list of them, optional
        Models of E[y|z,X], one per level of z, and of P(z=1|X), fitted on X as it is given; the
        models of a list are stacked. By default gradient boosting stacked with a linear model, on
        a table with missing values and categories encoded.
    cv : int, default=5
        Folds of the cross-fitting; 1 predicts the very rows a model was fitted on.
    repeats : int, default=1
        How often the models are cross-fitted, with other folds each time; their predictions are
        averaged. Five depend less on how the folds happen to fall, at five times the cost; on
        average one is right as often. A bootstrap fits once in each replicate.
    clip : float, default=0.01
        Propensities are kept within [clip, 1−clip].
    refine : bool, default=True
        Whether given models are corrected by trees where these predict their residuals on held-out
        rows: the effects are biased where the models of both y and z are wrong. What was corrected
        is in ``settings["refined"]``. Models of counts and amounts are left as they are.
    interval : {"influence", "bootstrap"}, default="influence"
        Standard errors from influence functions, to which the noise of the doubly robust method's
        outcome models is added, or from a bootstrap within the levels of z that fits every model
        again; of two levels only.
    confidence : float, default=0.95
        Share of intervals that should hold the truth. Of three levels or more the intervals of one
        effect hold it for all levels at once.
    n_bootstrap : int, default=200
        Replicates of the bootstrap.
    outcome_degree : int, default=5
    effect_degree : int, default=4
    basis : {"polynomial", "spline"}, default="spline"
        Of the surrogate, as in `fit_surrogate`.
    nuisances : Nuisances, optional
        Predictions made before, in place of fitting; a bootstrap fits the models again.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, optional
        What y is where it is a count or an amount; outcome models are trained and stacked by it.
        Without it numbers are modelled by their squared error.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    exposure : column of positive numbers, optional
        Time insured or another amount that counts and amounts grow with. Effects are then those on
        y per unit of it, and rows weigh by it in every mean and model.
    sample_weight : column of length n, optional
        Weights of the rows.
    cluster : column of length n, optional
        What several rows belong to, such as a person or a branch. A cluster is within one fold of
        the cross-fitting, every interval counts clusters in place of rows, and the bootstrap draws
        whole clusters.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    max_extreme_share : float, default=0.25
        Warn when a larger share of propensities lies outside [.05, .95]; `verdict` asks for caution
        at the same share.
    allow_separation : bool, default=False
        Whether the effects are estimated, with a warning, where X predicts z nearly exactly.
    keep_rows : bool, default=False
        Whether a pickle of the result has the outcome and the sensitive attribute of each row. Only
        then can it judge scores in another process.
    random_state : int, default=0
        Seed of the folds and the bootstrap.
    n_jobs : int, optional
        Processes of the bootstrap.
    progress : callable, optional
        Called with the replicates done and their number.

    Returns
    -------
    Effects or LevelEffects
        The second for three levels or more.

    References
    ----------
    Pearl (2001), "Direct and indirect effects", UAI. Chernozhukov et al. (2018), "Double/debiased
    machine learning", Econometrics Journal 21(1). Li, Morgan & Zaslavsky (2018), "Balancing
    covariates via propensity score weighting", JASA 113.

    Examples
    --------
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(4000, random_state=0)
    >>> effects = estimate_effects(
    ...     people.X, people.y, sensitive_features=people.z, max_extreme_share=1
    ... )
    >>> direct = effects.direct_reference
    >>> direct.low < people.effects.direct_reference < direct.high
    True

    Three levels, each compared with the largest:

    >>> rng = np.random.default_rng(0)
    >>> X, z = rng.normal(size=(3000, 2)), rng.choice(["a", "b", "c"], 3000, p=[0.4, 0.3, 0.3])
    >>> y = X[:, 0] + 0.5 * (z == "b") + rng.normal(size=3000)
    >>> found = estimate_effects(X, y, sensitive_features=z)
    >>> direct = {level: each["direct_everyone"] for level, each in found.pairs.items()}
    >>> direct["b"].low < 0.5 < direct["b"].high, direct["c"].low < 0 < direct["c"].high
    (True, True)
    >>> found.direct_effect_left(X[:, 0]).spread.estimate < 0.15
    True
    """
    _check_settings(method, interval, confidence, n_bootstrap, repeats)
    estimator = _estimator(method, outcome_degree, effect_degree, basis)
    given = X, y, sensitive_features, sample_weight, groups
    rows = check_rows(*given, outcome_reader(loss, power, exposure), cluster=cluster, cv=cv)
    how: dict[str, Any] = {
        "propensity_model": propensity_model,
        "outcome_model": outcome_model,
        "allow_separation": allow_separation,
        "nuisances": nuisances,
        "cv": cv,
        "repeats": repeats,
        "clip": clip,
        "confidence": confidence,
        "max_extreme_share": max_extreme_share,
        "keep_rows": keep_rows,
        "random_state": random_state,
    }
    found: Effects | LevelEffects
    if rows.groups.two:
        how |= {"method": method, "interval": interval, "n_bootstrap": n_bootstrap}
        how["refine"] = refine
        found = _of_two(rows, estimator, **how, n_jobs=n_jobs, progress=progress)
    else:
        _refuse_for_levels(rows, method, interval)
        found = effects_of_levels(rows, **how)
    facts = _facts(rows, found.nuisances, loss, repeats)
    return replace(found, settings={**found.settings, **facts})


def effects_of_predictions(rows: Rows, nuisances: Nuisances, **how: Any) -> Effects:
    """Return the doubly robust effects of rows of two levels whose nuisances are known.

    The rows need no covariates, and so may be more than fit in memory with them. ``how`` are
    ``cv``, ``clip``, ``confidence``, ``max_extreme_share``, ``keep_rows`` and ``random_state``, as
    in `estimate_effects`.
    """
    check_confidence(how["confidence"])
    given: dict[str, Any] = {"method": "doubly_robust", "interval": "influence", "repeats": 1}
    given |= {"n_bootstrap": 0, "n_jobs": None, "progress": None, "nuisances": nuisances}
    given |= {"refine": False, **how}  # the models are not at hand
    found = _of_two(rows, partial(doubly_robust, models_known=False), **given)
    loss = rows.outcome.loss.name if rows.outcome.loss.link == "log" else None
    return replace(found, settings={**found.settings, **_facts(rows, nuisances, loss, 1)})


def _of_two(
    rows: Rows, estimator: Estimator, *, nuisances: Nuisances | None, method: str, cv: int,
    repeats: int, clip: float, refine: bool, interval: str, n_bootstrap: int, confidence: float,
    max_extreme_share: float, keep_rows: bool, random_state: int, n_jobs: int | None,
    progress: Progress | None, **models: Any,
) -> Effects:  # fmt: skip
    """Return the effects of the rows' two levels."""
    needs_outcome, replicates = method == "doubly_robust", None
    if nuisances is None or interval == "bootstrap":
        options: dict[str, Any] = {"cv": cv, "clip": clip, "seed": random_state}
        cross_fit = CrossFit.of(rows, needs_outcome=needs_outcome, **models, **options)
        refinement = Refinement.of(cross_fit, models if refine else {})
    if nuisances is None:
        nuisances = refinement.apply(cross_fit.fit_repeatedly(repeats, random_state))
    check_nuisances(nuisances, rows.z, needs_outcome=needs_outcome)
    effects = _effects(estimator, rows, nuisances)
    seen = _overlap(rows, nuisances, clip, max_extreme_share)
    if interval == "bootstrap":
        refit = partial(_refit, cross_fit, refinement, estimator, rows)
        how: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "clusters": rows.clusters}
        replicates = bootstrap(refit, rows.z, n_bootstrap, seed=random_state, **how)
    return Effects(
        **_intervals(effects, replicates, confidence),
        levels=rows.groups.levels,
        overlap=seen,
        nuisances=nuisances,
        settings={
            "method": method,
            "interval": interval,
            "confidence": float(confidence),
            "cv": int(cv),
            "clip": float(clip),
            "n_bootstrap": 0 if replicates is None else int(n_bootstrap),
            "random_state": int(random_state),
        },
        _means=effects,
        _rows=rows.with_table(None),
        _replicates=None if replicates is None else replicates[:, EFFECTS.index("explained")],
        keep_rows=keep_rows,
    )


def _check_settings(
    method: str, interval: str, confidence: float, n_bootstrap: int, repeats: int
) -> None:
    check_choice(method, "method", METHODS)
    check_choice(interval, "interval", INTERVALS)
    check_confidence(confidence)
    check_integer(repeats, "repeats", at_least=1)
    if interval == "bootstrap":
        check_replicates(n_bootstrap)


def _refuse_for_levels(rows: Rows, method: str, interval: str) -> None:
    """Raise where a setting is for two levels, and there are more."""
    for name, value, needed in (
        ("method", method, "doubly_robust"),
        ("interval", interval, "influence"),
    ):
        if value != needed:
            rows.groups.require_two(f"{name}={value!r}")


def _estimator(method: str, outcome_degree: int, effect_degree: int, basis: str) -> Estimator:
    """Return what turns nuisances into effects; degrees and basis are checked in any case."""
    check_integer(outcome_degree, "outcome_degree", at_least=0)
    check_integer(effect_degree, "effect_degree", at_least=0)
    check_choice(basis, "basis", BASES)
    if method == "surrogate":
        degrees: dict[str, Any] = {"outcome_degree": outcome_degree, "effect_degree": effect_degree}
        return partial(surrogate_effects, **degrees, basis=basis)
    return weighting if method == "weighting" else partial(doubly_robust, models_known=False)


def _facts(rows: Rows, nuisances: Nuisances, loss: str | None, repeats: int) -> dict[str, Any]:
    """Return numbers of rows; and what else was stated."""
    stated: dict[str, Any] = {"loss": loss, "per": rows.outcome.per}
    stated["repeats"] = int(repeats) if repeats > 1 else None
    stated["refined"] = list(nuisances.refined) or None
    stated["n_clusters"] = None if rows.clusters is None else int(rows.clusters.max()) + 1
    return {
        "n_rows": len(rows),
        "n_clipped": nuisances.n_clipped,
        **{name: value for name, value in stated.items() if value is not None},
    }


def _effects(
    estimator: Estimator, rows: Rows, nuisances: Nuisances, chosen: Index | slice = slice(None)
) -> Effect:
    """Return the effects estimated from the chosen rows, whose nuisances these are."""
    weights = rows.mean_one_weights[chosen]
    found = estimator(rows.y[chosen], rows.z[chosen], weights / weights.mean(), nuisances)
    clusters = None if rows.clusters is None else rows.clusters[chosen]
    return {name: replace(mean, clusters=clusters) for name, mean in found.items()}


def _refit(
    cross_fit: CrossFit, refinement: Refinement, estimator: Estimator, rows: Rows, chosen: Index
) -> Floats:
    """Return the estimates from the chosen rows, every model fitted again."""
    nuisances = refinement.apply(cross_fit.fit(chosen), chosen)
    effects = _effects(estimator, rows, nuisances, chosen)
    return np.array([mean.value for mean in effects.values()])


def _intervals(
    effects: Effect, replicates: Floats | None, confidence: float
) -> dict[str, Estimate]:
    """Return estimates with intervals from influence functions or from replicates."""
    if replicates is None:
        return {name: mean.interval(confidence) for name, mean in effects.items()}
    errors = np.std(replicates, axis=0, ddof=1).tolist()
    return {
        name: Estimate.normal(mean.value, error, confidence)
        for (name, mean), error in zip(effects.items(), errors, strict=True)
    }


def _overlap(rows: Rows, nuisances: Nuisances, clip: float, max_extreme_share: float) -> Overlap:
    """Return the overlap; warn, with the numbers, where the groups can hardly be compared."""
    seen = overlap(nuisances.propensity, sensitive_features=rows.z, sample_weight=rows.weights)
    warn_of_extremes(
        seen.share_outside,
        (seen.low, seen.high),
        max_extreme_share,
        "every effect but total and direct_overlap is extrapolated there by the outcome models, "
        "whose bends no interval includes; direct_overlap is the effect these data can tell. "
        f"{nuisances.n_clipped:,} propensities were clipped to [{clip:g}, {1 - clip:g}]",
        stacklevel=5,
    )
    return replace(seen, levels=rows.groups.levels)
