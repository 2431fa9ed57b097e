import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from unsway.cli.app import app


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments))


def unsway(*arguments, cwd=None):
    code = "from unsway.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd
    )


def test_the_demo_prints_the_table_and_writes_the_report(tmp_path):
    result = unsway("demo", "--samples", "5000", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert all(model in result.stdout for model in ("blind", "parity", "direct effect"))
    assert "demo/report.html" in result.stdout
    report, story = (
        (tmp_path / "demo" / name).read_text(encoding="utf-8")
        for name in ("report.html", "story.html")
    )
    assert "A model that is not swayed" in report
    assert 'type="range"' in report
    assert "<svg" in story


def test_quiet_prints_nothing(tmp_path):
    result = unsway("demo", "--samples", "2000", "--quiet", "-o", str(tmp_path))
    assert result.returncode == 0
    assert (result.stdout, result.stderr) == ("", "")


def test_reproduce_synthetic_writes_the_figure_and_the_points(tmp_path):
    target = tmp_path / "deep" / "out.json"
    arguments = ["--samples", "5000", "--strengths", "0.9,0", "--json", str(target)]
    result = unsway("reproduce", "synthetic", *arguments, "-o", str(tmp_path / "figures"))
    assert result.returncode == 0, result.stderr
    points = json.loads(target.read_text())
    assert [(point["criterion"], point["strength"]) for point in points] == [
        ("direct_effect", 0.0),
        ("direct_effect", 0.9),
        ("parity", 0.0),
        ("parity", 0.9),
    ]
    assert (tmp_path / "figures" / "figure.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "figures" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "The paper's claims" in result.stdout


def test_one_seed_gives_one_result_and_another_seed_another(tmp_path):
    texts = []
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        target = tmp_path / f"{name}.json"
        invoke(
            "reproduce", "synthetic", "--samples", "2000", "--strengths", "0.5", "--seed", seed,
            "--json", str(target), "-o", str(tmp_path), "--quiet",
        )  # fmt: skip
        texts.append(target.read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("strengths", ["0,x", "1", "-0.1", "", "nan"])
def test_bad_strengths_are_bad_usage(strengths, tmp_path):
    result = invoke("reproduce", "synthetic", "--strengths", strengths, "-o", str(tmp_path))
    assert result.exit_code == 2
    assert "--strengths" in result.output
    assert list(tmp_path.iterdir()) == []


def test_bad_input_exits_with_1_and_one_line(tmp_path):
    result = unsway("demo", "--strength", "1.5", "-o", str(tmp_path / "demo"), "--quiet")
    assert result.returncode == 1
    assert result.stderr.strip() == "Error: strength must be at least 0 and below 1; got 1.5"


def test_debug_shows_where_an_error_came_from(tmp_path):
    result = unsway("--debug", "demo", "--strength", "1.5", "-o", str(tmp_path))
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_an_output_that_cannot_be_written_is_refused_at_once(tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file")
    result = unsway("reproduce", "synthetic", "--json", str(blocked / "out.json"), cwd=tmp_path)
    assert result.returncode == 1
    assert "Error" in result.stderr
    assert "Fitting" not in result.stderr


def test_an_unknown_command_is_bad_usage():
    result = unsway("vanish")
    assert result.returncode == 2
    assert "No such command 'vanish'" in result.stderr


def test_without_the_command_line_extra_the_error_ends_with_the_pip_line():
    code = "import sys; sys.modules['click'] = None\nfrom unsway.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.strip().endswith("pip install 'unsway[cli]'")


def test_help_and_version_answer():
    assert "demo" in invoke("--help").output
    assert "unsway" in invoke("--version").output
