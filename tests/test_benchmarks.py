"""Benchmarks use names that the library has, and `make bench` runs scripts that exist."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
pytestmark = pytest.mark.skipif(not SCRIPTS, reason="benchmarks are not part of the sdist")


def imported_names(source):
    """Yield module and name of everything that a source imports from the library."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "unsway":
            yield from ((node.module, alias.name) for alias in node.names)


def missing_names(source):
    """Return the names that the library does not have."""
    return [
        f"{module}.{name}"
        for module, name in imported_names(source)
        if not hasattr(import_module(module), name) and not is_module(f"{module}.{name}")
    ]


def is_module(name):
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def test_a_name_that_the_library_does_not_have_is_found():
    source = "from unsway import Parity, Parities\nfrom unsway.core import objective\n"
    assert missing_names(source) == ["unsway.Parities"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_names_that_exist(script):
    source = script.read_text("utf-8")
    for engine in ("torch", "jax"):
        if re.search(rf"^import {engine}$|unsway\.models\.{engine}", source, re.MULTILINE):
            pytest.importorskip(engine)
    assert missing_names(source) == []


def test_make_bench_runs_scripts_that_exist():
    named = re.findall(r"benchmarks/\w+\.py", (ROOT / "Makefile").read_text("utf-8"))
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()
