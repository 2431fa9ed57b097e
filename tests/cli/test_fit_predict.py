"""``unsway fit`` and ``unsway predict`` on real files."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from columns import column_table

from unsway import FairLogisticRegression, FairXGBClassifier, Parity
from unsway.cli import fit as fit_module
from unsway.cli.app import app
from unsway.cli.console import steps
from unsway.cli.sensitive import split_sensitive
from unsway.cli.table_files import plain_columns, read_table
from unsway.models.features import features_of_table, one_hot
from unsway.models.folder import load_model

pytest.importorskip("xgboost")

N = 400
#: Written into the sensitive column by a few rows; must never be seen again.
ELSEWHERE = "Zz-only-in-rows"
HOSTILE = ["<script>alert(1)</script>", 'say "hi", [x]', "=1+1", "größe ✓"]
ROLES = ["--target", "hired", "--positive", "yes", "--sensitive", "sex=Male"]
FAST = ["--criterion", "parity", "--strength", "0.5", "--threads", "1"]


def people(seed=0, *, missing=True):
    rng = np.random.default_rng(seed)
    male = rng.random(N) < 0.5
    age = np.round(rng.normal(40, 10, N) + 5 * male, 3)
    hired = rng.random(N) < 1 / (1 + np.exp(-(age - 42) / 10 - male))
    pay = [None if missing and k % 7 == 0 else float(k % 13) for k in range(N)]
    job = rng.choice(["clerk", "boss, big", 'the "cook"', "=cmd()"], N).tolist()
    job[::11] = [None] * len(job[::11])
    return pa.table(
        {
            "age": age,
            "pay": pay,
            "job": job,
            "remote": rng.random(N) < 0.5,
            "team": rng.choice(["a", "b"], N),
            "sex": np.where(male, "Male", "Female"),
            "hired": np.where(hired, "yes", "no"),
        }
    )


def write(path, table):
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)
    return path


def change(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def invoke(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def unsway(*arguments, cwd=None, code="from unsway.cli import main; main()"):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def fit(file, output, *more):
    result = invoke("fit", file, *ROLES, *FAST, *more, "-o", output)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def predict(model, file, output, *more):
    result = invoke("predict", model, file, "-o", output, *more)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return read_table(output)


def complaint(*arguments):
    """Return the message of a command that must fail on its input."""
    result = invoke(*arguments)
    assert isinstance(result.exception, (ValueError, OSError)), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with tables and a model of each engine, for tests that change none of them."""
    folder = tmp_path_factory.mktemp("place")
    write(folder / "people.parquet", people())
    write(folder / "people.csv", people())
    write(folder / "whole.parquet", people(missing=False))
    fit(folder / "whole.parquet", folder / "logistic", "--engine", "logistic")
    fit(folder / "people.parquet", folder / "xgboost", "--drop", "team")
    return folder


