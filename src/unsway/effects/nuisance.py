"""Cross-fitted nuisances: the propensity b(X) = P(z=1|X) and the outcome means μ₀(X), μ₁(X).

A row's nuisances come from models that have not seen it. Several models for one nuisance are
short-stacked: their out-of-fold predictions are averaged with the weights that fit best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import Floats, Index, Mask, Reduce
from ..checks import check_integer, check_number
from ..core.arrays import on_host
from ..core.penalty import identity
from ..grouping import MOST_NUMBERS
from ..groups import Groups
from ..rows import Rows
from .class_shares import ClassStacks, MeanModel, check_classes, shares_of_classes
from .fitting import HERE, Fitting
from .learners import Learner, count_models, side_by_side
from .nuisance_models import (
    FEW_ROWS,
    ChainedStacks,
    LevelStacks,
    NuisanceModels,
    Nuisances,
    PropensityModels,
    Stack,
    by_level,
)
from .separation import refuse_separating_columns, separates
from .stacking import stacking_shares

__all__ = [
    "CrossFit",
    "LevelStacks",
    "NuisanceModels",
    "Nuisances",
    "Stack",
    "TooFewRowsError",
]

#: Stacking weights are chosen on so many rows of one process at most.
MOST_STACKING_ROWS = 250_000

#: Fewest rows a sensitive level must have before anything is estimated: one of two, or of more.
MIN_LEVEL_ROWS, MIN_ROWS_OF_MANY = 20, 50


class TooFewRowsError(ValueError):
    """A sensitive level has too few rows for its effects to be estimated.

    Parameters
    ----------
    n_rows : int
        Rows of the level.
    fewest : int
        How many it would need.
    cv : int
        Folds of the cross-fitting.
    rows_of : mapping of str to int, optional
        Rows of each level, where there are three or more.
    """

    def __init__(
        self, n_rows: int, fewest: int, cv: int, rows_of: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(n_rows, fewest, cv, rows_of)
        self.n_rows, self.fewest, self.cv, self.rows_of = n_rows, fewest, cv, rows_of

    def __str__(self) -> str:
        if self.rows_of is not None:
            few = [f"{name!r} {n:,}" for name, n in self.rows_of.items() if n < self.fewest]
            if len(self.rows_of) > MOST_NUMBERS:  # their names may be values of single rows
                few = [f"{len(few)} of {len(self.rows_of)} levels with fewer"]
            return (
                f"at least {self.fewest} rows of each sensitive level are needed, and there are "
                f"{', '.join(few)}. Merge rare levels with groups=Grouping(merge_below="
                f"{self.fewest}), or leave them out with only=[…]"
            )
        return (
            f"a sensitive level has {self.n_rows} rows; at least {self.fewest} are needed to "
            f"estimate effects with cv={self.cv}. Give more rows, or merge the level with another"
        )


@dataclass(frozen=True)
class CrossFit:
    """How nuisances are fitted: with which models, on which folds.

    Parameters
    ----------
    rows : Rows
        What the models are trained on.
    propensity, outcome : tuples of Learner
        Several are stacked; without outcome models the outcome means are NaN.
    folds : array of shape (n,)
        The fold of each row.
    n_folds : int
        A single fold means that models predict the rows they saw.
    clip : float
        The propensity is kept within [clip, 1−clip].
    fitting : Fitting
        Where the models are trained.
    pooled : bool, default=False
        Whether the outcome models are of all groups together; else there is one per group.
    allow_separation : bool, optional
        Whether a warning takes the place of the error where X predicts z nearly exactly; None for a
        caller without that option.
    chain : tuple of CrossFit
        Of several attributes, what fits the propensity of the first, and of each other one given
        those before it.
    """

    rows: Rows = field(repr=False)
    propensity: tuple[Learner, ...]
    outcome: tuple[Learner, ...]
    folds: Index = field(repr=False)
    n_folds: int
    clip: float
    fitting: Fitting = HERE
    pooled: bool = False
    allow_separation: bool | None = None
    chain: tuple[CrossFit, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Rows,
        *,
        propensity_model: Any = None,
        outcome_model: Any = None,
        needs_outcome: bool = True,
        pooled: bool = False,
        cv: int = 5,
        clip: float = 0.01,
        seed: int = 0,
        fitting: Fitting = HERE,
        allow_separation: bool | None = None,
    ) -> Self:
        """Check the settings, encode the table, and assign the folds.

        Labels and weights tell rows apart that are alike in X and z, so that their order does not
        decide their folds.
        """
        reduce, binary = fitting.reduce or identity, rows.outcome.is_label
        _check_settings(rows, cv, clip, seed, reduce)
        fitting.check_table(rows)
        several = rows.groups.attributes is not None
        propensity: tuple[Learner, ...] = ()
        if propensity_model is not None or not several:
            propensity = fitting.learners(
                rows, propensity_model, binary=True, role="propensity_model"
            )
        outcome: tuple[Learner, ...] = ()
        pooled = (pooled or several) and needs_outcome and outcome_model is None
        if pooled:
            outcome = fitting.pooled_learners(rows)
        elif needs_outcome and binary and propensity_model is None and outcome_model is None:
            outcome = propensity  # the same models, which need the table encoded but once
        elif needs_outcome:
            outcome = fitting.learners(rows, outcome_model, binary=binary, role="outcome_model")
        # Workers have a fixed pair of models, and choose by the rows that both were trained on.
        most = max(map(count_models, (propensity, outcome)))
        if cv == 1 and fitting.reduce is None and most > 1:
            raise ValueError(
                "cv=1 predicts the rows a model was trained on, which cannot choose between "
                "models; give one propensity_model and one outcome_model, or raise cv"
            )
        folds = fitting.folds(rows, cv, seed)
        if needs_outcome and rows.outcome.n_classes:
            check_classes(rows, folds, cv, fitting.reduce)
        made = cls(rows, propensity, outcome, folds, cv, clip, fitting, pooled, allow_separation)
        return replace(made, chain=made._chained()) if several and not propensity else made

    def _chained(self) -> tuple[CrossFit, ...]:
        """Return what fits the propensity of each attribute given those before it."""
        first, found = self.rows.with_groups(self.rows.groups.alone()[0]), []
        learners = self.fitting.learners(first, None, binary=True, role="propensity_model")
        found.append(replace(self, rows=first, propensity=learners, outcome=(), pooled=False))
        attributes = self.rows.groups.attributes
        for before, codes in attributes.chain(self.rows.groups.codes) if attributes else ():
            rows = self.rows.with_groups(Groups.combined(before, codes)).with_label(codes > 0)
            pooled = self.fitting.pooled_learners(rows)
            found.append(replace(self, rows=rows, propensity=(), outcome=pooled, pooled=True))
        return tuple(found)

    def fit(self, chosen: Index | None = None) -> Nuisances:
        """Fit on the chosen rows, repeated ones included; a repeated row stays within one fold."""
        return self.fit_models(chosen)[0]

    def fit_models(self, chosen: Index | None = None) -> tuple[Nuisances, NuisanceModels]:
        """Return the rows' nuisances, and the models that predict other rows'."""
        used = np.arange(len(self.rows)) if chosen is None else chosen
        with threadpool_limits(1 if len(used) < FEW_ROWS else None):
            b, propensity = self._propensities(used)
            if chosen is None and (self.propensity or self.chain):
                self._refuse_separating_columns(b)
            means, outcome = self._outcome(used)
        models = NuisanceModels(propensity, outcome, self.clip)
        found = models.nuisances(b, means)
        return replace(found, folds=None if self.n_folds == 1 else self.folds[used]), models

    def fit_repeatedly(self, repeats: int, seed: int) -> Nuisances:
        """Return the mean nuisances of so many cross-fittings, whose folds have seeds of a row."""
        found = [self.fit()]
        for other in range(seed + 1, seed + repeats):
            folds = self.fitting.folds(self.rows, self.n_folds, other)
            found.append(replace(self, folds=folds).fit())
        return Nuisances.average(found)

    def _propensities(self, used: Index) -> tuple[Floats, PropensityModels]:
        """Return P(z=1|X) of two levels, else P(z=l|X) of each, and what predicts it."""
        if self.chain:
            return self._chained_propensities(used)
        each = [
            self._stack(self.propensity, level, used, used >= 0)
            for level in _members(self.rows.groups)
        ]
        if len(each) == 1:
            return each[0]
        stacks = LevelStacks(tuple(stack for _, stack in each))
        return stacks.joined([found for found, _ in each]), stacks

    def _chained_propensities(self, used: Index) -> tuple[Floats, ChainedStacks]:
        """Return the propensity of each combination of attributes, and what predicts it."""
        first, *others = self.chain
        b, stack = first._propensities(used)
        b, stacks = by_level(b), []
        for groups, given in zip(self.rows.groups.alone()[1:], others, strict=True):
            each = [given._outcome_of(target, used) for target in _members(groups)]
            b = ChainedStacks.joined(b, [found for found, _ in each])
            stacks.append(tuple(models[0] for _, models in each))
        return b, ChainedStacks(stack, tuple(stacks))

    def fit_blind(self) -> Floats:
        """Return out-of-fold predictions of y by the outcome models without z: a blind model's."""
        everybody = np.arange(len(self.rows))
        with threadpool_limits(1 if len(everybody) < FEW_ROWS else None):
            return self._stack(self.outcome, self.rows.y, everybody, everybody >= 0)[0]

    def _outcome(self, used: Index) -> tuple[Floats, tuple[MeanModel, ...]]:
        """Return the outcome means in each group, and one stack of all groups or one for each."""
        outcome = self.rows.outcome
        if not outcome.n_classes:
            return self._outcome_of(self.rows.y, used)
        each = [self._outcome_of(target, used) for target in outcome.target.T]
        stacks = ClassStacks([stacks for _, stacks in each])
        return shares_of_classes([means for means, _ in each]), (stacks,)

    def _outcome_of(self, y: Floats, used: Index) -> tuple[Floats, tuple[Stack, ...]]:
        """Return the means of one target, and the models of them."""
        codes = self.rows.groups.codes[used].astype(np.intp)
        if self.pooled:
            means, stack = self._stack(self.outcome, y, used, used >= 0, codes)
            return means, (stack,)
        stacked = [
            self._stack(self.outcome, y, used, codes == level)
            for level in range(self.rows.groups.n_levels)
        ]
        means = np.column_stack([means for means, _ in stacked])
        return means, tuple(stack for _, stack in stacked)

    def _refuse_separating_columns(self, b: Floats) -> None:
        """Raise if X predicts z; a model that saw the rows may have learnt them by heart."""
        rows, reduce, allow = self.rows, self.fitting.reduce, self.allow_separation
        members = [each for groups, _ in rows.groups.estimated for each in _members(groups)]
        each = self._of_members(b)
        if self.n_folds == 1:
            pairs = zip(each, members, strict=True)
            if not any(separates(found, of, rows.weights, reduce) for found, of in pairs):
                return
            folds = self.fitting.folds(rows, 2, 0)
            chain = tuple(replace(one, folds=folds, n_folds=2) for one in self.chain)
            halves = replace(self, folds=folds, n_folds=2, chain=chain)
            each = self._of_members(halves._propensities(np.arange(len(rows)))[0])
        for found, of in zip(each, members, strict=True):
            refuse_separating_columns(
                found, of, rows.weights, rows.columns(), allow=allow, reduce=reduce
            )

    def _of_members(self, b: Floats) -> list[Floats]:
        """Return the propensity of each level that is estimated by itself, as `_members` are."""
        if b.ndim == 1:
            return [b]
        found = [b @ members for _, members in self.rows.groups.estimated]
        return [
            column for each in found for column in (each.T if each.shape[1] > 2 else each.T[1:])
        ]

    def _stack(
        self,
        learners: Sequence[Learner],
        target: Floats,
        chosen: Index,
        usable: Mask,
        level: Index | None = None,
    ) -> tuple[Floats, Stack]:
        """Return the stacked out-of-fold predictions of models trained on the usable rows.

        Models of all groups predict each group's mean; ``level`` is that of each row, whose
        prediction is compared with the target.
        """
        if not learners:
            return np.full(len(chosen), np.nan), Stack((), (), ())
        folds, weights = self.folds[chosen], self.rows.weights
        n_means = 0 if level is None else 1
        predicted: Any = None
        models = []
        for fold in range(self.n_folds):
            test = folds == fold
            train = chosen[usable & ~test] if self.n_folds > 1 else chosen[usable]
            models.append(tuple(learner.fit(target, train, weights) for learner in learners))
            parts = [
                learner.predict_rows(model, chosen[test])
                for learner, model in zip(learners, models[-1], strict=True)
            ]
            part = side_by_side(parts, n_means)
            if predicted is None:
                predicted = np.empty_like(part, order="C", shape=(len(chosen), *part.shape[1:]))
            predicted[np.flatnonzero(test)] = part
        some = self._some(chosen, usable)
        own = on_host(predicted[some])
        own = own if level is None else own[np.arange(len(some)), level[some]]
        shares = stacking_shares(
            own,
            target[chosen[some]],
            self._stacking_weights(chosen[some], None if level is None else level[some]),
            loss=self.rows.outcome.loss if target is self.rows.y else None,
            reduce=self.fitting.reduce,
        )
        encoders = tuple(learner.encode for learner in learners)
        stack = Stack(encoders, tuple(models), tuple(shares.tolist()), n_means)
        return stack.mixed(predicted), stack

    def _some(self, chosen: Index, usable: Mask) -> Index:
        """Return usable rows to choose the stacking weights on: all, or the first in their order.

        The order depends on what rows hold alone, and is arbitrary.
        """
        some = np.flatnonzero(usable)
        if len(some) <= MOST_STACKING_ROWS:
            return some
        if np.array_equal(self.rows.order[chosen[some]], chosen[some]):  # they are in their order
            return some[:MOST_STACKING_ROWS]
        rank = np.empty(len(self.rows), dtype=np.intp)
        rank[self.rows.order] = np.arange(len(self.rows))
        return some[np.argpartition(rank[chosen[some]], MOST_STACKING_ROWS)[:MOST_STACKING_ROWS]]

    def _stacking_weights(self, inside: Index, level: Index | None) -> Floats | None:
        """Return the weights of rows whose predictions are compared with the target.

        Models of all groups are compared by each group's mean in turn, because the fair score gives
        each group the same weight, however few its rows are.
        """
        weights = None if self.rows.weights is None else self.rows.weights[inside]
        if level is None:
            return weights
        weights = np.ones(len(inside)) if weights is None else weights
        totals = np.bincount(level, weights, len(self.rows.groups.levels))
        totals = totals if self.fitting.reduce is None else self.fitting.reduce(totals)
        return np.asarray(weights / totals[level])


