"""Store what DoubleML's interactive regression model says about Adult and two synthetic worlds.

Needs DoubleML beside unsway. Learners, folds and clipping are those the test gives to
`estimate_effects`. DoubleML's ATE is our direct_everyone, its ATTE our direct_group, and its
ATTE with the levels of z turned around our direct_reference with the sign turned.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from unsway.datasets import load_adult, synthetic
from unsway.folds import fold_numbers

N_FOLDS = 5
CLIP = 0.01
ROWS = 4_000
CASES = ("paper logistic", "varying_effect boosting", "adult boosting")
LEARNERS = {
    "logistic": LogisticRegression(max_iter=1000, tol=1e-10),
    "boosting": HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, early_stopping=False, random_state=0
    ),
}


def people(case: str) -> tuple[Any, Any, Any, Any]:
    """Return X, y, z and the learner of a case; a world's shifts are .5, so that groups overlap."""
    name, learner = case.split()
    if name == "adult":
        data = load_adult("train")
        return data.to_matrix()[0], data.y, data.z, LEARNERS[learner]
    world = replace(synthetic._find_world(name), indirect_shift=0.5, proxy_shift=0.5)
    drawn = synthetic._draw(world, ROWS, np.random.default_rng(0))
    return drawn.X, drawn.y, drawn.z, LEARNERS[learner]


def compute() -> dict[str, Any]:
    import doubleml
    import sklearn

    found: dict[str, Any] = {"DoubleML": doubleml.__version__, "scikit-learn": sklearn.__version__}
    for case in CASES:
        X, y, z, learner = people(case)
        folds = fold_numbers(X, z.astype(float), N_FOLDS, 0, ties=[y])
        splits = [
            (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for fold in range(N_FOLDS)
        ]

        def fitted(score: str, z: Any, X: Any = X, y: Any = y) -> tuple[float, float]:
            data = doubleml.DoubleMLData.from_arrays(X, y, z)
            model = doubleml.DoubleMLIRM(data, learner, learner, n_folds=N_FOLDS, score=score)  # noqa: B023
            model.set_sample_splitting(splits)  # noqa: B023
            model.fit()
            return float(model.coef[0]), float(model.se[0])

        effect, turned = fitted("ATE", z), fitted("ATTE", 1 - z)
        on_ones = fitted("ATTE", z)
        found[case] = {
            "direct_everyone": {"estimate": effect[0], "se": effect[1]},
            "direct_group": {"estimate": on_ones[0], "se": on_ones[1]},
            "direct_reference": {"estimate": -turned[0], "se": turned[1]},
        }
    return found


if __name__ == "__main__":
    text = json.dumps(compute(), indent=1) + "\n"
    Path(__file__).with_suffix(".json").write_text(text, encoding="utf-8")