# --- the round trip ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_xgboost_scores_of_a_file_are_those_of_the_model_in_memory(kind, place, tmp_path):
    fit(place / f"people.{kind}", tmp_path / "model", "--seed", "3")
    scores = predict(tmp_path / "model", place / f"people.{kind}", tmp_path / f"out.{kind}")
    table = people()
    X = plain_columns(column_table(table.drop_columns(["sex", "hired"])))
    y, z = (pc.equal(table["hired"], "yes"), pc.equal(table["sex"], "Male"))
    model = FairXGBClassifier(Parity(), 0.5, random_state=3, n_jobs=1)
    model.fit(X, y.to_numpy().astype(int), sensitive_features=z.to_numpy().astype(int))
    assert scores.columns == ["score"]
    np.testing.assert_array_equal(scores["score"], model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_logistic_scores_of_a_file_are_those_of_the_model_in_memory(kind, tmp_path):
    table = people(missing=False)
    file = write(tmp_path / f"people.{kind}", table)
    fit(file, tmp_path / "model", "--engine", "logistic", "--param", "l2=0.01")
    scores = predict(tmp_path / "model", file, tmp_path / f"out.{kind}")["score"]
    X = plain_columns(column_table(table.drop_columns(["sex", "hired"])))
    matrix, _ = one_hot(X, features_of_table(X))
    y, z = (pc.equal(table["hired"], "yes"), pc.equal(table["sex"], "Male"))
    model = FairLogisticRegression(Parity(), 0.5, l2=0.01)
    model.fit(matrix, y.to_numpy().astype(int), sensitive_features=z.to_numpy().astype(int))
    np.testing.assert_allclose(scores, model.predict_proba(matrix)[:, 1], rtol=1e-9)


def test_a_logistic_regression_is_trained_on_missing_numbers_and_scores_them(place, tmp_path):
    fit(place / "people.csv", tmp_path / "model", "--engine", "logistic")
    scores = predict(tmp_path / "model", place / "people.csv", tmp_path / "out.csv")["score"]
    stored = json.loads((tmp_path / "model" / "model.json").read_text("utf-8"))
    assert stored["fill"]["pay"] == np.median(people()["pay"].drop_null().to_numpy())
    weighed = [(each["feature"], each["level"]) for each in stored["coefficients"]]
    assert ("pay", "(missing)") in weighed
    assert np.isfinite(scores).all()


def test_lightgbm_makes_the_round_trip(place, tmp_path):
    pytest.importorskip("lightgbm")
    pytest.importorskip("unsway.models.lightgbm")
    fit(place / "people.csv", tmp_path / "model", "--engine", "lightgbm")
    assert sorted(os.listdir(tmp_path / "model")) == [
        "card.json",
        "card.md",
        "model.txt",
        "training_rows.json",
    ]
    by_csv = predict(tmp_path / "model", place / "people.csv", tmp_path / "a.parquet")
    by_parquet = predict(tmp_path / "model", place / "people.parquet", tmp_path / "b.parquet")
    assert by_csv["score"].tolist() == by_parquet["score"].tolist()
    scores = by_csv["score"]
    assert scores.min() > 0
    assert scores.std() > 0.01


def test_dictionary_columns_are_categories(place, tmp_path):
    table = people()
    coded = change(table, "job", table["job"].combine_chunks().dictionary_encode())
    file = write(tmp_path / "coded.parquet", coded)
    a = predict(place / "xgboost", file, tmp_path / "a.csv")
    b = predict(place / "xgboost", place / "people.csv", tmp_path / "b.csv")
    assert a["score"].tolist() == b["score"].tolist()


def test_columns_are_found_by_name_and_others_ignored(place, tmp_path):
    table = people()
    turned = table.select(["job", "remote", "pay", "age"]).append_column("more", table["team"])
    file = write(tmp_path / "turned.parquet", turned)
    a = predict(place / "xgboost", file, tmp_path / "a.parquet")
    b = predict(place / "xgboost", place / "people.parquet", tmp_path / "b.parquet")
    assert a["score"].tolist() == b["score"].tolist()


def test_words_that_all_look_like_numbers_are_read_as_the_words_they_were(tmp_path):
    table = people()
    codes = np.array(["1", "02", "x"])[np.arange(N) % 3]
    fit(write(tmp_path / "a.csv", change(table, "team", codes)), tmp_path / "model")
    few = change(table, "team", codes).filter(pa.array(codes != "x")).slice(0, 20)
    write(tmp_path / "few.csv", few)
    text = (tmp_path / "few.csv").read_text()
    (tmp_path / "few.csv").write_text(text.replace('"1"', "1").replace('"02"', "02"))
    assert read_table(tmp_path / "few.csv")["team"].dtype == np.float64
    by_csv = predict(tmp_path / "model", tmp_path / "few.csv", tmp_path / "a.parquet")
    by_parquet = predict(
        tmp_path / "model", write(tmp_path / "few.parquet", few), tmp_path / "b.parquet"
    )
    assert by_csv["score"].tolist() == by_parquet["score"].tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_hostile_column_names_make_the_round_trip(kind, tmp_path):
    table = people(missing=False).select(["age", "pay", "job", "team", "sex", "hired"])
    table = table.rename_columns([*HOSTILE, "sex", "hired"])
    file = write(tmp_path / f"hostile.{kind}", table)
    for engine in ("logistic", "xgboost"):
        model = tmp_path / engine
        fit(file, model, "--engine", engine, "--drop", HOSTILE[1])
        names = [each["name"] for each in json.loads((model / "card.json").read_text())["features"]]
        assert names == [HOSTILE[0], *HOSTILE[2:]]
        scores = predict(model, file, tmp_path / f"out.{kind}", "--keep", HOSTILE[1])
        assert scores.columns == [HOSTILE[1], "score"]


def test_a_column_name_with_an_equals_sign_can_be_the_sensitive_one():
    assert split_sensitive("=1+1=Male", ["=1+1", "age"]) == ("=1+1", "Male")
    assert split_sensitive("z", ["z", "age"]) == ("z", None)
    with pytest.raises(ValueError, match="can be read in two ways"):
        split_sensitive("a=b", ["a", "a=b"])


def test_kept_columns_are_written_as_they_stand_but_for_formulas(place, tmp_path):
    ids = [f"00{k}" if k % 2 else f"=NA,{k}" for k in range(N)]
    table = people().append_column("id", pa.array(ids))
    file = write(tmp_path / "ids.csv", table)
    predict(
        place / "xgboost", file, tmp_path / "out.csv", "--keep", "id,job", "--keep", "team",
        "--column", "P(hired)",
    )  # fmt: skip
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,job,team,P(hired)"
    assert lines[1].startswith('"\'=NA,0",,')
    assert lines[2].startswith("001,")


# --- what is printed and kept --------------------------------------------------------------------


def test_the_table_says_rows_groups_and_losses(place, tmp_path):
    text = fit(place / "people.csv", tmp_path / "model")
    for part in ("sex = Male (z = 1)", "sex = Female (z = 0)", "hired = yes", "log-loss",
                 "penalty", "accuracy", "train", "validation", "rounds"):  # fmt: skip
        assert part in text
    training = load_model(tmp_path / "model").card["training"]
    assert training["rows"] == N == sum(part["rows"] for part in training["metrics"].values())


def test_the_validation_figures_are_those_the_schedule_stopped_by(place):
    flags = fit_module.RoleFlags("hired", "yes", "sex=Male", (), None)
    title, model = fit_module.make_classifier(
        engine="xgboost", criterion="parity", params=[], random_state=1, threads=1, strength=0.5
    )
    assert title == "xgboost, parity"
    with steps(4, "Reading", quiet=True) as progress:
        done = fit_module.train_in_memory(place / "people.csv", flags, model, progress)
    found = fit_module.measure(done, "validation")
    history = model.evals_result_["validation"]
    rounds = zip(history["log_loss"], history["penalty"], strict=True)
    assert any(
        np.allclose(losses, (found["log_loss"], found["penalty"]), atol=1e-6) for losses in rounds
    )


def test_the_card_holds_the_roles_and_the_settings(place):
    card = load_model(place / "xgboost").card
    assert card["roles"] == {
        "target": "hired", "positive": "yes", "sensitive": "sex",
        "sensitive_levels": ["Female", "Male"], "weights": None, "dropped": ["team"],
        "adjusted_for": [], "exposure": None,
    }  # fmt: skip
    assert card["criterion"] == {"name": "Parity", "settings": {}}
    kinds = {each["name"]: each["kind"] for each in card["features"]}
    assert kinds == {"age": "number", "pay": "number", "job": "category", "remote": "number"}


def test_direct_effect_settings_reach_the_card(place, tmp_path):
    result = invoke(
        "fit", place / "whole.parquet", *ROLES, "--engine", "logistic", "--outcome-degree", "2",
        "--effect-degree", "1", "--norm", "function", "--strength", "0.3", "--quiet",
        "-o", tmp_path / "model",
    )  # fmt: skip
    assert (result.exit_code, result.output) == (0, "")
    card = load_model(tmp_path / "model").card
    settings = card["criterion"]["settings"]
    found = (card["strength"], settings["outcome_degree"], settings["effect_degree"])
    assert (*found, settings["norm"]) == (0.3, 2, 1, "function")


def test_a_value_against_the_rest_is_said_to_be_that_and_the_rest_stays_secret(tmp_path):
    table = people()
    sex = table["sex"].to_pylist()
    sex[::9] = [ELSEWHERE] * len(sex[::9])
    file = write(tmp_path / "people.csv", change(table, "sex", sex))
    text = fit(file, tmp_path / "model")
    assert "sex = Male (z = 1)" in text
    assert "sex = (any other) (z = 0)" in text
    for name in os.listdir(tmp_path / "model"):
        assert ELSEWHERE.encode() not in (tmp_path / "model" / name).read_bytes()
        assert b"Female" not in (tmp_path / "model" / name).read_bytes()


def test_weights_are_used_and_are_no_feature(place, tmp_path):
    table = people(missing=False)
    weighted = table.append_column("w", pa.array(np.where(np.arange(N) < 300, 1.0, 0.0)))
    file = write(tmp_path / "weighted.parquet", weighted)
    first = write(tmp_path / "first.parquet", table.slice(0, 300))
    fit(file, tmp_path / "a", "--engine", "logistic", "--weights", "w")
    fit(first, tmp_path / "b", "--engine", "logistic")
    a, b = (predict(tmp_path / each, first, tmp_path / f"{each}.csv") for each in "ab")
    np.testing.assert_allclose(a["score"], b["score"], atol=1e-6)


def test_a_0_1_target_and_sensitive_column_need_no_values(tmp_path):
    table = people()
    table = change(table, "sex", pc.equal(table["sex"], "Male").combine_chunks())
    table = change(table, "hired", pc.equal(table["hired"], "yes").cast("int8").combine_chunks())
    file = write(tmp_path / "coded.csv", table)
    result = invoke("fit", file, "--target", "hired", "--sensitive", "sex", *FAST,
                    "-o", tmp_path / "model")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "model").card["roles"]["sensitive_levels"] == ["0", "1"]


