"""ROC and calibration curves of each group, with bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Floats
from ..checks import check_integer
from ..effects.estimate import check_confidence, check_replicates
from ..frames import Tabular, plain
from .scored import Scored
from .tables import Table

#: The false positive rates at which a curve is given.
GRID = tuple(k / 100 for k in range(101))
#: Standard errors below this share of the largest do not widen a simultaneous band.
_FLOOR = 0.1


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupCurves(Tabular):
    """The curves of all groups; its table has a row per group and point.

    Parameters
    ----------
    kind : {"roc", "calibration"}
        What x and y are: false and true positive rate; mean score and share of positive labels.
    levels : tuple of str
        The groups, "overall" first.
    curves : mapping of str to mapping of str to array
        Of each group x and y, the ends of pointwise intervals (``low``, ``high``) and of a band
        that holds the whole curve (``band_low``, ``band_high``), and the rows of each point.
    missing : tuple of str
        Groups without a curve: a class of the labels is absent.
    confidence : float
    """

    kind: str
    levels: tuple[str, ...]
    curves: Mapping[str, Mapping[str, Floats]] = field(repr=False)
    missing: tuple[str, ...]
    confidence: float

    @property
    def table(self) -> Table:
        """One row per group and point."""
        return Table.of(
            {"group": level, **{name: float(column[k]) for name, column in curve.items()}}
            for level, curve in self.curves.items()
            for k in range(len(curve["x"]))
        )

    def _columns(self) -> Mapping[str, Any]:
        return self.table.columns

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "kind": self.kind,
            "levels": self.levels,
            "curves": self.curves,
            "missing": self.missing,
            "confidence": self.confidence,
        }
        return dict(plain(found))

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves of the groups with their bands; return the Axes."""
        from .plots import plot_group_curves

        return plot_group_curves(self, ax)

    def __repr__(self) -> str:
        more = f"; without a curve: {', '.join(self.missing)}" if self.missing else ""
        return f"{self.kind} curves of {', '.join(self.curves)}{more}"


def roc_by_group(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    random_state: int = 0,
) -> GroupCurves:
    """Return the ROC curve of each group, with pointwise intervals and a simultaneous band.

    Parameters
    ----------
    y_true : column of length n
        Labels of two classes.
    y_pred : column of length n
        Scores, any numbers.
    sensitive_features : column of length n
        The level of each row, any number of levels.
    sample_weight : column of length n, default=None
        Weights of the rows.
    n_bootstrap : int, default=200
        Resamples of each class within each group.
    confidence : float, default=0.95
        Of the interval at each point, and of the band as a whole.
    random_state : int, default=0
        Seed of the resamples.

    Returns
    -------
    GroupCurves

    Examples
    --------
    >>> y, p, z = [0, 1, 0, 1], [0.2, 0.7, 0.6, 0.4], ["a", "a", "b", "b"]
    >>> found = roc_by_group(y, p, sensitive_features=z, n_bootstrap=20)
    >>> float(found.curves["a"]["y"][50]), float(found.curves["b"]["y"][50])
    (1.0, 0.0)
    """
    check_confidence(confidence)
    check_replicates(n_bootstrap)
    check_integer(random_state, "random_state", at_least=0)
    people = _labelled(y_true, y_pred, sensitive_features, sample_weight)
    curves, missing = {}, []
    for number, (name, inside) in enumerate(_groups(people)):
        parts = [_class(people, inside, label) for label in (0.0, 1.0)]
        if not all(len(scores) for scores, _ in parts):
            missing.append(name)
            continue
        rng = np.random.default_rng([random_state, number, 0x20C])
        draws = np.array(
            [_roc(*(_resample(part, rng) for part in parts)) for _ in range(n_bootstrap)]
        )
        curves[name] = _banded(np.array(GRID), _roc(*parts), draws, confidence)
    return GroupCurves(
        kind="roc",
        levels=("overall", *people.levels.names),
        curves=curves,
        missing=tuple(missing),
        confidence=float(confidence),
    )


