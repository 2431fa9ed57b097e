"""A card is compared with its model: what does not belong together is refused."""

import json
from hashlib import sha256
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import unsway
from unsway.models.card_check import with_checksum
from unsway.models.features import Feature, features_of_table, one_hot
from unsway.models.folder import MODEL_FILES, load_model, save_model

BOOSTERS = [
    pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason="not installed"))
    for name in ("xgboost", "lightgbm")
]
ENGINES = ["logistic", *BOOSTERS]
N = 300


def people(names=("age", "pay", "job")):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, N)
    columns = [rng.normal(size=N) + z, rng.normal(size=N), rng.choice(["clerk", "cook"], N)]
    y = (rng.random(N) < 1 / (1 + np.exp(-columns[0]))).astype(int)
    return pd.DataFrame(dict(zip(names, columns, strict=True))), y, z


def fitted(engine, X, y, z):
    """Return a model and, for a logistic regression, the features of its table."""
    if engine == "logistic":
        features = features_of_table(X)
        model = unsway.FairLogisticRegression(unsway.Parity(), strength=0.5)
        return model.fit(one_hot(X, features)[0], y, sensitive_features=z), features
    make = {"xgboost": unsway.FairXGBClassifier, "lightgbm": unsway.FairLGBMClassifier}[engine]
    schedule = unsway.Schedule(pretrain_patience=2, ramp_steps=3, patience=2)
    model = make(unsway.Parity(), strength=0.5, schedule=schedule, n_jobs=1)
    return model.fit(X, y, sensitive_features=z), None


def save(engine, path, names=("age", "pay", "job")):
    model, features = fitted(engine, *people(names))
    return save_model(model, path, features=features)


def change_card(path, change, *, sealed=True):
    """Change the card; the checksum is made anew unless it is to tell."""
    card = json.loads((path / "card.json").read_text("utf-8"))
    change(card)
    if sealed:
        card = with_checksum(card)
    (path / "card.json").write_text(json.dumps(card), "utf-8")


