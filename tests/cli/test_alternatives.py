"""``unsway alternatives``: a search from a file to a page, continued and refused."""

import json
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from unsway import make_synthetic
from unsway.cli.app import app

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    people = make_synthetic(1_200, random_state=0)
    columns = {f"x{k}": people.X[:, k] for k in range(16)}
    columns |= {
        "job": ["cook" if each > 0 else "clerk" for each in people.X[:, 0]],
        "sex": ["m&n" if each else "women" for each in people.z],
        "hired": people.y,
    }
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def run(table, output, *more):
    words = ["alternatives", table, "--target", "hired", "--sensitive", "sex=m&n", "-o", output]
    given = ["--engine", "logistic", "--max-utility-loss", "0.1", *more]
    return CliRunner().invoke(app, [str(each) for each in (*words, *given)])


def test_a_search_writes_record_table_report_and_model(table, tmp_path):
    pytest.importorskip("altair")
    done = run(table, tmp_path / "out", "--candidates", 4, "--without", "x0")
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "out" / "alternatives.json").read_text("utf-8"))
    assert len(record["candidates"]) == 4
    assert "without x0" in record["space"]["features"]
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Less discriminatory alternatives" in html
    assert "m&amp;n against women" in html
    assert (tmp_path / "out" / "chosen" / "card.json").exists()
    assert (tmp_path / "out" / "alternatives.csv").exists()
    assert "because all 4 candidates were tried" in done.output.replace("\n", " ")
    again = run(table, tmp_path / "out", "--candidates", 5, "--without", "x0", "--quiet")
    assert again.exit_code == 0, again.output
    more = json.loads((tmp_path / "out" / "alternatives.json").read_text("utf-8"))
    assert more["candidates"][:4] == record["candidates"]
    assert len(more["candidates"]) == 5


def test_the_chosen_model_scores_the_table(table, tmp_path):
    done = run(table, tmp_path / "out", "--candidates", 2)
    assert done.exit_code == 0, done.output
    words = ["predict", tmp_path / "out" / "chosen", table, "-o", tmp_path / "scores.csv"]
    scored = CliRunner().invoke(app, [str(each) for each in words])
    assert scored.exit_code == 0, scored.output


def test_a_column_that_is_not_there_is_named(table, tmp_path):
    done = run(table, tmp_path / "out", "--without", "nine")
    assert isinstance(done.exception, ValueError)
    assert "--without: there is no column 'nine'" in str(done.exception)


@pytest.mark.slow
def test_a_killed_search_keeps_every_finished_candidate(table, tmp_path):
    output = tmp_path / "out"
    words = ["alternatives", table, "--target", "hired", "--sensitive", "sex=m&n", "-o", output]
    words += ["--engine", "logistic", "--max-utility-loss", "0.1", "--candidates", "12"]
    command = [sys.executable, "-c", "from unsway.cli import main; main()", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 300
        while len(list(output.glob("models/*/row.json"))) < 3 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
    assert process.returncode != 0
    times = {path: path.stat().st_mtime_ns for path in output.glob("models/*/*")}
    done = run(table, output, "--candidates", 12, "--quiet")
    assert done.exit_code == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in times} == times  # none is trained again
    whole = run(table, tmp_path / "whole", "--candidates", 12, "--quiet")
    assert whole.exit_code == 0, whole.output
    one, other = (
        json.loads((folder / "alternatives.json").read_text("utf-8"))["candidates"]
        for folder in (output, tmp_path / "whole")
    )
    assert [{**each, "seconds": 0} for each in one] == [{**each, "seconds": 0} for each in other]
