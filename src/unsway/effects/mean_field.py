"""The mean-field assumption: the direct effect depends on X through the propensity alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Floats, Index, Mask
from ..checks import check_integer, check_weights, read_clusters, read_numbers
from ..frames import Tabular
from ..grouping import Grouping
from ..groups import Groups
from .estimate import Estimate, check_confidence
from .influence import covariance
from .overlap import check_propensity
from .propensity_bins import PropensityBins, partial_out, slope_by_fold


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
    cluster: Any = None,
    folds: Any = None,
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
    cluster : column of length n, optional
        As in `estimate_effects`: rows of one cluster may depend on each other.
    folds : array of int of shape (n,), optional
        The fold of each row in the cross-fitting, `Nuisances.folds`. θ is then the mean of those of
        the folds, which has no bias where there is nothing to find; without it θ is biased downward
        there.
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
    orthogonal, so errors in μ̂₀ count only where b is wrong too. With K folds the interval and the
    p-value are those of a t distribution with K−1 degrees of freedom, because the slopes of folds
    whose models share rows are correlated.

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
    clusters = read_clusters(cluster, len(tau), beside="effect")
    of_fold = read_clusters(folds, len(tau), beside="effect", role="folds")
    alike = _Alike(*(_recoded(each, keep) for each in (of_fold, clusters)))
    bins = PropensityBins.of(scores[keep], base[keep], n_bins, labels.get("z"))
    return _measure(tau[keep], bins, labels, alike, confidence, n_bins)


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
class _Alike:
    """Rows that are not independent: those of one fold, and those of one cluster."""

    folds: Index | None
    clusters: Index | None

    @property
    def n_folds(self) -> int:
        """How many folds there are; 0 if they are not known."""
        return 0 if self.folds is None else int(self.folds.max()) + 1


def _recoded(numbers: Index | None, keep: Mask) -> Index | None:
    """Return the numbers of the kept rows, from 0 on without a gap."""
    return None if numbers is None else np.unique(numbers[keep], return_inverse=True)[1]


def _measure(
    tau: Floats,
    bins: PropensityBins,
    labels: dict[str, Floats],
    alike: _Alike,
    confidence: float,
    n_bins: int,
) -> MeanField:
    level = bins.means(tau)
    rest = partial_out(tau, np.ones_like(tau), bins.weights, bins)[0]
    spreads = np.sqrt(bins.means(rest**2))
    within = float(np.sqrt(bins.share @ spreads**2))
    if within < 1e-9 * np.abs(tau).max(initial=1.0):
        within = 0.0  # rounding is no variation
    effect, scale, found = float(bins.share @ level), 1.0, None
    if labels:
        y, z = labels["y"], labels["z"]
        unexplained = y - labels["mu0"] - bins.b * tau
        slope = None
        if alike.n_folds > 1 and within > 0 and alike.folds is not None:
            slope = slope_by_fold(tau, unexplained, bins, z, alike.folds, n_bins)
        found = _calibrate(unexplained, z, rest, within, bins, alike, slope, confidence)
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
    unexplained: Floats,
    z: Floats,
    rest: Floats,
    within: float,
    bins: PropensityBins,
    alike: _Alike,
    of_folds: tuple[float, Floats] | None,
    confidence: float,
) -> Calibration:
    """Regress y − m̂ on (z − b)·(a line in b per bin, t), bin by bin and then t over all.

    The slope on t is that of the folds where it is known.
    """
    leverage, base = z - bins.b, bins.base
    target = np.stack([unexplained, leverage * rest], axis=1)
    left, lines, gains = partial_out(target, leverage, base, bins)
    answer, source = left.T
    power = float(base @ source**2) if within > 0 else 0.0
    gain = base * source / power if power > 0 else np.zeros_like(source)
    theta = float(gain @ answer)
    theta, errors = (theta, gain * (answer - theta * source)) if of_folds is None else of_folds
    error, clusters = answer - theta * source, alike.clusters
    se, dof = _norm(errors, clusters), None if of_folds is None else alike.n_folds - 1
    slope = Estimate.normal(theta, se, confidence, dof=dof)
    effects = lines[:, 0] - theta * lines[:, 1]
    inside = [gains * error * (bins.of_row == k) for k in range(len(effects))]
    noise = np.array([_norm(each, clusters) for each in inside]) ** 2
    variance = _deviation(effects, bins.share) ** 2 - bins.share * (1 - bins.share) @ noise
    kept = [within * max(0.0, x) for x in (theta, se, slope.low, slope.high)]
    tail = stats.norm.sf if dof is None else stats.t(dof).sf
    return Calibration(
        slope=slope,
        p_value=float(tail(theta / se)) if se > 0 else float(theta <= 0),
        within=Estimate(*kept),
        between=float(np.sqrt(max(0.0, float(variance)))),
        effects=effects,
        standard_errors=np.sqrt(noise),
    )


def _norm(errors: Floats, clusters: Index | None) -> float:
    """Return the standard error of a sum of the rows' errors."""
    return float(np.sqrt(covariance(len(errors) * errors[:, None], clusters)[0, 0]))
