"""Any table as a numeric matrix, for models that take nothing else.

Missing values reach the nuisance models here: a number becomes the median, with a column that says
so, and a category becomes a level of its own.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats, Index, Reduce
from ..core.arrays import like, on_host
from ..core.penalty import identity
from ..tables import MISSING, CodedTable, Column, EngineTable, columns, numbers_of

#: A matrix with a smaller share of numbers other than 0 is held sparse.
SPARSE_SHARE = 0.25


class TableEncoder(TransformerMixin, BaseEstimator):
    """Scale numbers, mark and fill what is missing, and one-hot the categories of a table.

    Numeric and boolean columns get the median where missing plus a 0/1 column that says so; every
    other column is one-hot, a missing value being a level and an unseen level all zeros. What is 0
    or 1 is left so, whether it came one-hot or became it here: scaled, a rare level would count for
    more than a frequent one, and a wide table could not be sparse.

    Parameters
    ----------
    reduce : callable, optional
        Sums a small array over the workers that share the rows, which then have coded tables. A
        median cannot be summed: missing numbers become the mean.

    Examples
    --------
    >>> import numpy as np
    >>> TableEncoder().fit_transform(np.array([[1.0], [3.0], [np.nan]])).round(2).tolist()
    [[-1.22, 0.0], [1.22, 0.0], [0.0, 1.0]]
    """

    def __init__(self, reduce: Reduce | None = None) -> None:
        self.reduce = reduce

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn medians, scales and levels."""
        table, reduce = _columns(X), self.reduce or identity
        self.numeric_ = [column.name for column in table if not column.categorical]
        self.numbers_, self.sparse_ = None, False
        if self.numeric_:
            numbers = _numbers(X, table, self.numeric_)
            self.numbers_ = _Numbers.of(numbers, self.reduce)
            scaled = self.numbers_(numbers)
            filled, size = reduce(np.array([float(np.count_nonzero(scaled)), float(scaled.size)]))
            self.sparse_ = bool(filled < SPARSE_SHARE * size)
        known = X.layout.levels if isinstance(X, CodedTable) else {}
        self.levels_ = {
            column.name: _levels(column, known.get(column.name), reduce)
            for column in table
            if column.categorical
        }
        self.sparse_ |= bool(self.levels_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the matrix: sparse with categories, or where most of it is 0."""
        check_is_fitted(self, "numeric_")
        table = _columns(X)
        parts = []
        if self.numbers_ is not None:
            numbers = self.numbers_(_numbers(X, table, self.numeric_))
            parts.append(sparse.csr_matrix(numbers) if self.sparse_ else numbers)
        parts.extend(
            _one_hot(column, self.levels_[column.name])
            for column in _select(table, list(self.levels_))
        )
        return sparse.hstack(parts, format="csr") if self.sparse_ else parts[0]

    def owners(self) -> list[str]:
        """Return the column of X behind each column of the encoded table."""
        marked = [] if self.numbers_ is None else [self.numeric_[k] for k in self.numbers_.marked]
        levels = [name for name, levels in self.levels_.items() for _ in levels]
        return [*self.numeric_, *marked, *levels]


@dataclass(frozen=True)
class _Numbers:
    """How columns of numbers are filled, marked and scaled; those of 0 and 1 alone are not."""

    fill: Floats
    marked: Index
    center: Floats
    scale: Floats

    @classmethod
    def of(cls, matrix: Floats, reduce: Reduce | None) -> _Numbers:
        total = reduce or identity
        known = ~np.isnan(matrix)
        zeroed = np.where(known, matrix, 0.0)
        count, rows, sums = total(
            _stack(known.sum(axis=0), np.full(matrix.shape[1], len(matrix)), zeroed.sum(axis=0))
        )
        fill = sums / np.maximum(count, 1)
        if reduce is None:
            for column in np.flatnonzero((count > 0) & (count < rows)):  # others need no median
                fill[column] = float(np.nanmedian(matrix[:, column]))
        filled = np.where(known, matrix, like(matrix, fill)) if (count < rows).any() else matrix
        mean = total(on_host(filled.sum(axis=0))) / np.maximum(rows, 1)
        squares, others = total(
            _stack(
                ((filled - like(matrix, mean)) ** 2).sum(axis=0),
                ((filled != 0) & (filled != 1)).sum(axis=0),
            )
        )
        spread = np.sqrt(squares / np.maximum(rows, 1))
        constant = spread <= 10 * np.finfo(float).eps * np.abs(mean)
        plain = (others == 0) & ~constant
        return cls(
            fill,
            np.flatnonzero(count < rows),
            np.where(plain, 0.0, mean),
            np.where(plain | constant, 1.0, spread),
        )

    def __call__(self, matrix: Any) -> Any:
        missing = np.isnan(matrix)
        fill, center, scale = (like(matrix, each) for each in (self.fill, self.center, self.scale))
        scaled = np.where(missing, fill, matrix)
        scaled -= center
        scaled /= scale
        if not len(self.marked):
            return scaled
        return np.hstack([scaled, missing[:, like(matrix, self.marked)]])


def _stack(*sums: Any) -> Floats:
    """Return sums of each column, from the device of the columns if they are on one."""
    return np.stack([on_host(each) for each in sums]).astype(np.float64)


def _levels(column: Column, known: tuple[str, ...] | None, reduce: Reduce) -> tuple[str, ...]:
    """Return the levels of a category in sorted order, a missing value among them if there is one.

    Workers know the levels of all of them; whether a value is missing somewhere must be summed.
    """
    if known is None:
        return tuple(sorted(set(column.values.tolist())))
    missing = reduce(np.array([float((column.values == MISSING).sum())]))[0]
    return tuple(sorted([*known, MISSING])) if missing else known


def _one_hot(column: Column, levels: tuple[str, ...]) -> Any:
    """Return a column for each level; one that is not among them has zeros."""
    places = {level: place for place, level in enumerate(levels)}
    codes = np.array([places.get(text, -1) for text in _texts(column, levels).tolist()], dtype=int)
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_matrix(
        (np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), len(levels))
    )


def _select(table: list[Column], names: list[str]) -> list[Column]:
    found = {column.name: column for column in table}
    absent = [name for name in names if name not in found]
    if absent:
        raise ValueError(f"X lacks {absent[0]!r}, which was there in fit")
    return [found[name] for name in names]


def _columns(X: Any) -> list[Column]:
    """Return the columns; those of one array of numbers as they are in it."""
    matrix = numbers_of(X)
    if matrix is None:
        return list(columns(X))
    names = (X.layout if isinstance(X, CodedTable) else EngineTable.of(X)).names
    return [Column(name, values, False) for name, values in zip(names, matrix.T, strict=True)]


def _numbers(X: Any, table: list[Column], names: list[str]) -> Any:
    """Return these columns of a table as one matrix."""
    matrix = numbers_of(X)
    if matrix is not None and [column.name for column in table] == names:
        matrix = matrix.astype(np.float64)
    else:
        matrix = np.column_stack([_floats(column) for column in _select(table, names)])
    infinite = on_host(np.isinf(matrix).any(axis=0))
    if infinite.any():
        raise ValueError(f"X contains infinity in {names[int(np.argmax(infinite))]!r}")
    return matrix


def _floats(column: Column) -> NDArray[np.float64]:
    """Return a numeric column's values, also where all these rows lack them and it has no type."""
    if not column.categorical:
        return column.values
    if (column.values != MISSING).any():
        raise ValueError(f"X has text in {column.name!r}, which held numbers in fit")
    return np.full(len(column.values), np.nan)


def _texts(column: Column, levels: tuple[str, ...]) -> NDArray[Any]:
    """Return a column's categories, also where those of these rows alone read as numbers."""
    if column.categorical:
        return column.values
    by_number = {}
    for level in levels:
        with suppress(ValueError):
            by_number[float(level)] = level
    texts = [MISSING if x != x else by_number.get(x, str(x)) for x in column.values.tolist()]
    return np.array(texts, dtype=object)
