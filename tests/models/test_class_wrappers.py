"""Labels of more than two classes in estimators around scikit-learn's classifiers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unsway import (
    DirectEffectCorrector,
    FairTarget,
    FairTargetClassifier,
    MarginalizedClassifier,
    make_world,
)

NAMES = np.array(["high", "low", "none"])
MODELS = {
    "fair targets": lambda **options: FairTargetClassifier(LogisticRegression(), **options),
    "averaged": lambda **options: MarginalizedClassifier(LogisticRegression(), **options),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


@pytest.fixture(scope="module")
def people():
    return make_world("classes", 4_000, random_state=0)


def gap(p, people):
    one = people.z == 1
    return p[one].mean(axis=0) - p[~one].mean(axis=0)


@each_model
def test_shares_come_near_the_fair_ones(make, people):
    model = make().fit(people.X, NAMES[people.y], sensitive_features=people.z)
    p = model.predict_proba(people.X)
    assert model.classes_.tolist() == ["high", "low", "none"]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p.min() >= 0
    np.testing.assert_array_equal(model.predict(people.X), NAMES[p.argmax(axis=1)])
    blind = LogisticRegression().fit(people.X, people.y).predict_proba(people.X)
    wanted = gap(people.fair_score, people)
    ours, theirs = (np.abs(gap(each, people) - wanted).max() for each in (p, blind))
    assert ours < theirs / 2


def test_at_strength_0_it_is_the_classifier_itself(people):
    model = MODELS["fair targets"](strength=0.0)
    model.fit(people.X, people.y, sensitive_features=people.z)
    alone = LogisticRegression().fit(people.X, people.y)
    np.testing.assert_allclose(
        model.predict_proba(people.X), alone.predict_proba(people.X), atol=1e-4
    )
    assert model.stretch_ == 0


def test_targets_below_0_are_stretched_and_read_back(people):
    model = MODELS["fair targets"]()
    model.fit(people.X, people.y, sensitive_features=people.z)
    assert model.stretch_ > 0
    scores = model.fair_score(people.X)
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    inner = model.estimator_.predict_proba(people.X)
    np.testing.assert_allclose((scores + model.stretch_) / (1 + 3 * model.stretch_), inner)


def test_weights_are_as_good_as_rows_given_twice(people):
    some = slice(0, 1_000)
    X, y, z = people.X[some], people.y[some], people.z[some]
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    times = np.repeat(np.arange(len(y)), weights)
    inner = LogisticRegression(tol=1e-8, max_iter=1_000)
    model = MarginalizedClassifier(inner)
    one = model.fit(X, y, sensitive_features=z, sample_weight=weights).predict_proba(X)
    two = model.fit(X[times], y[times], sensitive_features=z[times]).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_a_class_that_a_level_lacks_is_refused(people):
    lacking = np.where((people.y == 2) & (people.z == 1), 1, people.y)
    given = {"sensitive_features": people.z}
    with pytest.raises(ValueError, match="class '2' has 0 rows in the sensitive level"):
        FairTargetClassifier().fit(people.X, lacking, **given)
    with pytest.raises(ValueError, match="learner='separate' fits alone"):
        MODELS["averaged"](learner="separate").fit(people.X, lacking, **given)


def test_what_takes_two_classes_names_what_takes_several(people):
    with pytest.raises(ValueError, match="FairTargetClassifier and MarginalizedClassifier take"):
        DirectEffectCorrector().fit(people.X, people.y, sensitive_features=people.z)


def test_settings_of_two_classes_are_refused(people):
    model = FairTargetClassifier(criterion=FairTarget(multiplicative=True))
    with pytest.raises(ValueError, match="numbers and labels of two classes"):
        model.fit(people.X, people.y, sensitive_features=people.z)
