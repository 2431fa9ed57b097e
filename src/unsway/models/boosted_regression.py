"""A logistic regression, and trees of an engine that start from its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from .._typing import Codes, Floats, Index, Reduce
from ..core import LogLoss, Loss, Objective, Penalty
from ..core.arrays import is_on_device, like, on_host, sigmoid
from ..core.newton import LinearProblem
from ..effects.encoding import TableEncoder
from ..effects.learners import FittedModel, add_interactions, interaction_margin, linear_margin
from ..tables import CodedTable, EngineTable, take
from .engine import BoosterSettings, Engine, PlacedRows, TreeShape
from .number_trees import grow_parts

_CONVERGED = 1e-7  # of the gradient of the logistic regression


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Reads a table as both models take it.

    Parameters
    ----------
    numbers : TableEncoder
        For the regression.
    layout : EngineTable
        For the trees.
    engine, settings : Engine, BoosterSettings
        What has the device of both.
    """

    #: Whether it takes a table that is coded for the engine, also on a device.
    reads_coded: ClassVar[bool] = True

    numbers: TableEncoder
    layout: EngineTable
    engine: Engine
    settings: BoosterSettings

    def __call__(self, X: Any) -> tuple[Any, CodedTable]:
        """Return the encoded columns, and the coded ones."""
        return self.read(self.engine.move(self.settings, self.layout.code(X)))

    def read(self, coded: CodedTable) -> tuple[Any, CodedTable]:
        """Return a table that is where the engine works on it as both models take it."""
        return self.numbers.transform(coded), coded


@dataclass(frozen=True, kw_only=True)
class Design:
    """Rows as both models take them, binned once for each set of rows that is trained on.

    Parameters
    ----------
    encode : Encoder
        Reads other tables.
    encoded : matrix of shape (n, p)
        Columns for the regression.
    placed : PlacedRows
        Columns for the trees.
    """

    encode: Encoder
    encoded: Any = field(repr=False)
    placed: PlacedRows = field(repr=False)
    _binned: dict[bytes, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, placed: PlacedRows, engine: Engine, settings: BoosterSettings, reduce: Reduce | None
    ) -> Design:
        """Encode rows for both models."""
        encode = Encoder(
            numbers=TableEncoder(reduce).fit(placed.table),
            layout=placed.table.layout,
            engine=engine,
            settings=settings,
        )
        encoded, _ = encode.read(placed.table)
        encode.numbers.reduce = None  # kept models need no workers: what was summed is known
        return cls(encode=encode, encoded=encoded, placed=placed)

    @property
    def engine(self) -> Engine:
        """What bins rows and grows trees."""
        return self.encode.engine

    @property
    def settings(self) -> BoosterSettings:
        """Its threads and its device."""
        return self.encode.settings

    def take(self, rows: Index) -> tuple[Any, CodedTable]:
        """Return some of the rows as both models take them."""
        return self.encoded[rows], take(self.placed.table, rows)

    def binned(self, rows: Index, weights: Floats | None) -> Any:
        """Return the chosen rows as the engine bins them; the last label and margin are on them."""
        key = rows.tobytes()
        if key not in self._binned:
            table = take(self.placed.table, rows)
            self._binned[key] = self.engine.bin_rows(
                self.settings, table, weights, self.placed.binned
            )
        return self._binned[key]