def test_an_unseen_level_is_scored_and_counted(place, tmp_path):
    table = people()
    file = write(tmp_path / "new.csv", change(table, "job", ["pilot"] * 5 + ["clerk"] * (N - 5)))
    result = invoke("predict", place / "xgboost", file, "-o", tmp_path / "out.csv")
    assert "column 'job': 5 rows hold a level that training did not see" in result.output


def test_one_seed_gives_one_model(place, tmp_path):
    for name in ("a", "b"):
        fit(place / "people.csv", tmp_path / name, "--seed", "5", "--param", "subsample=0.5")
    models = [(tmp_path / name / "model.json").read_bytes() for name in ("a", "b")]
    assert models[0] == models[1]


# --- refusals of fit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--target", "hird"], "--target: there is no column 'hird'; did you mean 'hired'?"),
        (["--sensitive", "sx=Male"], "--sensitive: there is no column 'sx'; did you mean 'sex'?"),
        (["--drop", "teem,age"], "--drop: there is no column 'teem'; did you mean 'team'?"),
        (["--weights", "wat"], "--weights: there is no column 'wat'"),
        (["--sensitive", "sex=Man"], "--sensitive: column 'sex' has no value 'Man'; it has "
         "'Female', 'Male'"),
        (["--sensitive", "sex"], "--sensitive: column 'sex' has the values 'Female' and 'Male'; "
         "say which counts as 1, as in --sensitive sex=Male"),
        (["--sensitive", "job"], "--sensitive: column 'job' has 37 rows without a value of 400; "
         "fill them in, or leave those rows out with --drop-missing"),
        (["--sensitive", "hired=yes"], "--target and --sensitive are both 'hired'; give two "
         "columns"),
        (["--weights", "sex"], "--weights 'sex' is the target or the sensitive column"),
        (["--drop", "age,pay,job,remote,team"], "no column is left to train on"),
        (["--strength", "1"], "strength must be at least 0 and below 1; got 1.0"),
        (["--param", "objective=x"], "params['objective'] is not yours to set"),
    ],
)  # fmt: skip
def test_bad_roles_and_settings_are_refused_with_an_exact_message(flags, expected, place, tmp_path):
    output = tmp_path / "model"
    found = complaint("fit", place / "people.csv", *ROLES, *FAST, *flags, "-o", output)
    assert found.startswith(expected)
    assert list(tmp_path.iterdir()) == []


