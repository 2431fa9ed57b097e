"""A model measured: its metrics and calibration, with replicates of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..effects.intervals import Progress, bootstrap, check_confidence, check_replicates
from ..roles import Floats
from .calibration import Calibration
from .inputs import Inputs, check_size, check_thresholds
from .measures import Measurement, Values, estimates
from .tables import MetricTable
from .tally import Bins, Sample

STRATEGIES = ("uniform", "quantile")


@dataclass(frozen=True)
class MetricSettings:
    """How metrics are measured; see `audit` for what each says."""

    thresholds: tuple[float, ...]
    n_bins: int
    strategy: str
    n_bootstrap: int
    confidence: float
    random_state: int
    n_jobs: int | None = None

    @classmethod
    def of(cls, threshold: Any, n_bins: int, strategy: str, **more: Any) -> MetricSettings:
        """Check the settings."""
        if strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise ValueError(f"unknown calibration_strategy {strategy!r}; choose from {known}")
        check_confidence(more["confidence"])
        if check_size("n_bootstrap", more["n_bootstrap"], 0):
            check_replicates(more["n_bootstrap"])
        check_size("random_state", more["random_state"], 0)
        thresholds = check_thresholds(threshold)
        return cls(thresholds, check_size("calibration_bins", n_bins, 1), strategy, **more)


@dataclass(frozen=True, eq=False)
class Measured:
    """The metrics of one model's scores.

    `replicates` has a line per resample, or is None; the resamples of one seed and one z are the
    same whatever the scores, so lines of two models are pairs.
    """

    values: Values
    metrics: MetricTable
    calibration: Calibration
    replicates: Floats | None = field(repr=False)


def measure_model(
    p: Floats, given: Inputs, settings: MetricSettings, progress: Progress | None = None
) -> Measured:
    """Measure scores on all rows, and again on each resample within the groups."""
    sample = Sample.of(given.y, p, given.z, given.weights)
    bins = Bins.of(p, settings.n_bins, settings.strategy)
    measurement = Measurement(sample, settings.thresholds, bins)
    values, replicates = measurement.values(), None
    if settings.n_bootstrap:
        replicates = bootstrap(
            measurement,
            given.z,
            settings.n_bootstrap,
            seed=settings.random_state,
            n_jobs=settings.n_jobs,
            progress=progress,
        )
    shares = None if replicates is None else replicates[:, len(values) :]
    level = settings.confidence
    return Measured(
        values,
        MetricTable(estimates(values, replicates, level), given.levels),
        Calibration.of(sample.tally(), bins, given.levels, shares, level),
        replicates,
    )
