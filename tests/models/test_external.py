"""Training from Parquet files: the model of the same table in memory, and clear refusals."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from contracts import rows_of

from unsway import DirectEffect, FairTarget, FairXGBClassifier, Parity, Schedule, make_synthetic
from unsway.grouping import Grouping
from unsway.models import external
from unsway.models.external import predict_rows
from unsway.models.parquet import ParquetRows

xgboost = pytest.importorskip("xgboost")

N = 1_600
SHORT = Schedule(ramp_steps=4, max_steps=10)
CRITERIA = {"fair target": FairTarget(), "direct effect": DirectEffect(), "parity": Parity()}
ROLES = {"target": "hired", "sensitive": "sex"}


def people(n=N, seed=0):
    """Return a table of few distinct values, with gaps and a category."""
    data = make_synthetic(n, random_state=seed)
    X = np.round(data.X, 1)
    columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
    columns["x1"] = pa.array(X[:, 1], mask=np.arange(n) % 9 == 0)
    job = np.where(X[:, 0] > 0, "cook", np.where(X[:, 2] > 0, "clerk", None))
    columns["job"] = pa.array(job.tolist()).dictionary_encode()
    columns["remote"] = X[:, 3] > 0
    columns["weight"] = 1.0 + np.arange(n) % 3
    columns["hired"] = np.where(data.y == 1, "yes", "no")
    columns["sex"] = np.where(data.z == 1, 1, 0)
    return pa.table(columns)


def written(folder, table, files=1):
    step = -(-len(table) // files)
    for number in range(files):
        part = table.slice(number * step, step)
        parquet.write_table(part, folder / f"{number}.parquet", row_group_size=300)
    return folder


def classifier(criterion=None, **settings):
    settings = {"params": {"max_depth": 3}, "schedule": SHORT, "n_jobs": 1, **settings}
    return FairXGBClassifier(criterion or Parity(), **settings)


def features(table, *more):
    return table.drop_columns(["hired", "sex", *more])


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


# --- the model -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_the_model_is_that_of_the_table_in_memory(criterion, weighted, tmp_path):
    table = people()
    weights = table["weight"].to_numpy() if weighted else None
    more = {"sample_weight": "weight"} if weighted else {"drop": ["weight"]}
    ours = classifier(criterion).fit_parquet(written(tmp_path, table, 3), **ROLES, **more)
    X = features(table, "weight")
    plain = classifier(criterion).fit(
        X, table["hired"], sensitive_features=table["sex"], sample_weight=weights
    )
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), rtol=0, atol=1e-6)
    assert ours.best_iteration_ == plain.best_iteration_
    assert ours.classes_.tolist() == plain.classes_.tolist() == ["no", "yes"]
    assert ours.table_ == plain.table_


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)
def test_a_criterion_from_a_sample_gives_a_model_in_whatever_order_rows_come(criterion, tmp_path):
    table = people()
    order = np.random.default_rng(0).permutation(N)
    found = []
    for name, rows in (("given", table), ("shuffled", table.take(order))):
        folder = tmp_path / name
        folder.mkdir()
        model = classifier(criterion).fit_parquet(
            written(folder, rows), **ROLES, drop=["weight"], criterion_rows=N // 2
        )
        found.append(model.predict_proba(features(table, "weight"))[:, 1])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-4)


def test_the_draws_by_hash_have_the_shares_asked_for_and_do_not_depend_on_each_other(tmp_path):
    table = people(6_000)
    files = ParquetRows.of(written(tmp_path, table), leave_out=("hired", "sex", "weight"))
    y, z = table["hired"].to_numpy() == "yes", table["sex"].to_numpy()
    model = classifier()
    model.table_ = files.engine_table()
    held, sample = external._survey(files, rows_of(None, y, z), (0.33, 0.5), model)
    assert held.mean() == pytest.approx(0.33, abs=0.03)
    assert sample.mean() == pytest.approx(0.5, abs=0.03)
    assert sample[held].mean() == pytest.approx(0.5, abs=0.05)
    assert held[z == 1].mean() == pytest.approx(held[z == 0].mean(), abs=0.05)


def test_scores_are_read_batch_by_batch(tmp_path, monkeypatch):
    table = people()
    folder = written(tmp_path, table, 2)
    model = classifier().fit_parquet(folder, **ROLES, drop=["weight"])
    rows = ParquetRows.of(folder, leave_out=("hired", "sex", "weight"))
    monkeypatch.setattr("unsway.models.parquet.BATCH_ROWS", 111)
    scores = model.predict_proba(features(table, "weight"))[:, 1]
    np.testing.assert_array_equal(predict_rows(model, rows), scores)


def test_the_columns_of_the_objective_are_gone_after_training(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "columns").mkdir()
    folder = written(tmp_path / "data", people())
    classifier().fit_parquet(folder, **ROLES, folder=tmp_path / "columns")
    assert list((tmp_path / "columns").iterdir()) == []


def test_a_refit_that_fails_changes_nothing(tmp_path):
    table = people()
    model = classifier().fit_parquet(written(tmp_path, table), **ROLES, drop=["weight"])
    before = model.predict_proba(features(table, "weight"))
    with pytest.raises(ValueError, match="there is no column 'gone'"):
        model.fit_parquet(tmp_path, target="gone", sensitive="sex")
    np.testing.assert_array_equal(model.predict_proba(features(table, "weight")), before)


# --- what is refused -----------------------------------------------------------------------------


def infinite(table):
    return replaced(table, "x0", [np.inf, *table["x0"].to_pylist()[1:]])


def without_a_label(table):
    return replaced(table, "hired", [None, *table["hired"].to_pylist()[1:]])


def with_three_labels(table):
    return replaced(table, "hired", ["maybe", *table["hired"].to_pylist()[1:]])


def with_a_copy(table):
    return table.append_column("copy", pa.array(np.where(table["sex"].to_numpy() == 1, "m", "f")))


def with_dates(table):
    return table.append_column("born", pa.array([0] * N, pa.date32()))


def with_names(table):
    return table.append_column("name", pa.array([f"person {k}" for k in range(N)]))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (infinite, "column 'x0' contains infinity or a number too large"),
        (without_a_label, "column 'hired' has rows without a value"),
        (with_three_labels, "y has 3 classes"),
        (
            with_a_copy,
            "'copy' is the same as sensitive_features up to its coding; drop that column",
        ),
        (with_dates, "column 'born' holds date32.*neither numbers nor words"),
        (with_names, "column 'name' has more than 1,000 different words"),
    ],
)
def test_a_bad_column_is_refused_by_its_name(spoil, message, tmp_path, monkeypatch):
    monkeypatch.setattr("unsway.models.parquet.MOST_LEVELS", 1_000)
    monkeypatch.setattr(external, "_criterion_at", lambda *_: pytest.fail("work was begun"))
    folder = written(tmp_path, spoil(people()))
    with pytest.raises(ValueError, match=message):
        classifier().fit_parquet(folder, **ROLES)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {"sensitive": "hired"}, "must be different columns"),
        ({}, {"drop": "gone"}, "there is no column 'gone'"),
        ({}, {"criterion_rows": 0}, "criterion_rows must be an integer of at least 1; got 0"),
        ({"params": {"tree_method": "exact"}}, {}, "trains with 'hist' alone"),
        ({"groups": Grouping(reference=7)}, {}, "reference=7 is not a level"),
        ({}, {"sample_weight": "x0"}, "sample_weight column 'x0' has .* negative values"),
    ],
)
def test_a_bad_argument_is_refused(settings, given, message, tmp_path):
    folder = written(tmp_path, people())
    with pytest.raises(ValueError, match=message):
        classifier(**settings).fit_parquet(folder, **{**ROLES, **given})


def test_files_of_other_columns_are_refused(tmp_path):
    written(tmp_path, people())
    parquet.write_table(people().drop_columns(["x0"]), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"other\.parquet has other columns or types"):
        classifier().fit_parquet(tmp_path, **ROLES)


def test_a_file_that_is_not_there_or_not_parquet_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        classifier().fit_parquet(tmp_path / "gone.parquet", **ROLES)
    (tmp_path / "text.parquet").write_text("a,b")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        classifier().fit_parquet(tmp_path / "text.parquet", **ROLES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \.parquet file in this folder"):
        classifier().fit_parquet(tmp_path / "empty", **ROLES)
