"""``unsway pack`` and ``unsway verify``: every number comes out again, and any change is found."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from unsway import FairLogisticRegression, make_synthetic
from unsway.cli.app import app
from unsway.models.folder import save_model

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("altair")


def run(*words):
    return CliRunner().invoke(app, [str(each) for each in words], standalone_mode=False)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    people = make_synthetic(900, random_state=0)
    frame = pandas.DataFrame(people.X[:, :4], columns=list("abcd"))
    frame["sex"] = np.where(people.z == 1, "men", "women")
    frame["hired"] = people.y
    frame["score"] = people.fair_score
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def packed(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packs") / "pack"
    done = run(
        "pack", table, "--target", "hired", "--sensitive", "sex=men", "--scores", "column:score",
        "--bootstrap", 20, "--approval-rate", 0.3, "-o", folder,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def pack(packed, tmp_path):
    return shutil.copytree(packed, tmp_path / "pack")


def test_every_number_of_a_pack_comes_out_again(packed):
    done = run("verify", packed)
    assert done.return_value == 0, done.output
    assert "FAIL" not in done.output
    assert "values of audit.json" in done.output
    assert "values of impact.json" in done.output


def test_a_pack_holds_no_sensitive_value_of_a_row(packed):
    content = json.loads((packed / "pack.json").read_text("utf-8"))
    assert set(content["files"]) == {"scores.csv", "audit.json", "impact.json", "report.html"}
    scores = pandas.read_csv(packed / "scores.csv")
    assert list(scores.columns) == ["score"]


def change_number(pack, name):
    """Change a number of a file, and write its hash anew, as a careful forger would."""
    from hashlib import sha256

    from unsway.models.card_check import with_checksum

    content = json.loads((pack / name).read_text("utf-8"))
    lines = content["metrics"] if name == "audit.json" else content["findings"]
    lines[0]["estimate"] += 0.001
    (pack / name).write_text(json.dumps(content, indent=1))
    about = json.loads((pack / "pack.json").read_text("utf-8"))
    about["files"][name] = sha256((pack / name).read_bytes()).hexdigest()
    about.pop("sha256", None)
    about.pop("checksum", None)
    (pack / "pack.json").write_text(json.dumps(with_checksum(about)))


@pytest.mark.parametrize("name", ["audit.json", "impact.json"])
def test_a_changed_number_is_found_even_where_its_hash_is_right(pack, table, name):
    change_number(pack, name)
    done = run("verify", pack, "--table", table)
    assert done.return_value == 1
    assert "FAIL" in done.output
    assert "estimate was" in done.output


@pytest.mark.parametrize("name", ["scores.csv", "audit.json", "impact.json", "report.html"])
def test_a_changed_file_is_found_by_its_hash(pack, table, name):
    with (pack / name).open("ab") as file:
        file.write(b" ")
    done = run("verify", pack, "--table", table)
    assert done.return_value == 1
    assert f"FAIL  hash of {name}: it has changed" in done.output


def test_another_table_is_found(pack, table, tmp_path):
    frame = pandas.read_csv(table)
    frame.loc[0, "hired"] = 1 - frame.loc[0, "hired"]
    frame.to_csv(tmp_path / "other.csv", index=False)
    done = run("verify", pack, "--table", tmp_path / "other.csv")
    assert done.return_value == 1
    assert "FAIL  hash of the table" in done.output
    assert "values of audit.json: " in done.output


def test_a_missing_table_or_file_and_a_foreign_file_are_found(pack, tmp_path):
    (pack / "report.html").unlink()
    (pack / "more.txt").write_text("")
    done = run("verify", pack, "--table", tmp_path / "nowhere.csv")
    assert done.return_value == 1
    assert "hash of report.html: the file is missing" in done.output
    assert "more.txt is not one of them" in done.output
    assert "nowhere.csv is not there" in done.output


def test_a_damaged_list_of_files_is_refused(pack):
    (pack / "pack.json").write_text("{")
    assert "is damaged" in str(run("verify", pack).exception)
    (pack / "pack.json").unlink()
    assert "is no pack" in str(run("verify", pack).exception)


def test_a_pack_of_a_model_folder_has_its_card(table, tmp_path):
    frame = pandas.read_csv(table)
    model = FairLogisticRegression().fit(
        make_synthetic(900, random_state=5).X[:, :4],
        make_synthetic(900, random_state=5).y,
        sensitive_features=make_synthetic(900, random_state=5).z,
    )
    from unsway.models.features import Feature

    save_model(model, tmp_path / "model", features=[Feature(name, "number") for name in "abcd"])
    frame.drop(columns="score").to_csv(tmp_path / "people.csv", index=False)
    done = run(
        "pack", tmp_path / "people.csv", "--target", "hired", "--sensitive", "sex=men",
        "--scores", tmp_path / "model", "--bootstrap", 0, "--no-effects", "-o", tmp_path / "pack",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (tmp_path / "pack" / "card.md").exists()
    done = run("verify", tmp_path / "pack")
    assert done.return_value == 0, done.output


def test_a_folder_that_is_not_empty_is_not_written_over(table, packed):
    done = run(
        "pack", table, "--target", "hired", "--sensitive", "sex=men", "--scores", "column:score",
        "-o", packed,
    )  # fmt: skip
    assert "is not an empty folder" in str(done.exception)
