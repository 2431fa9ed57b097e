"""Monotone constraints hold in the saved models of every engine."""

import numpy as np
import pytest

from unsway import (
    FairLGBMClassifier,
    FairLinearRegressor,
    FairLogisticRegression,
    FairXGBClassifier,
    make_synthetic,
)
from unsway.models.folder import load_model, save_model

#: A rising and a falling column, and one that is free; the labels fall in the first.
SIGNS = [1, -1, 0]


@pytest.fixture(scope="module")
def data():
    people = make_synthetic(1_500, random_state=0)
    rng = np.random.default_rng(0)
    X = people.X[:, :3].copy()
    margin = -1.0 * X[:, 0] + np.sin(3 * X[:, 1]) - X[:, 1] + 0.5 * people.z + X[:, 2]
    return X, (rng.random(1_500) < 1 / (1 + np.exp(-margin))).astype(int), people.z


def steps(model, data, column):
    """Return the steps of the margin along a grid of one column, at rows of the data."""
    X = data[0][:40]
    grid = np.linspace(X[:, column].min() - 1, X[:, column].max() + 1, 60)
    margins = []
    for value in grid:
        moved = X.copy()
        moved[:, column] = value
        margins.append(model.decision_function(moved))
    return np.diff(np.array(margins), axis=0)


MODELS = {
    "xgboost": FairXGBClassifier(params={"eta": 0.3, "monotone_constraints": (1, -1, 0)}),
    "lightgbm": FairLGBMClassifier(params={"learning_rate": 0.3, "monotone_constraints": SIGNS}),
    "logistic": FairLogisticRegression(monotonic_cst=SIGNS),
}


@pytest.mark.parametrize("strength", [0, 1])
@pytest.mark.parametrize("engine", MODELS)
def test_a_saved_model_rises_and_falls_as_asked(engine, strength, data, tmp_path):
    X, y, z = data
    model = MODELS[engine].set_params(strength=strength).fit(X, y, sensitive_features=z)
    save_model(model, tmp_path / "model")
    saved = load_model(tmp_path / "model")
    assert steps(saved, data, 0).min() >= -1e-7
    assert steps(saved, data, 1).max() <= 1e-7
    assert np.ptp(saved.decision_function(X)) > 0.5


def test_without_constraints_the_columns_go_the_other_way(data):
    X, y, z = data
    model = FairLogisticRegression().fit(X, y, sensitive_features=z)
    assert model.coef_[0, 0] < 0


def test_signs_are_given_by_name(data):
    pandas = pytest.importorskip("pandas")
    X, y, z = data
    frame = pandas.DataFrame(X, columns=list("abc"))
    named = FairLogisticRegression(monotonic_cst={"a": 1, "b": -1})
    listed = FairLogisticRegression(monotonic_cst=SIGNS)
    one = named.fit(frame, y, sensitive_features=z)
    other = listed.fit(X, y, sensitive_features=z)
    assert one.coef_ == pytest.approx(other.coef_)
    assert one.coef_[0, 0] == 0


def test_signs_hold_along_a_path_and_under_a_penalty(data):
    from unsway import Parity

    X, y, z = data
    for criterion in (None, Parity()):
        model = FairLogisticRegression(criterion, monotonic_cst=SIGNS)
        for fitted in model.fit_path(X, y, [0, 0.5, 0.9], sensitive_features=z):
            assert fitted.coef_[0, 0] >= 0
            assert fitted.coef_[0, 1] <= 0


def test_the_sign_of_a_column_with_missing_numbers_is_kept(data):
    X, y, z = data
    X = X.copy()
    X[::5, 0] = np.nan
    model = FairLogisticRegression(monotonic_cst=SIGNS).fit(X, y, sensitive_features=z)
    assert model.coef_.shape == (1, 4)
    assert model.coef_[0, 0] >= 0


@pytest.mark.parametrize(
    ("signs", "message"),
    [([1, 0], "has 2 signs but X has 3"), ([2, 0, 0], "must be -1, 0 or 1"), ({"q": 1}, "'q'")],
)
def test_bad_signs_are_refused(data, signs, message):
    X, y, z = data
    with pytest.raises(ValueError, match=message):
        FairLogisticRegression(monotonic_cst=signs).fit(X, y, sensitive_features=z)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_linear_model_of_numbers_has_the_best_of_all_allowed_coefficients(data, loss):
    X, _, z = data
    rng = np.random.default_rng(1)
    y = rng.poisson(np.exp(-0.5 * X[:, 0] - 0.5 * X[:, 1])).astype(float)
    given = {"strength": 0, "loss": loss, "tol": 1e-9}
    model = FairLinearRegressor(monotonic_cst=SIGNS, **given).fit(X, y, sensitive_features=z)
    without = FairLinearRegressor(**given).fit(X[:, 1:], y, sensitive_features=z)
    assert model.coef_[0] == 0  # the labels fall in it, and it may not
    assert model.coef_[1:] == pytest.approx(without.coef_, abs=1e-6)
    fair = FairLinearRegressor(loss=loss, monotonic_cst=SIGNS).fit(X, y, sensitive_features=z)
    assert fair.coef_[0] >= 0 >= fair.coef_[1]
