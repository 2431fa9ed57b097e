"""The boosted classifiers keep scikit-learn's contract, with z handed to them by name."""

import pickle
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
import sklearn
from contracts import ENGINES, each_engine, fair_target, size_of
from scikit_learn_contract import (
    CHECKED,
    MakesUpSensitive,
    StopsOnTrainingRows,
    assert_a_pipeline_routes_roles,
    assert_cross_validate_cuts_roles,
    assert_renamed_columns_are_refused,
    assert_reordered_columns_are_refused,
    checks_of,
    frame_of,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import (
    DirectEffect,
    FairLGBMClassifier,
    FairTarget,
    FairXGBClassifier,
    Parity,
    Schedule,
    make_synthetic,
)
from unsway.effects import class_shares, nuisance

TINY = Schedule(ramp_steps=2, max_steps=10)


class XGBWithSensitive(MakesUpSensitive, StopsOnTrainingRows, FairXGBClassifier):
    pass


class LGBMWithSensitive(MakesUpSensitive, StopsOnTrainingRows, FairLGBMClassifier):
    pass


WITH_SENSITIVE = {"xgboost": XGBWithSensitive, "lightgbm": LGBMWithSensitive}
WHY_WEIGHTS_ARE_NOT_ROWS = {
    "xgboost": (
        "margins are float32: they agree to one unit of it, 1.2e-7, where the check asks for 1e-7"
    ),
    "lightgbm": (
        "LightGBM itself bins rows of weight 0, and counts rows in a leaf without their weights"
    ),
}


def checks():
    for engine, name in product(filter(find_spec, ENGINES), CHECKED):
        model = WITH_SENSITIVE[engine](
            CHECKED[name], 0.3, params=ENGINES[engine].fine, schedule=TINY, n_jobs=1
        )
        reason = WHY_WEIGHTS_ARE_NOT_ROWS[engine]
        yield from checks_of(
            model,
            f"{engine}-{name}-",
            failures={"check_sample_weight_equivalence_on_dense_data": reason},
            strict=engine != "xgboost",
        )


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_the_estimator_passes_scikit_learns_check(estimator, check, monkeypatch):
    monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
    monkeypatch.setattr(class_shares, "MIN_CLASS_ROWS", 0)
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(600, random_state=0)


def classifier(engine, criterion=None, strength=0.5, **settings):
    return engine.classifier(criterion or Parity(), strength, **{"schedule": TINY, **settings})


def asking(engine, criterion=None):
    return classifier(engine, criterion).set_fit_request(
        sensitive_features=True, sample_weight=True
    )


def fitted(engine, data, X=None, **settings):
    model = classifier(engine, **settings)
    return model.fit(data.X if X is None else X, data.y, sensitive_features=data.z)


@each_engine
def test_a_clone_has_the_same_parameters_and_no_fitted_attribute(engine, data):
    copy = clone(fitted(engine, data, strength=0.3, params={"max_depth": 2}))
    assert not hasattr(copy, "booster_")
    assert isinstance(copy.criterion, Parity)
    assert (copy.strength, copy.params, copy.schedule) == (0.3, {"max_depth": 2}, TINY)


def test_every_engine_has_the_same_parameters():
    names = {tuple(engine.classifier().get_params(deep=False)) for engine in ENGINES.values()}
    assert len(names) == 1


@each_engine
def test_fitting_changes_no_parameter(engine, data):
    criterion, params = DirectEffect(propensity=LogisticRegression()), dict(engine.quick)
    model = classifier(engine, criterion, params=params)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert model.criterion is criterion
    assert model.params is params
    assert params == engine.quick
    assert not hasattr(criterion.propensity, "coef_")


@each_engine
def test_a_model_that_is_not_fitted_says_so(engine, data):
    for use in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(classifier(engine), use)(data.X)
    with pytest.raises(NotFittedError):
        classifier(engine).feature_importances_  # noqa: B018


@each_engine
def test_a_pipeline_routes_sensitive_features_and_weights(engine, data, routing):
    assert_a_pipeline_routes_roles(asking(engine), data)


@each_engine
def test_a_pipeline_without_a_request_refuses_sensitive_features(engine, data, routing):
    pipeline = make_pipeline(StandardScaler(), classifier(engine))
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sensitive_features"):
        pipeline.fit(data.X, data.y, sensitive_features=data.z)


@each_engine
def test_grid_search_over_strength_routes_sensitive_features(engine, data, routing):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), asking(engine)),
        {f"{engine.classifier_name.lower()}__strength": [0.0, 0.9]},
        cv=2,
        error_score="raise",
    )
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert len(set(search.cv_results_["mean_test_score"])) == 2


