"""Learners: a scikit-learn model with the table it reads, alone or stacked with others."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, make_people
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from unsway.effects.learners import ScikitLearner, default_learners, learners_from
from unsway.effects.stacking import stacking_shares
from unsway.tables import take

PEOPLE = make_people(200)


def test_a_classifier_of_a_constant_target_predicts_it():
    learner = ScikitLearner(LogisticRegression(), PEOPLE.X)
    found = learner.fit(np.ones(200), np.arange(100), None)
    assert found.predict(PEOPLE.X[100:]).tolist() == [1.0] * 100


def test_a_column_without_any_value_changes_nothing():
    more = np.column_stack([PEOPLE.X, np.full(200, np.nan)])
    trees, plain = (default_learners(X, binary=True)[0] for X in (more, PEOPLE.X))
    rows = np.arange(120)
    found = trees.fit(PEOPLE.y, rows, None).predict(more[120:])
    expected = plain.fit(PEOPLE.y, rows, None).predict(PEOPLE.X[120:])
    assert_close(found, expected, 1e-12)


def test_a_continuous_outcome_gets_regressors_by_default():
    binary, continuous = (default_learners(PEOPLE.X, binary=flag) for flag in (True, False))
    assert [hasattr(each.model, "predict_proba") for each in binary] == [True, True]
    assert [hasattr(each.model, "predict_proba") for each in continuous] == [False, False]


def test_a_users_models_read_the_table_as_it_is_given():
    frame = pytest.importorskip("pandas").DataFrame(PEOPLE.X, columns=["b", "other"])
    (learner,) = learners_from(LogisticRegression(), frame, binary=True, role="outcome_model")
    assert learner.table is frame
    assert take(frame, np.arange(2)).columns.tolist() == ["b", "other"]


@pytest.mark.parametrize(
    ("models", "binary", "error", "message"),
    [
        ([], True, ValueError, "outcome_model is an empty list; give at least one model, or None"),
        ("logistic", True, TypeError, "outcome_model must be a scikit-learn model; got 'logistic'"),
        ([LogisticRegression(), 3], True, TypeError, "must be a scikit-learn model; got 3"),
        (RidgeClassifier(), True, TypeError, r"RidgeClassifier\(\) has no predict_proba"),
        (LogisticRegression(), False, TypeError, "is a classifier, but y is not 0/1"),
    ],
    ids=["none", "a name", "a number among them", "no probabilities", "continuous y"],
)
def test_models_that_cannot_serve_are_refused(models, binary, error, message):
    with pytest.raises(error, match=message):
        learners_from(models, PEOPLE.X, binary=binary, role="outcome_model")


# --- stacking ------------------------------------------------------------------------------------


def test_a_single_model_has_the_whole_share():
    assert stacking_shares(np.zeros((5, 1)), np.zeros(5)).tolist() == [1.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_of_probabilities_have_the_highest_likelihood(weighted):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 500)
    y = (rng.random(500) < p).astype(float)
    models = np.column_stack([np.clip(p + rng.normal(0, 0.2, 500), 0.02, 0.98) for _ in range(2)])
    weights = rng.integers(1, 4, 500).astype(float) if weighted else np.ones(500)

    def loss(share):
        mixed = models @ np.array([share, 1 - share])
        return -np.average(np.log(np.where(y == 1, mixed, 1 - mixed)), weights=weights)

    best = minimize(lambda s: loss(s[0]), [0.5], bounds=[(0, 1)]).x[0]
    found = stacking_shares(models, y, weights if weighted else None)
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(best, abs=2e-3)
    assert loss(found[0]) <= min(loss(0.0), loss(1.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_of_other_predictions_have_the_least_squares(weighted):
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    models = np.column_stack([y + rng.normal(0, spread, 300) for spread in (0.5, 1.0)])
    weights = rng.uniform(0.2, 3, 300) if weighted else np.ones(300)
    # the best s of y ≈ s·m₁ + (1−s)·m₂ is a regression of y−m₂ on m₁−m₂
    gap, rest = models[:, 0] - models[:, 1], y - models[:, 1]
    best = np.sum(weights * gap * rest) / np.sum(weights * gap**2)
    assert 0 < best < 1
    found = stacking_shares(models, y, weights if weighted else None)
    assert_close(found, [best, 1 - best], 1e-6)


def test_a_model_that_only_harms_gets_no_share():
    y = np.random.default_rng(0).normal(size=200)
    found = stacking_shares(np.column_stack([0.5 * y, -y]), y)
    assert_close(found, [1.0, 0.0], 1e-9)
