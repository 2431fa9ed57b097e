"""``unsway predict --reasons``: reasons beside the scores, the same for a row in any file."""

import numpy as np
import pytest
from click.testing import CliRunner

from unsway import FairXGBClassifier, make_synthetic
from unsway.cli.app import app
from unsway.models.folder import TrainingRoles, load_model, save_model

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    people = make_synthetic(700, random_state=0)
    X = pandas.DataFrame(people.X[:, :4], columns=["a", "b", "=c", "d"])
    model = FairXGBClassifier(params={"eta": 0.3}).fit(X, people.y, sensitive_features=people.z)
    path = tmp_path_factory.mktemp("model")
    save_model(model, path / "model", roles=TrainingRoles(sensitive="sex"))
    X.to_csv(path / "all.csv", index=False)
    X[40:60].to_csv(path / "some.csv", index=False)
    return path


def run(folder, table, output, *more):
    words = ["predict", folder / "model", folder / table, "-o", output, *more]
    return CliRunner().invoke(app, [str(each) for each in words])


def test_reasons_and_points_are_written_beside_the_scores(folder, tmp_path):
    done = run(folder, "all.csv", tmp_path / "out.csv", "--reasons", 2)
    assert done.exit_code == 0, done.output
    found = pandas.read_csv(tmp_path / "out.csv")
    assert list(found.columns) == [
        "score", "reason_1", "reason_1_points", "reason_2", "reason_2_points"
    ]  # fmt: skip
    assert found["reason_1_points"].max() < 0
    assert set(found["reason_1"].dropna()) <= {"a", "b", "'=c", "d"}


def test_a_row_has_the_same_reasons_in_another_file(folder, tmp_path):
    options = ("--reasons", 3, "--reference", folder / "all.csv", "--never-name", "a")
    for table in ("all", "some"):
        done = run(folder, f"{table}.csv", tmp_path / f"{table}.parquet", *options)
        assert done.exit_code == 0, done.output
    every, some = (pandas.read_parquet(tmp_path / f"{each}.parquet") for each in ("all", "some"))
    pandas.testing.assert_frame_equal(every[40:60].reset_index(drop=True), some)
    assert "a" not in set(every["reason_1"])


def test_points_of_all_reasons_and_the_baseline_are_the_log_odds(folder, tmp_path):
    from unsway import contributions

    X = pandas.read_csv(folder / "all.csv")
    model = load_model(folder / "model")
    found = contributions(model, X)
    assert np.abs(found.margin - model.decision_function(X)).max() < 1e-6


def test_a_reference_without_reasons_is_refused(folder, tmp_path):
    done = run(folder, "all.csv", tmp_path / "out.csv", "--reference", folder / "all.csv")
    assert "give --reasons K too" in str(done.exception)
