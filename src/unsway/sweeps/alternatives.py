"""A search for less discriminatory alternatives: random candidates, one look at test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..auditing.scored import ENDS
from ..checks import check_choice, check_integer, check_number, read_numbers
from ..effects.estimate import check_confidence
from ..folds import hold_out
from ..rows import Rows
from ..tables import check_table, columns
from .alternatives_result import Alternatives
from .candidate import AXES, UTILITIES, Candidate, Yardstick
from .inputs import check_estimator, engine_of
from .random_search import Callback, Search
from .space import DEFAULT_PARAMS, Space
from .stopping import Stopping
from .store import Store
from .trial import ALL, Bench


def search_alternatives(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    n_candidates: int = 100,
    space: Mapping[str, Any] | None = None,
    feature_sets: Mapping[str, Sequence[str]] | None = None,
    axis: str = "adverse_impact_ratio",
    utility: str = "auc",
    max_utility_loss: float = 0.01,
    target: float | None = None,
    approval_rate: float = 0.25,
    approve: str = "high",
    profit: Any = None,
    stopping: Stopping | None = None,
    sample_weight: Any = None,
    validation_fraction: float = 0.25,
    test_fraction: float = 0.25,
    effects: bool | Mapping[str, Any] = True,
    n_finalists: int = 3,
    n_seeds: int = 2,
    confidence: float = 0.95,
    store: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    random_state: int = 0,
) -> Alternatives:
    """Search for models that are as useful as the plain one and have less adverse impact.

    Candidates are drawn at random from a stated distribution of strengths, seeds, parameters,
    feature sets and engines. Each is fitted on training rows and measured on validation rows; the
    best is chosen there, and looked at once on test rows. The criterion is fitted once for each
    engine and feature set.

    Parameters
    ----------
    estimators : classifier with a ``strength``, or mapping of str to such classifiers
        The first one at strength 0, with all columns, is the champion: the model to improve on.
    X, y, sensitive_features, sample_weight
        The rows, as for ``fit``; they are split into training, validation and test rows.
    n_candidates : int, default=100
        At most so many. A larger number continues the same search.
    space : mapping, default=None
        ``{"strength": distribution, "params": {engine: {name: distribution}}}``. A distribution is
        ``{"uniform": [a, b]}``, ``{"log_uniform": [a, b]}``, ``{"integer": [a, b]}``,
        ``{"choice": [...]}`` or a fixed value. By default the strength is uniform on [0, 1], and an
        engine's parameters are those of `space.DEFAULT_PARAMS`.
    feature_sets : mapping of str to sequence of str, default=None
        Columns of X by name of the set; all columns are always one.
    axis : {"adverse_impact_ratio", "direct_effect_left", "pass_through"}
        What the search is for: the smallest selection rate over the largest, the direct effect in
        mean scores, or the share of the direct effect passed on. Name it beforehand.
    utility : {"auc", "ks", "profit"}, default="auc"
        What a candidate may lose little of.
    max_utility_loss : float, default=0.01
        By how much its utility may be below the champion's, on validation rows.
    target : float, default=None
        Stop as soon as an allowed candidate is this good on the axis: a ratio of at least, or a
        distance to 0 of at most this.
    approval_rate : float, default=0.25
        The share of people approved.
    approve : {"high", "low"}, default="high"
        Which end of the score is approved.
    profit : columns of shape (n, 2), default=None
        What each person brings if rejected and if approved.
    stopping : Stopping, default=None
        When the search stops before ``n_candidates``, and the error of what is said then.
    validation_fraction, test_fraction : float, default=0.25
        Shares of the rows.
    effects : bool or mapping, default=True
        Whether to measure the direct effect left, or options for `estimate_effects`.
    n_finalists : int, default=3
        How many of the best are looked at on test rows.
    n_seeds : int, default=2
        How often the best one is fitted again with other seeds, to see whose decision flips.
    confidence : float, default=0.95
        Of intervals.
    store : path, default=None
        Folder that keeps every finished candidate; the same call continues from it.
    n_jobs : int, default=None
        Workers, through joblib.
    callback : callable, default=None
        Called with a finished candidate, how many are finished and how many there are in all.
    random_state : int, default=0
        Seed of the splits and of the draws.

    Returns
    -------
    Alternatives

    Examples
    --------
    >>> from unsway import FairLogisticRegression, make_synthetic
    >>> people = make_synthetic(3_000, random_state=0)
    >>> found = search_alternatives(
    ...     FairLogisticRegression(), people.X, people.y, sensitive_features=people.z,
    ...     n_candidates=5, max_utility_loss=0.1, n_seeds=0, effects=False,
    ... )
    >>> champion, winner = (
    ...     each.value("adverse_impact_ratio") for each in (found.champion, found.winner)
    ... )
    >>> champion < winner
    True
    """
    given = _check_estimators(estimators)
    settings = _check_settings(
        axis=axis, utility=utility, max_utility_loss=max_utility_loss, target=target,
        approval_rate=approval_rate, approve=approve, effects=effects, confidence=confidence,
        random_state=random_state, validation_fraction=validation_fraction,
        test_fraction=test_fraction,
    )  # fmt: skip
    sizes = {"n_candidates": n_candidates, "n_finalists": n_finalists, "n_seeds": n_seeds}
    for name, size in sizes.items():
        check_integer(size, name, at_least=0 if name == "n_seeds" else 1)
    how = getattr(next(iter(given.values())), "groups", None)
    rows = Rows.check(
        check_table(X), y, sensitive_features=sensitive_features, sample_weight=sample_weight,
        groups=how,
    )  # fmt: skip
    search = _prepare(
        rows, given, settings, space, feature_sets, store, _check_profit(profit, len(rows), utility)
    )
    search.stopping = Stopping() if stopping is None else stopping
    return search.run(**sizes, n_jobs=n_jobs, callback=callback)


def _prepare(
    rows: Rows,
    estimators: dict[str, Any],
    settings: dict[str, Any],
    space: Any,
    feature_sets: Any,
    store: Any,
    profits: Floats | None,
) -> Search:
    """Return the search with its rows split."""
    seed = settings["random_state"]
    parts = _split(rows, settings["validation_fraction"], settings["test_fraction"], seed)
    brought = {name: None if profits is None else profits[at] for name, at in parts.items()}
    yardstick = Yardstick(
        rows=rows.with_table(None).take(parts["validation"]),
        approval_rate=settings["approval_rate"],
        approve=settings["approve"],
        profit=brought["validation"],
        pass_through=settings["axis"] == "pass_through",
    )
    bench = Bench(
        estimators=estimators,
        feature_sets=_check_feature_sets(feature_sets, rows.X),
        train=rows.take(parts["train"]),
        validation=rows.take(parts["validation"]),
        space=_space(space, estimators, feature_sets, seed),
        yardstick=yardstick,
        store=None if store is None else Store.of(store).holding(Candidate),
    )
    test = rows.take(parts["test"])
    return Search(bench=bench, test=test, test_profit=brought["test"], settings=settings)


def _check_settings(**given: Any) -> dict[str, Any]:
    """Return the settings that decide what is found, or say which is wrong."""
    check_choice(given["axis"], "axis", AXES)
    check_choice(given["utility"], "utility", UTILITIES)
    check_choice(given["approve"], "approve", ENDS)
    check_confidence(given["confidence"])
    seed = check_integer(given["random_state"], "random_state", at_least=0)
    for name in ("max_utility_loss", "target"):
        if given[name] is not None:
            given[name] = check_number(given[name], name, at_least=0)
    for name in ("approval_rate", "validation_fraction", "test_fraction"):
        given[name] = check_number(given[name], name, above=0, below=1)
    effects = given["effects"]
    if effects is False and given["axis"] != AXES[0]:
        raise ValueError(f"axis {given['axis']!r} needs effects=True")
    own = effects if isinstance(effects, Mapping) else {}
    options = {"random_state": seed, "max_extreme_share": 1.0, **own}
    return {**given, "effects": None if effects is False else options}


def _check_estimators(estimators: Any) -> dict[str, Any]:
    if not isinstance(estimators, Mapping):
        name = getattr(getattr(estimators, "engine", None), "name", type(estimators).__name__)
        estimators = {str(name): estimators}
    if not estimators:
        raise ValueError("estimators is empty; give at least one")
    for estimator in estimators.values():
        check_estimator(estimator)
    return dict(estimators)


def _check_feature_sets(sets: Any, X: Any) -> dict[str, tuple[str, ...] | None]:
    """Return the columns of each feature set; all columns come first."""
    found: dict[str, tuple[str, ...] | None] = {ALL: None}
    if sets is None:
        return found
    if not hasattr(X, "columns"):
        raise TypeError("feature_sets needs X with named columns: a data frame")
    names = [each.name for each in columns(X)]
    for name, chosen in sets.items():
        if isinstance(chosen, str) or not list(chosen):
            raise ValueError(f"feature_sets[{name!r}] must list at least one column")
        missing = [each for each in chosen if each not in names]
        if missing:
            raise ValueError(f"feature_sets[{name!r}]: X has no column {missing[0]!r}")
        if name == ALL:
            raise ValueError(f"feature_sets: {ALL!r} is the set of all columns; use another name")
        found[str(name)] = tuple(chosen)
    return found


def _space(space: Any, estimators: Mapping[str, Any], sets: Any, seed: int) -> Space:
    """Return the distribution of the candidates, with defaults for what is not stated."""
    stated = dict(space or {})
    unknown = sorted(set(stated) - {"strength", "params"})
    if unknown:
        raise ValueError(f"space: unknown key {unknown[0]!r}; it has 'strength' and 'params'")
    params = {
        name: DEFAULT_PARAMS.get(engine_of(estimator) or "", {})
        for name, estimator in estimators.items()
    }
    stated["params"] = {**params, **stated.get("params", {})}
    return Space(
        engines=tuple(estimators), features=(ALL, *map(str, sets or ())), seed=seed, **stated
    )


def _check_profit(profit: Any, n_rows: int, utility: str) -> Floats | None:
    if profit is None:
        if utility == "profit":
            raise ValueError("utility 'profit' needs profit: what each person brings, two columns")
        return None
    table = np.asarray(profit)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"profit must have two columns, if rejected and if approved; got shape {table.shape}"
        )
    return np.column_stack([read_numbers(each, "profit", n_rows) for each in table.T])


def _split(rows: Rows, validation: float, test: float, seed: int) -> dict[str, Index]:
    """Return training, validation and test rows, each class and group in its share."""
    check_number(validation, "validation_fraction", above=0, below=1)
    check_number(test, "test_fraction", above=0, below=1)
    if validation + test >= 1:
        raise ValueError("validation_fraction and test_fraction leave no rows to train on")
    held = hold_out(rows.X, rows.strata(), test, seed)
    rest = np.flatnonzero(~held)
    others = rows.take(rest)
    chosen = hold_out(others.X, others.strata(), validation / (1 - test), seed + 1)
    parts = {
        "train": rest[~chosen], "validation": rest[chosen], "test": np.flatnonzero(held)
    }  # fmt: skip
    for name, places in parts.items():
        rows.with_table(None).take(places).check_present(f"the {name} part")
    return parts
