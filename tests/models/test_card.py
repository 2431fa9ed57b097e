"""The model card: what training knew, as text that cannot run."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from unsway import FairLogisticRegression, Parity
from unsway.models.card import MARKDOWN, markdown_card
from unsway.models.folder import TrainingRoles, load_model, save_model
from unsway.models.row_fingerprint import TRAINING_ROWS

HOSTILE = '<script>alert(1)</script> | [x](javascript:1) `=cmd` "q"\n# h'


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    X = pd.DataFrame({"age": rng.normal(size=200) + z, "=1+1": rng.normal(size=200)})
    y = (rng.random(200) < 1 / (1 + np.exp(-X["age"]))).astype(int)
    return FairLogisticRegression(Parity(), strength=0.5).fit(X, y, sensitive_features=z)


@pytest.fixture
def saved(model, tmp_path):
    roles = TrainingRoles("hired", "yes", "sex", ("Female", "Male"), None, ("race",))
    metrics = {"train": {"rows": 200, "accuracy": 0.71234, "score_gap": 0.05, "odd": 1.5}}
    training = {"rows": 200, "metrics": metrics}
    return save_model(model, tmp_path / "model", roles=roles, training=training)


def test_a_saved_model_has_both_cards(saved):
    assert {each.name for each in saved.iterdir()} == {
        "card.json",
        MARKDOWN,
        "model.json",
        TRAINING_ROWS,
    }
    card = json.loads((saved / "card.json").read_text("utf-8"))
    assert (saved / MARKDOWN).read_text("utf-8") == markdown_card(card)


def test_the_card_says_what_the_model_is(saved):
    text = (saved / MARKDOWN).read_text("utf-8")
    for line in (
        "# Model card: hired",
        "| engine | logistic |",
        "| criterion | Parity |",
        "| strength λ | 0.5 |",
        "| z = 1 stands for | Male |",
        "| left out | race |",
        "| accuracy | 0.7123 |",
        "| odd | 1.5000 |",
        "## Features (2)",
        "| age | number |  |",
        "## Limits",
    ):
        assert line in text.splitlines()


def test_the_folder_is_read_and_replaced_with_the_card_in_it(model, saved):
    assert load_model(saved).card["roles"]["target"] == "hired"
    save_model(model, saved, overwrite=True)
    assert "hired" not in (saved / MARKDOWN).read_text("utf-8")


def test_a_folder_saved_before_there_were_such_cards_is_read_and_replaced(model, saved):
    (saved / MARKDOWN).unlink()
    assert load_model(saved).features[0].name == "age"
    save_model(model, saved, overwrite=True)
    assert (saved / MARKDOWN).exists()


def test_a_card_that_stands_alone_is_no_model(model, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / MARKDOWN).write_text("mine")
    with pytest.raises(FileExistsError, match="is no model folder"):
        save_model(model, tmp_path / "notes", overwrite=True)
    assert (tmp_path / "notes" / MARKDOWN).read_text() == "mine"


@pytest.mark.parametrize("place", ["target", "positive", "sensitive"])
def test_hostile_names_are_text(place):
    text = markdown_card({"engine": "logistic", "roles": {place: HOSTILE}})
    assert "&lt;script&gt;" in text
    assert not re.search(r"<|(?<!\\)[\[`]x|\n# h", text)


def test_hostile_levels_and_features_are_text_and_short():
    card = {
        "roles": {"sensitive_levels": (HOSTILE, "r\u202etl" + "x" * 5000)},
        "features": [{"name": HOSTILE * 100, "kind": "number", "levels": ()}],
    }
    text = markdown_card(card)
    assert "<" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) < 400


def test_every_line_of_a_table_has_the_columns_of_its_head():
    text = markdown_card({"engine": "a|b", "settings": {"x|y": "\\|", "l2": 0.0}})
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {3}


def test_many_features_are_counted():
    many = [{"name": f"f{k}", "kind": "number", "levels": ()} for k in range(250)]
    assert "| and 50 more in `card.json` |  |  |" in markdown_card({"features": many})


def test_no_row_of_the_training_table_is_in_the_card(model, tmp_path):
    text = (save_model(model, tmp_path / "m") / MARKDOWN).read_text("utf-8")
    assert f"{model.coef_[0][0]:.6f}" not in text
