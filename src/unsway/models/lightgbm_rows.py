"""Rows as LightGBM reads them, and a booster that grows on them tree by tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extras import load
from ..rows import Rows
from ..tables import CodedTable, EngineTable
from .engine import Derivatives


def binned(table: CodedTable, params: Mapping[str, Any], **columns: Any) -> Any:
    """Return rows as LightGBM bins them."""
    names, levels = table.layout.names, table.layout.levels
    return lightgbm().Dataset(
        table.matrix,
        feature_name=_feature_names(table.layout) or "auto",
        categorical_feature=[k for k, name in enumerate(names) if name in levels],
        params=dict(params),
        **columns,
    )


def _feature_names(table: EngineTable) -> list[str] | None:
    """Return the names as LightGBM can hold them, spaces as underscores; None if it cannot."""
    names = [re.sub(r"\s", "_", name) for name in table.names]
    legal = not any(set('",:[]{}') & set(name) for name in names)
    distinct = len(set(names)) == len(names)
    return names if table.named and legal and distinct else None


def lightgbm() -> Any:
    """Return the lightgbm package, or say how to install it."""
    return load("lightgbm", "lightgbm")


class LightGBMGrower:
    """A booster grown tree by tree on binned rows.

    With the ``own`` rows it grows by LightGBM's own objective, on y as the user gave it.
    ``objective`` is what its model file calls the objective.
    """

    def __init__(
        self,
        params: dict[str, Any],
        train: CodedTable,
        validation: CodedTable,
        *,
        own: Rows | None = None,
        objective: str = "binary sigmoid:1",
    ) -> None:
        self._params, self._own, self.objective = params, own, objective
        self._tables = train, validation
        self._datasets = self._binned()
        self._before: tuple[Any, NDArray[Any]] | None = None
        self.booster = self._without_trees()

    @property
    def n_trees(self) -> int:
        """The trees so far: a round in which no leaf could be split leaves none."""
        booster = self.booster if self._before is None else self._before[0]
        return int(booster.current_iteration())

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree."""
        try:
            if self._before is not None:
                self._go_on(derivatives)
            elif self._own is not None:
                self.booster.update()
            else:
                self.booster.update(fobj=lambda margin, _: derivatives(margin))
        except lightgbm().basic.LightGBMError as error:
            if "num_features" not in str(error):
                raise
            raise ValueError(
                "LightGBM finds no column of X that it could split: each is constant, or has too "
                "few rows for min_data_in_leaf (20 by default); lower it in params"
            ) from error

    def validation_margin(self, n_trees: int | None = None) -> NDArray[Any]:
        """Return the margin that all trees, or the first ones, give the validation rows.

        LightGBM shows the margin of all trees to metrics alone.
        """
        if n_trees is not None:
            booster = self.booster if self._before is None else self._before[0]
            rows = self._tables[1].matrix
            margin = booster.predict(rows, raw_score=True, num_iteration=n_trees)
            return np.asarray(margin if self._own is None else margin - self._own.outcome.offset)
        if self._before is not None:
            return self._before[1]
        seen: list[NDArray[Any]] = []

        def look(margin: NDArray[Any], _: Any) -> tuple[str, float, bool]:
            seen.append(margin)
            return "seen", 0.0, False

        self.booster.eval_valid(feval=look)
        if self._own is None:
            return seen[0]
        outcome = self._own.outcome  # LightGBM's own objective shows means
        return np.asarray(outcome.loss.margin_of(seen[0]) - outcome.offset)

    def restart(self) -> LightGBMGrower:
        """Return another on the same rows, without trees."""
        twin = copy(self)
        twin._before, twin.booster = None, self._without_trees()
        return twin

    def fork(self) -> LightGBMGrower:
        """Return another on the same rows, with a copy of the trees."""
        if not self.n_trees:
            return self.restart()
        twin = copy(self)
        model = self.booster.model_to_string(num_iteration=-1)
        twin._before = lightgbm().Booster(model_str=model), self.validation_margin().copy()
        return twin

    def _go_on(self, derivatives: Derivatives) -> None:
        """Grow the first tree after a fork: LightGBM takes earlier trees in `train` alone."""
        rows, others = self._binned()
        before, self._before = self._before, None
        assert before is not None  # noqa: S101
        self.booster = lightgbm().train(
            {**self._params, "objective": lambda margin, _: derivatives(margin)},
            rows,
            num_boost_round=1,
            valid_sets=[others],
            valid_names=["validation"],
            init_model=before[0],
            keep_training_booster=True,
        )

    def _binned(self) -> tuple[Any, Any]:
        """Return training and validation rows as LightGBM bins them."""
        train, validation = self._tables
        label = np.zeros(len(train), dtype=np.float32)  # not read, but LightGBM insists on one
        weights = None
        if self._own is not None:
            label, weights = self._own.outcome.as_given(), self._own.weights
        rows = binned(train, self._params, label=label, weight=weights, free_raw_data=False)
        none = np.zeros(len(validation), dtype=np.float32)
        others = rows.create_valid(validation.matrix, label=none, params=self._params)
        return rows, others

    def _without_trees(self) -> Any:
        rows, others = self._datasets
        booster = lightgbm().Booster(self._params, rows)
        booster.add_valid(others, "validation")
        return booster
