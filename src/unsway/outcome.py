"""The outcome y of each row as numbers, with the loss that suits it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from ._typing import Floats, Reduce
from .checks import (
    check_choice,
    check_length,
    check_values_present,
    distinct_values,
    read_column,
    read_numbers,
)
from .core import Gamma, LogLoss, Loss, MultinomialLogLoss, Poisson, SquaredError, Tweedie


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The outcome of each row.

    Parameters
    ----------
    values : array of shape (n,)
        y: the position of the class where it is a label, else the numbers as given.
    loss : Loss
        What a model of it minimises.
    classes : array of shape (C,), optional
        What 0, 1, … stand for, sorted as scikit-learn sorts them; None for numbers.
    origin, unit : float, default=0 and 1
        Numbers are ``values * unit + origin`` as the user gave them; see `standardised`.
    exposure : array of shape (n,), optional
        What numbers were divided by, until it is part of the weights of `Rows`.
    per : str, optional
        What that was called, for tables; None where numbers were not divided.

    Examples
    --------
    >>> outcome = Outcome.labels(["no", "yes", "no"], 3)
    >>> outcome.values.tolist(), outcome.classes.tolist(), outcome.loss.name
    ([0.0, 1.0, 0.0], ['no', 'yes'], 'log_loss')
    """

    values: Floats
    loss: Loss
    classes: NDArray[Any] | None = None
    origin: float = 0.0
    unit: float = 1.0
    exposure: Floats | None = field(default=None, repr=False)
    per: str | None = None

    @classmethod
    def labels(
        cls, y: Any, n_rows: int, role: str = "y", *, several: bool = False, advice: str = ""
    ) -> Self:
        """Return a label of two classes, or of ``several`` where allowed, or say why y is none.

        ``advice`` is what to do about more than two.
        """
        if y is None:
            raise ValueError("the estimator requires y to be passed, but the target y is None")
        array, _ = read_column(y, role)
        check_length(array, n_rows, role)
        _warn_of_column_vector(y, role)
        classes = distinct_values(array, role)
        if array.dtype.kind == "f" and (array % 1 != 0).any():
            kind = "classes" if several else "the two classes of a binary label"
            raise ValueError(f"Unknown label type: continuous. {role} must hold {kind}")
        if len(classes) == 1:
            raise ValueError(
                f"{role} has a single class, {classes.tolist()[0]!r}; both classes are needed"
            )
        if len(classes) == 2:
            return cls(values=(array == classes[1]).astype(float), loss=LogLoss(), classes=classes)
        if not several:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{role} has {len(classes)} classes{advice}"
            )
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"{role} has {len(classes)} classes, more than {MOST_CLASSES}; merge rare ones, "
                "or use a regressor if they are numbers"
            )
        codes = np.searchsorted(classes, array).astype(float)
        return cls(values=codes, loss=MultinomialLogLoss(), classes=classes)

    @classmethod
    def numbers(
        cls, y: Any, n_rows: int, *, loss: Loss, exposure: Any = None, role: str = "y"
    ) -> Self:
        """Return counts or amounts, per unit of exposure, or say what is wrong with them.

        Parameters
        ----------
        y : column of numbers
            Totals of each row's exposure; rates where there is none.
        n_rows : int
            Rows it must have.
        loss : Loss
            What it is a target of.
        exposure : column of positive numbers, optional
            Time insured or another amount that totals grow with.
        role : str, default="y"
            What messages call it.

        Examples
        --------
        Two claims in half a year, and none in a whole one:

        >>> outcome = Outcome.numbers([2, 0], 2, loss=Poisson(), exposure=[0.5, 1])
        >>> outcome.values.tolist(), outcome.exposure.tolist()
        ([4.0, 0.0], [0.5, 1.0])
        """
        if y is None:
            raise ValueError("the estimator requires y to be passed, but the target y is None")
        values = read_numbers(y, role, n_rows)
        _warn_of_column_vector(y, role)
        loss.check(values)
        if exposure is None:
            return cls(values=values, loss=loss)
        _, name = read_column(exposure, "exposure")
        exposure = read_exposure(exposure, n_rows)
        fractions = int((values % 1 != 0).sum()) if loss.name == "poisson" else 0
        if fractions:
            warnings.warn(
                f"{role} has {fractions} counts that are not whole numbers, and is divided by the "
                "exposure. If it holds rates already, pass the exposure as sample_weight instead",
                stacklevel=5,
            )
        per = name or "unit of exposure"
        return cls(values=values / exposure, loss=loss, exposure=exposure, per=per)

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
    def is_label(self) -> bool:
        """Whether it is a label, of two classes or of several."""
        return self.classes is not None

    @property
    def binary(self) -> bool:
        """Whether it is a label of two classes."""
        return self.classes is not None and len(self.classes) == 2

    @property
    def n_classes(self) -> int:
        """How many classes it has if it is a label of more than two, else 0."""
        return 0 if self.classes is None or self.binary else len(self.classes)

    @property
    def target(self) -> Floats:
        """What the loss is of: the values, or for several classes a 0/1 column for each.

        Examples
        --------
        >>> Outcome.labels(["a", "c", "b"], 3, several=True).target.tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        """
        if not self.n_classes:
            return self.values
        return (self.values[:, None] == np.arange(self.n_classes)).astype(float)

    @property
    def mean_loss(self) -> Loss:
        """The loss of a model of one mean: of one class against the others if there are several."""
        return LogLoss() if self.n_classes else self.loss

    @property
    def offset(self) -> float:
        """What is added to a margin of ``values`` to have that of the numbers as given."""
        return float(np.log(self.unit)) if self.loss.link == "log" else self.origin

    def as_given(self) -> NDArray[Any]:
        """Return the class of each row as the user wrote it, or the numbers per exposure."""
        if self.classes is None:
            return self.values * self.unit + self.origin
        return self.classes[self.values.astype(int)]

    def standardised(self, weights: Floats | None) -> Self:
        """Return numbers in units that do not depend on those of the user.

        Under a log link they are divided by their mean, else it is subtracted; labels stay. The
        margin of the mean is then 0, where training starts, and fairness and regularisation weigh
        the same whatever the currency or the length of a year.

        Examples
        --------
        >>> Outcome.numbers([2, 0, 4], 3, loss=Poisson()).standardised(None).values.tolist()
        [1.0, 0.0, 2.0]
        >>> Outcome.numbers([2, 0, 4], 3, loss=SquaredError()).standardised(None).values.tolist()
        [0.0, -2.0, 2.0]
        """
        if self.classes is not None:
            return self
        mean = float(np.average(self.values, weights=weights))
        if self.loss.link != "log":
            return self.in_units(mean, 1.0)
        if not mean > 0:
            raise ValueError("y is 0 in every row that has a weight")
        return self.in_units(0.0, mean)

    def in_units(self, origin: float, unit: float) -> Self:
        """Return numbers as given in these units."""
        return replace(self, values=(self.values - origin) / unit, origin=origin, unit=unit)

    def spread(self, weights: Floats | None, reduce: Reduce | None = None) -> float:
        """Return the standard deviation of the numbers, 1 if they are all alike.

        Where the rows are spread over workers, ``reduce`` sums over all of them.
        """
        if reduce is not None:
            w = np.ones(len(self)) if weights is None else weights
            total, sums = reduce(np.array([w.sum(), w @ self.values]))
            squares = reduce(np.array([w @ (self.values - sums / total) ** 2]))[0]
            return float(np.sqrt(squares / total)) or 1.0
        mean = np.average(self.values, weights=weights)
        return float(np.sqrt(np.average((self.values - mean) ** 2, weights=weights))) or 1.0

    def take(self, rows: Any) -> Self:
        """Return these rows."""
        exposure = None if self.exposure is None else self.exposure[rows]
        return replace(self, values=self.values[rows], exposure=exposure)

    def check_present(self, sample_weight: Floats | None, place: str) -> None:
        """Raise if a class has no row, or no weight, in this place."""
        if self.classes is not None:
            check_values_present(self.values, sample_weight, self.classes, place, "class")


