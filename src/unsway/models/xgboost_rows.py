"""Rows as XGBoost reads them, and a booster that grows on them tree by tree."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extras import load
from ..tables import CodedTable, EngineTable
from .engine import Derivatives, InexactForkError


def xgboost() -> Any:
    """Return the xgboost package, or say how to install it."""
    return load("xgboost", "xgboost-cpu")


def training_matrix(
    params: Mapping[str, Any], rows: Any, weights: Any = None, bins_of: Any = None
) -> Any:
    """Return rows as XGBoost trains on them: quantised, by the bins of another matrix if given.

    Parameters
    ----------
    params : mapping
        Parameters of XGBoost.
    rows : CodedTable or xgboost.DataIter
        The rows, or an iterator over batches of them that brings names and weights with each.
    weights : array of shape (n,), optional
        Weights of the quantiles; the derivatives bring their own.
    bins_of : xgboost.QuantileDMatrix, optional
        The matrix whose bins are used.
    """
    options: dict[str, Any] = {"nthread": params.get("nthread"), "enable_categorical": True}
    if isinstance(rows, CodedTable):
        options |= {**matrix_options(rows.layout), "weight": weights}
        rows = rows.matrix
    if params.get("tree_method", "hist") != "hist":
        return xgboost().DMatrix(rows, **options)
    bins = params.get("max_bin", 256)
    return xgboost().QuantileDMatrix(rows, ref=bins_of, max_bin=bins, **options)


def matrix_options(table: EngineTable) -> dict[str, Any]:
    """Return what tells XGBoost the columns of a matrix."""
    return {**name_options(table), "enable_categorical": True}


def name_options(table: EngineTable) -> dict[str, Any]:
    """Return names and types of the columns; names that XGBoost cannot hold are left to us.

    Without categories there are no types: with them each prediction takes up to twice as long.
    """
    legal = not any(set("[]<") & set(name) for name in table.names)
    distinct = len(set(table.names)) == len(table.names)
    return {
        "feature_names": list(table.names) if table.named and legal and distinct else None,
        "feature_types": (
            ["c" if name in table.levels else "q" for name in table.names] if table.levels else None
        ),
    }


def added_margin(booster: Any, rows: Any, trees: tuple[int, int] = (0, 0)) -> Any:
    """Return what all trees, or some, add to the margin of rows, on the device of the rows."""
    return booster.inplace_predict(
        rows, iteration_range=trees, predict_type="margin", validate_features=False
    )


class XGBoostGrower:
    """An XGBoost booster grown tree by tree on quantised rows.

    With ``own_offset`` it grows by XGBoost's own objective, on labels that the rows have; the
    offset is what margins of them exceed those of the outcome by.
    """

    def __init__(
        self,
        params: dict[str, Any],
        train: Any,
        validation: Any,
        *,
        own_offset: float | None = None,
    ) -> None:
        self._train, self._validation = train, validation
        self.params, self._own_offset = params, own_offset
        self.booster = xgboost().Booster(params, cache=[train, validation])

    @property
    def n_trees(self) -> int:
        """The rounds so far; each leaves a tree."""
        return int(self.booster.num_boosted_rounds())

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree."""
        if self._own_offset is not None:
            self.booster.update(self._train, self.n_trees)
            return
        margin = self.booster.predict(
            self._train, output_margin=True, training=True, validate_features=False
        )
        gradient, curvature = derivatives(margin)
        self.booster.boost(self._train, self.n_trees, grad=gradient, hess=curvature)

    def validation_margin(self, n_trees: int | None = None) -> NDArray[Any]:
        """Return the margin that all trees, or the first ones, give the validation rows."""
        first = (0, 0 if n_trees is None else n_trees)
        margin = self.booster.predict(
            self._validation, output_margin=True, iteration_range=first, validate_features=False
        )
        return np.asarray(margin if self._own_offset is None else margin - self._own_offset)

    def restart(self) -> XGBoostGrower:
        """Return another on the same matrices, without trees."""
        twin = copy(self)
        twin.booster = xgboost().Booster(self.params, cache=[self._train, self._validation])
        return twin

    def fork(self) -> XGBoostGrower:
        """Return another on the same matrices, with a copy of the trees."""
        twin = self.restart()
        if self.n_trees:
            twin.booster.load_model(self.booster.save_raw(raw_format="ubj"))
            margins = (
                each.booster.predict(self._train, output_margin=True) for each in (self, twin)
            )
            if not np.array_equal(*margins):  # the sums of all trees, and tree by tree
                raise InexactForkError("XGBoost rounds the margins of a copy in another way")
        return twin
