"""Rates and distances between groups, each with its influence function.

An influence function says by how much one row moves a number; its mean square gives the standard
error, with weights or without. A cut that was found from the same rows (an approval rate, the
median) moves with them: a rate above it then has the second term of `rate_above`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from .._typing import Floats, Index, Mask
from ..effects.estimate import Estimate
from ..effects.influence import Mean
from .scored import Approval, Scored

#: Below this expected number of people in a cell, Fisher's exact test takes the place of χ².
FEWEST_EXPECTED = 5
#: Rows on each side of a cut that say who stands at it, at least.
_LEAST_NEAR = 25


@dataclass(frozen=True)
class PValue:
    """A p-value, and the test it is from."""

    p_value: float
    name: str


def rate_above(people: Scored, decision: Approval, inside: Floats) -> Mean:
    """Return the share of some rows that is approved; ``inside`` are their weights, 0 elsewhere.

    Where the cut c is such that a fixed share of everyone is above it, a row above it moves the cut
    up, and the rate of part l by −f_l(c)/f(c) of what it adds to that share. The ratio of densities
    is P(l | score at c) / P(l), estimated from the rows nearest to the cut.
    """
    rate = people.mean(decision.approved.astype(np.float64), inside)
    if not decision.estimated or _stands_on_ties(people, decision):
        return rate
    overall = people.mean(decision.approved.astype(np.float64), people.w)
    near = _nearest(people, decision)
    at_cut = float(inside[near].sum() / people.w[near].sum())
    ratio = at_cut / float(inside.sum() / people.w.sum())
    return replace(rate, influence=rate.influence - ratio * overall.influence)


def _nearest(people: Scored, decision: Approval) -> Index:
    """Return the positions of the rows on both sides of a cut that are nearest to it in rank."""
    order = np.argsort(people.oriented, kind="stable")
    cut = len(order) - int(decision.approved.sum())
    width = max(_LEAST_NEAR, int(len(order) ** 0.8 / 4))
    return order[max(0, cut - width) : cut + width]


def _stands_on_ties(people: Scored, decision: Approval) -> bool:
    """Return whether so many rows share the score at the cut that resampling would not move it."""
    lowest = people.oriented[decision.approved].min()
    tied = float(people.w[people.oriented == lowest].sum() / people.w.sum())
    return tied > float(np.sqrt(decision.share * (1 - decision.share) / len(people)))


def wilson(rate: Mean, n_rows: int, confidence: float) -> Estimate:
    """Return a share of rows with Wilson's interval, for the number of rows its error is worth.

    Examples
    --------
    1 of 4 people:

    >>> wilson(Mean.average(np.array([1.0, 0, 0, 0]), np.ones(4)), 4, 0.95)
    0.2500 ± 0.2165 [0.0456, 0.6994]
    """
    p, se = rate.value, rate.se
    n = p * (1 - p) / se**2 if se > 0 else max(1.0, float(n_rows))
    z = float(stats.norm.ppf(0.5 + confidence / 2))
    middle, scale = (p + z**2 / (2 * n)), 1 + z**2 / n
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Estimate(p, se, float((middle - half) / scale), float((middle + half) / scale))


def ratio_of(rate: Mean, reference: Mean, confidence: float) -> Estimate:
    """Return rate / reference with the interval of its logarithm.

    If nobody of the group is approved the ratio is 0 and has no interval; if nobody of the
    reference is, there is no ratio.
    """
    nan = float("nan")
    if reference.value <= 0:
        return Estimate(nan, nan, nan, nan)
    ratio = rate.value / reference.value
    if rate.value <= 0:
        return Estimate(0.0, nan, nan, nan)
    log = rate * (1 / rate.value) - reference * (1 / reference.value)
    log = replace(log, value=float(np.log(ratio)))
    found = Estimate.normal(log.value, log.se, confidence)
    return Estimate(ratio, ratio * log.se, float(np.exp(found.low)), float(np.exp(found.high)))


def normal(mean: Mean, confidence: float) -> Estimate:
    """Return an estimate with its normal interval."""
    return Estimate.normal(mean.value, mean.se, confidence)


def two_rates_test(people: Scored, chosen: Mask, level: int) -> PValue:
    """Test whether the level and the reference have the same rate.

    Fisher's exact test where a cell is expected to hold fewer than 5 people, else Pearson's χ²
    without a correction for continuity. With weights or clusters, a Wald test of the difference.
    """
    codes, reference = people.levels.codes, people.levels.reference
    if not people.are_alike:
        wanted = chosen.astype(np.float64)
        rates = [people.mean(wanted, people.inside(each)) for each in (level, reference)]
        return wald(rates[0] - rates[1])
    table = np.array(
        [
            [np.sum(chosen & (codes == each)), np.sum(~chosen & (codes == each))]
            for each in (level, reference)
        ]
    )
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if (table.sum(axis=0) == 0).any():
        return PValue(1.0, "fisher")  # everyone or nobody: nothing to tell apart
    if expected.min() < FEWEST_EXPECTED:
        return PValue(float(stats.fisher_exact(table)[1]), "fisher")
    return PValue(float(stats.chi2_contingency(table, correction=False)[1]), "chi2")


def wald(difference: Mean) -> PValue:
    """Test whether a difference is 0 by its standard error."""
    if difference.se == 0:
        return PValue(1.0 if difference.value == 0 else 0.0, "wald")
    return PValue(float(2 * stats.norm.sf(abs(difference.value / difference.se))), "wald")


def standardised_difference(people: Scored, level: int) -> Mean:
    """Return (mean of the level − mean of the reference) / standard deviation of everyone."""
    scores, w = people.scores, people.w
    ours, theirs = (
        people.mean(scores, people.inside(each)) for each in (level, people.levels.reference)
    )
    middle = float(np.average(scores, weights=w))
    variance = people.mean((scores - middle) ** 2, w)
    if variance.value == 0:
        return Mean(0.0, np.zeros(len(people)))
    spread, gap = np.sqrt(variance.value), ours - theirs
    return gap * (1 / spread) - replace(variance * (gap.value / (2 * spread**3)), value=0.0)


def means_test(people: Scored, level: int) -> PValue:
    """Test whether the mean scores are the same: Welch's t; if not alike, a Wald test."""
    codes, reference = people.levels.codes, people.levels.reference
    if people.are_alike:
        ours, theirs = people.scores[codes == level], people.scores[codes == reference]
        if min(len(ours), len(theirs)) > 1 and min(np.ptp(ours), np.ptp(theirs)) > 0:
            found = stats.ttest_ind(ours, theirs, equal_var=False)
            return PValue(float(found.pvalue), "welch")
    rates = [people.mean(people.scores, people.inside(each)) for each in (level, reference)]
    return wald(rates[0] - rates[1])


