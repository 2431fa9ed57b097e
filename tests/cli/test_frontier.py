"""``unsway frontier`` from a file to a table, a figure, models and the chosen one."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unsway import make_synthetic
from unsway.cli.app import app
from unsway.models.folder import load_model
from unsway.sweeps import Frontier


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    write_people(path, 800, 0)
    return path


def write_people(path, rows, seed):
    people = make_synthetic(rows, random_state=seed)
    table = pd.DataFrame(people.X[:, ::3]).rename(columns=lambda k: f"x{k}")
    table["job"] = np.where(people.X[:, 0] > 0, "clerk", "smith")
    table["hired"], table["sex"] = people.y, np.where(people.z == 1, "M", "F")
    table.to_csv(path, index=False)


def run(file, output, *more, status=0):
    roles = ("--target", "hired", "--sensitive", "sex=M")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overlap is poor, and the app prints that
        arguments = ["frontier", str(file), *roles, "-o", str(output), *more]
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == status, result.output
    return result


LOGISTIC = ("--engine", "logistic", "--criterion", "parity", "--strengths", "0,0.5,0.9")


def test_a_file_becomes_table_figure_models_and_choice(file, tmp_path):
    result = run(file, tmp_path / "out", *LOGISTIC, "--max-accuracy-loss", "1")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "about.json", "chosen", "frontier.csv", "frontier.html", "frontier.svg", "models",
        "sweep.json",
    }  # fmt: skip
    table = pd.read_csv(tmp_path / "out" / "frontier.csv")
    assert list(table["part"]) == ["train", "validation", "test"] * 3
    assert table["rows"][:3].sum() == 800
    assert table["direct_effect_left"].isna().tolist() == [True, False, False] * 3
    found = Frontier.load(tmp_path / "out")
    chosen = found.select(max_accuracy_loss=1)
    card = load_model(tmp_path / "out" / "chosen").card
    assert card["strength"] == chosen.strength
    assert card["roles"]["sensitive_levels"] == ["F", "M"]
    assert card["training"]["metrics"]["test"]["accuracy"] == chosen.test_figures["accuracy"]
    assert "<svg" in (tmp_path / "out" / "frontier.svg").read_text()
    assert f"Chosen: strength {chosen.strength:g}" in result.stdout


def test_the_decision_on_the_chosen_model_is_printed_and_opens_the_report(file, tmp_path):
    stated = ["--favourable", "0", "--margin", "0.3"]
    result = run(file, tmp_path / "out", *LOGISTIC, *stated)
    point = Frontier.load(tmp_path / "out").select().point
    decision = point.decision("test", ("F", "M"), scored="1", favourable="0", margin=0.3)
    assert decision.headline in " ".join(result.stdout.split())
    assert decision.state != "below margin"  # overlap and balance were not checked
    html = (tmp_path / "out" / "frontier.html").read_text("utf-8")
    assert decision.headline in html


def test_the_chosen_model_predicts_from_its_folder(file, tmp_path):
    run(file, tmp_path / "out", *LOGISTIC, "--quiet")
    scores = tmp_path / "scores.csv"
    result = CliRunner().invoke(
        app, ["predict", str(tmp_path / "out" / "chosen"), str(file), "-o", str(scores)]
    )
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(scores)) == 800


def test_the_same_command_again_adds_what_is_new(file, tmp_path):
    run(file, tmp_path / "out", *LOGISTIC[:4], "--strengths", "0,0.9", "--quiet")
    before = (tmp_path / "out" / "models" / "0.9" / "row.json").stat().st_mtime_ns
    result = run(file, tmp_path / "out", *LOGISTIC, "--quiet")
    assert result.stdout == ""
    assert Frontier.load(tmp_path / "out").strengths == (0.0, 0.5, 0.9)
    assert (tmp_path / "out" / "models" / "0.9" / "row.json").stat().st_mtime_ns == before


def test_rows_to_judge_by_can_come_from_another_file(file, tmp_path):
    other = tmp_path / "other.csv"
    write_people(other, 700, 5)
    run(file, tmp_path / "out", *LOGISTIC, "--test", str(other), "--quiet")
    assert Frontier.load(tmp_path / "out").parts["test"]["rows"] == 700


def test_a_booster_takes_the_table_as_it_is(file, tmp_path):
    run(
        file, tmp_path / "out", "--engine", "lightgbm", "--criterion", "parity", "--strengths",
        "0,0.9", "--param", "max_depth=2", "--threads", "1", "--test-fraction", "0", "--quiet",
    )  # fmt: skip
    card = json.loads((tmp_path / "out" / "chosen" / "card.json").read_text())
    assert card["engine"] == "lightgbm"
    assert "test" not in Frontier.load(tmp_path / "out").parts


def test_a_near_copy_is_swept_and_judged_if_the_user_asks_for_it(file, tmp_path):
    table = pd.read_csv(file)
    noise = np.random.default_rng(0).normal(size=len(table))
    near = tmp_path / "near.csv"
    table.assign(code=(table["sex"] == "M") + 0.01 * noise).to_csv(near, index=False)
    flags = ["--engine", "lightgbm", "--strengths", "0,1", "--param", "verbosity=-1", "--quiet"]
    run(near, tmp_path / "out", *flags, "--allow-separation")
    found = Frontier.load(tmp_path / "out")
    assert found.strengths == (0.0, 1.0)
    assert "direct_effect_left" in found.points[0].parts["test"]
    refused = run(near, tmp_path / "no", *flags, status=1)
    assert "'code' predicts it" in str(refused.exception)


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (("--strengths", "0,much"), 2, "is no list of numbers such as 0,0.5,0.9"),
        (("--criterion", "nonsense"), 2, "'nonsense' is not one of"),
        (("--engine", "catboost"), 2, "CatBoost hands an objective"),
        (("--choose", "knee", "--max-direct-effect", "0.1"), 2, "takes no limit"),
        (("--cv", "1"), 2, "--cv"),
    ],
)
def test_bad_usage_is_refused_before_any_work(more, status, words, file, tmp_path):
    result = run(file, tmp_path / "out", *more, status=status)
    assert words in result.output
    assert not (tmp_path / "out").exists()


def test_a_finished_folder_that_cannot_be_written_is_shown(file, tmp_path, monkeypatch):
    run(file, tmp_path / "out", *LOGISTIC, "--quiet")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)  # also as root
    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    shown = run(file, tmp_path / "out", *LOGISTIC).output
    assert "cannot be written: table, figure and chosen model stay as they are" in shown
    assert "Chosen: " in shown


def test_a_store_of_another_file_is_refused(file, tmp_path):
    run(file, tmp_path / "out", *LOGISTIC, "--quiet")
    other = tmp_path / "other.csv"
    write_people(other, 800, 5)
    result = run(other, tmp_path / "out", *LOGISTIC, "--quiet", status=1)
    assert isinstance(result.exception, ValueError)
    assert "data.training rows.X has other values" in str(result.exception)


@pytest.mark.slow
def test_ctrl_c_leaves_a_store_and_says_how_to_go_on(file, tmp_path):
    output = tmp_path / "out"
    code = (  # Ctrl-C is ignored where the tests run under nohup or in the background
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from unsway.cli import main; main()\n"
    )
    command = [
        sys.executable, "-c", code, "frontier", str(file),
        "--target", "hired",
        "--sensitive", "sex=M", "--criterion", "parity", "--param", "eta=0.01", "--threads", "1",
        "-o", str(output),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "400"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        deadline = time.monotonic() + 120
        while not list(output.glob("models/*/row.json")) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        shown = process.stderr.read()
    assert process.returncode == 130
    assert f"what is finished is kept in {output}; to go on: unsway frontier {file}" in shown
    assert Frontier.load(output).strengths[0] == 0.0
