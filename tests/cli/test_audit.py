"""``unsway audit`` on real files."""

import csv as csv_module
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from unsway.auditing import audit
from unsway.cli.app import app

N = 400
MALE, FEMALE, YES = "[red]M", "=cmd<b>", "[/yes] $(id)"
ROLES = ["--target", "hired", "--positive", YES, "--sensitive", f"sex={MALE}"]
FAST = ["--bootstrap", "5"]


def people(seed=0):
    rng = np.random.default_rng(seed)
    male = rng.random(N) < 0.5
    age = np.round(rng.normal(40, 8, N) + 4 * male, 3)
    hired = rng.random(N) < 1 / (1 + np.exp(-(age - 42) / 8 - male))
    return pa.table(
        {
            "age [x]": age,
            "job": rng.choice(["clerk", "cook"], N),
            "weight": rng.uniform(0.5, 2, N),
            "score": np.round(1 / (1 + np.exp(-(age - 42) / 8)), 4),
            "flat": np.round(rng.uniform(0.4, 0.6, N), 4),
            "sex": np.where(male, MALE, FEMALE),
            "hired": np.where(hired, YES, "no"),
        }
    )


@pytest.fixture
def table():
    return people()


@pytest.fixture
def file(tmp_path, table):
    parquet.write_table(table, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)], catch_exceptions=True)


