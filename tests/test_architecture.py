"""The rooms import only what the design lets them, and stay small.

The checker reads source text, so its own tests feed it made-up files.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import unsway

SOURCE = Path(unsway.__file__).parent
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

#: Modules beside the rooms; any room but the two purest may use them.
SHARED = {
    "checks", "colours", "extras", "files", "folds", "frames", "groups", "outcome", "rows",
    "tables",
}  # fmt: skip
PURE = {"core", "datasets"}
#: Names of types, which every file may use.
TYPES = "_typing"

#: Room → the rooms it may import. None: everything.
MAY_IMPORT = {
    "core": set(),
    "datasets": set(),
    "effects": {"core"},
    "criteria": {"core", "effects"},
    "models": {"core", "criteria", "effects"},
    "sweeps": {"core", "effects", "criteria", "models", "auditing"},
    "auditing": {"effects"},
    "report": {"auditing", "effects", "sweeps"},
    "distributed": {"core", "criteria", "effects", "models"},
    "paper": None,
    "cli": None,
    TYPES: set(),
    **{module: set() for module in SHARED},
    "folds": {"tables"},
    "frames": {"extras"},
    "groups": {"checks", "tables"},
    "outcome": {"checks", "core", "groups"},
    "rows": {"checks", "core", "groups", "outcome", "tables"},
    "tables": {"checks"},
}

#: Optional package → where it may be imported: a file's name, or a folder ending in a slash.
ENGINE_HOMES = {
    "xgboost": {"xgboost.py", "distributed/"},
    "lightgbm": {"lightgbm.py"},
    "torch": {"models/torch/"},
    "jax": {"jax.py"},
    "cupy": {"cuda.py", "cuda_place.py", "cuda_trees.py"},
    "dask": {"dask.py"},
    "distributed": {"dask.py", "cluster.py"},
    "pyspark": {"spark.py"},
    "matplotlib": {"plots.py"},
    "altair": {"charts.py"},
    "vl_convert": {"charts.py"},
    "jinja2": {"html.py"},
    "click": {"cli/"},
    "rich": {"cli/"},
}
#: Frames come from the user; narwhals reads them without an import.
FRAMES = {"pandas", "polars", "pyarrow"}
#: Functions whose first argument is the name of a module to import.
IMPORTERS = {"load", "import_module", "__import__"}


@dataclass(frozen=True)
class Import:
    """One name a file imports, in full, and whether that happens when the file is loaded."""

    name: str
    line: int
    on_load: bool

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @property
    def room(self) -> str | None:
        """The room or module of ours it comes from; None for other people's code."""
        package, *rest = self.name.split(".")
        if package != "unsway":
            return None
        if not rest:
            return "unsway"  # the whole of it
        home = unsway._HOMES.get(rest[0], rest[0])
        return None if home.startswith("__") else home.partition(".")[0]


