"""The choice among candidates on validation rows, and the one look at test rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from .._typing import Floats
from ..auditing.flips import Flips, decision_flips
from ..auditing.swaps import SwapSets, swap_sets
from ..effects import Estimate
from ..effects.estimate import simultaneous_factor
from ..effects.influence import covariance
from ..frames import plain
from .candidate import AXES, Candidate, Yardstick, as_ratio
from .judge import judge_of

if TYPE_CHECKING:
    from .random_search import Search

#: A limit is kept if it is missed by no more than this.
_ROUNDING = 1e-12


def choose(
    candidates: Sequence[Candidate], *, champion: Candidate, settings: Mapping[str, Any]
) -> list[Candidate]:
    """Return the allowed candidates that are better than the champion on the axis, best first.

    Allowed are those whose utility on validation rows is at most the stated loss below the
    champion's. Of equals the more useful one is first.
    """
    axis, utility = settings["axis"], settings["utility"]
    least = champion.value(utility) - settings["max_utility_loss"] - _ROUNDING
    before = standing(champion, axis)
    allowed = [
        each
        for each in candidates
        if not each.error and each.value(utility) >= least and standing(each, axis) > before
    ]
    return sorted(allowed, key=lambda each: (-standing(each, axis), -each.value(utility)))


def standing(candidate: Candidate, axis: str) -> float:
    """Return a number that is larger for a better candidate: the ratio, or −|effect|."""
    value = candidate.value(axis)
    if math.isnan(value):
        return -math.inf
    return value if axis == AXES[0] else -abs(value)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the test rows say, looked at once after the choice.

    Parameters
    ----------
    test : mapping of str to mapping of str to Estimate
        By name of champion and finalists: measures, each with its own interval.
    simultaneous : mapping of str to mapping of str to Estimate
        The same of utility and adverse impact, with intervals that hold for all finalists at once.
    against_champion : mapping of str to mapping of str to Estimate
        Of each finalist: its measures minus the champion's, paired; of the adverse impact ratio the
        quotient.
    validation : mapping of str to Estimate
        Of the winner, on the rows it was chosen on, as if it had not been chosen: too good.
    corrected : mapping of str to Estimate
        The same with intervals for the best of all candidates (Bonferroni).
    swaps : mapping of str to SwapSets
        Of each finalist against the champion, on test rows.
    flips : Flips or None
        Between finalists.
    seeds : Flips or None
        Between the winner and refits of it with other seeds.
    rows : int
        Test rows.
    """

    test: Mapping[str, Mapping[str, Estimate]]
    simultaneous: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    against_champion: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    validation: Mapping[str, Estimate] = field(default_factory=dict)
    corrected: Mapping[str, Estimate] = field(default_factory=dict)
    swaps: Mapping[str, SwapSets] = field(default_factory=dict)
    flips: Flips | None = None
    seeds: Flips | None = None
    rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        tables = ("test", "simultaneous", "against_champion")
        found: dict[str, Any] = {
            name: {model: _dicts(each) for model, each in getattr(self, name).items()}
            for name in tables
        }
        found |= {name: _dicts(getattr(self, name)) for name in ("validation", "corrected")}
        found["swaps"] = {name: each.to_dict() for name, each in self.swaps.items()}
        found["flips"] = self.flips and self.flips.to_dict()
        found["seeds"] = self.seeds and self.seeds.to_dict()
        found["rows"] = self.rows
        return dict(plain(found))


def _dicts(estimates: Mapping[str, Estimate]) -> dict[str, dict[str, float]]:
    return {name: each.to_dict() for name, each in estimates.items()}


