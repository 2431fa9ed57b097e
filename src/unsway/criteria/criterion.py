"""What every criterion can do; a new one needs no more than this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..core import Objective, Penalty, check_strength
from ..core.penalty import identity
from ..effects import warn_about_overlap
from ..effects.surrogate import Reduce
from ..roles import Floats


@runtime_checkable
class FittedCriterion(Protocol):
    """A criterion that knows its rows and gives the objective on their scores."""

    #: The strength an estimator takes when it is told none.
    default_strength: float
    #: Whether the strength may be 1.
    allows_full_strength: bool

    @property
    def n_rows(self) -> int | None:
        """How many rows it knows; None if any will do."""

    def at(self, X: Any) -> FittedCriterion:
        """Return the same criterion at other rows."""

    def take(self, rows: NDArray[np.intp]) -> FittedCriterion:
        """Return the same criterion at some of its rows."""

    def objective(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Objective:
        """Return the objective at strength 0, given labels and z as 0/1.

        Where the rows are spread over workers, ``reduce`` sums a small array over all of them.
        """


@runtime_checkable
class Criterion(Protocol):
    """Settings that become a `FittedCriterion` once they see covariates, z and labels."""

    default_strength: float
    allows_full_strength: bool

    def fit(
        self, X: Any, z: Floats, sample_weight: Floats | None = None, *, y: Floats | None = None
    ) -> FittedCriterion:
        """Learn what is needed; only fair targets need the labels."""


class PenaltyCriterion(ABC):
    """A fitted criterion that is a penalty on the scores."""

    default_strength = 0.9
    allows_full_strength = False

    @property
    def n_rows(self) -> int | None:
        """How many rows it knows; None if any will do."""
        return None

    @abstractmethod
    def penalty(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Penalty:
        """Return the penalty, given labels and z as 0/1."""

    def objective(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Objective:
        """Return (1−λ)·log-loss + λ·penalty, at strength 0 until told another."""
        return Objective(self.penalty(y, z, sample_weight, reduce=reduce), y, 0.0, sample_weight)


class NoCriterion(PenaltyCriterion):
    """Labels as they are and nothing to hold scores to: what strength 0 comes to."""

    default_strength = 0.0

    def at(self, X: Any) -> NoCriterion:
        """Return itself: it serves any rows."""
        return self

    def take(self, rows: NDArray[np.intp]) -> NoCriterion:
        """Return itself: it serves any rows."""
        return self

    def penalty(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Penalty:
        """Return the penalty on nothing."""
        return replace(Penalty.none(len(y)), reduce=reduce or identity)


def needed_criterion(
    criterion: Criterion | FittedCriterion, strength: float
) -> Criterion | FittedCriterion:
    """Return the criterion, or none where strength 0 would not use what it has yet to fit."""
    if strength != 0 or isinstance(criterion, FittedCriterion):
        return criterion
    if hasattr(criterion, "check_settings"):
        criterion.check_settings()
    return NoCriterion()


def fit_criterion(
    criterion: Criterion | FittedCriterion,
    X: Any,
    z: Floats,
    sample_weight: Floats | None = None,
    *,
    y: Floats | None = None,
) -> FittedCriterion:
    """Fit a criterion, or pass on one that is fitted already, on as many rows as there are."""
    if isinstance(criterion, Criterion):
        fitted: FittedCriterion = clone(criterion).fit(X, z, sample_weight, y=y)
        return fitted
    if isinstance(criterion, FittedCriterion):
        if criterion.n_rows not in (None, len(z)):
            raise ValueError(
                f"the criterion was fitted on {criterion.n_rows} rows but there are {len(z)} to "
                "train on; fit it on these rows, or hand in one that is not fitted"
            )
        return criterion
    raise _not_a_criterion(criterion)


def choose_strength(criterion: Criterion | FittedCriterion, strength: float | None) -> float:
    """Return the strength to train at: the stated one if it is allowed, else the criterion's."""
    if isinstance(criterion, type) or not isinstance(criterion, (Criterion, FittedCriterion)):
        raise _not_a_criterion(criterion)
    if strength is None:
        return criterion.default_strength
    if not isinstance(strength, Real):
        raise TypeError(f"strength must be a number; got {strength!r}")
    check_strength(strength, shifted=criterion.allows_full_strength)
    return float(strength)


def warn_about_extremes(scores: Floats, max_share: float, reduce: Reduce | None = None) -> None:
    """Warn if too many propensities, of all workers where there are several, are near 0 or 1."""
    if reduce is not None:
        outside = (scores < 0.05) | (scores > 0.95)
        extreme, rows = reduce(np.array([float(outside.sum()), float(len(scores))]))
        scores = np.full(1_000, 0.5)  # stand-ins, with the same share of extremes
        scores[: round(1_000 * extreme / rows)] = 0
    warn_about_overlap(scores, max_share=max_share)


def _not_a_criterion(criterion: object) -> TypeError:
    return TypeError(
        f"criterion must be one such as FairTarget(), DirectEffect() or Parity(); got {criterion!r}"
    )