@each_engine
def test_grid_search_over_strength_routes_sensitive_features_to_fair_targets(engine, data, routing):
    search = GridSearchCV(
        asking(engine, fair_target()), {"strength": [0.0, 1.0]}, cv=2, error_score="raise"
    )
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert len(set(search.cv_results_["mean_test_score"])) == 2


@each_engine
def test_the_default_criterion_is_the_fair_target_at_full_strength(engine, data):
    default = engine.classifier(strength=None, schedule=TINY)
    stated = engine.classifier(FairTarget(), 1.0, schedule=TINY)
    for model in (default, stated):
        model.fit(data.X, data.y, sensitive_features=data.z)
    assert (default.criterion, default.strength, default.strength_) == (None, None, 1.0)
    np.testing.assert_array_equal(default.predict_proba(data.X), stated.predict_proba(data.X))


@each_engine
def test_a_penalty_is_at_nine_tenths_by_default(engine, data):
    default, stated = (fitted(engine, data, strength=strength) for strength in (None, 0.9))
    assert default.strength_ == stated.strength_ == 0.9
    np.testing.assert_array_equal(default.predict_proba(data.X), stated.predict_proba(data.X))


@each_engine
def test_cross_validate_cuts_sensitive_features_and_weights_with_the_rows(engine, data, routing):
    weights = np.random.default_rng(1).integers(1, 3, len(data.y))
    model = asking(engine).set_score_request(sample_weight=False)
    assert_cross_validate_cuts_roles(model, data, sensitive_features=data.z, sample_weight=weights)


@each_engine
def test_a_pickled_model_gives_the_same_probabilities(engine, data):
    model = fitted(engine, data)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


@each_engine
@pytest.mark.parametrize("criterion", [DirectEffect(), fair_target()], ids=["penalty", "target"])
def test_a_fitted_model_holds_nothing_as_long_as_the_data(engine, criterion):
    sizes = []
    for n in (1_000, 8_000):
        data = make_synthetic(n, random_state=2)
        model = fitted(engine, data, X=frame_of(data), criterion=criterion)
        sizes.append(size_of(model))
        arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
        assert max(map(np.size, arrays)) == data.X.shape[1]
    assert sizes[1] - sizes[0] < 7_000  # less than a byte a row


@each_engine
def test_renamed_columns_are_refused(engine, data):
    assert_renamed_columns_are_refused(classifier(engine), data)


@each_engine
def test_reordered_columns_are_refused(engine, data):
    assert_reordered_columns_are_refused(classifier(engine), data)


@each_engine
def test_a_refit_on_an_array_forgets_the_column_names(engine, data):
    model = fitted(engine, data, X=frame_of(data))
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 16


@each_engine
def test_lists_are_enough(engine, data):
    model = classifier(engine)
    model.fit(data.X.tolist(), data.y.tolist(), sensitive_features=data.z.tolist())
    expected = fitted(engine, data).predict_proba(data.X)
    np.testing.assert_array_equal(model.predict_proba(data.X.tolist()), expected)


@each_engine
def test_one_row_can_be_predicted(engine, data):
    model = fitted(engine, data)
    np.testing.assert_allclose(
        model.predict_proba(data.X[:1]), model.predict_proba(data.X)[:1], rtol=1e-6
    )


@each_engine
def test_probabilities_and_classes_follow_the_margin(engine, data):
    model = fitted(engine, data)
    margin, both = model.decision_function(data.X), model.predict_proba(data.X)
    np.testing.assert_allclose(both.sum(axis=1), 1)
    np.testing.assert_allclose(both[:, 1], 1 / (1 + np.exp(-margin)))
    np.testing.assert_array_equal(model.predict(data.X), margin > 0)
    assert model.score(data.X, data.y) == np.mean(model.predict(data.X) == data.y)


@each_engine
def test_predicting_changes_nothing_in_the_model(engine, data):
    model = fitted(engine, data)
    before = dict(vars(model))
    model.predict_proba(data.X[:7])
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
