"""Boosted regressors are the engine's own at strength 0, fair at 1, and ordinary models after."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from amounts import LOG_LINK, LOSSES, POWERS, each_log_link, each_loss, people
from contracts import ENGINES, each_engine
from scikit_learn_contract import CHECKED_NUMBERS, MakesUpSensitive, StopsOnTrainingRows, checks_of

import unsway
from unsway import FairLGBMRegressor, FairTarget, FairXGBRegressor, Parity, Schedule
from unsway.effects import nuisance

SHORT = Schedule(max_steps=30)
XGBOOST_NAMES = {
    "squared_error": "reg:squarederror",
    "poisson": "count:poisson",
    "gamma": "reg:gamma",
    "tweedie": "reg:tweedie",
}
LIGHTGBM_NAMES = {**{name: name for name in LOSSES}, "squared_error": "regression"}


def regressor(engine, **options):
    kind = {"xgboost": "FairXGBRegressor", "lightgbm": "FairLGBMRegressor"}[engine.name]
    return getattr(unsway, kind)(**{"n_jobs": 1, "schedule": SHORT, **options})


class XGBWithSensitive(MakesUpSensitive, StopsOnTrainingRows, FairXGBRegressor):
    pass


class LGBMWithSensitive(MakesUpSensitive, StopsOnTrainingRows, FairLGBMRegressor):
    pass


WITH_SENSITIVE = {"xgboost": XGBWithSensitive, "lightgbm": LGBMWithSensitive}
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
FAILURES = {
    "xgboost": {WEIGHTS: "margins are float32: they agree to 1.2e-7, the check asks for 1e-7"},
    "lightgbm": {WEIGHTS: "LightGBM counts rows in a leaf without their weights"},
}


def checks():
    for engine, loss in product(filter(find_spec, ENGINES), ("squared_error", "poisson")):
        options = {"n_jobs": 1, "schedule": Schedule(max_steps=40)}
        model = WITH_SENSITIVE[engine](
            CHECKED_NUMBERS, loss=loss, params=ENGINES[engine].fine, **options
        )
        yield from checks_of(
            model, f"{engine}-{loss}-", failures=FAILURES[engine], strict=engine != "xgboost"
        )


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_the_estimator_passes_scikit_learns_check(estimator, check, monkeypatch):
    monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
    check(estimator)


def trained_by_itself(engine, loss, X, y, weights, rounds):
    """Return the predictions of a model that the library trains by its own objective."""
    if engine.name == "xgboost":
        import xgboost

        params = {"objective": XGBOOST_NAMES[loss], "eta": 0.1, "max_depth": 3, "nthread": 1}
        if loss == "poisson" and xgboost.__version__.startswith("2."):  # it starts at exp(mean − 1)
            params["base_score"] = float(np.average(y, weights=weights))
        rows = xgboost.QuantileDMatrix(X, y, weight=weights, nthread=1)
        return xgboost.train(params, rows, rounds).predict(xgboost.DMatrix(X))
    import lightgbm

    params = {"objective": LIGHTGBM_NAMES[loss], "learning_rate": 0.1, "num_leaves": 8}
    params |= {"verbosity": -1, "num_threads": 1, "deterministic": True}
    return lightgbm.train(params, lightgbm.Dataset(X, y, weight=weights), rounds).predict(X)


@each_engine
@each_loss
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_at_strength_0_it_is_the_engines_own_objective_on_y_as_given(engine, loss, unit):
    X, y, z, exposure = people(loss, unit=unit)
    ours = regressor(engine, strength=0, loss=loss)
    ours.fit(X, y, sensitive_features=z, exposure=exposure, eval_set=(X, y, z, None, exposure))
    theirs = trained_by_itself(engine, loss, X, y / exposure, exposure, ours.best_iteration_)
    np.testing.assert_allclose(ours.predict(X), theirs, rtol=2e-5)


def served(engine, booster, X, path):
    """Return what a saved model predicts in the library alone, and its objective's name."""
    if engine.name == "xgboost":
        import json

        import xgboost

        booster.save_model(path / "model.json")
        again = xgboost.Booster(model_file=path / "model.json")
        objective = json.loads(again.save_config())["learner"]["objective"]["name"]
        return again.predict(xgboost.DMatrix(X)), objective
    import lightgbm

    booster.save_model(path / "model.txt")
    again = lightgbm.Booster(model_file=path / "model.txt")
    text = again.model_to_string()
    return again.predict(X), text.partition("\nobjective=")[2].partition("\n")[0]


