"""The effects of each level of a sensitive attribute with three levels or more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Floats
from ..rows import Rows
from .estimate import Estimate
from .influence import EFFECTS, Mean, simultaneous_intervals
from .level_effects import LevelEffects
from .level_pairs import effects_of_pair, rows_of_pair
from .model_noise import ModelNoise
from .nuisance import CrossFit, Nuisances
from .overlap import MAX_EXTREME_SHARE, Overlap, overlap
from .reported_levels import reported_levels, rows_not_reported, used_rows, with_reported_levels
from .separation import warn_of_extremes


def effects_of_levels(
    rows: Rows,
    *,
    nuisances: Nuisances | None = None,
    confidence: float = 0.95,
    cv: int = 5,
    repeats: int = 1,
    clip: float = 0.01,
    random_state: int = 0,
    max_extreme_share: float = MAX_EXTREME_SHARE,
    keep_rows: bool = False,
    **options: Any,
) -> LevelEffects:
    """Return `estimate_effects` of checked rows of three levels or more.

    The mean fair score of level l is the mean of::

        φ_l = [ 1(z=l) f̂(X) + b̂_l(X)·(w_z/b̂_z)·(y − μ̂_z) ] / P(l)

    which is right if either the propensities or the outcome models are. The effects of a level and
    the reference rest on the rows of these two. Two levels are taken too, with the same models.
    """
    check_weights_of(rows)
    if nuisances is None:
        cross = CrossFit.of(rows, cv=cv, clip=clip, seed=random_state, pooled=True, **options)
        nuisances = cross.fit_repeatedly(repeats, random_state)
    _check_nuisances(nuisances, rows)
    apart = rows_not_reported(rows, reported_levels(rows))
    rows, nuisances = with_reported_levels(rows, nuisances)
    groups, n_levels = rows.groups, rows.groups.n_levels
    weights = groups.weights_of(groups.counts(rows.weights))
    fair = fair_means(rows, nuisances, weights)
    effects = [effects_of_pair(rows, nuisances, level) for level in range(1, n_levels)]
    found = LevelEffects(
        levels=groups.names,
        pairs=_intervals(effects, groups.names, confidence),
        fair_means=tuple(simultaneous_intervals(fair, confidence)),
        n_rows=tuple(map(int, groups.counts(used_rows(rows)))),
        effective_rows=tuple(
            _effective(rows, nuisances, weights, level) for level in range(n_levels)
        ),
        weights=weights,
        overlaps=_overlaps(rows, nuisances),
        nuisances=nuisances,
        settings={
            "method": "doubly_robust",
            "confidence": float(confidence),
            "cv": int(cv),
            "clip": float(clip),
            "random_state": int(random_state),
            "n_rows": len(rows),
            "n_clipped": nuisances.n_clipped,
            **apart,
        },
        keep_rows=keep_rows,
        _fair=tuple(fair),
        _effects=tuple(effects),
        _rows=rows.with_table(None),
    )
    _warn_of_worst(found, max_extreme_share)
    return found


def _check_nuisances(nuisances: Nuisances, rows: Rows) -> None:
    if nuisances.outcome.shape != (len(rows), rows.groups.n_levels):
        raise ValueError(f"nuisances are not those of the {len(rows)} rows and their levels")


def check_weights_of(rows: Rows) -> None:
    """Warn of levels whose weight is far above their share, or refuse them, before any work."""
    groups = rows.groups
    counts = groups.counts(rows.weights)
    if not groups.two:
        groups.check_weights(groups.weights_of(counts), counts)


def fair_means(rows: Rows, nuisances: Nuisances, weights: Sequence[float]) -> list[Mean]:
    """Return E[f | z=l] of each level, doubly robust, with the noise of the outcome models."""
    codes, mass = rows.groups.codes.astype(np.intp), rows.mean_one_weights
    own = nuisances.outcome[np.arange(len(rows)), codes]
    noise = ModelNoise.of(rows.y, codes, mass, nuisances)
    found = []
    for level in range(rows.groups.n_levels):
        inside = mass * (codes == level)
        corrected = mass * _residual_weights(rows, nuisances, weights, level)
        values = inside * nuisances.fair(weights) + corrected * (rows.y - own)
        moved = [
            noise.influence(k, weight * inside, corrected * (codes == k))
            for k, weight in enumerate(weights)
        ]
        mean = Mean.of(values, inside, rows.clusters)
        found.append(mean.with_noise(np.sum(moved, axis=0) / inside.mean()))
    return found


def _intervals(
    effects: Sequence[dict[str, Mean]], names: Sequence[str], confidence: float
) -> dict[str, dict[str, Estimate]]:
    """Return the effects of each level but the reference; each effect's intervals hold at once."""
    columns = {
        name: simultaneous_intervals([each[name] for each in effects], confidence)
        for name in EFFECTS
    }
    return {
        level: {name: columns[name][place] for name in EFFECTS}
        for place, level in enumerate(names[1:])
    }


def _residual_weights(
    rows: Rows, nuisances: Nuisances, weights: Sequence[float], level: int
) -> Floats:
    """Return b̂_l·w_z/b̂_z, the weight of a row's residual in the mean of one level."""
    own = np.arange(len(rows)), rows.groups.codes.astype(np.intp)
    ratio = np.asarray(weights)[own[1]] / nuisances.propensities[own]
    return np.asarray(nuisances.propensities[:, level] * ratio)


def _effective(rows: Rows, nuisances: Nuisances, weights: Sequence[float], level: int) -> float:
    used = rows.mean_one_weights * _residual_weights(rows, nuisances, weights, level)
    return float(used.sum() ** 2 / (used**2).sum())


def _overlaps(rows: Rows, nuisances: Nuisances) -> dict[str, Overlap]:
    """Return how far each level overlaps with the reference, as if both had as many rows.

    The propensity of a small level is small everywhere, which says nothing of overlap.
    """
    found = {}
    for level in range(1, rows.groups.n_levels):
        taken, inside, _ = rows_of_pair(rows, nuisances, level)
        counts, b = taken.groups.counts(taken.weights), inside.propensity
        odds = b / (1 - b) * counts[0] / counts[1]
        weights = taken.mean_one_weights / counts[taken.groups.codes]
        found[rows.groups.names[level]] = overlap(
            odds / (1 + odds), sensitive_features=taken.groups, sample_weight=weights
        )
    return found


def _warn_of_worst(found: LevelEffects, max_extreme_share: float) -> None:
    """Warn where a level and the reference can hardly be compared."""
    name, worst = found.worst_overlap
    warn_of_extremes(
        worst.share_outside,
        (worst.low, worst.high),
        max_extreme_share,
        f"effects of level {name!r} against {found.levels[0]!r} are extrapolated there by the "
        "outcome models. Merge it with another level, or leave it out with only=[…]",
        stacklevel=5,
    )
