"""The effects of a sensitive attribute with several levels, each against the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import read_numbers
from ..frames import Tabular
from ..grouping import Grouping, check_large_weights
from ..outcome import Outcome
from ..rows import Rows
from .estimate import Estimate, check_confidence, simultaneous_factor
from .influence import EFFECTS, MEANINGS, Mean, covariance, doubly_robust
from .level_left import LevelsLeft
from .nuisance import CrossFit, Nuisances
from .overlap import Overlap, overlap


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelEffects(Tabular):
    """The effects of z on an outcome, each level against the reference; made by `level_effects`.

    As a frame it has one row per level and effect.

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
    _rows: Rows

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
        p = read_numbers(y_pred, "y_pred", len(self._rows), beside="the effects")
        rows, weights = self._rows, self._rows.mean_one_weights
        apart = []
        for level, fair in enumerate(self._fair):
            inside = weights * (rows.groups.codes == level)
            apart.append(Mean.average(p, inside) - fair)
        return LevelsLeft.of(apart, self.weights, self.levels, self.settings["confidence"])

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


def level_effects(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    groups: Grouping | None = None,
    outcome_model: Any = None,
    propensity_model: Any = None,
    cv: int = 5,
    clip: float = 0.01,
    confidence: float = 0.95,
    nuisances: Nuisances | None = None,
    sample_weight: Any = None,
    allow_separation: bool = False,
    random_state: int = 0,
) -> LevelEffects:
    """Estimate what each level of z does to y, compared with the reference level.

    The estimates are doubly robust, from the propensity of each level and one model of the outcome
    in all levels. Those of a level and the reference rest on the rows of these two.

    Parameters
    ----------
    X : frame or array
        The covariates, z not among them.
    y : column of length n
        Labels (0/1 or two classes), any numbers, or a model's scores.
    sensitive_features : column of length n
        z, with two levels or more.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    outcome_model, propensity_model : scikit-learn model or list of them, optional
        Models of E[y|z,X], one per level of z, and of P(z=l|X), one per level against the rest. By
        default boosted trees stacked with a linear model, those of y of all levels together.
    cv : int, default=5
        Folds of the cross-fitting.
    clip : float, default=0.01
        Of two levels propensities are kept within [clip, 1−clip]; see `Nuisances`.
    confidence : float, default=0.95
        How often the intervals of one effect should hold the truth for all levels at once.
    nuisances : Nuisances, optional
        Predictions made before, in place of fitting.
    sample_weight : column of length n, optional
        Weights of the rows.
    allow_separation : bool, default=False
        Whether the effects are estimated, with a warning, where X predicts z nearly exactly.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    LevelEffects

    Notes
    -----
    The mean fair score of level l is the mean of::

        φ_l = [ 1(z=l) f̂(X) + b̂_l(X)·(w_z/b̂_z)·(y − μ̂_z) ] / P(l)

    which is right if either the propensities or the outcome models are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, z = rng.normal(size=(3000, 2)), rng.choice(["a", "b", "c"], 3000)
    >>> y = X[:, 0] + 0.5 * (z == "b") + rng.normal(size=3000)
    >>> found = level_effects(X, y, sensitive_features=z, groups=Grouping(reference="a"))
    >>> direct = {level: each["direct_everyone"] for level, each in found.pairs.items()}
    >>> direct["b"].low < 0.5 < direct["b"].high, direct["c"].low < 0 < direct["c"].high
    (True, True)
    >>> left = found.direct_effect_left(X[:, 0])
    >>> left.spread.estimate < 0.15
    True
    """
    check_confidence(confidence)
    rows = Rows.check(
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=groups,
        read_outcome=Outcome.labels_or_numbers,
    )
    return effects_of_levels(
        rows,
        outcome_model=outcome_model,
        propensity_model=propensity_model,
        cv=cv,
        clip=clip,
        confidence=confidence,
        nuisances=nuisances,
        allow_separation=allow_separation,
        random_state=random_state,
    )


def effects_of_levels(
    rows: Rows,
    *,
    nuisances: Nuisances | None = None,
    confidence: float = 0.95,
    cv: int = 5,
    clip: float = 0.01,
    random_state: int = 0,
    **options: Any,
) -> LevelEffects:
    """Return `level_effects` of checked rows."""
    if nuisances is None:
        nuisances = CrossFit.of(
            rows, cv=cv, clip=clip, seed=random_state, pooled=True, **options
        ).fit()
    elif nuisances.outcome.shape != (len(rows), rows.groups.n_levels):
        raise ValueError(f"nuisances are not those of the {len(rows)} rows and their levels")
    groups = rows.groups
    counts = groups.counts(rows.weights)
    weights = groups.weights_of(counts)
    if not groups.two:
        check_large_weights(weights, (counts / counts.sum()).tolist(), groups.names)
    fair = [_fair_mean(rows, nuisances, weights, level) for level in range(groups.n_levels)]
    factor = _factor(fair, confidence)
    return LevelEffects(
        levels=groups.names,
        pairs=_pairs(rows, nuisances, confidence),
        fair_means=tuple(_estimate(each, factor) for each in fair),
        n_rows=tuple(map(int, groups.counts())),
        effective_rows=tuple(
            _effective(rows, nuisances, weights, level) for level in range(groups.n_levels)
        ),
        weights=weights,
        overlaps=_overlaps(rows, nuisances),
        nuisances=nuisances,
        settings={
            "confidence": float(confidence),
            "cv": int(cv),
            "clip": float(clip),
            "random_state": int(random_state),
            "n_rows": len(rows),
            "n_clipped": nuisances.n_clipped,
        },
        _fair=tuple(fair),
        _rows=rows.with_table(None),
    )


