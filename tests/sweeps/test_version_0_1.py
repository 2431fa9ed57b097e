"""What version 0.1 wrote is read, or refused by a sentence."""

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from unsway import Frontier, frontier
from unsway.effects.influence import EFFECTS
from unsway.models.folder import load_model
from unsway.sweeps import Store
from unsway.sweeps.inputs import check_inputs, differences

HERE = Path(__file__).parents[1] / "data" / "version_0_1"
SPEC = importlib.util.spec_from_file_location("make_version_0_1", HERE / "make.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)


@pytest.fixture
def store(tmp_path):
    return shutil.copytree(HERE / "store", tmp_path / "store")


def test_a_model_folder_is_read_and_gives_its_scores():
    X, _, _ = MAKE.rows()
    found = load_model(HERE / "model").predict_proba(X)[:5, 1]
    np.testing.assert_allclose(found, json.loads((HERE / "scores.json").read_text()), rtol=1e-12)


def test_a_store_is_read_with_its_models(store):
    found, (X, y, _) = Frontier.load(store), MAKE.rows()
    assert found.strengths == (0.0, 0.9)
    scores = found.model(0.0).predict_proba(X)[:, 1]
    assert ((scores > 0.5) == y).mean() == pytest.approx(0.7, abs=0.1)
    assert found.select(max_accuracy_loss=1).part == "validation"


def test_the_effects_of_a_store_have_the_names_of_today(store):
    old = json.loads((store / "about.json").read_text())["parts"]["validation"]["effects"]
    found = Frontier.load(store).parts["validation"]["effects"]
    assert tuple(found) == tuple(EFFECTS)
    assert found["direct_reference"] == old["D0"]
    assert found["indirect_group"] == old["d1"]
    assert found["explained"] == old["symNIE"]


def test_a_sweep_of_the_same_data_has_the_fingerprint_it_had(store):
    X, y, z = MAKE.rows()
    given = {"effects": {"cv": 2}, "validation_fraction": 0.25}  # the default of that version
    now = check_inputs(MAKE.estimator(), X, y, z, **given).fingerprint()
    found = differences(Store(store).fingerprint(), json.loads(json.dumps(now)))
    assert [words for words in found if not words.startswith("versions.")] == []


def test_the_digest_of_the_sensitive_attribute_goes_when_a_sweep_goes_on(store):
    before = json.loads((store / "sweep.json").read_text())
    digest = before["fingerprint"]["data"]["training rows"]["sensitive_features"]
    assert digest not in json.dumps(Frontier.load(store).fingerprint)
    Store(store).open(before["fingerprint"])
    assert digest not in (store / "sweep.json").read_text()
    assert Frontier.load(store).parts
    assert Frontier.load(store).strengths == (0.0, 0.9)


def test_a_sweep_of_other_data_is_refused_by_a_sentence(store):
    X, y, z = MAKE.rows()
    sentence = r"data\.training rows\.y has other values.*\. Give another folder, or the data and"
    with pytest.raises(ValueError, match=sentence):
        frontier(MAKE.estimator(), X, 1 - y, sensitive_features=z, effects={"cv": 2}, store=store)
