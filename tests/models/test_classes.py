"""Labels of more than two classes: every estimator that takes them, against a known truth."""

from importlib.util import find_spec

import numpy as np
import pytest
from contracts import assert_close, fair_target
from sklearn.linear_model import LogisticRegression

import unsway
from unsway import (
    DirectEffect,
    EqualOpportunity,
    Parity,
    Schedule,
)

N = 4_000
rng = np.random.default_rng(0)
Z = rng.integers(0, 2, N)
X = rng.normal(size=(N, 3)) + np.outer(Z, [0.0, 1.6, 0.0])
NAMES = np.array(["high", "low", "none"])
QUICK = Schedule(max_steps=60)


def shares(X, z):
    margin = np.column_stack(
        [0.6 * X[:, 0] - 0.9 * z, 0.5 * X[:, 1] - 0.4 * X[:, 2] + 0.6 * z, 0 * X[:, 0]]
    )
    powers = np.exp(margin)
    return powers / powers.sum(axis=1, keepdims=True)


FAIR = (shares(X, 0) + shares(X, 1)) / 2
Y = NAMES[(rng.random(N)[:, None] > shares(X, Z).cumsum(axis=1)).sum(axis=1)]

#: Estimator → the package that it needs, and settings that make it quick.
MODELS = {
    "FairXGBClassifier": ("xgboost", {"n_jobs": 1, "schedule": QUICK}),
    "FairLGBMClassifier": ("lightgbm", {"n_jobs": 1, "schedule": QUICK}),
    "FairLogisticRegression": ("numpy", {}),
    "FairTorchClassifier": ("torch", {"learning_rate": 0.01, "schedule": Schedule(patience=3)}),
}
BOOSTERS = ("FairXGBClassifier", "FairLGBMClassifier")


def needs(name):
    return pytest.mark.skipif(find_spec(MODELS[name][0]) is None, reason="not installed")


each_model = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(name)) for name in MODELS]
)
each_booster = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(name)) for name in BOOSTERS]
)


def model_of(name, criterion=None, strength=None, **settings):
    criterion = fair_target(cv=2) if criterion is None else criterion
    return getattr(unsway, name)(criterion, strength, **{**MODELS[name][1], **settings})


def fit(name, X=X, y=Y, z=Z, criterion=None, strength=None, **others):
    roles = {key: others.pop(key) for key in ("sample_weight", "eval_set") if key in others}
    model = model_of(name, criterion, strength, **others)
    return model.fit(X, y, sensitive_features=z, **roles)


def left(p):
    """Return the direct effect left of each class."""
    error = p - FAIR
    return error[Z == 1].mean(axis=0) - error[Z == 0].mean(axis=0)


@each_model
def test_fair_shares_are_closer_to_the_truth_than_a_blind_models(name):
    fair, blind = (fit(name, strength=strength).predict_proba(X) for strength in (1.0, 0.0))
    assert fair.shape == (N, 3)
    np.testing.assert_allclose(fair.sum(axis=1), 1, atol=1e-6)
    assert abs(left(blind)).max() > 0.025
    assert abs(left(fair)).max() < 0.5 * abs(left(blind)).max()
    assert np.mean((fair - FAIR) ** 2) < np.mean((blind - FAIR) ** 2)


@each_model
def test_the_classes_are_sorted_and_the_likeliest_is_predicted(name):
    model = fit(name)
    assert model.classes_.tolist() == ["high", "low", "none"]
    expected = NAMES[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.decision_function(X).shape == (N, 3)


@each_model
@pytest.mark.parametrize("criterion", [Parity(), DirectEffect(), EqualOpportunity()])
def test_penalties_are_refused_and_the_fair_target_is_named(name, criterion):
    message = rf"{type(criterion).__name__} is a penalty, which needs two .*FairTarget\(\)"
    with pytest.raises(ValueError, match=message):
        fit(name, criterion=criterion, strength=0.5)


@each_model
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(N), "y has 4000 classes, more than 100; .*regressor"),
        (np.where((Y == "low") & (Z == 1), "none", Y), "class 'low' has 0 rows in the sensitive"),
        (X[:, 0], "Unknown label type: continuous"),
        (["a"] * N, "y has a single class, 'a'"),
    ],
    ids=["too many", "a class missing in a level", "continuous", "one"],
)
def test_bad_labels_are_refused(name, y, message):
    with pytest.raises(ValueError, match=message):
        fit(name, y=y)


@each_booster
def test_rows_to_stop_by_must_have_each_class(name):
    some = Y != "low"
    with pytest.raises(ValueError, match="eval_set has no row of the label 'low'"):
        fit(name, eval_set=(X[some], Y[some], Z[some]))