def put_model(engine, path, content):
    """Put another model in the folder, with its own size and checksum in the card."""
    name = MODEL_FILES[engine]
    (path / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    change_card(path, lambda card: card["files"].update({name: entry}))


def trained_elsewhere(engine, objective, X, y, **params):
    """Return the file of a booster that its own package trained."""
    if engine == "xgboost":
        import xgboost

        rows = xgboost.DMatrix(X, y)
        booster = xgboost.train({"objective": objective, "nthread": 1, **params}, rows, 2)
        return bytes(booster.save_raw(raw_format="json"))
    import lightgbm

    params = {"objective": objective, "verbosity": -1, "num_threads": 1, **params}
    return lightgbm.train(params, lightgbm.Dataset(X, y), 2).model_to_string().encode()


def swap(card):
    first, second = card["features"][:2]
    first["name"], second["name"] = second["name"], first["name"]


# --- a card that is not the model's --------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_two_names_that_changed_places_in_the_card_are_refused(engine, tmp_path):
    path = save(engine, tmp_path / "model")
    change_card(path, swap)
    complaint = r"card\.json is not the card of model\.\w+: .* 'pay' in the card and 'age' in the"
    with pytest.raises(ValueError, match=complaint):
        load_model(path)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_feature_that_has_another_name_in_the_card_is_refused(engine, tmp_path):
    path = save(engine, tmp_path / "model")
    change_card(path, lambda card: card["features"][1].update(name="wage"))
    with pytest.raises(ValueError, match="'wage' in the card and 'pay' in the model; take both"):
        load_model(path)


@pytest.mark.parametrize(("engine", "width"), [("logistic", 4), *(
    pytest.param(each.values[0], 3, marks=each.marks) for each in BOOSTERS
)])  # fmt: skip
@pytest.mark.parametrize("more", [1, -1])
def test_a_feature_too_many_or_too_few_in_the_card_is_refused(engine, width, more, tmp_path):
    path = save(engine, tmp_path / "model")

    def resize(card):
        if more == 1:
            card["features"].append({"name": "extra", "kind": "number", "levels": []})
        else:
            del card["features"][0]

    change_card(path, resize)
    with pytest.raises(ValueError, match=rf" {width + more} .* and the model has {width};"):
        load_model(path)


@pytest.mark.parametrize("engine", BOOSTERS)
def test_a_category_that_the_model_takes_for_a_number_is_refused(engine, tmp_path):
    path = save(engine, tmp_path / "model")
    number_no_more = {"kind": "category", "levels": ["a", "b"]}
    change_card(path, lambda card: card["features"][0].update(number_no_more))
    with pytest.raises(ValueError, match="'age', a category in the card but not in the model"):
        load_model(path)


def test_a_logistic_regression_whose_levels_changed_places_is_refused(tmp_path):
    path = save("logistic", tmp_path / "model")
    change_card(path, lambda card: card["features"][2]["levels"].reverse())
    with pytest.raises(ValueError, match="'job' = 'cook' in the card and 'job' = 'clerk' in the"):
        load_model(path)


@pytest.mark.parametrize("engine", BOOSTERS)
def test_the_features_of_another_model_are_refused_when_it_is_saved(engine, tmp_path):
    model, _ = fitted(engine, *people())
    features = [Feature(name, "number") for name in ("pay", "age", "job")]
    with pytest.raises(ValueError, match="are not those of the model: feature 1 of 3 is 'pay'"):
        save_model(model, tmp_path / "model", features=features)
    assert not (tmp_path / "model").exists()


# --- another model beside the card ---------------------------------------------------------------


@pytest.mark.parametrize("engine", BOOSTERS)
def test_a_model_of_other_features_is_refused(engine, tmp_path):
    path, other = (
        save(engine, tmp_path / name, names)
        for name, names in (("one", ("age", "pay", "job")), ("two", ("age", "debt", "job")))
    )
    put_model(engine, path, (other / MODEL_FILES[engine]).read_bytes())
    with pytest.raises(ValueError, match="is 'pay' in the card and 'debt' in the model"):
        load_model(path)


@pytest.mark.parametrize(
    ("engine", "objective"),
    [
        pytest.param("xgboost", "multi:softprob", marks=BOOSTERS[0].marks),
        pytest.param("lightgbm", "multiclass", marks=BOOSTERS[1].marks),
    ],
)
def test_a_model_of_three_classes_is_refused(engine, objective, tmp_path):
    path = save(engine, tmp_path / "model")
    X, y, z = people()
    content = trained_elsewhere(engine, objective, X[["age", "pay"]], y + z, num_class=3)
    put_model(engine, path, content)
    with pytest.raises(ValueError, match="the model has 3 classes, not 2; take both"):
        load_model(path)


@pytest.mark.parametrize(
    ("engine", "objective", "more"),
    [
        pytest.param("xgboost", "reg:squarederror", {}, marks=BOOSTERS[0].marks),
        pytest.param("xgboost", "binary:hinge", {}, marks=BOOSTERS[0].marks),
        pytest.param("lightgbm", "regression", {}, marks=BOOSTERS[1].marks),
        pytest.param("lightgbm", "binary", {"sigmoid": 2.0}, marks=BOOSTERS[1].marks),
    ],
)
def test_a_model_of_another_objective_is_refused(engine, objective, more, tmp_path):
    path = save(engine, tmp_path / "model")
    X, y, _ = people()
    content = trained_elsewhere(engine, objective, X[["age", "pay"]], y, **more)
    put_model(engine, path, content)
    with pytest.raises(ValueError, match=f"objective is '{objective}.*', not 'binary"):
        load_model(path)


@pytest.mark.parametrize(
    ("stored", "complaint"),
    [
        (b"[]", "it is not an object"),
        (b"{", "it is not JSON"),
        (b'{"coefficients": []}', "it has no 'intercept'"),
        (b'{"intercept": NaN, "coefficients": []}', "'intercept' is not a number"),
        (b'{"intercept": 0, "coefficients": {}}', "'coefficients' is not a list"),
        (b'{"intercept": 0, "coefficients": [3]}', "coefficient 1 of 1 is not an object"),
        (b'{"intercept": 0, "coefficients": [{"weight": 1}]}', "of 1 has no 'feature'"),
        (b'{"intercept": 0, "coefficients": [{"feature": "a"}]}', "of 1 has no 'weight'"),
        (
            b'{"intercept": 0, "coefficients": [{"feature": "a", "weight": 1, "level": 2}]}',
            "'level' of coefficient 1 of 1 is not text",
        ),
    ],
)
def test_a_damaged_logistic_regression_is_refused(stored, complaint, tmp_path):
    path = save("logistic", tmp_path / "model")
    put_model("logistic", path, stored)
    with pytest.raises(ValueError, match=rf"model\.json is damaged: .*{complaint}"):
        load_model(path)


# --- names the engine cannot hold ----------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "names",
    [
        ("age [years]", "pay<1", "job"),
        ("a, b", 'the "c"', "d:e"),
        ("\x1b2J", "\x07\x7f\n", "\x9b\u202e"),
        ("a\x00b", "c\\u001b", "größe ✓"),
        ("a b", "c\td", "e\u2028f"),
        ("Column_1", "Column_0", "f0"),
        ("=1+1", "{}", "[]"),
    ],
)
def test_names_that_an_engine_cannot_hold_are_read_back(engine, names, tmp_path):
    X, y, z = people(names)
    model, features = fitted(engine, X, y, z)
    loaded = load_model(save_model(model, tmp_path / "model", features=features))
    assert tuple(each.name for each in loaded.features) == names
    expected = model.predict_proba(X if features is None else one_hot(X, features)[0])
    np.testing.assert_allclose(loaded.predict_proba(X), expected, rtol=1e-13)


