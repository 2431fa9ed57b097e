"""Models trained on fair targets: the boosters, logistic regression, and any other classifier."""

import pickle

import numpy as np
import pytest
from contracts import (
    CONTAINERS,
    EXACT,
    FAIR_TARGETS,
    assert_close,
    each_container,
    each_engine,
    fair_target,
    mixed_columns,
    rows_of,
    size_of,
    targets_of,
)
from scikit_learn_contract import CHECKED, MakesUpSensitive, checks_of
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from unsway import (
    DirectEffect,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    Parity,
    Schedule,
    make_synthetic,
    make_world,
    score_gap,
)
from unsway.effects import class_shares, nuisance
from unsway.folds import hold_out
from unsway.grouping import Grouping
from unsway.models.fair_target import _copies
from unsway.models.wrapping import TableBoosting

SHORT = Schedule(max_steps=40)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_500, random_state=0)


@pytest.fixture(scope="module")
def fitted_target(data):
    return fair_target().fit(rows_of(data.X, data.y, data.z))


def fit(model, data, **handed):
    return model.fit(data.X, data.y, sensitive_features=data.z, **handed)


def scores(model, X):
    return model.predict_proba(X)[:, 1]


def left(model, data):
    """Return the direct effect left in a model's scores."""
    return (
        score_gap(data.y, scores(model, data.X), sensitive_features=data.z) - data.effects.explained
    )


# --- boosters ------------------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_no_strength_grows_the_trees_of_a_penalty_of_no_strength(engine, data, weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(data.y)) if weighted else None
    target, parity = (
        fit(engine.classifier(criterion, 0.0, schedule=SHORT), data, sample_weight=weights)
        for criterion in (fair_target(), Parity())
    )
    assert target.best_iteration_ == parity.best_iteration_ > 5
    np.testing.assert_allclose(  # the engine's own objective computes in float32
        target.decision_function(data.X), parity.decision_function(data.X), rtol=0, atol=1e-5
    )
    assert engine.splits(target.booster_) == engine.splits(parity.booster_)


@each_engine
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_no_strength_grows_the_trees_of_the_engine_itself(engine, data, weighted):
    X = np.round(data.X, 1)  # a bin for each value, in every engine
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    model = engine.classifier(fair_target(), 0.0, schedule=SHORT).fit(
        X,
        data.y,
        sensitive_features=data.z,
        sample_weight=weights,
        eval_set=(X, data.y, data.z),
    )
    plain = engine.train(X, data.y, model.best_iteration_, weights=weights)
    assert engine.splits(model.booster_) == engine.splits(plain)
    np.testing.assert_allclose(scores(model, X), engine.scores(plain, X), rtol=0, atol=1e-5)


@each_engine
def test_a_booster_on_targets_beyond_zero_and_one_gives_probabilities(engine, data, fitted_target):
    targets = targets_of(fitted_target, data.y, data.z)
    model = fit(engine.classifier(fitted_target, None, schedule=SHORT), data)
    p = engine.scores(model.booster_, data.X)
    assert targets.min() < 0 < 1 < targets.max()
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p, scores(model, data.X), rtol=1e-5)


@each_engine
def test_a_fair_target_needs_no_way_to_its_strength(engine, data, fitted_target):
    seen = []
    fit(engine.classifier(fitted_target, 0.8, schedule=SHORT, callback=seen.append), data)
    assert {(step.phase, step.strength) for step in seen} == {("train", 0.8)}


@each_engine
def test_the_history_ends_at_the_log_losses_of_both_labels(engine, data, fitted_target):
    one = fitted_target.with_settings(fair_target().set_params(smoothing=0.0))
    model = fit(engine.classifier(one, None, schedule=Schedule(max_steps=4)), data)
    held = hold_out(data.X, data.y + 2.0 * data.z, 0.33, 0)
    margin = model.decision_function(data.X[held])
    assert model.best_iteration_ == 4
    assert set(model.evals_result_) == {"validation"}
    history = model.evals_result_["validation"]
    assert set(history) == {"log_loss", "fair_log_loss"}
    fair = targets_of(fitted_target, data.y, data.z)
    for name, target in (("log_loss", data.y), ("fair_log_loss", fair)):
        expected = np.mean(np.logaddexp(0, margin) - target[held] * margin)
        assert len(history[name]) == 4
        assert history[name][-1] == pytest.approx(expected, rel=1e-5)


