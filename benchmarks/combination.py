"""Whether a penalty on top of fair targets closes what is left."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tables import write_table

from unsway import DirectEffect, FairTarget, FairXGBClassifier, make_world, score_gap
from unsway.core import Objective
from unsway.criteria import FittedCriterion
from unsway.rows import Rows

ROWS, SEEDS = 50_000, (0, 1)
WORLDS = ("paper", "varying_effect", "imbalanced", "many_noise_features")
PENALTIES = {
    "(1,0)": DirectEffect(max_extreme_share=1),
    "function norm (2,1)": DirectEffect(2, 1, norm="function", max_extreme_share=1),
}


@dataclass(frozen=True)
class Both:
    """The penalty of one criterion on a model trained on the targets of another.

    A row's values are the propensity and the direct effect.
    """

    effect: DirectEffect
    default_strength = 0.9
    allows_full_strength = False

    def objective(self, rows: Rows, row_values: Any, *, reduce: Any = None) -> Objective:
        """Return the objective with fair targets in place of the labels."""
        held = self.effect.objective(rows, row_values[:, 0], reduce=reduce)
        fair = FairTarget().objective(rows, row_values[:, 1], reduce=reduce).at(1.0)
        return replace(held, target=fair.shifted_target())


def measure(world: str, seed: int, rows: int) -> dict[str, tuple[float, float]]:
    """Return RMSE to the fair score and direct effect left, without and with a penalty."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    train = make_world(world, rows, random_state=2 * seed)
    test = make_world(world, rows, random_state=2 * seed + 1)
    rows_here = Rows.check(train.X, train.y, sensitive_features=train.z)

    def judge(criterion: Any, strength: float) -> tuple[float, float]:
        model = FairXGBClassifier(
            criterion, strength, params={"eta": 0.1, "max_depth": 2}, n_jobs=1
        ).fit(train.X, train.y, sensitive_features=train.z)
        error = model.predict_proba(test.X)[:, 1] - test.fair_score
        left = score_gap(None, error, sensitive_features=test.z)
        return float(np.sqrt(np.mean(error**2))), left

    target = FairTarget(max_extreme_share=1).fit(rows_here)
    found = {"fair target": judge(target, 1.0)}
    for name, criterion in PENALTIES.items():
        effect = criterion.fit(rows_here)
        both = FittedCriterion(
            Both(criterion), np.column_stack([effect.row_values, target.row_values])
        )
        for strength in (0.3, 0.6, 0.9):
            found[f"+ {name}, λ={strength:g}"] = judge(both, strength)
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