def test_a_target_of_words_needs_its_positive_value(place, tmp_path):
    flags = ["--target", "hired", "--sensitive", "sex=Male", "-o", tmp_path / "model"]
    found = complaint("fit", place / "people.csv", *flags)
    assert found.endswith("say which counts as 1, as in --positive yes with --target hired")


@pytest.mark.parametrize(("column", "count"), [("hired", 3), ("sex", 2)])
def test_rows_without_a_label_or_a_group_are_counted_and_not_dropped(column, count, tmp_path):
    values = [*people()[column].to_pylist()[:-count], *[None] * count]
    file = write(tmp_path / "gaps.csv", change(people(), column, values))
    found = complaint("fit", file, *ROLES, *FAST, "-o", tmp_path / "model")
    assert f"column '{column}' has {count} rows without a value of {N}" in found


def test_a_copy_of_the_sensitive_column_is_refused_by_name(tmp_path):
    table = people().append_column("gender", people()["sex"])
    file = write(tmp_path / "copy.csv", table)
    found = complaint("fit", file, *ROLES, *FAST, "-o", tmp_path / "model")
    assert "'gender' is the same as sensitive_features" in found


def near_copy(path):
    table = people(missing=False)
    male = np.array(table["sex"].to_pylist()) == "Male"
    code = male + 1e-3 * np.random.default_rng(0).normal(size=N)
    return write(path, table.append_column("code", pa.array(code)))


