"""A regression of all levels together, and trees of an engine that start from its margin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Codes, Floats, Index, Reduce
from ..core import LogLoss, Loss
from ..core.arrays import on_host
from ..effects.learners import FittedModel, linear_margin
from ..effects.level_columns import LevelColumns, LevelInteractions
from ..tables import CodedTable
from .boosted_regression import (
    Design,
    Encoder,
    fit_constant,
    fit_regression,
    objective_of,
)
from .engine import Engine, TreeShape
from .number_trees import signed_derivatives


@dataclass(frozen=True, kw_only=True)
class LevelRegression:
    """A model of E[y|X, z] of three or more levels: a regression, and trees that start from it.

    ::

        margin = regression(X, z) + g(X, z)

    The regression has products of X and the levels (see `LevelInteractions`); the trees read X and
    the columns of the levels. Both are trained on all levels together: a level of few rows borrows
    from the others.

    Parameters
    ----------
    design : Design
        The rows without their levels.
    shape : TreeShape
        Of the trees.
    codes : array of int of shape (n,)
        The level of each row.
    levels : array of shape (n_levels, k)
        The columns of each level.
    linear : bool, default=True
        Whether there is a regression; else the trees start from the mean.
    reduce : callable, optional
        Sums a small array over the workers that share the rows.
    loss : Loss, default=LogLoss()
        Of the mean.
    """

    design: Design
    shape: TreeShape
    codes: Codes = field(repr=False)
    levels: Floats = field(repr=False)
    linear: bool = True
    reduce: Reduce | None = None
    loss: Loss = field(default_factory=LogLoss)

    @property
    def encode(self) -> Encoder:
        """What returns another table as the models read it."""
        return self.design.encode

    @property
    def n_models(self) -> int:
        """How many models it trains: the regression, and the regression with the trees."""
        return self.linear + 1

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedLevelRegression:
        """Return the models, trained on these rows."""
        target, codes = target[rows], self.codes[rows]
        weights = None if weights is None else weights[rows]
        encoded, coded = self.design.take(rows)
        join = LevelInteractions(self.levels)
        joined = join(encoded, codes)
        objective = objective_of(self.loss, joined, target, weights, self.reduce)
        coefficients = (fit_regression if self.linear else fit_constant)(objective, joined)
        margin = on_host(linear_margin(joined, coefficients))
        return FittedLevelRegression(
            coefficients=coefficients,
            booster=self._grow(coded, codes, (target, weights), margin),
            levels=self.levels,
            linear=self.linear,
            engine=self.design.engine,
            n_jobs=self.design.settings.n_jobs,
            loss=self.loss,
        )

    def _grow(
        self,
        coded: CodedTable,
        codes: Codes,
        columns: tuple[Floats, Floats | None],
        margin: Floats,
    ) -> Any:
        """Return the booster that starts from a margin."""
        (target, weights), engine = columns, self.design.engine
        settings = self.design.settings
        binned = engine.bin_rows(settings, with_levels(coded, self.levels, codes), weights, None)
        if isinstance(self.loss, LogLoss):
            return engine.grow(settings, self.shape, binned, target, margin)[0]
        derivatives = signed_derivatives(self.loss, target, weights)
        return engine.grow_by(settings, self.shape, binned, derivatives, margin)[0]

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(self.design.take(rows))


@dataclass(frozen=True, kw_only=True)
class FittedLevelRegression:
    """A trained regression of all levels, and the trees that start from it.

    Parameters
    ----------
    coefficients : array
        Of the regression, the intercept last.
    booster : engine's model
        The trees.
    levels : array of shape (n_levels, k)
        The columns of each level.
    linear : bool
        Whether the regression is a model of its own.
    engine : Engine
        What reads the booster.
    n_jobs : int, optional
        Its threads.
    loss : Loss
        What gives the mean of a margin.
    """

    coefficients: Floats = field(repr=False)
    booster: Any
    levels: Floats = field(repr=False)
    linear: bool
    engine: Engine
    n_jobs: int | None
    loss: Loss

    def predict(self, table: tuple[Any, CodedTable], /) -> Floats:
        """Return the means of each row in each level, of shape (n, n_levels, n_models)."""
        encoded, coded = table
        join = LevelInteractions(self.levels)
        every = []
        for level in range(len(self.levels)):
            margin = on_host(join.margin(encoded, self.coefficients, level))
            rows = with_levels(coded, self.levels, np.full(len(coded), level))
            grown = on_host(self.engine.margin(self.booster, rows, self.n_jobs))
            margins = [margin, margin + grown][not self.linear :]
            every.append(np.column_stack([self.loss.mean(each)[0] for each in margins]))
        return np.stack(every, axis=1)


def with_levels(table: CodedTable, levels: Floats, codes: Codes) -> CodedTable:
    """Return coded rows with the columns of their levels, as an engine reads them."""
    layout = table.layout
    count = len(layout.names)
    more = range(count, count + levels.shape[1])
    form = "(level {})" if layout.named else "column {}"
    names = (*layout.names, *(form.format(each) for each in more))
    matrix = LevelColumns(levels)(table.matrix, codes)
    return CodedTable(matrix, replace(layout, names=names))