def imports_of(source: str, path: str) -> Iterator[Import]:
    """Yield what a file at this path, relative to the package, imports."""
    folder = ["unsway", *path.split("/")[:-1]]
    tree = ast.parse(source)
    deferred = {
        inner
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        for name in names_of(node, folder):
            yield Import(name, node.lineno, node not in deferred)


def names_of(node: ast.AST, folder: list[str]) -> Iterator[str]:
    """Yield the full names one node imports; relative ones start from its folder."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            start = folder[: len(folder) - level + 1] if level else []
            parent = [*start, *([module] if module else [])]
            yield from (".".join([*parent, alias.name]) for alias in names)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            literal = node.args and isinstance(node.args[0], ast.Constant)
            if called in IMPORTERS and literal and isinstance(node.args[0].value, str):
                yield node.args[0].value


def violations(source: str, path: str) -> list[str]:
    """Return what a file at this path does against the table, in words."""
    found = []
    for each in imports_of(source, path):
        where = f"{path}:{each.line}"
        if each.room is not None and not may_import(room_of(path), each.room):
            found.append(f"{where}: {room_of(path)} may not import {each.room}")
        if not engine_belongs(each.package, path):
            found.append(f"{where}: {each.package} does not belong in this file")
        if each.package in FRAMES and each.on_load:
            found.append(f"{where}: {each.package} is imported when the file is loaded")
    return found


def room_of(path: str) -> str:
    first = path.split("/")[0]
    return "unsway" if path == "__init__.py" else first.removesuffix(".py")


def may_import(room: str, other: str) -> bool:
    if room in ("unsway", other) or other == TYPES:
        return True
    allowed = MAY_IMPORT[room]
    if allowed is None or other in allowed:
        return True
    return other in SHARED and room not in PURE | SHARED


def engine_belongs(package: str, path: str) -> bool:
    homes = ENGINE_HOMES.get(package)
    if homes is None:
        return True
    return any(
        path.startswith(home) if home.endswith("/") else path.endswith(f"/{home}") for home in homes
    )


# --- the checker catches what it is there for ----------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("core/penalty.py", "from ..effects import Propensity", "core may not import effects"),
        ("core/penalty.py", "from ..rows import Rows", "core may not import rows"),
        ("core/__init__.py", "from ..models.logistic import x", "core may not import models"),
        ("effects/propensity.py", "import unsway.criteria", "effects may not import criteria"),
        ("criteria/group.py", "from .. import models", "criteria may not import models"),
        ("criteria/group.py", "from .. import Propensity, make_world", "may not import datasets"),
        (
            "models/logistic.py",
            "from unsway.auditing.metrics import a",
            "models may not import auditing",
        ),
        ("models/logistic.py", "import unsway", "models may not import unsway"),
        (
            "auditing/metrics.py",
            "def f():\n    from ..core import x",
            "auditing may not import core",
        ),
        ("checks.py", "from .core import Penalty", "checks may not import core"),
        ("checks.py", "from . import files", "checks may not import files"),
        ("report/html.py", "from ..criteria.group import x", "report may not import criteria"),
        ("models/logistic.py", "import xgboost", "xgboost does not belong"),
        ("models/xgboost.py", "from lightgbm import Booster", "lightgbm does not belong"),
        ("core/arrays.py", "def f():\n    import torch.nn", "torch does not belong"),
        ("auditing/audits.py", "import matplotlib.pyplot as plt", "matplotlib does not belong"),
        ("paper/synthetic.py", "load('matplotlib.pyplot', 'plot')", "matplotlib does not belong"),
        ("paper/plots.py", "import click", "click does not belong"),
        ("files.py", "importlib.import_module('jax')", "jax does not belong"),
        ("files.py", "import pandas as pd", "pandas is imported when the file is loaded"),
        ("files.py", "if True:\n    import polars", "polars is imported when the file is loaded"),
        ("cli/fit.py", "class A:\n    import pyarrow", "pyarrow is imported when the file"),
    ],
)
def test_the_checker_catches(path, source, complaint):
    assert [line for line in violations(source, path) if complaint in line]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/objective.py", "from .penalty import Penalty\nimport numpy as np"),
        ("core/__init__.py", "from .penalty import Penalty"),
        ("datasets/__init__.py", "from unsway.datasets.synthetic import make_world"),
        ("criteria/group.py", "from ..core import Penalty\nfrom ..rows import Rows"),
        ("core/penalty.py", "from .._typing import Floats"),
        ("outcome.py", "from .core.loss import LogLoss"),
        ("models/xgboost.py", "from ..extras import load\nload('xgboost', 'xgboost')"),
        ("distributed/dask.py", "import dask, xgboost.dask"),
        ("report/plots.py", "import matplotlib.pyplot as plt"),
        ("cli/app.py", "import click\nfrom .. import Parity, __version__\nimport unsway"),
        ("paper/plots.py", "def f():\n    import pandas"),
        ("__init__.py", "from .models.logistic import FairLogisticRegression"),
    ],
)
def test_the_checker_lets_pass(path, source):
    assert violations(source, path) == []


# --- and the package keeps to it -----------------------------------------------------------------


def test_every_room_stands_in_the_table():
    assert {room_of(path) for path in FILES} - {"unsway"} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("path", FILES)
def test_imports_keep_to_the_table(path):
    assert violations((SOURCE / path).read_text("utf-8"), path) == []


@pytest.mark.parametrize("path", FILES)
def test_a_file_says_what_it_holds_and_stays_short(path):
    name = path.split("/")[-1].removesuffix(".py")
    text = (SOURCE / path).read_text("utf-8")
    assert name not in {"utils", "util", "common", "helpers", "base", "misc"}
    assert text.startswith('"""')
    assert text.count("\n") < 450


@pytest.mark.parametrize("path", FILES)
def test_functions_stay_short(path):
    tree = ast.parse((SOURCE / path).read_text("utf-8"))
    long = [
        f"{node.name}: {lines_of_code(node)} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of_code(node) >= 60
    ]
    assert long == []


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return its lines from the end of the signature on, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


# --- the public names ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", unsway.__all__)
def test_a_public_name_exists_and_explains_itself(name):
    value = getattr(unsway, name)
    assert value.__name__ == name
    assert len(value.__doc__ or "") > 20


def test_dir_lists_every_public_name():
    assert set(unsway.__all__) <= set(dir(unsway))


def test_a_star_import_brings_every_public_name():
    names = {}
    exec("from unsway import *", names)  # noqa: S102
    assert set(unsway.__all__) <= names.keys()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'unsway' has no attribute 'FairForest'"):
        unsway.FairForest  # noqa: B018
