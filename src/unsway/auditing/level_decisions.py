"""What is claimed of the direct effect of each level, and of which level first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..effects import balance, verdict
from ..effects.level_effects import LevelEffects
from ..effects.level_pairs import rows_of_pair
from ..effects.level_parts import LevelParts
from ..frames import plain
from ..rows import Rows
from ..tables import take
from .evidence import Evidence, name_groups
from .inputs import Settings
from .tables import short
from .verdict import Decision

#: The states of a decision, the one that is told of first before the others.
_ORDER = ("direct effect", "cannot tell", "not judged", "below margin")


def evidence_of_levels(
    rows: Rows,
    effects: LevelEffects,
    parts: LevelParts,
    blind: LevelParts,
    settings: Settings,
) -> dict[str, Evidence]:
    """Return what the decision on each level against the reference rests on.

    It is that of two groups, with intervals that hold for all levels at once.
    """
    about: dict[str, Any] = {
        "confidence": settings.confidence,
        "at_once": len(parts.direct),
        "margin": settings.margin,
        "scored": short(rows.outcome.names[1]),
        "favourable": short(settings.favourable),
        "calibration": parts.calibration.to_dict(),
    }
    found = {}
    for place, (level, direct) in enumerate(parts.direct.items(), start=1):
        share, reference = parts.pass_through[level], blind.pass_through[level]
        pair = (parts.reference, level)
        found[level] = Evidence(
            direct=direct.to_dict(),
            groups=name_groups(pair, rows.groups.name),
            pass_through=None if share is None else plain(share.to_dict()),
            blind=None if reference is None else plain(reference.to_dict()),
            why_not=parts.why_not[level] or "",
            findings=findings_of(rows, effects, place),
            n_rows=effects.n_rows[0] + effects.n_rows[place],
            **about,
        )
    return found


def worst_level(decisions: Mapping[str, Decision]) -> str:
    """Return the level that a reader must know of first.

    A direct effect comes before what cannot be told, and that before what is small. Of direct
    effects and small ones the largest is taken, of the others the one whose interval reaches
    furthest.
    """

    def rank(level: str) -> tuple[int, float]:
        each = decisions[level]
        value, low, high = (each.direct[name] or 0.0 for name in ("estimate", "low", "high"))
        size = max(abs(low), abs(high)) if each.state == "cannot tell" else abs(value)
        return _ORDER.index(each.state), -size

    return min(decisions, key=rank)


def findings_of(rows: Rows, effects: LevelEffects, level: int) -> list[Mapping[str, Any]]:
    """Return the checks of overlap and balance of a level and the reference."""
    taken, inside, places = rows_of_pair(effects.rows, effects.nuisances, level)
    balanced = balance(
        take(rows.X, places),
        sensitive_features=taken.groups.as_given(),
        propensity=inside.propensity,
        sample_weight=taken.weights,
        groups=taken.groups.grouping,
    )
    known = verdict(effects.overlaps[effects.levels[level]], balanced)
    return list(known.to_dict()["findings"])
