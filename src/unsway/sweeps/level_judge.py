"""The effects of each level on the labels of rows, by which the scores of models are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._typing import Floats, Index
from ..auditing.evidence import name_groups
from ..auditing.level_decisions import worst_level
from ..auditing.verdict import Decision
from ..effects.level_effects import LevelEffects
from ..effects.level_estimation import effects_of_levels
from ..rows import Rows
from .judge import Judge, judge_of, named_numbers

if TYPE_CHECKING:
    from .measures import Point


@dataclass(frozen=True, kw_only=True)
class LevelJudge:
    """The effects of each level on the labels of the rows with scores.

    Parameters
    ----------
    effects : LevelEffects
        Estimated on these rows; the models may have been fitted on more.
    """

    effects: LevelEffects = field(repr=False)

    def measures(self, scores: Floats) -> dict[str, float]:
        """Return the direct effect left and the pass-through by name, and those of each level.

        The direct effect left is the spread, the largest difference between two levels; the
        pass-through that of the level where it is furthest from 0.
        """
        left, parts = self.effects.direct_effect_left(scores), self.effects.gap_parts(scores)
        found = named_numbers("direct_effect_left", left.spread)
        worst = parts.largest_share
        share = None if worst is None else parts.pass_through[worst]
        if share is not None:
            found |= named_numbers("pass_through", share)
        for level, direct in parts.direct.items():
            found |= named_numbers(f"direct_effect[{level}]", direct)
            own = parts.pass_through[level]
            found |= {} if own is None else named_numbers(f"pass_through[{level}]", own)
        return found

    def fair_parts(self) -> None:
        """Return nothing: strengths are not compared by their pass-through of several levels."""

    def facts(self) -> dict[str, Any]:
        """Return the effects of the levels, ready for JSON."""
        found = self.effects.to_dict()
        return {
            "levels": list(self.effects.levels),
            "level_effects": found["groups"],
            "effects_rows": self.effects.settings["n_rows"],
        }


def level_judge_of(
    rows: Rows, options: Mapping[str, Any], place: str, places: Index | None = None
) -> tuple[LevelJudge | None, str | None]:
    """Return the effects on the labels of the rows with scores, or a note with the reason for none.

    Models of propensities and outcome are of all rows.
    """
    options = {"keep_rows": True, **options}  # workers judge scores by them
    try:
        found = effects_of_levels(rows, **options)
        if places is not None:
            known = found.nuisances.take(places)
            found = effects_of_levels(rows.take(places), nuisances=known, **options)
    except ValueError as error:
        return None, f"no direct effect left on the {place} rows: {error}"
    return LevelJudge(effects=found), None


def judge_rows(
    rows: Rows, options: Mapping[str, Any], place: str, places: Index | None = None
) -> tuple[Judge | LevelJudge | None, str | None]:
    """Return the effects on the labels of these rows, of two levels or of more."""
    judge = judge_of if rows.groups.two else level_judge_of
    return judge(rows, options, place, places)


def decide_worst(
    point: Point, part: str, levels: tuple[str, ...], name: str | None, **about: Any
) -> tuple[str, Decision]:
    """Return the worst level of a strength and what is claimed of it.

    Parameters
    ----------
    point : Point
    part : {"train", "validation", "test"}
        The rows.
    levels : tuple of str
        The reference first.
    name : str, optional
        Of the sensitive column.
    **about
        More of the `Evidence`.
    """
    reference, *others = levels
    decisions = {
        level: point.decision(
            part,
            name_groups((reference, level), name),
            suffix=f"[{level}]",
            at_once=len(others),
            **about,
        )
        for level in others
    }
    worst = worst_level(decisions)
    return worst, decisions[worst]
