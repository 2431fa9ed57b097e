"""The outcome y of each row as numbers, with the loss that suits it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from ._typing import Floats
from .checks import check_length, distinct_values, read_column
from .core.loss import LogLoss, Loss, SquaredError
from .groups import check_values_present


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The outcome of each row.

    Parameters
    ----------
    values : array of shape (n,)
        y: 0 and 1 where it is a label, else the numbers as given.
    loss : Loss
        What a model of it minimises.
    classes : array of shape (2,), optional
        What 0 and 1 stand for, sorted as scikit-learn sorts them; None for numbers.

    Examples
    --------
    >>> outcome = Outcome.labels(["no", "yes", "no"], 3)
    >>> outcome.values.tolist(), outcome.classes.tolist(), outcome.loss.name
    ([0.0, 1.0, 0.0], ['no', 'yes'], 'log_loss')
    """

    values: Floats
    loss: Loss
    classes: NDArray[Any] | None = None

    @classmethod
    def labels(cls, y: Any, n_rows: int, role: str = "y") -> Self:
        """Return a label of two classes, or say why y is none."""
        if y is None:
            raise ValueError("the estimator requires y to be passed, but the target y is None")
        array, _ = read_column(y, role)
        check_length(array, n_rows, role)
        if isinstance(y, np.ndarray) and y.ndim == 2:
            warnings.warn(
                f"A column-vector {role} was passed when a 1d array was expected; use "
                f"{role}.ravel()",
                DataConversionWarning,
                stacklevel=4,
            )
        classes = distinct_values(array, role)
        if array.dtype.kind == "f" and (array % 1 != 0).any():
            raise ValueError(
                f"Unknown label type: continuous. {role} must hold the two classes of a binary "
                "label"
            )
        if len(classes) == 1:
            raise ValueError(
                f"{role} has a single class, {classes.tolist()[0]!r}; both classes are needed"
            )
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{role} has {len(classes)} classes"
            )
        return cls(values=(array == classes[1]).astype(float), loss=LogLoss(), classes=classes)

    @classmethod
    def labels_or_numbers(cls, y: Any, n_rows: int) -> Self:
        """Return numbers as they are, so that scores keep their scale; two classes as 0 and 1."""
        array, _ = read_column(y, "y")
        check_length(array, n_rows, "y")
        if array.dtype.kind == "O" and all(isinstance(value, Number) for value in array):
            array = array.astype(np.float64)
        classes = distinct_values(array, "y")
        if len(classes) == 1:
            raise ValueError("y is the same for every row, so nothing has an effect on it")
        if array.dtype.kind in "biuf":
            if classes.tolist() == [0, 1]:
                return cls(values=array.astype(np.float64), loss=LogLoss(), classes=classes)
            return cls(values=array.astype(np.float64), loss=SquaredError())
        if len(classes) > 2:
            raise ValueError(f"y has {len(classes)} classes of text; give numbers or two classes")
        return cls(values=(array == classes[1]).astype(float), loss=LogLoss(), classes=classes)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as text; none for numbers."""
        return () if self.classes is None else tuple(map(str, self.classes))

    @property
    def binary(self) -> bool:
        """Whether it is a label of two classes."""
        return self.classes is not None

    def as_given(self) -> NDArray[Any]:
        """Return the class of each row as the user wrote it, or the numbers."""
        return self.values if self.classes is None else self.classes[self.values.astype(int)]

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        return replace(self, values=self.values[rows])

    def check_present(self, sample_weight: Floats | None, place: str) -> None:
        """Raise if a class has no row, or no weight, in this place."""
        if self.classes is not None:
            check_values_present(self.values, sample_weight, self.classes, place, "class")
