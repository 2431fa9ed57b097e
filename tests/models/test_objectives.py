"""The objectives plug into the engines' own loops, and go where a pickle goes."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from contracts import (
    CRITERIA,
    assert_close,
    each_criterion,
    each_engine,
    make_people,
    objective_of,
    penalty_of,
)

from unsway import Parity, make_synthetic
from unsway.core import CURVATURES, diagonal
from unsway.grouping import Grouping

RATE = 0.3


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_000, random_state=0)


def made(engine, data, strength=0.5, **settings):
    settings = {"learning_rate": RATE, "sensitive_features": data.z, **settings}
    return engine.objective(Parity(), data.X, data.y, strength=strength, **settings)


@each_engine
@each_criterion
@pytest.mark.parametrize("curvature", CURVATURES)
def test_a_call_gives_gradient_and_curvature_of_the_objective(engine, criterion, curvature):
    people = make_people(80, seed=1)
    found = engine.objective(
        criterion,
        people.X,
        people.y,
        sensitive_features=people.z,
        strength=0.9,
        sample_weight=people.weights,
        learning_rate=RATE,
        curvature=curvature,
    )(people.margin, None)
    penalty = penalty_of(criterion, people, people.weights)
    objective = objective_of(penalty, people.y, 0.9, people.weights)
    expansion = objective.expand(people.margin)
    assert_close(found[0], expansion.gradient, 1e-5)
    assert_close(found[1], diagonal(objective, expansion, curvature, RATE), 1e-5)


@each_engine
def test_the_engines_own_loop_gives_the_trees_of_the_classifier(engine, data):
    X = np.round(data.X, 1)
    model = engine.classifier(Parity(), 0.3)
    other = make_synthetic(500, random_state=1)
    model.fit(X, data.y, sensitive_features=data.z, eval_set=(other.X, other.y, other.z))
    objective = made(engine, data, 0.3)
    booster = engine.train(X, data.y, model.best_iteration_, objective)
    assert engine.splits(booster) == engine.splits(model.booster_)


@each_engine
def test_the_engines_own_loop_lowers_the_gap_with_more_strength(engine, data):
    gaps = []
    for strength in (0.0, 0.5, 0.9):
        booster = engine.train(data.X, data.y, 40, made(engine, data, strength))
        scores = engine.scores(booster, data.X)
        gaps.append(abs(scores[data.z == 1].mean() - scores[data.z == 0].mean()))
    assert gaps[0] > gaps[1] > gaps[2]


@each_engine
def test_a_pickled_objective_gives_the_same_in_another_process(engine, data, tmp_path):
    objective = made(engine, data)
    margin = np.linspace(-3, 3, len(data.y), dtype=np.float32)
    file, rows, found = (tmp_path / name for name in ("objective", "margin.npy", "found.npy"))
    file.write_bytes(pickle.dumps(objective))
    np.save(rows, margin)
    code = (
        "import pickle, numpy as np; "
        f"objective = pickle.load(open({str(file)!r}, 'rb')); "
        f"np.save({str(found)!r}, objective(np.load({str(rows)!r}), None))"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
    np.testing.assert_array_equal(np.load(found), objective(margin, None))


@each_engine
def test_strength_may_be_raised_between_rounds(engine, data):
    raised, at_once = made(engine, data, 0.1), made(engine, data, 0.9)
    raised.strength = 0.9
    margin = np.linspace(-1, 1, len(data.y))
    np.testing.assert_array_equal(raised(margin, None), at_once(margin, None))


@each_engine
def test_no_criterion_stands_for_the_fair_target(engine, data):
    objective = engine.objective(None, data.X, data.y, sensitive_features=data.z, strength=1.0)
    assert objective.derivatives.objective.shift is not None


@each_engine
def test_words_for_labels_and_groups_will_do(engine, data):
    words = engine.objective(
        Parity(),
        data.X.tolist(),
        np.where(data.y, "yes", "no"),
        sensitive_features=pd.Series(np.where(data.z, "m", "f")),
        groups=Grouping(reference="f"),
        strength=0.5,
        learning_rate=RATE,
    )
    margin = np.linspace(-1, 1, len(data.y))
    np.testing.assert_array_equal(words(margin, None), made(engine, data)(margin, None))


@each_engine
def test_margins_of_another_number_of_rows_are_refused_with_both_numbers(engine, data):
    message = "asks for derivatives at 999 rows but the objective was made for 1000; make it from"
    with pytest.raises(ValueError, match=message):
        made(engine, data)(np.zeros(999), None)


@each_engine
def test_a_loop_over_other_rows_is_refused(engine, data):
    with pytest.raises(ValueError, match="at 500 rows but the objective was made for 1000"):
        engine.train(data.X[:500], data.y[:500], 2, made(engine, data))


@each_engine
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"strength": 1.0}, ValueError, "strength must be at least 0 and below 1"),
        ({"curvature": "gauss"}, ValueError, "unknown curvature 'gauss'; choose from"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be positive and finite; got 0"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate must be a number; got 'fast'"),
        ({"sensitive_features": None}, TypeError, "sensitive_features is required"),
        ({"sensitive_features": [0, 1]}, ValueError, "sensitive_features has 2 rows but X has"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight has 1 rows but X has 1000"),
        ({"groups": Grouping(reference="f")}, ValueError, "reference='f' is not a level"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused(engine, data, bad, error, message):
    with pytest.raises(error, match=message):
        made(engine, data, **bad)


@each_engine
def test_the_sensitive_column_inside_x_is_refused(engine, data):
    X = np.column_stack([data.X, 1 - data.z])
    with pytest.raises(ValueError, match="'column 16' is the same as sensitive_features"):
        engine.objective(Parity(), X, data.y, sensitive_features=data.z, strength=0.5)


@each_engine
def test_what_is_no_criterion_is_refused(engine, data):
    with pytest.raises(TypeError, match="criterion must be one such as"):
        engine.objective("parity", data.X, data.y, sensitive_features=data.z, strength=0.5)


def test_the_criteria_above_are_all_of_them():
    assert len(CRITERIA) >= 11
