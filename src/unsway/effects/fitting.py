"""How models of propensity and outcome are trained: here by scikit-learn, elsewhere by others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Floats, Index, Reduce
from ..folds import fold_numbers
from ..rows import Rows
from ..tables import CodedTable, columns
from .learners import (
    FittedModel,
    Learner,
    ScikitLearner,
    learners_from,
    pooled_learners,
    reads_bins,
)
from .propensity import Propensity

#: Trees of scikit-learn's gradient boosting, and fewest of the propensity of one of many levels.
DEFAULT_TREES, MIN_LEVEL_TREES = 100, 20


class Fitting:
    """How propensity and outcome models are trained: here, by scikit-learn.

    Another one trains them by the library of the final model (see `unsway.models.nuisances`), or
    together where the rows are spread over workers (see `unsway.distributed`).
    """

    #: Sums a small array over the workers; None where all rows are here.
    reduce: Reduce | None = None

    def order(self, rows: Rows, table: CodedTable) -> tuple[Index, CodedTable]:
        """Return the canonical order of rows, and their coded table where the engine works."""
        return rows.order, table

    def see(self, rows: Rows, table: CodedTable) -> None:
        """Take note of the rows to train on, coded as the final model's engine reads them."""

    def learners(self, rows: Rows, models: Any, *, binary: bool, role: str) -> tuple[Learner, ...]:
        """Return a user's model, or several to be stacked; None gives the default.

        The propensities of several levels have about as many trees together as those of two.
        """
        loss = None if binary else rows.outcome.loss
        found = learners_from(
            models, rows.X, binary=binary, role=role, loss=loss, bins=reads_bins(rows)
        )
        if models is None and role == "propensity_model" and not rows.groups.two:
            most = max(MIN_LEVEL_TREES, round(2 * DEFAULT_TREES / rows.groups.n_levels))
            trees = found[0]
            if isinstance(trees, ScikitLearner):
                trees.model.set_params(max_iter=most)
        return found

    def pooled_learners(self, rows: Rows) -> tuple[Learner, ...]:
        """Return the default outcome models of all groups together; empty where there are none."""
        return pooled_learners(rows)

    def folds(self, rows: Rows, n_folds: int, seed: int) -> Index:
        """Return the fold of each row, which depends on what the row holds and not on its place."""
        codes, order = rows.groups.codes, rows.order
        return fold_numbers(None, codes, n_folds, seed, order=order, clusters=rows.clusters)

    def propensity(
        self, rows: Rows, stated: Any, *, allow_separation: bool = False
    ) -> tuple[FittedModel, Floats]:
        """Return a fitted propensity score and its values at the rows.

        With ``allow_separation``, or the same setting of a `Propensity`, a warning takes the place
        of the error where X predicts z nearly exactly.
        """
        model = clone(stated) if isinstance(stated, Propensity) else Propensity(stated)
        if allow_separation:
            model.set_params(allow_separation=True)
        scores = model.fit_predict(rows.X, rows.z, rows.weights)
        model.refuse_separating_columns(scores, rows.X, rows.z, rows.weights)
        return model, scores

    def check_table(self, rows: Rows) -> None:
        """Raise if X has no column or an infinite number."""
        table = list(columns(rows.X))
        if not table:
            raise ValueError("X has no column; at least one covariate is needed")
        for column in table:
            if not column.categorical and np.isinf(column.values).any():
                raise ValueError(f"X contains infinity in {column.name!r}")


#: Training in this process.
HERE = Fitting()
