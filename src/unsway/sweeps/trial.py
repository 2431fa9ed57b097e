"""What a search shares between its candidates, and how one of them is fitted and measured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Floats
from ..criteria import FittedCriterion, fit_criterion
from ..effects import HERE
from ..models.boosting import BoostedClassifier, nuisance_fitting
from ..models.features import Feature, features_of_table, one_hot
from ..models.labels import criterion_of
from ..models.logistic import FairLogisticRegression
from ..rows import Rows
from ..tables import holds_text, select
from .candidate import CHAMPION, Candidate, Yardstick
from .space import Draw, Space
from .store import Store

#: The feature set of all columns.
ALL = "all"


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """The rows as one estimator reads one feature set, and its criterion fitted on them.

    Parameters
    ----------
    train, validation : Rows
        With the columns of the feature set.
    criterion : FittedCriterion or None
        At the training rows; None if the estimator takes none.
    own : Criterion or None
        Its settings, which saved models name.
    features : tuple of Feature, optional
        The columns of a table that was made one-hot.
    """

    train: Rows = field(repr=False)
    validation: Rows = field(repr=False)
    criterion: FittedCriterion | None = field(repr=False)
    own: Any
    features: tuple[Feature, ...] | None = None


@dataclass(kw_only=True, eq=False)
class Bench:
    """Estimators and rows, and what was prepared of them so far; workers get a copy.

    Parameters
    ----------
    estimators : mapping of str to estimator
    feature_sets : mapping of str to tuple of str or None
        Columns by name of the set; None for all.
    train, validation : Rows
    space : Space
    yardstick : Yardstick
        Of the validation rows.
    store : Store, optional
    """

    estimators: Mapping[str, Any]
    feature_sets: Mapping[str, tuple[str, ...] | None]
    train: Rows
    validation: Rows
    space: Space
    yardstick: Yardstick
    store: Store | None = None
    known: dict[tuple[str, str], Prepared] = field(default_factory=dict)

    def select(self, X: Any, features: str) -> Any:
        """Return the columns of a feature set."""
        names = self.feature_sets[features]
        return X if names is None else select(X, names)

    def prepare(self, engine: str, features: str) -> Prepared:
        """Select the columns, and fit the criterion on the training rows, once."""
        if (engine, features) not in self.known:
            self.known[engine, features] = self._prepare(self.estimators[engine], features)
        return self.known[engine, features]

    def _prepare(self, estimator: Any, features: str) -> Prepared:
        train, validation = (
            rows.with_table(self.select(rows.X, features)) for rows in (self.train, self.validation)
        )
        made = None
        if isinstance(estimator, FairLogisticRegression) and _needs_columns(train.X):
            made = features_of_table(train.X)
        criterion = single_model(criterion_of(estimator))
        fitting = nuisance_fitting(_checked(estimator)) if _boosted(estimator) else HERE
        fitted = None
        if criterion is not None:
            fitted = fit_criterion(criterion, train, fitting=fitting)
        if made is not None:
            train, validation = (
                rows.with_table(one_hot(rows.X, made, keep_missing=True)[0])
                for rows in (train, validation)
            )
        return Prepared(
            train=train, validation=validation, criterion=fitted, own=criterion, features=made
        )

    def fit(self, draw: Draw) -> Any:
        """Return the estimator fitted with the settings of a draw."""
        estimator = self.estimators[draw.engine]
        at = self.prepare(draw.engine, draw.features)
        model = clone(estimator, safe=False)
        plain = draw.strength == 0
        if at.criterion is not None:
            model.criterion = at.own if plain else at.criterion
        model.set_params(strength=draw.strength)
        options: dict[str, Any] = {}
        if _boosted(estimator):
            model.params = merged_params(estimator, draw.params)
            model.random_state = draw.seed
            options["eval_set"] = as_given(at.validation)
        else:
            model.set_params(**draw.params)
            if "random_state" in model.get_params(deep=False):
                model.random_state = draw.seed
        X, y, z, weights = as_given(at.train)
        if weights is not None:
            options["sample_weight"] = weights
        model.fit(X, y, sensitive_features=z, **options)
        if at.criterion is not None:
            model.criterion = at.own
        return model

    def scores(self, model: Any, draw: Draw, X: Any) -> Floats:
        """Return a model's scores of rows with all columns."""
        X = self.select(X, draw.features)
        at = self.prepare(draw.engine, draw.features) if draw.engine in self.estimators else None
        if at is not None and at.features is not None and hasattr(model, "n_features_in_"):
            X = one_hot(X, at.features, keep_missing=True)[0]
        return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)

    def try_one(self, number: int, draw: Draw | None = None) -> tuple[Candidate, Any]:
        """Return a candidate with its model, or with what went wrong; a store keeps the model."""
        draw = self.space.draw(number) if draw is None else draw
        started = time.perf_counter()
        made: dict[str, Any] = {"number": number, "settings": draw.to_dict()}
        try:
            model = self.fit(draw)
            made["seconds"] = time.perf_counter() - started
            scores = self.scores(model, draw, self.validation.X)
            made["parts"] = {"validation": self.yardstick.measure(scores)}
            made["fingerprint"] = sha256(np.round(scores, 10).tobytes()).hexdigest()
            made["trees"] = _length(model)
        except Exception as error:
            made["seconds"] = time.perf_counter() - started
            return self._kept(Candidate(**made, error=f"{type(error).__name__}: {error}"), None)
        return self._kept(Candidate(**made), model)

    def _kept(self, candidate: Candidate, model: Any) -> tuple[Candidate, Any]:
        if self.store is None:
            return candidate, model
        at = self.prepare(candidate.draw.engine, candidate.draw.features)
        store = replace(self.store, features=at.features)
        return store.write(candidate, model), None

    def for_worker(self, pairs: set[tuple[str, str]]) -> Bench:
        """Return a copy that holds what these pairs of estimator and feature set need."""
        twin = copy(self)
        twin.known = {pair: self.prepare(*pair) for pair in pairs}
        return twin

    @cached_property
    def champion_draw(self) -> Draw:
        """The settings of the plain model: the first estimator as given, at strength 0."""
        engine = next(iter(self.estimators))
        seed = getattr(self.estimators[engine], "random_state", 0)
        return Draw(engine=engine, features=next(iter(self.feature_sets)), strength=0.0, seed=seed)

    def champion(self) -> tuple[Candidate, Any]:
        """Return the model that the candidates are alternatives to."""
        found, model = self.try_one(CHAMPION, self.champion_draw)
        if found.error:
            raise ValueError(f"the champion, a fit at strength 0, failed: {found.error}")
        return found, model


