"""The three data sets of the cases, each small, with weights and a numeric matrix beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regression import api

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a data set.

    Parameters
    ----------
    name : str
    X : array or pandas frame
        The covariates as they are: with categories and missing values where there are any.
    matrix : array
        The same as standardised numbers, without missing values, for linear models.
    y, z : columns
        Labels and sensitive attribute as a user would hand them in.
    labels, codes : arrays of float
        Both as 0/1.
    positive : optional
        The level of z that is coded as 1, where z is not 0/1.
    weights : array
        Sample weights, none of them 1.
    """

    name: str
    X: Any
    matrix: Floats
    y: NDArray[Any]
    z: NDArray[Any]
    labels: Floats
    codes: Floats
    positive: Any
    weights: Floats

    def take(self, rows: Any) -> Data:
        """Return some of the rows."""
        rows = np.arange(len(self.y))[rows]
        X = self.X.iloc[rows].reset_index(drop=True) if hasattr(self.X, "iloc") else self.X[rows]
        columns = ("matrix", "y", "z", "labels", "codes", "weights")
        return replace(self, X=X, **{name: getattr(self, name)[rows] for name in columns})


def _weights(n_rows: int) -> Floats:
    return 0.25 + (np.arange(n_rows) * 7919 % 17) / 8


def _standardised(matrix: Floats) -> Floats:
    spread = matrix.std(axis=0)
    kept = spread > 0
    return np.asarray((matrix[:, kept] - matrix[:, kept].mean(axis=0)) / spread[kept])


@cache
def synthetic(n_rows: int = 1_500) -> Data:
    """Return the paper's synthetic world."""
    found = api.synthetic_world("paper", n_rows, seed=3)
    labels, codes = found.y.astype(float), found.z.astype(float)
    weights = _weights(n_rows)
    return Data("synthetic", found.X, found.X, found.y, found.z, labels, codes, None, weights)


@cache
def adult(n_rows: int = 1_500) -> Data:
    """Return the first rows of Adult: words for y and z, categories, and missing values."""
    found = api.adult_table()
    frame = found.to_frame("pandas").iloc[:n_rows].copy()
    for name in ("workclass", "occupation"):  # "?" is what the file says where nothing is known
        frame[name] = frame[name].cat.remove_categories("?")
    frame.loc[frame.index[::17], "hours-per-week"] = np.nan
    labels, codes = found.y[:n_rows].astype(float), found.z[:n_rows].astype(float)
    y = np.where(labels == 1, ">50K", "<=50K").astype(object)
    z = np.where(codes == 1, "Male", "Female").astype(object)
    matrix = _standardised(found.to_matrix()[0][:n_rows])
    return Data("adult", frame, matrix, y, z, labels, codes, "Male", _weights(n_rows))


@cache
def german() -> Data:
    """Return German credit, with age as the sensitive attribute."""
    found = api.german_table("age", 25)
    labels, codes = found.y.astype(float), found.z.astype(float)
    y = np.where(labels == 1, "good", "bad").astype(object)
    matrix = _standardised(found.to_matrix()[0])
    weights = _weights(len(y))
    frame = found.to_frame("pandas")
    return Data("german", frame, matrix, y, found.z, labels, codes, None, weights)


def all_three() -> tuple[Data, Data, Data]:
    """Return the three data sets."""
    return synthetic(), adult(), german()
