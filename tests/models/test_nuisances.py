"""Propensity and outcome models by an engine: against scikit-learn, by hand and by known truth."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contracts import assert_close, each_engine, rows_of
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from unsway.datasets import make_synthetic, make_world
from unsway.effects import CrossFit
from unsway.effects.learners import add_interactions
from unsway.models.engine import BoosterSettings, TreeShape
from unsway.models.nuisances import EngineFitting, NuisanceTrees

SETTINGS = BoosterSettings({}, "exact", 0, 1)
SMALL = TreeShape(n_trees=10, learning_rate=0.3, depth=2)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_200, random_state=0)


def fitting_of(engine, **options):
    return EngineFitting(engine.classifier().engine, SETTINGS, **options)


def rows_in(data):
    return rows_of(data.X, data.y.astype(float), data.z.astype(float))


@each_engine
def test_a_propensity_is_a_logistic_regression_and_the_trees_that_start_from_it(engine, data):
    learner = fitting_of(engine).regression(rows_in(data), (SMALL,))
    train, others = np.arange(0, 1_200, 2), np.arange(1, 1_200, 2)
    model = learner.fit(data.z.astype(float), train, None)
    found = learner.predict_rows(model, others)
    design = learner.encode(data.X)[0]
    theirs = LogisticRegression(tol=1e-10, max_iter=1_000).fit(design[train], data.z[train])
    assert_close(found[:, 0], theirs.predict_proba(design[others])[:, 1], 1e-5)
    trees = engine.scores(model.boosters[0], data.X[others])  # probabilities from a margin of 0
    assert_close(found[:, 1], expit(logit(found[:, 0]) + logit(trees)), 1e-5)
    assert abs(found[:, 1] - found[:, 0]).max() > 0.01


@each_engine
def test_outcome_models_have_a_common_part_and_one_that_changes_its_sign(engine, data):
    rows = rows_in(data)
    learner = fitting_of(engine).regression(rows, (SMALL, SMALL), rows.groups.codes)
    model = learner.fit(rows.y, np.arange(1_200), None)
    found = learner.predict_rows(model, np.arange(1_200))
    design = learner.encode(data.X)[0]
    theirs = LogisticRegression(tol=1e-10, max_iter=1_000)
    theirs.fit(add_interactions(design, data.z), data.y)
    common, effect = (logit(engine.scores(each, data.X)) for each in model.boosters)
    for level, sign in ((0, -1), (1, 1)):
        at_level = add_interactions(design, np.full(1_200, level))
        expected = theirs.predict_proba(at_level)[:, 1]
        assert_close(found[:, level, 0], expected, 1e-5)
        assert_close(found[:, level, 1], expit(logit(expected) + common), 1e-5)
        assert_close(found[:, level, 2], expit(logit(expected) + common + sign * effect), 1e-5)
    assert found.shape == (1_200, 2, learner.n_models)
    assert abs(effect).max() > 0.01


@each_engine
def test_without_a_regression_the_trees_start_from_the_share_of_ones(engine, data):
    learner = fitting_of(engine, linear=False).regression(rows_in(data), (SMALL,))
    model = learner.fit(data.y.astype(float), np.arange(1_200), None)
    (found,) = learner.predict_rows(model, np.arange(1_200)).T
    trees = logit(engine.scores(model.boosters[0], data.X))
    assert_close(found, expit(logit(data.y.mean()) + trees), 1e-5)


@each_engine
def test_swapping_the_groups_swaps_their_means(engine, data):
    one = rows_of(data.X, data.y.astype(float), data.z.astype(float))
    other = rows_of(data.X, data.y.astype(float), 1 - data.z.astype(float))
    found = [
        CrossFit.of(rows, pooled=True, cv=2, fitting=fitting_of(engine)).fit().outcome
        for rows in (one, other)
    ]
    assert_close(found[1], found[0][:, ::-1], 2e-3)  # the folds are the same, the bins too


@each_engine
def test_weights_are_nearly_as_good_as_repeated_rows(engine):
    # but for the scale of the columns, which is that of rows without weights
    data = make_synthetic(300, random_state=1)
    X = np.round(data.X)  # so few values that all have bins of their own
    weights = np.random.default_rng(0).integers(1, 3, 300).astype(float)
    again = np.repeat(np.arange(300), weights.astype(int))
    y, z = data.y.astype(float), data.z.astype(float)
    shapes = (SMALL, SMALL)
    found = []
    for chosen, given in ((np.arange(300), weights), (again, None), (np.arange(300), None)):
        rows = rows_of(X[chosen], y[chosen], z[chosen], given)
        learner = fitting_of(engine).regression(rows, shapes, rows.groups.codes)
        model = learner.fit(rows.y, np.arange(len(chosen)), given)
        found.append(model.predict(learner.encode(X)))
    weighted, repeated, unweighted = (means[..., 0] for means in found)
    assert abs(weighted - repeated).max() < 0.01
    assert abs(unweighted - repeated).max() > 0.03


@each_engine
def test_nuisances_are_close_to_the_truth_where_it_is_known(engine):
    data = make_world("varying_effect", 20_000, random_state=0)
    nuisances = CrossFit.of(rows_in(data), pooled=True, cv=2, fitting=fitting_of(engine)).fit()
    error = nuisances.outcome.mean(axis=1) - data.fair_score
    assert np.sqrt(np.mean(error**2)) < 0.06
    assert np.sqrt(np.mean((nuisances.propensity - data.propensity) ** 2)) < 0.05


@each_engine
def test_fitted_models_hold_no_row(engine, data):
    rows = rows_in(data)
    learner = fitting_of(engine).regression(rows, (SMALL, SMALL), rows.groups.codes)
    kept = pickle.dumps((learner.fit(rows.y, np.arange(1_200), None), learner.encode))
    assert data.X[:50].tobytes() not in kept
    assert data.z[:200].astype(np.uint8).tobytes() not in kept


def test_rows_are_encoded_and_binned_once_for_all_nuisances(data):
    from unsway.models.xgboost import XGBOOST

    rows, fitting = rows_in(data), EngineFitting(XGBOOST, SETTINGS)
    (propensity,), (outcome,) = (
        fitting.learners(rows, None, binary=True, role="propensity_model"),
        fitting.pooled_learners(rows),
    )
    assert propensity.design is outcome.design
    half = np.arange(600)
    assert propensity.design.binned(half, None) is outcome.design.binned(half.copy(), None)
    assert propensity.design.binned(half + 1, None) is not outcome.design.binned(half, None)


def test_a_count_of_trees_is_that_of_every_part():
    trees = NuisanceTrees().with_count(7)
    assert {trees.propensity.n_trees, trees.common.n_trees, trees.effect.n_trees} == {7}
    assert trees.common.depth == NuisanceTrees().common.depth
    assert NuisanceTrees().with_count(None) == NuisanceTrees()