def single_model(criterion: Any) -> Any:
    """Return a criterion that trains one model, not a second one to choose from."""
    if getattr(criterion, "smoothing", None) == "auto":
        return clone(criterion, safe=False).set_params(smoothing=0.0)
    return criterion


def merged_params(estimator: Any, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return an engine's parameters: its defaults, the user's, and the drawn ones.

    A learning rate that is drawn replaces one under another name.
    """
    engine = estimator.engine
    own = dict(engine.default_params if estimator.params is None else estimator.params)
    if any(name in drawn for name in engine.learning_rate_names):
        own = {name: each for name, each in own.items() if name not in engine.learning_rate_names}
    return {**own, **drawn}


def as_given(rows: Rows) -> tuple[Any, Any, Any, Any]:
    """Return covariates, labels, sensitive attribute and weights as an estimator's fit has them."""
    return rows.X, rows.outcome.as_given(), rows.groups.as_given(), rows.weights


def _boosted(estimator: Any) -> bool:
    return isinstance(estimator, BoostedClassifier)


def _checked(estimator: Any) -> Any:
    """Return a booster with its strength noted on it, as its settings are read."""
    model = copy(estimator)
    model.strength_ = 1.0
    return model


def _needs_columns(X: Any) -> bool:
    """Return whether a regression needs a table as a matrix: words, or a frame it cannot read."""
    return holds_text(X) or not (isinstance(X, np.ndarray) or hasattr(X, "to_numpy"))


def _length(model: Any) -> int | None:
    if hasattr(model, "best_iteration_"):
        return int(model.best_iteration_)
    return int(np.ravel(model.n_iter_)[0]) if hasattr(model, "n_iter_") else None
