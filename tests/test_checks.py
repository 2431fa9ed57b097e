"""Columns, lengths, weights and parameters are read alike from every kind of container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from columns import NUMBERS, TEXTS, each_column_of_numbers, each_column_of_text

from unsway.checks import (
    check_choice,
    check_integer,
    check_length,
    check_number,
    check_weights,
    read_column,
    read_numbers,
)

# --- columns -------------------------------------------------------------------------------------


@each_column_of_numbers
def test_numbers_are_read_from_every_container(column):
    array, _ = read_column(column, "z")
    assert array.ndim == 1
    assert array.tolist() == NUMBERS


@each_column_of_text
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


def test_the_column_that_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"^y_pred must be one column"):
        read_column(np.zeros((3, 2)), "y_pred")


def test_a_lazy_frame_is_no_column():
    with pytest.raises(ValueError, match="z must be one column"):
        read_column(pl.LazyFrame({"z": NUMBERS}), "z")


def test_a_column_with_an_index_of_its_own_is_read_by_position():
    assert read_column(pd.Series(NUMBERS, index=[7, 7, 7]), "z")[0].tolist() == NUMBERS


# --- weights -------------------------------------------------------------------------------------


def test_a_column_that_holds_no_numbers_is_refused_by_name():
    with pytest.raises(TypeError, match="mu0 must hold numbers"):
        read_numbers(["high", "low"], "mu0")


def test_a_column_of_numbers_is_as_long_as_what_is_beside_it():
    assert read_numbers([1, 2], "mu0", 2).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="mu0 has 2 rows but effect has 3; they must match"):
        read_numbers([1, 2], "mu0", 3, beside="effect")


def test_weights_of_another_role_are_refused_under_its_name():
    with pytest.raises(ValueError, match="weights 'mine' has 1 negative values"):
        check_weights([1, -1], 2, role="weights 'mine'")


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


# --- lengths -------------------------------------------------------------------------------------


def test_equal_lengths_pass():
    check_length(np.zeros(3), 3, "y")


def test_different_lengths_are_told():
    with pytest.raises(ValueError, match=r"^y has 3 rows but X has 4; they must match$"):
        check_length(np.zeros(3), 4, "y")


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)], ids=["int", "int64", "uint8"])
def test_an_integer_of_any_kind_becomes_an_int(value):
    found = check_integer(value, "cv", at_least=2)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [1, 2.0, True, "2", None, np.float64(3)], ids=repr)
def test_what_is_no_integer_or_too_small_is_refused_with_its_name(value):
    with pytest.raises(ValueError, match=r"^cv must be an integer of at least 2; got "):
        check_integer(value, "cv", at_least=2)


@pytest.mark.parametrize(
    ("value", "bounds"),
    [(0, {"at_least": 0}), (np.float32(0.5), {"above": 0, "below": 1}), (-1e300, {})],
    ids=["at the bound", "between", "no bounds"],
)
def test_a_number_within_its_bounds_becomes_a_float(value, bounds):
    found = check_number(value, "l2", **bounds)
    assert (found, type(found)) == (value, float)


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (-1, {"at_least": 0}, "l2 must be a finite number of at least 0; got -1"),
        (0, {"above": 0}, "l2 must be a finite number above 0; got 0"),
        (1, {"above": 0, "below": 1}, "l2 must be a finite number above 0 and below 1; got 1"),
        (2, {"at_least": 0, "at_most": 1}, "finite number of at least 0 and at most 1; got 2"),
        (np.inf, {"at_least": 0}, "l2 must be a finite number of at least 0; got inf"),
        (np.nan, {}, "l2 must be a finite number; got nan"),
    ],
    ids=lambda value: "" if isinstance(value, (dict, str)) else str(value),
)
def test_a_number_outside_its_bounds_is_refused_with_both(value, bounds, words):
    with pytest.raises(ValueError, match=f"{words}$"):
        check_number(value, "l2", **bounds)


@pytest.mark.parametrize("value", ["1", None, True, [1.0]], ids=repr)
def test_what_is_no_number_is_a_type_error(value):
    with pytest.raises(TypeError, match=r"^l2 must be a number; got "):
        check_number(value, "l2", at_least=0)


def test_an_unknown_choice_is_told_with_the_known_ones():
    check_choice("one", "method", ("one", "two"))
    with pytest.raises(ValueError, match=r"^unknown method 'three'; choose from one, two$"):
        check_choice("three", "method", iter(("one", "two")))
