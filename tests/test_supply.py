"""The lock is of what pyproject.toml asks for, and every package states its licence."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "scripts").is_dir():
    pytest.skip("the scripts are not part of the package", allow_module_level=True)
SPEC = importlib.util.spec_from_file_location("supply", ROOT / "scripts" / "supply.py")
SUPPLY = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SUPPLY)
LOCK = ROOT / "requirements-dev.lock"


def test_the_lock_is_of_what_pyproject_asks_for():
    first, second, *lines = LOCK.read_text("utf-8").splitlines()
    assert first.startswith("# Made by `make lock`")
    assert second == f"# pyproject {SUPPLY.wanted()}", "run: make lock"
    form = r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!-]+ --hash=sha256:[0-9a-f]{64}"
    assert all(re.fullmatch(form, line) for line in lines)
    names = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    assert {"numpy", "scipy", "scikit-learn", "narwhals", "joblib", "threadpoolctl"} <= names


def test_the_project_itself_is_not_in_the_lock():
    archive = {"archive_info": {"hashes": {"sha256": "0" * 64}}}
    report = {
        "install": [
            {"metadata": {"name": "b", "version": "2"}, "download_info": archive},
            {"metadata": {"name": "unsway", "version": "1"}, "download_info": {"dir_info": {}}},
            {"metadata": {"name": "A", "version": "1"}, "download_info": archive},
        ]
    }
    lines = SUPPLY.locked(report).splitlines()[2:]
    assert lines == [f"A==1 --hash=sha256:{'0' * 64}", f"b==2 --hash=sha256:{'0' * 64}"]


def test_the_bill_of_materials_names_every_package_with_a_licence(tmp_path):
    SUPPLY.sbom(tmp_path)
    found = json.loads((tmp_path / "sbom.json").read_text("utf-8"))
    parts = {each["name"].lower(): each for each in found["components"]}
    assert parts["numpy"]["purl"].startswith("pkg:pypi/numpy@")
    assert parts["scipy"]["licenses"][0]["license"]["name"] != "not stated"
    assert "| numpy |" in (tmp_path / "licences.md").read_text("utf-8")


def test_an_audit_without_its_tool_or_a_database_is_skipped_with_the_reason(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pip_audit", None)
    assert SUPPLY.audit(LOCK) == 0
    assert capsys.readouterr().out == "skipped: pip-audit is not installed\n"
    assert SUPPLY.UNREACHABLE.search("requests.exceptions.ConnectionError: …")
