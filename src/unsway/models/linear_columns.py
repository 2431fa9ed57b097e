"""The columns that a linear model weighs: numbers, with missing values filled in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.utils.validation import validate_data

from .._typing import Floats
from ..groups import Groups
from ..rows import Rows
from ..tables import holds_text


def read_covariates(model: Any, X: Any, sensitive_features: Any) -> Floats:
    """Return the columns that a linear model weighs, NaN where a value is missing."""
    if holds_text(X):  # refused below, but for a clearer reason if it is the sensitive column
        Groups.check(sensitive_features, len(X), groups=model.groups).refuse_in(X)
    return read_numbers(model, X, reset=True)


def fill_rows(model: Any, X: Floats, rows: Rows) -> Floats:
    """Return the columns of the rows that are used, missing numbers filled in."""
    X = X if rows.groups.kept is None else X[rows.groups.kept]
    fit_imputer(model, X)
    return fill_missing(model, X)


def read_numbers(model: Any, X: Any, *, reset: bool) -> Floats:
    """Return a table as floats, NaN where a value is missing, or say what is wrong with it."""
    X = validate_data(
        model,
        X,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
        reset=reset,
    )
    return np.asarray(X)


def fit_imputer(model: Any, X: Floats) -> None:
    """Learn what replaces missing values, and name the columns that are then weighed."""
    model.imputer_ = None
    model.column_names_ = feature_names(model)
    if np.isnan(X).any():
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        model.imputer_ = imputer.fit(X)
        model.column_names_ = imputer.get_feature_names_out(feature_names(model))


def fill_missing(model: Any, X: Floats) -> Floats:
    """Return a table without missing values, and with the indicators of those there were."""
    if model.imputer_ is not None:
        return np.asarray(model.imputer_.transform(X))
    missing = np.isnan(X).sum(axis=0)
    if missing.any():
        column = int(np.argmax(missing > 0))
        raise ValueError(
            f"X contains NaN: {feature_names(model)[column]!r} has {missing[column]} missing "
            "values, and no column had any in fit. Fill them in first, or fit on a table with "
            "missing values"
        )
    return X


def feature_names(model: Any) -> NDArray[Any]:
    """Return the names of the columns of X, made up if it was an array."""
    names = [f"column {position}" for position in range(model.n_features_in_)]
    return np.asarray(getattr(model, "feature_names_in_", names), dtype=object)
