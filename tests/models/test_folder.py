"""Model folders: what is saved, what is read back, and what is refused."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contracts import rows_of
from sklearn.linear_model import LogisticRegression

import unsway
from unsway.grouping import Grouping
from unsway.models.features import Feature, align, features_of_table, one_hot
from unsway.models.folder import (
    TrainingRoles,
    check_model_folder,
    load_model,
    save_model,
)
from unsway.models.logistic import FairLogisticRegression

ENGINES = ["xgboost", "lightgbm"]
N = 600


def classifier(engine, **more):
    if find_spec(engine) is None or find_spec(f"unsway.models.{engine}") is None:
        pytest.skip(f"{engine} is not there")
    name = {"xgboost": "FairXGBClassifier", "lightgbm": "FairLGBMClassifier"}[engine]
    schedule = unsway.Schedule(pretrain_patience=2, ramp_steps=3, patience=2)
    module = __import__(f"unsway.models.{engine}", fromlist=[name])
    return getattr(module, name)(strength=0.5, schedule=schedule, n_jobs=1, **more)


def people(seed=0):
    """Return a table with words, missing numbers and hostile names, y and z."""
    rng = np.random.default_rng(seed)
    z = rng.random(N) < 0.5
    age = rng.normal(40, 10, N) + 5 * z
    pay = rng.normal(size=N) + z
    pay[::7] = np.nan
    job = rng.choice(np.array(["clerk", 'the "boss"', "cöok"], dtype=object), N)
    job[::11] = None
    y = rng.random(N) < 1 / (1 + np.exp(-(age - 42) / 10 - z))
    table = pd.DataFrame({"age": age, "=1+1": pay, "job <b>, ü": job})
    return table, y.astype(int), z.astype(int)


@pytest.fixture(scope="module")
def logistic():
    X, y, z = people()
    model = FairLogisticRegression(unsway.Parity(), strength=0.5)
    return model.fit(X[["age"]], y, sensitive_features=z), X


@pytest.fixture(scope="module")
def saved(logistic, tmp_path_factory):
    return save_model(logistic[0], tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def copy(logistic, tmp_path):
    return save_model(logistic[0], tmp_path / "model")


# --- the round trip ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_booster_read_back_gives_the_same_probabilities(engine, tmp_path):
    X, y, z = people()
    model = classifier(engine).fit(X, y, sensitive_features=z)
    loaded = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert type(loaded.booster) is type(model.booster_)


@pytest.mark.parametrize("engine", ENGINES)
def test_any_kind_of_frame_in_any_column_order_scores_the_same(engine, tmp_path):
    X, y, z = people()
    model = classifier(engine).fit(X, y, sensitive_features=z)
    loaded = load_model(save_model(model, tmp_path / "model"))
    expected = model.predict_proba(X)
    turned = X[X.columns[::-1]].assign(extra="words")
    for frame in (turned, pl.from_pandas(turned), pa.Table.from_pandas(turned)):
        np.testing.assert_array_equal(loaded.predict_proba(frame), expected)


def test_a_logistic_regression_read_back_gives_the_same_probabilities(logistic, saved):
    model, X = logistic
    expected = model.predict_proba(X[["age"]])
    np.testing.assert_allclose(load_model(saved).predict_proba(X), expected, rtol=1e-13)


def test_a_logistic_regression_on_one_hot_columns_is_saved_with_their_levels(tmp_path):
    X, y, z = people()
    X = X.drop(columns="=1+1")
    features = features_of_table(X)
    matrix, names = one_hot(X, features)
    model = FairLogisticRegression(unsway.Parity()).fit(matrix, y, sensitive_features=z)
    path = save_model(model, tmp_path / "model", features=features)
    expected = model.predict_proba(matrix)
    np.testing.assert_allclose(load_model(path).predict_proba(X), expected, rtol=1e-13)
    stored = json.loads((path / "model.json").read_text("utf-8"))["coefficients"]
    levels = [(each["feature"], each["level"]) for each in stored]
    assert levels[:3] == [("age", None), ("job <b>, ü", "(missing)"), ("job <b>, ü", "clerk")]
    assert names[2] == "job <b>, ü=clerk"


def test_plain_xgboost_without_unsway_reads_the_model_and_scores_the_same(tmp_path):
    X, y, z = people()
    model = classifier("xgboost").fit(X, y, sensitive_features=z)
    path = save_model(model, tmp_path / "model")
    np.save(tmp_path / "rows.npy", model.table_.matrix(X))
    code = (
        "import sys, numpy as np\n"
        "sys.modules['unsway'] = None\n"
        "import xgboost\n"
        "booster = xgboost.Booster(model_file=sys.argv[1] + '/model.json')\n"
        "types = booster.feature_types\n"
        "rows = xgboost.DMatrix(np.load(sys.argv[2]), feature_types=types,\n"
        "    feature_names=booster.feature_names, enable_categorical=True)\n"
        "np.save(sys.argv[3], booster.predict(rows))\n"
    )
    files = [str(path), str(tmp_path / "rows.npy"), str(tmp_path / "scores.npy")]
    subprocess.run([sys.executable, "-c", code, *files], check=True, env=os.environ)
    scores = np.load(tmp_path / "scores.npy")
    np.testing.assert_allclose(scores, model.predict_proba(X)[:, 1], atol=1e-6)


def test_an_array_is_scored_by_position(logistic, saved):
    model, X = logistic
    loaded = load_model(saved)
    expected = model.predict_proba(X[["age"]])
    np.testing.assert_allclose(loaded.predict_proba(X[["age"]].to_numpy()), expected, rtol=1e-13)
    with pytest.raises(ValueError, match="X has 2 columns; the model was trained on 1"):
        loaded.predict_proba(np.zeros((3, 2)))


# --- the card ------------------------------------------------------------------------------------


def test_the_card_tells_engine_versions_criterion_strength_and_roles(tmp_path):
    X, y, z = people()
    labels = np.where(y == 1, "yes", "no")
    groups = np.where(z == 1, "Male", "Female")
    criterion = unsway.DirectEffect(2, 1, norm="function")
    model = FairLogisticRegression(
        criterion, strength=0.25, l2=0.01, groups=Grouping(reference="Female")
    )
    model.fit(X[["age"]], labels, sensitive_features=groups)
    card = load_model(save_model(model, tmp_path / "m", training={"rows": N})).card
    assert (card["engine"], card["strength"], card["training"]) == ("logistic", 0.25, {"rows": N})
    assert card["versions"]["unsway"] == unsway.__version__
    assert card["criterion"]["name"] == "DirectEffect"
    assert card["criterion"]["settings"]["outcome_degree"] == 2
    assert card["criterion"]["settings"]["norm"] == "function"
    assert card["settings"]["l2"] == 0.01
    assert card["roles"]["positive"] == "yes"
    assert card["roles"]["sensitive_levels"] == ["Female", "Male"]
    assert card["features"] == [{"name": "age", "kind": "number", "levels": []}]


def test_a_fitted_criterion_is_described_by_its_settings_alone(tmp_path):
    X, y, z = people()
    fitted = unsway.DirectEffect().fit(rows_of(X, y, z))
    model = FairLogisticRegression(fitted).fit(X[["age"]], y, sensitive_features=z)
    card = load_model(save_model(model, tmp_path / "model")).card
    assert card["criterion"]["name"] == "DirectEffect"
    assert str(fitted.row_values[0]) not in (tmp_path / "model" / "card.json").read_text()


def test_given_roles_stand_in_the_card(logistic, tmp_path):
    roles = TrainingRoles("hired", "yes", "sex", ("(any other)", "Male"), None, ("race",))
    card = load_model(save_model(logistic[0], tmp_path / "m", roles=roles)).card
    assert card["roles"]["target"] == "hired"
    assert card["roles"]["dropped"] == ["race"]


# --- refusals ------------------------------------------------------------------------------------


def test_a_missing_column_is_named_with_close_matches(saved):
    with pytest.raises(ValueError, match=r"^column 'age' is missing; did you mean 'Age'"):
        load_model(saved).predict_proba(pd.DataFrame({"Age": [1.0], "pay": [2.0]}))


@pytest.mark.parametrize(
    ("feature", "values", "complaint"),
    [
        (Feature("a", "number"), ["x", "y"], "'a' held numbers in training and holds words now"),
        (Feature("a", "category", ("x",)), [1, 2], "'a' held words in training and holds numbers"),
    ],
)
def test_a_column_that_changed_kind_is_refused(feature, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        align(pa.table({"a": values}), [feature])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_without_any_value_has_no_kind(make):
    features = [Feature("a", "number"), Feature("b", "category", ("x",))]
    aligned = align(make({"a": [None, None], "b": [None, None]}), features)
    assert one_hot(aligned, [features[1], features[1]])[0].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("value", "complaint"), [(np.nan, "1 missing numbers"), (np.inf, "1 inf")])
def test_a_linear_model_refuses_a_missing_or_infinite_number(saved, value, complaint):
    with pytest.raises(ValueError, match=f"column 'age' has {complaint}"):
        load_model(saved).predict_proba(pd.DataFrame({"age": [1.0, value]}))


def test_only_our_own_classifiers_are_saved(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="LogisticRegression cannot be saved as a model folder"):
        save_model(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_features_must_make_the_columns_of_the_model(logistic, tmp_path):
    features = [Feature("age", "number"), Feature("job", "category", ("a", "b"))]
    with pytest.raises(ValueError, match="the features make 3 columns; the model has 1"):
        save_model(logistic[0], tmp_path / "model", features=features)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_or_no_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="gone is no model folder: there is no such folder"):
        load_model(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match=r"it has no card\.json"):
        load_model(tmp_path)


def test_a_model_file_that_is_missing_truncated_or_changed_is_refused(copy):
    content = (copy / "model.json").read_bytes()
    (copy / "model.json").write_bytes(content[:20])
    with pytest.raises(ValueError, match=f"is truncated: it has 20 of {len(content)} bytes"):
        load_model(copy)
    (copy / "model.json").write_bytes(content.replace(b"age", b"pay"))
    with pytest.raises(ValueError, match="has changed since it was saved: its checksum differs"):
        load_model(copy)
    (copy / "model.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.json is missing: the model folder is not"):
        load_model(copy)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema_version": 2}, "has schema version 2; unsway .* reads version 1"),
        ({"format": "other"}, "is not the card of an unsway model"),
        ({"engine": "forest"}, "is damaged: it knows no file of engine 'forest'"),
        ({"features": None}, "is damaged: it has no 'features'"),
    ],
)
def test_a_card_of_another_kind_is_refused(copy, change, complaint):
    card = json.loads((copy / "card.json").read_text())
    card = {name: value for name, value in (card | change).items() if value is not None}
    (copy / "card.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=complaint):
        load_model(copy)


def test_a_truncated_card_is_refused(copy):
    text = (copy / "card.json").read_text()
    (copy / "card.json").write_text(text[: len(text) // 2])
    with pytest.raises(ValueError, match=r"card\.json is damaged or truncated: it is not JSON"):
        load_model(copy)


def test_a_model_the_engine_cannot_read_is_refused_in_one_line(tmp_path):
    X, y, z = people()
    model = classifier("xgboost").fit(X, y, sensitive_features=z)
    path = save_model(model, tmp_path / "model")
    (path / "model.json").write_bytes(b"{}")
    card = json.loads((path / "card.json").read_text())
    card["files"]["model.json"] = {"bytes": 2, "sha256": sha256(b"{}").hexdigest()}
    (path / "card.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=r"model\.json cannot be read by xgboost [0-9.]+$"):
        load_model(path)


# --- writing -------------------------------------------------------------------------------------


def test_a_model_is_replaced_only_when_asked(logistic, copy):
    before = (copy / "card.json").read_text()
    with pytest.raises(FileExistsError, match="already holds a model; replace it with --overwrite"):
        save_model(logistic[0], copy)
    assert (copy / "card.json").read_text() == before
    save_model(logistic[0], copy, training={"rows": 7}, overwrite=True)
    assert load_model(copy).card["training"] == {"rows": 7}
    assert os.listdir(copy.parent) == ["model"]


@pytest.mark.parametrize("names", [["thesis.txt"], ["model.json"], ["card.json", "notes.md"]])
def test_a_folder_with_other_files_is_never_replaced(names, tmp_path):
    for name in names:
        (tmp_path / name).write_text("precious")
    with pytest.raises(FileExistsError, match=f"is no model folder: it holds '{names[-1]}'"):
        check_model_folder(tmp_path, overwrite=True)


def test_an_empty_folder_is_filled_and_a_file_refused(logistic, tmp_path):
    (tmp_path / "empty").mkdir()
    assert load_model(save_model(logistic[0], tmp_path / "empty")).features
    (tmp_path / "file").write_text("a file")
    with pytest.raises(NotADirectoryError, match="file is a file; give the name of a folder"):
        check_model_folder(tmp_path / "file")


def test_no_file_of_the_folder_is_a_pickle(saved):
    assert sorted(os.listdir(saved)) == [
        "card.json",
        "card.md",
        "model.json",
        "training_rows.json",
    ]
    for name in ("card.json", "model.json"):
        json.loads((saved / name).read_text("utf-8"))
    assert (saved / "card.md").read_text("utf-8").startswith("# ")