@each_engine
def test_strengths_that_share_a_fitted_target_are_as_good_as_separate_fits(
    engine, data, fitted_target
):
    found, others = [], make_synthetic(500, random_state=3)
    judges = others.X, others.y, others.z
    for strength in (0.3, 1.0):
        shared, own = (
            fit(engine.classifier(criterion, strength, schedule=SHORT), data, eval_set=judges)
            for criterion in (fitted_target, fair_target())
        )
        np.testing.assert_array_equal(scores(shared, data.X), scores(own, data.X))
        found.append(scores(own, data.X))
    assert abs(found[0] - found[1]).max() > 0.01


@each_engine
def test_the_second_model_is_kept_where_held_out_rows_prefer_it(engine):
    data, fresh = (make_synthetic(4_000, random_state=seed) for seed in (0, 1))
    once, auto, whole = (
        fit(engine.classifier(FairTarget(smoothing=smoothing), None), data)
        for smoothing in (0.0, "auto", 1.0)
    )
    assert engine.splits(auto.booster_) != engine.splits(once.booster_)
    assert [model.kept_ for model in (once, auto, whole)] == ["only", "second", "only"]
    errors = [
        np.sqrt(np.mean((scores(model, fresh.X) - fresh.fair_score) ** 2))
        for model in (once, auto, whole)
    ]
    assert errors[1] < 0.85 * errors[0]  # linear outcome models are right here
    assert errors[2] < 0.85 * errors[0]


class Imitation(FairTarget):
    """A criterion whose second model imitates the outcome models, however bad they are."""

    def revise(self, rows, row_values, margin, *, reduce=None):
        return FairTarget(smoothing=1.0)


@each_engine
def test_the_second_model_stops_by_its_own_targets(engine, data, fitted_target):
    seen, imitation = [], fitted_target.with_settings(Imitation())
    schedule = Schedule(max_steps=400, patience=10)
    model = engine.classifier(imitation, None, schedule=schedule, callback=seen.append)
    fit(model, data)
    held = hold_out(data.X, data.y + 2.0 * data.z, 0.33, 0)
    fair, margin = (
        fitted_target.row_values[held].mean(axis=1),
        model.decision_function(data.X[held]),
    )
    history = model.evals_result_["validation"]["fair_log_loss"]
    first = [step.number for step in seen].index(1, 1)
    assert len(seen) == first + len(history)
    assert min(history) == history[model.best_iteration_ - 1]
    assert min(history) == pytest.approx(np.mean(np.logaddexp(0, margin) - fair * margin), rel=1e-5)


@each_engine
def test_both_models_are_compared_by_the_targets_of_the_first(engine, data, fitted_target):
    certain = fitted_target.with_settings(Imitation()).with_values(np.zeros((len(data.y), 2)))
    kept = fit(engine.classifier(certain, None, schedule=SHORT), data)
    blind = fit(engine.classifier(None, 0.0, schedule=SHORT), data)
    np.testing.assert_allclose(scores(kept, data.X), scores(blind, data.X), rtol=0, atol=1e-5)
    assert kept.kept_ == "first"


@each_engine
def test_no_strength_trains_one_model(engine, data, fitted_target):
    seen = []
    model = engine.classifier(fitted_target, 0.0, schedule=SHORT, callback=seen.append)
    fit(model, data)
    assert [step.number for step in seen] == list(range(1, len(seen) + 1))


@each_engine
def test_eval_set_has_the_effect_predicted_at_its_rows(engine, data, fitted_target):
    beside = make_synthetic(500, random_state=1)
    one = fair_target().set_params(smoothing=0.0)
    model = engine.classifier(one, None, schedule=Schedule(max_steps=5))
    fit(model, data, eval_set=(beside.X, beside.y, beside.z))
    margin = model.decision_function(beside.X)
    targets = targets_of(fitted_target.at(beside.X), beside.y, beside.z)
    expected = np.mean(np.logaddexp(0, margin) - targets * margin)
    history = model.evals_result_["validation"]["fair_log_loss"]
    assert history[model.best_iteration_ - 1] == pytest.approx(expected, rel=1e-5)


@each_engine
def test_the_order_of_the_rows_does_not_matter(engine, data):
    order = np.random.default_rng(0).permutation(len(data.y))
    X = np.round(data.X, 2)
    one, other = (
        engine.classifier(fair_target(), None, schedule=SHORT).fit(
            X[rows], data.y[rows], sensitive_features=data.z[rows]
        )
        for rows in (np.arange(len(X)), order)
    )
    np.testing.assert_allclose(scores(other, X), scores(one, X), atol=1e-4)


