"""Columns from before the sensitive attribute inform the criterion and never the model."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

import unsway
from unsway import DirectEffectCorrector, FairLogisticRegression, FairTarget, Parity, Rows
from unsway.models.folder import save_model

N = 6_000


class World:
    """A cause of z and y from before both, which a model may not use."""

    def __init__(self, seed=0):
        rng = np.random.default_rng([seed, 31])
        cause = rng.normal(size=N)
        self.z = (rng.random(N) < expit(1.5 * cause)).astype(int)
        self.X = pd.DataFrame(rng.normal(size=(N, 2)), columns=["skill", "noise"])
        self.beside = pd.DataFrame({"region": cause, "town": np.where(cause > 0, "a", "b")})
        self.y = (rng.random(N) < expit(self.X["skill"] + 1.2 * cause)).astype(int)


@pytest.fixture(scope="module")
def world():
    return World()


def fit(model, world, **given):
    return model.fit(world.X, world.y, sensitive_features=world.z, **given)


def targets(world, adjust_for):
    """Return the shift of fair targets at full strength: what the criterion takes out."""
    criterion = FairTarget(
        propensity_model=LogisticRegression(), outcome_model=LogisticRegression()
    )
    beside = None if adjust_for is None else adjust_for[["region"]]
    rows = Rows.check(world.X, world.y, sensitive_features=world.z, adjust_for=beside)
    objective = criterion.fit(rows.adjusted()).objective(rows)
    return objective.at(1.0).shifted_target() - rows.y


def test_what_a_common_cause_does_is_no_direct_effect_once_it_is_adjusted_for(world):
    """z itself does nothing to y: without the cause its effect is taken for that of z."""
    without, with_it = (np.abs(targets(world, each)).mean() for each in (None, world.beside))
    assert without > 0.1
    assert with_it < 0.02


ENGINES = {
    "FairLogisticRegression": None,
    "FairXGBClassifier": "xgboost",
    "FairLGBMClassifier": "lightgbm",
    "FairTargetClassifier": None,
}


@pytest.mark.parametrize("name", ENGINES)
def test_the_model_neither_sees_nor_needs_the_columns(world, name):
    if ENGINES[name]:
        pytest.importorskip(ENGINES[name])
    plain, adjusted = (
        fit(getattr(unsway, name)(), world, adjust_for=each) for each in (None, world.beside)
    )
    assert adjusted.n_features_in_ == 2
    assert adjusted.adjusted_for_ == ("region", "town")
    assert plain.adjusted_for_ == ()
    changed = adjusted.predict_proba(world.X)[:, 1] - plain.predict_proba(world.X)[:, 1]
    assert np.abs(changed).max() > 1e-3


@pytest.mark.parametrize("name", ["FairLinearRegressor", "FairXGBRegressor", "FairTargetRegressor"])
def test_numbers_are_adjusted_too(world, name):
    if "XGB" in name:
        pytest.importorskip("xgboost")
    y = world.X["skill"] + 1.2 * world.beside["region"]
    model = getattr(unsway, name)()
    plain = model.fit(world.X, y, sensitive_features=world.z).predict(world.X)
    given = {"sensitive_features": world.z, "adjust_for": world.beside[["region"]]}
    assert np.abs(model.fit(world.X, y, **given).predict(world.X) - plain).max() > 1e-3


@pytest.mark.parametrize("as_array", [False, True], ids=["frames", "arrays"])
def test_rows_are_matched_by_position(world, as_array):
    X, beside = world.X.iloc[::-1], world.beside[["region"]].iloc[::-1]
    if as_array:
        X, beside = X.to_numpy(), beside.to_numpy()
    else:
        X, beside = X.set_index(np.arange(N) + 7), beside.set_index(np.arange(N) + 7)
    z, y = world.z[::-1], world.y[::-1]
    rows = Rows.check(X, y, sensitive_features=z, adjust_for=beside)
    observed = np.asarray(rows.observed, dtype=float)
    np.testing.assert_array_equal(observed[:, 2], world.beside["region"].to_numpy()[::-1])
    part = rows.take(np.array([3, 1])).adjusted()
    np.testing.assert_array_equal(np.asarray(part.X, dtype=float), observed[[3, 1]])


def test_metadata_routing_hands_the_columns_on(world):
    model = FairLogisticRegression(criterion=FairTarget(smoothing=0.0))
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            model.set_fit_request(sensitive_features=True, adjust_for=True),
            world.X,
            world.y,
            params={"sensitive_features": world.z, "adjust_for": world.beside},
            cv=2,
            error_score="raise",
        )
    assert result["test_score"].min() > 0.55


def test_the_card_names_the_columns(world, tmp_path):
    model = fit(FairLogisticRegression(), world, adjust_for=world.beside)
    folder = save_model(model, tmp_path / "m")
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["roles"]["adjusted_for"] == ["region", "town"]
    assert [each["name"] for each in card["features"]] == ["skill", "noise"]
    assert "adjusted for, and not used by the model | region, town" in (
        folder / "card.md"
    ).read_text("utf-8")


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adjust_for", "message"),
    [
        (pd.DataFrame({"a": [1.0, 2.0]}), "adjust_for has 2 rows but X has 6000"),
        (np.zeros(N), "adjust_for must be a frame or an array of two dimensions"),
        (pd.DataFrame({"skill": np.zeros(N)}), "the column 'skill', which X has too"),
        (pd.DataFrame({"c": np.zeros(N)}).set_index(np.arange(N)[::-1]), "index of X in another"),
    ],
)
def test_tables_that_do_not_fit_are_refused(world, adjust_for, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(FairLogisticRegression(), world, adjust_for=adjust_for)


def test_the_sensitive_attribute_is_no_column_to_adjust_for(world):
    with pytest.raises(ValueError, match="'copy' is the same as sensitive_features"):
        fit(FairLogisticRegression(), world, adjust_for=pd.DataFrame({"copy": 3 - world.z}))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FairLogisticRegression(criterion=Parity()), "Parity has none; use FairTarget()"),
        (DirectEffectCorrector(), "DirectEffectCorrector has no models that adjust_for would"),
    ],
)
def test_what_estimates_nothing_cannot_be_informed(world, model, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(model, world, adjust_for=world.beside)


def test_rows_to_stop_by_have_no_columns_beside_them(world):
    pytest.importorskip("xgboost")
    rows = (world.X[:500], world.y[:500], world.z[:500])
    with pytest.raises(ValueError, match="eval_set has no columns to adjust for; leave it out"):
        fit(unsway.FairXGBClassifier(), world, adjust_for=world.beside, eval_set=rows)
