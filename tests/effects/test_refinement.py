"""Given models are corrected where their residuals show that they are wrong, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from unsway import Grouping, estimate_effects, make_world

MODELS = {"propensity_model": LogisticRegression(), "outcome_model": LogisticRegression()}


def signs(n_rows=3000, effect=0.2):
    """z and y follow the product of two signs, which no linear model can tell."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, 3))
    product = np.sign(X[:, 0] * X[:, 1])
    z = (rng.random(n_rows) < 0.5 + 0.3 * product).astype(int)
    y = (rng.random(n_rows) < 0.4 + 0.25 * product + effect * (z - 0.5)).astype(int)
    return X, y, z


def test_models_that_miss_a_product_are_refined_and_the_bias_is_gone():
    X, y, z = signs()
    wrong = estimate_effects(X, y, sensitive_features=z, refine=False, **MODELS)
    found = estimate_effects(X, y, sensitive_features=z, **MODELS)
    assert wrong.direct_everyone.low > 0.3
    assert found.direct_everyone.low < 0.2 < found.direct_everyone.high
    assert found.settings["refined"] == ["propensity", "outcome z=0", "outcome z=1"]


def test_models_that_are_right_stay_as_they_are():
    people = make_world("no_direct_effect", 3000, random_state=1)
    given = {"sensitive_features": people.z, **MODELS, "max_extreme_share": 1}
    found = estimate_effects(people.X, people.y, **given)
    kept = estimate_effects(people.X, people.y, refine=False, **given)
    assert "refined" not in found.settings
    assert found.to_dict() == kept.to_dict()


def test_the_default_models_are_not_refined():
    X, y, z = signs(800)
    assert "refined" not in estimate_effects(X, y, sensitive_features=z).settings


def test_only_what_was_given_is_refined():
    X, y, z = signs(2000)
    given = {"propensity_model": LogisticRegression()}
    found = estimate_effects(X, y, sensitive_features=z, **given)
    assert found.settings["refined"] == ["propensity"]


def test_without_held_out_rows_nothing_is_refined():
    X, y, z = signs(2000)
    assert "refined" not in estimate_effects(X, y, sensitive_features=z, cv=1, **MODELS).settings


def test_refined_propensities_stay_within_the_bounds():
    X, y, z = signs()
    found = estimate_effects(X, y, sensitive_features=z, clip=0.3, **MODELS).nuisances
    assert found.propensity.min() == pytest.approx(0.3)
    assert found.unclipped.min() < 0.3


def test_means_of_numbers_are_refined_and_those_of_counts_are_not():
    X, y, z = signs(2000)
    numbers = {"propensity_model": LogisticRegression(), "outcome_model": LinearRegression()}
    amount = y * 100.0 + np.abs(X[:, 2])
    found = estimate_effects(X, amount, sensitive_features=z, **numbers)
    assert found.settings["refined"][1:] == ["outcome z=0", "outcome z=1"]
    counts = estimate_effects(X, y, sensitive_features=z, loss="poisson", **numbers)
    assert counts.settings["refined"] == ["propensity"]


def test_each_replicate_of_a_bootstrap_is_refined():
    X, y, z = signs(1500)
    found = estimate_effects(
        X, y, sensitive_features=z, interval="bootstrap", n_bootstrap=10, **MODELS
    )
    known = found.direct_everyone
    assert known.low < 0.2 < known.high < 0.4


def test_levels_and_clusters_change_nothing_about_it():
    X, y, z = signs()
    people = np.arange(len(y)) // 2
    levels = np.array(["a", "b"])[z]
    found = estimate_effects(
        X, y, sensitive_features=levels, groups=Grouping(reference="a"), cluster=people, **MODELS
    )
    assert "propensity" in found.settings["refined"]
