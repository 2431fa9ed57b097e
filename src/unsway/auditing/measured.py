"""A model measured: its metrics and calibration, with replicates of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._typing import Floats
from ..checks import check_choice, check_integer
from ..effects.estimate import Progress, bootstrap, check_confidence, check_replicates
from ..rows import Rows
from .calibration import Calibration
from .inputs import check_thresholds
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
        check_choice(strategy, "calibration_strategy", STRATEGIES)
        check_confidence(more["confidence"])
        if check_integer(more["n_bootstrap"], "n_bootstrap", at_least=0):
            check_replicates(more["n_bootstrap"])
        check_integer(more["random_state"], "random_state", at_least=0)
        check_integer(n_bins, "calibration_bins", at_least=1)
        return cls(check_thresholds(threshold), n_bins, strategy, **more)


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
    p: Floats, rows: Rows, settings: MetricSettings, progress: Progress | None = None
) -> Measured:
    """Measure scores on all rows, and again on each resample within the groups."""
    sample = Sample.of(rows.y, p, rows.z, rows.weights)
    bins = Bins.of(p, settings.n_bins, settings.strategy)
    measurement = Measurement(sample, settings.thresholds, bins)
    values, replicates = measurement.values(), None
    if settings.n_bootstrap:
        replicates = bootstrap(
            measurement,
            rows.z,
            settings.n_bootstrap,
            seed=settings.random_state,
            n_jobs=settings.n_jobs,
            progress=progress,
        )
    shares = None if replicates is None else replicates[:, len(values) :]
    level = settings.confidence
    return Measured(
        values,
        MetricTable(estimates(values, replicates, level), rows.groups.names),
        Calibration.of(sample.tally(), bins, rows.groups.names, shares, level),
        replicates,
    )
