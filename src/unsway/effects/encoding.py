"""Any table as a numeric matrix, for nuisance models that take nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..tables import Column, columns

#: A matrix with a smaller share of numbers other than 0 is held sparse.
SPARSE_SHARE = 0.25


class TableEncoder(TransformerMixin, BaseEstimator):
    """Scale numbers, mark and fill what is missing, and one-hot the categories of a table.

    Numeric and boolean columns get the median where missing plus a 0/1 column that says so; every
    other column is one-hot, a missing value being a level and an unseen level all zeros. What is 0
    or 1 is left so, whether it came one-hot or became it here: scaled, a rare level would count for
    more than a frequent one, and a wide table could not be sparse.

    Examples
    --------
    >>> import numpy as np
    >>> TableEncoder().fit_transform(np.array([[1.0], [3.0], [np.nan]])).round(2).tolist()
    [[-1.22, 0.0], [1.22, 0.0], [0.0, 1.0]]
    """

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn medians, scales and levels."""
        table = list(columns(X))
        self.numeric_ = [column.name for column in table if not column.categorical]
        self.categorical_ = [column.name for column in table if column.categorical]
        self.numbers_ = self.levels_ = None
        self.sparse_ = bool(self.categorical_)
        if self.numeric_:
            imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            self.numbers_ = make_pipeline(imputer, _Scaler())
            matrix = self.numbers_.fit_transform(_numbers(table, self.numeric_))
            self.sparse_ |= np.count_nonzero(matrix) < SPARSE_SHARE * matrix.size
        if self.categorical_:
            self.levels_ = OneHotEncoder(handle_unknown="ignore")
            texts = [column.values for column in table if column.categorical]
            self.levels_.fit(np.column_stack(texts))
        return self

    def transform(self, X: Any) -> Any:
        """Return the matrix: sparse with categories, or where most of it is 0."""
        check_is_fitted(self, "numeric_")
        table = list(columns(X))
        parts = []
        if self.numbers_ is not None:
            numbers = self.numbers_.transform(_numbers(table, self.numeric_))
            parts.append(sparse.csr_matrix(numbers) if self.sparse_ else numbers)
        if self.levels_ is not None:
            texts = map(_texts, _select(table, self.categorical_), self.levels_.categories_)
            parts.append(self.levels_.transform(np.column_stack(list(texts))))
        return sparse.hstack(parts, format="csr") if self.sparse_ else parts[0]


class _Scaler(StandardScaler):
    """Standardises columns, but for those that hold 0 and 1 alone."""

    def fit(self, X: NDArray[np.float64], y: None = None) -> Self:
        super().fit(X)
        flags = ((X == 0) | (X == 1)).all(axis=0) & (self.var_ > 0)
        self.mean_[flags], self.scale_[flags] = 0.0, 1.0
        return self


def _select(table: list[Column], names: list[str]) -> list[Column]:
    found = {column.name: column for column in table}
    absent = [name for name in names if name not in found]
    if absent:
        raise ValueError(f"X lacks {absent[0]!r}, which was there in fit")
    return [found[name] for name in names]


def _numbers(table: list[Column], names: list[str]) -> NDArray[np.float64]:
    matrix = np.column_stack([_floats(column) for column in _select(table, names)])
    infinite = np.isinf(matrix).any(axis=0)
    if infinite.any():
        raise ValueError(f"X contains infinity in {names[int(np.argmax(infinite))]!r}")
    return matrix


def _floats(column: Column) -> NDArray[np.float64]:
    """Return a numeric column's values, also where all these rows lack them and it has no type."""
    if not column.categorical:
        return column.values
    if (column.values != "(missing)").any():
        raise ValueError(f"X has text in {column.name!r}, which held numbers in fit")
    return np.full(len(column.values), np.nan)


def _texts(column: Column, levels: NDArray[Any]) -> NDArray[Any]:
    """Return a column's categories, also where those of these rows alone read as numbers."""
    if column.categorical:
        return column.values
    by_number = {}
    for level in levels:
        with suppress(ValueError):
            by_number[float(level)] = level
    texts = ["(missing)" if x != x else by_number.get(x, str(x)) for x in column.values.tolist()]
    return np.array(texts, dtype=object)