@each_engine
@each_loss
@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("rebalance", [False, True])
def test_the_saved_model_predicts_rates_without_this_library(
    engine, loss, strength, rebalance, tmp_path
):
    X, y, z, exposure = people(loss, unit=50)
    model = regressor(engine, strength=strength, loss=loss, rebalance=rebalance)
    model.fit(X, y, sensitive_features=z, exposure=exposure)
    rates, objective = served(engine, model.booster_, X, tmp_path)
    np.testing.assert_allclose(model.predict(X), rates, rtol=1e-5)
    names = XGBOOST_NAMES if engine.name == "xgboost" else LIGHTGBM_NAMES
    assert objective == names[loss]
    if rebalance:
        np.testing.assert_allclose(rates @ exposure, y.sum(), rtol=1e-5)


@each_engine
@each_log_link
def test_the_total_is_kept_by_default(engine, loss):
    X, y, z, exposure = people(loss)
    model = regressor(engine, loss=loss).fit(X, y, sensitive_features=z, exposure=exposure)
    np.testing.assert_allclose(model.predict(X, exposure=exposure).sum(), y.sum(), rtol=1e-5)
    assert 0.5 < model.balance_ < 2
    plain = regressor(engine, loss=loss, strength=0)
    assert plain.fit(X, y, sensitive_features=z).balance_ is None


@each_engine
@each_loss
def test_an_exposure_is_a_weight_of_rates(engine, loss):
    X, y, z, exposure = people(loss, n=2_000)
    ours, other = (regressor(engine, loss=loss) for _ in range(2))
    ours.fit(X, y, sensitive_features=z, exposure=exposure)
    other.fit(X, y / exposure, sensitive_features=z, sample_weight=exposure)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=1e-6)
    assert ours.score(X, y, exposure=exposure) == pytest.approx(
        other.score(X, y / exposure, sample_weight=exposure), rel=1e-6
    )


@each_engine
@each_loss
def test_the_unit_of_y_changes_the_unit_of_the_predictions_and_nothing_else(engine, loss):
    X, y, z, exposure = people(loss)
    regularised = {
        "xgboost": {"eta": 0.1, "max_depth": 3, "gamma": 0.5, "alpha": 0.5},
        "lightgbm": {"num_leaves": 8, "min_gain_to_split": 0.5, "lambda_l1": 0.5},
    }[engine.name]
    one, many = (
        regressor(engine, loss=loss, params=regularised).fit(
            X, unit * y, sensitive_features=z, exposure=exposure
        )
        for unit in (1.0, 1024.0)
    )
    np.testing.assert_allclose(many.predict(X), 1024 * one.predict(X), rtol=1e-3)


@each_engine
@each_log_link
def test_it_comes_closer_to_the_fair_score_than_the_plain_model(engine, loss):
    X, y, z, exposure = people(loss, n=20_000)
    fair = np.exp(X @ [0.4, -0.3]) * (1 + np.exp(0.4)) / 2
    gaps = []
    for strength in (0.0, 1.0):
        model = regressor(engine, strength=strength, loss=loss, rebalance=False, schedule=None)
        score = model.fit(X, y, sensitive_features=z, exposure=exposure).predict(X)
        error = score - fair
        gaps.append(abs(error[z == 1].mean() - error[z == 0].mean()))
    assert gaps[1] < 0.6 * gaps[0]


@each_engine
def test_a_penalty_on_numbers_brings_the_groups_closer(engine):
    X, y, z, _ = people("squared_error")
    gaps = []
    for strength in (0.0, 0.9):
        model = regressor(engine, criterion=Parity(), strength=strength, schedule=None)
        scores = model.fit(X, y, sensitive_features=z).predict(X)
        gaps.append(scores[z == 1].mean() - scores[z == 0].mean())
    assert gaps[1] < 0.3 * gaps[0]


