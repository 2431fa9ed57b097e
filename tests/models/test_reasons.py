"""Reason codes: they add up, do not depend on the batch, and name only what may be named."""

import json

import numpy as np
import pytest

from unsway import (
    FairLGBMClassifier,
    FairLogisticRegression,
    FairXGBClassifier,
    contributions,
    make_synthetic,
    reasons,
)
from unsway.models.folder import load_model, save_model

pandas = pytest.importorskip("pandas")


def table(n=900, seed=0):
    people = make_synthetic(n, random_state=seed)
    X = pandas.DataFrame(people.X[:, :5], columns=list("abcde"))
    job = np.where(X["a"] > 0.3, "cook", np.where(X["b"] > 0, "clerk", "x"))
    X["job"] = pandas.Categorical(job)
    return X, people.y, people.z


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    X, y, z = table()
    missing = X.drop(columns="job")
    missing.loc[::7, "b"] = np.nan
    made = {
        "xgboost": (FairXGBClassifier(params={"eta": 0.3}, n_jobs=1), X),
        "lightgbm": (FairLGBMClassifier(params={"learning_rate": 0.3}, n_jobs=1), X),
        "logistic": (FairLogisticRegression(), missing),
    }
    found = {}
    for name, (model, rows) in made.items():
        model.fit(rows, y, sensitive_features=z)
        path = tmp_path_factory.mktemp(name) / "model"
        save_model(model, path)
        found[name] = (model, load_model(path), rows)
    return found


ENGINES = ("xgboost", "lightgbm", "logistic")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("with_reference", [False, True])
def test_contributions_add_up_to_the_margin(models, engine, with_reference):
    fitted, saved, X = models[engine]
    reference = X[200:400] if with_reference else None
    for model in (fitted, saved):
        found = contributions(model, X, reference=reference)
        assert abs(found.margin - model.decision_function(X)).max() < 1e-6
        assert found.columns == tuple(X.columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fitted_and_a_saved_model_give_the_same_contributions(models, engine):
    fitted, saved, X = models[engine]
    one, other = (contributions(model, X[:50]) for model in (fitted, saved))
    assert one.values == pytest.approx(other.values, abs=1e-6)
    assert one.baseline == pytest.approx(other.baseline, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_has_the_same_reasons_in_any_batch(models, engine):
    _, saved, X = models[engine]
    all_rows = reasons(saved, X, 3, reference=X[:100])
    for chosen in ([5], [700, 5, 3], list(range(0, 900, 5))):
        some = reasons(saved, X.iloc[chosen], 3, reference=X[:100])
        assert some.names == tuple(all_rows.names[row] for row in chosen)
        for found, row in zip(some.points, chosen, strict=True):
            assert found == pytest.approx(all_rows.points[row], abs=1e-12)


def test_linear_contributions_are_weight_times_distance_to_the_mean():
    X, y, z = table()
    X = X.drop(columns="job")
    model = FairLogisticRegression().fit(X, y, sensitive_features=z)
    found = contributions(model, X)
    expected = (X.to_numpy() - X.to_numpy().mean(axis=0)) * model.coef_[0]
    assert found.values == pytest.approx(expected)
    assert found.reference == "the means of the training columns"


def test_against_reference_rows_their_mean_contribution_is_zero(models):
    fitted, _, X = models["lightgbm"]
    found = contributions(fitted, X[:300], reference=X[:300])
    assert abs(found.values.mean(axis=0)).max() < 1e-12
    assert found.baseline == pytest.approx(fitted.decision_function(X[:300]).mean())


@pytest.mark.parametrize("approve", ["high", "low"])
def test_reasons_are_the_largest_contributions_against_approval(models, approve):
    fitted, _, X = models["logistic"]
    found = reasons(fitted, X[:80], 2, approve=approve)
    sign = -1 if approve == "high" else 1
    every = contributions(fitted, X[:80])
    for row, (names, points) in enumerate(zip(found.names, found.points, strict=True)):
        against = sorted(sign * every.values[row])[::-1]
        assert [sign * each for each in points] == pytest.approx(
            [each for each in against[:2] if each > 0]
        )
        assert set(names) <= set(X.columns)


def test_columns_that_are_not_to_be_named_are_kept_together(models):
    fitted, _, X = models["xgboost"]
    found = reasons(fitted, X, 6, never_name=["a", "job"])
    assert not {"a", "job"} & {name for names in found.names for name in names}
    assert found.contributions.columns[-1] == "other columns"
    margin = fitted.decision_function(X)
    assert abs(found.contributions.margin - margin).max() < 1e-6


def test_the_sensitive_column_of_a_saved_model_is_never_named(tmp_path):
    from unsway.models.folder import TrainingRoles

    X, y, z = table()
    X = X.drop(columns="job")
    model = FairLogisticRegression().fit(X, y, sensitive_features=z)
    save_model(model, tmp_path / "model", roles=TrainingRoles(sensitive="a"))
    found = reasons(load_model(tmp_path / "model"), X, 5)
    assert "a" not in {name for names in found.names for name in names}


def test_a_model_of_one_weight_has_no_more_reasons_than_it_has_columns():
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    model = FairLogisticRegression(strength=0).fit(X, y, sensitive_features=z)
    model.coef_[0, 1] = 0.0
    found = reasons(model, X, 2)
    assert {len(names) for names in found.names} == {0, 1}


def test_reasons_become_tables_and_json(models):
    fitted, _, X = models["logistic"]
    found = reasons(fitted, X[:5], 2)
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "rank", "column", "points"]
    assert len(json.loads(json.dumps(found.to_dict()))["reasons"]) == 5
    assert "5 rows" in str(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be"),
        ({"approve": "top"}, ValueError, "unknown approve"),
        ({"never_name": ["zip"]}, ValueError, "no column 'zip'"),
        ({"never_name": list("abcde")}, ValueError, "leaves no column"),
    ],
)
def test_bad_options_are_refused(models, options, error, message):
    fitted, _, X = models["logistic"]
    with pytest.raises(error, match=message):
        reasons(fitted, X, **options)


def test_a_model_without_reasons_is_refused():
    from sklearn.linear_model import LogisticRegression

    X, y, _ = table(200)
    model = LogisticRegression().fit(X[["a", "b"]], y)
    with pytest.raises(TypeError, match="gives no reasons"):
        reasons(model, X[["a", "b"]])