def distance_test(people: Scored, level: int) -> PValue | None:
    """Test whether the scores have the same distribution: Kolmogorov–Smirnov.

    None with weights or clusters.
    """
    if not people.are_alike:
        return None
    codes, reference = people.levels.codes, people.levels.reference
    found = stats.ks_2samp(
        people.scores[codes == level], people.scores[codes == reference], method="asymp"
    )
    return PValue(float(found.pvalue), "ks")


# --- how well a score separates the labels -------------------------------------------------------


def gini(scores: Floats, ones: Floats, zeros: Floats, clusters: Index | None = None) -> Mean:
    """Return 2·AUC − 1 (ties count half) of rows by their weights as positives and as negatives.

    Examples
    --------
    >>> y = np.array([0.0, 0, 1, 1])
    >>> gini(np.array([0.1, 0.4, 0.35, 0.8]), y, 1 - y).value
    0.5
    """
    below = _share_below(scores, scores, zeros)
    above = 1 - _share_below(scores, scores, ones)
    auc = float(np.average(below, weights=ones))
    influence = ones * (below - auc) / ones.mean() + zeros * (above - auc) / zeros.mean()
    return Mean(2 * auc - 1, 2 * influence, clusters)


def _share_below(at: Floats, scores: Floats, weights: Floats) -> Floats:
    """Return the weighted share of scores below each number, equal ones counted half."""
    values, place = np.unique(scores, return_inverse=True)
    mass = np.bincount(place.ravel(), weights, len(values))
    end = np.concatenate([[0.0], np.cumsum(mass)])
    low = np.searchsorted(values, at, side="left")
    high = np.searchsorted(values, at, side="right")
    return np.asarray((end[low] + end[high]) / (2 * end[-1]))