@pytest.mark.parametrize("engine", ["logistic", "xgboost", "lightgbm"])
def test_a_near_copy_of_the_sensitive_column_is_refused_by_name(engine, tmp_path):
    file = near_copy(tmp_path / "near.csv")
    result = unsway("fit", file, *ROLES, "--engine", engine, "--quiet", "-o", tmp_path / "model")
    assert result.returncode == 1
    assert result.stderr.startswith("Error: X predicts the sensitive attribute nearly exactly")
    assert "'code' predicts it almost alone" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "model").exists()


def test_a_near_copy_is_trained_on_if_the_user_asks_for_it(tmp_path):
    file, output = near_copy(tmp_path / "near.csv"), tmp_path / "model"
    flags = ["--engine", "logistic", "--allow-separation", "--quiet"]
    result = unsway("fit", file, *ROLES, *flags, "-o", output)
    assert result.returncode == 0, result.stderr
    assert "'code' predicts it almost alone" in result.stderr.replace("\n", " ")
    assert load_model(output).card["criterion"]["settings"]["allow_separation"] is True


@pytest.mark.parametrize("criterion", ["parity", "equalized-odds"])
def test_a_criterion_without_a_propensity_has_nothing_to_allow(criterion, place, tmp_path):
    flags = ["--criterion", criterion, "--allow-separation"]
    result = invoke("fit", place / "people.csv", *ROLES, *flags, "-o", tmp_path / "model")
    assert result.exit_code == 2
    found = " ".join(result.output.replace("│", " ").split())
    assert f"not to {criterion}, which needs no propensity" in found


def test_a_level_that_tells_the_sensitive_group_is_refused_by_name(tmp_path):
    table = people(missing=False)
    male = np.array(table["sex"].to_pylist()) == "Male"
    role = np.where(male, "man", np.where(np.arange(N) % 2 == 0, "wife", "aunt"))
    file = write(tmp_path / "role.csv", change(table, "team", role))
    found = complaint("fit", file, *ROLES, *FAST, "--engine", "logistic", "-o", tmp_path / "model")
    assert found.startswith("'team=man' is the same as the sensitive column in every row")


def test_a_column_of_rare_levels_gives_a_finite_logistic_model(tmp_path):
    rng = np.random.default_rng(0)
    code = [f"code {k}" for k in rng.integers(0, 150, N)]
    file = write(tmp_path / "rare.csv", people(missing=False).append_column("code", pa.array(code)))
    result = unsway("fit", file, *ROLES, "--engine", "logistic", "-o", tmp_path / "model")
    assert result.returncode == 0, result.stderr
    assert "l2=2.5e-03 was used" in result.stderr.replace("\n", " ")
    training = json.loads((tmp_path / "model" / "card.json").read_text())["training"]
    assert np.isfinite(list(training["metrics"]["train"].values())).all()


def test_strength_0_estimates_nothing_and_says_so(tmp_path):
    file = write(tmp_path / "people.csv", people())
    result = invoke("fit", file, *ROLES, "--strength", "0", "--threads", "1", "-o", tmp_path / "m")
    assert result.exit_code == 0, result.output
    assert "fair targets" not in result.stdout
    metrics = json.loads((tmp_path / "m" / "card.json").read_text())["training"]["metrics"]
    assert not {"fair_log_loss", "penalty"} & set(metrics["train"])
    assert "at strength 0 nothing" in (tmp_path / "m" / "card.md").read_text()


def test_a_column_that_names_people_is_refused(tmp_path):
    table = people().append_column("name", pa.array([f"person {k}" for k in range(N)]))
    found = complaint("fit", write(tmp_path / "names.csv", table), *ROLES, *FAST,
                      "-o", tmp_path / "model")  # fmt: skip
    assert found.startswith("column 'name' has 400 different words in 400 rows: too many for a")


