"""Agreement with DoubleML's interactive regression model: same learners, folds and clipping."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import sklearn

from unsway.effects.estimation import estimate_effects
from unsway.effects.influence import doubly_robust

REFERENCE = Path(__file__).parent / "reference"
STORED = json.loads((REFERENCE / "double_ml.json").read_text(encoding="utf-8"))


def load_script():
    spec = importlib.util.spec_from_file_location("reference_double_ml", REFERENCE / "double_ml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "case",
    [
        "paper logistic",
        "varying_effect boosting",
        pytest.param("adult boosting", marks=pytest.mark.slow),
    ],
)
def test_direct_effects_and_their_errors_are_those_of_double_ml(case):
    same = sklearn.__version__ == STORED["scikit-learn"]
    if not same and "boosting" in case:
        pytest.skip(f"the trees stored are those of scikit-learn {STORED['scikit-learn']}")
    script = load_script()
    X, y, z, learner = script.people(case)
    found = estimate_effects(
        X, y, sensitive_features=z, propensity_model=learner, outcome_model=learner, refine=False,
        cv=script.N_FOLDS, clip=script.CLIP, max_extreme_share=1,
    )  # fmt: skip
    # theirs count the models as known
    known = doubly_robust(y.astype(float), z.astype(float), np.ones(len(y)), found.nuisances)
    for name, theirs in STORED[case].items():
        ours = getattr(found, name)
        # another release of the learners predicts a little differently
        tolerance = 1e-8 if same else 0.3 * theirs["se"]
        assert abs(ours.estimate - theirs["estimate"]) < tolerance
        assert abs(known[name].se - theirs["se"]) < tolerance


@pytest.mark.slow
def test_the_script_still_makes_what_is_stored():
    pytest.importorskip("doubleml")
    found = load_script().compute()
    for case in load_script().CASES:
        for name, stored in STORED[case].items():
            assert found[case][name]["estimate"] == pytest.approx(stored["estimate"], abs=1e-3)
