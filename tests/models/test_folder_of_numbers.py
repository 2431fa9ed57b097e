"""Model folders of regressors."""

import json

import numpy as np
import pandas as pd
import pytest
from amounts import LOSSES, each_loss, people

from unsway import FairLGBMRegressor, FairLinearRegressor, FairXGBRegressor
from unsway.models.card_check import with_checksum
from unsway.models.folder import TrainingRoles, load_model, save_model

pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")

REGRESSORS = (FairXGBRegressor, FairLGBMRegressor, FairLinearRegressor)
each_regressor = pytest.mark.parametrize("regressor", REGRESSORS)


def fitted(regressor, loss="poisson", **options):
    X, y, z, exposure = people(loss, 600)
    X = pd.DataFrame(X, columns=["power", "age"])
    model = regressor(loss=loss, **options)
    return model.fit(X, y, sensitive_features=z, exposure=exposure), X


def change_card(path, **changes):
    card = {**json.loads((path / "card.json").read_text("utf-8")), **changes}
    (path / "card.json").write_text(json.dumps(with_checksum(card)), "utf-8")


@each_regressor
@each_loss
def test_a_folder_predicts_what_the_model_predicts(regressor, loss, tmp_path):
    model, X = fitted(regressor, loss)
    saved = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_allclose(saved.predict(X), model.predict(X), rtol=1e-6)
    years = np.full(len(X), 2.0)
    np.testing.assert_allclose(saved.predict(X, years), 2 * saved.predict(X))
    assert saved.loss.name == loss
    assert saved.share_trained_on(X) == 1


@each_regressor
def test_a_model_of_strength_0_makes_the_round_trip(regressor, tmp_path):
    model, X = fitted(regressor, "tweedie", strength=0.0, power=1.3)
    saved = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_allclose(saved.predict(X), model.predict(X), rtol=1e-6)
    assert saved.loss.power == 1.3
    assert saved.card["outcome"]["balance"] is None
    text = (tmp_path / "model" / "card.md").read_text("utf-8")
    assert "A regressor trained on the numbers as they are" in text


def test_the_card_says_loss_unit_and_total(tmp_path):
    model, _ = fitted(FairLinearRegressor)
    roles = TrainingRoles("claims", None, "sex", ("f", "m"), exposure="years")
    path = save_model(model, tmp_path / "model", roles=roles)
    assert load_model(path).card["outcome"] == {
        "loss": "poisson",
        "power": None,
        "per_exposure": True,
        "balance": model.balance_,
    }
    lines = (path / "card.md").read_text("utf-8").splitlines()
    assert "| predictions | mean of claims per years |" in lines
    assert "| exposure | years |" in lines
    assert "| loss | poisson |" in lines
    assert any("that of the training rows" in line for line in lines)


def test_predictions_of_numbers_are_no_probabilities(tmp_path):
    model, X = fitted(FairLinearRegressor)
    saved = load_model(save_model(model, tmp_path / "model"))
    with pytest.raises(TypeError, match="call predict"):
        saved.predict_proba(X)
    with pytest.raises(ValueError, match="zero or negative"):
        saved.predict(X, np.zeros(len(X)))


@pytest.mark.parametrize("regressor", REGRESSORS[:2])
@pytest.mark.parametrize("other", [each for each in LOSSES if each != "poisson"])
def test_a_card_of_another_loss_than_the_model_is_refused(regressor, other, tmp_path):
    model, _ = fitted(regressor)
    path = save_model(model, tmp_path / "model")
    power = 1.5 if other == "tweedie" else None
    outcome = {"loss": other, "power": power, "per_exposure": True, "balance": None}
    change_card(path, outcome=outcome)
    with pytest.raises(ValueError, match="the model's objective is"):
        load_model(path)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"loss": "median", "power": None}, "the loss 'median' is unknown"),
        ({"loss": "tweedie", "power": 2.5}, "'power' of 'outcome'"),
        ({"loss": "poisson", "power": 1.5}, "'power' of 'outcome'"),
        ({"power": None}, "'outcome' has no 'loss'"),
        ("poisson", "'outcome' is not an object"),
    ],
)
def test_a_damaged_outcome_is_named(outcome, words, tmp_path):
    path = save_model(fitted(FairLinearRegressor)[0], tmp_path / "model")
    change_card(path, outcome=outcome)
    with pytest.raises(ValueError, match=words):
        load_model(path)
