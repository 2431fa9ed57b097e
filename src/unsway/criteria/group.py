"""Group criteria: mean scores that must not differ between the two groups."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..core import Distance, Penalty
from ..core.penalty import identity
from ..effects.surrogate import Reduce
from ..roles import Floats
from .criterion import PenaltyCriterion


class GroupCriterion(PenaltyCriterion, BaseEstimator):
    """The gap in mean score between z=1 and z=0, within all rows or within a label.

    ::

        R = Σ_c ( mean(p | z=1, c) − mean(p | z=0, c) )²

    Subclasses say which conditions c hold. Nothing is fitted: the criterion serves any rows.
    """

    #: Labels within which the groups are compared; None stands for all rows.
    given: ClassVar[tuple[int | None, ...]]

    def fit(
        self, X: Any, z: Floats, sample_weight: Floats | None = None, *, y: Floats | None = None
    ) -> Self:
        """Return the criterion itself: there is nothing to fit."""
        return self

    def at(self, X: Any) -> Self:
        """Return the criterion itself: it serves any rows."""
        return self

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the criterion itself: it serves any rows."""
        return self

    def penalty(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Penalty:
        """Return the penalty on scores at rows with these labels and this z (0/1)."""
        weights = np.ones_like(z) if sample_weight is None else sample_weight
        total = identity if reduce is None else reduce
        columns = [_gap(label, y, z, weights, total) for label in self.given]
        names = tuple("gap" if label is None else f"gap_y{label}" for label in self.given)
        distance = Distance.of(["match"] * len(names), np.zeros(len(names)))
        return Penalty(np.column_stack(columns), distance, names=names, reduce=total)


class Parity(GroupCriterion):
    """Equal mean scores: the paper's statistical parity loss, (mean(p|z=1) − mean(p|z=0))².

    It removes every difference between the groups, also what fair covariates explain.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.array([1.0, 1.0, 0.0, 0.0])
    >>> penalty = Parity().penalty(np.zeros(4), z)
    >>> float(penalty.value(np.array([1.0, 0.5, 0.25, 0.25])))
    0.25
    """

    given = (None,)


class EqualOpportunity(GroupCriterion):
    """Equal mean scores among rows with y = 1 (Hardt, Price & Srebro 2016, on soft scores).

    Examples
    --------
    >>> import numpy as np
    >>> y, z = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> float(EqualOpportunity().penalty(y, z).value(np.array([0.75, 0.0, 0.25, 1.0])))
    0.25
    """

    given = (1,)


class EqualizedOdds(GroupCriterion):
    """Equal mean scores among rows with y = 1 and among rows with y = 0, on soft scores.

    Examples
    --------
    >>> import numpy as np
    >>> y, z = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> float(EqualizedOdds().penalty(y, z).value(np.array([0.75, 0.0, 0.25, 0.5])))
    0.5
    """

    given = (1, 0)


def _gap(label: int | None, y: Floats, z: Floats, weights: Floats, reduce: Reduce) -> Floats:
    """Return the column of A whose product with p is the gap in mean score."""
    inside = weights if label is None else weights * (y == label)
    ones, zeros = inside * z, inside * (1 - z)
    in_one, in_zero = reduce(np.array([ones.sum(), zeros.sum()]))
    for group, total in ((1, in_one), (0, in_zero)):
        if total == 0:
            where = "" if label is None else f" among rows with y = {label}"
            raise ValueError(f"no row has z = {group}{where}; both groups are needed there")
    return np.asarray(ones / in_one - zeros / in_zero)
