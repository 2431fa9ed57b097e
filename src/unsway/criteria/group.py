"""Group criteria: mean scores that must not differ between the groups."""

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

    Subclasses say which conditions c hold. Of three or more levels the square is averaged over all
    pairs of levels, so that the order of the levels and the reference do not count. Nothing is
    fitted: the criterion serves any rows.
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
        columns = [column for label in self.given for column in _gaps(label, rows, total)]
        names = tuple(
            name if rows.groups.two else f"{name}_{level}"
            for name in ("gap" if label is None else f"gap_y{label}" for label in self.given)
            for level in (rows.groups.names if not rows.groups.two else ("",))
        )
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


def _gaps(label: int | None, rows: Rows, reduce: Reduce) -> list[Floats]:
    """Return the columns of A whose products with p say how far the groups' means are apart.

    Of two levels it is one column, and the product is the gap. Of L levels there is one for each:
    √(2/(L−1)) times how far its mean is from the mean of all levels' means. The sum of their
    squares is the mean over all pairs of levels of the squared gap.
    """
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    inside = weights if label is None else weights * (rows.y == label)
    groups = rows.groups
    if not groups.two:
        totals = reduce(groups.counts(inside))
        if not totals.all():
            name = groups.names[int(np.argmin(totals))]
            where = "" if label is None else f" among rows with y = {label}"
            raise ValueError(f"no row is of level {name!r}{where}; all levels are needed there")
        means = np.eye(groups.n_levels)[groups.codes] * (inside / totals[groups.codes])[:, None]
        apart = means - means.mean(axis=1, keepdims=True)
        return list((np.sqrt(2 / (groups.n_levels - 1)) * apart).T)
    ones, zeros = inside * rows.z, inside * (1 - rows.z)
    in_one, in_zero = reduce(np.array([ones.sum(), zeros.sum()]))
    for group, total in ((1, in_one), (0, in_zero)):
        if total == 0:
            where = "" if label is None else f" among rows with y = {label}"
            raise ValueError(f"no row has z = {group}{where}; both groups are needed there")
    return [np.asarray(ones / in_one - zeros / in_zero)]
