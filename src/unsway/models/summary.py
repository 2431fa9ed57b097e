"""What a fitted model learned, in a table: weights or importances, and how it was trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..frames import Tabular, plain

#: Attribute of a fitted model → what the summary calls it.
_FACTS = {
    "strength_": "strength",
    "sensitive_levels_": "levels of z",
    "classes_": "classes",
    "n_features_in_": "columns",
    "n_rounds_": "rounds",
    "best_iteration_": "trees kept",
    "kept_": "model kept",
    "n_iter_": "iterations",
    "log_loss_": "log-loss in training",
    "deviance_": "deviance in training",
}
#: Lines of the printed table; the frame has all.
SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ModelSummary(Tabular):
    """What a fitted model learned; made by its method ``summary``.

    Its table, ``to_frame``, has a row per column of the model, the largest first.

    Parameters
    ----------
    model : str
        The class of the model.
    facts : mapping of str to object
        Criterion, strength, classes, levels, and the length of the training.
    measure : str
        What the table holds: ``"weight"`` of a linear model, ``"importance"`` of trees.
    columns : tuple of str
        The columns, the largest measure first.
    values : tuple of float
        Their weights, or their shares of what all splits gained.
    """

    model: str
    facts: Mapping[str, Any]
    measure: str
    columns: tuple[str, ...]
    values: tuple[float, ...]

    def _columns(self) -> Mapping[str, Any]:
        return {"column": list(self.columns), self.measure: list(self.values)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        table = dict(zip(self.columns, self.values, strict=True))
        return dict(plain({"model": self.model, **self.facts, self.measure: table}))

    def __repr__(self) -> str:
        lines = [self.model, *(f"  {name}: {value}" for name, value in self.facts.items())]
        width = max((len(name) for name in self.columns[:SHOWN]), default=0)
        if self.columns:
            lines.append(f"  {'column':<{width}}  {self.measure:>10}")
        pairs = list(zip(self.columns, self.values, strict=True))
        lines += [f"  {name:<{width}}  {value:>10.4g}" for name, value in pairs[:SHOWN]]
        if len(pairs) > SHOWN:
            lines.append(f"  … {len(pairs) - SHOWN} more columns")
        return "\n".join(lines)


def summary(self: Any) -> ModelSummary:
    """Return what the fitted model learned: its settings, and weights or importances by column.

    Returns
    -------
    ModelSummary
        Printed, or shown by a notebook, it is a table; ``to_frame()`` returns all of it.
    """
    check_is_fitted(self)
    measure, names, values = _learned(self)
    order = np.argsort(-np.abs(values), kind="stable")
    return ModelSummary(
        model=type(self).__name__,
        facts=_facts(self),
        measure=measure,
        columns=tuple(str(names[k]) for k in order),
        values=tuple(float(values[k]) for k in order),
    )


def _learned(model: Any) -> tuple[str, Any, Any]:
    """Return what is measured by column, the names of the columns and the values."""
    if hasattr(model, "coef_"):
        weights = np.atleast_2d(model.coef_)
        known = getattr(model, "column_names_", None)
        names = _names(model, weights.shape[1]) if known is None else known
        if len(weights) > 1:
            names = [f"{name} ({one})" for one in model.classes_ for name in names]
        return "weight", names, weights.ravel()
    if hasattr(model, "feature_importances_"):
        shares = model.feature_importances_
        return "importance", _names(model, len(shares)), shares
    return "weight", [], np.empty(0)


def _names(model: Any, count: int) -> list[str]:
    known = getattr(model, "feature_names_in_", None)
    return [f"column {k}" for k in range(count)] if known is None else list(map(str, known))


def _facts(model: Any) -> dict[str, Any]:
    criterion = getattr(model, "criterion", None)
    found = {"criterion": "FairTarget()" if criterion is None else str(criterion)}
    for name, shown in _FACTS.items():
        value = getattr(model, name, None)
        if value is None:
            continue
        several = isinstance(value, tuple | list | np.ndarray)
        number = value.item() if isinstance(value, np.generic) else value
        found[shown] = ", ".join(map(str, np.ravel(value).tolist())) if several else number
    if hasattr(model, "estimator_"):
        found["estimator"] = str(model.estimator_)
    return found
