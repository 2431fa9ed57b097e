"""Propensity and outcome models by the library of the model that is trained.

A logistic regression comes first, and boosted trees start from its margin: they have only to add
what is not linear. Both are stacked, so that the trees count as far as they predict better. Where
rows are spread over workers the same code trains on all of them, with sums over the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import Codes, Floats, Index, Reduce
from ..core import LogLoss, Objective, Penalty
from ..core.newton import LinearProblem
from ..effects import Fitting
from ..effects.encoding import TableEncoder
from ..effects.learners import FittedModel, Learner, add_interactions, interaction_margin
from ..rows import Rows
from ..tables import CodedTable, EngineTable, check_table
from .engine import BoosterSettings, Engine, TreeShape

_CONVERGED = 1e-7  # of the gradient of the logistic regression


@dataclass(frozen=True, kw_only=True)
class NuisanceTrees:
    """The trees of the nuisances.

    Parameters
    ----------
    propensity : TreeShape
        Of the propensity.
    common : TreeShape
        Of the outcome means: what all groups have in common.
    effect : TreeShape
        Of the outcome means: what the groups differ by.
    """

    propensity: TreeShape = field(default=TreeShape(n_trees=50, learning_rate=0.2, depth=2))
    common: TreeShape = field(default=TreeShape(n_trees=80, learning_rate=0.2, depth=3))
    effect: TreeShape = field(default=TreeShape(n_trees=40, learning_rate=0.2, depth=3))

    def with_count(self, n_trees: int | None) -> NuisanceTrees:
        """Return trees of the same shapes, each part with so many; None changes nothing."""
        if n_trees is None:
            return self
        shapes = {each.name: getattr(self, each.name) for each in fields(self)}
        return NuisanceTrees(
            **{name: replace(shape, n_trees=n_trees) for name, shape in shapes.items()}
        )


class EngineFitting(Fitting):
    """Training of propensity and outcome models by an engine.

    Parameters
    ----------
    engine : Engine
        The boosting library.
    settings : BoosterSettings
        Its threads and its device.
    trees : NuisanceTrees, optional
        The trees.
    linear : bool, default=True
        Whether there is a regression; else the trees start from the share of ones.
    reduce : callable, optional
        Sums a small array over the workers that share the rows.
    """

    def __init__(
        self,
        engine: Engine,
        settings: BoosterSettings,
        *,
        trees: NuisanceTrees | None = None,
        linear: bool = True,
        reduce: Reduce | None = None,
    ) -> None:
        self.engine, self.settings = engine, settings
        self.trees = NuisanceTrees() if trees is None else trees
        self.linear, self.reduce = linear, reduce
        self._last: tuple[Rows, Design] | None = None

    def learners(self, rows: Rows, models: Any, *, binary: bool, role: str) -> tuple[Learner, ...]:
        """Return a user's model, or several to be stacked; None gives the default."""
        if models is not None or not binary:
            return super().learners(rows, models, binary=binary, role=role)
        return (self.regression(rows, (self.trees.propensity,)),)

    def pooled_learners(self, rows: Rows) -> tuple[Learner, ...]:
        """Return the default outcome models of all groups together."""
        shapes = (self.trees.common, self.trees.effect)
        return (self.regression(rows, shapes, rows.groups.codes),)

    def regression(
        self, rows: Rows, shapes: tuple[TreeShape, ...], codes: Codes | None = None
    ) -> BoostedRegression:
        """Return a learner of these rows, which are encoded and binned once for all learners."""
        if self._last is None or self._last[0] is not rows:
            self._last = rows, Design.of(rows, self.engine, self.settings, self.reduce)
        linear = self.linear or not shapes
        return BoostedRegression(
            design=self._last[1], shapes=shapes, codes=codes, linear=linear, reduce=self.reduce
        )


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Reads a table as both models take it.

    Parameters
    ----------
    numbers : TableEncoder
        For the regression.
    layout : EngineTable
        For the trees.
    """

    numbers: TableEncoder
    layout: EngineTable

    def __call__(self, X: Any) -> tuple[Any, CodedTable]:
        """Return the encoded columns, and the coded ones."""
        return self.numbers.transform(X), self.layout.code(X)


@dataclass(frozen=True, kw_only=True)
class Design:
    """Rows as both models take them, binned once for each set of rows that is trained on.

    Parameters
    ----------
    encode : Encoder
        Reads other tables.
    encoded : matrix of shape (n, p)
        Columns for the regression.
    coded : CodedTable
        Columns for the trees.
    engine, settings : Engine, BoosterSettings
        What bins rows and grows trees.
    """

    encode: Encoder
    encoded: Any = field(repr=False)
    coded: CodedTable = field(repr=False)
    engine: Engine
    settings: BoosterSettings
    _binned: dict[bytes, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, rows: Rows, engine: Engine, settings: BoosterSettings, reduce: Reduce | None
    ) -> Design:
        """Encode rows for both models."""
        X = rows.X if isinstance(rows.X, CodedTable) else check_table(rows.X)
        layout = X.layout if isinstance(X, CodedTable) else EngineTable.of(X)
        encode = Encoder(numbers=TableEncoder(reduce).fit(X), layout=layout)
        encoded, coded = encode(X)
        encode.numbers.reduce = None  # kept models need no workers: what was summed is known
        return cls(encode=encode, encoded=encoded, coded=coded, engine=engine, settings=settings)

    def binned(self, rows: Index, weights: Floats | None) -> Any:
        """Return the chosen rows as the engine bins them; the last label and margin are on them."""
        key = rows.tobytes()
        if key not in self._binned:
            table = CodedTable(self.coded.matrix[rows], self.coded.layout)
            self._binned[key] = self.engine.bin_rows(self.settings, table, weights)
        return self._binned[key]


@dataclass(frozen=True, kw_only=True)
class BoostedRegression:
    """A logistic regression, and trees of an engine that start from its margin.

    Without ``codes`` it is a model of one mean. With them it is a model of the means of two groups,
    whose trees have two parts, g and h, of X alone::

        margin = regression(X, z) + g(X) + (2z − 1)·h(X)

    g is grown on the labels. h is what the groups differ by: it is grown on labels and margins with
    the sign of their group, because the log-loss of y at m − h is that of 1 − y at −m + h.

    Parameters
    ----------
    design : Design
        The rows.
    shapes : tuple of TreeShape
        Of the trees: one, or g and h for models of all groups; none for the regression alone.
    codes : array of int of shape (n,), optional
        The group of each row, for models of all groups.
    linear : bool, default=True
        Whether there is a regression; else the trees start from the share of ones.
    reduce : callable, optional
        Sums a small array over the workers that share the rows.
    """

    design: Design
    shapes: tuple[TreeShape, ...]
    codes: Codes | None = field(default=None, repr=False)
    linear: bool = True
    reduce: Reduce | None = None

    @property
    def encode(self) -> Encoder:
        """What returns another table as the models read it."""
        return self.design.encode

    @property
    def n_models(self) -> int:
        """How many models it trains: one or two."""
        return self.linear + bool(self.shapes)

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedBoostedRegression:
        """Return both models, trained on these rows."""
        target, encoded = target[rows], self.design.encoded[rows]
        weights = None if weights is None else weights[rows]
        codes = None if self.codes is None else self.codes[rows]
        objective = Objective(
            LogLoss(), target, penalty=Penalty.none(len(rows), self.reduce), sample_weight=weights
        )
        joined = encoded if codes is None else add_interactions(encoded, codes)
        coefficients = (_regression if self.linear else _log_odds)(objective, joined)
        fitted = FittedBoostedRegression(
            coefficients=coefficients,
            boosters=(),
            pooled=codes is not None,
            linear=self.linear,
            engine=self.design.engine,
            n_jobs=self.design.settings.n_jobs,
        )
        margin = np.asarray(joined @ coefficients[:-1] + coefficients[-1])
        return replace(fitted, boosters=self._grow(fitted, rows, (target, weights, codes), margin))

    def _grow(
        self,
        fitted: FittedBoostedRegression,
        rows: Index,
        columns: tuple[Floats, Floats | None, Codes | None],
        margin: Floats,
    ) -> tuple[Any, ...]:
        """Return the boosters that start from a margin."""
        if not self.shapes:
            return ()
        (target, weights, codes), design = columns, self.design
        binned = design.binned(rows, weights)
        first = design.engine.grow(design.settings, self.shapes[0], binned, target, margin)
        if codes is None:
            return (first,)
        table = CodedTable(design.coded.matrix[rows], design.coded.layout)
        margin = margin + design.engine.margin(first, table, design.settings.n_jobs)
        sign = 2.0 * codes - 1
        turned = np.where(codes == 1, target, 1 - target)
        second = design.engine.grow(design.settings, self.shapes[1], binned, turned, sign * margin)
        return first, second

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        coded = CodedTable(self.design.coded.matrix[rows], self.design.coded.layout)
        return model.predict((self.design.encoded[rows], coded))


@dataclass(frozen=True, kw_only=True)
class FittedBoostedRegression:
    """A trained logistic regression, and the trees that start from it.

    Parameters
    ----------
    coefficients : array
        Of the regression, the intercept last.
    boosters : tuple
        The trees; for models of all groups g and h (see `BoostedRegression`).
    pooled : bool
        Whether it is a model of the means of both groups.
    linear : bool
        Whether the regression is a model of its own.
    engine : Engine
        What reads the boosters.
    n_jobs : int, optional
        Its threads.
    """

    coefficients: Floats = field(repr=False)
    boosters: tuple[Any, ...]
    pooled: bool
    linear: bool
    engine: Engine
    n_jobs: int | None = None

    def predict(self, table: tuple[Any, CodedTable], /) -> Floats:
        """Return the means of each row: of shape (n, n_models), or (n, n_levels, n_models)."""
        encoded, coded = table
        grown = [self.engine.margin(booster, coded, self.n_jobs) for booster in self.boosters]
        if not self.pooled:
            margin = np.asarray(encoded @ self.coefficients[:-1] + self.coefficients[-1])
            return self._means(margin, grown)
        levels = [
            self._means(
                interaction_margin(encoded, self.coefficients, level),
                [part if number == 0 or level == 1 else -part for number, part in enumerate(grown)],
            )
            for level in (0, 1)
        ]
        return np.stack(levels, axis=1)

    def _means(self, margin: Floats, grown: Sequence[Floats]) -> Floats:
        """Return the mean of the regression, and that with the trees if there are any."""
        margins = [margin, sum(grown, margin)] if grown else [margin]
        return np.asarray(expit(np.column_stack(margins[not self.linear :])))


def _regression(objective: Objective, design: Any) -> Floats:
    """Minimise Σ w·log-loss + ½‖β‖² over the rows of all processes, the intercept free."""
    l2 = 1 / max(objective.total_weight, 1e-12)
    return LinearProblem(objective, design, l2).minimize(tol=_CONVERGED).weights


def _log_odds(objective: Objective, design: Any) -> Floats:
    """Return the intercept that alone fits best, below coefficients of 0."""
    weights = objective.sample_weight
    ones = objective.target.sum() if weights is None else weights @ objective.target
    total = max(objective.total_weight, 1e-12)
    share = np.clip(objective.penalty.reduce(np.array([ones]))[0] / total, 1e-4, 1 - 1e-4)
    return np.append(np.zeros(design.shape[1]), np.log(share / (1 - share)))
