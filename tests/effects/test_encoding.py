"""Any table as a numeric matrix."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import (
    as_numpy,
    as_pandas,
    as_polars,
    assert_close,
    each_container,
    mixed_columns,
)
from scipy import sparse
from sklearn.exceptions import NotFittedError
from spread import in_threads

from unsway.effects.encoding import TableEncoder
from unsway.tables import EngineTable, take


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def test_numbers_are_scaled_to_mean_zero_and_spread_one():
    found = TableEncoder().fit_transform(np.array([[1.0], [3.0]]))
    assert found.tolist() == [[-1.0], [1.0]]


def test_a_missing_number_becomes_the_median_and_is_marked():
    # the median of 1, 2, 6 is 2, and of the four values 1, 2, 6, 2 the mean is 2.75
    found = TableEncoder().fit_transform(np.array([[1.0], [2.0], [6.0], [np.nan]]))
    spread = np.std([1, 2, 6, 2])
    assert_close(found[:, 0], (np.array([1, 2, 6, 2]) - 2.75) / spread, 1e-12)
    assert found[:, 1].tolist() == [0, 0, 0, 1]


def test_every_category_gets_a_column_and_so_does_a_missing_one():
    table = np.array([["b"], ["a"], [None]], dtype=object)
    found = dense(TableEncoder().fit_transform(table))
    assert found.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_a_table_that_came_one_hot_is_as_one_hot_made_here():
    towns = np.random.default_rng(0).choice(list("abcdefghij"), 200)
    given = (towns[:, None] == np.unique(towns)).astype(float)
    made = TableEncoder().fit_transform(towns[:, None].astype(object))
    found = TableEncoder().fit_transform(given)
    assert sparse.issparse(found)
    assert_close(dense(found), dense(made), 0)
    holes = np.where(np.eye(10) > 0, np.nan, given[:10])  # fit saw none
    assert np.isfinite(dense(TableEncoder().fit(given).transform(holes))).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 7.0])
def test_a_column_of_one_value_says_nothing(value):
    assert not dense(TableEncoder().fit_transform(np.full((5, 1), value))).any()


def test_a_category_not_seen_in_fit_is_all_zeros():
    encoder = TableEncoder().fit(np.array([["a"], ["b"]], dtype=object))
    assert not dense(encoder.transform(np.array([["z"]], dtype=object))).any()


def test_numbers_alone_stay_dense_and_categories_make_it_sparse():
    columns, _ = mixed_columns()
    numbers = as_numpy({key: columns[key] for key in ("hours", "town")})[:, :1]
    assert isinstance(TableEncoder().fit_transform(numbers), np.ndarray)
    assert isinstance(TableEncoder().fit_transform(np.eye(3)), np.ndarray)
    assert sparse.issparse(TableEncoder().fit_transform(as_numpy(columns)))


@each_container
def test_a_mixed_table_becomes_finite_numbers(container):
    columns, _ = mixed_columns()
    found = dense(TableEncoder().fit_transform(container(columns)))
    assert len(found) == 240
    assert np.isfinite(found).all()


@each_container
def test_a_row_is_encoded_the_same_alone_and_among_others(container):
    columns, _ = mixed_columns()
    table = container(columns)
    encoder = TableEncoder().fit(table)
    together = dense(encoder.transform(table))
    for row in range(24):
        alone = dense(encoder.transform(take(table, np.array([row]))))
        assert (alone == together[row]).all()


def test_categories_that_read_as_numbers_are_recognised_in_a_batch_of_their_own():
    table = np.array([["1"], ["2"], ["other"], [None]], dtype=object)
    encoder = TableEncoder().fit(table)
    whole = dense(encoder.transform(table))
    assert (dense(encoder.transform(table[:2])) == whole[:2]).all()
    assert (dense(encoder.transform(table[3:])) == whole[3:]).all()


def test_a_numeric_column_without_any_value_is_missing_even_without_a_type():
    polars = pytest.importorskip("polars")
    encoder = TableEncoder().fit(polars.DataFrame({"age": [1.0, 3.0, None]}))
    typed = polars.DataFrame({"age": [None]}, schema={"age": polars.Float64})
    assert (encoder.transform(polars.DataFrame({"age": [None]})) == encoder.transform(typed)).all()


def test_the_order_of_named_columns_does_not_matter():
    columns, _ = mixed_columns()
    table = as_pandas(columns)
    encoder = TableEncoder().fit(table)
    expected = dense(encoder.transform(table))
    assert (dense(encoder.transform(table[table.columns[::-1]])) == expected).all()


def test_a_further_column_does_not_matter():
    columns, _ = mixed_columns()
    encoder = TableEncoder().fit(as_polars(columns))
    more = as_polars({**columns, "height": [1.8] * 240})
    expected = dense(encoder.transform(as_polars(columns)))
    assert (dense(encoder.transform(more)) == expected).all()


@pytest.mark.parametrize("name", ["age", "job"])
def test_a_column_missing_since_fit_is_named(name):
    columns, _ = mixed_columns()
    encoder = TableEncoder().fit(as_pandas(columns))
    with pytest.raises(ValueError, match=rf"X lacks '{name}', which was there in fit"):
        encoder.transform(as_pandas(columns).drop(columns=name))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_refused_by_the_name_of_its_column(value):
    columns, _ = mixed_columns()
    table = as_pandas({**columns, "hours": [value, *columns["hours"][1:]]})
    with pytest.raises(ValueError, match=r"X contains infinity in 'hours'"):
        TableEncoder().fit(table)


def test_an_infinite_value_in_an_array_is_refused_by_its_position():
    with pytest.raises(ValueError, match=r"X contains infinity in 'column 1'"):
        TableEncoder().fit(np.array([[0.0, 1.0], [0.0, np.inf]]))


def test_text_where_numbers_were_is_refused_by_the_name_of_its_column():
    columns, _ = mixed_columns()
    encoder = TableEncoder().fit(as_pandas(columns))
    table = as_pandas({**columns, "hours": ["many"] * 240})
    with pytest.raises(ValueError, match=r"X has text in 'hours', which held numbers in fit"):
        encoder.transform(table)


def test_an_encoder_that_has_seen_nothing_encodes_nothing():
    with pytest.raises(NotFittedError):
        TableEncoder().transform(np.zeros((2, 1)))


@pytest.mark.parametrize("cuts", [(slice(0, 240),), (slice(0, 9), slice(9, 9), slice(9, 240))])
def test_workers_encode_their_rows_as_one_process_encodes_all(cuts):
    columns, _ = mixed_columns()
    table = EngineTable.of(as_pandas(columns)).code(as_pandas(columns))
    alone = dense(TableEncoder(lambda sums: sums).fit(table).transform(table))

    def work(rank, reduce):
        mine = take(table, cuts[rank])
        return dense(TableEncoder(reduce).fit(mine).transform(mine))

    together = in_threads(len(cuts), work)
    assert_close(np.vstack(together), alone, 1e-12)
