"""A model measured: its metrics and calibration, with replicates of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._typing import Floats
from ..effects.estimate import Progress, bootstrap
from ..rows import Rows
from .calibration import Calibration
from .inputs import Settings
from .measures import Measurement, Values, estimates
from .tables import MetricTable
from .tally import Bins, Sample


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
    p: Floats, rows: Rows, settings: Settings, progress: Progress | None = None
) -> Measured:
    """Measure scores on all rows, and again on each resample within the groups."""
    sample = Sample.of(rows.y, p, rows.z, rows.weights)
    bins = Bins.of(p, settings.calibration_bins, settings.calibration_strategy)
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
