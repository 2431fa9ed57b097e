"""The share of people whose decision depends on which of several models is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._typing import Mask
from ..checks import check_number, read_numbers
from ..effects.estimate import Estimate, check_confidence
from ..frames import Tabular, plain
from .scored import Scored, decide_by_rate, decide_by_threshold
from .swaps import shares_of


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Flips(Tabular):
    """The share of people whose decision depends on the model; a row per pair of models and level.

    Parameters
    ----------
    pairs : mapping of (str, str) to mapping of str to Estimate
        By pair of models and by level, "overall" first: the share whose decision differs.
    any : mapping of str to Estimate
        The share that not all models decide alike.
    """

    pairs: Mapping[tuple[str, str], Mapping[str, Estimate]]
    any: Mapping[str, Estimate]

    def _columns(self) -> Mapping[str, list[Any]]:
        rows = [
            {"models": f"{first} / {second}", "level": level, **each.to_dict()}
            for (first, second), levels in self.pairs.items()
            for level, each in levels.items()
        ]
        rows += [{"models": "any", "level": name, **e.to_dict()} for name, e in self.any.items()]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        columns = self._columns()
        return {
            "flips": [
                dict(zip(columns, map(plain, row), strict=True))
                for row in zip(*columns.values(), strict=True)
            ]
        }

    def __repr__(self) -> str:
        share = self.any["overall"]
        return f"{100 * share.estimate:.1f} % of the people are not decided alike by all models"


def decision_flips(
    y_pred: Mapping[str, Any],
    *,
    sensitive_features: Any,
    threshold: float | None = None,
    approval_rate: float | None = None,
    approve: str = "high",
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> Flips:
    """Return how many people several models decide differently, such as refits with other seeds.

    Parameters
    ----------
    y_pred : mapping of str to column
        Each model's scores of the same rows by its name; two models or more.
    sensitive_features : column
        The level of each row, any number of levels.
    threshold : float, default=None
        Approve scores above it; .5 if no rule is given.
    approval_rate : float, default=None
        Each model approves this share of the people.
    approve : {"high", "low"}, default="high"
        Which end of the scores is approved.
    sample_weight : column, default=None
        Weights of the rows.
    confidence : float, default=0.95
        Of each interval on its own (Wilson).

    Returns
    -------
    Flips

    Examples
    --------
    >>> scores = {"a": [0.9, 0.8, 0.2, 0.1], "b": [0.9, 0.2, 0.8, 0.1]}
    >>> decision_flips(scores, sensitive_features=[0, 0, 1, 1]).any["overall"].estimate
    0.5
    """
    if not isinstance(y_pred, Mapping) or len(y_pred) < 2:
        raise ValueError("y_pred must map at least two models' names to their scores")
    if threshold is not None and approval_rate is not None:
        raise ValueError("give either threshold or approval_rate")
    check_confidence(confidence)
    people, decisions = None, {}
    for name, scores in y_pred.items():
        checked = Scored.check(
            None, read_numbers(scores, f"y_pred[{str(name)!r}]"), sensitive_features,
            approve=approve, must_state=False, sample_weight=sample_weight,
        )  # fmt: skip
        people = people or checked
        if approval_rate is not None:
            rate = check_number(approval_rate, "approval_rate", above=0, below=1)
            decisions[str(name)] = decide_by_rate(checked, rate).approved
        else:
            limit = check_number(0.5 if threshold is None else threshold, "threshold")
            decisions[str(name)] = decide_by_threshold(checked, limit).approved
    assert people is not None  # noqa: S101
    stacked = np.array(list(decisions.values()))
    mixed: Mask = np.asarray(stacked.any(axis=0) & ~stacked.all(axis=0))
    return Flips(
        pairs={
            (one, two): shares_of(people, decisions[one] != decisions[two], confidence)
            for one, two in combinations(decisions, 2)
        },
        any=shares_of(people, mixed, confidence),
    )
