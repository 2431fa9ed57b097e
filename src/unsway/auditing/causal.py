"""The causal part of an audit: the effects of z on labels and scores, and what is left in scores.

Everything comes from `unsway.effects`; the models of the propensity and of the outcomes are fitted
once and shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._typing import Floats
from ..effects import (
    Balance,
    CrossFit,
    EffectCurve,
    Effects,
    Estimate,
    GapParts,
    MeanField,
    Overlap,
    Sensitivity,
    SurrogateDesign,
    Verdict,
)
from ..effects.study import Study, curve_of, effects_of, effects_on, if_told
from ..frames import Tabular, plain
from ..outcome import Outcome
from ..rows import Rows
from .inputs import Settings
from .metrics import BETWEEN, Key
from .selections import Selections, selections
from .tables import Measured, Table, short


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CausalAudit(Tabular):
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
    parts, baseline_parts : GapParts or None
        Where the gap of the scores comes from, and that of the baseline's.
    blind : GapParts or None
        The same of a blind reference model: the outcome models fitted without z, out of fold.
    selections : Selections
        How many people are selected otherwise than by a fair ranking.
    label_curve, score_curve : EffectCurve or None
        The direct effect along the propensity, on labels and on scores.
    surrogate : Table or None
        Coefficients of labels and scores on z and the propensity b, and the fair ones γ.
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
    parts: GapParts | None
    baseline_parts: GapParts | None
    blind: GapParts | None
    selections: Selections
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

    def _columns(self) -> Mapping[str, Any]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """One row per effect of z on labels and on scores, and the direct effect left."""
        return Table.of(
            {"effect": name, "on": on, **each.to_dict()} for name, on, each in self.estimates()
        )

    def estimates(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yield each effect: its name, what it is on ("labels" or "scores"), and its estimate."""
        for on, found in (("labels", self.labels), ("scores", self.scores)):
            if found is not None:
                yield from ((name, on, each) for name, each in found.estimates().items())
        yield "direct_effect_left", "scores", self.direct_effect_left

    @property
    def curves(self) -> Table:
        """One row per point of the curves."""
        known = {"labels": self.label_curve, "scores": self.score_curve}
        curves = {on: curve for on, curve in known.items() if curve is not None}
        points = ("b", "estimate", "se", "low", "high", "band_low", "band_high")
        columns: dict[str, list[Any]] = {
            name: [each for curve in curves.values() for each in getattr(curve, name).tolist()]
            for name in points
        }
        return Table({"on": [on for on in curves for _ in curves[on].b], **columns})

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "rows": self.n_rows,
            "rows_given": self.n_rows_given,
            "direct_effect_left": self.direct_effect_left.to_dict(),
            "baseline_left": self.baseline_left and self.baseline_left.to_dict(),
            "parts": self.parts and self.parts.to_dict(),
            "baseline_parts": self.baseline_parts and self.baseline_parts.to_dict(),
            "blind_reference": self.blind and self.blind.to_dict(),
            "selections": self.selections.table.to_records(),
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
        return dict(plain(found))

    def __repr__(self) -> str:
        return (
            f"CausalAudit({self.n_rows:,} rows, direct effect left {self.direct_effect_left}, "
            f"verdict {self.verdict.level!r})"
        )


