"""FairLogisticRegression keeps scikit-learn's contract, with z handed to it by name."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from contracts import fair_target, size_of
from scikit_learn_contract import (
    CHECKED,
    MakesUpSensitive,
    assert_a_pipeline_routes_roles,
    assert_cross_validate_cuts_roles,
    assert_renamed_columns_are_refused,
    assert_reordered_columns_are_refused,
    checks_of,
    frame_of,
)
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import DirectEffect, FairLogisticRegression, FairTarget, Parity, make_synthetic
from unsway.effects import class_shares, nuisance


class WithSensitive(MakesUpSensitive, FairLogisticRegression):
    pass


def checks():
    for name, criterion in CHECKED.items():
        model = WithSensitive(criterion, strength=0.5, l2=0.01, tol=1e-10)
        yield from checks_of(model, f"{name}-")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_the_estimator_passes_scikit_learns_check(estimator, check, monkeypatch):
    monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
    monkeypatch.setattr(class_shares, "MIN_CLASS_ROWS", 0)
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_000, random_state=0)


def asking(criterion):
    model = FairLogisticRegression(criterion, strength=0.5)
    return model.set_fit_request(sensitive_features=True, sample_weight=True)


def test_a_clone_has_the_same_parameters_and_no_fitted_attribute(data):
    model = FairLogisticRegression(Parity(), strength=0.3, l2=0.1)
    copy = clone(model.fit(data.X, data.y, sensitive_features=data.z))
    assert not hasattr(copy, "coef_")
    assert isinstance(copy.criterion, Parity)
    assert (copy.strength, copy.l2) == (0.3, 0.1)


def test_get_params_reaches_into_the_criterion_and_its_propensity():
    model = FairLogisticRegression(DirectEffect(2, 1, propensity=LogisticRegression(C=7.0)))
    parameters = model.get_params()
    assert parameters["criterion__outcome_degree"] == 2
    assert parameters["criterion__propensity__C"] == 7.0


def test_set_params_reaches_into_the_criterion_and_its_propensity():
    model = FairLogisticRegression(DirectEffect())
    propensity = LogisticRegression()
    model.set_params(criterion__outcome_degree=3, criterion__propensity=propensity)
    model.set_params(criterion__propensity__C=0.5)
    assert model.criterion.outcome_degree == 3
    assert model.criterion.propensity is propensity
    assert propensity.C == 0.5


def test_set_params_refuses_an_unknown_name():
    with pytest.raises(ValueError, match="Invalid parameter 'strenght'"):
        FairLogisticRegression().set_params(strenght=0.5)


def test_fitting_changes_no_parameter(data):
    criterion = DirectEffect(propensity=LogisticRegression())
    model = FairLogisticRegression(criterion)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert model.criterion is criterion
    assert not hasattr(criterion.propensity, "coef_")


def test_a_fit_request_names_every_argument_of_the_rows(routing):
    request = asking(Parity()).get_metadata_routing().fit.requests
    assert request == {"sensitive_features": True, "sample_weight": True, "adjust_for": None}


def test_a_pipeline_routes_sensitive_features_and_weights(data, routing):
    assert_a_pipeline_routes_roles(asking(None), data)


def test_a_pipeline_without_a_request_refuses_sensitive_features(data, routing):
    pipeline = make_pipeline(StandardScaler(), FairLogisticRegression(Parity()))
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sensitive_features"):
        pipeline.fit(data.X, data.y, sensitive_features=data.z)


def test_grid_search_over_strength_routes_sensitive_features(data, routing):
    pipeline = make_pipeline(StandardScaler(), asking(Parity()))
    grid = {"fairlogisticregression__strength": [0.0, 0.5, 0.9]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise")
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert search.best_params_ == {"fairlogisticregression__strength": 0.0}
    assert len(set(search.cv_results_["mean_test_score"])) == 3


def test_grid_search_over_strength_routes_sensitive_features_to_fair_targets(data, routing):
    grid = {"strength": [0.0, 0.5, 1.0], "criterion__correction_degree": [None]}
    search = GridSearchCV(asking(fair_target()), grid, cv=2, error_score="raise")
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert search.best_estimator_.strength_ in grid["strength"]
    assert len(set(search.cv_results_["mean_test_score"])) == 3


def test_the_default_criterion_is_the_fair_target_at_full_strength(data):
    default = FairLogisticRegression().fit(data.X, data.y, sensitive_features=data.z)
    stated = FairLogisticRegression(FairTarget(), strength=1.0)
    stated.fit(data.X, data.y, sensitive_features=data.z)
    assert (default.criterion, default.strength, default.strength_) == (None, None, 1.0)
    np.testing.assert_array_equal(default.coef_, stated.coef_)
    assert default.statistics_ == {}


def test_a_penalty_is_at_nine_tenths_by_default(data):
    default, stated = (
        FairLogisticRegression(Parity(), strength).fit(data.X, data.y, sensitive_features=data.z)
        for strength in (None, 0.9)
    )
    assert default.strength_ == stated.strength_ == 0.9
    np.testing.assert_array_equal(default.coef_, stated.coef_)


def test_grid_search_over_the_criterion_compares_criteria(data, routing):
    grid = {"criterion": [Parity(), DirectEffect(propensity=LogisticRegression())]}
    search = GridSearchCV(asking(None).set_params(strength=0.9), grid, cv=2, error_score="raise")
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert isinstance(search.best_params_["criterion"], DirectEffect)


def test_cross_validate_cuts_sensitive_features_and_weights_with_the_rows(data, routing):
    weights = np.random.default_rng(1).integers(1, 3, len(data.y))
    model = asking(Parity()).set_score_request(sample_weight=False)
    assert_cross_validate_cuts_roles(model, data, sensitive_features=data.z, sample_weight=weights)


@pytest.mark.parametrize(
    "criterion", [Parity(), DirectEffect(propensity=LogisticRegression()), fair_target()], ids=repr
)
def test_a_pickled_model_gives_the_same_probabilities(data, criterion):
    model = FairLogisticRegression(criterion).fit(data.X, data.y, sensitive_features=data.z)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect(), None], ids=repr)
def test_a_fitted_model_holds_nothing_as_long_as_the_data(criterion):
    data = make_synthetic(5_000, random_state=2)
    model = FairLogisticRegression(criterion).fit(
        frame_of(data), data.y, sensitive_features=pd.Series(data.z, name="z")
    )
    assert size_of(model) < 5_000  # less than a byte a row
    assert max(np.size(value) for value in vars(model).values()) == data.X.shape[1]


def test_column_names_are_kept(data):
    model = FairLogisticRegression(Parity()).fit(frame_of(data), data.y, sensitive_features=data.z)
    assert model.feature_names_in_.tolist() == list(data.feature_names)
    assert model.n_features_in_ == 16


def test_renamed_columns_are_refused(data):
    assert_renamed_columns_are_refused(FairLogisticRegression(Parity()), data)


def test_reordered_columns_are_refused(data):
    assert_reordered_columns_are_refused(FairLogisticRegression(Parity()), data)


def test_an_array_has_no_column_names(data):
    model = FairLogisticRegression(Parity()).fit(data.X, data.y, sensitive_features=data.z)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 16


def test_a_refit_on_an_array_forgets_the_column_names(data):
    model = FairLogisticRegression(Parity()).fit(frame_of(data), data.y, sensitive_features=data.z)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert not hasattr(model, "feature_names_in_")


def test_lists_are_enough():
    data = make_synthetic(100, random_state=3)
    model = FairLogisticRegression(Parity(), l2=0.1)
    model.fit(data.X.tolist(), data.y.tolist(), sensitive_features=data.z.tolist())
    assert model.predict(data.X.tolist()).tolist() == model.predict(data.X).tolist()


def test_score_is_the_accuracy(data):
    model = FairLogisticRegression(Parity()).fit(data.X, data.y, sensitive_features=data.z)
    assert model.score(data.X, data.y) == np.mean(model.predict(data.X) == data.y)