@each_engine
def test_a_target_fitted_on_other_rows_is_refused(engine, data, fitted_target):
    fewer = make_synthetic(1_000, random_state=1)
    with pytest.raises(ValueError, match="fitted on 1500 rows but there are 1000 to train on"):
        fit(engine.classifier(fitted_target, None), fewer)


@each_engine
@pytest.mark.parametrize("world", ["paper", "opposed_effects"])
def test_boosting_on_fair_targets_removes_most_of_the_direct_effect(engine, world):
    data = make_world(world, 6_000, random_state=4)
    blind, fair = (
        fit(engine.classifier(fair_target(), strength, schedule=Schedule(max_steps=60)), data)
        for strength in (0.0, 1.0)
    )
    assert abs(left(fair, data)) < abs(left(blind, data)) / 2


@each_engine
def test_a_strength_above_one_is_refused(engine, data):
    with pytest.raises(ValueError, match=r"strength must be at least 0 and at most 1; got 1\.1"):
        fit(engine.classifier(FairTarget(), 1.1), data)
    with pytest.raises(ValueError, match=r"strength must be at least 0 and below 1; got 1"):
        fit(engine.classifier(DirectEffect(), 1), data)


# --- logistic regression -------------------------------------------------------------------------


def test_no_strength_is_plain_logistic_regression(data):
    target, parity = (
        fit(FairLogisticRegression(criterion, 0.0, tol=1e-10), data)
        for criterion in (fair_target(), Parity())
    )
    plain = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(data.X, data.y)
    np.testing.assert_array_equal(target.coef_, parity.coef_)
    assert_close(target.coef_, plain.coef_, 1e-7)


def test_a_path_over_strengths_ends_at_the_fit_of_each(data, fitted_target):
    path = FairLogisticRegression(fair_target(), tol=1e-10).fit_path(
        data.X, data.y, [0.0, 0.5, 1.0], sensitive_features=data.z
    )
    for model, strength in zip(path, (0.0, 0.5, 1.0), strict=True):
        alone = fit(FairLogisticRegression(fitted_target, strength, tol=1e-10), data)
        assert model.strength_ == strength
        assert_close(model.coef_, alone.coef_, 1e-7)


def test_the_fair_half_of_the_objective_is_reported(data, fitted_target):
    model = fit(FairLogisticRegression(fitted_target), data)
    margin = model.decision_function(data.X)
    targets = targets_of(fitted_target, data.y, data.z)
    fair, plain = (np.mean(np.logaddexp(0, margin) - t * margin) for t in (targets, data.y))
    assert (model.penalty_, model.log_loss_) == (pytest.approx(fair), pytest.approx(plain))


@pytest.mark.parametrize(
    "world", ["paper", "opposed_effects", "varying_effect", "many_noise_features"]
)
def test_the_default_leaves_little_direct_effect_where_a_blind_model_has_much(world):
    data = make_world(world, 4_000, random_state=7)
    criterion = FairTarget(max_extreme_share=1.0)
    blind, fair = (fit(FairLogisticRegression(criterion, s), data) for s in (0.0, None))
    assert abs(left(fair, data)) < 0.035
    assert abs(left(blind, data)) > 0.05


@pytest.mark.parametrize("world", ["no_direct_effect", "imbalanced"])
def test_the_default_does_no_harm_where_there_is_little_to_remove(world):
    data = make_world(world, 4_000, random_state=7)
    blind, fair = (
        fit(FairLogisticRegression(FairTarget(max_extreme_share=1.0), s), data) for s in (0.0, None)
    )
    error_of_blind, error = (
        np.sqrt(np.mean((scores(model, data.X) - data.fair_score) ** 2)) for model in (blind, fair)
    )
    assert abs(left(fair, data)) < 0.035
    assert error < 1.25 * error_of_blind


# --- any classifier ------------------------------------------------------------------------------


def test_without_strength_any_classifier_is_the_plain_one(data):
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    forest = RandomForestClassifier(5, random_state=0)
    for inner in (LogisticRegression(), tree, forest, TableBoosting()):
        model = fit(FairTargetClassifier(inner, criterion=fair_target(), strength=0.0), data)
        plain = clone(inner).fit(data.X, data.y)
        np.testing.assert_array_equal(scores(model, data.X), scores(plain, data.X))
        assert model.stretch_ == 0.0


