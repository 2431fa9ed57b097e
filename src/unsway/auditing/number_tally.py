"""The numbers of an audit of predictions of numbers, overall and by group, from weighted sums.

Every metric follows from sums over rows, so that a resample of the rows is one more pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Codes, Floats
from ..core import Loss
from .group_metrics import share, with_overall
from .metrics import BETWEEN, PLACES, Key, Values
from .number_metrics import gini_of_sums, least_losses, row_deviances

#: What each metric says, in a few words.
NUMBER_MEANINGS = {
    "exposure": "weight of the rows: their exposure where there is one",
    "mean_outcome": "mean of the target",
    "mean_score": "mean prediction",
    "actual_over_expected": "total of the target over the total of the predictions",
    "deviance": "mean deviance of the loss",
    "deviance_explained": "share of the deviance that predictions explain, D²",
    "rmse": "root of the mean squared error",
    "mae": "mean absolute error",
    "gini": "Gini coefficient of the target ordered by prediction",
    "calibration_error": "mean distance of target and prediction within tenths of the predictions",
    "outcome_gap": "mean of the target, z=1 minus z=0",
    "outcome_ratio": "mean of the target, z=1 over z=0",
    "score_gap": "mean prediction, z=1 minus z=0",
    "score_ratio": "mean prediction, z=1 over z=0",
    "actual_over_expected_difference": "actual over expected, z=1 minus z=0",
    "actual_over_expected_ratio": "actual over expected, z=1 over z=0",
    "deviance_explained_difference": "share of the deviance explained, z=1 minus z=0",
    "gini_difference": "Gini coefficient, z=1 minus z=0",
    "calibration_error_difference": "calibration error, z=1 minus z=0",
}
#: Metrics whose difference between the groups is one too.
_DIFFERENCES = ("actual_over_expected", "deviance_explained", "gini", "calibration_error")
#: The sums over rows, in their order.
_SUMS = ("exposure", "y", "p", "deviance", "least", "square", "absolute")


def summed(bins: NDArray[np.intp], values: Floats, n_bins: int) -> Floats:
    """Return the sum of the values in each bin."""
    return np.bincount(bins, values, n_bins).astype(np.float64, copy=False)


def weighted_bins(values: Floats, weights: Floats, n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each row, of about equal weight, from the lowest values to the highest.

    Rows of the same value are in the same bin.

    Examples
    --------
    >>> weighted_bins(np.array([0.4, 0.1, 0.2, 0.2, 0.3]), np.ones(5), 2).tolist()
    [1, 0, 0, 0, 1]
    """
    _, place = np.unique(values, return_inverse=True)
    place = place.ravel()
    weight = np.bincount(place, weights)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.minimum((n_bins * middle).astype(np.intp), n_bins - 1)[place]


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """The rows of one group, as sums need them."""

    rows: NDArray[np.intp] = field(repr=False)
    terms: Floats = field(repr=False)
    place: NDArray[np.intp] = field(repr=False)
    bins: NDArray[np.intp] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberSample:
    """Rows ready to be summed, all of them or a resample.

    Parameters
    ----------
    loss : Loss
        What y is.
    weights : array of shape (n,)
        Of the rows, with their exposure.
    groups : tuple of Group
        Rows by level of z.
    n_places, n_bins : int
        Distinct predictions, and bins of predictions.
    lorenz : bool
        Whether y has no negative number, so that it has a Lorenz curve.
    """

    loss: Loss
    weights: Floats = field(repr=False)
    groups: tuple[Group, ...] = field(repr=False)
    n_places: int
    n_bins: int
    lorenz: bool

    @classmethod
    def of(
        cls,
        y: Floats,
        p: Floats,
        codes: Codes,
        *,
        loss: Loss,
        weights: Floats | None = None,
        n_bins: int = 10,
    ) -> NumberSample:
        """Index the rows once."""
        weights = np.ones(len(y)) if weights is None else weights
        bins = weighted_bins(p, weights, n_bins)
        _, place = np.unique(p, return_inverse=True)
        place = place.ravel()
        columns = [np.ones_like(y), y, p, row_deviances(loss, y, p), least_losses(loss, y)]
        terms = np.column_stack([*columns, (y - p) ** 2, np.abs(y - p)])
        chosen = [np.flatnonzero(codes == level) for level in range(len(PLACES) - 1)]
        return cls(
            loss=loss,
            weights=weights,
            groups=tuple(
                Group(rows=rows, terms=terms[rows], place=place[rows], bins=bins[rows])
                for rows in chosen
            ),
            n_places=int(place.max()) + 1,
            n_bins=n_bins,
            lorenz=bool((y >= 0).all()),
        )

    def tally(self, rows: Any = None) -> NumberTally:
        """Return the sums over these rows, repeated ones included; over all by default."""
        weights = self.weights
        if rows is not None:
            weights = weights * np.bincount(rows, minlength=len(weights))
        return NumberTally(sample=self, weights=weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberTally:
    """Sums over rows with some weights, by place: overall, z=0, z=1."""

    sample: NumberSample = field(repr=False)
    weights: Floats = field(repr=False)

    def _each(self, make: Callable[[Group, Floats], Floats]) -> Floats:
        parts = [make(group, self.weights[group.rows]) for group in self.sample.groups]
        return with_overall(np.stack(parts))

    @cached_property
    def sums(self) -> dict[str, Floats]:
        """The sums of `_SUMS` by name, each by place."""
        found = self._each(lambda group, weights: weights @ group.terms)
        return dict(zip(_SUMS, found.T, strict=True))

    @cached_property
    def binned(self) -> Floats:
        """Weight, total of y and total of the predictions by [place, which, bin]."""
        n_bins = self.sample.n_bins

        def sums(group: Group, weights: Floats) -> Floats:
            columns = (weights, weights * group.terms[:, 1], weights * group.terms[:, 2])
            return np.stack([summed(group.bins, each, n_bins) for each in columns])

        return self._each(sums)

    @cached_property
    def ordered(self) -> Floats:
        """Weight and total of y by [place, which, distinct prediction in order]."""
        count = self.sample.n_places

        def sums(group: Group, weights: Floats) -> Floats:
            columns = (weights, weights * group.terms[:, 1])
            return np.stack([summed(group.place, each, count) for each in columns])

        return self._each(sums)

    def null_deviance(self) -> Floats:
        """Return the mean deviance of each place's own mean."""
        loss, sums = self.sample.loss, self.sums
        mean, least = (share(sums[name], sums["exposure"]) for name in ("y", "least"))
        with np.errstate(divide="ignore", invalid="ignore"):  # no mean, or one of 0
            return np.asarray(2 * (loss.rows(loss.margin_of(mean), mean) - least))


def measure_numbers(tally: NumberTally) -> Values:
    """Return every metric of a tally; NaN where a group has no row that it needs."""
    columns = _by_place(tally)
    found = {
        Key(name, place): float(value)
        for name, values in columns.items()
        for place, value in zip(PLACES, values, strict=True)
    }
    between = _between(columns, ratios=tally.sample.loss.link == "log")
    return found | {Key(name, BETWEEN): float(value) for name, value in between.items()}


def _between(columns: dict[str, Floats], *, ratios: bool) -> dict[str, float]:
    """Return what compares the groups, z=1 with z=0."""
    pairs = {name: (float(values[2]), float(values[1])) for name, values in columns.items()}
    known = {"outcome_gap": "mean_outcome", "score_gap": "mean_score"}
    known |= {f"{name}_difference": name for name in _DIFFERENCES if name in columns}
    found = {name: pairs[of][0] - pairs[of][1] for name, of in known.items()}
    if not ratios:
        return found
    for name in ("outcome", "score", "actual_over_expected"):
        of = name if name in columns else f"mean_{name}"
        found[f"{name}_ratio"] = _ratio(*pairs[of])
    return found


def _by_place(tally: NumberTally) -> dict[str, Floats]:
    sums, sample = tally.sums, tally.sample
    weight = sums["exposure"]
    null = tally.null_deviance()
    deviance = share(sums["deviance"], weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(null > 0, 1 - deviance / null, np.nan)
    mass, actual, expected = np.moveaxis(tally.binned, 1, 0)
    columns = {
        "exposure": weight,
        "mean_outcome": share(sums["y"], weight),
        "mean_score": share(sums["p"], weight),
        "actual_over_expected": share(sums["y"], sums["p"]),
        "deviance": deviance,
        "deviance_explained": explained,
        "rmse": np.sqrt(share(sums["square"], weight)),
    }
    if sample.loss.link == "identity":
        columns["mae"] = share(sums["absolute"], weight)
    if sample.lorenz:
        columns["gini"] = np.array([gini_of_sums(*each) for each in tally.ordered])
    error = share(np.abs(actual - expected).sum(axis=1), mass.sum(axis=1))
    return {**columns, "calibration_error": error}


def _ratio(one: float, zero: float) -> float:
    return float(one / zero) if zero > 0 else float("nan")


def resampled_numbers(sample: NumberSample, rows: NDArray[np.intp]) -> Floats:
    """Return the metrics of resampled rows, then the mean of y by [place, bin]."""
    tally = sample.tally(rows)
    mass, actual, _ = np.moveaxis(tally.binned, 1, 0)
    values = list(measure_numbers(tally).values())
    return np.concatenate([values, share(actual, mass).ravel()])
