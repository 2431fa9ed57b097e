"""The direct effect as a curve over the propensity score: MFCDE(b), with a simultaneous band."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, stats

from .._typing import Floats, Index
from ..checks import check_choice, check_integer
from ..frames import Tabular
from ..grouping import Grouping
from ..rows import Rows
from ..svg import Series, curves
from .estimate import check_confidence, simultaneous_factor
from .estimation_input import check_nuisances, check_rows
from .influence import augmented_effect
from .influence import covariance as covariance_of
from .nuisance import CrossFit, Nuisances
from .plots import plot_curve
from .surrogate import (
    MAX_CONDITION,
    IllPosedSurrogateError,
    ScoreBasis,
    SurrogateDesign,
    condition_number,
)

CURVES = ("doubly_robust", "spline", "polynomial", "bins")

#: A curve linear in its coefficients: functions of b, coefficients, each row's influence on them.
_Fit = tuple[Callable[[Floats], Floats], Floats, Floats]

#: Fewest rows of each group that a bin needs to show a difference.
MIN_BIN_ROWS = 5

#: Rows of each group beyond either end of a curve: so many, or a tenth of them if that is less.
END_ROWS = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class EffectCurve(Tabular):
    """MFCDE(b) = E[y|1,b] − E[y|0,b] on a grid of propensities, "z=1 minus z=0".

    As a frame it has one row per point of the grid.

    Parameters
    ----------
    b, estimate, se : arrays
        The grid, the effect there, its standard error; NaN in a bin that lacks a group.
    low, high : arrays
        Interval at each point by itself.
    band_low, band_high : arrays
        Band that holds the whole curve at once.
    method : str
    confidence : float
    factor : float
        How many standard errors the band is wide on either side.
    """

    b: Floats
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    band_low: Floats
    band_high: Floats
    method: str
    confidence: float
    factor: float

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names = ("b", "estimate", "se", "low", "high", "band_low", "band_high")
        return {name: getattr(self, name).tolist() for name in names}

    def _charts(self) -> str:
        parts = {"x": self.b, "y": self.estimate, "low": self.band_low, "high": self.band_high}
        numbers = {name: values.tolist() for name, values in parts.items()}
        series = Series(name="direct effect", kind="s1", band=True, **numbers)
        title = "Direct effect by propensity"
        return curves([series], title=title, x_title="propensity", y_title="effect")

    plot = plot_curve

    def __repr__(self) -> str:
        known = self.estimate[~np.isnan(self.estimate)]
        return (
            f"EffectCurve({self.method.replace('_', ' ')}, {len(self.b)} points in "
            f"[{self.b[0]:.2f}, {self.b[-1]:.2f}], effect {known.min():.4f} to {known.max():.4f}, "
            f"{self.confidence:.0%} band of ±{self.factor:.2f} se)"
        )


def effect_curve(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    method: str = "doubly_robust",
    degree: int = 5,
    n_bins: int = 10,
    outcome_model: Any = None,
    propensity_model: Any = None,
    cv: int = 5,
    clip: float = 0.01,
    nuisances: Nuisances | None = None,
    confidence: float = 0.95,
    n_points: int = 101,
    sample_weight: Any = None,
    cluster: Any = None,
    groups: Grouping | None = None,
    random_state: int = 0,
) -> EffectCurve:
    """Estimate how the direct effect of z changes with the propensity score b.

    The curve is limited to the range where both groups are found: 20 rows of each group, or a tenth
    of a group of less than 200, have a propensity below its start, and as many one above its end.
    The propensity counts as known in the standard errors, and the band is that of the curve's best
    approximation by `degree` functions.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight, cluster, groups
        As in `estimate_effects`.
    method : {"doubly_robust", "spline", "polynomial", "bins"}, default="doubly_robust"
        ``"doubly_robust"`` regresses the augmented inverse-propensity score of each row on a spline
        of b, weighted by b(1−b). The others regress y on b and z: ``"spline"`` and
        ``"polynomial"`` by the surrogate, ``"bins"`` by differences of means within quantiles of b.
    degree : int, default=5
        Functions of b, the constant not counted. A surrogate has one more for the outcome.
    n_bins : int, default=10
        Bins, with as many rows each.
    outcome_model, propensity_model, cv, clip, nuisances, random_state
        As in `estimate_effects`; outcome models serve the doubly robust curve only.
    confidence : float, default=0.95
        Chance that the band holds the whole curve.
    n_points : int, default=101
        Points of the grid.

    Returns
    -------
    EffectCurve

    References
    ----------
    Semenova & Chernozhukov (2021), "Debiased machine learning of conditional average treatment
    effects and other causal functions", Econometrics Journal 24(2).

    Examples
    --------
    >>> from unsway import make_world
    >>> people = make_world("no_direct_effect", 2000, random_state=0)
    >>> curve = effect_curve(people.X, people.y, sensitive_features=people.z, method="polynomial",
    ...                      degree=1)
    >>> bool(np.all((curve.band_low < 0) & (curve.band_high > 0)))
    True
    """
    check_choice(method, "method", CURVES)
    check_confidence(confidence)
    check_integer(degree, "degree", at_least=0)
    check_integer(n_bins, "n_bins", at_least=2)
    check_integer(n_points, "n_points", at_least=2)
    rows = check_rows(X, y, sensitive_features, sample_weight, groups, cluster=cluster, cv=cv)
    if nuisances is None:
        nuisances = CrossFit.of(
            rows,
            propensity_model=propensity_model,
            outcome_model=outcome_model,
            needs_outcome=method == "doubly_robust",
            cv=cv,
            clip=clip,
            seed=random_state,
        ).fit()
    check_nuisances(nuisances, rows.z, needs_outcome=method == "doubly_robust")
    b, weights = nuisances.propensity, rows.mean_one_weights
    if method == "doubly_robust":
        fit = _doubly_robust(rows.y, rows.z, weights, nuisances, degree)
    elif method == "bins":
        fit = _bins(rows.y, rows.z, weights, b, n_bins)
    else:
        fit = _surrogate(rows.y, rows.z, weights, b, degree, method)
    grid = np.linspace(*_range(b, rows), n_points)
    return _curve(fit, grid, method, confidence, rows.clusters)


def _range(b: Floats, rows: Rows) -> tuple[float, float]:
    """Return the ends of the range where both groups are found."""
    counted = np.ones(len(b), dtype=bool) if rows.weights is None else rows.weights > 0
    starts, ends = [], []
    for level in (0, 1):
        own = np.sort(b[counted & (rows.z == level)])
        place = min(END_ROWS, max(1, len(own) // 10)) - 1
        starts.append(own[place])
        ends.append(own[-1 - place])
    start, end = float(max(starts)), float(min(ends))
    if start > end:
        raise IllPosedSurrogateError(
            "the groups have no range of propensity scores in common that holds enough rows of "
            "both; there is no curve of their difference"
        )
    return start, end


def _curve(
    fit: _Fit, grid: Floats, method: str, confidence: float, clusters: Index | None
) -> EffectCurve:
    functions, coefficients, influence = fit
    rows, uncertainty = functions(grid), covariance_of(influence, clusters)
    estimate, covariance = rows @ coefficients, rows @ uncertainty @ rows.T
    se = np.sqrt(np.clip(np.diag(covariance), 0, None))
    known = ~np.isnan(se)
    factor = simultaneous_factor(covariance[np.ix_(known, known)], confidence)
    single = float(stats.norm.ppf(0.5 + confidence / 2))
    return EffectCurve(
        b=grid,
        estimate=estimate,
        se=se,
        low=estimate - single * se,
        high=estimate + single * se,
        band_low=estimate - factor * se,
        band_high=estimate + factor * se,
        method=method,
        confidence=confidence,
        factor=factor,
    )


def _least_squares(rows: Floats, target: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted least-squares coefficients, and each row's influence on them."""
    root = np.sqrt(weights)[:, None]
    q, r = linalg.qr(rows * root, mode="economic", check_finite=False)
    if condition_number(r) > MAX_CONDITION:
        raise IllPosedSurrogateError(
            f"the propensity score cannot tell {r.shape[1]} functions of it apart; lower degree"
        )
    inverse = linalg.solve_triangular(r, np.eye(len(r)))
    coefficients = inverse @ (q.T @ (target * root.ravel()))
    left = target - rows @ coefficients
    return coefficients, len(rows) * (q * root) * left[:, None] @ inverse.T