def _members(groups: Groups) -> list[Floats]:
    """Return what propensities predict: z of two levels, else whether a row is of each."""
    if groups.two:
        return [groups.z]
    return [(groups.codes == code).astype(np.float64) for code in range(groups.n_levels)]


def _check_settings(rows: Rows, cv: int, clip: float, seed: int, reduce: Reduce) -> None:
    check_integer(cv, "cv", at_least=1)
    check_number(clip, "clip", above=0, below=0.5)  # no row may have an infinite weight
    check_integer(seed, "random_state", at_least=0)
    check_rows_of_levels(rows, cv, reduce)


def check_rows_of_levels(rows: Rows, cv: int = 1, reduce: Reduce = identity) -> None:
    """Raise unless each level has enough rows of some weight to be estimated with so many folds."""
    used = None if rows.weights is None else (rows.weights > 0).astype(np.float64)
    for groups, _ in rows.groups.estimated:
        two = rows.groups.two
        counts, least = reduce(groups.counts(used)), MIN_LEVEL_ROWS if two else MIN_ROWS_OF_MANY
        fewest, count = max(least, 2 * cv), int(counts.min())
        if count < fewest:
            known = dict(zip(groups.names, map(int, counts), strict=True))
            raise TooFewRowsError(count, fewest, cv, None if two else known)