def share_intervals(
    model: Measured, causal: CausalAudit | None, *, judged: bool = False
) -> Measured:
    """Return a model's metrics with the intervals of the effects where they are the same.

    The difference of the groups' base rates is the total effect on the labels, that of their mean
    scores the one on the scores of the judged model. A part of the rows has effects of its own.
    """
    if causal is None or causal.n_rows != causal.n_rows_given:
        return model
    entries = dict(model.metrics.entries)
    entries[Key("base_rate_difference", BETWEEN)] = causal.labels.total
    if judged and causal.scores is not None:
        entries[Key("score_gap", BETWEEN)] = causal.scores.total
    return replace(model, metrics=replace(model.metrics, entries=entries))


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
    settings: Settings,
    *,
    score_model: Any,
    degrees: Mapping[str, Any],
) -> CausalAudit:
    """Estimate what z does to the labels and the scores "y_pred", and whether the data can tell."""
    n_given = len(rows)
    rows, scores = settings.rows_for_effects(rows, scores)
    p, other = scores["y_pred"], scores.get("baseline")
    labels = effects_of(rows, **settings.effect_options)
    study = Study.of(rows, labels)
    missing: dict[str, str] = {}
    on_scores = if_told(
        "effects on the scores",
        lambda: _score_effects(p, rows, labels, score_model, settings.effect_options),
        missing,
    )
    if on_scores is not None:
        scored = replace(rows, outcome=Outcome.labels_or_numbers(p, len(p)))
        curve = if_told("curve of the scores", lambda: curve_of(scored, on_scores), missing)
    surrogate = if_told(
        "surrogate coefficients",
        lambda: _surrogate(p, rows, labels.nuisances.propensity, degrees),
        missing,
    )
    return CausalAudit(
        labels=labels,
        scores=on_scores,
        direct_effect_left=labels.direct_effect_left(p),
        baseline_left=None if other is None else labels.direct_effect_left(other),
        **_parts(p, other, rows, labels, settings),
        label_curve=study.curve,
        score_curve=None if on_scores is None else curve,
        surrogate=surrogate,
        balance=study.balance,
        mean_field=study.mean_field,
        sensitivity=study.sensitivity,
        verdict=study.verdict,
        n_rows=len(rows),
        n_rows_given=n_given,
        notes=tuple(_notes(labels, {**missing, **study.missing})),
    )


def _notes(labels: Effects, missing: Mapping[str, str]) -> Iterator[str]:
    """Yield what could not be computed, and which of the given models were seen to be wrong."""
    for part, why in missing.items():
        yield f"No {'curve of the labels' if part == 'curve' else part}: {why}."
    if refined := labels.settings.get("refined"):
        yield (
            f"Trees predict the residuals of the given models ({', '.join(refined)}) on held-out "
            "rows, and correct them."
        )


def _parts(
    p: Floats, other: Floats | None, rows: Rows, labels: Effects, settings: Settings
) -> dict[str, Any]:
    """Return where the gaps of the scores, a baseline's and a blind reference model's come from.

    With them goes how the scores decide otherwise than a fair ranking.
    """
    reference = blind_scores(rows, settings.effect_options)
    return {
        "parts": labels.gap_parts(p),
        "baseline_parts": None if other is None else labels.gap_parts(other),
        "blind": labels.gap_parts(reference),
        "selections": selections(p, labels.nuisances.outcome.mean(axis=1), rows, settings),
    }


def blind_scores(rows: Rows, options: Mapping[str, Any]) -> Floats:
    """Return the scores of a blind reference model: the outcome models without z, out of fold."""
    names = ("propensity_model", "outcome_model", "cv", "clip")
    given = {name: options[name] for name in names if name in options}
    return CrossFit.of(rows, seed=options["random_state"], **given).fit_blind()


def _score_effects(
    p: Floats, rows: Rows, labels: Effects, score_model: Any, options: Mapping[str, Any]
) -> Effects:
    """Estimate the effects on the scores, with the propensities of the labels.

    Without a model of the scores it is that of the labels, unless one that classifies would get
    scores other than 0 and 1.
    """
    for value, level in enumerate(rows.groups.names):
        if np.ptp(p[rows.z == value]) == 0:
            raise ValueError(f"every score of the group {short(level)!r} is the same")
    outcome = Outcome.labels_or_numbers(p, len(p))
    if score_model is None:
        model = options["outcome_model"]
        several = model if isinstance(model, list | tuple) else [model]
        classifies = model is not None and any(map(is_classifier, several))
        score_model = None if classifies and not outcome.binary else model
    return effects_on(outcome, rows, labels.nuisances, **{**options, "outcome_model": score_model})


def _surrogate(p: Floats, rows: Rows, b: Floats, degrees: Mapping[str, Any]) -> Table:
    """Return α and β of labels and scores by power of b, and γ."""
    design = SurrogateDesign.of(b, rows.z, sample_weight=rows.weights, **degrees)
    label, score = design.fit(rows.y), design.fit(p)
    alpha = (label.outcome_coefficients, label.fair_coefficients, score.outcome_coefficients)
    none = np.zeros_like(label.effect_coefficients)
    beta = (label.effect_coefficients, none, score.effect_coefficients)
    return Table.of(
        {"coefficient": f"{kind}_{power}", "labels": labels, "fair": fair, "scores": scores}
        for kind, columns in (("alpha", alpha), ("beta", beta))
        for power, (labels, fair, scores) in enumerate(zip(*map(plain, columns), strict=True))
    )