@each_engine
def test_losses_on_held_out_rows_go_by_their_names(engine):
    X, y, z, _ = people("poisson", n=1_000)
    model = regressor(engine, loss="poisson").fit(X, y, sensitive_features=z)
    assert list(model.evals_result_["validation"]) == ["poisson", "fair_poisson"]
    plain = regressor(engine, loss="poisson", strength=0).fit(X, y, sensitive_features=z)
    assert list(plain.evals_result_["validation"]) == ["poisson"]


@each_engine
def test_shares_of_columns_in_the_gain_sum_to_1(engine):
    X, y, z, _ = people("gamma", n=1_000)
    model = regressor(engine, loss="gamma").fit(X, y, sensitive_features=z)
    assert model.feature_importances_.sum() == pytest.approx(1)


@each_engine
def test_missing_values_and_text_are_taken_as_they_are(engine):
    pandas = pytest.importorskip("pandas")
    X, y, z, _ = people("poisson", n=1_000)
    table = pandas.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
    table.loc[::7, "a"] = np.nan
    model = regressor(engine, loss="poisson").fit(table, y, sensitive_features=z)
    assert (model.predict(table) > 0).all()


@each_engine
@pytest.mark.parametrize("loss", LOG_LINK)
def test_targets_below_0_take_no_more_trees_than_twice_those_of_y(engine, loss):
    X, y, z, exposure = people(loss)
    rounds = []
    for strength in (0.0, 1.0):
        criterion = FairTarget(smoothing=0.0, multiplicative=False)
        model = regressor(engine, criterion=criterion, strength=strength, loss=loss, schedule=None)
        model.fit(X, y, sensitive_features=z, exposure=exposure)
        rounds.append(model.n_rounds_)
    assert rounds[1] < 2 * rounds[0] + 50


@each_engine
def test_the_score_is_scikit_learns(engine):
    from sklearn.metrics import d2_tweedie_score

    for loss in LOSSES:
        X, y, z, _ = people(loss, n=1_000)
        model = regressor(engine, loss=loss).fit(X, y, sensitive_features=z)
        expected = d2_tweedie_score(y, model.predict(X), power=POWERS[loss])
        assert model.score(X, y) == pytest.approx(expected)


@each_engine
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "huber"}, "unknown loss 'huber'"),
        ({"loss": "poisson", "criterion": Parity()}, "Parity is a penalty, which is not available"),
        ({"params": {"objective": "count:poisson"}}, "'objective'.* is not yours to set"),
        ({"params": {"device": "cuda"}}, "lightgbm trains numbers on cpu|(?i:cuda)"),
    ],
)
def test_settings_that_cannot_serve_are_refused(engine, options, message):
    X, y, z, _ = people("gamma", n=200)
    with pytest.raises((ValueError, RuntimeError, ImportError), match=message):
        regressor(engine, **options).fit(X, y, sensitive_features=z)


@each_engine
@pytest.mark.parametrize(
    ("y", "loss", "message"),
    [(-1.0, "poisson", "negative"), (0.0, "gamma", "zero"), (np.inf, "squared_error", "infinite")],
)
def test_values_that_the_loss_is_not_meant_for_are_refused(engine, y, loss, message):
    X, amounts, z, _ = people("gamma", n=200)
    amounts[3] = y
    with pytest.raises(ValueError, match=message):
        regressor(engine, loss=loss).fit(X, amounts, sensitive_features=z)


@each_engine
def test_rows_to_stop_by_may_have_an_exposure(engine):
    X, y, z, exposure = people("poisson", n=1_000)
    model = regressor(engine, loss="poisson")
    rows = (X, y, z, None, exposure)
    model.fit(X, y, sensitive_features=z, exposure=exposure, eval_set=rows)
    with pytest.raises(TypeError, match="sample_weight as an optional fourth and exposure as an"):
        model.fit(X, y, sensitive_features=z, eval_set=(X, y))
    with pytest.raises(ValueError, match="in eval_set: exposure has 1000 values that are zero"):
        model.fit(X, y, sensitive_features=z, eval_set=(X, y, z, None, -exposure))
