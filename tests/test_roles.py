"""The roles X, y and z are read alike from every kind of container."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from unsway.checks import check_length, check_weights, read_column
from unsway.roles import (
    Sensitive,
    check_both_levels,
    check_labels,
    check_outcome,
    check_sensitive,
    refuse_sensitive_column,
)
from unsway.tables import columns, holds_text, take

NUMBERS = [1, 0, 1]
COLUMNS_OF_NUMBERS = {
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    "numpy": np.array(NUMBERS),
    "numpy_column": np.array(NUMBERS)[:, None],
    "numpy_object": np.array(NUMBERS, dtype=object),
    "pandas": pd.Series(NUMBERS),
    "pandas_index": pd.Index(NUMBERS),
    "pandas_nullable": pd.Series(NUMBERS, dtype="Int64"),
    "pandas_boolean": pd.Series(NUMBERS, dtype="boolean"),
    "pandas_frame": pd.DataFrame({"z": NUMBERS}),
    "polars": pl.Series(NUMBERS),
    "polars_frame": pl.DataFrame({"z": NUMBERS}),
    "pyarrow": pa.array(NUMBERS),
    "pyarrow_chunked": pa.chunked_array([[1], [0, 1]]),
    "pyarrow_table": pa.table({"z": NUMBERS}),
    "pyarrow_decimal": pa.array([Decimal(number) for number in NUMBERS]),
}

TEXTS = ["M", "F", "M"]
COLUMNS_OF_TEXT = {
    "list": TEXTS,
    "numpy": np.array(TEXTS),
    "numpy_object": np.array(TEXTS, dtype=object),
    "pandas": pd.Series(TEXTS),
    "pandas_string": pd.Series(TEXTS, dtype="string"),
    "pandas_arrow": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "pandas_categorical": pd.Series(pd.Categorical(TEXTS, categories=["X", "M", "F"])),
    "bare_categorical": pd.Categorical(TEXTS),
    "polars": pl.Series(TEXTS),
    "polars_categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars_enum": pl.Series(TEXTS, dtype=pl.Enum(["M", "F"])),
    "pyarrow": pa.array(TEXTS),
    "pyarrow_dictionary": pa.array(TEXTS).dictionary_encode(),
    "pyarrow_chunked": pa.chunked_array([["M"], ["F", "M"]]),
    "pyarrow_table": pa.table({"sex": TEXTS}),
}

numbers = pytest.mark.parametrize("column", COLUMNS_OF_NUMBERS.values(), ids=COLUMNS_OF_NUMBERS)
texts = pytest.mark.parametrize("column", COLUMNS_OF_TEXT.values(), ids=COLUMNS_OF_TEXT)


# --- vector --------------------------------------------------------------------------------------


@numbers
def test_numbers_are_read_from_every_container(column):
    array, _ = read_column(column, "z")
    assert array.ndim == 1
    assert array.tolist() == NUMBERS


@texts
def test_texts_are_read_from_every_container(column):
    assert read_column(column, "z")[0].tolist() == TEXTS


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(NUMBERS, name="z"),
        pd.DataFrame({"z": NUMBERS}),
        pl.Series("z", NUMBERS),
        pl.DataFrame({"z": NUMBERS}),
        pa.table({"z": NUMBERS}),
    ],
    ids=["pandas", "pandas_frame", "polars", "polars_frame", "pyarrow_table"],
)
def test_a_named_column_keeps_its_name(column):
    assert read_column(column, "z")[1] == "z"


@pytest.mark.parametrize(
    "column",
    [NUMBERS, np.array(NUMBERS), pd.Series(NUMBERS), pl.Series(NUMBERS), pa.array(NUMBERS)],
    ids=["list", "numpy", "pandas", "polars", "pyarrow"],
)
def test_a_column_without_a_name_has_none(column):
    assert read_column(column, "z")[1] is None


def test_vector_names_the_role_that_is_wrong():
    with pytest.raises(ValueError, match=r"^y_pred must be one column"):
        read_column(np.zeros((3, 2)), "y_pred")


def test_vector_refuses_a_lazy_frame():
    with pytest.raises(ValueError, match="z must be one column"):
        read_column(pl.LazyFrame({"z": NUMBERS}), "z")


def test_vector_reads_a_column_with_an_index_of_its_own():
    assert read_column(pd.Series(NUMBERS, index=[7, 7, 7]), "z")[0].tolist() == NUMBERS


# --- z -------------------------------------------------------------------------------------------


@numbers
def test_zero_and_one_need_no_stated_level(column):
    assert check_sensitive(column, 3).values.tolist() == [1.0, 0.0, 1.0]


@texts
def test_a_stated_level_becomes_one(column):
    assert check_sensitive(column, 3, "M").values.tolist() == [1.0, 0.0, 1.0]
    assert check_sensitive(column, 3, "F").values.tolist() == [0.0, 1.0, 0.0]


def test_levels_name_zero_first():
    assert check_sensitive(TEXTS, 3, "F").levels == ("M", "F")


def test_the_stated_level_may_turn_zero_and_one_around():
    assert check_sensitive([0, 1, 1], 3, positive_level=0).values.tolist() == [1.0, 0.0, 0.0]


def test_true_counts_as_one():
    checked = check_sensitive([True, False, True], 3)
    assert checked.values.tolist() == [1.0, 0.0, 1.0]
    assert checked.values.dtype == np.float64


def test_false_may_be_the_stated_level():
    checked = check_sensitive(np.array([True, False, True]), 3, positive_level=False)
    assert checked.values.tolist() == [0.0, 1.0, 0.0]


def test_what_z_stands_beside_is_named():
    with pytest.raises(ValueError, match="sensitive_features has 2 rows but y_pred has 3"):
        check_sensitive([0, 1], 3, beside="y_pred")


# --- y -------------------------------------------------------------------------------------------


@numbers
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_are_read_from_every_container(column):
    labels, classes = check_labels(column, 3)
    assert labels.tolist() == [1.0, 0.0, 1.0]
    assert classes.tolist() == [0, 1]


@texts
def test_text_labels_are_sorted_as_scikit_learn_sorts_them(column):
    labels, classes = check_labels(column, 3)
    assert classes.tolist() == ["F", "M"]
    assert labels.tolist() == [1.0, 0.0, 1.0]


def test_labels_may_be_any_two_whole_numbers():
    labels, classes = check_labels(np.array([-1.0, 1e300, -1.0]), 3)
    assert labels.tolist() == [0.0, 1.0, 0.0]
    assert classes.tolist() == [-1.0, 1e300]


def test_a_column_vector_of_labels_warns_as_in_scikit_learn():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        check_labels(np.array([[0], [1]]), 2)


# --- outcomes ------------------------------------------------------------------------------------


@numbers
def test_zero_and_one_are_a_binary_outcome_in_every_container(column):
    values, binary = check_outcome(column, 3)
    assert values.tolist() == [1.0, 0.0, 1.0]
    assert binary


@texts
def test_two_classes_of_text_are_a_binary_outcome(column):
    values, binary = check_outcome(column, 3)
    assert values.tolist() == [1.0, 0.0, 1.0]
    assert binary


@pytest.mark.parametrize(
    "column",
    [
        [1.5, 2.5, 1.5],
        np.array([1.5, 2.5, 1.5], dtype=np.float32),
        np.array([1.5, 2.5, 1.5], dtype=object),
        pd.Series([1.5, 2.5, 1.5], dtype="Float64"),
        pl.Series([1.5, 2.5, 1.5]),
        pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("1.5")]),
    ],
    ids=["list", "float32", "object", "nullable", "polars", "decimal"],
)
def test_two_numbers_other_than_zero_and_one_keep_their_scale(column):
    values, binary = check_outcome(column, 3)
    assert values.tolist() == [1.5, 2.5, 1.5]
    assert values.dtype == np.float64
    assert not binary


def test_scores_and_counts_are_taken_as_they_are():
    assert check_outcome([0.1, 0.5, 0.9], 3)[0].tolist() == [0.1, 0.5, 0.9]
    values, binary = check_outcome([0, 1, 2], 3)
    assert values.tolist() == [0.0, 1.0, 2.0]
    assert not binary


def test_true_and_false_are_a_binary_outcome():
    values, binary = check_outcome([True, False], 2)
    assert values.tolist() == [1.0, 0.0]
    assert binary


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1], "y is the same for every row, so nothing has an effect on it"),
        (["a", "a", "a"], "y is the same for every row"),
        (["a", "b", "c"], "y has 3 classes of text; give numbers or two classes"),
        ([1.0, np.nan, 0.0], "y has 1 missing values"),
        ([1.0, np.inf, 0.0], "y has infinite values"),
        ([1.0, 0.0], "y has 2 rows but X has 3; they must match"),
        (None, "y must be one column"),
    ],
    ids=["constant", "constant text", "three classes", "a hole", "infinite", "short", "none"],
)
def test_an_outcome_that_cannot_serve_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_outcome(y, 3)


# --- weights -------------------------------------------------------------------------------------


def test_no_weights_stay_none():
    assert check_weights(None, 3) is None


def test_one_weight_is_given_to_every_row():
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "weights",
    [
        [1, 0, 2],
        np.array([1, 0, 2], dtype=np.int8),
        pd.Series([1, 0, 2], index=[5, 6, 7]),
        pd.Series([1, 0, 2], dtype="Float64"),
        pl.Series([1, 0, 2]),
        pa.array([1, 0, 2]),
        pa.chunked_array([[1], [0, 2]]),
    ],
    ids=["list", "numpy", "pandas", "nullable", "polars", "pyarrow", "chunked"],
)
def test_weights_are_read_from_every_container(weights):
    checked = check_weights(weights, 3)
    assert checked.dtype == np.float64
    assert checked.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "weights",
    [pd.Series([1.0, None, 2.0]), pl.Series([1.0, None, 2.0]), pa.array([1.0, None, 2.0])],
    ids=["pandas", "polars", "pyarrow"],
)
def test_missing_weights_are_counted(weights):
    with pytest.raises(ValueError, match="sample_weight has 1 values that are NaN or infinite"):
        check_weights(weights, 3)


# --- lengths and levels --------------------------------------------------------------------------


def test_equal_lengths_pass():
    check_length(np.zeros(3), 3, "y")


def test_different_lengths_are_told():
    with pytest.raises(ValueError, match=r"^y has 3 rows but X has 4; they must match$"):
        check_length(np.zeros(3), 4, "y")


def test_both_levels_with_weight_pass():
    check_both_levels(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0]), ("F", "M"), "the fold")


def test_a_level_without_a_row_is_named():
    with pytest.raises(ValueError, match=r"^the fold has no row of sensitive level 'M'"):
        check_both_levels(np.zeros(3), None, ("F", "M"), "the fold")


def test_a_level_without_weight_is_named():
    with pytest.raises(ValueError, match="rows of class 0, but each has a sample_weight of zero"):
        check_both_levels(
            np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0, 1]), "y", kind="class"
        )


# --- tables --------------------------------------------------------------------------------------

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


# --- z inside X ----------------------------------------------------------------------------------


def sensitive(name=None):
    return Sensitive(np.array([0.0, 1.0, 1.0]), ("F", "M"), name)


@pytest.mark.parametrize(
    "copy",
    [[0, 1, 1], [1, 0, 0], [-3.0, 8.0, 8.0], ["F", "M", "M"], ["b", "a", "a"]],
    ids=["same", "turned_around", "recoded", "text", "other_text"],
)
@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_a_recoded_copy_is_found(copy, library):
    with pytest.raises(ValueError, match="'gender' is the same as sensitive_features"):
        refuse_sensitive_column(library({"age": [1, 2, 3], "gender": copy}), sensitive())


@pytest.mark.parametrize(
    "column",
    [[0, 1, 0], [0, 1, 2], [1, 1, 1], [0.0, 1.0, np.nan], [np.nan, 1.0, 1.0]],
    ids=["one_differs", "three_values", "constant", "a_hole", "a_hole_for_a_level"],
)
def test_what_is_no_copy_passes(column):
    refuse_sensitive_column(np.column_stack([[1, 2, 3], column]), sensitive())


def test_the_same_name_is_enough():
    with pytest.raises(ValueError, match="X contains the sensitive column 'sex'; drop it"):
        refuse_sensitive_column(pd.DataFrame({"sex": [1, 2, 3]}), sensitive("sex"))


def test_another_name_and_other_values_pass():
    refuse_sensitive_column(pd.DataFrame({"age": [1, 2, 3]}), sensitive("sex"))
