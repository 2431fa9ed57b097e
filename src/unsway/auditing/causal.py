"""The causal part of an audit: what z does to labels and scores, and how much a model still holds.

Everything comes from `unsway.effects`; the models of the propensity and of the outcomes are fitted
once and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier

from .._typing import Floats
from ..effects import (
    HERE,
    Balance,
    CrossFit,
    EffectCurve,
    Effects,
    Estimate,
    MeanField,
    Nuisances,
    Overlap,
    Sensitivity,
    SurrogateDesign,
    Verdict,
    balance,
    effect_curve,
    estimate_effects,
    mean_field,
    sensitivity,
    verdict,
)
from ..folds import hold_out
from ..outcome import Outcome
from ..rows import Rows
from .measured import MetricSettings
from .tables import Table, plain, short

Found = TypeVar("Found")


@dataclass(frozen=True)
class EffectSettings:
    """How the effects of an audit are estimated; see `audit` for what each says."""

    propensity_model: Any = None
    outcome_model: Any = None
    score_model: Any = None
    cv: int = 5
    clip: float = 0.01
    interval: str = "influence"
    n_bootstrap: int = 200
    outcome_degree: int = 1
    effect_degree: int = 0
    max_rows: int | None = 200_000

    def __post_init__(self) -> None:
        most = self.max_rows
        if most is not None and (not isinstance(most, int | np.integer) or most < 100):
            raise ValueError(
                f"max_rows_for_effects must be an integer of at least 100, or None; got {most!r}"
            )


@dataclass(frozen=True, repr=False, eq=False)
class CausalAudit:
    """What z does, directly and through X, to the labels and to a model's scores.

    Parameters
    ----------
    labels : Effects
        The effects of z on the labels.
    scores : Effects or None
        The same on the scores.
    direct_effect_left : Estimate
        gap(p) − explained: what of the direct effect the scores still hold. 0 is fair.
    baseline_left : Estimate or None
        The same of the baseline's scores.
    label_curve, score_curve : EffectCurve or None
        The direct effect along the propensity, on labels and on scores.
    surrogate : Table or None
        Coefficients of labels and scores on z and the propensity b, beside the fair ones γ.
    overlap, balance, mean_field, verdict, sensitivity
        Whether the data can tell.
    n_rows, n_rows_given : int
        Rows the effects were estimated on, of how many.
    notes : tuple of str
        What could not be computed, and why.
    """

    labels: Effects
    scores: Effects | None
    direct_effect_left: Estimate
    baseline_left: Estimate | None
    label_curve: EffectCurve | None
    score_curve: EffectCurve | None
    surrogate: Table | None
    balance: Balance
    mean_field: MeanField | None
    sensitivity: Sensitivity | None
    verdict: Verdict
    n_rows: int
    n_rows_given: int
    notes: tuple[str, ...] = field(default=())

    @property
    def overlap(self) -> Overlap:
        """Whether both groups are found at every propensity."""
        return self.labels.overlap

    @property
    def table(self) -> Table:
        """One row per effect of z on labels and on scores, and the direct effect left."""
        rows: list[tuple[str, str, Estimate]] = [
            (name, "labels", each) for name, each in self.labels.estimates().items()
        ]
        if self.scores is not None:
            rows += [(name, "scores", each) for name, each in self.scores.estimates().items()]
        rows.append(("direct_effect_left", "scores", self.direct_effect_left))
        return Table(
            {
                "effect": [name for name, _, _ in rows],
                "on": [outcome for _, outcome, _ in rows],
                **{
                    name: [getattr(each, name) for *_, each in rows]
                    for name in ("estimate", "se", "low", "high")
                },
            }
        )

    @property
    def curves(self) -> Table:
        """One row per point of the curves."""
        known = {"labels": self.label_curve, "scores": self.score_curve}
        names = ("b", "estimate", "se", "low", "high", "band_low", "band_high")
        columns: dict[str, list[Any]] = {"on": [], **{name: [] for name in names}}
        for outcome, curve in known.items():
            if curve is not None:
                columns["on"] += [outcome] * len(curve.b)
                for name in names:
                    columns[name] += getattr(curve, name).tolist()
        return Table(columns)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per effect."""
        return self.table.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "rows": self.n_rows,
            "rows_given": self.n_rows_given,
            "direct_effect_left": self.direct_effect_left.to_dict(),
            "baseline_left": self.baseline_left and self.baseline_left.to_dict(),
            "labels": self.labels.to_dict(),
            "scores": self.scores and self.scores.to_dict(),
            "curves": self.curves.to_records(),
            "surrogate": self.surrogate and self.surrogate.to_records(),
            "balance": self.balance.to_dict(),
            "mean_field": self.mean_field and self.mean_field.to_dict(),
            "sensitivity": self.sensitivity and asdict(self.sensitivity),
            "verdict": self.verdict.to_dict(),
            "notes": list(self.notes),
        }
        cleaned: dict[str, Any] = plain(found)
        return cleaned

    def __repr__(self) -> str:
        return (
            f"CausalAudit({self.n_rows:,} rows, direct effect left {self.direct_effect_left}, "
            f"verdict {self.verdict.level!r})"
        )


