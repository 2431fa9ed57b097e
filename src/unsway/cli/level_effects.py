"""``unsway effects`` of a sensitive column with three levels or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ..auditing.tables import show
from ..effects import LevelEffects, estimate_effects
from ..effects.study import loss_options
from ..models.folder import TrainingRoles
from ..paper.plots import to_bytes
from ..rows import Rows
from .console import one_line, say, show_table

#: The effects of a level that are printed, of the eight that are estimated.
_SHOWN = {
    "total": "whole gap",
    "direct_everyone": "direct, everyone",
    "explained": "through the covariates",
}
KINDS = ("svg", "png")


def level_study(rows: Rows, settings: Mapping[str, Any]) -> LevelEffects:
    """Return the effects of each level against the reference."""
    found = estimate_effects(
        rows.X,
        rows.y,
        sensitive_features=rows.groups,
        sample_weight=rows.weights,
        cluster=rows.clusters,
        **loss_options(rows),
        **settings,
    )
    return cast("LevelEffects", found)


def draw_levels(found: LevelEffects, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the picture of the direct effects by path."""
    for kind in KINDS:
        yield folder / f"forest.{kind}", to_bytes(found.plot().figure, kind)


def show_levels(found: LevelEffects, names: TrainingRoles) -> None:
    """Print the effects of each level, and which overlaps least with the reference."""
    of = f"{names.target} = {names.positive}" if names.positive else f"the mean of {names.target}"
    reference = one_line(found.levels[0])
    rows = [
        (
            one_line(level),
            f"{found.n_rows[place]:,}",
            *(show(effects[name], "+.4f") for name in _SHOWN),
        )
        for place, (level, effects) in enumerate(found.pairs.items(), start=1)
    ]
    title = f"What {names.sensitive} rather than {reference} does to {of}"
    show_table(title, ("level", "rows", *_SHOWN.values()), rows)
    level, worst = found.worst_overlap
    say(
        f"Differences to {reference} ({found.n_rows[0]:,} rows), doubly robust; the "
        f"{100 * found.settings['confidence']:g}% intervals of an effect hold for all levels at "
        f"once.\nOf all levels {one_line(level)} overlaps least with {reference}: "
        f"{worst.share_outside:.0%} of their propensities are near 0 or 1."
    )
