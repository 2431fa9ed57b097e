"""A real data set as plain columns, with its label and its sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["Backend", "TabularData"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Column = NDArray[Any]
Backend = Literal["pandas", "polars", "pyarrow"]
#: What makes a frame of columns, a column of codes and levels, and a column of numbers.
FrameMakers = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TabularData:
    """The rows of a real data set: features, label y and sensitive attribute z.

    Parameters
    ----------
    name : str
        What the rows are, such as "adult train".
    columns : mapping of str to array, shape (n,)
        The features in order: float64 for numbers (NaN where missing), str objects for categories.
        Neither the label nor the sensitive attribute is among them.
    levels : mapping of str to tuple of str
        The levels of each categorical column, also those that do not occur in these rows.
    y, z : arrays of shape (n,)
        Label, 0 or 1, or a number; and the sensitive attribute, 0 or 1.
    target, positive_target : str
        What y is about, and what y = 1 stands for, or what a number is counted per.
    sensitive, positive_sensitive : str
        What z is about, and what z = 1 stands for.
    sample_weight : array of float64, shape (n,), default=None
        How many people each row stands for; None means one.
    dropped_rows : int, default=0
        Rows of the file that could not be read and were left out.
    exposure : array of float64, shape (n,), default=None
        Where y is the total of an exposure, such as the claims of part of a year.

    Examples
    --------
    >>> from unsway.datasets import load_adult
    >>> load_adult("test")
    TabularData('adult test', 16281 rows, 9 features, y: income >50K, z: sex Male)
    """

    name: str
    columns: Mapping[str, Column]
    levels: Mapping[str, tuple[str, ...]]
    y: NDArray[Any]
    z: IntArray
    target: str
    positive_target: str
    sensitive: str
    positive_sensitive: str
    sample_weight: FloatArray | None = None
    dropped_rows: int = 0
    exposure: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse columns of another length, and categories outside their levels."""
        for name, values in self.columns.items():
            if values.shape != self.y.shape:
                raise ValueError(f"column {name!r} has {len(values)} rows but y has {len(self.y)}")
            if values.dtype == object and not set(values) <= set(self.levels.get(name, ())):
                raise ValueError(f"column {name!r} has values that are not among its levels")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def to_matrix(self) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the features as floats, categories one-hot, and the names of the matrix columns.

        A category with k levels becomes k columns named "feature=level"; none is left out. The
        columns do not depend on which rows these are. Missing numbers stay NaN.

        Returns
        -------
        X : array of float64, shape (n, p)
            The features.
        names : tuple of str
            The names of the columns of X.

        Examples
        --------
        >>> from unsway.datasets import load_adult
        >>> X, names = load_adult().to_matrix()
        >>> X.shape, names[:3]
        ((32561, 46), ('age', 'workclass=?', 'workclass=Federal-gov'))
        """
        blocks: list[FloatArray] = []
        names: list[str] = []
        for name, values in self.columns.items():
            if name in self.levels:
                blocks.append(np.eye(len(self.levels[name]))[self._codes(name)])
                names.extend(f"{name}={level}" for level in self.levels[name])
            else:
                blocks.append(values[:, np.newaxis])
                names.append(name)
        return np.hstack(blocks), tuple(names)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return the features as a table of pandas, polars or pyarrow.

        Categories have the library's categorical type (pandas ``category``, polars ``Enum``,
        pyarrow ``dictionary``) with the same levels whichever rows these are. Missing numbers are
        NaN in pandas and null in the others.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            The library, which must be installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table

        Examples
        --------
        >>> from unsway.datasets import load_german
        >>> load_german().to_frame("pyarrow").shape
        (1000, 19)
        """
        one_of(backend, get_args(Backend), "backend")
        try:
            library = import_module(backend)
        except ImportError as error:
            raise ImportError(f"{backend} is not installed; run: pip install {backend}") from error
        frame, category, numbers = _FRAMES[backend](library)
        return frame(
            {
                name: category(self._codes(name), list(self.levels[name]))
                if name in self.levels
                else numbers(values)
                for name, values in self.columns.items()
            }
        )

    def _codes(self, name: str) -> IntArray:
        """Return the position of each row's level."""
        position = {level: code for code, level in enumerate(self.levels[name])}
        return np.array([position[value] for value in self.columns[name]], dtype=np.int64)

    def __repr__(self) -> str:
        """Name the data, count rows and columns, say what 1 stands for; print no values."""
        dropped = f" ({self.dropped_rows} dropped)" if self.dropped_rows else ""
        weighted = "" if self.sample_weight is None else "weighted "
        return (
            f"TabularData({self.name!r}, {self.y.size} {weighted}rows{dropped}, "
            f"{len(self.columns)} feature{'s' * (len(self.columns) != 1)}, "
            f"y: {self.target} {self.positive_target}, "
            f"z: {self.sensitive} {self.positive_sensitive})"
        )


