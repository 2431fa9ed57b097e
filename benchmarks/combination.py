"""Whether a penalty on top of fair targets closes what is left."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tables import write_table

from unsway import DirectEffect, FairTarget, FairXGBClassifier, make_world, score_gap
from unsway.core import Objective, Penalty
from unsway.criteria.criterion import PenaltyCriterion

ROWS, SEEDS = 50_000, (0, 1)
WORLDS = ("paper", "varying_effect", "imbalanced", "many_noise_features")
PENALTIES = {
    "(1,0)": DirectEffect(max_extreme_share=1),
    "function norm (2,1)": DirectEffect(2, 1, norm="function", max_extreme_share=1),
}


@dataclass(frozen=True)
class Both(PenaltyCriterion):
    """The penalty of one criterion on a model trained on the targets of another."""

    effect: Any
    target: Any

    def at(self, X: Any) -> Both:
        """Return the same at other rows."""
        return Both(self.effect.at(X), self.target.at(X))

    def take(self, rows: Any) -> Both:
        """Return the same at some of its rows."""
        return Both(self.effect.take(rows), self.target.take(rows))

    def penalty(self, y: Any, z: Any, sample_weight: Any = None) -> Penalty:
        """Return the penalty on scores."""
        return self.effect.penalty(y, z, sample_weight)

    def objective(self, y: Any, z: Any, sample_weight: Any = None) -> Objective:
        """Return the objective with fair targets in place of the labels."""
        targets = self.target.targets(y, z)
        return Objective(self.penalty(y, z, sample_weight), targets, 0.0, sample_weight)


def measure(world: str, seed: int, rows: int) -> dict[str, tuple[float, float]]:
    """Return RMSE to the fair score and direct effect left, without and with a penalty."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    train = make_world(world, rows, random_state=2 * seed)
    test = make_world(world, rows, random_state=2 * seed + 1)
    y, z = train.y.astype(float), train.z.astype(float)

    def judge(criterion: Any, strength: float) -> tuple[float, float]:
        model = FairXGBClassifier(
            criterion, strength, params={"eta": 0.1, "max_depth": 2}, n_jobs=1
        ).fit(train.X, train.y, sensitive_features=train.z)
        error = model.predict_proba(test.X)[:, 1] - test.fair_score
        left = score_gap(None, error, sensitive_features=test.z)
        return float(np.sqrt(np.mean(error**2))), left

    target = FairTarget(max_extreme_share=1).fit(train.X, z, y=y)
    found = {"fair target": judge(target, 1.0)}
    for name, criterion in PENALTIES.items():
        effect = criterion.fit(train.X, z)
        for strength in (0.3, 0.6, 0.9):
            found[f"+ {name}, λ={strength:g}"] = judge(Both(effect, target), strength)
    return found


def main(rows: int = ROWS) -> None:
    """Measure, and write the table beside this script."""
    pairs = [(world, seed) for world in WORLDS for seed in SEEDS]
    results = Parallel(n_jobs=2)(delayed(measure)(*pair, rows) for pair in pairs)
    lines = []
    for world in WORLDS:
        runs = [run for (name, _), run in zip(pairs, results, strict=True) if name == world]
        for method in runs[0]:
            error, left = np.mean([run[method] for run in runs], axis=0)
            lines.append((world, method, f"{error:.4f}", f"{left:+.4f}"))
    write_table(
        Path(__file__).with_suffix(".md"),
        "A penalty on top of fair targets",
        (f"XGBoost, η .1, depth 2, n = {rows:,}, mean of {len(SEEDS)} draws.",),
        ("world", "method", "RMSE to the fair score", "left"),
        lines,
        ("unsway", "xgboost-cpu", "numpy", "scikit-learn"),
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
