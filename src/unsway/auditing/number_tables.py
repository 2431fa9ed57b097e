"""Tables of predictions of numbers: by tenths, the Lorenz curve, and two models' double lift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..checks import check_integer
from ..effects.estimate import Progress, bootstrap, check_confidence, check_replicates
from ..frames import Tabular
from ..rows import Rows
from .group_metrics import share
from .inputs import Settings
from .metrics import PLACES, estimates, percentiles
from .number_metrics import ordered_sums, read_predictions, target_scale
from .number_tally import NumberSample, measure_numbers, resampled_numbers, summed, weighted_bins
from .numbers import Units, units_of
from .tables import MetricTable, Table, short

_CURVE_POINTS = 101


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DecileTable(Tabular):
    """Means of the target and of the predictions in bins of the predictions of equal weight.

    Arrays are [overall, z=0, z=1] by bin, from the lowest predictions to the highest; the bins are
    those of all rows.

    Parameters
    ----------
    weight : array of shape (3, B)
        Exposure of each bin, or its number of rows.
    mean_score, mean_outcome : array of shape (3, B)
        NaN in a bin without rows.
    low, high : array of shape (3, B)
        Interval of the mean of the target; NaN without a bootstrap.
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    """

    weight: Floats
    mean_score: Floats
    mean_outcome: Floats
    low: Floats
    high: Floats
    levels: tuple[str, ...]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """One row per group and bin that has rows, with actual over expected and its interval."""
        return Table.of(
            {
                "group": PLACES[place],
                "level": ("", *self.levels)[place],
                "bin": int(k) + 1,
                "weight": float(self.weight[place, k]),
                "mean_score": float(self.mean_score[place, k]),
                "mean_outcome": float(self.mean_outcome[place, k]),
                "low": float(self.low[place, k]),
                "high": float(self.high[place, k]),
                "actual_over_expected": _over(self.mean_outcome, self.mean_score, place, k),
            }
            for place, k in np.argwhere(self.weight > 0)
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw target and predictions by bin in both groups; return the Axes."""
        from .plots import plot_deciles

        return plot_deciles(self, ax)

    def __repr__(self) -> str:
        return f"DecileTable({self.weight.shape[1]} bins, overall and by group)"


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredNumbers:
    """The metrics of one model's predictions.

    `replicates` has a line per resample. The resamples of one seed and one z are the same for any
    predictions, so lines of two models are pairs.
    """

    scores: Floats = field(repr=False)
    metrics: MetricTable
    deciles: DecileTable
    lorenz: Table
    replicates: Floats = field(repr=False)


def target_units(rows: Rows, target: str = "y") -> Units:
    """Return the units of effects on the numbers of these rows."""
    per = rows.outcome.per
    name = short(f"{target} per {per}" if per else target, 60)
    return units_of(rows.outcome.loss.name, name, target_scale(rows))


def measure_numbers_of(
    p: Floats, rows: Rows, settings: Settings, progress: Progress | None = None
) -> MeasuredNumbers:
    """Measure predictions on all rows, and again on each resample within the groups.

    Resamples are of clusters where rows belong to some.
    """
    y, weights, levels = rows.y, rows.weights, rows.groups.names
    sample = NumberSample.of(
        y, p, rows.groups.codes, loss=rows.outcome.loss, weights=weights,
        n_bins=settings.calibration_bins,
    )  # fmt: skip
    tally = sample.tally()
    values, n_means = measure_numbers(tally), len(PLACES) * sample.n_bins
    replicates = np.empty((0, len(values) + n_means))
    if settings.n_bootstrap:
        replicates = bootstrap(
            partial(resampled_numbers, sample),
            rows.z,
            settings.n_bootstrap,
            seed=settings.random_state,
            n_jobs=settings.n_jobs,
            progress=progress,
            clusters=rows.clusters,
        )
    means, level = replicates[:, len(values) :], settings.confidence
    ends = [percentiles(column, level) for column in means.T]
    weight, actual, expected = np.moveaxis(tally.binned, 1, 0)
    low, high = np.reshape(np.transpose(ends), (2, *weight.shape))
    return MeasuredNumbers(
        scores=p,
        metrics=MetricTable(
            entries=estimates(values, replicates, level, signed=True), levels=levels
        ),
        deciles=DecileTable(
            weight=weight,
            mean_score=share(expected, weight),
            mean_outcome=share(actual, weight),
            low=low,
            high=high,
            levels=levels,
        ),
        lorenz=lorenz_curve(y, p, sample_weight=weights) if sample.lorenz else Table({}),
        replicates=replicates,
    )


