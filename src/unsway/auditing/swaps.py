"""Champion and challenger: who enters, who leaves, and with which outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._typing import Floats, Mask
from ..checks import check_integer, check_length, check_number
from ..effects.estimate import Estimate, check_confidence, check_replicates
from ..effects.influence import Mean
from ..frames import Tabular, plain
from ..grouping import Grouping, check_grouping
from .impact_estimates import wilson
from .numbers import number, signed
from .scored import Scored, decide_by_rate
from .tables import short, text_table

#: What happens to a person when the challenger replaces the champion.
SETS = ("approved by both", "enters", "leaves", "approved by neither")


@dataclass(frozen=True, kw_only=True)
class SwapCell:
    """People of one set and one level.

    Parameters
    ----------
    set : str
        One of `SETS`.
    level : str
        The level, or "overall".
    n : int
        People.
    share : Estimate
        Their share of the level's people.
    bad_rate : Estimate
        The share of bad labels among them; NaN where the set is empty.
    """

    set: str
    level: str
    n: int
    share: Estimate
    bad_rate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as a row of a table."""
        return {
            "set": self.set,
            "level": self.level,
            "n": self.n,
            **{f"share_{name}": value for name, value in self.share.to_dict().items()},
            **{f"bad_rate_{name}": value for name, value in self.bad_rate.to_dict().items()},
        }


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SwapSets(Tabular):
    """What a challenger changes; its table has a row per set and level.

    Parameters
    ----------
    cells : tuple of SwapCell
    figures : mapping of str to mapping of str to Estimate
        Of "champion", "challenger" and "difference" (challenger minus champion, paired): approval
        rate and bad rate, overall and by level, and the adverse impact ratio of each level.
    flips : mapping of str to Estimate
        The share of people whose decision differs, overall and by level.
    rule : str
        How the people are approved.
    settings : mapping
    """

    cells: tuple[SwapCell, ...]
    figures: Mapping[str, Mapping[str, Estimate]]
    flips: Mapping[str, Estimate]
    rule: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def cell(self, set: str, level: str = "overall") -> SwapCell:  # noqa: A002
        """Return the people of a set and level."""
        for each in self.cells:
            if (each.set, each.level) == (set, level):
                return each
        raise KeyError(f"there is no set {set!r} of {level!r}; sets are {', '.join(SETS)}")

    def _columns(self) -> Mapping[str, list[Any]]:
        rows = [each.to_dict() for each in self.cells]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "rule": self.rule,
            "cells": [each.to_dict() for each in self.cells],
            "figures": {
                model: {name: each.to_dict() for name, each in known.items()}
                for model, known in self.figures.items()
            },
            "flips": {name: each.to_dict() for name, each in self.flips.items()},
            "settings": self.settings,
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def swap_sets(
    y_true: Any,
    champion: Any,
    challenger: Any,
    *,
    sensitive_features: Any,
    groups: Grouping | None = None,
    approval_rate: float | None = None,
    bad_rate: float | None = None,
    approve: str | None = None,
    sample_weight: Any = None,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    random_state: int = 0,
) -> SwapSets:
    """Compare who two models approve, at an equal approval rate or at an equal bad rate.

    Parameters
    ----------
    y_true : column of length n
        Labels 0 and 1. Where high scores are approved 0 is the bad label, where low scores are, 1.
    champion, challenger : column of length n
        The scores of the present and of the new model.
    sensitive_features : column of length n
        The level of each row, any number of levels.
    groups : Grouping, default=None
        ``Grouping(reference=…)`` states the reference of the adverse impact ratios.
    approval_rate : float, default=None
        Each model approves this share of the people.
    bad_rate : float, default=None
        Each model approves as many people as it can with at most this share of bad labels among
        them. The cuts are found on the same rows, which flatters both models alike.
    approve : {"high", "low"}, default=None
        Which end of the scores is approved; high by default.
    sample_weight : column of length n, default=None
        Weights of the rows.
    n_bootstrap : int, default=200
        Resamples of the rows for the intervals of ``figures``; each finds the cuts anew.
    confidence : float, default=0.95
        Of each interval on its own.
    random_state : int, default=0
        Seed of the resamples.

    Returns
    -------
    SwapSets

    Examples
    --------
    >>> found = swap_sets([1, 0, 1, 0], [0.9, 0.8, 0.2, 0.1], [0.9, 0.2, 0.8, 0.1],
    ...                   sensitive_features=[0, 0, 1, 1], approval_rate=0.5, n_bootstrap=2)
    >>> found.cell("enters").n, found.cell("enters").bad_rate.estimate
    (1, 0.0)
    >>> found.flips["overall"].estimate
    0.5
    """
    check_confidence(confidence)
    check_replicates(n_bootstrap)
    check_integer(random_state, "random_state", at_least=0)
    if (approval_rate is None) == (bad_rate is None):
        raise ValueError("give either approval_rate or bad_rate: at which the models are equal")
    reference = check_grouping(groups).reference
    pair = [
        Scored.check(
            y_true, scores, sensitive_features, reference=reference, approve=approve,
            sample_weight=sample_weight,
        )
        for scores in (champion, challenger)
    ]  # fmt: skip
    if pair[0].y is None:
        raise TypeError("y_true is None; the outcomes of those who enter and leave need labels")
    check_length(pair[1].scores, len(pair[0]), "challenger", "champion")
    bad = 1 - pair[0].y if pair[0].approve == "high" else pair[0].y
    if approval_rate is not None:
        check_number(approval_rate, "approval_rate", above=0, below=1)
        rule, approve_by = f"approval rate {approval_rate:g}", partial(_by_rate, approval_rate)
    else:
        assert bad_rate is not None  # noqa: S101
        check_number(bad_rate, "bad_rate", above=0, below=1)
        rule, approve_by = f"bad rate {bad_rate:g}", partial(_by_bad_rate, bad_rate, bad)
    approved = [approve_by(people, people.w) for people in pair]
    return SwapSets(
        cells=tuple(_cells(pair[0], bad, approved, confidence)),
        figures=_figures(pair, bad, approve_by, n_bootstrap, confidence, random_state),
        flips=shares_of(pair[0], approved[0] != approved[1], confidence),
        rule=rule,
        settings={"rows": len(pair[0]), "approve": pair[0].approve, "confidence": confidence},
    )


