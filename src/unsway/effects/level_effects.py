"""The effects of a sensitive attribute with several levels, each against the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..checks import check_choice
from ..frames import Tabular
from ..rows import Rows
from ..svg import Interval, intervals
from .estimate import Estimate
from .influence import EFFECTS, MEANINGS, Mean
from .level_left import LevelsLeft
from .level_parts import LevelParts
from .nuisance import Nuisances
from .overlap import Overlap
from .plots import plot_forest
from .result import known_rows, read_scores


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelEffects(Tabular):
    """The effects of z on an outcome, each level against the reference.

    `estimate_effects` makes it where z has three levels or more. As a frame it has one row per
    level and effect.

    Parameters
    ----------
    levels : tuple of str
        The levels, the reference first.
    pairs : mapping of str to mapping of str to Estimate
        Of each level but the reference the effects, "level minus reference", as `Effects` names
        them. The intervals of one effect hold for all levels at once.
    fair_means : tuple of Estimate
        E[f | z=l], the mean fair score of each level.
    n_rows : tuple of int
        The rows of each level.
    effective_rows : tuple of float
        How many rows with equal weights would say as much about the fair score of each level.
    weights : tuple of float
        w, the weight of each level in the fair score.
    overlaps : mapping of str to Overlap
        Of each level, whether it and the reference can be compared: their overlap if both had as
        many rows.
    nuisances : Nuisances
        The cross-fitted models' predictions.
    settings : mapping
        How the estimates were made.
    keep_rows : bool, default=False
        Whether a pickle has the outcome and the sensitive attribute of each row.
    _fair : tuple of Mean
        The fair means with their influence functions.
    _effects : tuple of mapping of str to Mean
        The same of the effects of each level but the reference.
    _rows : Rows or None
        The rows without their covariates; None in what was read from a pickle.
    """

    levels: tuple[str, ...]
    pairs: Mapping[str, Mapping[str, Estimate]]
    fair_means: tuple[Estimate, ...]
    n_rows: tuple[int, ...]
    effective_rows: tuple[float, ...]
    weights: tuple[float, ...]
    overlaps: Mapping[str, Overlap]
    nuisances: Nuisances
    settings: Mapping[str, Any]
    _fair: tuple[Mean, ...]
    _effects: tuple[Mapping[str, Mean], ...]
    _rows: Rows | None
    keep_rows: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows, and the influence functions that tell them, out of a pickle."""
        state = dict(vars(self))
        return state if self.keep_rows else {**state, "_rows": None, "_fair": (), "_effects": ()}

    @property
    def rows(self) -> Rows:
        """The rows without their covariates, with the levels that effects are told of."""
        return known_rows(self._rows)

    @property
    def worst_overlap(self) -> tuple[str, Overlap]:
        """The level with the largest share of extreme propensities, and its overlap."""
        name = max(self.overlaps, key=lambda level: self.overlaps[level].share_outside)
        return name, self.overlaps[name]

    def direct_effect_left(self, y_pred: Any) -> LevelsLeft:
        """Return how much of the direct effect of z a model's scores p still hold, by level.

        ::

            left_l = E[p − f | z=l] − Σ_k w_k E[p − f | z=k]

        where f is the fair score. The headline is the spread, the largest difference between two
        levels. The scores must be those of the same rows.
        """
        rows = self.rows
        p, weights = read_scores(y_pred, rows), rows.mean_one_weights
        apart = []
        for level, fair in enumerate(self._fair):
            inside = weights * (rows.groups.codes == level)
            apart.append(Mean.average(p, inside, rows.clusters) - fair)
        return LevelsLeft.of(apart, self.weights, self.levels, self.settings["confidence"])

    def gap_parts(self, y_pred: Any) -> LevelParts:
        """Return what scores hold of the direct effect of each level, and the share passed on.

        A level is compared with the reference as `Effects.gap_parts` compares two groups, where the
        two overlap, with the fair score f = Σ w_l·μ_l and D = E[y|X] − f. The scores must be those
        of the same rows, and the effects those on the labels.
        """
        rows = self.rows
        return LevelParts.of(
            read_scores(y_pred, rows),
            rows,
            self.nuisances,
            weights=self.weights,
            fair=self._fair,
            effects=self._effects,
            confidence=self.settings["confidence"],
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        lines = [
            (level, effect, each)
            for level, effects in self.pairs.items()
            for effect, each in effects.items()
        ]
        columns: dict[str, list[Any]] = {
            "level": [level for level, _, _ in lines],
            "reference": [self.levels[0]] * len(lines),
            "effect": [effect for _, effect, _ in lines],
            "meaning": [MEANINGS[effect] for _, effect, _ in lines],
        }
        for part in ("estimate", "se", "low", "high"):
            columns[part] = [getattr(each, part) for _, _, each in lines]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates by level, ready for JSON."""
        groups = []
        for place, level in enumerate(self.levels):
            pair = self.pairs.get(level, {})
            seen = self.overlaps.get(level)
            groups.append(
                {
                    "level": level,
                    "rows": self.n_rows[place],
                    "effective_rows": self.effective_rows[place],
                    "weight": self.weights[place],
                    "fair_mean": self.fair_means[place].to_dict(),
                    "effects": {name: each.to_dict() for name, each in pair.items()},
                    "overlap": None if seen is None else seen.to_dict(),
                }
            )
        return {"reference": self.levels[0], "groups": groups, "settings": dict(self.settings)}

    def plot(self, ax: Any = None, *, effect: str = "direct_everyone") -> Any:
        """Draw one effect of each level against the reference; return the Axes."""
        check_choice(effect, "effect", EFFECTS)
        found = {level: effects[effect] for level, effects in self.pairs.items()}
        return plot_forest(found, ax, title=f"{effect} against {self.levels[0]}")

    def _charts(self) -> str:
        title = f"Direct effect of each level against {self.levels[0]}, mean over everyone"
        found = {level: effects["direct_everyone"] for level, effects in self.pairs.items()}
        lines = [
            Interval(label=level, estimate=each.estimate, low=each.low, high=each.high)
            for level, each in found.items()
        ]
        return intervals(lines, title=title)

    def __repr__(self) -> str:
        how = self.settings
        lines = [
            f"Effects of {len(self.levels)} levels against {self.levels[0]} (doubly robust, "
            f"{sum(self.n_rows):,} rows, {how['confidence']:.0%} intervals that hold for all "
            "levels at once)",
            f"{'':<24}{'rows':>8}{'total':>9}{'direct':>9}{'low':>9}{'high':>9}",
        ]
        for level, effects in self.pairs.items():
            direct = effects["direct_everyone"]
            numbers = (effects["total"].estimate, direct.estimate, direct.low, direct.high)
            rows = self.n_rows[self.levels.index(level)]
            shown = level if len(level) < 24 else f"{level[:22]}…"
            lines.append(f"{shown:<24}{rows:>8,}{''.join(f'{each:>9.4f}' for each in numbers)}")
        name, worst = self.worst_overlap
        lines.append(
            f"Worst overlap: {name}, {worst.share_outside:.0%} of the propensities near 0 or 1"
        )
        return "\n".join(lines)
