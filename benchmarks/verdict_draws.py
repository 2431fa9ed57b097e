"""One draw of verdict.py: rows of a world, scores of known truth, and what the library says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from verdict_selections import COUNTED, PARTS, counts_of, true_counts

from unsway.auditing.evidence import Evidence, from_parts
from unsway.auditing.verdict import decide
from unsway.datasets import WORLDS
from unsway.datasets.synthetic import _find_world
from unsway.effects import GapParts, balance, estimate_effects, verdict
from unsway.effects.encoding import TableEncoder
from unsway.effects.influence import EFFECTS
from unsway.effects.result import Effects

Floats = NDArray[np.float64]

#: What counts as small: two points.
MARGIN = 0.02

#: The scores: what a blind model learns, the fair score, the fair score with D removed once more,
#: and the fair score with as much of D as puts it at the margin.
SCORES = ("blind", "fair", "over", "margin")

#: The states of a decision as numbers.
REFUSED, NOT_JUDGED, CANNOT_TELL, BELOW, EFFECT = -1, 0, 1, 2, 3
STATES = {
    "not judged": NOT_JUDGED,
    "cannot tell": CANNOT_TELL,
    "below margin": BELOW,
    "direct effect": EFFECT,
}

_PARTS = ("estimate", "se", "low", "high")
#: Of a score: the direct effect left as given and after recoding, the same without the sharpness,
#: on which the decision rests, and the pass-through.
MEASURES = ("left_as_given", "left", "direct", "pass_through")
COLUMNS: tuple[str, ...] = (
    "share_outside",
    *(f"{effect}.{part}" for effect in EFFECTS for part in _PARTS),
    *(f"{score}.{what}.{part}" for score in SCORES for what in MEASURES for part in _PARTS),
    *(f"{score}.state" for score in SCORES),
    *(f"{counted}.{part}" for counted in COUNTED for part in PARTS),
)
_N_COUNTS = len(COUNTED) * len(PARTS)


@dataclass(frozen=True)
class Truth:
    """What is true in a world.

    `direct` is the gap of D, which a blind score has left; `far` the share of propensities outside
    [.02, .98]; `counts` the people selected, per 1,000.
    """

    effects: dict[str, float]
    direct: float
    far: float
    counts: dict[str, float]

    @property
    def shares(self) -> dict[str, float]:
        """The pass-through of each score; NaN where there is no such score."""
        reached = MARGIN / abs(self.direct) if abs(self.direct) > MARGIN else np.nan
        return {"blind": 1.0, "fair": 0.0, "over": -1.0, "margin": reached}


def truth_of(world: str, n_draws: int = 5, n_rows: int = 200_000) -> Truth:
    """Return the effects of a world; means over D and overlap are of a million rows."""
    found = _find_world(world)
    sums, counts = np.zeros(4), np.zeros(len(COUNTED))
    for seed in range(n_draws):
        X, z, _ = found.draw(n_rows, np.random.default_rng([seed, 7]))
        b, means = found.propensity(X), found.outcome_probabilities(X)
        effect, fair = np.diff(means)[:, 0], means.mean(axis=1)
        counts += true_counts({"fair": fair, "blind": fair + (b - 0.5) * effect}, z) / n_draws
        share = b * (1 - b)
        far = (b < 0.02) | (b > 0.98)
        sums += [(share * effect).mean(), share.mean(), b.mean(), far.mean()]
    overlap, mass, ones, far = sums / n_draws
    known = found.effects()
    effects = {name: getattr(known, name) for name in EFFECTS if name != "direct_overlap"}
    # gap(y) = gap(f) + gap(D) + gap(τ(z − b)), the last of which is E[b(1−b)τ]/(π(1−π)).
    direct = known.total - known.explained - overlap / (ones * (1 - ones))
    effects["direct_overlap"] = float(overlap / mass)
    by_count = dict(zip(COUNTED, counts.tolist(), strict=True))
    return Truth(effects, float(direct), float(far), by_count)


class Logistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with scikit-learn's default ridge, by a Newton method without checks."""

    def __init__(self, ridge: float = 1.0) -> None:
        self.ridge = ridge

    def fit(self, X: Floats, y: Floats) -> Logistic:
        """Fit by Newton's method."""
        A = np.column_stack([X, np.ones(len(X))])
        self.classes_, n_columns = np.array([0, 1]), A.shape[1]
        mean = np.clip(y.mean(), 1e-3, 1 - 1e-3)
        found = np.zeros(n_columns)
        found[-1] = np.log(mean / (1 - mean))
        ridge = np.full(n_columns, self.ridge)
        ridge[-1] = 1e-8
        for _ in range(50):
            p = expit(A @ found)
            hessian = (A * (p * (1 - p))[:, None]).T @ A
            hessian.flat[:: n_columns + 1] += ridge
            step = np.linalg.solve(hessian, A.T @ (p - y) + ridge * found)
            largest = np.abs(step).max()
            found -= step * min(1.0, 3 / largest) if largest > 0 else step
            if largest < 1e-6:
                break
        self.coefficients_ = found
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probabilities of both classes."""
        p = expit(X @ self.coefficients_[:-1] + self.coefficients_[-1])
        return np.column_stack([1 - p, p])


def replicate(world: str, n_rows: int, draw: int, models: str, truth: Truth) -> Floats:
    """Return the columns of one draw."""
    found, seeds = _find_world(world), (draw, n_rows, WORLDS.index(world), 0x7E57)
    X, codes, uniform = found.draw(n_rows, np.random.default_rng(seeds))
    means, b = found.outcome_probabilities(X), found.propensity(X)
    y = (uniform < means[np.arange(n_rows), codes]).astype(np.int64)
    table: Any = X
    options: dict[str, Any] = {"max_extreme_share": 1, "allow_separation": True}
    if models != "default":
        options |= {"propensity_model": Logistic(), "outcome_model": Logistic()}
        encoded = TableEncoder().fit(X).transform(X)
        table = np.asarray(encoded.todense() if hasattr(encoded, "todense") else encoded)
    effects = estimate_effects(table, y, sensitive_features=codes, **options)
    scores = _scores(means, b, truth)
    if models == "selections":
        none = [np.nan] * (len(COLUMNS) - _N_COUNTS)
        return np.array([*none, *counts_of(effects, table, y, codes, scores)])
    return np.array([*_columns(effects, table, codes, scores), *[np.nan] * _N_COUNTS])


def refused(error: ValueError) -> Floats:
    """Return the columns of a draw that the library refuses, or raise if it does not say why."""
    if not any(text in str(error) for text in ("is the same for every row", "rows; at least")):
        raise error
    row = np.full(len(COLUMNS), np.nan)
    row[[COLUMNS.index(f"{score}.state") for score in SCORES]] = REFUSED
    return row


def _scores(means: Floats, b: Floats, truth: Truth) -> dict[str, Floats]:
    """Return the scores, those that there are in this world."""
    effect = means[:, 1] - means[:, 0]
    fair, direct = means.mean(axis=1), (b - 0.5) * effect
    return {
        name: fair + share * direct for name, share in truth.shares.items() if not np.isnan(share)
    }


def _columns(
    effects: Effects, table: Floats, codes: NDArray[np.int64], scores: dict[str, Floats]
) -> Iterator[float]:
    yield effects.overlap.share_outside
    for each in effects.estimates().values():
        yield from each.to_dict().values()
    parts = {name: effects.gap_parts(score) for name, score in scores.items()}
    for name in SCORES:
        for measure in MEASURES:
            each = getattr(parts[name], measure) if name in parts else None
            yield from [np.nan] * len(_PARTS) if each is None else each.to_dict().values()
    judge = Judge(effects, table, codes)
    for name in SCORES:
        yield judge.state(parts[name]) if name in parts else NOT_JUDGED


class Judge:
    """The library's decision on scores; balance is computed only where the decision needs it."""

    def __init__(self, effects: Effects, table: Floats, codes: NDArray[np.int64]) -> None:
        self.effects, self.table, self.codes = effects, table, codes
        self.checks = verdict(effects.overlap).to_dict()["findings"]
        self._all: list[Any] | None = None

    def state(self, parts: GapParts) -> float:
        """Return the state of the decision as a number."""
        given = from_parts(parts, parts.left_as_given)
        evidence = Evidence(**given, groups=("0", "1"), margin=MARGIN, findings=self.checks)
        if evidence.is_small:
            evidence = replace(evidence, findings=self._with_balance())
        return STATES[decide(evidence).state]

    def _with_balance(self) -> list[Any]:
        if self._all is None:
            b = self.effects.nuisances.propensity
            found = balance(self.table, sensitive_features=self.codes, propensity=b)
            self._all = verdict(self.effects.overlap, found).to_dict()["findings"]
        return self._all
