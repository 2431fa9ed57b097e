"""At strength 0 nothing is estimated that a model would not use."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from contracts import rows_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from unsway import (
    DirectEffect,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    FairXGBClassifier,
    Parity,
    Schedule,
)
from unsway.folds import hold_out
from unsway.models.card import markdown_card

QUICK = {"n_jobs": 1, "schedule": Schedule(max_steps=15)}
needs_xgboost = pytest.mark.skipif(
    importlib.util.find_spec("xgboost") is None, reason="xgboost is not installed"
)


class Untouched(ClassifierMixin, BaseEstimator):
    """A model that must not be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a nuisance model was fitted")

    def predict_proba(self, X):
        raise AssertionError("a nuisance model was asked")


def criteria(model):
    return {
        "fair target": FairTarget(outcome_model=model, propensity_model=model),
        "direct effect": DirectEffect(propensity=model),
    }


def torch_classifier(criterion, strength):
    from unsway.models.torch import FairTorchClassifier

    return FairTorchClassifier(criterion, strength, schedule=Schedule(max_steps=3))


ESTIMATORS = {
    "logistic": FairLogisticRegression,
    "xgboost": lambda criterion, strength: FairXGBClassifier(criterion, strength, **QUICK),
    "lightgbm": lambda criterion, strength: FairLGBMClassifier(criterion, strength, **QUICK),
    "torch": torch_classifier,
}


def each_of(names):
    """Return the estimators as a parameter, skipped with their reason if not installed."""
    return pytest.mark.parametrize(
        "estimator",
        [
            pytest.param(
                ESTIMATORS[name],
                id=name,
                marks=pytest.mark.skipif(
                    name != "logistic" and importlib.util.find_spec(name) is None,
                    reason=f"{name} is not installed",
                ),
            )
            for name in names
        ],
    )


each_estimator = each_of(ESTIMATORS)
each_estimator_with_a_path = each_of(["logistic", "xgboost", "lightgbm"])
each_criterion = pytest.mark.parametrize("name", ["fair target", "direct effect"])


def people(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 0.5 * z[:, None]
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X.sum(axis=1) - z))).astype(int)
    return X, y, z


@each_estimator
@each_criterion
def test_no_nuisance_is_fitted_and_the_model_is_the_same(estimator, name):
    X, y, z = people()
    fitted = criteria(LogisticRegression())[name].fit(rows_of(X, y, z))
    spared, whole = (
        estimator(criterion, 0.0).fit(X, y, sensitive_features=z)
        for criterion in (criteria(Untouched())[name], fitted)
    )
    # XGBoost's own objective, which the spared one has, is in float32 throughout
    apart = 1e-6 if estimator is ESTIMATORS["xgboost"] else 0
    assert spared.predict_proba(X) == pytest.approx(whole.predict_proba(X), rel=apart, abs=0)


@each_criterion
@each_estimator
def test_any_other_strength_fits_them(estimator, name):
    X, y, z = people()
    with pytest.raises(AssertionError, match="was fitted"):
        estimator(criteria(Untouched())[name], 0.5).fit(X, y, sensitive_features=z)


@needs_xgboost
def test_the_trees_are_those_of_xgboosts_own_objective():
    import xgboost

    X, y, z = people()
    model = FairXGBClassifier(FairTarget(), 0.0, **QUICK).fit(X, y, sensitive_features=z)
    held = hold_out(X, y + 2.0 * z, model.validation_fraction)
    rows = xgboost.QuantileDMatrix(X[~held], y[~held])
    params = {"objective": "binary:logistic", "base_score": 0.5, **model.params_}
    plain = xgboost.train(params, rows, model.best_iteration_)
    margin = plain.predict(xgboost.DMatrix(X), output_margin=True)
    assert np.array_equal(model.decision_function(X), margin)


def test_any_classifier_is_spared_too():
    X, y, z = people()
    spared, plain = (
        FairTargetClassifier(LogisticRegression(), criterion=criterion, strength=0.0)
        for criterion in (
            criteria(Untouched())["fair target"],
            FairTarget().fit(rows_of(X, y, z)),
        )
    )
    spared, plain = (model.fit(X, y, sensitive_features=z) for model in (spared, plain))
    assert np.array_equal(spared.predict_proba(X), plain.predict_proba(X))
    assert spared.stretch_ == 0


@needs_xgboost
@each_criterion
def test_the_history_holds_the_log_loss_alone(name):
    X, y, z = people()
    model = ESTIMATORS["xgboost"](criteria(Untouched())[name], 0.0)
    model.fit(X, y, sensitive_features=z)
    assert {rows: list(found) for rows, found in model.evals_result_.items()} == {
        "validation": ["log_loss"]
    }
    assert len(model.evals_result_["validation"]["log_loss"]) == model.n_rounds_


def test_a_logistic_regression_knows_no_penalty():
    X, y, z = people()
    model = FairLogisticRegression(criteria(Untouched())["direct effect"], 0.0)
    model.fit(X, y, sensitive_features=z)
    assert np.isnan(model.penalty_)
    assert model.statistics_ == {}


@each_estimator_with_a_path
def test_a_path_through_strength_0_still_reports_the_penalty_there(estimator):
    model = estimator(criteria(LogisticRegression())["direct effect"], 0.0)
    X, y, z = people()
    first = next(iter(model.fit_path(X, y, [0.0, 0.5], sensitive_features=z)))
    if isinstance(model, FairLogisticRegression):
        assert first.penalty_ > 0
    else:
        assert first.evals_result_["validation"]["penalty"][-1] > 0


def test_a_group_criterion_which_fits_nothing_is_reported_at_strength_0():
    X, y, z = people()
    model = FairLogisticRegression(Parity(), 0.0).fit(X, y, sensitive_features=z)
    assert model.penalty_ > 0


def test_bad_settings_of_a_criterion_are_refused_at_strength_0():
    X, y, z = people()
    with pytest.raises(ValueError, match="correction_degree"):
        FairLogisticRegression(FairTarget(correction_degree=-1), 0.0).fit(
            X, y, sensitive_features=z
        )


@needs_xgboost
@each_criterion
def test_files_and_workers_are_spared_too(name, tmp_path):
    pytest.importorskip("pyarrow")
    from unsway.distributed import Part, fit_here

    X, y, z = people()
    table = pd.DataFrame(X, columns=list("abc"))
    table.assign(y=y, z=z).to_parquet(tmp_path / "people.parquet")
    model = ESTIMATORS["xgboost"](criteria(Untouched())[name], 0.0)
    model.fit_parquet(tmp_path / "people.parquet", target="y", sensitive="z", criterion_rows=100)
    assert list(model.evals_result_["validation"]) == ["log_loss"]
    spread = fit_here(model, Part(table, y, z))
    assert list(spread.evals_result_["validation"]) == ["log_loss"]


def test_the_card_of_strength_0_claims_no_removal():
    text = markdown_card({"engine": "logistic", "strength": 0.0})
    assert (
        "at strength 0 nothing of what a sensitive attribute does to its scores is removed" in text
    )
    assert "is removed. It" in markdown_card({"engine": "logistic", "strength": 0.5})
    assert "direct effect of a sensitive attribute" not in text