def calibration_by_group(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    n_bins: int = 10,
    confidence: float = 0.95,
) -> GroupCurves:
    """Return mean score and share of positive labels of each group, in bins with as many rows each.

    The bins are quantiles of the group's own scores. The intervals are Wilson's, and the band is
    made of intervals at a confidence of 1 − (1 − confidence) / bins (Bonferroni).

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, confidence
        As in `roc_by_group`; scores are probabilities.
    n_bins : int, default=10
        Bins of each group; equal scores share a bin, so there may be fewer.

    Returns
    -------
    GroupCurves

    Examples
    --------
    >>> y, p, z = [0, 1, 0, 1], [0.2, 0.7, 0.6, 0.4], ["a", "a", "b", "b"]
    >>> found = calibration_by_group(y, p, sensitive_features=z, n_bins=2)
    >>> found.curves["a"]["x"].tolist(), found.curves["a"]["y"].tolist()
    ([0.2, 0.7], [0.0, 1.0])
    """
    check_confidence(confidence)
    check_integer(n_bins, "n_bins", at_least=1)
    people = _labelled(y_true, y_pred, sensitive_features, sample_weight)
    curves = {
        name: _calibration(people, np.flatnonzero(inside), n_bins, confidence)
        for name, inside in _groups(people)
    }
    return GroupCurves(
        kind="calibration",
        levels=("overall", *people.levels.names),
        curves=curves,
        missing=(),
        confidence=float(confidence),
    )


def _labelled(y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any) -> Scored:
    if y_true is None:
        raise TypeError("y_true is None; the curves need labels")
    return Scored.check(
        y_true, y_pred, sensitive_features, sample_weight=sample_weight, must_state=False
    )


def _groups(people: Scored) -> list[tuple[str, Floats]]:
    """Return everyone and each level, by the weights of its rows."""
    levels = enumerate(people.levels.names)
    return [("overall", people.w), *((name, people.inside(level)) for level, name in levels)]


def _class(people: Scored, inside: Floats, label: float) -> tuple[Floats, Floats]:
    """Return the scores of a class in a group, in increasing order, and their weights."""
    assert people.y is not None  # noqa: S101
    rows = np.flatnonzero((inside > 0) & (people.y == label))
    rows = rows[np.argsort(people.scores[rows], kind="stable")]
    return people.scores[rows], inside[rows]


def _resample(part: tuple[Floats, Floats], rng: np.random.Generator) -> tuple[Floats, Floats]:
    scores, weights = part
    counts = np.bincount(rng.integers(len(scores), size=len(scores)), minlength=len(scores))
    return scores, weights * counts


def _roc(negative: tuple[Floats, Floats], positive: tuple[Floats, Floats]) -> Floats:
    """Return the true positive rate at each false positive rate of the grid.

    Between the cuts the curve is straight, as scikit-learn's `roc_curve` is drawn.
    """
    cuts = np.unique(np.concatenate([negative[0], positive[0]]))
    rates = []
    for scores, weights in (negative, positive):
        mass = np.concatenate([[0.0], np.cumsum(weights)])
        below = mass[np.searchsorted(scores, cuts, side="left")]
        rates.append(np.concatenate([[0.0], ((mass[-1] - below) / mass[-1])[::-1]]))
    false, true = rates
    return np.asarray(np.interp(GRID, false, true))  # of equal ones the last, which is the highest


def _banded(x: Floats, y: Floats, draws: Floats, confidence: float) -> dict[str, Floats]:
    """Return a curve with pointwise intervals and a band, from resampled curves."""
    low, high = np.quantile(draws, ((1 - confidence) / 2, (1 + confidence) / 2), axis=0)
    se = draws.std(axis=0, ddof=1)
    scale = np.maximum(se, _FLOOR * se.max()) if se.max() > 0 else np.ones_like(se)
    factor = float(
        np.quantile(np.abs((draws - draws.mean(axis=0)) / scale).max(axis=1), confidence)
    )
    return {
        "x": x,
        "y": y,
        "low": np.minimum(low, y),
        "high": np.maximum(high, y),
        "band_low": np.clip(y - factor * scale, 0, 1),
        "band_high": np.clip(y + factor * scale, 0, 1),
    }


def _calibration(people: Scored, rows: Any, n_bins: int, confidence: float) -> dict[str, Floats]:
    """Return the calibration of some rows."""
    assert people.y is not None  # noqa: S101
    p, y, w = people.scores[rows], people.y[rows], people.w[rows]
    edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, p, side="left")
    kept = np.unique(bins)
    place = np.searchsorted(kept, bins)
    mass, squares = np.bincount(place, w), np.bincount(place, w**2)
    x, shares = np.bincount(place, w * p) / mass, np.bincount(place, w * y) / mass
    effective = mass**2 / squares  # rows of equal weight with the same error
    found = {"x": x, "y": shares}
    bands = {"": confidence, "band_": 1 - (1 - confidence) / len(kept)}
    for name, level in bands.items():
        z = stats.norm.ppf(0.5 + level / 2)
        middle = (shares + z**2 / (2 * effective)) / (1 + z**2 / effective)
        half = np.sqrt(shares * (1 - shares) / effective + z**2 / (4 * effective**2))
        half = z * half / (1 + z**2 / effective)
        found |= {f"{name}low": middle - half, f"{name}high": middle + half}
    return {**found, "rows": np.bincount(place).astype(np.float64)}
