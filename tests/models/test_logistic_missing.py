"""Missing numbers in a logistic regression: filled by medians and marked by indicators."""

import json
import warnings
from hashlib import sha256

import numpy as np
import pandas as pd
import polars as pl
import pytest
from contracts import assert_close
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from unsway import DirectEffect, FairLogisticRegression, FairTarget, Parity, make_synthetic
from unsway.models.card_check import with_checksum
from unsway.models.features import Feature, features_of_table, one_hot
from unsway.models.folder import load_model, save_model

WORLD = make_synthetic(1_500, random_state=0)
Y, Z = WORLD.y, WORLD.z
RNG = np.random.default_rng(0)
X = np.where(RNG.random((1_500, 3)) < [0.1, 0.2, 0.0], np.nan, WORLD.X[:, :3])
FRAME = pd.DataFrame(X, columns=["age", "pay", "debt"])


def fit(table=X, criterion=None, **settings):
    model = FairLogisticRegression(Parity() if criterion is None else criterion, **settings)
    return model.fit(table, Y, sensitive_features=Z)


def imputed(table=X):
    return SimpleImputer(strategy="median", add_indicator=True).fit_transform(table)


def test_the_model_is_that_of_a_table_filled_and_marked_first():
    model, other = fit(), fit(imputed())
    assert model.coef_.shape == (1, 5)
    assert_close(model.coef_, other.coef_, 1e-9)
    assert_close(model.predict_proba(X), other.predict_proba(imputed()), 1e-9)


def test_without_a_penalty_it_is_scikit_learns_pipeline():
    steps = SimpleImputer(strategy="median", add_indicator=True), LogisticRegression(C=np.inf)
    expected = make_pipeline(*steps).set_params(logisticregression__tol=1e-10).fit(X, Y)
    assert_close(fit(strength=0.0).predict_proba(X), expected.predict_proba(X), 1e-5)


@pytest.mark.parametrize("table", [FRAME, pl.from_pandas(FRAME, nan_to_null=True)])
def test_columns_have_names(table):
    model = fit(table)
    names = ["age", "pay", "debt", "missingindicator_age", "missingindicator_pay"]
    assert model.column_names_.tolist() == names
    assert fit().column_names_[-1] == "missingindicator_column 1"
    assert_close(model.predict_proba(table), fit().predict_proba(X), 1e-12)


def test_a_table_without_missing_values_has_no_imputer():
    model = fit(X[:, 2:])
    assert model.imputer_ is None
    assert model.column_names_.tolist() == ["column 0"]
    assert model.coef_.shape == (1, 1)


@pytest.mark.parametrize("criterion", [FairTarget(), DirectEffect(max_extreme_share=1)])
def test_criteria_see_the_table_as_it_is(criterion):
    table = np.column_stack([WORLD.X, X])
    model = fit(table, criterion)
    assert model.coef_.shape == (1, table.shape[1] + 2)
    assert np.isfinite(model.predict_proba(table)).all()


def test_a_column_that_is_always_missing_has_no_part():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(np.column_stack([X, np.full(1_500, np.nan)]))
    found = model.predict_proba(np.column_stack([X[:5], np.full(5, np.nan)]))
    assert_close(found, fit().predict_proba(X[:5]), 1e-6)


def test_a_value_that_was_never_missing_in_its_column_is_filled():
    hole, filled = X[:4].copy(), X[:4].copy()
    hole[:, 2], filled[:, 2] = np.nan, np.median(X[:, 2])
    model = fit()
    assert_close(model.predict_proba(hole), model.predict_proba(filled), 1e-12)


def test_a_model_of_a_table_without_missing_values_refuses_them_by_column():
    model = fit(FRAME[["debt"]])
    with pytest.raises(ValueError, match=r"X contains NaN: 'debt' has 2 missing values, and no"):
        model.predict(pd.DataFrame({"debt": [1.0, np.nan, np.nan]}))


def test_a_path_of_strengths_gives_the_models_of_independent_fits():
    models = list(FairLogisticRegression(Parity()).fit_path(X, Y, [0.0, 0.5], sensitive_features=Z))
    for model in models:
        assert_close(model.coef_, fit(strength=model.strength).coef_, 1e-3)


def test_a_warm_start_from_fewer_indicators_is_refused():
    model = fit(X[:, 1:], warm_start=True)
    with pytest.raises(ValueError, match="the previous fit had 3 columns but X has 2"):
        model.fit(np.nan_to_num(X[:, 1:]), Y, sensitive_features=Z)


# --- the folder ----------------------------------------------------------------------------------


def test_a_model_read_back_gives_the_same_probabilities(tmp_path):
    model = fit(FRAME)
    path = save_model(model, tmp_path / "model")
    loaded = load_model(path)
    hole = FRAME.assign(debt=np.nan)
    for table in (FRAME, hole):
        assert_close(loaded.predict_proba(table), model.predict_proba(table), 1e-12)


def test_the_file_is_enough_to_score_without_unsway(tmp_path):
    model = fit(FRAME)
    path = save_model(model, tmp_path / "model")
    stored = json.loads((path / "model.json").read_text("utf-8"))
    margin = np.full(1_500, stored["intercept"])
    for each in stored["coefficients"]:
        values = FRAME[each["feature"]]
        if each["level"] == "(missing)":
            margin += each["weight"] * values.isna()
        else:
            margin += each["weight"] * values.fillna(stored["fill"][each["feature"]])
    assert_close(margin, model.decision_function(FRAME), 1e-12)


def test_missing_numbers_and_missing_categories_are_kept_apart(tmp_path):
    table = FRAME.assign(job=RNG.choice(["clerk", "cook", None], 1_500))
    features = features_of_table(table)
    matrix, _ = one_hot(table, features, keep_missing=True)
    model = fit(matrix)
    loaded = load_model(save_model(model, tmp_path / "model", features=features))
    assert loaded.marked == ("age", "pay")
    assert_close(loaded.predict_proba(table), model.predict_proba(matrix), 1e-12)


def seal(path, content):
    """Write the size and the checksum of a model's file into its card."""
    card = json.loads((path / "card.json").read_text("utf-8"))
    entry = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    card["files"]["model.json"] = entry
    (path / "card.json").write_text(json.dumps(with_checksum(card)), "utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored["fill"].update(wat=1.0), "fills in missing numbers of a column"),
        (lambda stored: stored["fill"].update(age="x"), "'fill' does not hold a number"),
        (lambda stored: stored.update(fill=[1.0]), "'fill' does not hold a number"),
        (lambda stored: stored["fill"].pop("pay"), "make 4 columns and the model has 5"),
        (lambda stored: stored.pop("fill"), "make 3 columns and the model has 5"),
    ],
)
def test_a_file_that_was_changed_is_refused(change, message, tmp_path):
    path = save_model(fit(FRAME), tmp_path / "model")
    stored = json.loads((path / "model.json").read_text("utf-8"))
    change(stored)
    content = json.dumps(stored).encode()
    (path / "model.json").write_bytes(content)
    seal(path, content)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_features_that_are_not_those_of_the_model_are_refused(tmp_path):
    features = [Feature("a", "number"), Feature("b", "number")]
    with pytest.raises(ValueError, match="the features make 2 columns; the model has 5"):
        save_model(fit(FRAME), tmp_path / "model", features=features)
