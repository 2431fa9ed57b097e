"""What every criterion can do; a new one needs no more than this."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..core import Penalty
from ..roles import Floats


@runtime_checkable
class FittedCriterion(Protocol):
    """A criterion that knows its rows and gives the penalty on their scores."""

    def at(self, X: Any) -> FittedCriterion:
        """Return the same criterion at other rows."""

    def take(self, rows: NDArray[np.intp]) -> FittedCriterion:
        """Return the same criterion at some of its rows."""

    def penalty(self, y: Floats, z: Floats, sample_weight: Floats | None = None) -> Penalty:
        """Return the penalty, given labels and z as 0/1."""


@runtime_checkable
class Criterion(Protocol):
    """Settings that become a `FittedCriterion` once they see covariates and z."""

    def fit(self, X: Any, z: Floats, sample_weight: Floats | None = None) -> FittedCriterion:
        """Learn what is needed from X and z."""


def fit_criterion(
    criterion: Criterion | FittedCriterion, X: Any, z: Floats, sample_weight: Floats | None = None
) -> FittedCriterion:
    """Fit a criterion, or pass on one that is fitted already."""
    if isinstance(criterion, Criterion):
        fitted: FittedCriterion = clone(criterion).fit(X, z, sample_weight)
        return fitted
    if isinstance(criterion, FittedCriterion):
        return criterion
    raise TypeError(f"criterion must be one such as DirectEffect() or Parity(); got {criterion!r}")
