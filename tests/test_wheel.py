"""The wheel, installed into an empty environment, does what the README's first lines promise."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import unsway
from unsway.datasets import load_adult

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(command, folder):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=900,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel of the working tree."""
    folder = tmp_path_factory.mktemp("wheel")
    done = run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT], folder)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("the build backend cannot be had here")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("unsway-*.whl"))


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "unsway", f"unsway-{unsway.__version__}.dist-info",
    }  # fmt: skip
    assert "unsway/py.typed" in names
    assert any(name.startswith("unsway/report/templates/") for name in names)
    assert not [name for name in names if "__pycache__" in name]
    assert sum(info.file_size for info in zipfile.ZipFile(wheel).infolist()) < 10e6


def test_an_empty_environment_trains_predicts_audits_and_reports(wheel, tmp_path):
    [extras] = re.findall(
        r'^pip install "unsway\[(cli.*?)\]"', (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert run([sys.executable, "-m", "venv", tmp_path / "env"], tmp_path).returncode == 0
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    installed = run([programs / "python", "-m", "pip", "install", f"{wheel}[{extras}]"], tmp_path)
    assert installed.returncode == 0, installed.stderr
    adult = load_adult("train")
    table = adult.to_frame().assign(income=adult.y, sex=adult.z)
    table.iloc[:3_000].to_csv(tmp_path / "people.csv", index=False)
    table.iloc[3_000:6_000].to_csv(tmp_path / "fresh.csv", index=False)
    roles = ["--target", "income", "--sensitive", "sex"]
    for command in (
        ["fit", "people.csv", *roles, "-o", "model"],
        ["predict", "model", "fresh.csv", "-o", "scores.csv"],
        ["audit", "fresh.csv", *roles, "--scores", "model", "-o", "report.html"],
    ):
        done = run([programs / "unsway", *command], tmp_path)
        assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "report.html").read_text("utf-8")
