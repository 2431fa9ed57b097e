"""A frontier as a notebook shows it: what each strength leaves and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..svg import Series, curves
from .measures import usable_points

if TYPE_CHECKING:
    from .result import Frontier

#: The parts of the rows that are drawn, with their colours.
_KINDS = {"validation": "s1", "test": "s2"}


def frontier_charts(found: Frontier) -> str:
    """Return a chart per measure: by strength, on validation and test rows, with intervals."""
    charts = []
    for measure in ("direct_effect_left", found.utility):
        title = measure.replace("_", " ")
        series = [each for part in _KINDS for each in _series(found, part, measure)]
        if series:
            name = f"{title} by strength"
            zero = measure != found.utility
            charts.append(curves(series, title=name, x_title="strength", y_title=title, zero=zero))
    return "".join(charts)


def _series(found: Frontier, part: str, measure: str) -> list[Series]:
    if part not in found.part_names:
        return []
    try:
        points = usable_points(found.points, (measure,), part)
    except ValueError:  # not known at any strength
        return []

    def values(name: str) -> list[float]:
        return [point.value(name, part) for point in points]

    return [
        Series(
            name=part,
            x=[point.strength for point in points],
            y=values(measure),
            low=values(f"{measure}_low"),
            high=values(f"{measure}_high"),
            kind=_KINDS[part],
        )
    ]
