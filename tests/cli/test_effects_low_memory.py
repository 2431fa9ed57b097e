"""``unsway effects --low-memory``: effects on rows that stay in their files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from unsway import make_synthetic
from unsway.cli.app import app
from unsway.effects import MEANINGS

pytest.importorskip("xgboost")

N = 2_000
ROLES = ["--target", "hired", "--positive", "yes", "--sensitive", "sex=Male", "--jobs", "1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the same people as one Parquet file, as two, and as CSV."""
    folder, data = tmp_path_factory.mktemp("people"), make_synthetic(N, random_state=0)
    table = pa.table(
        {
            **{f"x{k}": np.round(data.X[:, k], 2) for k in range(6)},
            "job": np.where(data.X[:, 0] > 0, "cook", "clerk"),
            "sex": np.where(data.z == 1, "Male", "Female"),
            "hired": np.where(data.y == 1, "yes", "no"),
        }
    )
    parquet.write_table(table, folder / "people.parquet")
    csv.write_csv(table, folder / "people.csv")
    (folder / "parts").mkdir()
    for number in range(2):
        part = table.slice(number * N // 2, N // 2)
        parquet.write_table(part, folder / "parts" / f"{number}.parquet")
    return folder


def run(file, *more):
    arguments = ["effects", file, *ROLES, "--low-memory", *more]
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "100"})


def test_one_file_and_a_folder_of_parts_give_the_same_numbers(place, tmp_path):
    found = []
    for name in ("people.parquet", "parts"):
        result = run(place / name, "--json", tmp_path / f"{name}.json")
        assert result.exit_code == 0, result.output
        assert "What sex = Male rather than Female does to hired = yes" in result.output
        found.append(json.loads((tmp_path / f"{name}.json").read_text()))
    for name in MEANINGS:
        assert found[0][name]["estimate"] == pytest.approx(found[1][name]["estimate"], abs=1e-6)
    assert found[0]["settings"]["n_rows"] == N
    assert found[0]["verdict"] == found[1]["verdict"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--method", "weighting"], "without --method"),
        (["--bootstrap", "10"], "without --interval bootstrap"),
        (["--repeats", "2"], "without --repeats"),
        (["--cluster", "job"], "without --cluster"),
    ],
)
def test_what_files_do_not_allow_is_refused_before_they_are_read(place, more, message):
    result = run(place / "people.parquet", *more)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_table_that_is_read_whole_is_refused(place):
    result = run(place / "people.csv")
    assert isinstance(result.exception, ValueError)
    assert "write the table as .parquet first" in str(result.exception)


def test_words_that_name_rows_are_refused(place, tmp_path):
    table = parquet.read_table(place / "people.parquet")
    names = table.append_column("name", pa.array([f"person {k}" for k in range(N)]))
    parquet.write_table(names, tmp_path / "people.parquet")
    result = run(tmp_path / "people.parquet")
    assert "'name' has 2,000 different words in 2,000 rows" in str(result.exception)
