"""Criteria and engines to test by, the properties each must keep, and the data they share.

A new penalty is added to `CRITERIA`, new fair targets to `FAIR_TARGETS`, a new boosting engine to
`ENGINES`; every property below, and every test marked `each_engine`, then holds it to account.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

import unsway
from unsway.core import FORMS, Expansion, LogLoss, Objective, Penalty
from unsway.criteria import (
    NORMS,
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairTarget,
    Parity,
)
from unsway.groups import Groups
from unsway.outcome import Outcome
from unsway.rows import Rows

Floats = NDArray[np.float64]

#: Settings of hypothesis tests: the same examples on each run, and no clock. UNSWAY_TEST_SEED
#: chooses other examples (see conftest.py).
varied = settings(max_examples=40, deadline=None, derandomize=True)


class KnownScore(ClassifierMixin, BaseEstimator):
    """A classifier that is told P(z=1 | X): it is the first column of X."""

    def fit(self, X: Any, z: Any, sample_weight: Any = None) -> KnownScore:
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> Floats:
        score = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack([1 - score, score])


def direct_effect(outcome_degree: int = 1, effect_degree: int = 0, **options: Any) -> DirectEffect:
    """Return the criterion with its propensity known, so that nothing is estimated."""
    return DirectEffect(outcome_degree, effect_degree, propensity=KnownScore(), **options)


#: Every criterion of the library that is a penalty, by a name that tells its settings.
CRITERIA = {
    "parity": Parity(),
    "equal opportunity": EqualOpportunity(),
    "equalized odds": EqualizedOdds(),
    "direct effect (1,0)": direct_effect(),
    "direct effect (2,1)": direct_effect(2, 1),
    "direct effect (3,0), paper": direct_effect(3, 0, form="paper"),
    "direct effect (1,0), match": direct_effect(form="match"),
    "direct effect (1,0), function": direct_effect(norm="function"),
    "direct effect (3,2), function": direct_effect(3, 2, norm="function"),
    "direct effect (5,3), spline": direct_effect(5, 3, norm="function", basis="spline"),
    "direct effect (5,4), spline": direct_effect(5, 4, norm="function", basis="spline"),
}

#: A model with one answer, whatever the order of the rows and however weights are written.
EXACT = LogisticRegression(solver="newton-cholesky", tol=1e-12)


def fair_target(**options: Any) -> FairTarget:
    """Return fair targets from models that are quick and exact."""
    return FairTarget(**{"outcome_model": EXACT, "propensity_model": EXACT, **options})


#: Fair targets, which are no penalty, by a name that tells their settings.
FAIR_TARGETS = {
    "fair target": fair_target(),
    "fair target, not corrected": fair_target(correction_degree=None),
    "fair target, one fold": fair_target(cv=1),
    "fair target, stacked": fair_target(outcome_model=[EXACT, clone(EXACT).set_params(C=0.1)]),
}

each_fair_target = pytest.mark.parametrize("criterion", FAIR_TARGETS.values(), ids=FAIR_TARGETS)

each_criterion = pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)


@dataclass(frozen=True)
class People:
    """A small world: covariates with the true propensity b first, labels, z, scores, weights."""

    X: Floats
    y: Floats
    z: Floats
    scores: Floats
    weights: Floats

    @property
    def b(self) -> Floats:
        return self.X[:, 0]

    @property
    def margin(self) -> Floats:
        return logit(self.scores)

    def checked(self, weights: Floats | None = None) -> Rows:
        """Return the people as rows, with these weights or none."""
        return rows_of(self.X, self.y, self.z, weights)

    def rows(self, chosen: NDArray[np.intp]) -> People:
        return People(*(array[chosen] for array in vars(self).values()))

    def repeated(self) -> People:
        """Return each row as often as its weight says."""
        return self.rows(np.repeat(np.arange(len(self.z)), self.weights.astype(int)))


def size_of(model: Any) -> int:
    """Return the bytes of a pickled model but for the fingerprint of its rows, which is bounded."""
    bare = copy(model)
    del bare.training_rows_
    return len(pickle.dumps(bare))


def rows_of(X: Any, y: Any, z: Any, weights: Any = None) -> Rows:
    """Return rows of 0/1 labels and groups as they are, without any check."""
    return Rows(
        X=X,
        outcome=Outcome(
            values=np.asarray(y, dtype=float), loss=LogLoss(), classes=np.array([0, 1])
        ),
        groups=Groups(codes=np.asarray(z).astype(np.uint8), levels=(0, 1)),
        weights=weights,
    )


def make_people(n: int = 60, seed: int = 0, separation: float = 1.0) -> People:
    """Draw a world whose groups overlap and in which every label occurs in both."""
    rng = np.random.default_rng(seed)
    proxy, other = rng.normal(size=n), rng.normal(size=n)
    proxy[:4] = (-1, 1, 1, -1)
    b = expit(separation * proxy) if separation else rng.uniform(0.2, 0.8, n)
    z = (rng.random(n) < b).astype(float)
    z[:4] = (0, 0, 1, 1)
    y = (rng.random(n) < expit(proxy + other + z - 0.5)).astype(float)
    y[:4] = (0, 1, 0, 1)
    scores = expit(1.5 * proxy + other + rng.normal(size=n) / 2)
    weights = rng.integers(1, 4, n).astype(float)
    return People(np.column_stack([b, other]), y, z, scores, weights)


def penalty_of(criterion: Any, people: People, weights: Floats | None = None) -> Penalty:
    """Return the penalty that a criterion fitted on these people puts on their scores."""
    rows = people.checked(weights)
    return criterion.fit(rows).penalty(rows)


def surrogate_of(fitted: Any, target: Any, z: Any, weights: Any = None) -> Any:
    """Return the surrogate of labels or scores at the rows of a fitted direct effect."""
    rows = rows_of(None, target, z, weights)
    return fitted.criterion.design(rows, fitted.row_values).fit(target)


def targets_of(fitted: Any, y: Any, z: Any, strength: float = 1.0) -> Any:
    """Return the fair targets of labels at a strength."""
    return fitted.objective(rows_of(None, y, z)).at(strength).shifted_target()


def objective_of(
    penalty: Penalty,
    y: Any,
    strength: float = 0.0,
    sample_weight: Any = None,
    shift: Any = None,
) -> Objective:
    """Return the log-loss of labels with a penalty beside it."""
    return Objective(
        LogLoss(),
        y,
        penalty=penalty,
        shift=shift,
        strength=strength,
        sample_weight=sample_weight,
    )


def shifted_objective(
    people: People, strength: float = 0.7, weights: Floats | None = None
) -> Objective:
    """Return the log-loss against labels shifted by a made-up effect, some beyond 0 and 1."""
    shift = (0.5 - people.z) * (0.9 * people.b - 0.2)
    return Objective(LogLoss(), people.y, shift=shift, strength=strength, sample_weight=weights)


@st.composite
def objectives(draw: Callable[..., Any]) -> tuple[Objective, Floats]:
    """Draw an objective and a margin: any size, separation, criterion, strength and weights."""
    n, seed = draw(st.integers(16, 40)), draw(st.integers(0, 10_000))
    people = make_people(n, seed, draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0])))
    effect = draw(st.integers(0, 2))
    outcome = draw(st.integers(effect + 1, 3))
    options = {"form": draw(st.sampled_from(FORMS)), "max_extreme_share": 1.0}
    direct = [direct_effect(outcome, effect, norm=norm, **options) for norm in NORMS]
    criterion = draw(st.sampled_from([*direct, Parity(), EqualizedOdds(), None]))
    weights = people.weights / 2 if draw(st.booleans()) else None
    if criterion is None:
        strength = draw(st.sampled_from([0.0, 0.5, 1.0]))
        return shifted_objective(people, strength, weights), people.margin
    penalty = penalty_of(criterion, people, weights)
    assume(is_smooth_at(penalty, people.scores))
    strength = draw(st.sampled_from([0.0, 0.3, 0.5, 0.9, 0.975]))
    return objective_of(penalty, people.y, strength, weights), people.margin


def is_smooth_at(penalty: Penalty, scores: Floats) -> bool:
    """Say whether every statistic is well away from where its distance has a kink."""
    zeta, distance = penalty.statistics(scores), penalty.distance
    to_border = np.minimum(abs(zeta - distance.low), abs(zeta - distance.high))
    return bool(((distance.low == distance.high) | (to_border > 1e-2 * (1 + abs(zeta)))).all())


def full_hessian(objective: Objective, expansion: Expansion, downward: bool = True) -> Floats:
    """Return H of `Expansion` as a matrix, with or without its downward-bending diagonal."""
    bend = expansion.bend if downward else np.maximum(0, expansion.bend)
    factor = expansion.density[:, None] * objective.penalty.matrix
    return np.diag(expansion.utility_curvature + bend) + factor * expansion.stiffness @ factor.T


def numerical_derivative(function: Callable[[Floats], Any], at: Floats) -> Floats:
    """Return the derivative by central differences, one row per entry of ``at``."""
    step = 1e-5
    return np.array(
        [
            (np.asarray(function(at + shift)) - np.asarray(function(at - shift))) / (2 * step)
            for shift in step * np.eye(len(at))
        ]
    )


def by_torch(build: Callable[[Any], Any], at: Floats) -> tuple[float, Floats, Floats]:
    """Return value, gradient and Hessian by torch; ``build`` gets what makes its arrays."""
    torch = pytest.importorskip("torch")
    function, point = build(torch.as_tensor), torch.as_tensor(at)
    derivatives = torch.autograd.functional  # torch.func.hessian warns from inside torch
    slope, curvature = (
        derivatives.jacobian(function, point),
        derivatives.hessian(function, point),
    )
    return float(function(point)), slope.numpy(), curvature.numpy()


def by_jax(build: Callable[[Any], Any], at: Floats) -> tuple[float, Floats, Floats]:
    """Return value, gradient and Hessian by JAX in float64, which is switched off again."""
    jax = pytest.importorskip("jax")
    with jax_float64(jax):
        function, point = build(jax.numpy.asarray), jax.numpy.asarray(at)
        value = float(function(point))
        slope, curvature = jax.jit(lambda s: (jax.grad(function)(s), jax.hessian(function)(s)))(
            point
        )
        return value, np.asarray(slope), np.asarray(curvature)


def jax_float64(jax: Any) -> Any:
    """Return a context in which JAX keeps float64."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