def _by_rate(rate: float, people: Scored, weights: Floats) -> Mask:
    """Return who is approved at a rate, for rows of these weights."""
    used = replace(people, weights=weights)
    return decide_by_rate(used, rate).approved


def _by_bad_rate(rate: float, bad: Floats, people: Scored, weights: Floats) -> Mask:
    """Return the most people with a share of bad labels of at most the rate; perhaps none."""
    values, place = np.unique(-people.oriented, return_inverse=True)
    place = place.ravel()
    mass = np.cumsum(np.bincount(place, weights, len(values)))
    bads = np.cumsum(np.bincount(place, weights * bad, len(values)))
    fine = np.flatnonzero((mass > 0) & (bads <= rate * mass * (1 + 1e-12)))
    if not len(fine):
        return np.zeros(len(people), dtype=bool)
    return np.asarray(place <= fine[-1])


def _cells(
    people: Scored, bad: Floats, approved: list[Mask], confidence: float
) -> Iterator[SwapCell]:
    before, after = approved
    masks = (before & after, ~before & after, before & ~after, ~before & ~after)
    for name, mask in zip(SETS, masks, strict=True):
        for level, inside in _levels(people):
            chosen = mask & (inside > 0)
            share = Mean.average(mask.astype(np.float64), inside)
            rate = Estimate(*[float("nan")] * 4)
            if chosen.any():
                weights = np.where(chosen, people.w, 0.0)
                rate = wilson(Mean.average(bad, weights), int(chosen.sum()), confidence)
            yield SwapCell(
                set=name,
                level=level,
                n=int(chosen.sum()),
                share=wilson(share, int((inside > 0).sum()), confidence),
                bad_rate=rate,
            )