def why_no_effects(rows: Rows, cv: int) -> str | None:
    """Return why the causal part is missing, or None where it can be made."""
    if rows.X is None:
        return (
            "X was not given: without the covariates the direct effect of z cannot be told from "
            "what goes through them"
        )
    counted = np.ones(len(rows), dtype=bool) if rows.weights is None else rows.weights > 0
    fewest = max(20, 2 * cv)
    for code, level in enumerate(rows.groups.names):
        inside = counted & (rows.groups.codes == code)
        if inside.sum() < fewest:
            return (
                f"the group {short(level)!r} has {int(inside.sum())} rows; at least {fewest} are "
                "needed to estimate effects"
            )
        if np.ptp(rows.y[inside]) == 0:
            return f"every label of the group {short(level)!r} is the same: X has no effect there"
    return None


def causal_audit(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: EffectSettings,
    metrics: MetricSettings,
) -> CausalAudit:
    """Estimate what z does to the labels and the scores "y_pred", and whether the data can tell."""
    n_given = len(rows)
    stacked = np.column_stack(list(scores.values()))
    rows, stacked = at_most(rows, stacked, settings.max_rows, metrics.random_state)
    by_name = dict(zip(scores, stacked.T, strict=True))
    p, other = by_name["y_pred"], by_name.get("baseline")
    study = _Study(rows, settings, metrics)
    labels = study.label_effects()
    b = labels.nuisances.propensity
    notes: list[str] = []

    def told(what: str, make: Callable[[], Found]) -> Found | None:
        try:
            return make()
        except ValueError as error:
            notes.append(f"No {what}: {error}.")
            return None

    on_scores = told("effects on the scores", lambda: study.score_effects(p, labels.nuisances))
    field = told("mean-field check", lambda: study.mean_field(labels.nuisances))
    balanced = balance(rows.X, sensitive_features=rows.z, propensity=b, sample_weight=rows.weights)
    balanced = replace(balanced, levels=rows.groups.names)
    curve = None
    if on_scores is not None:
        models = on_scores.nuisances
        curve = told("curve of the scores", lambda: study.curve(p, models))
    return CausalAudit(
        labels,
        on_scores,
        labels.direct_effect_left(p),
        None if other is None else labels.direct_effect_left(other),
        told("curve of the labels", lambda: study.curve(rows.y, labels.nuisances)),
        curve,
        told("surrogate coefficients", lambda: study.surrogate(p, b)),
        balanced,
        field,
        told("sensitivity analysis", study.sensitivity),
        verdict(labels.overlap, balanced, field),
        len(rows),
        n_given,
        tuple(notes),
    )


def at_most(rows: Rows, p: Floats, most: int | None, seed: int) -> tuple[Rows, Floats]:
    """Return no more rows than that, chosen by what they hold, each group and label in its share.

    p may be one column of scores or several.
    """
    if most is None or len(p) <= most:
        return rows, p
    kept = np.flatnonzero(hold_out(rows.X, rows.strata(), most / len(p), seed))
    return rows.take(kept), p[kept]