def test_copies_carry_targets_and_weights():
    targets = np.array([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]])
    rows, labels, weights = _copies(targets, np.array([3.0, 2.0, 0.0]))
    assert rows.tolist() == [0, 1, 1]
    assert labels.tolist() == [0, 0, 1]
    assert weights.tolist() == [3.0, 1.5, 0.5]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_stretch_is_the_largest_excess_and_is_taken_back(data, weighted):
    weights = np.random.default_rng(0).integers(1, 3, len(data.y)) if weighted else None
    model = FairTargetClassifier(EXACT, criterion=fair_target(), strength=0.8)
    fit(model, data, sample_weight=weights)
    float_weights = None if weights is None else weights.astype(float)
    targets = targets_of(
        fair_target().fit(rows_of(data.X, data.y, data.z, float_weights)),
        data.y,
        data.z,
        0.8,
    )
    a = max(-targets.min(), targets.max() - 1)
    assert model.stretch_ == pytest.approx(a)
    inside = (targets + a) / (1 + 2 * a)
    w = np.ones(len(data.y)) if weights is None else weights
    by_hand = clone(EXACT).fit(
        np.tile(data.X, (2, 1)), np.repeat([1, 0], len(w)), np.r_[inside * w, (1 - inside) * w]
    )
    expected = scores(by_hand, data.X) * (1 + 2 * a) - a
    assert_close(model.fair_score(data.X), expected, 1e-7)
    assert_close(scores(model, data.X), np.clip(expected, 0, 1), 1e-7)


def test_a_classifier_that_sees_no_x_scores_the_mean_target(data, fitted_target):
    model = fit(
        FairTargetClassifier(DummyClassifier(strategy="prior"), criterion=fitted_target), data
    )
    expected = targets_of(fitted_target, data.y, data.z).mean()
    np.testing.assert_allclose(model.fair_score(data.X), expected, rtol=1e-9)


def test_rows_without_weight_have_no_say_in_the_stretch(data, fitted_target):
    targets = targets_of(fitted_target, data.y, data.z)
    beyond = (targets < 0) | (targets > 1)
    model = FairTargetClassifier(EXACT, criterion=fitted_target)
    assert fit(model, data, sample_weight=1.0 - beyond).stretch_ == 0.0
    assert fit(model, data).stretch_ > 0.1


def test_the_scores_of_logistic_regression_on_copies_are_close_to_those_on_targets(data):
    copies = fit(FairTargetClassifier(EXACT, criterion=fair_target()), data)
    direct = fit(FairLogisticRegression(fair_target()), data)
    assert abs(copies.fair_score(data.X) - scores(direct, data.X)).mean() < 0.02


@pytest.mark.parametrize("world", ["paper", "opposed_effects"])
def test_the_gap_of_any_classifier_is_near_symnie(world):
    data = make_world(world, 4_000, random_state=7)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    blind, fair = (
        fit(FairTargetClassifier(inner, criterion=fair_target(), strength=s), data) for s in (0, 1)
    )
    assert abs(left(blind, data)) > 0.09
    assert abs(left(fair, data)) < 0.03


def test_the_default_classifier_takes_words_and_holes():
    columns, z = mixed_columns()
    y = np.random.default_rng(1).integers(0, 2, len(z))
    model = FairTargetClassifier(criterion=FairTarget(max_extreme_share=1.0))
    table = CONTAINERS["pandas"](columns)
    p = scores(model.fit(table, y, sensitive_features=z), table)
    assert p.std() > 0.1


@each_container
def test_every_container_gives_the_same_scores(container):
    columns, z = mixed_columns()
    del columns["empty"]  # words to some containers, numbers to others
    y = np.random.default_rng(1).integers(0, 2, len(z))
    found = []
    for make in (container, CONTAINERS["pandas"]):
        model = FairTargetClassifier(criterion=FairTarget(max_extreme_share=1.0))
        found.append(scores(model.fit(make(columns), y, sensitive_features=z), make(columns)))
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.slow
def test_catboost_may_be_the_classifier():
    catboost = pytest.importorskip("catboost")
    data = make_world("paper", 4_000, random_state=7)
    inner = catboost.CatBoostClassifier(
        iterations=100,
        depth=4,
        learning_rate=0.3,
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
    )
    blind, fair = (
        fit(FairTargetClassifier(inner, criterion=fair_target(), strength=s), data) for s in (0, 1)
    )
    plain = clone(inner).fit(data.X, data.y)
    np.testing.assert_allclose(scores(blind, data.X), scores(plain, data.X), atol=1e-9)
    assert abs(left(blind, data)) > 0.09
    assert abs(left(fair, data)) < 0.04


# --- its contract --------------------------------------------------------------------------------


