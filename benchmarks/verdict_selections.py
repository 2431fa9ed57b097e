"""Draws of verdict.py on decisions: people selected otherwise than by a fair ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsway.auditing.inputs import Settings
from unsway.auditing.selections import COUNTS, selections
from unsway.effects.result import Effects
from unsway.rows import Rows

Floats = NDArray[np.float64]

#: The scores whose decisions are counted, and the share that each selects.
SCORES, RATES = ("blind", "fair"), (0.1, 0.4)

#: What is counted: "blind, rate 0.1, z=0, net".
COUNTED = tuple(
    f"{score}, rate {rate:g}, {group}, {count}"
    for score in SCORES
    for rate in RATES
    for group in ("z=0", "z=1")
    for count in COUNTS
)
PARTS = ("estimate", "low", "high")

#: Resamples of the rows behind an interval.
N_BOOTSTRAP = 200

_SETTINGS = Settings(
    thresholds=(),
    calibration_bins=10,
    calibration_strategy="uniform",
    n_bootstrap=N_BOOTSTRAP,
    confidence=0.95,
    max_rows_for_effects=None,
    random_state=0,
    n_jobs=None,
    selection_rates=RATES,
    effects={},
)


def true_counts(scores: Mapping[str, Floats], z: Floats) -> Floats:
    """Return what is counted, among so many rows that it is the truth."""
    found: list[float] = []
    for name in SCORES:
        for rate in RATES:
            ours, fair = (p >= np.quantile(p, 1 - rate) for p in (scores[name], scores["fair"]))
            for level in (0, 1):
                a, b = ours[z == level], fair[z == level]
                gained, lost = np.mean(a & ~b), np.mean(b & ~a)
                found += [a.mean(), b.mean(), gained, lost, gained - lost]
    return 1000 * np.array(found)


def counts_of(
    effects: Effects, table: Floats, y: Any, z: Any, scores: Mapping[str, Floats]
) -> Iterator[float]:
    """Yield what is counted with its interval, by the estimated fair score."""
    rows = Rows.check(table, y, sensitive_features=z)
    fair = effects.nuisances.outcome.mean(axis=1)
    for name in SCORES:
        found = selections(scores[name], fair, rows, _SETTINGS)
        for each in found.estimates.values():
            yield from (each.estimate, each.low, each.high)
