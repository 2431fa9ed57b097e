"""A world with the covariates of real people: Adult's, with z and y drawn by known formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .adult import load_adult
from .table import FloatArray
from .truth import TrueEffects, contrasts
from .worlds import Draw, Role, sigmoid

__all__ = ["AdultWorld"]

#: The columns of X, categories as one column of 0 and 1 for each level.
_FEATURES = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "workclass",
    "marital-status",
    "occupation",
)
_MARRIED = "marital-status=Married-civ-spouse"
_SINGLE = "marital-status=Never-married"
_SELF_EMPLOYED = ("workclass=Self-emp-inc", "workclass=Self-emp-not-inc")
_SENIOR = ("occupation=Exec-managerial", "occupation=Prof-specialty")
_OFFICE = ("occupation=Adm-clerical", "occupation=Other-service")
_MANUAL = (
    "occupation=Craft-repair",
    "occupation=Farming-fishing",
    "occupation=Handlers-cleaners",
    "occupation=Machine-op-inspct",
    "occupation=Transport-moving",
)
_EDUCATION = 0.3

#: Whether a column is in the formula of y alone, of z and y, or of z alone; others are in neither.
_ROLES: Mapping[str, Role] = {
    "age": "indirect",
    "hours-per-week": "indirect",
    _MARRIED: "indirect",
    **dict.fromkeys(("education-num", "capital-gain", "capital-loss", _SINGLE), "safe"),
    **dict.fromkeys((*_SELF_EMPLOYED, *_SENIOR), "safe"),
    **dict.fromkeys((*_OFFICE, *_MANUAL), "proxy"),
}


@cache
def adult_covariates() -> tuple[FloatArray, tuple[str, ...]]:
    """Return the 37 covariates of Adult's 48,842 people, and their names."""
    table = load_adult("all", features="all")
    chosen = {name: table.columns[name] for name in _FEATURES}
    X, names = replace(table, columns=chosen).to_matrix()
    X.flags.writeable = False  # every draw shares it
    return X, names


@dataclass(frozen=True)
class AdultWorld:
    """Rows of Adult, with z drawn from a known propensity and y from known probabilities.

    The population is the table: P(z=1) = .56, P(y=1) = .27, all propensities between .11 and .92
    with an AUC of .83. The direct effect is .10 on average and varies between 0 and .36. Both
    formulas have thresholds and interactions. The effects are exact sums over the rows,
    m(z,z') = Σ P(z'|x) μ_z(x) / Σ P(z'|x).
    """

    name: str = "adult"

    def roles(self) -> tuple[Role, ...]:
        """Return the role of each column: in the formulas of y, of z and y, of z, or of neither."""
        return tuple(_ROLES.get(name, "noise") for name in self.feature_names())

    def feature_names(self) -> tuple[str, ...]:
        """Return names such as "age" and "workclass=Private"."""
        return adult_covariates()[1]

    def coefficients(self) -> FloatArray:
        """Return that of education, the only linear one; the rest are thresholds and steps."""
        return _EDUCATION * (np.array(self.feature_names()) == "education-num")

    def draw(self, n_samples: int, rng: np.random.Generator) -> Draw:
        """Return rows of the table, each at most once where there are enough, z, and uniforms."""
        people, _ = adult_covariates()
        X = people[rng.choice(len(people), n_samples, replace=n_samples > len(people))]
        z = (rng.random(n_samples) < self.propensity(X)).astype(np.int64)
        return X, z, rng.random(n_samples)

    def propensity(self, X: FloatArray) -> FloatArray:
        """Return P(z=1|X), kept from 0 and 1 by a hyperbolic tangent."""
        x = _Columns(X)
        married, office = x.any(_MARRIED), x.any(*_OFFICE)
        score = (
            1.6 * married
            + 1.2 * x.any(*_MANUAL)
            - 1.1 * office
            - 0.9 * (married & office)
            + 0.8 * (x["hours-per-week"] > 40)
            + 0.6 * ((x["age"] > 30) & ~married)
            - 0.9
        )
        return sigmoid(2.7 * np.tanh(score / 2))

    def outcome_probabilities(self, X: FloatArray) -> FloatArray:
        """Return P(y=1|X,z=0) and P(y=1|X,z=1) as two columns."""
        x = _Columns(X)
        age, education, hours = x["age"], x["education-num"], x["hours-per-week"]
        married, graduate = x.any(_MARRIED), education >= 13
        margin = (
            _EDUCATION * (education - 10)
            + 0.8 * (married & (age > 30))
            + 1.6 * (x["capital-gain"] > 5000)
            + 0.6 * (x["capital-loss"] > 1500)
            + 0.5 * (hours > 45)
            + 0.7 * x.any(*_SENIOR)
            + 0.04 * np.minimum(age - 40, 15) * (age > 25)
            - 0.5 * (x.any(_SINGLE) & (hours <= 35))
            + 0.5 * (x.any(*_SELF_EMPLOYED) & graduate)
            - 2.6
        )
        direct = 0.7 + 0.4 * (hours > 40) - 0.7 * graduate + 0.4 * (married & (age > 40))
        return np.column_stack([sigmoid(margin), sigmoid(margin + direct)])

    def effects(self) -> TrueEffects:
        """Return the sums over the rows of the table."""
        return _effects()


@cache
def _effects() -> TrueEffects:
    world, (X, _) = AdultWorld(), adult_covariates()
    b, means = world.propensity(X), world.outcome_probabilities(X)
    groups = np.column_stack([1 - b, b])
    return contrasts(means.T @ groups / groups.sum(axis=0), float(b.mean()))


class _Columns:
    """The columns of X by name."""

    def __init__(self, X: FloatArray) -> None:
        _, names = adult_covariates()
        self.columns = dict(zip(names, X.T, strict=True))

    def __getitem__(self, name: str) -> FloatArray:
        return self.columns[name]

    def any(self, *names: str) -> NDArray[np.bool_]:
        """Return whether one of these 0/1 columns is 1."""
        return np.asarray(np.any([self.columns[name] > 0 for name in names], axis=0))
