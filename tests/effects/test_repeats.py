"""Repeated cross-fitting: the mean of several nuisances, which depends less on the folds."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import make_people
from sklearn.linear_model import LogisticRegression

from unsway.effects.estimation import estimate_effects
from unsway.effects.nuisance import Nuisances

PEOPLE = make_people(300)
MODEL = LogisticRegression(max_iter=1000)


def effects(**options):
    given = {"propensity_model": MODEL, "outcome_model": MODEL, "cv": 2, "refine": False, **options}
    return estimate_effects(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.z, **given)


def test_the_nuisances_are_the_mean_of_those_of_several_seeds():
    found = effects(repeats=3, random_state=5).nuisances
    each = [effects(random_state=seed).nuisances for seed in (5, 6, 7)]
    for name in ("propensity", "outcome"):
        mean = np.mean([getattr(one, name) for one in each], axis=0)
        np.testing.assert_allclose(getattr(found, name), mean)
    assert found.folds is None
    assert each[0].folds is not None


def test_a_single_cross_fitting_is_the_same_as_before():
    one = effects().nuisances
    assert Nuisances.average([one]) is one


def test_estimates_depend_less_on_the_seed():
    spread = {
        repeats: np.std(
            [
                effects(repeats=repeats, random_state=10 * k).direct_everyone.estimate
                for k in range(8)
            ]
        )
        for repeats in (1, 8)
    }
    assert spread[8] < 0.7 * spread[1]


def test_repeats_must_be_a_positive_number():
    with pytest.raises(ValueError, match="repeats must be an integer of at least 1"):
        effects(repeats=0)
