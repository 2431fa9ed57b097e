"""The causal part of an audit by levels: effects, what scores hold, and what is claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Floats, Index
from ..effects.level_effects import LevelEffects
from ..effects.level_estimation import effects_of_levels
from ..effects.level_left import LevelsLeft
from ..effects.level_parts import LevelParts
from ..effects.nuisance import MIN_ROWS_OF_MANY
from ..groups import Groups
from ..rows import Rows
from .causal import blind_scores
from .evidence import Evidence
from .inputs import Settings
from .level_decisions import evidence_of_levels

#: Settings of the effects of three levels or more.
_OPTIONS = (
    "propensity_model",
    "outcome_model",
    "cv",
    "repeats",
    "clip",
    "confidence",
    "random_state",
    "max_extreme_share",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelCausal:
    """What z does to the labels by level, and what the scores of models hold of it.

    Parameters
    ----------
    effects : LevelEffects
        On the labels, of the levels with enough rows.
    blind : LevelParts
        What the scores of a blind reference model hold.
    left : mapping of str to LevelsLeft
        By model, the direct effect left.
    parts : mapping of str to LevelParts
        By model, the direct effect in the scores and the pass-through.
    evidence : mapping of str to mapping of str to Evidence
        By model and level, what a decision rests on.
    left_out : tuple of str
        Levels with too few rows.
    """

    effects: LevelEffects
    blind: LevelParts
    left: Mapping[str, LevelsLeft]
    parts: Mapping[str, LevelParts]
    evidence: Mapping[str, Mapping[str, Evidence]]
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls,
        rows: Rows,
        scores: Mapping[str, Floats],
        settings: Settings,
    ) -> LevelCausal:
        """Estimate effects once, and judge the scores of each model by them."""
        if rows.X is None:
            raise ValueError("X was not given: without covariates the direct effect is not known")
        names, known = rows.groups.names, settings.effect_options
        kept = levels_with_enough_rows(rows, known.get("cv", 5))
        part, some = settings.rows_for_effects(rows, scores)
        places = np.flatnonzero(np.isin(part.groups.codes, kept))
        part = part.take(places)
        if len(kept) < rows.groups.n_levels:
            part = replace(part, groups=_among(part.groups, kept))
        options = {name: value for name, value in known.items() if name in _OPTIONS}
        effects = effects_of_levels(part, **options)
        blind = effects.gap_parts(blind_scores(part, options))
        taken = {name: p[places] for name, p in some.items()}
        parts = {name: effects.gap_parts(p) for name, p in taken.items()}
        return cls(
            effects=effects,
            blind=blind,
            left={name: effects.direct_effect_left(p) for name, p in taken.items()},
            parts=parts,
            evidence={
                name: evidence_of_levels(part, effects, each, blind, settings)
                for name, each in parts.items()
            },
            left_out=tuple(name for code, name in enumerate(names) if code not in kept),
        )


def refuse_for_levels(rows: Rows, settings: Settings) -> None:
    """Raise where a setting is for two levels alone."""
    if settings.effects.get("interval", "influence") != "influence":
        rows.groups.require_two("effect_interval='bootstrap'")
    if settings.selection_rates:
        rows.groups.require_two("selection_rate")


def levels_with_enough_rows(rows: Rows, cv: int) -> Index:
    """Return the codes of the levels whose effects can be estimated, the reference among them.

    Combinations of several attributes are estimated together, however few rows they have.
    """
    if rows.groups.attributes is not None:
        return np.arange(rows.groups.n_levels)
    counted = None if rows.weights is None else np.sign(rows.weights)
    fewest = max(MIN_ROWS_OF_MANY, 2 * cv)
    codes = np.flatnonzero(rows.groups.counts(counted) >= fewest)
    if 0 not in codes or len(codes) < 2:
        raise ValueError(
            f"effects take at least {fewest} rows of the reference and of another level; merge "
            "levels with groups=Grouping(merge_below=…)"
        )
    return codes


def _among(groups: Groups, kept: Index) -> Groups:
    """Return rows of these levels alone as groups of them."""
    weighting = groups.weighting
    if not isinstance(weighting, str):
        chosen = np.asarray(weighting)[kept]
        weighting = tuple((chosen / chosen.sum()).tolist())
    return replace(
        groups,
        codes=np.searchsorted(kept, groups.codes).astype(groups.codes.dtype),
        levels=tuple(groups.levels[code] for code in kept),
        weighting=weighting,
        recoding=None,
    )
