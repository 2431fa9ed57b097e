"""Fair log-losses of real_data.py: each method against the best one, on the same test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from booster import Floats
from records import Record, Scores

from unsway import FairLogLoss

#: What the target of the loss is called beside the scores.
TARGET = "target of the fair log-loss"
#: Test rows over training rows where a third is held out.
TEST_OVER_TRAIN = 0.5


@dataclass(frozen=True)
class Split:
    """The test scores of one split, and the loss that they are judged by."""

    scores: Scores

    def fit(self, X: Floats, y: Floats, z: Floats) -> None:
        """Fit the models behind the loss on the test rows, once for all methods."""
        if TARGET not in self.scores:
            judge = FairLogLoss.fit(y, sensitive_features=z, X=X, max_extreme_share=1)
            self.scores.keep(TARGET, judge.target)

    @property
    def judge(self) -> FairLogLoss:
        """The loss."""
        target = self.scores[TARGET]
        return FairLogLoss(target=target, weights=np.ones_like(target))

    def keep(self, record: Record, p: Floats) -> float:
        """Keep a method's scores, and return their loss."""
        self.scores.keep(_key(record), p)
        return self.judge.of(p).estimate

    def has(self, record: Record) -> bool:
        """Return whether the scores of a record are kept."""
        return _key(record) in self.scores

    def difference(self, record: Record, other: Record) -> tuple[float, float]:
        """Return a method's loss less another's, with the standard error of paired rows."""
        found = self.judge.difference(self.scores[_key(record)], self.scores[_key(other)])
        return found.estimate, found.se


def _key(record: Record) -> str:
    return f"{record['method']} | {record['setting']}"


def against_best(
    splits: Sequence[Split], runs: Mapping[str, Sequence[Record]]
) -> dict[str, tuple[float, float]]:
    """Return each method's loss less that of the best, and its standard error, 0 for the best.

    The best has the smallest mean loss of those that ran on every split. On one split the error is
    that of the paired rows; over several, whose rows overlap, it is Nadeau and Bengio's
    √((1/J + test/train)·s²) of the J differences.
    """
    complete = {name: found for name, found in runs.items() if len(found) == len(splits)}
    if not complete:
        return {}
    losses = {name: np.mean([r["fair_log_loss"] for r in found]) for name, found in runs.items()}
    best = min(complete, key=lambda name: float(losses[name]))
    return {name: difference(splits, mine, complete[best]) for name, mine in complete.items()}


def difference(
    splits: Sequence[Split], records: Sequence[Record], others: Sequence[Record]
) -> tuple[float, float]:
    """Return a method's mean loss less another's over the splits, and its standard error."""
    pairs = [
        split.difference(mine, other)
        for split, mine, other in zip(splits, records, others, strict=True)
    ]
    differences = np.array([estimate for estimate, _ in pairs])
    error = pairs[0][1]
    if len(splits) > 1:
        spread = differences.var(ddof=1)
        error = float(np.sqrt((1 / len(splits) + TEST_OVER_TRAIN) * spread))
    return float(differences.mean()), error