def test_dates_are_refused_until_they_are_dropped(tmp_path):
    days = pa.array(np.arange(N).astype("datetime64[D]"))
    file = write(tmp_path / "dates.parquet", people().append_column("day", days))
    found = complaint("fit", file, *ROLES, *FAST, "-o", tmp_path / "model")
    assert found.startswith("column 'day' holds dates: neither numbers nor words")
    fit(file, tmp_path / "model", "--drop", "day")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--criterion", "parity", "--norm", "function"], "--norm belongs to --criterion direct"),
        (["--engine", "logistic", "--param", "eta=1"], "a logistic regression has no 'eta'; it"),
        (["--param", "eta"], "'eta' is not name=value"),
        (["--engine", "catboost"], "at most 1,000 rows"),
    ],
)
def test_flags_that_do_not_go_together_are_bad_usage(flags, expected, place, tmp_path):
    result = invoke("fit", place / "people.csv", *ROLES, *flags, "-o", tmp_path / "model")
    assert result.exit_code == 2
    assert expected in result.output


# --- refusals of predict -------------------------------------------------------------------------


def test_a_missing_or_renamed_column_is_refused_with_its_name(place, tmp_path):
    table = people()
    renamed = table.rename_columns(["Age" if n == "age" else n for n in table.column_names])
    file = write(tmp_path / "renamed.csv", renamed)
    found = complaint("predict", place / "xgboost", file, "-o", tmp_path / "out.csv")
    assert found.startswith("column 'age' is missing; did you mean 'Age'")
    assert os.listdir(tmp_path) == ["renamed.csv"]


@pytest.mark.parametrize("model", ["logistic", "xgboost"])
def test_a_column_that_changed_kind_is_refused(model, place, tmp_path):
    words = write(tmp_path / "words.csv", change(people(), "age", ["old"] * N))
    found = complaint("predict", place / model, words, "-o", tmp_path / "out.csv")
    assert found == "column 'age' held numbers in training and holds words now"
    numbers = write(tmp_path / "numbers.parquet", change(people(), "job", np.arange(N)))
    found = complaint("predict", place / model, numbers, "-o", tmp_path / "out.csv")
    assert found == "column 'job' held words in training and holds numbers now"


def test_other_predict_mistakes_are_refused(place, tmp_path):
    model, file, out = place / "xgboost", place / "people.csv", tmp_path / "out.csv"
    assert "there is no such folder" in complaint("predict", tmp_path / "no", file, "-o", out)
    assert "ends in .csv or .parquet" in complaint("predict", model, file, "-o", tmp_path / "a.txt")
    assert "give another name" in complaint("predict", model, file, "-o", file)
    assert "no column 'ag'; did you mean 'age'" in complaint(
        "predict", model, file, "-o", out, "--keep", "ag"
    )
    assert "choose --column" in complaint(
        "predict", model, file, "-o", out, "--keep", "age", "--column", "age"
    )
    missing = complaint("predict", place / "logistic", file, "-o", out)
    assert missing.startswith("column 'pay' has 58 missing numbers")
    assert os.listdir(tmp_path) == []


# --- files that cannot be read -------------------------------------------------------------------


