"""Reason codes: which columns moved a person's score, and by how much, from the model itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_choice, check_integer
from ..frames import Tabular, plain
from ..tables import EngineTable
from .features import align, fill_numbers, one_hot, one_hot_columns
from .linear_columns import fill_missing, read_numbers
from .logistic import FairLogisticRegression
from .saved_model import BOOSTERS, SavedModel
from .training import read_table

#: Which end of a score is approved.
ENDS = ("high", "low")
#: The column that stands for all that are not to be named.
UNNAMED = "other columns"


@dataclass(frozen=True, kw_only=True, eq=False)
class Contributions:
    """What each column adds to the margin of each row.

    Parameters
    ----------
    columns : tuple of str
    values : array of shape (n, p)
    baseline : float or array of shape (n,)
        The margin of the reference. Row sums and baseline add up to the margin.
    reference : str
        What the baseline is of, in words.
    """

    columns: tuple[str, ...]
    values: Floats = field(repr=False)
    baseline: Floats = field(repr=False)
    reference: str

    @property
    def margin(self) -> Floats:
        """The margin of each row."""
        return np.asarray(self.values.sum(axis=1) + self.baseline)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Reasons(Tabular):
    """The columns that moved each row's score most towards not being approved.

    Its table has a row per row of X and rank.

    Parameters
    ----------
    contributions : Contributions
        Of all columns; those not to be named are one, "other columns".
    names : tuple of tuple of str
        Of each row the columns, the one that moved it most first; fewer than k where fewer moved
        it that way.
    points : tuple of tuple of float
        What each of them adds to the margin, in log-odds.
    approve : {"high", "low"}
    """

    contributions: Contributions
    names: tuple[tuple[str, ...], ...]
    points: tuple[tuple[float, ...], ...]
    approve: str

    def _columns(self) -> Mapping[str, list[Any]]:
        rows = [
            (row, rank, name, value)
            for row, (names, points) in enumerate(zip(self.names, self.points, strict=True))
            for rank, (name, value) in enumerate(zip(names, points, strict=True), start=1)
        ]
        columns = zip(*rows, strict=True) if rows else ((), (), (), ())
        return dict(zip(("row", "rank", "column", "points"), map(list, columns), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return names and points of each row, ready for JSON."""
        found = {
            "reference": self.contributions.reference,
            "approve": self.approve,
            "reasons": [
                dict(zip(names, points, strict=True))
                for names, points in zip(self.names, self.points, strict=True)
            ],
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        first = ", ".join(
            f"{name} {value:+.3f}"
            for name, value in zip(self.names[0], self.points[0], strict=True)
        )
        reference = self.contributions.reference
        return f"Reasons for {len(self.names):,} rows against {reference}; the first: {first}"


def contributions(model: Any, X: Any, *, reference: Any = None) -> Contributions:
    """Return what each column adds to the margin of each row, against a reference.

    Parameters
    ----------
    model : FairLogisticRegression, FairXGBClassifier, FairLGBMClassifier or SavedModel
        Fitted, of two classes.
    X : table
        The rows.
    reference : table, default=None
        Rows to compare with, such as people who were approved: a column's contribution is what it
        adds less what it adds on average there. By default a linear model is compared with the
        means of its training columns, and trees with their own expected margin, the mean over
        their training rows weighted by the curvature of the loss, which is part of the model file.

    Returns
    -------
    Contributions
        They add up to the margin. Columns made from one feature (levels, the mark of a missing
        number) count as that feature.

    Notes
    -----
    Linear: weight times (value − mean of the reference). Trees: the engine's own Shapley values of
    the trees (Lundberg et al. 2020, Nature Machine Intelligence 2). XGBoost computes them in single
    precision; what rounding leaves to the margin is shared among the columns in proportion.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway import FairLogisticRegression, make_synthetic
    >>> people = make_synthetic(2_000, random_state=0)
    >>> model = FairLogisticRegression().fit(people.X, people.y, sensitive_features=people.z)
    >>> found = contributions(model, people.X[:3])
    >>> bool(np.allclose(found.margin, model.decision_function(people.X[:3])))
    True
    """
    names, values, start, told = _raw(model, X)
    if reference is None:
        return Contributions(columns=names, values=values, baseline=start, reference=told)
    _, others, base, _ = _raw(model, reference)
    means = others.mean(axis=0)
    middle = float(means.sum() + np.mean(base))
    return Contributions(
        columns=names,
        values=values - means,
        # the margins stay what they were, to the last bit but one
        baseline=np.full(len(values), middle) + (start - np.mean(base)),
        reference=f"the mean of {len(others):,} reference rows",
    )


def reasons(
    model: Any,
    X: Any,
    k: int = 4,
    *,
    reference: Any = None,
    never_name: Sequence[str] = (),
    approve: str = "high",
) -> Reasons:
    """Return up to k columns that moved each row's score most towards not being approved.

    Parameters
    ----------
    model, X, reference
        As in `contributions`.
    k : int, default=4
        Most reasons for a row.
    never_name : sequence of str, default=()
        Columns of X that are not to be named, such as age. The sensitive column that a saved model
        knows is one. What they add is kept, under "other columns".
    approve : {"high", "low"}, default="high"
        Which end of the score is approved: with "high" the most negative contributions come first.

    Returns
    -------
    Reasons
        The same for the same row, whatever other rows there are.

    Examples
    --------
    >>> from unsway import FairLogisticRegression, make_synthetic
    >>> people = make_synthetic(2_000, random_state=0)
    >>> model = FairLogisticRegression().fit(people.X, people.y, sensitive_features=people.z)
    >>> found = reasons(model, people.X[:5], 2)
    >>> max(len(names) for names in found.names), max(max(p) for p in found.points if p) < 0
    (2, True)
    """
    check_integer(k, "k", at_least=1)
    check_choice(approve, "approve", ENDS)
    hidden = {never_name} if isinstance(never_name, str) else {str(each) for each in never_name}
    found = contributions(model, X, reference=reference)
    unknown = sorted(hidden - set(found.columns))
    if unknown:
        raise ValueError(f"never_name: the model has no column {unknown[0]!r}")
    if isinstance(model, SavedModel):
        hidden.add(str((model.card.get("roles") or {}).get("sensitive")))
    shown = [place for place, name in enumerate(found.columns) if name not in hidden]
    if not shown:
        raise ValueError("never_name leaves no column to name")
    merged = _merge(found, shown)
    against = merged.values[:, : len(shown)] * (-1 if approve == "high" else 1)
    order = np.argsort(-against, axis=1, kind="stable")[:, :k]
    names, points = [], []
    for row, places in enumerate(order):
        kept = [place for place in places if against[row, place] > 0]
        names.append(tuple(merged.columns[place] for place in kept))
        points.append(tuple(float(merged.values[row, place]) for place in kept))
    return Reasons(contributions=merged, names=tuple(names), points=tuple(points), approve=approve)


def _merge(found: Contributions, shown: Sequence[int]) -> Contributions:
    """Return the contributions of some columns, and of all others together."""
    if len(shown) == len(found.columns):
        return found
    rest = np.delete(found.values, shown, axis=1).sum(axis=1)
    return Contributions(
        columns=(*(found.columns[place] for place in shown), UNNAMED),
        values=np.column_stack([found.values[:, shown], rest]),
        baseline=found.baseline,
        reference=found.reference,
    )


_Raw = tuple[tuple[str, ...], Floats, Floats, str]


def _raw(model: Any, X: Any) -> _Raw:
    """Return columns, their contributions, the baseline of each row, and what it is of."""
    if isinstance(model, SavedModel):
        return _of_saved(model, X)
    check_is_fitted(model)
    if len(model.classes_) > 2:
        raise ValueError("reasons are for models of two classes")
    if isinstance(model, FairLogisticRegression):
        matrix = fill_missing(model, read_numbers(model, X, reset=False))
        names = [str(each) for each in model.column_names_]
        marks = names[model.n_features_in_ :]
        sources = names[: model.n_features_in_]
        sources += [each.removeprefix("missingindicator_") for each in marks]
        return _linear(
            matrix, model.coef_[0], float(model.intercept_[0]), model.column_means_, sources
        )
    engine = getattr(model, "engine", None)
    if getattr(engine, "name", None) not in BOOSTERS or not hasattr(model, "booster_"):
        raise TypeError(
            f"a {type(model).__name__} gives no reasons; give a FairLogisticRegression, "
            "FairXGBClassifier, FairLGBMClassifier or a saved model"
        )
    table = model.table_.code(read_table(model, X, reset=False))
    return _trees(engine, model.booster_, table, model.n_jobs)


def _of_saved(model: SavedModel, X: Any) -> _Raw:
    if model.classes or model.loss is not None:
        raise ValueError("reasons are for models of two classes")
    frame = align(X, model.features)
    if model.coefficients is None:
        levels = {each.name: each.levels for each in model.features if each.kind == "category"}
        table = EngineTable(tuple(each.name for each in model.features), levels)
        return _trees(BOOSTERS[model.card["engine"]], model.booster, table.code(frame), None)
    sources = [name for name, _ in one_hot_columns(model.features)]
    matrix = one_hot(frame, model.features)[0] if not model.fill else None
    if matrix is None:
        matrix = fill_numbers(frame, model.features, model.fill, model.marked)
        sources += list(model.marked)
    means = model.card.get("column_means")
    return _linear(
        matrix, model.coefficients, float(np.ravel(model.intercept)[0]),
        None if means is None else np.asarray(means), sources,
    )  # fmt: skip


def _linear(
    matrix: Floats, weights: Floats, intercept: float, means: Floats | None, sources: Sequence[str]
) -> _Raw:
    """Return the contributions of a linear model, columns of one feature added up."""
    told = "the means of the training columns"
    if means is None:
        means, told = np.zeros(len(weights)), "zero in every column"
    names = tuple(dict.fromkeys(sources))
    place = np.array([names.index(each) for each in sources])
    each = (matrix - means) * weights
    values = np.zeros((len(matrix), len(names)))
    np.add.at(values.T, place, each.T)
    return names, values, np.full(len(matrix), intercept + float(means @ weights)), told


def _trees(engine: Any, booster: Any, table: Any, n_jobs: int | None) -> _Raw:
    """Return the contributions of trees; rounding goes to the columns in proportion."""
    found = np.asarray(engine.contributions(booster, table, n_jobs), dtype=np.float64)
    values, baseline = found[:, :-1].copy(), found[:, -1].copy()
    margin = np.asarray(engine.margin(booster, table, n_jobs), dtype=np.float64)
    left = margin - values.sum(axis=1) - baseline
    size = np.abs(values).sum(axis=1)
    moved = size > 0
    values[moved] += (left[moved] / size[moved])[:, None] * np.abs(values[moved])
    baseline[~moved] += left[~moved]
    names = tuple(map(str, table.layout.names))
    return names, values, baseline, "the model's own expected margin"
