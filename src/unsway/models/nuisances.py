"""Propensity and outcome models by the library of the model that is trained.

A logistic regression comes first, and boosted trees start from its margin: they have only to add
what is not linear. The regression is stacked with its trees, which so count as far as they predict
better. Where rows are spread over workers the same code trains on all of them, with sums over the
workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .._typing import Codes, Floats, Index, Reduce
from ..core import LogLoss
from ..effects import CrossFit, Fitting
from ..effects.learners import FittedModel, Learner
from ..effects.nuisance_models import PropensityModels
from ..rows import Rows
from ..tables import CodedTable, EngineTable, check_table
from .boosted_regression import BoostedRegression, Design
from .engine import BoosterSettings, Engine, PlacedRows, TreeShape
from .level_regression import LevelRegression

#: Propensities that `DirectEffect` rests on are kept within [SCORE_CLIP, 1−SCORE_CLIP].
SCORE_CLIP = 1e-3  # as `Propensity` clips

#: Fewest trees of the propensity of one of three or more levels.
MIN_LEVEL_TREES = 10


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
    levels : TreeShape
        Of the outcome means of three or more levels, which have one part.
    """

    propensity: TreeShape = field(default=TreeShape(n_trees=40, learning_rate=0.2, depth=2))
    common: TreeShape = field(default=TreeShape(n_trees=60, learning_rate=0.2, depth=3))
    effect: TreeShape = field(default=TreeShape(n_trees=50, learning_rate=0.2, depth=3))
    levels: TreeShape = field(default=TreeShape(n_trees=80, learning_rate=0.25, depth=3))

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
    final : BoosterSettings, optional
        The settings of the final model, whose rows the nuisances then share.
    """

    def __init__(
        self,
        engine: Engine,
        settings: BoosterSettings,
        *,
        trees: NuisanceTrees | None = None,
        linear: bool = True,
        reduce: Reduce | None = None,
        final: BoosterSettings | None = None,
    ) -> None:
        self.engine, self.settings, self.final = engine, settings, final
        self.trees = NuisanceTrees() if trees is None else trees
        self.linear, self.reduce = linear, reduce
        self.placed: PlacedRows | None = None
        self._seen: tuple[Rows, CodedTable] | None = None
        self._last: tuple[Rows, Design] | None = None

    def order(self, rows: Rows, table: CodedTable) -> tuple[Index, CodedTable]:
        """Return the canonical order of rows, and their coded table where the engine works."""
        found = None
        if self.final is not None:
            found, table = self.engine.order(self.final, table)
        return rows.order if found is None else found, table

    def see(self, rows: Rows, table: CodedTable) -> None:
        """Take note of the rows to train on, coded as the final model's engine reads them."""
        self._seen = rows, table

    def learners(self, rows: Rows, models: Any, *, binary: bool, role: str) -> tuple[Learner, ...]:
        """Return a user's model, or several to be stacked; None gives the default."""
        if models is not None or not binary:
            return super().learners(rows, models, binary=binary, role=role)
        shape, n_levels = self.trees.propensity, rows.groups.n_levels
        fewer = max(MIN_LEVEL_TREES, round(2 * shape.n_trees / n_levels))
        if n_levels > 2:  # one model for each level, with as many trees in all as for two
            shape = replace(shape, n_trees=min(shape.n_trees, fewer))
        return (self.regression(rows, (shape,)),)

    def pooled_learners(self, rows: Rows) -> tuple[Learner, ...]:
        """Return the default outcome models of all groups together."""
        groups = rows.groups
        if not groups.two:
            return (
                LevelRegression(
                    design=self._design(rows),
                    shape=self.trees.levels,
                    codes=groups.codes,
                    levels=groups.design,
                    linear=self.linear,
                    reduce=self.reduce,
                    loss=rows.outcome.mean_loss,
                ),
            )
        shapes = (self.trees.common, self.trees.effect)
        return (self.regression(rows, shapes, rows.groups.codes),)

    def check_table(self, rows: Rows) -> None:
        """Raise if X has no column or an infinite number; coded rows were checked."""
        if self._seen is None or not self._seen[0].same_table(rows):
            super().check_table(rows)

    def propensity(
        self, rows: Rows, stated: Any, *, allow_separation: bool = False
    ) -> tuple[FittedModel, Floats]:
        """Return a fitted propensity score and its values at the rows.

        On a device the default is a logistic regression without a choice of its penalty, as where
        the rows are spread over workers.
        """
        if stated is None and "device" in self.settings.params:
            return self.linear_propensity(rows, self, allow_separation)
        return super().propensity(rows, stated, allow_separation=allow_separation)

    def linear_propensity(
        self, rows: Rows, fitting: Fitting, allow_separation: bool
    ) -> tuple[FittedModel, Floats]:
        """Return a logistic regression of z on X, and its values at the rows it was fitted on."""
        alone = CrossFit(
            rows,
            (self.regression(rows, ()),),
            (),
            np.zeros(len(rows), dtype=np.intp),
            n_folds=1,
            clip=SCORE_CLIP,
            fitting=fitting,
            allow_separation=allow_separation,
        )
        nuisances, models = alone.fit_models()
        return ClippedScore(models.propensity), nuisances.propensity

    def regression(
        self, rows: Rows, shapes: tuple[TreeShape, ...], codes: Codes | None = None
    ) -> BoostedRegression:
        """Return a learner of these rows, which are encoded and binned once for all learners."""
        linear = self.linear or not shapes
        return BoostedRegression(
            design=self._design(rows), shapes=shapes, codes=codes, linear=linear,
            reduce=self.reduce,
            loss=LogLoss() if codes is None else rows.outcome.mean_loss,
        )  # fmt: skip

    def _design(self, rows: Rows) -> Design:
        """Return the rows, encoded and placed once."""
        if self._last is None or not self._last[0].same_table(rows):
            placed = self._place(rows)
            self._last = rows, Design.of(placed, self.engine, self.settings, self.reduce)
        return self._last[1]

    def _place(self, rows: Rows) -> PlacedRows:
        """Return rows where the engine works on them: those of the final model, or others."""
        if self.final is not None and self._seen is not None and self._seen[0].same_table(rows):
            self.placed = self.engine.place(self.final, self._seen[1], rows.weights)
            return self.placed
        X = rows.X if isinstance(rows.X, CodedTable) else check_table(rows.X)
        coded = X if isinstance(X, CodedTable) else EngineTable.of(X).code(X)
        return PlacedRows(self.engine.move(self.settings, coded))


@dataclass(frozen=True)
class ClippedScore:
    """A propensity score, kept away from 0 and 1."""

    model: PropensityModels

    @property
    def encoders(self) -> tuple[Callable[[Any], Any], ...]:
        """What reads a table for the model."""
        return self.model.encoders

    def predict(self, X: Any) -> Floats:
        """Return b for each row of X."""
        return np.clip(self.model.predict(X), SCORE_CLIP, 1 - SCORE_CLIP)
