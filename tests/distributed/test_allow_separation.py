"""X that predicts z, on workers: the same error, and the same option that goes on."""

import numpy as np
import pandas as pd
import pytest

from unsway import DirectEffect, FairTarget, FairXGBClassifier, OverlapWarning, make_world
from unsway.distributed import NuisanceSettings, Part, fit_here

CRITERIA = {
    "fair target": (FairTarget, NuisanceSettings()),
    "penalty": (DirectEffect, NuisanceSettings()),
    "penalty, stacked": (DirectEffect, NuisanceSettings(propensity="stacked")),
}


def near_copy(n_rows=3_000):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n_rows)
    X = pd.DataFrame({"age": rng.normal(size=n_rows), "code": z + 0.2 * rng.normal(size=n_rows)})
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X["age"] - z))).astype(int).to_numpy()
    return Part(X, y, z)


@pytest.mark.parametrize("name", CRITERIA)
def test_workers_refuse_a_near_copy_and_go_on_if_they_are_told_to(name):
    criterion, nuisances = CRITERIA[name]
    model = FairXGBClassifier(criterion(max_extreme_share=1), n_jobs=1)
    with pytest.raises(ValueError, match=r"'code' predicts it.*allow_separation=True goes on"):
        fit_here(model, near_copy(), nuisances=nuisances)
    model.criterion.set_params(allow_separation=True)
    with pytest.warns(OverlapWarning, match="'code' predicts it almost alone.*extrapolated"):
        fitted = fit_here(model, near_copy(), nuisances=nuisances)
    assert fitted.n_rounds_ < 1_000


def test_too_few_rows_after_the_hold_out_are_an_error_that_says_so():
    world = make_world("small_group", 800, random_state=0)
    with pytest.raises(ValueError, match=r"left to train on after 33% are held out.* cv=2"):
        fit_here(FairXGBClassifier(n_jobs=1), Part(world.X, world.y, world.z))
