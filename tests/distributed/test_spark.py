"""Spark's barrier stage; these run where pyspark, and a Java for it, is installed."""

import shutil
import sys

import pandas as pd
import pytest
from spread import coarse_people, quick_model

from unsway.distributed import NuisanceSettings, Part, fit_here
from unsway.distributed.spark import fit_on_spark

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java", allow_module_level=True)

# Spark 4 says so of pandas 3 whatever one does with it.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

FEW_TREES = NuisanceSettings(n_rounds=8)


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # executors run what the tests run
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def table():
    X, y, z = coarse_people(2_000)
    return pd.DataFrame(X, columns=list("abcdef")).assign(hired=y, sex=z)


@pytest.mark.parametrize("criterion", ["parity", "fair target"])
def test_two_tasks_grow_the_trees_of_one_process(criterion, session, table):
    rows = session.createDataFrame(table)
    model = fit_on_spark(
        quick_model(criterion),
        rows,
        label="hired",
        sensitive="sex",
        n_workers=2,
        nuisances=FEW_TREES,
    )
    X = table[list("abcdef")]
    one = fit_here(
        quick_model(criterion), Part(X, table["hired"], table["sex"]), nuisances=FEW_TREES
    )
    assert model.n_workers_ == 2
    assert model.n_rows_ == len(table)
    assert model.n_rounds_ == one.n_rounds_
    assert abs(model.predict_proba(X) - one.predict_proba(X)).max() < 1e-6


@pytest.mark.parametrize(
    ("roles", "complaint"),
    [
        ({"label": "gone", "sensitive": "sex"}, "no column 'gone'"),
        ({"label": "hired", "sensitive": "sex", "features": ["a", "sex"]}, "'sex' is among the"),
        (
            {"label": "hired", "sensitive": "sex", "n_workers": 0},
            "n_workers must be an integer of at",
        ),
    ],
)
def test_bad_roles_are_refused_before_any_work(roles, complaint, session, table):
    with pytest.raises(ValueError, match=complaint):
        fit_on_spark(quick_model("parity"), session.createDataFrame(table), **roles)
