"""A criterion that the library has never seen trains wherever the library trains."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest
from contracts import rows_of
from deciles import TENTHS, DecileParity
from spread import QUICK, coarse_people

from unsway import (
    FairLGBMClassifier,
    FairLogisticRegression,
    FairLoss,
    FairTorchClassifier,
    FairXGBClassifier,
    Schedule,
    fair_loss,
)
from unsway.distributed import Part, fit_here

pytestmark = pytest.mark.xdist_group("cluster")

X, Y, Z = coarse_people(4_000)


def gaps(scores):
    """Return the gaps in mean score between the groups, within tenths of the second column."""
    rows = rows_of(X, Y, Z)
    return DecileParity().fit(rows).penalty(rows).statistics(np.asarray(scores, dtype=float))


def is_held(model, rows=X):
    """Return whether a model's gaps are far smaller than those of the plain one."""
    plain = FairXGBClassifier(DecileParity(), 0.0, **QUICK).fit(X, Y, sensitive_features=Z)
    before = abs(gaps(plain.predict_proba(X)[:, 1])).mean()
    return abs(gaps(model.predict_proba(rows)[:, 1])).mean() < 0.5 * before


def test_it_is_one_class_of_at_most_90_lines():
    assert len(inspect.getsource(DecileParity).splitlines()) <= 90


def test_its_tenths_hold_a_tenth_of_the_rows_each():
    values = DecileParity().fit(rows_of(np.random.default_rng(0).normal(size=(1_000, 2)), Y, Z))
    assert np.bincount(values.row_values.astype(int)).tolist() == [100] * TENTHS


@pytest.mark.parametrize("kind", [FairXGBClassifier, FairLGBMClassifier])
def test_it_trains_boosters_in_memory(kind):
    settings = {**QUICK, "params": {"max_depth": 3, "learning_rate": 0.3}}
    assert is_held(kind(DecileParity(), **settings).fit(X, Y, sensitive_features=Z))


def test_it_trains_a_logistic_regression():
    assert is_held(FairLogisticRegression(DecileParity()).fit(X, Y, sensitive_features=Z))


def test_it_trains_a_network():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    model = FairTorchClassifier(
        DecileParity(), schedule=Schedule(ramp_steps=3, patience=4, max_steps=25)
    )
    assert is_held(model.fit(X, Y, sensitive_features=Z))


def test_it_trains_from_files_that_are_read_in_batches(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = [f"x{k}" for k in range(X.shape[1])]
    table = pyarrow.table({**dict(zip(names, X.T, strict=True)), "y": Y, "z": Z})
    parquet.write_table(table, tmp_path / "rows.parquet")
    model = FairXGBClassifier(DecileParity(), **QUICK)
    columns = {"target": "y", "sensitive": "z"}
    model.fit_parquet(tmp_path / "rows.parquet", **columns, criterion_rows=2_000)
    assert is_held(model, table.select(names))


def test_dask_workers_find_what_one_process_finds(people, spread):
    pytest.importorskip("dask.array", reason="dask is not installed")
    from unsway import FairDaskXGBClassifier

    spread_out = (spread(array, [50, 400, 500], [2, 0, 1, 0]) for array in people)
    rows, labels, groups = spread_out
    model = FairDaskXGBClassifier(DecileParity(), **QUICK)
    model.fit(rows, labels, sensitive_features=groups)
    alone = fit_here(FairXGBClassifier(DecileParity(), **QUICK), Part(*people))
    assert model.n_workers_ == 3
    assert abs(model.predict_proba(people[0]) - alone.predict_proba(people[0])).max() < 1e-6


# Spark 4 says so of pandas 3 whatever one does with it.
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_tasks_find_what_one_process_finds():
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    pandas = pytest.importorskip("pandas")
    from unsway.distributed.spark import fit_on_spark

    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))  # where the criterion is
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        table = pandas.DataFrame(X, columns=list("abcdef"))
        frame = session.createDataFrame(table.assign(y=Y, z=Z))
        model = FairXGBClassifier(DecileParity(), **QUICK)
        spread_out = fit_on_spark(model, frame, label="y", sensitive="z", n_workers=2)
        session.stop()
    alone = fit_here(FairXGBClassifier(DecileParity(), **QUICK), Part(table, Y, Z))
    assert abs(spread_out.predict_proba(table) - alone.predict_proba(table)).max() < 1e-6


def test_a_stream_of_batches_brings_its_row_values():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    values = DecileParity().fit(rows_of(X, Y, Z)).row_values
    loss = FairLoss(DecileParity(), 0.9, memory=4_000)
    weights = torch.zeros(X.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    inputs = torch.as_tensor(np.column_stack([(X - 20) / 12, np.ones(len(X))]))
    optimizer = torch.optim.Adam([weights], lr=0.05)
    for epoch in range(12):
        for rows in np.random.default_rng(epoch).permutation(len(X)).reshape(-1, 400):
            optimizer.zero_grad()
            given = {"z": Z[rows], "row_values": values[rows]}
            loss(inputs[rows] @ weights, torch.as_tensor(Y[rows]), **given).backward()
            optimizer.step()
    scores = torch.sigmoid(inputs @ weights).detach().numpy()
    assert abs(gaps(scores)).mean() < 0.04
    assert np.corrcoef(scores, Y)[0, 1] > 0.2


def test_a_loss_of_jax_takes_it():
    pytest.importorskip("jax", reason="JAX is not installed")
    loss = fair_loss(DecileParity(), X, Y, sensitive_features=Z, strength=0.5)
    value, _ = loss(loss.init(), np.zeros(len(X)), Y, np.arange(len(X)))
    assert float(value) == pytest.approx(0.5 * np.log(2), abs=1e-5)