def expected(table, score="score", X=None, **more):
    y = np.array(table["hired"].to_pylist()) == YES
    z = np.array(table["sex"].to_pylist()) == MALE
    return audit(
        y, table[score].to_numpy(), sensitive_features=z, X=X, **{"n_bootstrap": 5, **more}
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("done")
    file = tmp_path / "people.parquet"
    parquet.write_table(people(), file)
    outputs = ["--json", tmp_path / "audit.json", "--csv", tmp_path / "new" / "metrics.csv"]
    scores = ["--scores", "column:score", "--baseline", "column:flat", "--drop", "weight"]
    thresholds = ["--threshold", 0.5, "--threshold", 0.6]
    result = run(file, *ROLES, *scores, *thresholds, *FAST, *outputs)
    assert result.exit_code == 0, result.output
    return result, json.loads((tmp_path / "audit.json").read_text("utf-8")), tmp_path


def test_the_numbers_are_those_of_the_function(done, table):
    _, data, _ = done
    X = table.select(["age [x]", "job"])
    wanted = expected(table, X=X, threshold=[0.5, 0.6], baseline=table["flat"].to_numpy())
    numbers = [[row["estimate"], row["low"]] for row in data["metrics"]]
    assert numbers == [[e.estimate, e.low] for e in wanted.metrics.entries.values()]
    assert data["causal"]["direct_effect_left"] == wanted.causal.direct_effect_left.to_dict()
    assert data["comparison"]["reference"] == "baseline"


def test_scores_are_no_covariates(done):
    columns = done[1]["causal"]["balance"]["raw"]["columns"]
    assert "age [x]" in columns
    assert not {"score", "flat"} & set(columns)


def test_names_are_printed_as_they_are(done):
    result, data, _ = done
    assert f"z=1 is {MALE}" in result.output
    assert f"The label is {YES}" in result.output
    assert data["sensitive"] == {"name": "sex", "levels": [FEMALE, MALE]}


def test_the_csv_holds_no_formula(done):
    with (done[2] / "new" / "metrics.csv").open(encoding="utf-8", newline="") as opened:
        rows = list(csv_module.DictReader(opened))
    assert {row["level"] for row in rows} == {"", MALE, f"'{FEMALE}"}
    assert len(rows) == len(done[1]["metrics"])


def test_scores_may_be_in_a_file_of_their_own(tmp_path, file, table):
    csv.write_csv(table.select(["flat"]).rename_columns(["mine"]), tmp_path / "scores.csv")
    result = run(file, *ROLES, "--scores", tmp_path / "scores.csv", "--no-effects", *FAST,
                 "--json", tmp_path / "audit.json", "--quiet")  # fmt: skip
    assert (result.exit_code, result.output) == (0, "")
    data = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    wanted = expected(table, "flat").metrics.entries.values()
    assert [row["estimate"] for row in data["metrics"]] == [each.estimate for each in wanted]
    assert data["missing"].startswith("X was not given")


def test_a_model_folder_scores_the_rows(tmp_path, file):
    model = tmp_path / "model"
    fitted = CliRunner().invoke(app, [
        "fit", str(file), *ROLES, "--drop", "weight,score,flat", "--engine", "logistic",
        "--criterion", "parity", "-o", str(model), "--quiet",
    ])  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    scored = CliRunner().invoke(
        app, ["predict", str(model), str(file), "-o", str(tmp_path / "s.parquet"), "--quiet"]
    )
    assert scored.exit_code == 0, scored.output
    found = []
    for place in (model, tmp_path / "s.parquet"):
        result = run(file, *ROLES, "--scores", place, "--no-effects", *FAST, "--quiet",
                     "--allow-training-rows", "--json", tmp_path / "audit.json")  # fmt: skip
        assert result.exit_code == 0, result.output
        found.append(json.loads((tmp_path / "audit.json").read_text("utf-8")))
    assert found[0]["metrics"] == found[1]["metrics"]
    assert found[0]["training_rows"] == {"share": 1.0}
    assert "The model was trained on 100% of these rows" in found[0]["verdict"]
    assert found[1]["training_rows"] is None
    about = found[0]["about"]
    assert (about["file"], about["model"]) == ("people.parquet", "model")
    assert len(about["model id"]) == 12
    assert about["features used"] == "2: age [x], job"
    assert about["columns dropped"] == "none"
    assert str(tmp_path) not in json.dumps(about)


@pytest.mark.parametrize(("value", "good"), [(YES, YES), ("no", f"not {YES}")])
def test_the_label_that_is_good_for_a_person_may_be_either(tmp_path, file, value, good):
    result = run(file, *ROLES, "--scores", "column:score", "--no-effects", *FAST, "--favourable",
                 value, "--json", tmp_path / "audit.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    assert data["settings"]["favourable"] == good
    assert good in data["classes"]


def test_a_label_that_the_target_lacks_is_not_good_for_anyone(file):
    result = run(file, *ROLES, "--scores", "column:score", "--favourable", "maybe")
    assert result.exit_code == 1
    assert "--favourable: the target 'hired' has" in str(result.exception)


@pytest.mark.parametrize("engine", ["logistic", "xgboost"])
def test_a_model_folder_refuses_its_training_rows_and_takes_others(tmp_path, file, engine):
    model, fresh = tmp_path / "model", tmp_path / "fresh.parquet"
    parquet.write_table(people(1), fresh)
    fitted = CliRunner().invoke(app, [
        "fit", str(file), *ROLES, "--drop", "weight,score,flat", "--engine", engine,
        "--criterion", "parity", "-o", str(model), "--quiet",
    ])  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    csv.write_csv(people(), tmp_path / "copy.csv")  # the same rows in another format
    for seen in (file, tmp_path / "copy.csv"):
        result = run(seen, *ROLES, "--drop", "score", "--scores", model, "--no-effects", *FAST)
        assert isinstance(result.exception, ValueError)
        assert "trained on 100% of these rows" in str(result.exception)
        assert "--allow-training-rows" in str(result.exception)
    result = run(fresh, *ROLES, "--scores", model, "--no-effects", *FAST,
                 "--json", tmp_path / "audit.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "audit.json").read_text("utf-8"))["training_rows"]["share"] == 0


def test_weights_count(tmp_path, file, table):
    result = run(file, *ROLES, "--scores", "column:score", "--weights", "weight", "--no-effects",
                 *FAST, "--json", tmp_path / "a.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "a.json").read_text("utf-8"))["metrics"]
    rate = next(row for row in rows if row["metric"] == "base_rate")["estimate"]
    y = np.array(table["hired"].to_pylist()) == YES
    assert rate == pytest.approx(np.average(y, weights=table["weight"].to_numpy()))


def test_without_effects_the_text_says_what_is_missing(file):
    result = run(file, *ROLES, "--scores", "column:score", "--no-effects", "--bootstrap", 0)
    assert result.exit_code == 0, result.output
    assert "No causal part: X was not given" in result.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--scores", "column:scor"], "--scores: there is no column 'scor'"),
        (["--scores", "column:job"], "--scores: column 'job' holds words"),
        (["--scores", "column:age [x]"], "looks like margins"),
        (["--scores", "nowhere"], "'nowhere': there is no such folder"),
        (["--scores", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--scores", "."], "is no model folder"),
        (["--scores", "column:hired"], "the column of --target too"),
        (["--scores", "column:score", "--target", "hire"], "there is no column 'hire'"),
        (["--scores", "column:score", "--sensitive", "sex=Other"], "has no value 'Other'"),
        (["--scores", "column:score", "--baseline", "column:x"], "--baseline: there is no column"),
    ],
)
def test_a_mistake_is_named_and_leaves_nothing(tmp_path, file, change, message):
    before = sorted(os.listdir(tmp_path))
    result = run(file, *ROLES, *change, *FAST, "--json", tmp_path / "new" / "a.json", "--quiet")
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert sorted(os.listdir(tmp_path)) == before


def test_scores_of_other_rows_are_refused(tmp_path, file, table):
    parquet.write_table(table.select(["score"]).slice(0, 10), tmp_path / "few.parquet")
    result = run(file, *ROLES, "--scores", tmp_path / "few.parquet", *FAST)
    assert "10 scores for 400 rows" in str(result.exception)


def test_a_file_of_several_columns_must_name_its_scores(tmp_path, file, table):
    parquet.write_table(table.select(["flat", "weight"]), tmp_path / "two.parquet")
    result = run(file, *ROLES, "--scores", tmp_path / "two.parquet", *FAST)
    assert "has 2 columns, none named 'score'" in str(result.exception)


def test_missing_scores_are_refused(tmp_path, file, table):
    holes = pa.table({"score": [None, *table["score"].to_pylist()[1:]]})
    parquet.write_table(holes, tmp_path / "holes.parquet")
    result = run(file, *ROLES, "--scores", tmp_path / "holes.parquet", *FAST)
    assert "1 of 400 scores are missing" in str(result.exception)


def test_the_report_is_one_page(tmp_path, file):
    pytest.importorskip("altair")
    result = run(file, *ROLES, "--scores", "column:score", "--no-effects", *FAST, "-o",
                 tmp_path / "report.html")  # fmt: skip
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert FEMALE not in text
    assert "=cmd&lt;b&gt;" in text


def test_a_report_that_cannot_be_made_is_refused_before_any_work(tmp_path, file, monkeypatch):
    monkeypatch.setattr("unsway.cli.audit.REPORT_PACKAGES", ("no_such_package",))
    call = [file, *ROLES, "--scores", "column:score", "--json", tmp_path / "a.json", "-o"]
    result = run(*call, tmp_path / "report.html")
    assert str(result.exception).endswith("run: pip install 'unsway[report]'")
    assert run(*call, tmp_path / "report.pdf").exit_code == 2
    assert os.listdir(tmp_path) == ["people.parquet"]


def test_one_resample_is_refused(file):
    result = run(file, *ROLES, "--scores", "column:score", "--bootstrap", 1)
    assert result.exit_code == 2
    assert "one resample has no spread" in result.output


def test_an_audit_counts_clusters_in_place_of_rows(tmp_path, table):
    twice = pa.concat_tables([table, table]).append_column("person", pa.array([*range(N)] * 2))
    parquet.write_table(twice, tmp_path / "twice.parquet")
    totals = {}
    for name, more in (("rows", ["--drop", "person"]), ("people", ["--cluster", "person"])):
        output = ["--drop", "flat,score", "--bootstrap", "0", "--json", tmp_path / f"{name}.json"]
        output += ["--scores", "column:score"]
        done = run(tmp_path / "twice.parquet", *ROLES, *more, *output)
        assert done.exit_code == 0, done.output
        found = json.loads((tmp_path / f"{name}.json").read_text())
        totals[name] = found["causal"]["labels"]["total"]["se"]
    assert totals["people"] == pytest.approx(totals["rows"] * 2**0.5, rel=0.01)
