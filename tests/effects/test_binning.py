"""Numbers in bins."""

import numpy as np

from unsway.effects.binning import MOST_BINS, BinnedTable
from unsway.tables import EngineTable


def table_of(X, categorical=None):
    layout = EngineTable.of(X)
    chosen = np.zeros(X.shape[1], dtype=bool) if categorical is None else np.array(categorical)
    return BinnedTable.of(layout, layout.matrix(X), chosen)


def test_a_column_of_many_values_has_bins_with_as_many_rows():
    x = np.random.default_rng(0).exponential(size=(5_100, 1))
    values, counts = np.unique(table_of(x)(x), return_counts=True)
    assert len(values) == MOST_BINS
    assert counts.min() >= 19
    assert counts.max() <= 21


def test_bins_keep_the_order_and_missing_numbers_and_few_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1_000), rng.integers(0, 9, 1_000)])
    X[::7, 0] = np.nan
    table = table_of(X)
    binned = table(X)
    np.testing.assert_array_equal(binned[:, 1], X[:, 1])
    np.testing.assert_array_equal(np.isnan(binned), np.isnan(X))
    order = np.argsort(X[:, 0])
    known = binned[order, 0][~np.isnan(X[order, 0])]
    assert (np.diff(known) >= 0).all()
    assert np.nanmax(np.abs(binned[:, 0] - X[:, 0])) < 1


def test_other_rows_reach_the_outer_bins_and_categories_stay():
    x = np.arange(1_000.0)[:, None]
    table = table_of(x)
    low, high = table(np.array([[-50.0], [5_000.0]]))[:, 0]
    assert low == table(x)[0, 0]
    assert high == table(x)[-1, 0]
    np.testing.assert_array_equal(table_of(x, [True])(x), x)
