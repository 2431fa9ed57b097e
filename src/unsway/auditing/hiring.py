"""The table of impact ratios that New York City asks of automated decisions on hiring.

Local Law 144 of 2021 and its final rule (6 RCNY § 5-300 ff., 2023): for the categories of sex, of
race or ethnicity, and for their intersections, the number of people, the selection or the scoring
rate, and its ratio to that of the most selected category; people of an unknown category are
counted. A category of less than 2 % of the people may be left out of the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Mask
from ..checks import check_choice, check_length, check_number, is_missing, read_numbers
from ..effects.estimate import Estimate, check_confidence
from ..effects.influence import Mean
from ..frames import Tabular, plain
from .impact_estimates import rate_above, ratio_of, two_rates_test, wilson
from .impact_measures import median_split
from .numbers import number
from .scored import ENDS, Approval, Levels, Scored, decide_by_rate, decide_by_threshold
from .tables import short, text_table

#: Text that stands for a value that is not known.
UNKNOWN = ("", "unknown", "not known", "not specified", "prefer not to say", "n/a", "na")
#: A category with a smaller share of the people may be left out of the ratios.
SMALL_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class Category:
    """A line of the table.

    Parameters
    ----------
    attributes : str
        "sex", "race", or "sex × race".
    category : str
        "Female", or "Female × Black".
    n, n_chosen : int
        People, and how many of them are selected (or score above the median).
    rate, ratio : Estimate
        The rate, and its ratio to that of the most selected category.
    p_value : float
        Of no difference to the most selected category.
    small : bool
        Whether the category has less than the stated share of the people; it sets no reference.
    """

    attributes: str
    category: str
    n: int
    n_chosen: int
    rate: Estimate
    ratio: Estimate
    p_value: float
    small: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the line as a row of a table."""
        return {
            "attributes": self.attributes,
            "category": self.category,
            "n": self.n,
            "chosen": self.n_chosen,
            **{f"rate_{name}": value for name, value in self.rate.to_dict().items()},
            **{f"ratio_{name}": value for name, value in self.ratio.to_dict().items()},
            "p_value": self.p_value,
            "small": self.small,
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HiringTable(Tabular):
    """Impact ratios of all categories; its table has a line per category.

    Parameters
    ----------
    categories : tuple of Category
    unknown : mapping of str to int
        People without a known category, by attributes; they are in no line.
    rate : {"selection", "scoring"}
        Which rate it is: the share selected, or the share above the median score.
    settings : mapping
    """

    categories: tuple[Category, ...]
    unknown: Mapping[str, int]
    rate: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def _columns(self) -> Mapping[str, list[Any]]:
        rows = [each.to_dict() for each in self.categories]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "categories": [each.to_dict() for each in self.categories],
            "unknown": self.unknown,
            "rate": self.rate,
            "settings": self.settings,
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def hiring_table(
    y_pred: Any,
    attributes: Any,
    *,
    threshold: float | None = None,
    approval_rate: float | None = None,
    approve: str = "high",
    smallest_share: float = SMALL_SHARE,
    confidence: float = 0.95,
) -> HiringTable:
    """Return the impact ratio of every category of several attributes and of their intersections.

    Parameters
    ----------
    y_pred : column of length n
        Scores, or selections 0 and 1 (with ``threshold=0.5``).
    attributes : mapping of str to column, or data frame
        Such as sex and race. A missing value, and text such as "unknown", is an unknown category.
    threshold : float, default=None
        Select scores above it. Without a rule the scoring rate is measured: the share of a
        category above the median score of everyone.
    approval_rate : float, default=None
        Select this share of all people.
    approve : {"high", "low"}, default="high"
        Which end of the score is selected.
    smallest_share : float, default=0.02
        A category with a smaller share of the people is marked, and is no reference.
    confidence : float, default=0.95
        Of each interval on its own.

    Returns
    -------
    HiringTable

    Examples
    --------
    >>> table = hiring_table([1, 1, 1, 0], {"sex": ["m", "m", "f", "f"]}, threshold=0.5)
    >>> [(each.category, each.ratio.estimate) for each in table.categories]
    [('f', 0.5), ('m', 1.0)]
    """
    check_confidence(confidence)
    check_choice(approve, "approve", ENDS)
    check_number(smallest_share, "smallest_share", at_least=0, below=1)
    if threshold is not None and approval_rate is not None:
        raise ValueError("give either threshold or approval_rate: a table has one rate")
    scores = read_numbers(y_pred, "y_pred", kind="numbers: scores, or selections 0 and 1")
    columns = _columns_of(attributes, len(scores))
    nobody = Levels(codes=np.zeros(len(scores), dtype=np.intp), names=("everyone",))
    people = Scored(scores=scores, levels=nobody, approve=approve)
    decision = _decide(people, threshold, approval_rate)
    found: list[Category] = []
    unknown = {}
    for names in _subsets(tuple(columns)):
        title = " × ".join(names)
        labels, known = _cells([columns[name] for name in names])
        unknown[title] = int((~known).sum())
        found += _section(people, decision, title, labels, known, smallest_share, confidence)
    if not found:
        raise ValueError("attributes: every value is unknown")
    return HiringTable(
        categories=tuple(found),
        unknown=unknown,
        rate="scoring" if threshold is None and approval_rate is None else "selection",
        settings={
            "rows": len(scores),
            "rule": decision.rule or "above the median",
            "cut": decision.cut,
            "approve": approve,
            "smallest_share": smallest_share,
            "confidence": confidence,
        },
    )


def _decide(people: Scored, threshold: float | None, rate: float | None) -> Approval:
    if threshold is not None:
        return decide_by_threshold(people, check_number(threshold, "threshold"))
    if rate is not None:
        return decide_by_rate(people, check_number(rate, "approval_rate", above=0, below=1))
    return median_split(people)


def _columns_of(attributes: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return the columns by name, as text, None where a value is unknown."""
    frame = nw.from_native(attributes, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        attributes = {name: frame.get_column(name).to_list() for name in frame.columns}
    if not isinstance(attributes, Mapping) or not attributes:
        raise TypeError("attributes must be a data frame, or map names such as 'sex' to columns")
    found = {}
    for name, values in attributes.items():
        series = nw.from_native(values, series_only=True, pass_through=True)
        listed = series.to_list() if isinstance(series, nw.Series) else np.asarray(values, object)
        column = np.array([_text(each) for each in listed], dtype=object)
        check_length(column, n_rows, f"attributes[{str(name)!r}]", "y_pred")
        found[str(name)] = column
    return found


def _text(value: Any) -> str | None:
    if is_missing(value) or str(value).strip().lower() in UNKNOWN:
        return None
    return str(value).strip()


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each attribute, then each pair, and so on to all of them together."""
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def _cells(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], Mask]:
    """Return the category of each row, and whether all of its parts are known."""
    known = np.all([[each is not None for each in column] for column in columns], axis=0)
    parts = zip(*columns, strict=True)
    labels = np.array([" × ".join(map(str, row)) for row in parts], dtype=object)
    return labels, known


def _section(
    people: Scored,
    decision: Approval,
    title: str,
    labels: NDArray[Any],
    known: Mask,
    smallest_share: float,
    confidence: float,
) -> list[Category]:
    """Return the lines of one attribute or intersection."""
    names = sorted(set(labels[known].tolist()))
    if not names:
        return []
    rates: dict[str, Mean] = {}
    masks: dict[str, Floats] = {}
    for name in names:
        masks[name] = (known & (labels == name)).astype(np.float64)
        rates[name] = rate_above(people, decision, masks[name])
    sizes = {name: int(mask.sum()) for name, mask in masks.items()}
    small = {name: sizes[name] < smallest_share * known.sum() for name in names}
    eligible = [name for name in names if not small[name]] or names
    best = max(eligible, key=lambda name: rates[name].value)
    return [
        Category(
            attributes=title,
            category=name,
            n=sizes[name],
            n_chosen=int(decision.approved[masks[name] > 0].sum()),
            rate=wilson(rates[name], sizes[name], confidence),
            ratio=_ratio(rates[name], rates[best], confidence, same=name == best),
            p_value=float("nan") if name == best else _test(decision, masks[name], masks[best]),
            small=small[name],
        )
        for name in names
    ]


def _ratio(rate: Mean, best: Mean, confidence: float, *, same: bool) -> Estimate:
    return Estimate(1.0, 0.0, 1.0, 1.0) if same else ratio_of(rate, best, confidence)


def _test(decision: Approval, own: Floats, best: Floats) -> float:
    rows = np.flatnonzero((own > 0) | (best > 0))
    levels = Levels(codes=(own[rows] > 0).astype(np.intp), names=("best", "own"))
    pair = Scored(scores=np.zeros(len(rows)), levels=levels)
    return two_rates_test(pair, decision.approved[rows], 1).p_value


def _lines(found: HiringTable) -> Iterator[str]:
    yield f"{found.rate.capitalize()} rates of {found.settings['rows']:,} people"
    rows = [
        (
            short(each.category, 50),
            f"{each.n:,}",
            f"{each.n_chosen:,}",
            number(each.rate.estimate),
            f"{number(each.ratio.estimate)} [{number(each.ratio.low)}, {number(each.ratio.high)}]",
            "small" if each.small else "",
        )
        for each in found.categories
    ]
    yield from text_table(("", "people", "chosen", f"{found.rate} rate", "impact ratio", ""), rows)
    for title, count in found.unknown.items():
        yield f"{short(title)}: {count:,} people of an unknown category are left out."