def read_exposure(exposure: Any, n_rows: int) -> Floats:
    """Return the exposure of each row, or say what is wrong with it.

    Examples
    --------
    >>> read_exposure([1, 0.5], 2).tolist()
    [1.0, 0.5]
    """
    values = read_numbers(exposure, "exposure", n_rows)
    if not (values > 0).all():
        raise ValueError(
            f"exposure has {int((values <= 0).sum())} values that are zero or negative; leave out "
            "rows without exposure"
        )
    return values


#: The most classes of a label.
MOST_CLASSES = 100

#: The losses of numbers by name.
NUMBER_LOSSES = ("squared_error", "poisson", "gamma", "tweedie")


def number_loss(name: Any, power: float = 1.5) -> Loss:
    """Return the loss of this name; ``power`` is that of Tweedie's.

    Examples
    --------
    >>> number_loss("tweedie", 1.7)
    Tweedie(power=1.7)
    """
    if name == "log_loss":
        raise ValueError("loss='log_loss' is that of a label; use a classifier")
    check_choice(name, "loss", NUMBER_LOSSES)
    if name == "tweedie":
        return Tweedie(power)
    others: dict[str, Loss] = {
        "squared_error": SquaredError(),
        "poisson": Poisson(),
        "gamma": Gamma(),
    }
    return others[name]


def outcome_reader(
    loss: str | None, power: float = 1.5, exposure: Any = None
) -> Callable[[Any, int], Outcome]:
    """Return what reads y: numbers of a loss that is stated, else labels or numbers as they are.

    Examples
    --------
    >>> outcome_reader("poisson", exposure=[0.5, 1])([2, 0], 2).values.tolist()
    [4.0, 0.0]
    """
    if loss is not None:
        return partial(Outcome.numbers, loss=number_loss(loss, power), exposure=exposure)
    if exposure is not None:
        raise ValueError(
            "exposure belongs to counts and amounts: state what y is, such as loss='poisson'"
        )
    return Outcome.labels_or_numbers


def _warn_of_column_vector(y: Any, role: str) -> None:
    if isinstance(y, np.ndarray) and y.ndim == 2:
        warnings.warn(
            f"A column-vector {role} was passed when a 1d array was expected; use {role}.ravel()",
            DataConversionWarning,
            stacklevel=5,
        )