def _residual_weights(
    rows: Rows, nuisances: Nuisances, weights: Sequence[float], level: int
) -> Floats:
    """Return b̂_l·w_z/b̂_z, the weight of a row's residual in the mean of one level."""
    own = np.arange(len(rows)), rows.groups.codes.astype(np.intp)
    ratio = np.asarray(weights)[own[1]] / nuisances.propensities[own]
    return np.asarray(nuisances.propensities[:, level] * ratio)


def _fair_mean(rows: Rows, nuisances: Nuisances, weights: Sequence[float], level: int) -> Mean:
    """Return E[f | z=l], doubly robust."""
    codes = rows.groups.codes.astype(np.intp)
    inside = rows.mean_one_weights * (codes == level)
    own = nuisances.outcome[np.arange(len(rows)), codes]
    residual = _residual_weights(rows, nuisances, weights, level) * (rows.y - own)
    values = inside * nuisances.fair(weights) + rows.mean_one_weights * residual
    return Mean.of(values, inside)


def _effective(rows: Rows, nuisances: Nuisances, weights: Sequence[float], level: int) -> float:
    used = rows.mean_one_weights * _residual_weights(rows, nuisances, weights, level)
    return float(used.sum() ** 2 / (used**2).sum())


def _pair(rows: Rows, nuisances: Nuisances, level: int) -> tuple[Rows, Nuisances, Any]:
    """Return the rows of a level and the reference, as rows of two levels, and their places."""
    groups = rows.groups
    places = np.flatnonzero((groups.codes == 0) | (groups.codes == level))
    codes = (groups.codes[places] == level).astype(np.uint8)
    two = replace(
        groups, codes=codes, levels=(groups.levels[0], groups.levels[level]),
        weighting="uniform", kept=None, recoding=None,
    )  # fmt: skip
    taken = replace(rows.with_table(None).take(places), groups=two)
    b, means = nuisances.pair(level)
    return taken, Nuisances(b[places], means[places]), places


def _pairs(rows: Rows, nuisances: Nuisances, confidence: float) -> dict[str, dict[str, Estimate]]:
    """Return the effects of each level against the reference, with simultaneous intervals."""
    found: dict[str, dict[str, Mean]] = {}
    for level in range(1, rows.groups.n_levels):
        taken, inside, places = _pair(rows, nuisances, level)
        weights = taken.mean_one_weights
        effects = doubly_robust(taken.y, taken.z, weights, inside)
        spread = {}
        for name, each in effects.items():
            influence = np.zeros(len(rows))
            influence[places] = each.influence * len(rows) / len(places)
            spread[name] = Mean(each.value, influence)
        found[rows.groups.names[level]] = spread
    factors = {
        name: _factor([each[name] for each in found.values()], confidence) for name in EFFECTS
    }
    return {
        level: {name: _estimate(each[name], factors[name]) for name in EFFECTS}
        for level, each in found.items()
    }


def _factor(means: Sequence[Mean], confidence: float) -> float:
    return simultaneous_factor(
        covariance(np.column_stack([each.influence for each in means])), confidence
    )


def _estimate(mean: Mean, factor: float) -> Estimate:
    half = factor * mean.se
    return Estimate(mean.value, mean.se, mean.value - half, mean.value + half)


def _overlaps(rows: Rows, nuisances: Nuisances) -> dict[str, Overlap]:
    """Return how far each level overlaps with the reference, as if both had as many rows.

    The propensity of a small level is small everywhere, which says nothing of overlap.
    """
    found = {}
    for level in range(1, rows.groups.n_levels):
        taken, inside, _ = _pair(rows, nuisances, level)
        counts, b = taken.groups.counts(taken.weights), inside.propensity
        odds = b / (1 - b) * counts[0] / counts[1]
        weights = taken.mean_one_weights / counts[taken.groups.codes]
        found[rows.groups.names[level]] = overlap(
            odds / (1 + odds), sensitive_features=taken.groups, sample_weight=weights
        )
    return found