@dataclass(frozen=True, kw_only=True)
class BoostedRegression:
    """A logistic regression, and trees of an engine that start from its margin.

    Without ``codes`` it is a model of one mean. With them it is a model of the means of two groups,
    whose trees have two parts, g and h, of X alone::

        margin = regression(X, z) + g(X) + (2z − 1)·h(X)

    g is grown on the labels. h is what the groups differ by: it is grown on labels and margins with
    the sign of their group, because the log-loss of y at m − h is that of 1 − y at −m + h. Under
    another loss both are grown by its derivatives.

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
    loss : Loss, default=LogLoss()
        Of the mean.
    """

    design: Design
    shapes: tuple[TreeShape, ...]
    codes: Codes | None = field(default=None, repr=False)
    linear: bool = True
    reduce: Reduce | None = None
    loss: Loss = field(default_factory=LogLoss)

    @property
    def encode(self) -> Encoder:
        """What returns another table as the models read it."""
        return self.design.encode

    @property
    def n_models(self) -> int:
        """How many models it trains: the regression, and one more with each part of the trees."""
        return self.linear + len(self.shapes)

    def fit(self, target: Floats, rows: Index, weights: Floats | None) -> FittedBoostedRegression:
        """Return the models, trained on these rows."""
        target, encoded = target[rows], self.design.encoded[rows]
        weights = None if weights is None else weights[rows]
        codes = None if self.codes is None else self.codes[rows]
        joined = encoded if codes is None else add_interactions(encoded, codes)
        objective = objective_of(self.loss, joined, target, weights, self.reduce)
        coefficients = (fit_regression if self.linear else fit_constant)(objective, joined)
        margin = linear_margin(joined, coefficients)
        return FittedBoostedRegression(
            coefficients=coefficients,
            boosters=self._grow(rows, (target, weights, codes), on_host(margin)),
            pooled=codes is not None,
            linear=self.linear,
            engine=self.design.engine,
            n_jobs=self.design.settings.n_jobs,
            loss=self.loss,
        )

    def _grow(
        self, rows: Index, columns: tuple[Floats, Floats | None, Codes | None], margin: Floats
    ) -> tuple[Any, ...]:
        """Return the boosters that start from a margin."""
        if not self.shapes:
            return ()
        (target, weights, codes), design = columns, self.design
        binned = design.binned(rows, weights)
        if not isinstance(self.loss, LogLoss):
            return grow_parts(design, self.shapes, binned, self.loss, columns, margin)
        first, margin = design.engine.grow(design.settings, self.shapes[0], binned, target, margin)
        if codes is None:
            return (first,)
        sign = 2.0 * codes - 1
        turned = np.where(codes == 1, target, 1 - target)
        second, _ = design.engine.grow(
            design.settings, self.shapes[1], binned, turned, sign * margin
        )
        return first, second

    def predict_rows(self, model: FittedModel, rows: Index) -> Floats:
        """Return the predictions for rows of the learner's own table."""
        return model.predict(self.design.take(rows))


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
    loss : Loss, default=LogLoss()
        What gives the mean of a margin.
    """

    coefficients: Floats = field(repr=False)
    boosters: tuple[Any, ...]
    pooled: bool
    linear: bool
    engine: Engine
    n_jobs: int | None = None
    loss: Loss = field(default_factory=LogLoss)

    def predict(self, table: tuple[Any, CodedTable], /) -> Floats:
        """Return the means of each row: of shape (n, n_models), or (n, n_levels, n_models).

        The models are the regression, and the regression with the first parts of the trees. Means
        of rows on a device are there too.
        """
        encoded, coded = table
        grown = [self.engine.margin(booster, coded, self.n_jobs) for booster in self.boosters]
        if not self.pooled:
            return self._means(linear_margin(encoded, self.coefficients), grown)
        levels = [
            self._means(
                interaction_margin(encoded, self.coefficients, level),
                [part if number == 0 or level == 1 else -part for number, part in enumerate(grown)],
            )
            for level in (0, 1)
        ]
        return np.stack(levels, axis=1)

    def _means(self, margin: Any, grown: Sequence[Any]) -> Floats:
        """Return the mean of the regression, and that with the trees of each part so far."""
        margins = list(accumulate([margin, *grown]))
        if not isinstance(self.loss, LogLoss):
            return np.column_stack([self.loss.mean(each)[0] for each in margins[not self.linear :]])
        scores = [
            expit(each) if isinstance(each, np.ndarray) else sigmoid(each)[0]
            for each in margins[not self.linear :]
        ]
        return np.column_stack(scores)


def objective_of(
    loss: Loss, design: Any, target: Floats, weights: Floats | None, reduce: Reduce | None
) -> Objective:
    """Return the loss of rows of all processes, on the device of their design."""
    penalty = Penalty.none(len(target), reduce)
    if is_on_device(design):
        to_device = partial(like, design)
        penalty, target = penalty.map(to_device), to_device(target)
        weights = None if weights is None else to_device(weights)
    return Objective(loss, target, penalty=penalty, sample_weight=weights)


def fit_regression(objective: Objective, design: Any) -> Floats:
    """Minimise Σ w·log-loss + ½‖β‖² over the rows of all processes, the intercept free."""
    l2 = 1 / max(objective.total_weight, 1e-12)
    return LinearProblem(objective, design, l2).minimize(tol=_CONVERGED).weights


def fit_constant(objective: Objective, design: Any) -> Floats:
    """Return the intercept that alone fits best, below coefficients of 0."""
    loss = objective.loss
    weights = objective.sample_weight
    ones = float(objective.target.sum() if weights is None else weights @ objective.target)
    total = max(objective.total_weight, 1e-12)
    mean = objective.penalty.reduce(np.array([ones]))[0] / total
    if not isinstance(loss, LogLoss):
        return np.append(np.zeros(design.shape[1]), loss.margin_of(mean))
    share = np.clip(mean, 1e-4, 1 - 1e-4)
    return np.append(np.zeros(design.shape[1]), np.log(share / (1 - share)))
