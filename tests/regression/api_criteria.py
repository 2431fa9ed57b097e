"""The criteria that the cases try, each with every setting said; part of `api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import unsway

#: Strengths that the cases try, 0 aside: of penalties, and of fair targets.
PENALTY_STRENGTHS, TARGET_STRENGTHS = (0.3, 0.9), (0.5, 1.0)


class KnownColumn(ClassifierMixin, BaseEstimator):
    """A classifier that reads its probability off a column of X, and the mean of what it learned.

    Nothing is iterated, so that criteria built on it can be compared to the last digits.
    """

    def __init__(self, position: int = 0) -> None:
        self.position = position

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KnownColumn:
        self.classes_ = np.array([0, 1])
        self.mean_ = float(np.average(np.asarray(y, dtype=float), weights=sample_weight))
        return self

    def predict_proba(self, X: Any) -> Any:
        column = np.asarray(X, dtype=float)[:, self.position]
        score = 0.5 * self.mean_ + 0.5 / (1 + np.exp(-column))
        return np.column_stack([1 - score, score])


def propensity(model: Any = None, **settings: Any) -> Any:
    """Return a propensity model with every setting said."""
    known = {
        "scoring": "log_loss",
        "Cs": (0.01, 0.1, 1.0, 10.0, 100.0),
        "cv": 5,
        "search_rows": 10_000,
        "cross_fit": False,
        "clip": 1e-3,
        "random_state": 0,
        "n_jobs": 1,
    }
    return unsway.Propensity(model, **{**known, **settings})


def fair_target(**settings: Any) -> Any:
    known = {
        "outcome_model": None,
        "propensity_model": None,
        "correction_degree": 1,
        "cv": 2,
        "clip": 0.01,
        "max_extreme_share": 1.0,
        "random_state": 0,
    }
    return unsway.FairTarget(**{**known, **settings})


def direct_effect(outcome_degree: int = 1, effect_degree: int = 0, **settings: Any) -> Any:
    known = {
        "norm": "coefficient",
        "basis": "polynomial",
        "form": "match",
        "base_rate": "free",
        "propensity": propensity(),
        "max_extreme_share": 1.0,
    }
    return unsway.DirectEffect(outcome_degree, effect_degree, **{**known, **settings})


def linear_model() -> Any:
    return LogisticRegression(C=0.5, tol=1e-10, max_iter=2_000)


#: Criteria that shift the labels, and those that are penalties, by name.
FAIR_TARGETS: dict[str, Callable[[], Any]] = {
    "fair_target": fair_target,
    "fair_target_uncorrected": lambda: fair_target(correction_degree=None),
    "fair_target_quadratic": lambda: fair_target(correction_degree=2, cv=3, random_state=5),
    "fair_target_linear": lambda: fair_target(
        outcome_model=linear_model(), propensity_model=linear_model(), clip=0.02
    ),
}
PENALTIES: dict[str, Callable[[], Any]] = {
    "direct_effect": direct_effect,
    "direct_effect_2_1": lambda: direct_effect(2, 1),
    "direct_effect_interval": lambda: direct_effect(form="interval"),
    "direct_effect_paper": lambda: direct_effect(form="paper"),
    "direct_effect_function": lambda: direct_effect(2, 1, norm="function"),
    "direct_effect_spline": lambda: direct_effect(5, 2, norm="function", basis="spline"),
    "direct_effect_fair_rate": lambda: direct_effect(base_rate="fair"),
    "direct_effect_cross_fit": lambda: direct_effect(
        propensity=propensity(cross_fit=True, cv=3, scoring="accuracy")
    ),
    "direct_effect_linear": lambda: direct_effect(propensity=linear_model()),
    "parity": lambda: unsway.Parity(),
    "equal_opportunity": lambda: unsway.EqualOpportunity(),
    "equalized_odds": lambda: unsway.EqualizedOdds(),
}
CRITERIA = {**FAIR_TARGETS, **PENALTIES}


def exact_criteria() -> dict[str, Any]:
    """Return criteria whose nuisances are read off X, so that nothing is iterated."""
    known = propensity(KnownColumn(0))
    return {
        "fair_target": fair_target(
            outcome_model=KnownColumn(1), propensity_model=KnownColumn(0), correction_degree=1
        ),
        "fair_target_uncorrected": fair_target(
            outcome_model=KnownColumn(1), propensity_model=KnownColumn(0), correction_degree=None
        ),
        "direct_effect": direct_effect(propensity=known),
        "direct_effect_2_1": direct_effect(2, 1, propensity=known),
        "direct_effect_interval": direct_effect(form="interval", propensity=known),
        "direct_effect_paper": direct_effect(form="paper", propensity=known),
        "direct_effect_function": direct_effect(2, 1, norm="function", propensity=known),
        "direct_effect_spline": direct_effect(
            5, 2, norm="function", basis="spline", propensity=known
        ),
        "direct_effect_fair_rate": direct_effect(base_rate="fair", propensity=known),
        "parity": unsway.Parity(),
        "equal_opportunity": unsway.EqualOpportunity(),
        "equalized_odds": unsway.EqualizedOdds(),
    }


def strengths_of(criterion_name: str) -> tuple[float, ...]:
    """Return the strengths to try, 0 aside."""
    return TARGET_STRENGTHS if criterion_name.startswith("fair_target") else PENALTY_STRENGTHS


def rows_of(data: Any, weighted: bool, X: Any) -> Any:
    """Return the checked rows of a table."""
    weights = data.weights if weighted else None
    return unsway.Rows.check(X, data.labels, sensitive_features=data.codes, sample_weight=weights)


def fitted(criterion: Any, data: Any, weighted: bool, X: Any) -> Any:
    """Return a criterion fitted on these rows, to hand to an estimator."""
    return criterion.fit(rows_of(data, weighted, X))


def objective_of(criterion: Any, data: Any, weighted: bool, strength: float) -> Any:
    """Return the objective of a criterion fitted on the matrix of these rows."""
    known = fitted(criterion, data, weighted, data.matrix)
    return known.objective(rows_of(data, weighted, data.matrix)).at(strength)
