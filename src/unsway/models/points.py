"""A linear model as a table of points, as scorecards are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_choice, check_number
from ..frames import Tabular, plain
from .features import align, fill_numbers, one_hot, one_hot_columns
from .linear_columns import fill_missing, read_numbers
from .logistic import FairLogisticRegression
from .saved_model import SavedModel


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PointsTable(Tabular):
    """Points of each column: ``score = base + Σ points · value``.

    Its table has a row per column of the model, the base first.

    Parameters
    ----------
    model : FairLogisticRegression or SavedModel
    columns : tuple of (str, str or None)
        The feature of each column and its level; None for a number, whose points are per unit.
    points : tuple of float
    base : float
        The score where every column is 0.
    settings : mapping
    """

    model: Any
    columns: tuple[tuple[str, str | None], ...]
    points: tuple[float, ...]
    base: float
    settings: Mapping[str, Any]

    def score(self, X: Any) -> Floats:
        """Return the score of each row."""
        return np.asarray(self.base + _matrix(self.model, X) @ np.array(self.points))

    def _columns(self) -> Mapping[str, list[Any]]:
        return {
            "feature": ["base", *(name for name, _ in self.columns)],
            "level": ["", *("per unit" if level is None else level for _, level in self.columns)],
            "points": [self.base, *self.points],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the table, ready for JSON."""
        return {**dict(plain(self._columns())), "settings": dict(self.settings)}

    def __repr__(self) -> str:
        doubled = self.settings["points_to_double_odds"]
        return f"PointsTable of {len(self.columns)} columns, {doubled:g} points double the odds"


def points_table(
    model: Any,
    *,
    points_to_double_odds: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    good: str = "positive",
    decimals: int | None = None,
) -> PointsTable:
    """Return the points of a logistic regression, scaled as scorecards are.

    A score of ``base_score`` means odds of ``base_odds`` to 1 of the good class, and
    ``points_to_double_odds`` points more double them::

        score = base_score + factor·(log-odds of good − log(base_odds)),  factor = points / log 2

    Parameters
    ----------
    model : FairLogisticRegression or SavedModel of one
        Fitted, of two classes.
    points_to_double_odds : float, default=20
        Points that double the odds.
    base_score : float, default=600
        The score at the odds of ``base_odds``.
    base_odds : float, default=50
        Odds of the good class.
    good : {"positive", "negative"}, default="positive"
        Which label is the good one.
    decimals : int, default=None
        Round points to so many decimals; by default they are exact.

    Returns
    -------
    PointsTable

    Examples
    --------
    >>> import numpy as np
    >>> from unsway import FairLogisticRegression, make_synthetic
    >>> people = make_synthetic(2_000, random_state=0)
    >>> model = FairLogisticRegression().fit(people.X, people.y, sensitive_features=people.z)
    >>> table = points_table(model, base_score=0, base_odds=1)
    >>> odds = model.decision_function(people.X[:4])
    >>> bool(np.allclose(table.score(people.X[:4]), 20 / np.log(2) * odds))
    True
    """
    check_number(points_to_double_odds, "points_to_double_odds", above=0)
    check_number(base_score, "base_score")
    check_number(base_odds, "base_odds", above=0)
    check_choice(good, "good", ("positive", "negative"))
    weights, intercept, columns = _weights(model)
    factor = points_to_double_odds / np.log(2)
    signed = factor if good == "positive" else -factor
    points, base = signed * weights, base_score - factor * np.log(base_odds) + signed * intercept
    if decimals is not None:
        points, base = np.round(points, decimals), np.round(base, decimals)
    return PointsTable(
        model=model,
        columns=tuple(columns),
        points=tuple(points.tolist()),
        base=float(base),
        settings={
            "points_to_double_odds": float(points_to_double_odds),
            "base_score": float(base_score),
            "base_odds": float(base_odds),
            "good": good,
            "decimals": decimals,
        },
    )


def _weights(model: Any) -> tuple[Floats, float, list[tuple[str, str | None]]]:
    if isinstance(model, SavedModel) and model.coefficients is not None and not model.classes:
        columns = one_hot_columns(model.features)
        columns += [(name, "missing") for name in model.marked]
        return model.coefficients, float(np.ravel(model.intercept)[0]), columns
    if isinstance(model, FairLogisticRegression):
        check_is_fitted(model)
        if len(model.coef_) == 1:
            names = [str(each) for each in model.column_names_]
            marked = names[model.n_features_in_ :]
            known: list[tuple[str, str | None]] = [(n, None) for n in names[: model.n_features_in_]]
            known += [(name.removeprefix("missingindicator_"), "missing") for name in marked]
            return model.coef_[0], float(model.intercept_[0]), known
    raise TypeError("a table of points needs a logistic regression of two classes")


def _matrix(model: Any, X: Any) -> Floats:
    """Return the columns that the model weighs."""
    if isinstance(model, FairLogisticRegression):
        return fill_missing(model, read_numbers(model, X, reset=False))
    frame = align(X, model.features)
    if model.fill:
        return fill_numbers(frame, model.features, model.fill, model.marked)
    return one_hot(frame, model.features)[0]
