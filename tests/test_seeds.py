"""UNSWAY_TEST_SEED chooses the order of the tests and the examples of hypothesis."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOME_TESTS = """
import pytest
from hypothesis import given, strategies as st

@pytest.mark.parametrize("number", range(20))
def test_order(number):
    print("order", number)

@given(st.integers())
def test_examples(drawn):
    print("drawn", drawn)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return a function that runs some tests with a seed, and returns what they print."""
    folder = tmp_path_factory.mktemp("seeds")
    (folder / "test_some.py").write_text(SOME_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-c", os.devnull, "--rootdir", folder]
    command += ["-p", "conftest", "-p", "no:cacheprovider", folder]

    def run(seed):
        more = {"PYTHONPATH": str(ROOT)} | ({} if seed is None else {"UNSWAY_TEST_SEED": str(seed)})
        plain = {name: value for name, value in os.environ.items() if name != "UNSWAY_TEST_SEED"}
        done = subprocess.run(
            command, env=plain | more, cwd=folder, check=True, capture_output=True, text=True
        )
        words = [line.lstrip(".").split() for line in done.stdout.splitlines()]
        return {
            kind: [int(pair[1]) for pair in words if pair[:1] == [kind]]
            for kind in ("order", "drawn")
        }

    return run


def test_without_a_seed_tests_run_in_order_with_the_same_examples(told):
    found = told(None)
    assert found["order"] == list(range(20))
    assert found["drawn"] == told(None)["drawn"]


def test_a_seed_gives_the_same_order_and_examples_each_time(told):
    assert told(1) == told(1)


@pytest.mark.parametrize("kind", ["order", "drawn"])
def test_seeds_differ_in_order_and_examples(told, kind):
    first, second = told(1)[kind], told(2)[kind]
    assert len(first) > 10
    assert first != second