def lorenz_curve(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, n_points: int = _CURVE_POINTS
) -> Table:
    """Return points of the Lorenz curve of numbers ordered by their predictions.

    Parameters
    ----------
    y_true, y_pred : columns of numbers
        Numbers of at least 0, and predictions.
    sample_weight : column, optional
        Weights of the rows, or their exposure.
    n_points : int, default=101
        Shares of the weight at which it is given; the curve is straight between predictions.

    Returns
    -------
    Table
        Columns ``share_of_weight`` and ``share_of_total``.

    Examples
    --------
    >>> found = lorenz_curve([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], n_points=5)
    >>> found.columns["share_of_total"]
    [0.0, 0.0, 0.0, 0.5, 1.0]
    """
    y, p, weights = read_predictions(y_true, y_pred, sample_weight)
    weight, total = (
        np.concatenate([[0.0], np.cumsum(part) / part.sum()])
        for part in ordered_sums(y, p, weights)
    )
    at = np.linspace(0, 1, n_points)
    return Table(
        {"share_of_weight": at.tolist(), "share_of_total": np.interp(at, weight, total).tolist()}
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DoubleLift(Tabular):
    """Two models where they differ most; made by `double_lift`.

    Parameters
    ----------
    names : tuple of str
        The first and the second model.
    weight : array of shape (B,)
        Weight of each bin of rows, from those that the first model prices highest against the
        second to those that the second does.
    ratio : array of shape (B,)
        The second model's total over the first's.
    first, second, mean_outcome : array of shape (B,)
        Mean predictions, and the mean of the target.
    low, high : array of shape (B,)
        Interval of the mean of the target; NaN without a bootstrap.
    """

    names: tuple[str, str]
    weight: Floats
    ratio: Floats
    first: Floats
    second: Floats
    mean_outcome: Floats
    low: Floats
    high: Floats

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        one, two = self.names
        return {
            "bin": list(range(1, len(self.weight) + 1)),
            "weight": self.weight.tolist(),
            "ratio": self.ratio.tolist(),
            "mean_outcome": self.mean_outcome.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            one: self.first.tolist(),
            two: self.second.tolist(),
        }

    @property
    def table(self) -> Table:
        """One row per bin."""
        return Table(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON; the models are "first" and "second"."""
        names = ("weight", "ratio", "first", "second", "mean_outcome", "low", "high")
        columns = {name: getattr(self, name).tolist() for name in names}
        return {"names": list(self.names), "bins": Table(columns).to_records()}

    def plot(self, ax: Any = None) -> Any:
        """Draw both models and the target by bin; return the Axes."""
        from .plots import plot_double_lift

        return plot_double_lift(self, ax)

    def __repr__(self) -> str:
        return f"DoubleLift({len(self.weight)} bins, {self.names[1]} over {self.names[0]})"


def double_lift(
    y_true: Any,
    y_pred: Mapping[str, Any],
    *,
    sample_weight: Any = None,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    random_state: int = 0,
) -> DoubleLift:
    """Return what happened where two models differ most.

    Rows are ordered by the second prediction over the first, and cut into bins of equal weight. In
    the outer bins the model that is right lies nearer to the mean of the target.

    Parameters
    ----------
    y_true : column of numbers
        Numbers; per unit of exposure where there is one.
    y_pred : mapping of str to column
        Two models' predictions above 0, by name.
    sample_weight : column, optional
        Weights of the rows, or their exposure.
    n_bins : int, default=10
        Bins of about equal weight; rows of the same ratio are in one.
    n_bootstrap : int, default=200
        Resamples of the rows for the interval of the target's mean; 0 for none.
    confidence : float, default=0.95
        Share of intervals that should hold the truth.
    random_state : int, default=0
        Seed.

    Returns
    -------
    DoubleLift

    Examples
    --------
    >>> models = {"old": [1.0, 1.0, 1.0, 1.0], "new": [0.5, 0.5, 2.0, 2.0]}
    >>> found = double_lift([0, 1, 2, 2], models, n_bins=2, n_bootstrap=0)
    >>> found.ratio.tolist(), found.mean_outcome.tolist()
    ([0.5, 2.0], [0.5, 2.0])
    """
    if not isinstance(y_pred, Mapping) or len(y_pred) != 2:
        raise ValueError("y_pred must map two models' names to their predictions")
    check_integer(n_bins, "n_bins", at_least=1)
    check_confidence(confidence)
    if check_integer(n_bootstrap, "n_bootstrap", at_least=0):
        check_replicates(n_bootstrap)
    one, two = y_pred.values()
    y, first, weights = read_predictions(y_true, one, sample_weight)
    _, second, _ = read_predictions(y_true, two, sample_weight)
    for name, column in zip(y_pred, (first, second), strict=True):
        if not (column > 0).all():
            raise ValueError(f"predictions of {str(name)!r} must be above 0: their ratio is needed")
    bins = weighted_bins(second / first, weights, n_bins)
    means = partial(_bin_means, bins, weights, y, n_bins)
    ends = np.full((2, n_bins), np.nan)
    if n_bootstrap:
        drawn = bootstrap(means, np.zeros(len(y)), n_bootstrap, seed=random_state)
        ends = np.transpose([percentiles(column, confidence) for column in drawn.T])
    columns = (weights, weights * first, weights * second)
    weight, sums, others = (summed(bins, each, n_bins) for each in columns)
    names = tuple(map(str, y_pred))
    return DoubleLift(
        names=(names[0], names[1]),
        weight=weight,
        ratio=share(others, sums),
        first=share(sums, weight),
        second=share(others, weight),
        mean_outcome=means(np.arange(len(y))),
        low=ends[0],
        high=ends[1],
    )


def _bin_means(
    bins: NDArray[np.intp], weights: Floats, y: Floats, n_bins: int, rows: NDArray[np.intp]
) -> Floats:
    """Return the mean of y by bin of some rows."""
    drawn = weights[rows]
    sums = summed(bins[rows], drawn * y[rows], n_bins)
    return share(sums, summed(bins[rows], drawn, n_bins))


def _over(actual: Floats, expected: Floats, place: int, k: int) -> float:
    below = float(expected[place, k])
    return float(actual[place, k]) / below if below > 0 else float("nan")