def separation(
    scores: Floats, first: Floats, second: Floats, clusters: Index | None = None
) -> Mean:
    """Return the Kolmogorov–Smirnov distance of two weighted groups of rows.

    It is the largest distance of the two distribution functions. Its influence function is that of
    the two shares below the cut where it is attained; `excess` is what the choice of it adds.

    Examples
    --------
    >>> scores, y = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0, 1, 1])
    >>> separation(scores, y, 1 - y).value
    0.5
    """
    values, place = np.unique(scores, return_inverse=True)
    shares = [
        np.cumsum(np.bincount(place.ravel(), each, len(values))) / each.sum()
        for each in (first, second)
    ]
    gap = shares[0] - shares[1]
    cut = int(np.argmax(np.abs(gap)))
    below = (scores <= values[cut]).astype(np.float64)
    found = Mean.average(below, first, clusters) - Mean.average(below, second, clusters)
    return found if found.value >= 0 else found * -1


#: Splits over which the excess of a largest distance is averaged.
_SPLITS = 10
#: 1 + 2^{2/3}/3: what plain minus cross-fitted distance holds of the excess; see `excess`.
_OF_EXCESS = 1 + 2 ** (2 / 3) / 3


def excess(scores: Floats, first: Floats, second: Floats) -> float:
    """Return by how much a largest distance of two distribution functions is too large.

    Noise moves the cut to where it adds to the distance. Near its peak the true distance falls as a
    parabola, and the noise is a Brownian motion of standard deviation σ ∝ n^{-1/2}; the excess
    V ∝ σ^{4/3}. By the envelope theorem the noise at the chosen cut adds 4V/3 and the parabola
    loses V/3, so a distance measured on one half at the cut chosen on the other is too small by
    2^{2/3}·V/3. V is the difference of the two, divided by 1 + 2^{2/3}/3, over ten random halvings
    that depend on the order of the scores alone.
    """
    used = np.flatnonzero((first > 0) | (second > 0))
    used = used[np.lexsort([first[used], scores[used]])]
    ends = np.append(np.flatnonzero(np.diff(scores[used])), len(used) - 1)
    one, two = first[used], second[used]
    rng = np.random.default_rng(0)
    plain, found = float(np.abs(_distances(one, two, ends)).max()), []
    for _ in range(_SPLITS):
        half = rng.permuted(np.arange(len(used)) % 2)
        parts = [_distances(one * mask, two * mask, ends) for mask in (half, 1 - half)]
        for chosen, judged in (parts, parts[::-1]):
            cut = int(np.argmax(np.abs(chosen)))
            found.append(float(np.sign(chosen[cut]) * judged[cut]))
    return max(0.0, (plain - float(np.mean(found))) / _OF_EXCESS)


def _distances(first: Floats, second: Floats, ends: Index) -> Floats:
    """Return the differences of two distribution functions; 0 where one has no row."""
    totals = first.sum(), second.sum()
    if not all(totals):
        return np.zeros(len(ends))
    return np.asarray(np.cumsum(first)[ends] / totals[0] - np.cumsum(second)[ends] / totals[1])


def around(mean: Mean, moved: float, spread: float, confidence: float) -> Estimate:
    """Return an estimate with a normal interval whose middle is moved down by a known excess.

    Half of the ``spread``, the excess of each distance that is part of the estimate, is added to
    the standard error: how large an excess is, is not known exactly.
    """
    se = float(np.hypot(mean.se, spread / 2))
    found = Estimate.normal(mean.value - moved, se, confidence)
    return Estimate(mean.value, se, found.low, found.high)
