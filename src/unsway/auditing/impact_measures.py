"""The measures of adverse impact, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats, Mask
from ..effects.estimate import Estimate
from ..effects.influence import Mean
from .impact_estimates import (
    PValue,
    around,
    distance_test,
    excess,
    gini,
    means_test,
    normal,
    rate_above,
    ratio_of,
    separation,
    standardised_difference,
    two_rates_test,
    wald,
    wilson,
)
from .scored import Approval, Scored

#: A ratio of selection rates below this is flagged, after the Uniform Guidelines of 1978.
FOUR_FIFTHS = 0.8
#: What each measure says, in a few words.
MEANINGS = {
    "selection_rate": "share of the level that is approved",
    "adverse_impact_ratio": "selection rate over that of the reference",
    "selection_rate_difference": "selection rate minus that of the reference",
    "shortfall": "people of the level more, if it were approved at the reference's rate",
    "mean_score": "mean score",
    "standardised_mean_difference": "mean score minus the reference's, in standard deviations",
    "scoring_rate": "share of the level on the approved side of the median score",
    "scoring_rate_ratio": "scoring rate over that of the reference",
    "score_distance": "largest distance of the score's distribution to the reference's (KS)",
    "ks": "largest distance of the scores of both labels within the level (KS)",
    "ks_difference": "KS minus that of the reference",
    "gini": "2·AUC − 1 within the level",
    "gini_difference": "Gini minus that of the reference",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One measure of one level.

    Parameters
    ----------
    segment : str
        The segment, "" for all rows.
    rule : str
        What approves: "threshold 0.5", "approval rate 0.2"; "" for measures of scores.
    cut : float
        The score at which the rule cuts, NaN without a rule.
    level : str
    measure : str
        `MEANINGS` has the names.
    value : Estimate
    test : PValue or None
        Of no difference to the reference.
    p_adjusted : float
        The p-value after Holm, over the levels of the same measure, rule and segment.
    n : int
        Rows of the level.
    """

    segment: str
    rule: str
    cut: float
    level: str
    measure: str
    value: Estimate
    test: PValue | None
    p_adjusted: float
    n: int

    @property
    def below_four_fifths(self) -> bool | None:
        """Whether an adverse impact ratio is below .8; None for other measures."""
        known = self.measure == "adverse_impact_ratio" and not np.isnan(self.value.estimate)
        return self.value.estimate < FOUR_FIFTHS if known else None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a row of a table."""
        return {
            "segment": self.segment,
            "rule": self.rule,
            "cut": self.cut,
            "level": self.level,
            "n": self.n,
            "measure": self.measure,
            **self.value.to_dict(),
            "p_value": float("nan") if self.test is None else self.test.p_value,
            "p_adjusted": self.p_adjusted,
            "test": "" if self.test is None else self.test.name,
            "below_four_fifths": self.below_four_fifths,
            "meaning": MEANINGS[self.measure],
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The rows of a segment, among all rows.

    Parameters
    ----------
    name : str
        The segment, "" for all rows.
    everyone : Scored
        All rows: a cut was found from them.
    rows : array of bool of shape (n,)
        Which of them the segment has.
    people : Scored
        The rows of the segment.
    """

    name: str
    everyone: Scored
    rows: Mask = field(repr=False)
    people: Scored

    def inside(self, level: int) -> Floats:
        """Return the weights of the segment's rows of a level, 0 elsewhere."""
        return np.where(self.rows, self.everyone.inside(level), 0.0)


def people_in(everyone: Scored, name: str, rows: Any) -> Part:
    """Return a segment by its rows; None for all rows."""
    if rows is None:
        whole = np.ones(len(everyone), dtype=bool)
        return Part(name=name, everyone=everyone, rows=whole, people=everyone)
    chosen = np.isin(np.arange(len(everyone)), rows)
    return Part(name=name, everyone=everyone, rows=chosen, people=everyone.take(chosen))


class _Measured(NamedTuple):
    """A measure of a level, before it is put into a table."""

    measure: str
    value: Estimate
    test: PValue | None = None


def findings_of(part: Part, decisions: Sequence[Approval], confidence: float) -> list[Finding]:
    """Return the findings of a segment; none if it has no row of the reference."""
    levels = part.people.levels
    counts = np.bincount(part.people.levels.codes, part.people.w > 0, len(levels.names))
    others = [level for level in levels.others if counts[level]]
    if not counts[levels.reference] or not others:
        return []
    median = median_split(part.everyone)
    found: list[Finding] = []

    def add(rule: str, cut: float, measure: Callable[[int], Iterator[_Measured]]) -> None:
        for level in (levels.reference, *others):
            found.extend(
                Finding(
                    segment=part.name, rule=rule, cut=cut, level=levels.names[level],
                    p_adjusted=float("nan"), n=int(counts[level]), **each._asdict(),
                )
                for each in measure(level)
            )  # fmt: skip

    for each in decisions:
        add(each.rule, each.cut, partial(_of_decisions, part, each, confidence=confidence))
    add("", median.cut, partial(_of_median, part, median, confidence=confidence))
    add("", float("nan"), partial(_of_scores, part.people, confidence=confidence))
    return holm(found)


