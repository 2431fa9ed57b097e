"""Help and errors of usage answer at once: what trains and judges is imported when it is run."""

import json
import resource
import subprocess
import sys

import pytest
from click.testing import CliRunner

from unsway.cli import options
from unsway.cli.app import app
from unsway.cli.commands import reproduce
from unsway.cli.fit import ENGINES, GROUP_CRITERIA
from unsway.cli.fit_numbers import REGRESSORS
from unsway.criteria import NORMS
from unsway.effects import INTERVALS, METHODS
from unsway.outcome import NUMBER_LOSSES
from unsway.paper import credit, synthetic, tabular

#: Packages that take long to import, and those of ours that import them.
HEAVY = {
    "altair", "jax", "joblib", "lightgbm", "matplotlib", "narwhals", "numpy", "pandas", "polars",
    "pyarrow", "rich", "scipy", "sklearn", "torch", "xgboost",
}  # fmt: skip
#: Prints the modules a command line leaves behind.
LOADED = """
import json, sys
from unsway.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""
USAGE = [
    ["--help"],
    ["--version"],
    ["vanish"],
    ["--wrong"],
    *([name, flag] for name in sorted(app.commands) for flag in ("--help", "--wrong")),
    ["fit", "people.csv", "--engine", "catboost"],
    ["frontier", "people.csv", "--strengths", "0,x"],
    ["reproduce", "adult", "--help"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_help_and_wrong_flags_import_nothing_heavy(arguments):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert "click" in loaded
    assert loaded & HEAVY == set()


def cpu(*command):
    """Return the seconds of CPU that a Python process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(("arguments", "most"), [(["--help"], 0.5), (["fit", "--wrong"], 1.0)])
def test_help_and_wrong_flags_take_little_more_than_python_itself(arguments, most):
    code = "from unsway.cli import main; main()"
    extra = min(cpu("-c", code, *arguments) - cpu("-c", "pass") for _ in range(3))
    assert extra < most


def test_every_summary_of_a_command_is_whole():
    text = CliRunner().invoke(app, ["--help"]).output.partition("Commands:")[2]
    assert len(text.splitlines()) == len(app.commands) + 1
    assert "..." not in text


def test_the_lists_of_the_options_are_those_of_the_library():
    assert set(options.ENGINES) == {*ENGINES, *REGRESSORS}
    assert options.LOSSES == NUMBER_LOSSES
    assert set(options.GROUP_CRITERIA) == set(GROUP_CRITERIA)
    assert (options.NORMS, options.METHODS, options.INTERVALS) == (NORMS, METHODS, INTERVALS)
    assert reproduce.ENGINES == tabular.ENGINES
    assert reproduce.STRENGTHS == synthetic.STRENGTHS
    assert set(reproduce.STAND_INS) == set(credit.LOADERS)
