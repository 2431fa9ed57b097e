"""What a criterion is: settings that learn values of each row, and turn them into an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone

from .._typing import Floats, Index, Reduce
from ..core import Objective, Penalty, check_strength
from ..core.penalty import identity
from ..effects import HERE, Fitting, warn_about_overlap
from ..effects.separation import warn_of_extremes
from ..groups import Groups
from ..outcome import Outcome
from ..rows import Rows
from ..tables import take


class RowModel(Protocol):
    """A fitted model of a criterion's row values."""

    def predict(self, X: Any) -> Floats:
        """Return the values of each row of X, of shape (n,) or (n, k)."""


@runtime_checkable
class Criterion(Protocol):
    """Settings that become a `FittedCriterion` once they see rows.

    A new criterion is one class with these two methods and two attributes. It then trains in
    memory, from Parquet files, on workers and in streams of batches, which carry its row values
    without knowing what they mean. Boosters and networks fit it on the rows to train on, and
    predict the values of the rows held out: these judge the model.

    A third method is optional. ``revise(rows, row_values, margin, *, reduce=None)`` returns the
    settings of a second model, or None if one is enough. Boosters call it after the first model
    with the held-out rows, their values and their margin by that model, and keep the better of the
    two on these rows. Where the rows are spread over workers it must return the same on each; sums
    over all of them come from ``reduce``. The values of the rows stay as they are.

    Attributes
    ----------
    default_strength : float
        The strength an estimator takes when it is given none.
    allows_full_strength : bool
        Whether the strength may be 1.
    """

    default_strength: float
    allows_full_strength: bool

    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Learn what is needed of the rows.

        Where they are spread over workers, ``fitting.reduce`` sums a small array over all of them,
        and ``fitting`` trains propensity and outcome models on all workers' rows.
        """

    def objective(
        self, rows: Rows, row_values: Floats | None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return the objective of rows with these values, at strength 0.

        Where the rows are spread over workers, ``reduce`` sums a small array over all of them.
        """


@dataclass(frozen=True, eq=False)
class FittedCriterion:
    """A criterion at certain rows: its settings, and the values of each row.

    An estimator takes it in place of the criterion, so that many strengths share what was fitted.

    Parameters
    ----------
    criterion : Criterion
        The settings.
    row_values : array of shape (n,) or (n, k), optional
        What the criterion knows of each row: a propensity score, or the outcome means of both
        groups. None for a criterion that needs no such value and serves any rows.
    model : RowModel, optional
        Predicts the values of other rows.
    """

    criterion: Any
    row_values: Floats | None = field(default=None, repr=False)
    model: RowModel | None = field(default=None, repr=False)

    @property
    def default_strength(self) -> float:
        """The strength an estimator takes when it is given none."""
        return float(self.criterion.default_strength)

    @property
    def allows_full_strength(self) -> bool:
        """Whether the strength may be 1."""
        return bool(self.criterion.allows_full_strength)

    @property
    def n_rows(self) -> int | None:
        """How many rows it knows; None if any will do."""
        return None if self.row_values is None else len(self.row_values)

    def predict(self, X: Any) -> Floats | None:
        """Return the values of other rows; None where the criterion needs none."""
        return None if self.model is None else self.model.predict(X)

    def at(self, X: Any) -> FittedCriterion:
        """Return the same criterion at other rows."""
        return self.with_values(self.predict(X))

    def revised(
        self, rows: Rows, margin: Floats, *, reduce: Reduce | None = None
    ) -> FittedCriterion | None:
        """Return the criterion of a second model, given the first one's margin at held-out rows.

        None where the criterion asks for one model only, as those without a method ``revise`` do.
        """
        revise = getattr(self.criterion, "revise", None)
        settings = None if revise is None else revise(rows, self.row_values, margin, reduce=reduce)
        return None if settings is None else replace(self, criterion=settings)

    def over(self, rows: Rows, taught: Index) -> FittedCriterion:
        """Return the criterion at all rows, after it was fitted on some of them.

        The others get the values that its models predict.
        """
        if self.row_values is None:
            return self
        others = np.setdiff1d(np.arange(len(rows)), taught)
        values = np.empty((len(rows), *self.row_values.shape[1:]))
        values[taught], values[others] = self.row_values, self.predict(take(rows.observed, others))
        return self.with_values(values)

    def take(self, rows: Index) -> FittedCriterion:
        """Return the same criterion at some of its rows, their values as they are."""
        return self if self.row_values is None else self.with_values(self.row_values[rows])

    def with_values(self, row_values: Floats | None) -> FittedCriterion:
        """Return the same criterion with these values of rows."""
        return replace(self, row_values=row_values)

    def with_settings(self, criterion: Any) -> FittedCriterion:
        """Return other settings with the same values of rows."""
        return replace(self, criterion=criterion)

    def objective(self, rows: Rows, *, reduce: Reduce | None = None) -> Objective:
        """Return the objective on these rows, at strength 0."""
        if self.n_rows not in (None, len(rows)):
            raise ValueError(
                f"the criterion was fitted on {self.n_rows} rows but there are {len(rows)}; use "
                "at(X) for other rows"
            )
        objective: Objective = self.criterion.objective(rows, self.row_values, reduce=reduce)
        return objective

    def penalty(self, rows: Rows, *, reduce: Reduce | None = None) -> Penalty:
        """Return the penalty of the objective on these rows."""
        return self.objective(rows, reduce=reduce).penalty