def _pandas(library: Any) -> FrameMakers:
    return library.DataFrame, library.Categorical.from_codes, np.asarray


def _polars(library: Any) -> FrameMakers:
    def category(codes: IntArray, levels: list[str]) -> Any:
        return library.Series([levels[code] for code in codes], dtype=library.Enum(levels))

    return library.DataFrame, category, lambda values: library.Series(values, nan_to_null=True)


def _pyarrow(library: Any) -> FrameMakers:
    def category(codes: IntArray, levels: list[str]) -> Any:
        return library.DictionaryArray.from_arrays(codes.astype(np.int32), levels)

    return library.table, category, lambda values: library.array(values, from_pandas=True)


_FRAMES: dict[str, Callable[[Any], FrameMakers]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
}


def by_column(fields: Iterable[str], rows: Iterable[Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the texts of each column by its name.

    Examples
    --------
    >>> by_column(["age", "sex"], [["30", "f"], ["40", "m"]])
    {'age': ('30', '40'), 'sex': ('f', 'm')}
    """
    return dict(zip(fields, zip(*rows, strict=True), strict=True))


def read_columns(header: str, rows: Iterable[Iterable[str]]) -> dict[str, Column]:
    """Return the columns by name: floats where every text is a number, else str objects.

    Examples
    --------
    >>> read_columns("age,sex", [["30", "f"], ["40", "m"]])
    {'age': array([30., 40.]), 'sex': array(['f', 'm'], dtype=object)}
    """
    columns: dict[str, Column] = {}
    for name, texts in by_column(header.split(","), rows).items():
        try:
            columns[name] = np.array(texts, np.float64)
        except ValueError:
            columns[name] = as_words(texts)
    return columns


def as_words(texts: Iterable[str]) -> Column:
    """Return texts as an array of str objects."""
    return np.array(list(texts), dtype=object)


def as_numbers(source: str, column: str, texts: Iterable[str]) -> FloatArray:
    """Return texts as floats, NaN for "NA" and for nothing; an error does not show the text.

    Examples
    --------
    >>> as_numbers("people", "age", ["30", "NA"]).tolist()
    [30.0, nan]
    """
    try:
        return np.array(["nan" if text in ("", "NA") else text for text in texts], np.float64)
    except ValueError:
        raise ValueError(f"{source}: {column} holds text that is not a number") from None


def occurring_levels(columns: Mapping[str, Column]) -> dict[str, tuple[str, ...]]:
    """Return the sorted levels of the categorical columns.

    Examples
    --------
    >>> occurring_levels({"size": np.array([2.0, 3.0]), "shape": as_words(["b", "a"])})
    {'shape': ('a', 'b')}
    """
    return {
        name: tuple(sorted(set(values)))
        for name, values in columns.items()
        if values.dtype == object
    }


def older_than(age: FloatArray, threshold: float) -> IntArray:
    """Return 1 where the age is above the threshold and 0 elsewhere; both must occur.

    Examples
    --------
    >>> older_than(np.array([25.0, 26.0]), 25).tolist()
    [0, 1]
    """
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise TypeError(f"age_threshold must be a number; got {threshold!r}")
    z = (age > threshold).astype(np.int64)
    if z.all() or not z.any():
        raise ValueError(f"age_threshold={threshold!r} puts all rows in one group; choose another")
    return z


def one_of(value: str, choices: tuple[str, ...], parameter: str) -> None:
    """Raise unless the value of a parameter is one of the choices."""
    if value not in choices:
        raise ValueError(f"unknown {parameter} {value!r}; choose from {', '.join(choices)}")