def _doubly_robust(
    y: Floats, z: Floats, weights: Floats, nuisances: Nuisances, degree: int
) -> _Fit:
    b = nuisances.propensity
    if len(np.unique(b[weights > 0])) <= degree:
        raise IllPosedSurrogateError(
            f"{len(np.unique(b))} distinct propensity scores cannot determine {degree + 1} "
            "functions of it; lower degree, or use a propensity model that sees more"
        )
    basis = ScoreBasis.of("spline", degree, b, weights)
    score = augmented_effect(y, z, nuisances)
    # The score's noise grows like 1/b(1−b); at one b all rows weigh the same, so nothing is lost.
    return basis, *_least_squares(basis(b), score, weights * b * (1 - b))


def _surrogate(y: Floats, z: Floats, weights: Floats, b: Floats, degree: int, basis: str) -> _Fit:
    design = SurrogateDesign.of(
        b, z, outcome_degree=degree + 1, effect_degree=degree, basis=basis, sample_weight=weights
    )
    effect = design.effect_basis
    rows = np.hstack([design.outcome_basis(b), effect(b) * z[:, None]])
    coefficients, influence = _least_squares(rows, y, weights)
    own = slice(design.outcome_basis.degree + 1, None)
    return effect, coefficients[own], influence[:, own]


def _bins(y: Floats, z: Floats, weights: Floats, b: Floats, n_bins: int) -> _Fit:
    """Return differences of means within quantile bins; NaN where a bin lacks a group."""
    inner = np.unique(np.quantile(b, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(inner, b, side="right")
    count = len(inner) + 1
    cell = 2 * bins + (z == 1)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, 2 * count).reshape(count, 2), np.float64)

    total = sums(weights)
    enough = np.all(sums(np.sign(weights)) >= MIN_BIN_ROWS, axis=1, keepdims=True)
    if not enough.any():
        raise ValueError(
            f"no bin of the propensity score holds {MIN_BIN_ROWS} rows of both groups: they cannot "
            "be compared"
        )
    total[total == 0] = 1  # a cell without weight; the next line makes its bin NaN
    indicators = np.where(enough, np.eye(count), np.nan)
    means = sums(weights * y) / total
    influence = np.zeros((len(y), count))
    moved = weights * (y - means.ravel()[cell]) / total.ravel()[cell]
    influence[np.arange(len(y)), bins] = len(y) * np.where(z == 1, moved, -moved)
    return (
        lambda at: indicators[np.searchsorted(inner, at, side="right")],
        means[:, 1] - means[:, 0],
        influence,
    )
