"""One strength of a frontier: its figures on every part of the rows, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

#: The parts of the rows, in the order of the table.
PARTS = ("train", "validation", "test")
#: Measures of which more is better; of the others the one nearest to 0 is.
HIGHER_IS_BETTER = ("accuracy", "auc")
#: The measures every point has, in the order of the table.
MEASURES = (
    "rows",
    "accuracy",
    "auc",
    "log_loss",
    "brier",
    "selection_rate_difference",
    "score_gap",
    "direct_effect_left",
    "direct_effect_left_se",
    "direct_effect_left_low",
    "direct_effect_left_high",
)


@dataclass(frozen=True)
class Point:
    """One strength of a frontier.

    Parameters
    ----------
    strength : float
        λ.
    parts : mapping of str to mapping of str to float
        Measures by part; empty where the fit failed.
    rounds, trees : int, optional
        Rounds or Newton steps taken, and trees kept.
    seconds : float
        Wall time of the fit; work that strengths share counts where it was done.
    error : str
        Why the fit failed, or nothing.
    """

    strength: float
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rounds: int | None = None
    trees: int | None = None
    seconds: float = 0.0
    error: str = ""

    def value(self, measure: str, part: str) -> float:
        """Return a measure on a part of the rows; NaN where there is none."""
        return self.parts.get(part, {}).get(measure, math.nan)

    def cost(self, measure: str, part: str) -> float:
        """Return a measure so that less is better: negated, or the distance to 0."""
        value = self.value(measure, part)
        return -value if measure in HIGHER_IS_BETTER else abs(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON can hold it."""
        return {
            "strength": self.strength,
            "parts": {
                part: {name: _or_none(value) for name, value in measures.items()}
                for part, measures in self.parts.items()
            },
            "rounds": self.rounds,
            "trees": self.trees,
            "seconds": self.seconds,
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a point from what `to_dict` gave."""
        parts = {
            part: {name: math.nan if value is None else value for name, value in measures.items()}
            for part, measures in stored["parts"].items()
        }
        return cls(**{**stored, "parts": parts})


def tidy_columns(points: Sequence[Point], parts: Sequence[str]) -> dict[str, list[Any]]:
    """Return a table with a row per strength and part; what is not known is None.

    Examples
    --------
    >>> point = Point(0.5, {"test": {"accuracy": 0.8}}, rounds=7)
    >>> table = tidy_columns([point], ["test"])
    >>> table["strength"], table["part"], table["accuracy"], table["rounds"]
    ([0.5], ['test'], [0.8], [7])
    """
    found = [name for point in points for part in point.parts.values() for name in part]
    names = [name for name in MEASURES if name in found]
    names += dict.fromkeys(name for name in found if name not in MEASURES)
    cells = [(point, part) for point in points for part in parts]
    table: dict[str, list[Any]] = {
        "strength": [point.strength for point, _ in cells],
        "part": [part for _, part in cells],
        **{name: [_or_none(point.value(name, part)) for point, part in cells] for name in names},
        "rounds": [point.rounds for point, _ in cells],
        "trees": [point.trees for point, _ in cells],
        "seconds": [point.seconds for point, _ in cells],
        "error": [point.error for point, _ in cells],
    }
    return {
        name: column for name, column in table.items() if any(value is not None for value in column)
    }


def _or_none(value: float) -> float | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value
