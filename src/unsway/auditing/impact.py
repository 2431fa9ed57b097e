"""Adverse impact: how groups fare against a reference, in the measures that compliance uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..effects.estimate import Estimate, check_confidence
from ..frames import Numbered, Tabular, plain
from ..grouping import Grouping, check_grouping
from .impact_measures import Finding, findings_of, people_in
from .numbers import number
from .scored import Scored, decisions_of, segments_of
from .tables import short, text_table

#: Version of what `AdverseImpact.to_dict` holds.
SCHEMA_VERSION = 1
#: Sentences on which scores are approved.
DIRECTIONS = {
    "high": "High scores are approved.",
    "low": "Low scores are approved.",
    None: "High scores are taken to be approved; state approve='low' if low ones are.",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AdverseImpact(Numbered, Tabular):
    """What `adverse_impact` found; its table has a row per segment, rule, level and measure.

    Parameters
    ----------
    findings : tuple of Finding
    reference : str
        The level the others are compared with.
    levels : tuple of str
    direction : str
        A sentence on which scores are approved.
    settings : mapping
        Rows, confidence, rules, and the share that each rule approves.
    """

    findings: tuple[Finding, ...]
    reference: str
    levels: tuple[str, ...]
    direction: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: Sequence[str]) -> Estimate:
        """Return an estimate: ``found["B", "adverse_impact_ratio"]``, with rule or segment too."""
        return self.finding(*key).value

    def finding(self, level: str, measure: str, *more: str) -> Finding:
        """Return one finding by level, measure and, where there are several, rule and segment."""
        known = [
            each
            for each in self.findings
            if each.level == level
            and each.measure == measure
            and all(name in (each.rule, each.segment) for name in more)
        ]
        if len(known) > 1 and not more:
            whole = [each for each in known if each.segment == ""]
            known = whole or known
        if len(known) != 1:
            why = "there is none" if not known else f"there are {len(known)}; give rule or segment"
            raise KeyError(f"{(level, measure, *more)!r}: {why}")
        return known[0]

    @property
    def flagged(self) -> tuple[Finding, ...]:
        """The adverse impact ratios below four fifths."""
        return tuple(each for each in self.findings if each.below_four_fifths)

    def _columns(self) -> Mapping[str, list[Any]]:
        rows = [each.to_dict() for each in self.findings]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "reference": self.reference,
            "levels": self.levels,
            "direction": self.direction,
            "findings": [each.to_dict() for each in self.findings],
            "settings": self.settings,
        }
        return dict(plain(found))

    def plot(self, ax: Any = None) -> Any:
        """Draw the adverse impact ratio of each level by the share approved; return the Axes."""
        from .plots import plot_impact

        return plot_impact(self, ax)

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def adverse_impact(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    groups: Grouping | None = None,
    threshold: Any = None,
    approval_rate: Any = None,
    quantiles: int | None = None,
    approve: str | None = None,
    by: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    confidence: float = 0.95,
) -> AdverseImpact:
    """Compare each level of a sensitive attribute with a reference, with intervals and tests.

    Parameters
    ----------
    y_true : column of length n, or None
        Labels of two classes, for KS and Gini; None leaves these out.
    y_pred : column of length n
        Scores, any numbers, or decisions 0 and 1.
    sensitive_features : column of length n
        The level of each row, any number of levels.
    groups : Grouping, default=None
        ``Grouping(reference=…)`` states the level the others are compared with. By default 0 or
        False, or of three levels and more the one with the most rows; of two others it must be
        stated.
    threshold : float or sequence of float, default=None
        Approve scores above it (where low scores are approved, under it). .5 if no rule is given.
    approval_rate : float or sequence of float, default=None
        Approve this share of all people; equal scores are decided alike.
    quantiles : int, default=None
        Approve 1/q, 2/q, … of the people: a table by quantile.
    approve : {"high", "low"}, default=None
        Which end of the score is approved; high by default, and the result says so.
    by : column of length n, default=None
        Segments, such as regions. The decisions are those of all rows; each segment is measured.
    sample_weight : column of length n, default=None
        Weights of the rows. Tests are then Wald tests.
    cluster : column of length n, default=None
        What several rows belong to, such as a person or a branch: intervals then count clusters,
        and tests are Wald tests.
    confidence : float, default=0.95
        Of each interval on its own.

    Returns
    -------
    AdverseImpact

    Notes
    -----
    The adverse impact ratio of level l against reference r is P(approved | l) / P(approved | r);
    its interval is that of the logarithm. A rate at an approval rate has the error of the cut, too.

    Examples
    --------
    One of two people of group 0 is approved, and two of two of group 1:

    >>> from unsway import Grouping
    >>> found = adverse_impact(None, [0.9, 0.2, 0.8, 0.7], sensitive_features=["a", "a", "b", "b"],
    ...                        groups=Grouping(reference="b"))
    >>> found["a", "adverse_impact_ratio"].estimate, found["a", "shortfall"].estimate
    (0.5, 1.0)
    """
    check_confidence(confidence)
    people = Scored.check(
        y_true,
        y_pred,
        sensitive_features,
        reference=check_grouping(groups).reference,
        approve=approve,
        sample_weight=sample_weight,
        cluster=cluster,
    )
    segments = segments_of(by, len(people))
    decisions = decisions_of(people, threshold, approval_rate, quantiles)
    parts = (people_in(people, name, rows) for name, rows in segments.items())
    findings = [each for part in parts for each in findings_of(part, decisions, confidence)]
    if not findings:
        raise ValueError("no segment of by has rows of the reference and of another level")
    return AdverseImpact(
        findings=tuple(findings),
        reference=people.levels.names[people.levels.reference],
        levels=people.levels.names,
        direction=DIRECTIONS[approve],
        settings={
            "rows": len(people),
            "confidence": float(confidence),
            "approve": people.approve,
            "weighted": people.weights is not None,
            "clustered": people.clusters is not None,
            "rules": {each.rule: each.share for each in decisions},
        },
    )


def _lines(found: AdverseImpact) -> Iterator[str]:
    """Yield the result as text: what is approved, and each level by rule and segment."""
    yield f"Adverse impact of {found.settings['rows']:,} rows against {short(found.reference)}"
    yield found.direction
    known = {(each.segment, each.rule, each.level, each.measure): each for each in found.findings}
    rows = []
    for segment, rule, level in dict.fromkeys(key[:3] for key in known if key[1]):
        rate, ratio, short_of = (
            known.get((segment, rule, level, name))
            for name in ("selection_rate", "adverse_impact_ratio", "shortfall")
        )
        if ratio is None or rate is None or short_of is None:
            continue
        value, test = ratio.value, ratio.test
        rows.append(
            (
                short(" · ".join(filter(None, (segment, rule, level))), 60),
                f"{rate.n:,}",
                number(rate.value.estimate),
                f"{number(value.estimate)} [{number(value.low)}, {number(value.high)}]",
                "–" if test is None else f"{test.p_value:.2g}",
                number(short_of.value.estimate, 1),
                "below 4/5" if ratio.below_four_fifths else "",
            )
        )
    yield from text_table(
        ("", "rows", "selection rate", "adverse impact ratio", "p", "shortfall", ""), rows
    )
