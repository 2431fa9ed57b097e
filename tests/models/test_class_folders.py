"""Model folders of labels with more than two classes."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from contracts import fair_target
from sklearn.linear_model import LogisticRegression

import unsway
from unsway import FairTarget, Schedule
from unsway.models.card_check import with_checksum
from unsway.models.folder import CARD, load_model, save_model

N = 1_200
rng = np.random.default_rng(0)
Z = rng.integers(0, 2, N)
FRAME = pd.DataFrame(rng.normal(size=(N, 2)), columns=["age", "income"])
Y = np.array(["a", "b", "c"])[np.digitize(FRAME["age"] + Z + rng.logistic(size=N), [0, 1])]
MODELS = {
    "FairXGBClassifier": ("xgboost", {"n_jobs": 1, "schedule": Schedule(max_steps=5)}),
    "FairLGBMClassifier": ("lightgbm", {"n_jobs": 1, "schedule": Schedule(max_steps=5)}),
    "FairLogisticRegression": ("numpy", {}),
}
each_model = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(find_spec(needs) is None, reason="missing"))
        for name, (needs, _) in MODELS.items()
    ],
)


def fitted(name, X=FRAME, criterion=None):
    criterion = fair_target(cv=2) if criterion is None else criterion
    model = getattr(unsway, name)(criterion, **MODELS[name][1])
    return model.fit(X, Y, sensitive_features=Z)


def with_card(path, **changes):
    """Change the card of a folder as somebody with a text editor and a hash would."""
    card = json.loads((path / CARD).read_text("utf-8"))
    (path / CARD).write_text(json.dumps(with_checksum({**card, **changes})), "utf-8")
    return path


@each_model
def test_a_model_predicts_the_same_after_it_was_saved(name, tmp_path):
    model = fitted(name)
    loaded = load_model(save_model(model, tmp_path / "model"))
    assert loaded.classes == ("a", "b", "c")
    found = loaded.predict_proba(FRAME[["income", "age"]])  # in another order
    np.testing.assert_allclose(found, model.predict_proba(FRAME), atol=1e-12)


@each_model
def test_the_card_names_the_classes_and_no_positive_one(name, tmp_path):
    path = save_model(fitted(name), tmp_path / "model")
    card = json.loads((path / CARD).read_text("utf-8"))
    assert card["classes"] == ["a", "b", "c"]
    assert card["roles"]["positive"] is None
    assert "| classes | a, b, c |" in (path / "card.md").read_text("utf-8")


@each_model
@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a", "b", "c", "d"], "3"),
        (["a", "b"], "'classes' are not three names or more"),
        (["a", 2, "c"], "'classes' are not three names or more"),
    ],
    ids=["four", "two", "no text"],
)
def test_a_card_with_other_classes_is_refused(name, classes, message, tmp_path):
    path = with_card(save_model(fitted(name), tmp_path / "model"), classes=classes)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_a_regression_keeps_its_missing_numbers(tmp_path):
    frame = FRAME.mask(rng.random(FRAME.shape) < 0.1)
    model = fitted("FairLogisticRegression", frame, FairTarget())
    loaded = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_allclose(loaded.predict_proba(frame), model.predict_proba(frame), atol=1e-12)


def test_weights_of_another_number_of_classes_are_refused(tmp_path):
    path = save_model(fitted("FairLogisticRegression"), tmp_path / "model")
    card = json.loads((path / CARD).read_text("utf-8"))
    del card["classes"]
    (path / CARD).write_text(json.dumps(with_checksum(card)), "utf-8")
    with pytest.raises(ValueError, match="the model has weights of 3 classes and the card of 1"):
        load_model(path)


def test_a_regression_is_scikit_learns_model_without_this_library():
    model = fitted("FairLogisticRegression")
    plain = model.to_sklearn()
    assert isinstance(plain, LogisticRegression)
    np.testing.assert_allclose(plain.predict_proba(FRAME), model.predict_proba(FRAME), atol=1e-12)


def test_a_summary_has_the_weights_of_each_class():
    model = fitted("FairLogisticRegression")
    table = model.summary().to_frame()
    assert len(table) == 6
    found = dict(zip(table["column"], table["weight"], strict=True))
    assert found["income (b)"] == pytest.approx(model.coef_[1, 1])
