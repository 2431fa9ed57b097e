"""What classifiers share that are trained step by step, by a schedule, beside rows held out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..core import Schedule, Step
from ..criteria import FairTarget, choose_strength, needed_criterion
from ..roles import check_roles
from ..tables import EngineTable, check_table
from .margins import MarginClassifier
from .rows import Rows, hold_out_rows, rows_beside


class ScheduledClassifier(MarginClassifier, BaseEstimator, ABC):
    """Roles, settings and hold-out of a classifier whose λ a schedule raises."""

    criterion: Any
    strength: float | None
    schedule: Schedule | None
    validation_fraction: float
    positive_level: Any
    callback: Callable[[Step], None] | None
    progress: bool
    random_state: int

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on covariates X, binary labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Covariates, without the sensitive attribute; with NaN and categories as they are.
        y : column of length n_samples
            Labels of two classes.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        eval_set : tuple (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight)
            Rows to stop early by; a stratified part of the training rows by default.
        """
        fresh = copy(self)._fit(X, y, sensitive_features, sample_weight, eval_set)
        self.__dict__ = fresh.__dict__  # at once, so that a refit that fails changes nothing
        return self

    @abstractmethod
    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, eval_set: Any
    ) -> Self:
        """Fit in place."""

    @abstractmethod
    def _require_engine(self) -> None:
        """Raise, with the pip line, if the engine is not installed."""

    def _rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, eval_set: Any
    ) -> tuple[Rows, Rows]:
        """Check every input, fit the criterion, and return rows to train on and to stop by."""
        X = self._checked(X, reset=True)
        roles = check_roles(X, y, sensitive_features, sample_weight, self.positive_level)
        self.classes_, self.sensitive_levels_ = roles.classes, roles.sensitive.levels
        self.table_ = EngineTable.of(X)
        criterion = needed_criterion(self._criterion(), self.strength_)
        given = (X, self.table_.matrix(X), roles, criterion)
        if eval_set is not None:
            return rows_beside(*given, eval_set, self._read)
        return hold_out_rows(*given, fraction=self.validation_fraction, seed=self.random_state)

    def _read(self, X: Any) -> tuple[Any, NDArray[Any]]:
        """Check a table like that of the training rows, and return it with its matrix."""
        X = self._checked(X, reset=False)
        return X, self.table_.matrix(X)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Check the shape and the names of a table; numbers may be missing, words may stand."""
        X = check_table(X, smallest=2 if reset else 1)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def _criterion(self) -> Any:
        return FairTarget() if self.criterion is None else self.criterion

    def _check_settings(self) -> None:
        """Check every setting before any work, and choose λ."""
        self._require_engine()
        self.strength_ = choose_strength(self._criterion(), self.strength)
        if not isinstance(self.validation_fraction, Real):
            raise TypeError(
                f"validation_fraction must be a number; got {self.validation_fraction!r}"
            )
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction must lie between 0 and 1; got {self.validation_fraction!r}"
            )
        check_count(self.random_state, "random_state", smallest=0)
        if not isinstance(self.schedule, Schedule | None):
            raise TypeError(f"schedule must be a Schedule; got {self.schedule!r}")
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback must be callable; got {self.callback!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def check_count(value: Any, name: str, *, smallest: int) -> None:
    """Refuse what is no integer of at least the smallest."""
    if not isinstance(value, Integral) or value < smallest:
        raise ValueError(f"{name} must be an integer of at least {smallest}; got {value!r}")
