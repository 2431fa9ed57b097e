"""The mean-field assumption: the direct effect depends on X through the propensity alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._typing import Floats
from ..checks import check_integer, check_weights, read_numbers
from ..frames import Tabular
from ..grouping import Grouping
from ..groups import Groups
from .estimate import Estimate, check_confidence
from .overlap import check_propensity

#: A bin with fewer rows of a group than this is merged with others.
MIN_GROUP_ROWS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """What the labels say about the models' effects, free of the models' noise.

    Parameters
    ----------
    slope : Estimate
        θ: how far labels follow the differences the models see within bins. 1: in full; 0: what the
        models see there is noise.
    p_value : float
        One-sided, of θ ≤ 0: no difference within bins that the models can find.
    within : Estimate
        Spread of the effect within bins, max(θ, 0) times the models' own spread there.
    between : float
        Spread of the effect between bins, sampling noise subtracted.
    effects, standard_errors : array of shape (K,)
        The effect in each bin.
    """

    slope: Estimate
    p_value: float
    within: Estimate
    between: float
    effects: Floats
    standard_errors: Floats


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MeanField(Tabular):
    """How the direct effect spreads between and within bins of b, among comparable people.

    As a frame it has one row per bin.

    Every mean and spread has overlap weights b(1−b): people who could be of one group only have no
    weight.

    Parameters
    ----------
    n_rows : int
        Rows with any weight; those with b exactly 0 or 1 have none.
    scale : float
        Standard deviation of y, or 1 where y is not known.
    effect : float
        Mean effect: from the labels where they are known, else from the models.
    model_between, model_within : float
        Spreads of the models' effects, their noise included.
    calibration : Calibration or None
        The same from the labels; None where they were not given.
    bin_scores, bin_weights : array of shape (K,)
        Mean b and share of the overlap weight of each bin.
    bin_effects, bin_spreads : array of shape (K,)
        Mean and spread of the models' effects in each bin.
    """

    n_rows: int
    scale: float
    effect: float
    model_between: float
    model_within: float
    calibration: Calibration | None
    bin_scores: Floats
    bin_weights: Floats
    bin_effects: Floats
    bin_spreads: Floats

    @property
    def between(self) -> float:
        """Spread between bins: calibrated where the labels are known."""
        return self.model_between if self.calibration is None else self.calibration.between

    @property
    def within(self) -> float:
        """Spread within bins: calibrated where the labels are known."""
        found = self.calibration
        return self.model_within if found is None else found.within.estimate

    @property
    def sentence(self) -> str:
        """The result as text."""
        spread = (
            f"Among comparable people the direct effect is {self.effect:.3f} on average. It varies "
            f"by {self.between:.3f} (standard deviation) between bins of the propensity"
        )
        if self.calibration is None:
            return (
                f"{spread}, and by {self.within:.3f} within them according to the models alone; "
                "part of that may be their noise: give y, sensitive_features and mu0 to tell."
            )
        found = self.calibration
        if found.p_value > 0.05:
            return (
                f"{spread}; within bins the labels confirm none of the differences the models see "
                f"(p = {found.p_value:.2f}): as far as they can tell, the propensity may stand for "
                "X."
            )
        return (
            f"{spread}, and by at least about {self.within:.3f} [{found.within.low:.3f}, "
            f"{found.within.high:.3f}] within them, where a mean-field correction gives everyone "
            "the same."
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        unknown = np.full(len(self.bin_scores), np.nan)
        found = self.calibration
        return {
            "propensity": self.bin_scores.tolist(),
            "weight": self.bin_weights.tolist(),
            "effect": (unknown if found is None else found.effects).tolist(),
            "se": (unknown if found is None else found.standard_errors).tolist(),
            "model_effect": self.bin_effects.tolist(),
            "model_spread": self.bin_spreads.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, ready for JSON; None where the labels were not given."""
        found = self.calibration
        return {
            "effect": self.effect,
            "between": self.between,
            "within": None if found is None else found.within.to_dict(),
            "slope": None if found is None else found.slope.to_dict(),
            "p_value": None if found is None else found.p_value,
            "model_between": self.model_between,
            "model_within": self.model_within,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"MeanField({self.n_rows:,} rows, {len(self.bin_scores)} bins)\n{self.sentence}"


def mean_field(
    effect: Any,
    propensity: Any,
    *,
    y: Any = None,
    sensitive_features: Any = None,
    mu0: Any = None,
    sample_weight: Any = None,
    n_bins: int = 10,
    groups: Grouping | None = None,
    confidence: float = 0.95,
) -> MeanField:
    """Measure how much the direct effect CDE(X) varies among people with the same propensity.

    The mean-field effect MFCDE(b) gives all people with one b the same effect. Models of the
    outcome can tell whether that is so, but their noise looks like variation too. So with τ̂ the
    models' effect and t its residual on a line in b within each bin, the labels decide::

        y − m̂ = (z − b)·(δ_k + ε_k·(b − b̄_k) + θ·t) + error,    m̂ = μ̂₀ + b·τ̂

    and θ·sd(t) is the spread of the best linear prediction of CDE(X) from t: real variation the
    models found. Noise in τ̂ pulls θ towards 0. What the models did not find is not in it, so it is
    a lower bound.

    Parameters
    ----------
    effect : array of shape (n,)
        τ̂ = μ̂₁(X) − μ̂₀(X), from models that have not seen the row (cross-fitted).
    propensity : array of shape (n,)
        b = P(z=1 | X), cross-fitted too.
    y, sensitive_features, mu0 : columns of length n, optional
        Outcome, z, and μ̂₀(X) ≈ E[y|z=0, X]: all three or none. Without them
        the spread of τ̂ is all there is, noise included.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    n_bins : int, default=10
        Bins of b, of equal overlap weight b(1−b); fewer where a bin would hold less than ten rows
        of a group, or where b has few values.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    confidence : float, default=0.95
        Coverage of the intervals.

    Returns
    -------
    MeanField

    Notes
    -----
    Standard errors are robust to unequal variances and take τ̂, μ̂₀ and b as given; the equation is
    orthogonal, so errors in μ̂₀ count only where b is wrong too.

    References
    ----------
    Robinson (1988), Econometrica 56(4), 931–954. Chernozhukov, Demirer, Duflo & Fernández-Val
    (2018), arXiv:1712.04802 (best linear prediction of a conditional effect).

    Examples
    --------
    The models say ±.1, and the labels agree:

    >>> b, z = np.full(400, 0.5), np.tile([0.0, 1.0], 200)
    >>> tau = np.repeat([0.2, 0.4], 200)
    >>> found = mean_field(tau, b, y=0.1 + z * tau, sensitive_features=z, mu0=np.full(400, 0.1))
    >>> round(found.effect, 6), round(found.within, 6), round(found.calibration.slope.estimate, 6)
    (0.3, 0.1, 1.0)
    """
    check_confidence(confidence)
    check_integer(n_bins, "n_bins", at_least=1)
    tau = read_numbers(effect, "effect")
    scores = check_propensity(propensity, len(tau), beside="effect")
    given = check_weights(sample_weight, len(tau), beside="effect")
    base = np.ones(len(tau)) if given is None else given
    labels = _labels(y, sensitive_features, mu0, base, groups)
    keep = base * scores * (1 - scores) > 0
    if not keep.any():
        raise ValueError("every propensity is exactly 0 or 1: no two people can be compared")
    labels = {name: values[keep] for name, values in labels.items()}
    bins = _Bins.of(scores[keep], base[keep], n_bins, labels.get("z"))
    return _measure(tau[keep], bins, labels, confidence)


def _labels(
    y: Any, sensitive_features: Any, mu0: Any, base: Floats, groups: Grouping | None
) -> dict[str, Floats]:
    """Return y, z and mu0 by name; nothing where they were not given."""
    given = {"y": y, "sensitive_features": sensitive_features, "mu0": mu0}
    absent = [name for name, values in given.items() if values is None]
    if len(absent) == 3:
        return {}
    if absent:
        raise ValueError(f"{' and '.join(absent)} missing: give all of {', '.join(given)} or none")
    sensitive = Groups.check(sensitive_features, len(base), groups=groups, beside="effect")
    sensitive.check_present(base, "sensitive_features")
    numbers = [read_numbers(given[x], x, len(base), beside="effect") for x in ("y", "mu0")]
    return {"y": numbers[0], "mu0": numbers[1], "z": sensitive.z}


@dataclass(frozen=True, eq=False)
class _Bins:
    """Rows by bin of b, with b less its bin's mean; `weights` are overlap weights of `base`."""

    b: Floats
    base: Floats
    weights: Floats
    of_row: NDArray[np.intp]
    centre: Floats
    share: Floats
    along: Floats

    @classmethod
    def of(cls, b: Floats, base: Floats, n_bins: int, z: Floats | None) -> _Bins:
        """Cut b into bins of about equal weight, each with enough rows of either group."""
        weights = base * b * (1 - b)
        of_row = _cut(b, weights, n_bins, z)
        total = np.bincount(of_row, weights)
        centre = np.bincount(of_row, weights * b) / total
        along = b - centre[of_row]
        along[np.abs(along) < 1e-12] = 0.0  # a bin of one b has no line in b
        return cls(b, base, weights, of_row, centre, total / total.sum(), along)

    def means(self, values: Floats) -> Floats:
        total = np.bincount(self.of_row, self.weights)
        return np.bincount(self.of_row, self.weights * values) / total


def _cut(b: Floats, weights: Floats, n_bins: int, z: Floats | None) -> NDArray[np.intp]:
    _, owner = np.unique(b, return_inverse=True)
    mass = np.bincount(owner, weights)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    for count in range(n_bins, 0, -1):
        places = np.minimum((middle * count).astype(int), count - 1)
        used, places = np.unique(places, return_inverse=True)
        of_row: NDArray[np.intp] = places[owner]
        if z is None:
            return of_row
        table = np.bincount(2 * of_row + (z == 1), minlength=2 * len(used))
        if table.min() >= MIN_GROUP_ROWS:
            return of_row
    raise ValueError(f"a group has fewer than {MIN_GROUP_ROWS} rows; too few to compare the groups")


def _measure(tau: Floats, bins: _Bins, labels: dict[str, Floats], confidence: float) -> MeanField:
    level = bins.means(tau)
    rest = _partial_out(tau, np.ones_like(tau), bins.weights, bins)[0]
    spreads = np.sqrt(bins.means(rest**2))
    within = float(np.sqrt(bins.share @ spreads**2))
    if within < 1e-9 * np.abs(tau).max(initial=1.0):
        within = 0.0  # rounding is no variation
    effect, scale, found = float(bins.share @ level), 1.0, None
    if labels:
        y, z = labels["y"], labels["z"]
        unexplained = y - labels["mu0"] - bins.b * tau
        found = _calibrate(unexplained, z, rest, within, bins, confidence)
        effect = float(bins.share @ found.effects)
        scale = _deviation(y, bins.base)
    return MeanField(
        n_rows=len(tau),
        scale=scale,
        effect=effect,
        model_between=_deviation(level, bins.share),
        model_within=within,
        calibration=found,
        bin_scores=bins.centre,
        bin_weights=bins.share,
        bin_effects=level,
        bin_spreads=spreads,
    )


def _deviation(values: Floats, weights: Floats) -> float:
    """Return the weighted standard deviation."""
    mean = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


def _calibrate(
    unexplained: Floats, z: Floats, rest: Floats, within: float, bins: _Bins, confidence: float
) -> Calibration:
    """Regress y − m̂ on (z − b)·(a line in b per bin, t), bin by bin and then t over all."""
    leverage, base = z - bins.b, bins.base
    target = np.stack([unexplained, leverage * rest], axis=1)
    left, lines, gains = _partial_out(target, leverage, base, bins)
    answer, source = left.T
    power = float(base @ source**2) if within > 0 else 0.0
    gain = base * source / power if power > 0 else np.zeros_like(source)
    theta = float(gain @ answer)
    error = answer - theta * source
    se = float(np.linalg.norm(gain * error))
    slope = Estimate.normal(theta, se, confidence)
    effects = lines[:, 0] - theta * lines[:, 1]
    noise = np.bincount(bins.of_row, (gains * error) ** 2)
    variance = _deviation(effects, bins.share) ** 2 - bins.share * (1 - bins.share) @ noise
    kept = [within * max(0.0, x) for x in (theta, se, slope.low, slope.high)]
    return Calibration(
        slope=slope,
        p_value=float(stats.norm.sf(theta / se)) if se > 0 else float(theta <= 0),
        within=Estimate(*kept),
        between=float(np.sqrt(max(0.0, float(variance)))),
        effects=effects,
        standard_errors=np.sqrt(noise),
    )


def _partial_out(
    target: Floats, factor: Floats, weights: Floats, bins: _Bins
) -> tuple[Floats, Floats, Floats]:
    """Return what weighted least squares on factor·(1, b − b̄_k) leaves of the targets, by bin.

    With it come the coefficient of the factor in each bin, and each row's part in it.
    """
    residual, gains = np.empty_like(target), np.empty(len(target))
    lines = []
    for place in range(len(bins.share)):
        rows = bins.of_row == place
        design = factor[rows, None] * np.vander(bins.along[rows], 2, increasing=True)
        root = np.sqrt(weights[rows])
        inverse = np.linalg.pinv(design * root[:, None], rcond=1e-10) * root
        fitted = inverse @ target[rows]
        residual[rows] = target[rows] - design @ fitted
        gains[rows] = inverse[0]
        lines.append(fitted[0])
    return residual, np.array(lines), gains