def judge_finalists(
    search: Search, champion: Candidate, finalists: Sequence[Candidate], n_tried: int, n_seeds: int
) -> Judged:
    """Look at the test rows, once."""
    confidence, utility = (search.settings[name] for name in ("confidence", "utility"))
    yardstick = _of_test_rows(search)
    scores = {each.name: search.scores(each, search.test.X) for each in (champion, *finalists)}
    test = {name: yardstick.estimates(each, confidence) for name, each in scores.items()}
    if not finalists:
        return Judged(test=test, rows=len(search.test))
    winner, bench = finalists[0], search.bench
    chosen = search.scores(winner, bench.validation.X)
    wide = float(stats.norm.ppf(1 - (1 - confidence) / (2 * n_tried)))
    seeds = _refits(search, winner, scores[winner.name], n_seeds)
    return Judged(
        test=test,
        simultaneous=_simultaneous(yardstick, scores, finalists, utility, confidence),
        against_champion=_against(yardstick, scores, champion.name, confidence),
        validation=bench.yardstick.estimates(chosen, confidence),
        corrected=bench.yardstick.estimates(chosen, confidence, wide),
        swaps={
            each.name: _swaps(search, scores[champion.name], scores[each.name])
            for each in finalists
        },
        flips=_flips({each.name: scores[each.name] for each in finalists}, search, yardstick),
        seeds=_flips(seeds, search, yardstick),
        rows=len(search.test),
    )


def _of_test_rows(search: Search) -> Yardstick:
    """Return how the scores of test rows are measured."""
    found = replace(
        search.bench.yardstick,
        rows=search.test.with_table(None),
        profit=search.test_profit,
        judge=None,
    )
    if search.settings["effects"] is None:
        return found
    judge, note = judge_of(search.test, search.settings["effects"], "test")
    search.notes += [note] if note is not None else []
    return replace(found, judge=judge)


def _swaps(search: Search, champion: Floats, challenger: Floats) -> SwapSets:
    settings, test = search.settings, search.test
    return swap_sets(
        test.y,
        champion,
        challenger,
        sensitive_features=test.groups.codes,
        approval_rate=settings["approval_rate"],
        approve=settings["approve"],
        sample_weight=test.weights,
        n_bootstrap=100,
        confidence=settings["confidence"],
    )


def _refits(search: Search, winner: Candidate, scores: Floats, n_seeds: int) -> dict[str, Floats]:
    """Return the winner's test scores, and those of refits with other seeds."""
    found = {"winner": scores}
    for number in range(1, n_seeds + 1):
        draw = replace(winner.draw, seed=winner.draw.seed + number)
        model = search.bench.fit(draw)
        found[f"seed + {number}"] = search.bench.scores(model, draw, search.test.X)
    return found


def _flips(scores: Mapping[str, Floats], search: Search, yardstick: Yardstick) -> Flips | None:
    if len(scores) < 2:
        return None
    return decision_flips(
        scores, sensitive_features=search.test.groups.codes, approve=yardstick.approve,
        approval_rate=yardstick.approval_rate, sample_weight=search.test.weights,
    )  # fmt: skip


def _simultaneous(
    yardstick: Yardstick,
    scores: Mapping[str, Floats],
    finalists: Sequence[Candidate],
    utility: str,
    confidence: float,
) -> dict[str, dict[str, Estimate]]:
    """Return utility and adverse impact of the finalists with intervals that hold all at once."""
    means = {
        (each.name, name): mean
        for each in finalists
        for name, mean in yardstick.influences(scores[each.name]).items()
        if name in (utility, AXES[0])
    }
    spread = covariance(np.column_stack([mean.influence for mean in means.values()]))
    factor = simultaneous_factor(spread, confidence)
    found: dict[str, dict[str, Estimate]] = {each.name: {} for each in finalists}
    for (model, name), mean in means.items():
        half = factor * mean.se
        each = Estimate(mean.value, mean.se, mean.value - half, mean.value + half)
        found[model][name] = as_ratio(each) if name == AXES[0] else each
    return found


def _against(
    yardstick: Yardstick, scores: Mapping[str, Floats], champion: str, confidence: float
) -> dict[str, dict[str, Estimate]]:
    """Return each finalist's measures less the champion's, with paired intervals."""
    base = yardstick.influences(scores[champion])
    found: dict[str, dict[str, Estimate]] = {}
    for model, each in scores.items():
        if model == champion:
            continue
        found[model] = {}
        for name, mean in yardstick.influences(each).items():
            if name in base:
                gap = mean - base[name]
                value = Estimate.normal(gap.value, gap.se, confidence)
                found[model][name] = as_ratio(value) if name == AXES[0] else value
    return found