each_autodiff = pytest.mark.parametrize("autodiff", [by_torch, by_jax])


def assert_close(found: Any, expected: Any, relative: float) -> None:
    """Check that nothing is off by more than this share of the largest expected number."""
    largest = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * largest + 1e-13)


def assert_weights_equal_repeated_rows(criterion: Any, people: People) -> None:
    """Check value and gradient: a row's derivative is the sum of its copies'."""
    weighted, repeated = penalty_of(criterion, people, people.weights), people.repeated()
    copied = penalty_of(criterion, repeated)
    owner = np.repeat(np.arange(len(people.z)), people.weights.astype(int))
    summed = np.bincount(owner, copied.gradient(repeated.scores))
    assert_close(weighted.value(people.scores), copied.value(repeated.scores), 1e-9)
    assert_close(weighted.gradient(people.scores), summed, 1e-9)


def assert_row_order_does_not_matter(criterion: Any, people: People) -> None:
    """Check value and gradient against those of the shuffled rows."""
    order = np.random.default_rng(1).permutation(len(people.z))
    shuffled = people.rows(order)
    one = penalty_of(criterion, people, people.weights)
    other = penalty_of(criterion, shuffled, shuffled.weights)
    assert_close(other.value(shuffled.scores), one.value(people.scores), 1e-9)
    assert_close(other.gradient(shuffled.scores), one.gradient(people.scores)[order], 1e-9)


