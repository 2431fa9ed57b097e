"""The base install, without any extra, imports quickly and fits a model."""

import subprocess
import sys
from pathlib import Path

import unsway

SOURCE = str(Path(unsway.__file__).parents[1])

WITHOUT_EXTRAS = """
import sys
sys.path.insert(0, sys.argv[1])

class Absent:
    names = set(sys.argv[2].split(","))

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
OPTIONAL = (
    "altair,click,dask,distributed,jax,jinja2,lightgbm,matplotlib,pandas,polars,pyarrow,rich,torch,"
    "xgboost"
)


def run(code):
    """Run code in a process that sees no optional package and return what it prints."""
    command = [sys.executable, "-I", "-W", "error", "-c", WITHOUT_EXTRAS + code, SOURCE, OPTIONAL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_optional_packages_are_absent_in_these_tests():
    tried = run(
        "for name in Absent.names:\n"
        "    try: __import__(name)\n"
        "    except ModuleNotFoundError: print(name)\n"
    )
    assert sorted(tried) == sorted(OPTIONAL.split(","))


def test_a_fair_model_is_fitted_without_any_extra():
    printed = run(
        "from unsway import FairLogisticRegression, make_synthetic, score_gap\n"
        "data = make_synthetic(2000, random_state=0)\n"
        "model = FairLogisticRegression()\n"
        "model.fit(data.X, data.y, sensitive_features=data.z)\n"
        "scores = model.predict_proba(data.X)[:, 1]\n"
        "print(score_gap(data.y, scores, sensitive_features=data.z))\n"
    )
    assert 0.1 < float(printed[0]) < 0.25  # between parity's and the blind model's


def test_every_public_name_loads_without_any_extra():
    printed = run(
        "import unsway\nfor name in unsway.__all__: print(getattr(unsway, name).__name__)"
    )
    assert printed == unsway.__all__


def test_importing_the_package_loads_no_engine():
    printed = run("import unsway\nprint(*{name.partition('.')[0] for name in sys.modules})")
    assert "unsway" in printed
    assert not {"numpy", "scipy", "sklearn", "narwhals"} & set(printed)


def test_the_version_is_known_without_loading_anything():
    assert run("import unsway\nprint(unsway.__version__)") == [unsway.__version__]


def test_a_missing_engine_is_named_with_its_pip_line_before_any_work():
    printed = run(
        "import unsway\n"
        "try: unsway.FairXGBClassifier().fit(None, None)\n"
        "except ImportError as error: print(error)\n"
    )
    assert " ".join(printed).endswith("run: pip install 'unsway[xgboost-cpu]'")