@dataclass(frozen=True, eq=False)
class _Study:
    """Rows and settings, and what is estimated on them."""

    rows: Rows
    settings: EffectSettings
    metrics: MetricSettings

    @property
    def roles(self) -> dict[str, Any]:
        return {"sensitive_features": self.rows.z, "sample_weight": self.rows.weights}

    def _effects(self, target: Floats, **more: Any) -> Effects:
        how = self.settings
        found = estimate_effects(
            self.rows.X,
            target,
            cv=how.cv,
            clip=how.clip,
            interval=how.interval,
            n_bootstrap=how.n_bootstrap,
            confidence=self.metrics.confidence,
            max_extreme_share=1,  # the verdict speaks of overlap
            random_state=self.metrics.random_state,
            n_jobs=self.metrics.n_jobs,
            propensity_model=how.propensity_model,
            **self.roles,
            **more,
        )
        levels = self.rows.groups.names
        return replace(found, levels=levels, overlap=replace(found.overlap, levels=levels))

    def label_effects(self) -> Effects:
        return self._effects(self.rows.y, outcome_model=self.settings.outcome_model)

    def score_effects(self, p: Floats, known: Nuisances) -> Effects:
        """Fit the outcome models of the scores; the propensities are those of the labels."""
        for value, level in enumerate(self.rows.groups.names):
            if np.ptp(p[self.rows.z == value]) == 0:
                raise ValueError(f"every score of the group {short(level)!r} is the same")
        how, binary = self.settings, bool(np.isin(p, (0.0, 1.0)).all())
        model = how.score_model
        if model is None and how.outcome_model is not None:
            several = isinstance(how.outcome_model, list | tuple)
            chosen = how.outcome_model if several else [how.outcome_model]
            classifies = any(map(is_classifier, chosen))
            model = None if classifies and not binary else how.outcome_model
        scored = replace(self.rows, outcome=Outcome.labels_or_numbers(p, len(p)))
        cross = CrossFit.of(
            scored,
            outcome_model=model,
            propensity_model=how.propensity_model,
            cv=how.cv,
            clip=how.clip,
            seed=self.metrics.random_state,
        )
        folds = HERE.folds(self.rows, how.cv, self.metrics.random_state)  # those of the labels
        found = replace(cross, propensity=(), folds=folds).fit()
        shares = {**found.shares, "propensity": known.shares.get("propensity", ())}
        nuisances = Nuisances(known.propensity, found.outcome, known.n_clipped, shares)
        return self._effects(p, nuisances=nuisances, outcome_model=model)

    def curve(self, target: Floats, nuisances: Nuisances) -> EffectCurve:
        return effect_curve(
            self.rows.X,
            target,
            nuisances=nuisances,
            confidence=self.metrics.confidence,
            **self.roles,
        )

    def mean_field(self, nuisances: Nuisances) -> MeanField:
        return mean_field(
            nuisances.effect,
            nuisances.propensity,
            y=self.rows.y,
            sensitive_features=self.rows.z,
            mu0=nuisances.outcome[:, 0],
            sample_weight=self.rows.weights,
            confidence=self.metrics.confidence,
        )

    def sensitivity(self) -> Sensitivity:
        return sensitivity(
            self.rows.X, self.rows.y, alpha=1 - self.metrics.confidence, **self.roles
        )

    def surrogate(self, p: Floats, b: Floats) -> Table:
        """Return α and β of labels and scores by power of b, beside γ."""
        design = SurrogateDesign.of(
            b,
            self.rows.z,
            outcome_degree=self.settings.outcome_degree,
            effect_degree=self.settings.effect_degree,
            sample_weight=self.rows.weights,
        )
        label, score = design.fit(self.rows.y), design.fit(p)
        n_outcome, n_effect = len(label.outcome_coefficients), len(label.effect_coefficients)
        columns: Mapping[str, list[Any]] = {
            "coefficient": [f"alpha_{k}" for k in range(n_outcome)]
            + [f"beta_{k}" for k in range(n_effect)],
            "labels": [*label.outcome_coefficients, *label.effect_coefficients],
            "fair": [*label.fair_coefficients, *[0.0] * n_effect],
            "scores": [*score.outcome_coefficients, *score.effect_coefficients],
        }
        return Table({name: list(map(plain, values)) for name, values in columns.items()})