def _levels(people: Scored) -> Iterator[tuple[str, Floats]]:
    yield "overall", people.w
    for level, name in enumerate(people.levels.names):
        yield name, people.inside(level)


def shares_of(people: Scored, mask: Mask, confidence: float) -> dict[str, Estimate]:
    """Return the share of a mask overall and in each level."""
    return {
        name: wilson(
            Mean.average(mask.astype(np.float64), inside), int((inside > 0).sum()), confidence
        )
        for name, inside in _levels(people)
    }


def _figures(
    pair: list[Scored], bad: Floats, approve_by: Any, n_bootstrap: int, confidence: float, seed: int
) -> dict[str, dict[str, Estimate]]:
    """Return the figures of both models and their paired differences, by a bootstrap of rows."""
    names, point = _both(pair, bad, approve_by, np.ones(len(bad)))
    draws = []
    for replicate in range(n_bootstrap):
        rng = np.random.default_rng([seed, replicate, 0x5A7])
        counts = np.bincount(rng.integers(len(bad), size=len(bad)), minlength=len(bad))
        draws.append(_both(pair, bad, approve_by, counts.astype(np.float64))[1])
    found = np.array(draws)
    ends = (1 - confidence) / 2, (1 + confidence) / 2
    result: dict[str, dict[str, Estimate]] = {}
    for position, model in enumerate(("champion", "challenger", "difference")):
        result[model] = {}
        for k, name in enumerate(names):
            column = found[:, position, k]
            known = column[np.isfinite(column)]
            low, high = np.quantile(known, ends) if len(known) > 1 else (np.nan, np.nan)
            se = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
            value = float(point[position, k])
            result[model][name] = Estimate(value, se, float(low), float(high))
    return result


def _both(
    pair: list[Scored], bad: Floats, approve_by: Any, counts: Floats
) -> tuple[list[str], Floats]:
    """Return the names of the figures, and those of champion, challenger and difference."""
    rows = []
    for people in pair:
        approved = approve_by(people, people.w * counts)
        figures = _of_model(people, bad, approved, counts)
        rows.append(list(figures.values()))
    found = np.array([*rows, np.subtract(rows[1], rows[0])])
    return list(figures), found


def _of_model(people: Scored, bad: Floats, approved: Mask, counts: Floats) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, inside in _levels(people):
        weights = inside * counts
        chosen = weights * approved
        found[f"approval_rate {name}"] = _over(chosen.sum(), weights.sum())
        found[f"bad_rate {name}"] = _over(float(chosen @ bad), chosen.sum())
    base = found[f"approval_rate {people.levels.names[people.levels.reference]}"]
    for level in people.levels.others:
        name = people.levels.names[level]
        found[f"adverse_impact_ratio {name}"] = _over(found[f"approval_rate {name}"], base)
    return found


def _over(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _lines(found: SwapSets) -> Iterator[str]:
    yield f"Challenger against champion on {found.settings['rows']:,} people, {found.rule}"
    yield from text_table(
        ("", "people", "bad rate"),
        (
            (
                short(f"{each.set} · {each.level}", 60),
                f"{each.n:,}",
                f"{number(each.bad_rate.estimate)} "
                f"[{number(each.bad_rate.low)}, {number(each.bad_rate.high)}]",
            )
            for each in found.cells
        ),
    )
    yield from text_table(
        ("", "champion", "challenger", "difference"),
        (
            (
                short(name, 60),
                number(found.figures["champion"][name].estimate),
                number(found.figures["challenger"][name].estimate),
                f"{signed(each.estimate)} [{signed(each.low)}, {signed(each.high)}]",
            )
            for name, each in found.figures["difference"].items()
        ),
    )
    flips = found.flips["overall"]
    yield f"{100 * flips.estimate:.1f} % of the decisions differ."
