"""The distribution that candidates of a search are drawn from, stated as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import check_integer

#: What a setting may be drawn from: name → number of arguments, None for any.
KINDS = {"choice": None, "uniform": 2, "log_uniform": 2, "integer": 2}
#: Default distributions of an engine's parameters; the strength is uniform on [0, 1].
DEFAULT_PARAMS: Mapping[str, Mapping[str, Any]] = {
    "xgboost": {
        "eta": {"log_uniform": [0.05, 0.3]},
        "max_depth": {"integer": [2, 6]},
        "min_child_weight": {"log_uniform": [1, 30]},
        "subsample": {"uniform": [0.6, 1.0]},
        "colsample_bytree": {"uniform": [0.5, 1.0]},
        "lambda": {"log_uniform": [0.1, 10]},
    },
    "lightgbm": {
        "learning_rate": {"log_uniform": [0.05, 0.3]},
        "num_leaves": {"integer": [4, 48]},
        "min_data_in_leaf": {"integer": [10, 100]},
        "feature_fraction": {"uniform": [0.5, 1.0]},
        "lambda_l2": {"log_uniform": [0.1, 10]},
    },
    "logistic": {"l2": {"log_uniform": [1e-6, 1e-2]}},
}


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The settings of one candidate.

    Parameters
    ----------
    engine, features : str
        Names of an estimator and of a feature set.
    strength : float
    params : mapping
        Parameters of the engine, or settings of the estimator.
    seed : int
        Seed of the engine.
    """

    engine: str
    features: str
    strength: float
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them."""
        return {**vars(self), "params": dict(self.params)}


def draw_value(spec: Any, rng: np.random.Generator) -> Any:
    """Return one value of a distribution; anything but a distribution is itself.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw_value({"choice": ["a"]}, rng), draw_value(3, rng)
    ('a', 3)
    """
    if not is_distribution(spec):
        return spec
    ((kind, given),) = spec.items()
    if kind == "choice":
        return given[int(rng.integers(len(given)))]
    low, high = given
    if kind == "integer":
        return int(rng.integers(low, high + 1))
    if kind == "uniform":
        return float(rng.uniform(low, high))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def is_distribution(spec: Any) -> bool:
    """Return whether it is a mapping of one kind of distribution to its arguments."""
    return isinstance(spec, Mapping) and len(spec) == 1 and next(iter(spec)) in KINDS


def check_distribution(spec: Any, name: str) -> Any:
    """Return a distribution or a fixed value, or say what is wrong with it.

    Examples
    --------
    >>> check_distribution({"uniform": [1, 0]}, "eta")
    Traceback (most recent call last):
    ValueError: eta: the ends of uniform must be two numbers, the smaller first; got [1, 0]
    """
    if not isinstance(spec, Mapping):
        return spec
    if not is_distribution(spec):
        raise ValueError(
            f"{name}: a distribution is one of {', '.join(KINDS)} with its arguments, for instance "
            f"{{'uniform': [0, 1]}}; got {dict(spec)!r}"
        )
    ((kind, given),) = spec.items()
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise ValueError(f"{name}: give the arguments of {kind} as a list; got {given!r}")
    if KINDS[kind] == 2:
        numbers = all(isinstance(each, int | float) for each in given)
        if len(given) != 2 or not numbers or not given[0] <= given[1]:
            raise ValueError(
                f"{name}: the ends of {kind} must be two numbers, the smaller first; got "
                f"{list(given)!r}"
            )
        if kind == "integer" and not all(float(each).is_integer() for each in given):
            raise ValueError(f"{name}: the ends of integer must be whole; got {list(given)!r}")
        if kind == "log_uniform" and given[0] <= 0:
            raise ValueError(
                f"{name}: the ends of log_uniform must be above 0; got {list(given)!r}"
            )
    return spec


@dataclass(frozen=True, kw_only=True)
class Space:
    """What candidates are drawn from.

    Parameters
    ----------
    engines, features : tuple of str
        Names of estimators and of feature sets, each drawn with the same chance.
    strength : distribution
    params : mapping of str to mapping
        By name of the estimator, a distribution or a fixed value for each setting.
    seed : int
        Seed of the draws: candidate k depends on the seed, on k, and on nothing else.
    """

    engines: tuple[str, ...]
    features: tuple[str, ...] = ("all",)
    strength: Any = field(default_factory=lambda: {"uniform": [0.0, 1.0]})
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self.seed, "seed", at_least=0)
        check_distribution(self.strength, "strength")
        for engine, settings in self.params.items():
            if engine not in self.engines:
                raise ValueError(
                    f"params: there is no estimator {engine!r}; there is {', '.join(self.engines)}"
                )
            for name, spec in settings.items():
                check_distribution(spec, f"params[{engine!r}][{name!r}]")

    def draw(self, number: int) -> Draw:
        """Return the settings of a candidate.

        Examples
        --------
        >>> space = Space(engines=("logistic",))
        >>> space.draw(3) == space.draw(3), space.draw(3) == space.draw(4)
        (True, False)
        """
        rng = np.random.default_rng([self.seed, number, 0xA17])
        engine = self.engines[int(rng.integers(len(self.engines)))]
        features = self.features[int(rng.integers(len(self.features)))]
        strength = float(draw_value(self.strength, rng))
        settings = self.params.get(engine, {})
        params = {name: draw_value(spec, rng) for name, spec in sorted(settings.items())}
        seed = int(rng.integers(2**31 - 1))
        return Draw(engine=engine, features=features, strength=strength, params=params, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as JSON can hold it."""
        return {
            "engines": list(self.engines),
            "features": list(self.features),
            "strength": self.strength,
            "params": {name: dict(each) for name, each in self.params.items()},
            "seed": self.seed,
        }
