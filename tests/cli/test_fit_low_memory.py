"""``unsway fit --low-memory`` gives the folder that ``unsway fit`` gives."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from unsway import make_synthetic
from unsway.cli.app import app
from unsway.models.folder import load_model

pytest.importorskip("xgboost")

ROLES = ["--target", "hired", "--positive", "yes", "--sensitive", "sex=Male", "--drop", "race"]
QUICK = ["--threads", "1", "--param", "max_depth=2", "--param", "eta=0.5", "--quiet"]


@pytest.fixture(scope="module")
def table():
    data = make_synthetic(600, random_state=0)
    X = np.round(data.X[:, :6], 1)
    return pa.table(
        {
            **{f"x{k}": X[:, k] for k in range(6)},
            "job": np.where(X[:, 0] > 0, "cook", "clerk"),
            "race": np.where(X[:, 1] > 0, "a", "b"),
            "sex": np.where(data.z == 1, "Male", "Female"),
            "hired": np.where(data.y == 1, "yes", "no"),
        }
    )


def fit(file, output, *more):
    arguments = ["fit", file, *ROLES, *QUICK, *more, "-o", output]
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("criterion", ["fair-target", "parity"])
def test_low_memory_writes_the_same_model_and_figures(table, criterion, tmp_path):
    parquet.write_table(table, tmp_path / "people.parquet", row_group_size=100)
    cards, scores = [], []
    for name, more in (("plain", []), ("low", ["--low-memory"])):
        file = tmp_path / "people.parquet"
        result = fit(file, tmp_path / name, "--criterion", criterion, *more)
        assert result.exit_code == 0, result.output
        card = json.loads((tmp_path / name / "card.json").read_text())
        cards.append({key: card[key] for key in card if key not in ("created", "files")})
        model = load_model(tmp_path / name)
        scores.append(model.predict_proba(table)[:, 1])
        assert model.share_trained_on(table) == 1
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-6)
    assert cards[0].keys() == cards[1].keys()
    assert cards[0]["roles"] == cards[1]["roles"]
    plain, low = (card["training"] for card in cards)
    assert plain["rounds"] == low["rounds"]
    for part in ("train", "validation"):
        assert plain["metrics"][part] == pytest.approx(low["metrics"][part], abs=1e-6)


def test_a_folder_of_files_is_read_as_one_table(table, tmp_path):
    (tmp_path / "parts").mkdir()
    parquet.write_table(table.slice(0, 250), tmp_path / "parts" / "a.parquet")
    parquet.write_table(table.slice(250), tmp_path / "parts" / "b.parquet")
    result = fit(tmp_path / "parts", tmp_path / "m", "--criterion", "parity", "--low-memory")
    assert result.exit_code == 0, result.output
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    assert card["training"]["rows"] == 600


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "lightgbm"], "trains with --engine xgboost, not with lightgbm"),
        (["--drop", "gone"], "--drop: there is no column 'gone'"),
        (["--sensitive", "sex=Other"], "has no value 'Other'; it has 'Female', 'Male'"),
        (["--weights", "sex"], "--weights 'sex' is the target or the sensitive column"),
        (["--param", "tree_method=exact"], "'hist' alone"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(table, more, message, tmp_path):
    parquet.write_table(table, tmp_path / "people.parquet")
    result = fit(tmp_path / "people.parquet", tmp_path / "m", "--low-memory", *more)
    assert result.exit_code != 0
    assert message in " ".join((result.output + str(result.exception)).split())
    assert not (tmp_path / "m").exists()


def test_a_csv_file_is_refused_with_what_to_do(table, tmp_path):
    csv.write_csv(table, tmp_path / "people.csv")
    result = fit(tmp_path / "people.csv", tmp_path / "m", "--low-memory")
    assert result.exit_code != 0
    assert "write the table as .parquet first" in result.output + str(result.exception)


def test_words_that_name_rows_are_refused(table, tmp_path):
    names = table.append_column("name", pa.array([f"person {k}" for k in range(600)]))
    parquet.write_table(names, tmp_path / "people.parquet")
    result = fit(tmp_path / "people.parquet", tmp_path / "m", "--low-memory")
    assert result.exit_code != 0
    assert "'name' has 600 different words in 600 rows" in result.output + str(result.exception)