class WithSensitive(MakesUpSensitive, FairTargetClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of(WithSensitive(EXACT, criterion=CHECKED["FairTarget"]))
)
def test_the_estimator_passes_scikit_learns_check(estimator, check, monkeypatch):
    monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
    monkeypatch.setattr(class_shares, "MIN_CLASS_ROWS", 0)
    check(estimator)


def test_text_labels_and_levels_are_understood(data):
    y, z = np.array(["no", "yes"])[data.y], np.array(["F", "M"])[data.z]
    numbers = fit(FairTargetClassifier(EXACT, criterion=fair_target()), data)
    words = (
        clone(numbers)
        .set_params(groups=Grouping(reference="F"))
        .fit(data.X, y, sensitive_features=z)
    )
    assert words.classes_.tolist() == ["no", "yes"]
    assert words.sensitive_levels_ == ("F", "M")
    np.testing.assert_array_equal(words.fair_score(data.X), numbers.fair_score(data.X))
    np.testing.assert_array_equal(words.predict(data.X) == "yes", numbers.predict(data.X) == 1)


def test_grid_search_over_strength_and_the_inner_model_routes_sensitive_features(data, routing):
    model = FairTargetClassifier(EXACT, criterion=fair_target(max_extreme_share=1.0))
    search = GridSearchCV(
        model.set_fit_request(sensitive_features=True),
        {"strength": [0.0, 1.0], "estimator__C": [0.001, 1.0], "criterion__cv": [2]},
        cv=2,
        error_score="raise",
        scoring="neg_log_loss",
    )
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert len(set(search.cv_results_["mean_test_score"])) == 4


def test_a_pickled_model_is_small_and_gives_the_same_probabilities():
    data = make_synthetic(5_000, random_state=2)
    model = fit(FairTargetClassifier(EXACT), data)
    kept = pickle.dumps(model)
    assert size_of(model) < 5_000  # less than a byte a row
    again = pickle.loads(kept)  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


def test_a_failed_refit_leaves_the_model_as_it_was(data):
    model = fit(FairTargetClassifier(EXACT, criterion=fair_target()), data)
    before = model.predict_proba(data.X)
    model.set_params(strength=2.0)
    with pytest.raises(ValueError, match="strength must be at least 0 and at most 1"):
        fit(model, data)
    np.testing.assert_array_equal(model.predict_proba(data.X), before)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"strength": 1.1}, ValueError, r"at least 0 and at most 1; got 1\.1"),
        ({"strength": "all"}, TypeError, "strength must be a number"),
        ({"criterion": Parity()}, TypeError, r"criterion must be a FairTarget; got Parity\(\)"),
        ({"criterion": DirectEffect()}, TypeError, "criterion must be a FairTarget"),
        ({"estimator": "trees"}, TypeError, "estimator must be a scikit-learn classifier"),
        ({"estimator": LogisticRegression}, TypeError, "estimator must be a scikit-learn"),
        ({"estimator": LinearSVC()}, TypeError, "LinearSVC has no predict_proba"),
        (
            {"estimator": KNeighborsClassifier()},
            TypeError,
            r"KNeighborsClassifier\.fit takes no sample_weight",
        ),
        (
            {"estimator": make_pipeline(StandardScaler(), KNeighborsClassifier())},
            TypeError,
            r"KNeighborsClassifier\.fit takes no sample_weight",
        ),
    ],
    ids=str,
)
def test_bad_settings_are_refused(data, settings, error, message):
    with pytest.raises(error, match=message):
        fit(FairTargetClassifier(**{"criterion": FAIR_TARGETS["fair target"], **settings}), data)


def test_a_target_fitted_on_other_rows_is_refused_by_the_others_too(fitted_target):
    fewer = make_synthetic(1_000, random_state=1)
    for model in (
        FairTargetClassifier(EXACT, criterion=fitted_target),
        FairLogisticRegression(fitted_target),
    ):
        with pytest.raises(ValueError, match="fitted on 1500 rows but there are 1000 to train on"):
            fit(model, fewer)


def test_too_few_rows_of_a_level_are_refused(data):
    rows = np.r_[np.flatnonzero(data.z == 0)[:100], np.flatnonzero(data.z == 1)[:15]]
    for model in (FairTargetClassifier(EXACT), FairLogisticRegression()):
        with pytest.raises(ValueError, match="a sensitive level has 15 rows; at least 20"):
            model.fit(data.X[rows], data.y[rows], sensitive_features=data.z[rows])