def assert_base_rate_is_free(criterion: Any, people: People) -> None:
    """Check that adding a constant to every score leaves the penalty as it is."""
    penalty = penalty_of(criterion, people)
    assert penalty.value(people.scores) > 0
    assert_close(penalty.value(people.scores + 0.1), penalty.value(people.scores), 1e-9)


def assert_some_rows_are_as_good_as_a_fit(criterion: Any, people: People) -> None:
    """Check that ``take`` gives the penalty of those rows, and ``at`` that of new ones."""
    rows = np.arange(0, len(people.z), 2)
    rows[:4] = np.arange(4)
    part = people.rows(np.unique(rows))
    fitted = criterion.fit(people.checked())
    expected = float(penalty_of(criterion, part).value(part.scores))
    for other in (fitted.take(np.unique(rows)), fitted.at(part.X)):
        assert_close(other.penalty(part.checked()).value(part.scores), expected, 1e-9)


def with_labels_swapped(people: People) -> People:
    """Return the same people with 0 and 1 of y exchanged, and the scores accordingly."""
    return replace(people, y=1 - people.y, scores=1 - people.scores)


def with_groups_swapped(people: People) -> People:
    """Return the same people with 0 and 1 of z exchanged, and the propensity accordingly."""
    X = np.column_stack([1 - people.b, people.X[:, 1]])
    return replace(people, X=X, z=1 - people.z)