def bad_files(folder):
    whole = (folder / "people.parquet").read_bytes()
    return {
        "gone.csv": (None, "there is no such file"),
        "empty.csv": (b"", "is empty"),
        "empty.parquet": (b"", "is empty"),
        "header.csv": (b"age,sex,hired\n", "has a header but no rows"),
        "ragged.csv": (f"a,b\n1,2\n{ELSEWHERE}\n".encode(), "row 2 below the header has 1 "
                       "fields and the header 2"),
        "twice.csv": (b"a,b,a\n1,2,3\n", "has more than one column named 'a'; rename one"),
        "cut.parquet": (whole[: len(whole) // 2], "cannot be read as Parquet"),
        "words.parquet": (b"a,b\n1,2\n" * 9, "cannot be read as Parquet"),
        "really.csv": (whole, "is a Parquet file; name it .parquet"),
        "people.xlsx": (whole, "cannot be read as a workbook"),
        "latin.csv": ("hired,sex,b\nyes,Male,ü\nno,Female,x\n".encode("latin1"), "it is not "
                      "comma-separated text in UTF-8"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gone.csv", "empty.csv", "empty.parquet", "header.csv",
                                  "ragged.csv", "twice.csv", "cut.parquet", "words.parquet",
                                  "really.csv", "people.xlsx", "latin.csv"])  # fmt: skip
def test_an_unreadable_file_is_refused_in_one_line_without_its_values(name, place, tmp_path):
    content, expected = bad_files(place)[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    found = complaint("fit", tmp_path / name, *ROLES, "-o", tmp_path / "model")
    assert expected in found
    assert ELSEWHERE not in found
    assert not (tmp_path / "model").exists()


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "people.csv").mkdir()
    found = complaint("fit", tmp_path / "people.csv", *ROLES, "-o", tmp_path / "model")
    assert found.endswith("is a folder; give a file, such as .csv or .parquet")


def test_the_row_names_of_pandas_are_no_feature(tmp_path):
    table = people().append_column("__index_level_0__", pa.array(np.arange(N)))
    assert "__index_level_0__" not in read_table(write(tmp_path / "a.parquet", table)).columns


# --- nothing half-written ------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", fail)
    monkeypatch.setattr(os, "replace", fail)


def test_a_full_disk_leaves_no_model(place, tmp_path, full_disk):
    found = complaint("fit", place / "people.csv", *ROLES, *FAST, "-o", tmp_path / "model")
    assert "No space left on device" in found
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_scores(place, tmp_path, full_disk):
    found = complaint("predict", place / "xgboost", place / "people.csv", "-o", tmp_path / "a.csv")
    assert "No space left on device" in found
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_replaced_only_with_overwrite(place, tmp_path):
    fit(place / "people.csv", tmp_path / "model")
    before = (tmp_path / "model" / "card.json").read_bytes()
    again = ["fit", place / "gone.csv", *ROLES, *FAST, "-o", tmp_path / "model"]
    assert "already holds a model" in complaint(*again)  # before it looks at the table
    assert "no such file" in complaint(*again, "--overwrite")
    assert (tmp_path / "model" / "card.json").read_bytes() == before
    fit(place / "whole.parquet", tmp_path / "model", "--engine", "logistic", "--overwrite")
    assert load_model(tmp_path / "model").card["engine"] == "logistic"
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_of_other_files_is_refused_before_any_work(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    found = complaint("fit", "gone.csv", *ROLES, "-o", tmp_path, "--overwrite")
    assert "is no model folder: it holds 'thesis.txt'" in found
    assert os.listdir(tmp_path) == ["thesis.txt"]


# --- whole commands in their own process ---------------------------------------------------------


def test_the_commands_run_from_the_shell(place, tmp_path):
    done = unsway("fit", place / "people.csv", *ROLES, *FAST, "-o", "deep/model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Model: deep/model" in done.stdout
    done = unsway("predict", "deep/model", place / "people.csv", "-o", "s.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{N} scores" in done.stdout
    done = unsway("predict", "deep/model", place / "people.csv", "-o", "q.csv", "--quiet",
                  cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bad_input_exits_with_1_and_one_line(tmp_path):
    done = unsway("fit", tmp_path / "no.csv", *ROLES, "-o", tmp_path / "model", "--quiet")
    expected = f"Error: {tmp_path / 'no.csv'}: there is no such file\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_without_pyarrow_csv_works_and_parquet_is_answered_by_the_pip_line(place, tmp_path):
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'pyarrow':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from unsway.cli import main; main()\n"
    )
    command = ["fit", *ROLES, *FAST, "--quiet", "-o", tmp_path / "m"]
    done = unsway(*command, place / "people.parquet", code=code)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install 'unsway[parquet]'")
    assert unsway(*command, place / "people.csv", code=code).returncode == 0
    scored = ["-o", tmp_path / "scores.csv", "--quiet"]
    done = unsway("predict", tmp_path / "m", place / "people.csv", *scored, code=code)
    assert done.returncode == 0, done.stderr


def test_ctrl_c_exits_with_130_and_leaves_nothing(place, tmp_path):
    code = (
        "import time\n"
        "from unsway.cli import fit\n"
        "def slow(*_, **__):\n"
        "    open('started', 'w').close()\n"
        "    time.sleep(60)\n"
        "fit.fit_held_out = slow\n"
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from unsway.cli import main; main()\n"
    )
    command = ["fit", str(place / "people.csv"), *ROLES, *FAST, "-o", "model"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    for _ in range(300):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert os.listdir(tmp_path) == ["started"]


@pytest.mark.parametrize(
    ("engine", "reason"),
    [("catboost", "at most 1,000 rows at a time"), ("forest", "not one of logistic, xgboost")],
)
def test_an_engine_that_is_not_offered_is_bad_usage(place, tmp_path, engine, reason):
    done = unsway("fit", place / "people.csv", *ROLES, "--engine", engine, "-o", tmp_path / "m")
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())
