"""Worlds whose sensitive attribute has several levels, is two attributes, or is a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .table import FloatArray, IntArray, one_of
from .worlds import sigmoid

__all__ = ["LEVEL_WORLDS", "LevelData", "make_level_world"]

#: Log-odds of the levels of "five_levels" at X = 0, which give shares of 50, 25, 15, 7 and 3 %,
#: their effects on the margin of y, and how X shifts their odds.
_LOG_ODDS = (0.0, -0.96, -1.71, -2.65, -3.46)
_EFFECTS = np.array([0.0, -0.8, 0.6, -1.2, 1.0])
_LOADS = np.array(
    [[0.0, 0.8, -0.6, 1.0, -0.8], [0.0, -0.5, 0.9, 0.6, 0.3], [0.0, 0.2, 0.4, -0.7, 0.9]]
)

#: Where ages are cut in "sex_and_age", and the effects of the bands and of being a man.
_CUTS, _BANDS, _MAN = (25, 40, 60), np.array([0.5, 0.0, -0.4, -0.9]), 0.7

#: Ages at which the effect in "age" is averaged: a quasi-random sample of their distribution.
_AGES = 200


@dataclass(frozen=True, kw_only=True)
class LevelData:
    """Rows of a world of `make_level_world`, with the truth about them.

    Parameters
    ----------
    X : array of shape (n, 6)
        Covariates.
    z : mapping of str to array
        The sensitive attributes by name.
    y : array of shape (n,)
        Labels or numbers.
    fair_score : array of shape (n,)
        f(X): the mean of y at X over the levels of each attribute with equal weights; of age over
        the distribution of age.
    cells : array of int of shape (n,)
        Which rows are compared: the level, the combination of levels, or a tenth by age.
    """

    X: FloatArray
    z: dict[str, np.ndarray]
    y: FloatArray
    fair_score: FloatArray
    cells: IntArray

    def spread(self, score: FloatArray) -> float:
        """Return the largest difference between two cells in the mean of score minus fair score."""
        counts = np.maximum(np.bincount(self.cells), 1)
        left = np.bincount(self.cells, score - self.fair_score) / counts
        return float(np.ptp(left[np.unique(self.cells)]))


#: From X and a generator: z by name, cells, the margin at each row's own z, and the margins that
#: the fair score averages, a column each.
_World = Callable[
    [FloatArray, np.random.Generator],
    tuple[dict[str, np.ndarray], IntArray, FloatArray, FloatArray],
]


def _five_levels(
    X: FloatArray, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], IntArray, FloatArray, FloatArray]:
    odds = np.array(_LOG_ODDS) + X[:, :3] @ _LOADS
    b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    z = _draw_levels(b, rng)
    margins = _EFFECTS * (1 + 0.3 * X[:, [4]])
    return {"origin": z}, z, margins[np.arange(len(X)), z], margins


def _sex_and_age(
    X: FloatArray, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], IntArray, FloatArray, FloatArray]:
    man = (rng.random(len(X)) < sigmoid(0.8 * X[:, 0] - 0.4 * X[:, 2])).astype(np.int64)
    age = np.clip(43 + 13 * rng.normal(size=len(X)) + 6 * X[:, 1] + 3 * man, 18, 90).round()
    band = np.searchsorted(_CUTS, age, side="right")
    of_man, of_band = _MAN * (1 + 0.3 * X[:, [4]]), _BANDS * (1 - 0.2 * X[:, [4]])
    margins = np.hstack([of_band, of_band + of_man])
    cells = 4 * man + band
    z = {"sex": np.where(man == 1, "man", "woman"), "age": age}
    return z, cells, margins[np.arange(len(X)), cells], margins


def _age(
    X: FloatArray, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], IntArray, FloatArray, FloatArray]:
    age = _ages(X, rng.normal(size=len(X)))
    grid = np.random.default_rng(0)  # the distribution of age, which the fair score averages over
    others = _ages(grid.normal(size=(20_000, X.shape[1])), grid.normal(size=20_000))
    nodes = np.quantile(others, (np.arange(_AGES) + 0.5) / _AGES)
    cells = np.searchsorted(np.quantile(others, np.linspace(0.1, 0.9, 9)), age)
    strength = 1 + 0.3 * X[:, [4]]
    return {"age": age}, cells, _curve(age) * strength[:, 0], _curve(nodes) * strength


def _ages(X: FloatArray, noise: FloatArray) -> FloatArray:
    return np.asarray(np.clip(45 + 9 * X[:, 0] - 6 * X[:, 1] + 8 * noise, 18, 90))


def _curve(age: FloatArray) -> FloatArray:
    """Return the effect of age on the margin: highest at 45, lower for the old than the young."""
    apart = (age - 45) / 15
    return np.asarray(-0.5 * apart**2 - 0.25 * np.maximum(apart, 0))


def _draw_levels(b: FloatArray, rng: np.random.Generator) -> IntArray:
    below = b.cumsum(axis=1) < rng.random(len(b))[:, None]
    return np.asarray(below.sum(axis=1).clip(0, b.shape[1] - 1))


_WORLDS: dict[str, _World] = {
    "five_levels": _five_levels,
    "sex_and_age": _sex_and_age,
    "age": _age,
}

#: The names of the worlds.
LEVEL_WORLDS = tuple(_WORLDS)


def make_level_world(
    name: str, n_samples: int = 10_000, *, numbers: bool = False, random_state: int = 0
) -> LevelData:
    """Draw rows from a world whose sensitive attribute is more than two groups.

    Parameters
    ----------
    name : {"five_levels", "sex_and_age", "age"}
        - "five_levels": levels with shares of about 50, 25, 15, 7 and 3 %
        - "sex_and_age": sex, and age in four bands, below 25, 40 and 60; the smallest combinations
          have about 2 % of the rows
        - "age": a number with a curved effect
    n_samples : int, default=10_000
        Number of rows.
    numbers : bool, default=False
        Whether y is a number, the margin with normal noise of deviation 1; else a label.
    random_state : int, default=0
        The seed; the same one gives the same rows.

    Returns
    -------
    LevelData

    Notes
    -----
    Six normal covariates. Two of them interact, and the effects of the attributes vary with
    another. y is 1 with probability sigmoid(margin).

    Examples
    --------
    >>> people = make_level_world("five_levels", 10_000)
    >>> np.bincount(people.z["origin"]).argsort()[::-1].tolist()
    [0, 1, 2, 3, 4]
    >>> people.spread(people.fair_score)
    0.0
    """
    one_of(name, LEVEL_WORLDS, "world")
    rng = np.random.default_rng([random_state, 41])
    X = rng.normal(size=(n_samples, 6))
    base = 0.6 * X[:, 0] + 0.5 * X[:, 1] - 0.4 * X[:, 3] + 0.3 * X[:, 4] * X[:, 0] - 0.3
    z, cells, own, margins = _WORLDS[name](X, rng)
    if numbers:
        y = base + own + rng.normal(size=n_samples)
        fair = base + margins.mean(axis=1)
    else:
        y = (rng.random(n_samples) < sigmoid(base + own)).astype(np.float64)
        fair = sigmoid(base[:, None] + margins).mean(axis=1)
    return LevelData(X=X, z=z, y=y, fair_score=fair, cells=cells)