def mixed_columns(n: int = 240, seed: int = 0) -> tuple[dict[str, list[Any]], Floats]:
    """Return a table by columns, of every kind and with holes, and a z that depends on it."""
    rng = np.random.default_rng(seed)
    age, hours = rng.normal(40, 10, n), rng.integers(10, 60, n)
    job = np.array(["clerk", "nurse", "pilot"])[rng.integers(0, 3, n)]
    member = rng.random(n) < 0.4
    z = rng.random(n) < expit((age - 40) / 8 + 1.5 * (job == "nurse") - member)
    columns = {
        "age": [None if k % 7 == 0 else float(value) for k, value in enumerate(age)],
        "hours": hours.tolist(),
        "job": [None if k % 11 == 0 else str(value) for k, value in enumerate(job)],
        "town": [("north", "south")[k % 2] for k in range(n)],
        "member": member.tolist(),
        "empty": [None] * n,
    }
    return columns, z.astype(float)


def as_pandas(columns: dict[str, list[Any]]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(columns).astype({"town": "category"})


def as_polars(columns: dict[str, list[Any]]) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(columns).with_columns(polars.col("town").cast(polars.Categorical))


def as_pyarrow(columns: dict[str, list[Any]]) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({**columns, "town": pyarrow.array(columns["town"]).dictionary_encode()})


def as_numpy(columns: dict[str, list[Any]]) -> Any:
    table = np.empty((len(columns["town"]), len(columns)), dtype=object)
    for position, values in enumerate(columns.values()):
        table[:, position] = values
    return table


CONTAINERS = {
    "pandas": as_pandas,
    "polars": as_polars,
    "pyarrow": as_pyarrow,
    "numpy": as_numpy,
}

each_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)


@dataclass(frozen=True)
class BoostingEngine:
    """A boosting library as the tests see it: ours on top of it, and the library alone."""

    name: str
    classifier_name: str
    #: Small trees that learn fast.
    quick: dict[str, Any]
    #: Lets a leaf hold a single row.
    fine: dict[str, Any] = field(default_factory=dict)

    def classifier(
        self, criterion: Any = None, strength: float | None = 0.9, **settings: Any
    ) -> Any:
        """Return our classifier with quick trees and one thread, unless told otherwise."""
        settings = {"n_jobs": 1, "params": self.quick, **settings}
        return getattr(unsway, self.classifier_name)(criterion, strength, **settings)

    def objective(self, *roles: Any, **settings: Any) -> Any:
        """Return our objective for a loop of one's own."""
        return getattr(unsway, f"{self.name}_objective")(*roles, **settings)

    def train(self, X: Floats, y: Floats, rounds: int, objective: Any = None, **more: Any) -> Any:
        """Train the library itself, with its own log-loss or with an objective of ours."""
        weights, params = more.pop("weights", None), {**self.quick, **more}
        if self.name == "xgboost":
            import xgboost

            params |= {"objective": "binary:logistic", "base_score": 0.5, "nthread": 1}
            rows = xgboost.QuantileDMatrix(X, y, weight=weights, nthread=1)
            return xgboost.train(params, rows, rounds, obj=objective)
        import lightgbm

        params |= {"objective": objective or "binary", "boost_from_average": False}
        params |= {"verbosity": -1, "num_threads": 1, "deterministic": True}
        return lightgbm.train(params, lightgbm.Dataset(X, y, weight=weights), rounds)

    def scores(self, booster: Any, X: Floats) -> Floats:
        """Return what the library itself predicts."""
        if self.name == "xgboost":
            import xgboost

            names, types = booster.feature_names, booster.feature_types
            rows = xgboost.DMatrix(X, feature_names=names, feature_types=types)
            return np.asarray(booster.predict(rows), dtype=float)
        return np.asarray(booster.predict(X, num_threads=1))

    def splits(self, booster: Any) -> list[tuple[int, str]]:
        """Return tree and column of every split."""
        table = booster.trees_to_dataframe()
        if self.name == "xgboost":
            table = table[table["Feature"] != "Leaf"]
            return list(zip(table["Tree"], table["Feature"], strict=True))
        table = table[table["split_feature"].notna()]
        return list(zip(table["tree_index"], table["split_feature"], strict=True))


ENGINES = {
    "xgboost": BoostingEngine(
        "xgboost",
        "FairXGBClassifier",
        {"max_depth": 3, "eta": 0.3},
        {"max_depth": 6, "eta": 0.3, "min_child_weight": 0},
    ),
    "lightgbm": BoostingEngine(
        "lightgbm",
        "FairLGBMClassifier",
        {"num_leaves": 8, "learning_rate": 0.3, "min_data_in_leaf": 5},
        {
            "num_leaves": 31,
            "learning_rate": 0.3,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
        },
    ),
}


def engine_params() -> list[Any]:
    """Return every engine as a parameter, skipped with its reason where it is not installed."""
    return [
        pytest.param(
            engine,
            id=name,
            marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"),
        )
        for name, engine in ENGINES.items()
    ]


each_engine = pytest.mark.parametrize("engine", engine_params())
