"""The effects of z on the labels of rows, by which the scores of models are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from .._typing import Floats, Index
from ..effects import Effects, Estimate, GapParts, Nuisances, estimate_effects
from ..effects.fair_parts import FairParts
from ..effects.gap_parts import gap_parts
from ..effects.influence import doubly_robust
from ..effects.study import loss_options
from ..rows import Rows


@dataclass(frozen=True, kw_only=True)
class Judge:
    """The effects of z on the labels, and the positions of a part's scores among their rows.

    The explained difference depends on the labels, not on a model. It may be estimated on more rows
    than have scores; the gap of the scores is computed on the rows with scores.

    Parameters
    ----------
    effects : Effects
        Estimated on the rows.
    rows : Rows
        Their groups and weights; no table is needed.
    places : array of int, default=None
        The rows that have scores; all of them by default.
    """

    effects: Effects
    rows: Rows = field(repr=False)
    places: Index | None = field(default=None, repr=False)

    def left(self, scores: Floats) -> Estimate:
        """Return gap(p) − explained with its interval."""
        spread = scores if self.places is None else self._spread(scores)
        return self.effects.direct_effect_left(spread)

    def facts(self) -> dict[str, Any]:
        """Return the effects on the labels, ready for JSON."""
        found = self.effects.estimates()
        return {
            "effects": {name: each.to_dict() for name, each in found.items()},
            "effects_rows": len(self.rows),
        }

    def measures(self, scores: Floats) -> dict[str, float]:
        """Return the direct effect left, the one in the scores, and what is passed on, by name.

        With the second go the parts of the scores' gap, such as "gap_explained".
        """
        found = named_numbers("direct_effect_left", self.left(scores))
        parts = self.parts(scores)
        if parts is not None:
            found |= named_numbers("direct_effect", parts.direct)
            for name, each in parts.estimates().items():
                found |= named_numbers(f"gap_{name}", each)
        if parts is not None and parts.pass_through is not None:
            found |= named_numbers("pass_through", parts.pass_through)
        return found

    def parts(self, scores: Floats) -> GapParts | None:
        """Return where the scores' gap comes from, on the rows with scores; None where unknown."""
        if self.places is None and np.isfinite(self.effects.nuisances.outcome).all():
            return self.effects.gap_parts(scores)
        some = self._scored_nuisances()
        if some is None:
            return None
        rows, confidence = self._scored_rows(), self.effects.settings["confidence"]
        effects = doubly_robust(rows.y, rows.z, rows.mean_one_weights, some)
        return gap_parts(scores, rows, some, effects, confidence)

    def fair_parts(self) -> FairParts | None:
        """Return what a blind score is made of, on the rows with scores; None where unknown."""
        some = self._scored_nuisances()
        rows = self._scored_rows()
        weights = rows.mean_one_weights
        return None if some is None else FairParts.of(rows.y, rows.z, weights, some)

    def _scored_rows(self) -> Rows:
        return self.rows if self.places is None else self.rows.take(self.places)

    def _scored_nuisances(self) -> Nuisances | None:
        """Return the nuisances of the rows with scores; None without models of the outcome."""
        known, at = self.effects.nuisances, self.places
        if not np.isfinite(known.outcome).all():
            return None
        return known if at is None else known.take(at)

    def _spread(self, scores: Floats) -> Floats:
        """Return scores of all rows with the same means by group, and the same influence on them.

        A group of weight W, W′ of it with scores p of mean m, gets m + (W/W′)(p − m) where there
        are scores and m elsewhere: a row without a score has no influence on the mean.
        """
        z, weights = self.rows.z, self.rows.weights
        weights = np.ones_like(z) if weights is None else weights
        spread, scored = np.empty(len(z)), np.zeros(len(z), dtype=bool)
        spread[self.places], scored[self.places] = scores, True
        for group in (0, 1):
            rows = z == group
            seen = rows & scored
            mean = np.average(spread[seen], weights=weights[seen])
            factor = weights[rows].sum() / weights[seen].sum()
            spread[seen] = mean + factor * (spread[seen] - mean)
            spread[rows & ~scored] = mean
        return spread


def judge_of(
    rows: Rows, options: Mapping[str, Any], place: str, places: Index | None = None
) -> tuple[Judge | None, str | None]:
    """Return the effects of z on the labels of these rows, or a note with the reason for none."""
    options = {"keep_rows": True, **options}  # workers judge scores by them
    try:
        two = {"sensitive_features": rows.z, "sample_weight": rows.weights, **loss_options(rows)}
        found = cast("Effects", estimate_effects(rows.X, rows.y, **two, **options))
    except ValueError as error:
        return None, f"no direct effect left on the {place} rows: {error}"
    return Judge(effects=found, rows=rows.with_table(None), places=places), None


def named_numbers(name: str, found: Estimate) -> dict[str, float]:
    """Return an estimate with its standard error and interval under a name."""
    numbers = found.to_dict()
    return {name: numbers.pop("estimate"), **{f"{name}_{end}": v for end, v in numbers.items()}}
