"""The direct effect in a model's scores and the share passed on, of each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

from .._typing import Floats
from ..frames import Tabular, plain
from ..rows import Rows
from .estimate import Estimate
from .fair_parts import FairParts
from .gap_parts import GapMeans, ScoreCalibration, calibration_of
from .influence import Mean, simultaneous_intervals
from .nuisance import Nuisances


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelParts(Tabular):
    """What scores hold of the direct effect of each level against the reference.

    `LevelEffects.gap_parts` makes it. As a frame it has one row per level but the reference.

    Parameters
    ----------
    reference : str
        The level that the others are compared with.
    direct : mapping of str to Estimate
        By level, how much higher than the reference it scores beyond what the covariates and the
        sharpness of the scores explain, on the scale of the labels; see `GapParts`. The intervals
        hold for all levels at once.
    pass_through : mapping of str to Estimate or None
        By level, the share of the direct effect between it and the reference that the scores pass
        on. Each interval has the confidence 1 − (1−c)/K for K levels, so that all hold at once with
        the confidence c.
    why_not : mapping of str to str or None
        Why a level has no pass-through.
    calibration : ScoreCalibration
        Of the scores as they are.
    """

    reference: str
    direct: Mapping[str, Estimate]
    pass_through: Mapping[str, Estimate | None]
    why_not: Mapping[str, str | None]
    calibration: ScoreCalibration

    @classmethod
    def of(
        cls,
        scores: Floats,
        rows: Rows,
        nuisances: Nuisances,
        *,
        weights: Sequence[float],
        fair: Sequence[Mean],
        effects: Sequence[Mapping[str, Mean]],
        confidence: float,
    ) -> Self:
        """Return it from scores, the weights, fair means and effects of the levels."""
        names = rows.groups.names[1:]
        single = 1 - (1 - confidence) / len(names)
        surprise = rows.y - nuisances.mean
        found = [
            GapMeans.of(
                scores,
                rows,
                FairParts.of_level(rows, nuisances, weights, level),
                surprise,
                {**known, "explained": fair[level] - fair[0]},  # by the fair score of all levels
                single,
            )
            for level, known in enumerate(effects, start=1)
        ]
        intervals = simultaneous_intervals([each.direct for each in found], confidence)
        return cls(
            reference=rows.groups.names[0],
            direct=dict(zip(names, intervals, strict=True)),
            pass_through={name: each.pass_through for name, each in zip(names, found, strict=True)},
            why_not={name: each.why_not for name, each in zip(names, found, strict=True)},
            calibration=calibration_of(scores, rows, confidence),
        )

    @property
    def largest_share(self) -> str | None:
        """The level whose pass-through is furthest from 0; None where none is known.

        Of those that the rows bound on both sides, if there are any.
        """
        known = {level: each for level, each in self.pass_through.items() if each is not None}
        bound = {k: each for k, each in known.items() if isfinite(each.low) and isfinite(each.high)}
        sizes = {level: abs(each.estimate) for level, each in (bound or known).items()}
        return max(sizes, key=lambda level: sizes[level], default=None)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {"level": [*self.direct]}
        columns["reference"] = [self.reference] * len(self.direct)
        for name, each in (("direct", self.direct), ("pass_through", self.pass_through)):
            for end in ("estimate", "low", "high"):
                columns[f"{name}_{end}"] = [getattr(one, end, None) for one in each.values()]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return every number by level, ready for JSON; an infinite end is None."""
        groups = []
        for level, direct in self.direct.items():
            share = self.pass_through[level]
            groups.append(
                {
                    "level": level,
                    "direct": direct.to_dict(),
                    "pass_through": share and share.to_dict(),
                    "why_not": self.why_not[level],
                }
            )
        found = {
            "reference": self.reference,
            "groups": groups,
            "calibration": self.calibration.to_dict(),
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        lines = [
            f"Direct effect in the scores, each level minus {self.reference}, and pass-through"
        ]
        for level, direct in self.direct.items():
            share = self.pass_through[level]
            told = f"not known: {self.why_not[level]}" if share is None else str(share)
            lines.append(f"{level:<24}{direct!r}   {told}")
        return "\n".join(lines)