def _of_decisions(
    part: Part, decision: Approval, level: int, confidence: float
) -> Iterator[_Measured]:
    """Yield selection rate, and for a level that is not the reference what it is compared with."""
    rate, reference = _rates(part, decision, level)
    yield _Measured("selection_rate", wilson(rate, _count(part, level), confidence))
    if level == part.people.levels.reference:
        return
    test = two_rates_test(part.people, decision.approved[part.rows], level)
    yield _Measured("adverse_impact_ratio", ratio_of(rate, reference, confidence), test)
    gap = rate - reference
    yield _Measured("selection_rate_difference", normal(gap, confidence), test)
    people = float(part.inside(level).sum())
    yield _Measured("shortfall", normal(gap * -people, confidence))


def _of_median(part: Part, median: Approval, level: int, confidence: float) -> Iterator[_Measured]:
    """Yield the scoring rate, and its ratio to that of the reference."""
    rate, reference = _rates(part, median, level)
    yield _Measured("scoring_rate", wilson(rate, _count(part, level), confidence))
    if level != part.people.levels.reference:
        test = two_rates_test(part.people, median.approved[part.rows], level)
        yield _Measured("scoring_rate_ratio", ratio_of(rate, reference, confidence), test)


def _rates(part: Part, decision: Approval, level: int) -> tuple[Mean, Mean]:
    own, other = (
        rate_above(part.everyone, decision, part.inside(each))
        for each in (level, part.people.levels.reference)
    )
    return own, other


def _count(part: Part, level: int) -> int:
    return int(np.count_nonzero(part.inside(level)))


def _of_scores(people: Scored, level: int, confidence: float) -> Iterator[_Measured]:
    """Yield the measures of the scores themselves, and of how well they separate the labels."""
    reference = people.levels.reference
    mean = people.mean(people.scores, people.inside(level))
    yield _Measured("mean_score", normal(mean, confidence))
    if level != reference:
        gap = standardised_difference(people, level)
        test = means_test(people, level)
        yield _Measured("standardised_mean_difference", normal(gap, confidence), test)
        both = people.inside(level), people.inside(reference)
        yield _Measured(
            "score_distance",
            _distance(people, *both, confidence),
            distance_test(people, level),
        )
    if people.y is None:
        return
    yield from _of_labels(people, level, confidence)


def _distance(people: Scored, first: Floats, second: Floats, confidence: float) -> Estimate:
    """Return a KS distance; its interval allows for the choice of the cut, and is within [0, 1]."""
    found = separation(people.scores, first, second, people.clusters)
    extra = excess(people.scores, first, second)
    value = around(found, extra, extra, confidence)
    return replace(value, low=max(0.0, value.low), high=min(1.0, value.high))


def _of_labels(people: Scored, level: int, confidence: float) -> Iterator[_Measured]:
    """Yield KS and Gini of the labels within a level, and their differences to the reference."""
    reference = people.levels.reference
    own, base = _goods_and_bads(people, level), _goods_and_bads(people, reference)
    if own is None:
        return
    yield _Measured("ks", _distance(people, *own, confidence))
    gini_own = gini(people.scores, *own, people.clusters)
    yield _Measured("gini", normal(gini_own, confidence))
    if level == reference or base is None:
        return
    parts = [separation(people.scores, *each, people.clusters) for each in (own, base)]
    extra = [excess(people.scores, *each) for each in (own, base)]
    gap = parts[0] - parts[1]
    value = around(gap, extra[0] - extra[1], float(np.hypot(extra[0], extra[1])), confidence)
    yield _Measured("ks_difference", value, wald(gap))
    gap = gini_own - gini(people.scores, *base, people.clusters)
    yield _Measured("gini_difference", normal(gap, confidence), wald(gap))


def _goods_and_bads(people: Scored, level: int) -> tuple[Floats, Floats] | None:
    """Return the weights of the positive and the negative rows of a level; None if it lacks one."""
    assert people.y is not None  # noqa: S101
    inside = people.inside(level)
    ones, zeros = inside * people.y, inside * (1 - people.y)
    return (ones, zeros) if ones.any() and zeros.any() else None


def median_split(people: Scored) -> Approval:
    """Return who is on the approved side of the median score of all rows.

    Examples
    --------
    >>> people = Scored.check(None, [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> found = median_split(people)
    >>> found.cut, found.approved.tolist()
    (0.25, [False, False, True, True])
    """
    order = np.argsort(people.oriented, kind="stable")
    values, mass = people.oriented[order], np.cumsum(people.w[order]) / people.w.sum()
    first = int(np.searchsorted(mass, 0.5 - 1e-12))
    middle = values[first]
    if abs(mass[first] - 0.5) < 1e-12 and first + 1 < len(values):
        middle = (middle + values[first + 1]) / 2
    above = people.oriented > middle
    share = float(np.average(above, weights=people.w))
    sign = 1 if people.approve == "high" else -1
    return Approval(
        rule="", cut=float(sign * middle), approved=above, share=share, estimated=bool(above.any())
    )


def holm(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the p-values of all levels of one measure adjusted after Holm (1979).

    The k-th smallest of m is multiplied by m − k + 1, and none is below one before it.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for place, each in enumerate(findings):
        if each.test is not None:
            groups.setdefault((each.rule, each.measure), []).append(place)
    found = list(findings)
    for places in groups.values():
        p = [found[place].test.p_value for place in places]  # type: ignore[union-attr]
        largest = 0.0
        for rank, k in enumerate(np.argsort(p, kind="stable")):
            largest = max(largest, min(1.0, (len(p) - rank) * p[k]))
            found[places[k]] = replace(found[places[k]], p_adjusted=largest)
    return found
