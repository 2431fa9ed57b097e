"""A model is the same in whatever order the rows come."""

import numpy as np
import pytest
from contracts import as_pandas, each_engine, rows_of

from unsway import (
    DirectEffect,
    EqualizedOdds,
    FairLogisticRegression,
    FairTarget,
    Parity,
    make_synthetic,
)

CRITERIA = {
    "direct effect": DirectEffect(),
    "direct effect, function": DirectEffect(2, 1, norm="function"),
    "fair target": FairTarget(),
    "parity": Parity(),
    "equalized odds": EqualizedOdds(),
}
each_criterion = pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)


def table_with_ties(n_rows=1_500, seed=1):
    """Return a world with two coarse columns; 50 rows occur twice, 50 with the other label."""
    rng = np.random.default_rng(seed)
    world = make_synthetic(n_rows - 100, random_state=seed)
    X = np.column_stack([world.X, rng.integers(0, 4, len(world.y)), world.X[:, 0].round(1)])
    again = rng.integers(0, len(X), 100)
    y = np.r_[world.y, world.y[again[:50]], 1 - world.y[again[50:]]]
    return np.r_[X, X[again]], y, np.r_[world.z, world.z[again]]


X, Y, Z = table_with_ties()
ORDERS = [np.random.default_rng(seed).permutation(len(Y)) for seed in range(5)]


def largest_difference(model, *, table=X, take=lambda table, rows: table[rows], **options):
    """Return by how much a score differs between the rows as they are and five permutations."""
    scores = []
    for rows in (np.arange(len(Y)), *ORDERS):
        given = {name: values[rows] for name, values in options.items()}
        model.fit(take(table, rows), Y[rows], sensitive_features=Z[rows], **given)
        scores.append(model.predict_proba(table)[:, 1])
    return np.ptp(scores, axis=0).max()


@each_engine
@each_criterion
def test_trees_do_not_depend_on_the_order_of_the_rows(engine, criterion):
    model = engine.classifier(criterion, None)
    assert largest_difference(model) < 1e-12


@each_criterion
def test_a_logistic_regression_does_not_depend_on_the_order_of_the_rows(criterion):
    assert largest_difference(FairLogisticRegression(criterion)) < 1e-12


@each_engine
def test_neither_do_trees_of_weighted_rows_of_a_frame(engine):
    columns = {f"x{position}": X[:, position].tolist() for position in range(X.shape[1])}
    columns["town"] = np.array(["north", "south", None], dtype=object)[np.arange(len(Y)) % 3]
    model = engine.classifier(DirectEffect(), None)
    found = largest_difference(
        model,
        table=as_pandas(columns),
        take=lambda table, rows: table.iloc[rows],
        sample_weight=1.0 + np.arange(len(Y)) % 3,
    )
    assert found < 1e-12


@each_engine
def test_neither_do_trees_that_stop_by_rows_of_their_own(engine):
    model = engine.classifier(DirectEffect(), None)
    other = make_synthetic(500, random_state=2)
    wide = np.column_stack([other.X, np.zeros((500, 2))])
    scores = []
    for rows in (np.arange(len(Y)), *ORDERS[:2]):
        there = np.random.default_rng(len(scores)).permutation(500)
        beside = wide[there], other.y[there], other.z[there]
        model.fit(X[rows], Y[rows], sensitive_features=Z[rows], eval_set=beside)
        scores.append(model.predict_proba(X)[:, 1])
    assert np.ptp(scores, axis=0).max() < 1e-12


@pytest.mark.parametrize("criterion", [DirectEffect(), FairTarget()], ids=["effect", "target"])
def test_a_row_has_the_same_value_to_the_last_bit(criterion):
    given = criterion.fit(rows_of(X, Y, Z)).row_values
    for rows in ORDERS[:2]:
        found = criterion.fit(rows_of(X[rows], Y[rows], Z[rows])).row_values
        alike = np.sort(found, axis=0), np.sort(given, axis=0)  # equal rows may change places
        np.testing.assert_array_equal(*alike)
