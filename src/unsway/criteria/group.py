"""Group criteria: mean scores that must not differ between the two groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Floats, Reduce
from ..core import Distance, Objective, Penalty
from ..core.penalty import identity
from ..effects import HERE, Fitting
from ..rows import Rows
from .criterion import FittedCriterion, check_penalised, penalised


class GroupCriterion(BaseEstimator):
    """The gap in mean score between the groups, within all rows or within a label.

    ::

        R = Σ_c ( mean(p | z=1, c) − mean(p | z=0, c) )²

    Subclasses say which conditions c hold. Nothing is fitted: the criterion serves any rows.
    """

    default_strength = 0.9
    allows_full_strength = False

    #: Labels within which the groups are compared; None stands for all rows.
    given: ClassVar[tuple[int | None, ...]]

    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Return the criterion for any rows: there is nothing to learn."""
        check_penalised(self, rows.outcome, labels=self.given != (None,))
        return FittedCriterion(self)

    def objective(
        self, rows: Rows, row_values: Floats | None = None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return (1−λ)·loss + λ·penalty of the rows, at strength 0."""
        total = identity if reduce is None else reduce
        columns = [_gap(label, rows, total) for label in self.given]
        names = tuple("gap" if label is None else f"gap_y{label}" for label in self.given)
        distance = Distance.of(["match"] * len(names), np.zeros(len(names)))
        penalty = Penalty(np.column_stack(columns), distance, names=names, reduce=total)
        return penalised(rows, penalty)


class Parity(GroupCriterion):
    """Equal mean scores: the paper's statistical parity loss, (mean(p|z=1) − mean(p|z=0))².

    It removes every difference between the groups, also what fair covariates explain.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.rows import Rows
    >>> rows = Rows.check(np.eye(4), [1, 0, 1, 0], sensitive_features=[1, 1, 0, 0])
    >>> penalty = Parity().fit(rows).penalty(rows)
    >>> float(penalty.value(np.array([1.0, 0.5, 0.25, 0.25])))
    0.25
    """

    given = (None,)


class EqualOpportunity(GroupCriterion):
    """Equal mean scores among rows with y = 1 (Hardt, Price & Srebro 2016, on soft scores).

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.rows import Rows
    >>> rows = Rows.check(np.eye(4), [1, 0, 1, 0], sensitive_features=[1, 1, 0, 0])
    >>> penalty = EqualOpportunity().fit(rows).penalty(rows)
    >>> float(penalty.value(np.array([0.75, 0.0, 0.25, 1.0])))
    0.25
    """

    given = (1,)


class EqualizedOdds(GroupCriterion):
    """Equal mean scores among rows with y = 1 and among rows with y = 0, on soft scores.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.rows import Rows
    >>> rows = Rows.check(np.eye(4), [1, 0, 1, 0], sensitive_features=[1, 1, 0, 0])
    >>> penalty = EqualizedOdds().fit(rows).penalty(rows)
    >>> float(penalty.value(np.array([0.75, 0.0, 0.25, 0.5])))
    0.5
    """

    given = (1, 0)


def _gap(label: int | None, rows: Rows, reduce: Reduce) -> Floats:
    """Return the column of A whose product with p is the gap in mean score."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    inside = weights if label is None else weights * (rows.y == label)
    ones, zeros = inside * rows.z, inside * (1 - rows.z)
    in_one, in_zero = reduce(np.array([ones.sum(), zeros.sum()]))
    for group, total in ((1, in_one), (0, in_zero)):
        if total == 0:
            where = "" if label is None else f" among rows with y = {label}"
            raise ValueError(f"no row has z = {group}{where}; both groups are needed there")
    return np.asarray(ones / in_one - zeros / in_zero)