@each_booster
def test_a_class_with_a_single_row_cannot_be_held_out(name):
    y = Y.copy()
    y[0] = "rare"
    with pytest.raises(ValueError, match=r"has no row of class 'rare'|no rows? .*'rare'"):
        fit(name, y=y, strength=0.0)


@each_booster
def test_a_device_is_refused_before_any_work(name):
    if name == "FairXGBClassifier":
        pytest.importorskip("xgboost")
        from unsway.models.labels import check_classes_here

        with pytest.raises(ValueError, match="several classes are trained on the CPU"):
            check_classes_here(model_of(name, params={"device": "cuda"}))


@each_booster
def test_held_out_losses_fall_and_both_are_recorded(name):
    validation = fit(name).evals_result_["validation"]
    assert set(validation) == {"log_loss", "fair_log_loss"}
    assert validation["fair_log_loss"][-1] < validation["fair_log_loss"][0] < np.log(3)


@each_booster
def test_fit_path_yields_the_models_of_fit(name):
    models = list(model_of(name).fit_path(X, Y, [0.5, 1.0], sensitive_features=Z))
    for model in models:
        alone = fit(name, strength=model.strength_)
        np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_at_strength_0_xgboost_is_its_own_objective():
    xgboost = pytest.importorskip("xgboost")
    codes = np.searchsorted(NAMES, Y)
    params = {"max_depth": 3, "eta": 0.3}
    model = fit(
        "FairXGBClassifier", strength=0.0, params=params, eval_set=(X, Y, Z),
        schedule=Schedule(max_steps=5),
    )  # fmt: skip
    own = {"objective": "multi:softprob", "num_class": 3, "base_score": 0.0, "nthread": 1, **params}
    rows = xgboost.QuantileDMatrix(X.astype(np.float32), codes)
    theirs = xgboost.train(own, rows, model.best_iteration_)
    expected = theirs.predict(xgboost.DMatrix(X.astype(np.float32)))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
    served = model.booster_.predict(xgboost.DMatrix(X.astype(np.float32)))
    np.testing.assert_allclose(served, model.predict_proba(X), atol=1e-6)


def test_at_strength_0_lightgbm_is_its_own_objective():
    lightgbm = pytest.importorskip("lightgbm")
    params = {"num_leaves": 8, "learning_rate": 0.3}
    model = fit(
        "FairLGBMClassifier", strength=0.0, params=params, eval_set=(X, Y, Z),
        schedule=Schedule(max_steps=5),
    )  # fmt: skip
    own = {
        "objective": "multiclass", "num_class": 3, "boost_from_average": False, "verbosity": -1,
        "num_threads": 1, "deterministic": True, **params,
    }  # fmt: skip
    rows = lightgbm.Dataset(X.astype(np.float32), np.searchsorted(NAMES, Y))
    theirs = lightgbm.train(own, rows, model.best_iteration_)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict(X), atol=2e-5)
    np.testing.assert_allclose(model.booster_.predict(X), model.predict_proba(X), atol=1e-12)


def test_at_strength_0_the_regression_is_scikit_learns():
    theirs = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000).fit(X, Y)
    ours = fit("FairLogisticRegression", strength=0.0, tol=1e-9)
    assert_close(ours.coef_, theirs.coef_, 1e-5)
    assert_close(ours.predict_proba(X), theirs.predict_proba(X), 1e-6)


def test_a_warm_start_needs_the_same_classes():
    model = fit("FairLogisticRegression", warm_start=True, l2=0.01)
    model.fit(X, Y, sensitive_features=Z)
    assert model.n_iter_[0] == 0
    with pytest.raises(ValueError, match="classes or columns differ"):
        model.fit(X, np.where(X[:, 0] > 1, "more", Y), sensitive_features=Z)


def test_weights_are_rows_given_again():
    weights = 1.0 + (np.arange(N) % 2)
    twice = np.repeat(np.arange(N), weights.astype(int))
    options = {"criterion": fair_target(cv=1), "tol": 1e-9}
    ours = fit("FairLogisticRegression", sample_weight=weights, **options)
    theirs = fit("FairLogisticRegression", X=X[twice], y=Y[twice], z=Z[twice], **options)
    assert_close(ours.coef_, theirs.coef_, 1e-3)


@each_model
def test_the_order_of_the_rows_is_without_effect(name):
    order = rng.permutation(N)
    ours, theirs = fit(name), fit(name, X=X[order], y=Y[order], z=Z[order])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
