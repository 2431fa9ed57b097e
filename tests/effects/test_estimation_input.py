"""What `estimate_effects` warns of and what it refuses."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from contracts import make_people
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from unsway.datasets import synthetic
from unsway.effects import OverlapWarning
from unsway.effects.estimation import estimate_effects
from unsway.effects.nuisance import Nuisances

LOGISTIC = LogisticRegression(max_iter=1000)
PEOPLE = make_people(400)


def effects(people=PEOPLE, **options):
    chosen = {"propensity_model": LOGISTIC, "outcome_model": LOGISTIC, "cv": 3, **options}
    X, y, z = (chosen.pop(name, getattr(people, name)) for name in ("X", "y", "z"))
    return estimate_effects(X, y, sensitive_features=z, **chosen)


def numbers(found, key="estimate"):
    return np.array([getattr(each, key) for each in found.estimates().values()])


def linear_people(n=800):
    """Return people on whom logistic models of X are right, of z and of y."""
    people = make_people(n, separation=0.7)
    return replace(people, X=np.column_stack([logit(people.b), people.X[:, 1]]))


# --- poor overlap --------------------------------------------------------------------------------


def test_the_papers_world_warns_of_poor_overlap_with_numbers():
    people = synthetic.make_synthetic(2000, random_state=0)
    with pytest.warns(OverlapWarning, match=r"(\d+)% of the propensities lie outside \[0.05, 0.95"):
        found = effects(people)
    assert found.overlap.share_outside > 0.4


def two_clusters(*, strays):
    """Return 150 people of each level, far apart but for some who stand among the others."""
    z, y = np.repeat([0, 1], 150), np.tile([0, 1, 1], 100)
    place = np.where(np.arange(300) % 150 < strays, 1 - z, z)
    return np.random.default_rng(0).normal(size=(300, 2)) + 40 * place[:, None], y, z


@pytest.mark.parametrize("method", ["doubly_robust", "weighting"])
def test_nearly_separated_groups_warn_with_numbers_and_stay_finite(method):
    X, y, z = two_clusters(strays=1)
    with pytest.warns(OverlapWarning, match=r"100% .* were clipped to \[0.04, 0.96\]") as seen:
        found = effects(X=X, y=y, z=z, method=method, clip=0.04)
    assert np.isfinite([numbers(found, key) for key in ("estimate", "se", "low", "high")]).all()
    assert found.settings["n_clipped"] > 290
    assert f"{found.settings['n_clipped']} propensities were clipped" in str(seen[0].message)


@pytest.mark.parametrize("method", ["doubly_robust", "weighting", "surrogate"])
def test_separated_groups_are_refused(method):
    X, y, z = two_clusters(strays=0)
    with pytest.raises(ValueError, match="'column 0' and 'column 1' predict it almost alone"):
        effects(X=X, y=y, z=z, method=method)


def test_the_warning_comes_where_the_user_says():
    people = linear_people(400)
    people = replace(people, X=people.X * [1, 0], z=(people.X[:, 0] + people.y > 0.5).astype(float))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = effects(people, max_extreme_share=1).overlap.share_outside
    assert share > 0.05
    with pytest.warns(OverlapWarning, match="direct_overlap is the effect these data can tell"):
        effects(people, max_extreme_share=share / 2)


def test_decent_overlap_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = effects(linear_people())
    assert found.overlap.share_outside < 0.25


# --- bad input -----------------------------------------------------------------------------------


def spoiled(values, row, value):
    values = np.array(values, dtype=float)
    values[row] = value
    return values


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "magic"}, ValueError, "unknown method 'magic'; choose from doubly_robust, sur"),
        ({"interval": "exact"}, ValueError, "unknown interval 'exact'; choose from influence, boo"),
        ({"confidence": 95}, ValueError, "confidence must be a finite number above 0 and below 1"),
        ({"cv": 0}, ValueError, "cv must be an integer of at least 1; got 0"),
        ({"clip": 0}, ValueError, "clip must be a finite number above 0 and below 0.5"),
        ({"cv": 1, "outcome_model": None}, ValueError, "cv=1 predicts the rows a model was tra"),
        ({"random_state": None}, ValueError, "random_state must be an integer of at least 0"),
        (
            {"interval": "bootstrap", "n_bootstrap": 1},
            ValueError,
            "n_bootstrap must be an integer of at least 2; got 1",
        ),
        (
            {"method": "surrogate", "outcome_degree": -1},
            ValueError,
            "outcome_degree must be an integer of at least 0; got -1",
        ),
        (
            {"method": "surrogate", "effect_degree": 1.5},
            ValueError,
            "effect_degree must be an integer of at least 0; got 1.5",
        ),
        ({"method": "surrogate", "basis": "fourier"}, ValueError, "unknown basis 'fourier'"),
        ({"propensity_model": "logistic"}, TypeError, "propensity_model must be a scikit-learn mo"),
        ({"y": PEOPLE.scores}, TypeError, "is a classifier, but y is not 0/1"),
        ({"y": np.ones(400)}, ValueError, "y is the same for every row"),
        ({"y": PEOPLE.z * PEOPLE.y}, ValueError, "y is the same for every row of sensitive level"),
        ({"y": spoiled(PEOPLE.y, 3, np.nan)}, ValueError, "y has 1 missing values"),
        ({"y": PEOPLE.y[:-1]}, ValueError, "y has 399 rows but X has 400; they must match"),
        ({"z": spoiled(PEOPLE.z, 3, np.nan)}, ValueError, "sensitive_features has 1 missing"),
        ({"z": np.zeros(400)}, ValueError, "sensitive_features has a single level"),
        ({"z": np.arange(400)}, ValueError, "sensitive_features has 400 distinct numbers"),
        ({"z": None}, TypeError, "sensitive_features is required"),
        ({"z": (np.arange(400) < 7).astype(float)}, ValueError, "a sensitive level has 7 rows"),
        (
            {"X": np.column_stack([PEOPLE.X, 3 - PEOPLE.z])},
            ValueError,
            "X contains the sensitive attribute: 'column 2'",
        ),
        (
            {"X": spoiled(PEOPLE.X, (3, 1), np.inf)},
            ValueError,
            "X contains infinity in 'column 1'",
        ),
        ({"sample_weight": -PEOPLE.weights}, ValueError, "sample_weight has 400 negative values"),
        (
            {"sample_weight": 1 - PEOPLE.z},
            ValueError,
            "rows of sensitive level 1.0, but each has a sample_weight of zero",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_bad_input_is_refused_before_any_model_is_fitted(options, error, message, monkeypatch):
    monkeypatch.setattr(LogisticRegression, "fit", lambda *_: pytest.fail("a model was fitted"))
    with pytest.raises(error, match=message):
        effects(**options)


def test_a_level_whose_outcomes_differ_only_without_weight_is_refused():
    one = PEOPLE.z == 1
    weights = np.where(one & (PEOPLE.y == 1), 0.0, 1.0)
    with pytest.raises(ValueError, match="y is the same for every row of sensitive level"):
        effects(sample_weight=weights)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.1, np.nan])
def test_given_propensities_that_weigh_infinitely_are_counted_and_refused(value):
    nuisances = Nuisances(spoiled(PEOPLE.b, [1, 2], value), np.full((400, 2), 0.5))
    with pytest.raises(ValueError, match="2 propensities of nuisances are NaN, 0, 1 or beyond"):
        effects(nuisances=nuisances)


def test_given_nuisances_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="nuisances are not those of the 400 rows of X"):
        effects(nuisances=Nuisances(PEOPLE.b[:-1], np.full((399, 2), 0.5)))


def test_given_nuisances_without_outcome_means_serve_the_other_methods_alone():
    nuisances = effects(method="weighting").nuisances
    assert np.isfinite(numbers(effects(nuisances=nuisances, method="surrogate"))).all()
    with pytest.raises(ValueError, match="nuisances lack outcome means"):
        effects(nuisances=nuisances)


def test_missing_values_in_the_covariates_are_fine():
    X = PEOPLE.X.copy()
    X[::3, 0] = np.nan
    found = estimate_effects(
        X, PEOPLE.y, sensitive_features=PEOPLE.z, cv=2, max_extreme_share=1
    )  # fmt: skip
    assert np.isfinite(numbers(found)).all()


def test_covariates_that_say_nothing_leave_the_whole_difference():
    found = effects(X=np.ones((400, 1)))
    assert found.direct_reference.estimate == pytest.approx(found.total.estimate, abs=0.01)
    assert found.explained.estimate == pytest.approx(0, abs=0.01)
