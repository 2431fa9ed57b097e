"""A logistic regression as a table of points."""

import numpy as np
import pytest

from unsway import FairLogisticRegression, FairXGBClassifier, make_synthetic, points_table
from unsway.models.features import features_of_table, one_hot
from unsway.models.folder import load_model, save_model

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def data():
    people = make_synthetic(800, random_state=0)
    X = pandas.DataFrame(people.X[:, :3], columns=list("abc"))
    X.loc[::9, "b"] = np.nan
    return X, people.y, people.z


@pytest.fixture(scope="module")
def model(data):
    X, y, z = data
    return FairLogisticRegression().fit(X, y, sensitive_features=z)


def test_the_score_is_the_scaled_log_odds(data, model):
    table = points_table(model, points_to_double_odds=30, base_score=500, base_odds=20)
    expected = 500 + 30 / np.log(2) * (model.decision_function(data[0]) - np.log(20))
    assert table.score(data[0]) == pytest.approx(expected)


def test_where_the_negative_label_is_good_points_change_their_sign(data, model):
    good = points_table(model, base_odds=1, good="positive")
    bad = points_table(model, base_odds=1, good="negative")
    assert np.array(good.points) == pytest.approx(-np.array(bad.points))
    assert good.score(data[0]) + bad.score(data[0]) == pytest.approx(np.full(800, 1200.0))


def test_a_saved_model_with_levels_has_a_line_for_each(tmp_path):
    people = make_synthetic(800, random_state=1)
    job = np.where(people.X[:, 1] > 0, "cook", "clerk")
    X = pandas.DataFrame({"a": people.X[:, 0], "job": job})
    features = features_of_table(X)
    model = FairLogisticRegression(l2=1e-3)
    model.fit(one_hot(X, features)[0], people.y, sensitive_features=people.z)
    save_model(model, tmp_path / "model", features=features)
    table = points_table(load_model(tmp_path / "model"), decimals=0)
    assert table.columns == (("a", None), ("job", "clerk"), ("job", "cook"))
    assert all(float(each).is_integer() for each in table.points)
    frame = table.to_frame()
    assert frame["feature"].tolist() == ["base", "a", "job", "job"]
    assert frame["level"].tolist() == ["", "per unit", "clerk", "cook"]
    exact = points_table(load_model(tmp_path / "model"))
    expected = 600 + 20 / np.log(2) * (
        load_model(tmp_path / "model").decision_function(X) - np.log(50)
    )
    assert exact.score(X) == pytest.approx(expected)


def test_trees_have_no_table_of_points(data):
    with pytest.raises(TypeError, match="needs a logistic regression"):
        points_table(FairXGBClassifier())


@pytest.mark.parametrize(
    "wrong", [{"points_to_double_odds": 0}, {"base_odds": -1}, {"good": "yes"}]
)
def test_bad_settings_are_refused(model, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        points_table(model, **wrong)
