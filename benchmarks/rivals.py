"""Linear models in worlds of known truth: the fair target and its rivals with logistic regression.

Most worlds are linear, so the models are right there: what is left is the method's own doing.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from tables import write_table

from unsway import (
    DirectEffect,
    DirectEffectCorrector,
    FairLogisticRegression,
    FairTarget,
    MarginalizedClassifier,
    make_world,
    score_gap,
)
from unsway.datasets import SyntheticData
from unsway.datasets.worlds import INDEX_WORLDS

ROWS, TEST_ROWS, SEEDS = 20_000, 50_000, 10
WORLDS = tuple(world.name for world in INDEX_WORLDS)


def linear() -> LogisticRegression:
    """Return a logistic regression that is nearly unpenalised."""
    return LogisticRegression(C=1e6, max_iter=500)


def models() -> dict[str, Any]:
    """Return every method, unfitted."""
    return {
        "fair target": FairLogisticRegression(FairTarget()),
        "penalty": FairLogisticRegression(DirectEffect(), 0.975),
        "averaged, single": MarginalizedClassifier(linear()),
        "averaged, separate": MarginalizedClassifier(linear(), learner="separate"),
        "averaged by prevalence": MarginalizedClassifier(linear(), weights="prevalence"),
        "corrected": DirectEffectCorrector(linear()),
        "corrected, textbook": DirectEffectCorrector(
            linear(), criterion=DirectEffect(), calibrate=False
        ),
    }


def measure(world: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return direct effect left and RMSE to the fair score for each method of one draw."""
    warnings.simplefilter("ignore")  # poor overlap is the point of some worlds
    train = make_world(world, ROWS, random_state=100 + seed)
    test = make_world(world, TEST_ROWS, random_state=1000 + seed)
    fair_labels = np.random.default_rng([seed, 1]).random(ROWS) < train.fair_score
    found = {
        "floor": _judge(linear().fit(train.X, fair_labels), test),
        "blind": _judge(linear().fit(train.X, train.y), test),
    }
    for name, model in models().items():
        found[name] = _judge(model.fit(train.X, train.y, sensitive_features=train.z), test)
    return found


def _judge(model: Any, test: SyntheticData) -> tuple[float, float]:
    p = model.predict_proba(test.X)[:, 1]
    left = score_gap(None, p - test.fair_score, sensitive_features=test.z)
    return left, float(np.sqrt(np.mean((p - test.fair_score) ** 2)))


def main() -> None:
    """Measure, and write the table beside this script."""
    pairs = [(world, seed) for world in WORLDS for seed in range(SEEDS)]
    results = Parallel(n_jobs=2)(delayed(measure)(*pair) for pair in pairs)
    rows = []
    for world in WORLDS:
        runs = [run for (name, _), run in zip(pairs, results, strict=True) if name == world]
        for method in runs[0]:
            left, error = np.array([run[method] for run in runs]).T
            spread = left.std(ddof=1) / np.sqrt(SEEDS)
            rows.append(
                (world, method, f"{left.mean():+.3f} ± {spread:.3f}", f"{error.mean():.4f}")
            )
    write_table(
        Path(__file__).with_suffix(".md"),
        "Logistic regression in worlds of known truth",
        (
            f"n = {ROWS:,}, {SEEDS} draws, judged on {TEST_ROWS:,} fresh rows. `left` is the score "
            "gap less the fair score's on the same rows, with its standard error over draws; "
            "`RMSE` is to the fair score. The floor is trained on labels drawn from that score.",
        ),
        ("world", "method", "left", "RMSE"),
        rows,
        ("unsway", "scikit-learn", "numpy"),
    )


if __name__ == "__main__":
    main()
