"""The causal part of an audit of predictions of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._typing import Floats
from ..effects import Balance, Effects, Estimate, GapParts, MeanField, Verdict
from ..effects.ratios import EffectRatios
from ..effects.study import Study, effects_of, if_told
from ..frames import plain
from ..rows import Rows
from .inputs import Settings


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NumberCausal:
    """What z does to counts or amounts, and what is left of it in a model's predictions.

    Parameters
    ----------
    labels : Effects
        The effects of z on the target, per unit of exposure where there is one.
    ratios : EffectRatios or None
        The same as ratios; None where a mean is not above 0.
    direct_effect_left, baseline_left : Estimate
        gap(p) − explained, of the predictions as they are; of a baseline or None.
    parts : GapParts
        Where the gap of the predictions comes from.
    balance, mean_field, verdict
        Whether the data can tell.
    n_rows, n_rows_given : int
        Rows the effects were estimated on, of how many.
    notes : tuple of str
        What could not be computed, and why.
    """

    labels: Effects
    ratios: EffectRatios | None
    direct_effect_left: Estimate
    baseline_left: Estimate | None
    parts: GapParts
    balance: Balance
    mean_field: MeanField | None
    verdict: Verdict
    n_rows: int
    n_rows_given: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "rows": self.n_rows,
            "rows_given": self.n_rows_given,
            "labels": self.labels.to_dict(),
            "ratios": self.ratios and self.ratios.to_dict(),
            "direct_effect_left": self.direct_effect_left.to_dict(),
            "baseline_left": self.baseline_left and self.baseline_left.to_dict(),
            "parts": self.parts.to_dict(),
            "balance": self.balance.to_dict(),
            "mean_field": self.mean_field and self.mean_field.to_dict(),
            "verdict": self.verdict.to_dict(),
            "notes": list(self.notes),
        }
        return dict(plain(found))


def number_causal(rows: Rows, scores: Mapping[str, Floats], settings: Settings) -> NumberCausal:
    """Estimate what z does to the target, and what is left of it in the predictions."""
    n_given = len(rows)
    rows, scores = settings.rows_for_effects(rows, scores)
    labels = effects_of(rows, **settings.effect_options)
    study = Study.of(rows, labels)
    missing: dict[str, str] = {}
    other = scores.get("baseline")
    return NumberCausal(
        labels=labels,
        ratios=if_told("ratios", labels.as_ratios, missing) if _positive(rows) else None,
        direct_effect_left=labels.direct_effect_left(scores["y_pred"]),
        baseline_left=None if other is None else labels.direct_effect_left(other),
        parts=labels.gap_parts(scores["y_pred"]),
        balance=study.balance,
        mean_field=study.mean_field,
        verdict=study.verdict,
        n_rows=len(rows),
        n_rows_given=n_given,
        notes=tuple(f"No {part}: {why}." for part, why in {**missing, **study.missing}.items()),
    )


def _positive(rows: Rows) -> bool:
    return rows.outcome.loss.link == "log"