@pytest.mark.parametrize("engine", BOOSTERS)
def test_a_booster_of_an_array_may_be_saved_with_names(engine, tmp_path):
    X, y, z = people()
    model, _ = fitted(engine, X[["age", "pay"]].to_numpy(), y, z)
    features = [Feature("age", "number"), Feature("pay", "number")]
    loaded = load_model(save_model(model, tmp_path / "model", features=features))
    expected = model.predict_proba(X[["age", "pay"]].to_numpy())
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_names_that_no_model_holds_are_guarded_by_the_checksum_of_the_card(engine, tmp_path):
    path = save(engine, tmp_path / "model", ("age [years]", "pay [:]", "job"))
    change_card(path, swap, sealed=False)
    with pytest.raises(ValueError, match=r"is not the card of model|its checksum differs; restore"):
        load_model(path)


# --- a damaged card ------------------------------------------------------------------------------


FIELDS = (
    "created", "versions", "engine", "files", "roles", "features", "criterion", "strength",
    "settings", "training",
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return save("logistic", tmp_path / "model")


@pytest.mark.parametrize("field", FIELDS)
def test_a_card_without_a_field_is_refused_by_its_name(path, field):
    change_card(path, lambda card: card.pop(field))
    with pytest.raises(ValueError, match=rf"card\.json is damaged: it has no '{field}'; restore"):
        load_model(path)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [None, True])
def test_a_card_with_a_field_of_another_type_is_refused_by_its_name(path, field, value):
    change_card(path, lambda card: card.update({field: value}))
    with pytest.raises(ValueError, match=rf"card\.json is damaged: '{field}' is not "):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda card: card.update(engine=["xgboost"]), "'engine' is not text"),
        (lambda card: card.update(strength=float("nan")), "'strength' is not a number"),
        (lambda card: card["files"].update({"model.json": 3}), "'model.json' is not an object"),
        (lambda card: card["files"]["model.json"].pop("bytes"), "'model.json' has no 'bytes'"),
        (lambda card: card["files"]["model.json"].update(sha256=5), "'sha256' of the entry of"),
        (lambda card: card["files"].clear(), "it knows no file of engine 'logistic'"),
        (lambda card: card["criterion"].pop("name"), "'criterion' has no 'name'"),
        (lambda card: card["roles"].update(sensitive_levels="ab"), "at least two levels"),
        (lambda card: card["features"].append("age"), "feature 4 of 4 is not an object"),
        (lambda card: card["features"][0].pop("name"), "feature 1 of 3 has no 'name'"),
        (lambda card: card["features"][0].pop("levels"), "feature 1 of 3 has no 'levels'"),
        (lambda card: card["features"][0].update(name=1), "'name' of feature 1 of 3 is not text"),
        (lambda card: card["features"][0].update(kind="date"), "1 of 3 is of kind 'date'"),
        (lambda card: card["features"][0].update(levels=["a"]), "are not those of a number"),
        (lambda card: card["features"][2].update(levels=[1]), "are not those of a category"),
    ],
)
def test_a_card_that_is_damaged_inside_is_refused(path, change, complaint):
    change_card(path, change)
    with pytest.raises(ValueError, match=rf"card\.json is damaged: .*{complaint}"):
        load_model(path)


def test_a_card_whose_words_changed_is_refused(path):
    change_card(path, lambda card: card["criterion"].update(name="DirectEffect"), sealed=False)
    with pytest.raises(ValueError, match="has changed since it was saved: its checksum differs"):
        load_model(path)


def test_a_card_written_before_there_was_a_checksum_is_read(path):
    change_card(path, lambda card: card.pop("checksum"), sealed=False)
    assert load_model(path).card["engine"] == "logistic"


def test_counts_under_keys_that_are_numbers_keep_the_card_whole(tmp_path):
    model, features = fitted("logistic", *people())
    training = {"rows": {10: 1, 9: 2}}
    path = save_model(model, tmp_path / "model", features=features, training=training)
    assert load_model(path).card["training"] == {"rows": {"9": 2, "10": 1}}


def test_one_flipped_bit_of_a_card_is_refused_or_changes_nothing(path):
    content = (path / "card.json").read_bytes()
    X = people()[0]
    card, scores = json.loads(content), load_model(path).predict_proba(X)
    rng, refused = np.random.default_rng(0), 0
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        (path / "card.json").write_bytes(damaged)
        try:
            loaded = load_model(path)
        except (ValueError, FileNotFoundError):
            refused += 1
            continue
        np.testing.assert_array_equal(loaded.predict_proba(X), scores)
        assert {name: loaded.card.get(name) for name in card if name != "checksum"} == {
            name: value for name, value in card.items() if name != "checksum"
        }
    assert refused > 250
