import numpy as np
import pytest

from unsway.core.columns import StandardColumns


def standardised(X, weights=None):
    center = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weights))
    return np.column_stack([(X - center) / spread, np.ones(len(X))])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(500, 3)) * [1.0, 1e6, 1e-6] + [0.0, 1e7, 1.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_products_are_those_of_the_standardised_matrix(table, weighted):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, 500) if weighted else None
    Z, columns = standardised(table, weights), StandardColumns.of(table, weights)
    u, rows = rng.normal(size=4), rng.normal(size=500)
    np.testing.assert_allclose(columns.margin(u), Z @ u, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(columns.pull_back(rows), Z.T @ rows, rtol=1e-6, atol=1e-6)
    square = columns.weighted_square(rows)
    np.testing.assert_allclose(square, Z.T @ (rows[:, None] * Z), rtol=1e-6, atol=1e-6)


def test_raw_weights_come_back(table):
    columns = StandardColumns.of(table)
    raw = np.array([1.0, 2e-6, 3e5, 4.0])
    np.testing.assert_allclose(columns.to_raw(columns.from_raw(raw)), raw, rtol=1e-9)


def test_without_an_intercept_nothing_is_centred():
    X = np.array([[1.0], [3.0]])
    columns = StandardColumns.of(X, intercept=False)
    assert columns.scale[0] == pytest.approx(np.sqrt(5))
    np.testing.assert_allclose(columns.margin(np.array([np.sqrt(5), 7.0])), [1.0, 3.0])
    assert columns.pull_back(np.ones(2))[-1] == 0


def test_a_constant_column_counts_for_nothing():
    X = np.column_stack([np.full(100, 1e9 / 3), np.arange(100.0)])
    columns = StandardColumns.of(X)
    assert columns.scale[0] == 1
    np.testing.assert_allclose(columns.weighted_square(np.ones(100))[0], 0, atol=1e-3)


def test_without_an_intercept_the_square_ends_in_zeros():
    columns = StandardColumns.of(np.array([[1.0], [3.0]]), intercept=False)
    assert columns.weighted_square(np.ones(2)).tolist() == [[pytest.approx(2.0), 0.0], [0.0, 0.0]]