@dataclass(frozen=True)
class Plain:
    """No criterion at all: the loss alone, which is what every criterion is at strength 0."""

    default_strength = 0.0
    allows_full_strength = True
    takes_missing_levels = True

    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Return it: there is nothing to learn."""
        return FittedCriterion(self)

    def objective(
        self, rows: Rows, row_values: Floats | None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return the loss."""
        return Objective(
            rows.outcome.loss,
            rows.target,
            penalty=Penalty.none(len(rows), reduce),
            sample_weight=rows.weights,
        )


def in_canonical_order(fit: Callable[..., FittedCriterion]) -> Callable[..., FittedCriterion]:
    """Return a criterion's ``fit`` that has the rows in an order that depends on their content.

    A row then has the same value, to the last bit, in whatever order the rows come. Rows that are
    spread over workers keep their order.
    """

    @wraps(fit)
    def fit_in_order(self: Any, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        if fitting.reduce is not None:
            return fit(self, rows, fitting=fitting)
        order = rows.order
        if np.array_equal(order, np.arange(len(order))):
            return fit(self, rows, fitting=fitting)
        return fit(self, rows.take(order), fitting=fitting).take(np.argsort(order))

    return fit_in_order


def penalised(rows: Rows, penalty: Penalty) -> Objective:
    """Return (1−λ)·loss + λ·penalty of these rows, at strength 0."""
    return Objective(rows.outcome.loss, rows.y, penalty=penalty, sample_weight=rows.weights)


def check_penalised(criterion: object, outcome: Outcome, *, labels: bool = False) -> None:
    """Raise unless a penalty can be put on scores of this outcome; ``labels`` asks for two classes.

    Under a log link scores have no bound, and no curvature that bounds the penalty's.
    """
    name = type(criterion).__name__
    if outcome.loss.link not in ("logit", "identity"):
        several = f"labels of {outcome.n_classes} classes"
        place = f"for {several}" if outcome.n_classes else f"with loss={outcome.loss.name!r}"
        raise ValueError(
            f"{name} is a penalty, which is not available {place}; use "
            "criterion=FairTarget(), which takes any loss"
        )
    if labels and not outcome.binary:
        raise ValueError(
            f"{name} compares rows of one label, and y holds numbers; use FairTarget() or Parity()"
        )


def fit_criterion(
    criterion: Criterion | FittedCriterion, rows: Rows, *, fitting: Fitting = HERE
) -> FittedCriterion:
    """Fit a criterion, or pass on one that is fitted already, on as many rows as there are."""
    if isinstance(criterion, FittedCriterion):
        if criterion.n_rows not in (None, len(rows)):
            raise ValueError(
                f"the criterion was fitted on {criterion.n_rows} rows but there are {len(rows)} to "
                "train on; fit it on these rows, or hand in one that is not fitted"
            )
        return criterion
    _check_criterion(criterion)
    if rows.groups.partial and not getattr(criterion, "takes_missing_levels", False):
        raise ValueError(
            f"{type(criterion).__name__} compares rows by their sensitive level, and "
            "groups=Grouping(missing='use') keeps rows without one. Use FairTarget(), or leave "
            "those rows out with missing='drop'"
        )
    rows = rows.adjusted()
    fitted: FittedCriterion = clone(criterion, safe=False).fit(rows, fitting=fitting)
    return fitted


def choose_strength(criterion: Criterion | FittedCriterion, strength: float | None) -> float:
    """Return the strength to train at: the stated one if it is allowed, else the criterion's."""
    _check_criterion(criterion)
    if strength is None:
        return criterion.default_strength
    if not isinstance(strength, Real):
        raise TypeError(f"strength must be a number; got {strength!r}")
    check_strength(strength, shifted=criterion.allows_full_strength)
    return float(strength)


def warn_about_extremes(
    scores: Floats,
    max_share: float,
    reduce: Reduce | None = None,
    *,
    extrapolated_by: str = "the outcome models",
) -> None:
    """Warn if too many propensities, of all workers where there are several, are near 0 or 1."""
    if reduce is not None:
        outside = (scores < 0.05) | (scores > 0.95)
        extreme, rows = reduce(np.array([float(outside.sum()), float(len(scores))]))
        scores = np.full(1_000, 0.5)  # stand-ins, with the same share of extremes
        scores[: round(1_000 * extreme / rows)] = 0
    warn_about_overlap(scores, max_share=max_share, extrapolated_by=extrapolated_by)


def warn_about_worst_pair(
    rows: Rows, propensities: Floats, max_share: float, reduce: Reduce | None = None
) -> None:
    """Warn if the propensities of the worst of all pairs of levels are too often near 0 or 1.

    Of levels l and k they are b_l/P_l over b_l/P_l + b_k/P_k, where P is the share of the rows: as
    if both levels had as many rows. Their share outside [.05, .95] is averaged over both.
    """
    sums, found = identity if reduce is None else reduce, []
    for groups, members in rows.groups.estimated:
        worst = _shares_of_extremes(groups, propensities @ members, rows.weights, sums)
        first, second = np.unravel_index(int(np.argmax(worst)), worst.shape)
        pair = f"{groups.names[first]!r} and {groups.names[second]!r}"
        found.append((float(worst[first, second]), pair))
    share, pair = max(found)
    warn_of_extremes(
        share,
        (0.05, 0.95),
        max_share,
        f"the direct effect between {pair}, the two levels that differ most, is extrapolated there "
        "by the outcome models. Merge levels, leave out columns of X that stand for the sensitive "
        "attribute, or check the result on other data",
    )


def _shares_of_extremes(
    groups: Groups, propensities: Floats, sample_weight: Floats | None, sums: Reduce
) -> Floats:
    """Return the share of extreme propensities of each pair of levels."""
    n_levels = groups.n_levels
    counts = sums(groups.counts(sample_weight))
    rates = propensities / np.maximum(counts, np.finfo(float).tiny)
    weights = np.ones(len(groups)) if sample_weight is None else sample_weight
    outside = np.zeros((n_levels, n_levels))
    for level in range(n_levels):
        for other in range(level):
            odd = np.abs(rates[:, level] / (rates[:, level] + rates[:, other]) - 0.5) > 0.45
            shares = np.bincount(groups.codes, weights * odd, n_levels)
            outside[level, other], outside[other, level] = shares[level], shares[other]
    outside = sums(outside) / np.maximum(counts, np.finfo(float).tiny)[:, None]
    return np.asarray((outside + outside.T) / 2)


def _check_criterion(criterion: object) -> None:
    known = isinstance(criterion, (Criterion, FittedCriterion))
    if isinstance(criterion, type) or not known:
        raise TypeError(
            f"criterion must be one such as FairTarget(), DirectEffect() or Parity(); got "
            f"{criterion!r}"
        )
