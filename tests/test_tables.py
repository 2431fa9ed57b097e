"""Tables reach the engines as the same floats, whatever they were stored in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contracts import CONTAINERS, as_pandas, each_container, mixed_columns

from unsway.tables import EngineTable, check_table, columns, holds_text, row_count, take

COLUMNS, _ = mixed_columns(60)


@each_container
def test_every_container_gives_the_same_floats(container):
    frame, table = as_pandas(COLUMNS), container(COLUMNS)
    expected, found = EngineTable.of(frame).matrix(frame), EngineTable.of(table).matrix(table)
    np.testing.assert_array_equal(found, expected)
    assert row_count(table) == 60


@each_container
def test_levels_are_sorted_words_and_a_missing_one_is_no_level(container):
    levels = EngineTable.of(container(COLUMNS)).levels
    assert sorted(levels.values()) == [("clerk", "nurse", "pilot"), ("north", "south")]


def test_codes_are_positions_of_levels():
    table = pd.DataFrame({"job": ["b", None, "a", "b"]})
    matrix = EngineTable.of(table).matrix(table)
    np.testing.assert_array_equal(matrix[:, 0], [1, np.nan, 0, 1])


@each_container
def test_an_unseen_level_becomes_missing(container):
    known = EngineTable.of(container(COLUMNS))
    other = {**COLUMNS, "job": ["astronaut"] * 60}
    assert np.isnan(known.matrix(container(other))[:, 2]).all()


@pytest.mark.parametrize("first", CONTAINERS.values(), ids=CONTAINERS)
@each_container
def test_a_table_learnt_from_one_container_reads_another(first, container):
    known, part = EngineTable.of(first(COLUMNS)), {k: v[:9] for k, v in COLUMNS.items()}
    expected = known.matrix(first(COLUMNS))[:9]
    np.testing.assert_array_equal(known.matrix(container(part)), expected)


@each_container
def test_a_column_that_is_missing_throughout_is_missing_in_the_matrix(container):
    known = EngineTable.of(container(COLUMNS))
    holes = {**COLUMNS, "job": [None] * 60, "age": [None] * 60}
    matrix = known.matrix(container(holes))
    assert np.isnan(matrix[:, [0, 2]]).all()


def test_an_array_of_floats_is_passed_on_without_a_copy():
    for dtype in (np.float32, np.float64):
        X = np.ones((4, 2), dtype=dtype)
        assert EngineTable.of(X).matrix(X) is X


def test_integers_and_booleans_become_floats():
    X = np.array([[1, 0], [0, 3]])
    np.testing.assert_array_equal(EngineTable.of(X).matrix(X), X)
    assert EngineTable.of(X > 0).matrix(X > 0).dtype == np.float64


def test_words_where_numbers_were_are_refused_by_the_name_of_the_column():
    known = EngineTable.of(pd.DataFrame({"age": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="'age' held numbers in fit and holds words now"):
        known.matrix(pd.DataFrame({"age": ["old", "young"]}))


def test_numbers_where_words_were_are_refused_by_the_name_of_the_column():
    known = EngineTable.of(pd.DataFrame({"job": ["a", "b"]}))
    with pytest.raises(ValueError, match="'job' held words in fit and holds numbers now"):
        known.matrix(pd.DataFrame({"job": [1, 2]}))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_an_infinite_value_is_refused_by_the_name_of_its_column(value):
    table = pd.DataFrame({"age": [1.0, 2.0], "income": [value, 1.0]})
    with pytest.raises(ValueError, match="infinity or a number too large in 'income'"):
        EngineTable.of(table).matrix(table)


def test_an_infinite_value_in_an_array_is_refused_by_its_position():
    X = np.array([[1.0, np.inf]])
    with pytest.raises(ValueError, match="in 'column 1'"):
        EngineTable.of(X).matrix(X)


def test_lists_become_arrays_and_frames_stay():
    frame = pd.DataFrame({"age": [1.0, 2.0]})
    assert check_table(frame) is frame
    assert check_table([[1.0], [np.nan]]).shape == (2, 1)


# --- columns and rows ----------------------------------------------------------------------------

RECORDS = {"age": [30, 40], "city": ["Rome", None], "owner": [True, False], "debt": [1.5, None]}
TABLES = {
    "pandas": pd.DataFrame(RECORDS),
    "pandas_nullable": pd.DataFrame(RECORDS).convert_dtypes(),
    "pandas_categorical": pd.DataFrame(RECORDS).astype({"city": "category"}),
    "polars": pl.DataFrame(RECORDS),
    "polars_categorical": pl.DataFrame(RECORDS).cast({"city": pl.Categorical}),
    "pyarrow": pa.table(RECORDS),
    "pyarrow_dictionary": pa.table(
        {**RECORDS, "city": pa.array(RECORDS["city"]).dictionary_encode()}
    ),
}
tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@tables
def test_columns_of_every_frame_read_alike(table):
    age, city, owner, debt = columns(table)
    assert [column.name for column in (age, city, owner, debt)] == list(RECORDS)
    assert age.values.tolist() == [30.0, 40.0]
    assert city.values.tolist() == ["Rome", "(missing)"]
    assert owner.values.tolist() == [1.0, 0.0]
    np.testing.assert_array_equal(debt.values, [1.5, np.nan])
    assert [column.categorical for column in (age, city, owner, debt)] == [0, 1, 0, 0]


@tables
def test_taking_rows_keeps_the_kind_of_table(table):
    taken = take(table, np.array([1, 0, 1]))
    assert type(taken) is type(table)
    assert next(columns(taken)).values.tolist() == [40.0, 30.0, 40.0]


@tables
def test_taking_one_row_gives_a_table_of_one_row(table):
    assert next(columns(take(table, np.array([1])))).values.tolist() == [40.0]


@tables
def test_a_frame_with_text_holds_text(table):
    assert holds_text(table)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"age": [30, 40], "owner": [True, False]}),
        pl.DataFrame({"age": [30, None], "owner": [True, None]}),
        pa.table({"age": [30, 40]}),
        np.array([["Rome"]]),
    ],
    ids=["pandas", "polars", "pyarrow", "array"],
)
def test_a_frame_of_numbers_and_any_array_hold_no_text(table):
    assert not holds_text(table)


def test_columns_of_an_array_are_named_by_position():
    first, second = columns(np.array([[1, "a"], [2, None]], dtype=object))
    assert (first.name, second.name) == ("column 0", "column 1")
    assert first.values.tolist() == [1.0, 2.0]
    assert second.values.tolist() == ["a", "(missing)"]


def test_pandas_na_in_an_array_is_missing():
    (column,) = columns(np.array([["a"], [pd.NA]], dtype=object))
    assert column.values.tolist() == ["a", "(missing)"]


def test_a_list_of_rows_is_a_table():
    assert [column.values.tolist() for column in columns([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
    assert take([[1, 2], [3, 4]], np.array([1])).tolist() == [[3, 4]]


def test_one_dimension_is_no_table():
    with pytest.raises(
        ValueError, match="X must be a table of rows and columns; got an array of 1"
    ):
        list(columns(np.zeros(3)))
