"""The files import only the packages that belong there, and stay small.

Which room may import which is kept by import-linter's contracts in pyproject.toml. Here stands what
those cannot express; the checker reads source text, so its own tests feed it made-up files.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import unsway

SOURCE = Path(unsway.__file__).parent
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"

#: Rooms that may import the package as a whole, as a user does.
USERS = {"cli", "paper"}

#: Optional package → where it may be imported: a file's name, or a folder ending in a slash.
ENGINE_HOMES = {
    "xgboost": {"xgboost_rows.py", "distributed/"},
    "lightgbm": {"lightgbm_rows.py"},
    "torch": {"models/torch/"},
    "jax": {"jax.py"},
    "cupy": {"cuda.py", "cuda_device.py"},
    "dask": {"dask.py"},
    "distributed": {"dask.py", "cluster.py"},
    "pyspark": {"spark.py"},
    "matplotlib": {"plots.py"},
    "altair": {"charts.py"},
    "jinja2": {"html.py"},
    "mlflow": {"interop.py"},
    "IPython": {"progress.py"},
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
    def of_the_package(self) -> bool:
        """Whether it is the package as a whole or a public name of it, which hides a room."""
        package, *rest = self.name.split(".")
        return package == "unsway" and (not rest or (len(rest) == 1 and rest[0] in unsway.__all__))


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
    """Return what a file at this path imports against the rules, in words."""
    found = []
    for each in imports_of(source, path):
        where = f"{path}:{each.line}"
        if each.of_the_package and path.split("/")[0] not in USERS:
            found.append(f"{where}: {each.name} is imported from the package, not from its room")
        if not engine_belongs(each.package, path):
            found.append(f"{where}: {each.package} does not belong in this file")
        if each.package in FRAMES and each.on_load:
            found.append(f"{where}: {each.package} is imported when the file is loaded")
    return found


def engine_belongs(package: str, path: str) -> bool:
    homes = ENGINE_HOMES.get(package)
    if homes is None:
        return True
    return any(
        path.startswith(home) if home.endswith("/") else f"/{path}".endswith(f"/{home}")
        for home in homes
    )


# --- the checker catches what it is there for ----------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("criteria/group.py", "from .. import Propensity", "Propensity is imported from the"),
        ("models/logistic.py", "import unsway", "unsway is imported from the package"),
        ("report/html.py", "def f():\n    from unsway import verdict", "verdict is imported from"),
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
        ("criteria/group.py", "from ..core import Penalty"),
        ("models/folder.py", "from .. import __version__"),
        ("models/xgboost_rows.py", "from ..extras import load\nload('xgboost', 'xgboost')"),
        ("distributed/dask.py", "import dask, xgboost.dask"),
        ("report/plots.py", "import matplotlib.pyplot as plt"),
        ("cli/app.py", "import click\nfrom .. import Parity, __version__\nimport unsway"),
        ("paper/plots.py", "def f():\n    import pandas"),
        ("__init__.py", "from .models.logistic import FairLogisticRegression"),
    ],
)
def test_the_checker_lets_pass(path, source):
    assert violations(source, path) == []


@pytest.mark.parametrize("path", FILES)
def test_a_file_imports_only_what_belongs_there(path):
    assert violations((SOURCE / path).read_text("utf-8"), path) == []


# --- sizes ---------------------------------------------------------------------------------------

RULE = re.compile(r"Files under (\d+) lines, functions under (\d+), inheritance (one|two) deep")


@dataclass(frozen=True)
class Limits:
    """The first sizes that are too large, and how many classes of ours may stand above one."""

    file: int
    function: int
    depth: int


def read_limits(guide: str) -> Limits:
    """Return the limits as CONTRIBUTING.md says them."""
    file, function, depth = RULE.search(guide).groups()
    return Limits(int(file), int(function), {"one": 1, "two": 2}[depth])


LIMITS = read_limits(GUIDE.read_text("utf-8"))


def long_functions(source: str, limit: int) -> list[str]:
    """Return the names of the functions that have the limit's number of lines, or more."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of_code(node) >= limit
    ]


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return its lines from the end of the signature on, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def parents_of(sources: list[str]) -> dict[str, set[str]]:
    """Return the bases of every class by its name; those of other libraries have no entry."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(filter(None, map(name_of, node.bases)))
    return found


def name_of(base: ast.expr) -> str | None:
    """Return the last name of a base as it is written: C of C, of module.C and of C[int]."""
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return name_of(value)
    return None


def depth(name: str, parents: dict[str, set[str]]) -> int:
    """Return the length of the longest line of classes of ours above a class."""
    # A class may carry the name of the library's that it extends.
    ours = [base for base in parents[name] if base in parents and base != name]
    return max((1 + depth(base, parents) for base in ours), default=0)


def test_the_limits_are_those_of_the_contributors_guide():
    text = "- Files under 300 lines, functions under 20, inheritance two deep; no `utils`."
    assert read_limits(text) == Limits(300, 20, 2)


def test_a_function_is_as_long_as_its_code_after_the_docstring():
    source = (
        'def f(\n    a,\n    b,\n):\n    """Say.\n\n    More.\n    """\n    a = 1\n    return a\n'
    )
    assert long_functions(source, limit=2) == ["f"]
    assert long_functions(source, limit=3) == []


def test_only_classes_of_ours_count_for_the_depth():
    parents = parents_of(
        [
            "class Top(BaseEstimator, ClassifierMixin): pass",
            "class Middle(Top, Generic[T]): pass\nclass Bottom(top.Middle[int]): pass",
            "class Module(nn.Module): pass",
        ]
    )
    found = {name: depth(name, parents) for name in parents}
    assert found == {"Top": 0, "Middle": 1, "Bottom": 2, "Module": 0}


@pytest.mark.parametrize("path", FILES)
def test_a_file_says_what_it_holds_and_stays_short(path):
    name = path.split("/")[-1].removesuffix(".py")
    text = (SOURCE / path).read_text("utf-8")
    assert name not in {"utils", "util", "common", "helpers", "base", "misc"}
    assert text.startswith('"""')
    assert len(text.splitlines()) < LIMITS.file


def test_functions_stay_short():
    long = {
        f"{path}: {name}"
        for path in FILES
        for name in long_functions((SOURCE / path).read_text("utf-8"), LIMITS.function)
    }
    assert long == set()


def test_inheritance_stays_shallow():
    parents = parents_of([(SOURCE / path).read_text("utf-8") for path in FILES])
    assert {name for name in parents if depth(name, parents) > LIMITS.depth} == set()


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
