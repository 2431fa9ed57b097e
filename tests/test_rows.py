"""Rows carry covariates, outcome, groups and weights together, checked once."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unsway import rows as rows_module
from unsway.grouping import Grouping
from unsway.outcome import Outcome
from unsway.rows import Rows

AGE, HIRED, SEX = [30, 40, 50, 60], ["no", "yes", "no", "yes"], ["F", "F", "M", "M"]
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
each_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def check(X=None, y=HIRED, sex=SEX, **options):
    X = np.array(AGE)[:, None] if X is None else X
    return Rows.check(X, y, sensitive_features=sex, groups=Grouping(reference="F"), **options)


def ages(rows):
    return np.asarray(rows.X)[:, 0].tolist()


# --- reading -------------------------------------------------------------------------------------


def test_labels_and_groups_become_numbers():
    rows = check(sample_weight=[1, 2, 3, 4])
    assert rows.y.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert rows.z.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert rows.weights.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert len(rows) == 4


def test_weights_have_a_mean_of_one():
    assert check(sample_weight=[1, 2, 3, 2]).mean_one_weights.tolist() == [0.5, 1.0, 1.5, 1.0]
    assert check().mean_one_weights.tolist() == [1.0] * 4


def test_the_outcome_may_be_read_in_another_way():
    rows = check(y=[1.5, 2.5, 3.5, 4.5], read_outcome=Outcome.labels_or_numbers)
    assert rows.y.tolist() == [1.5, 2.5, 3.5, 4.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": HIRED[:3]}, "y has 3 rows but X has 4"),
        ({"sex": SEX[:3]}, "sensitive_features has 3 rows but X has 4"),
        ({"sample_weight": [1, 2]}, "sample_weight has 2 rows but X has 4"),
        ({"sample_weight": [0, 0, 1, 1]}, "sensitive_features has rows of sensitive level 'F'"),
        ({"sample_weight": [0, 1, 0, 1]}, "y has rows of class 'no', but each has a sample_weight"),
        ({"X": np.array([[0], [0], [1], [1]])}, "'column 0' is the same as sensitive_features"),
    ],
    ids=["short y", "short z", "short weights", "level", "class", "z in X"],
)
def test_rows_that_cannot_serve_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        check(**change)


# --- some of the rows ----------------------------------------------------------------------------


def test_some_rows_take_everything_along():
    rows = check(sample_weight=[1, 2, 3, 4]).take(np.array([3, 0, 3]))
    assert ages(rows) == [60, 30, 60]
    assert rows.outcome.as_given().tolist() == ["yes", "no", "yes"]
    assert rows.groups.as_given().tolist() == ["M", "F", "M"]
    assert rows.weights.tolist() == [4.0, 1.0, 4.0]


@each_library
def test_some_rows_of_a_frame_are_such_a_frame(library):
    frame = library({"age": AGE})
    rows = check(frame).take(np.array([1, 2]))
    assert type(rows.X) is type(frame)
    assert ages(rows) == [40, 50]


def test_rows_without_weights_or_a_table_stay_without():
    rows = check().with_table(None).take(np.array([1]))
    assert rows.X is None
    assert rows.weights is None
    assert rows.y.tolist() == [1.0]


def test_another_table_changes_nothing_else():
    rows = check(sample_weight=[1, 2, 3, 4])
    other = rows.with_table("a matrix")
    assert other.X == "a matrix"
    assert other.outcome is rows.outcome
    assert other.groups is rows.groups
    assert other.weights is rows.weights


# --- strata --------------------------------------------------------------------------------------


def test_strata_number_the_classes_within_the_groups():
    assert check().strata().tolist() == [0, 1, 2, 3]


def test_strata_of_numbers_are_the_groups():
    rows = check(y=[1.5, 2.5, 3.5, 4.5], read_outcome=Outcome.labels_or_numbers)
    assert rows.strata().tolist() == [0, 0, 1, 1]


def test_strata_of_some_rows_are_those_of_the_rows():
    chosen = np.array([2, 1])
    np.testing.assert_array_equal(check().take(chosen).strata(), check().strata()[chosen])


# --- what a part must hold -----------------------------------------------------------------------


def test_a_part_with_every_class_and_group_passes():
    check().take(np.array([0, 3])).check_present("the validation part")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([0, 1], r"^the fold has no row of sensitive level 'M'; both are needed$"),
        ([0, 2], r"^the fold has no row of class 'yes'; both are needed$"),
    ],
    ids=["group", "class"],
)
def test_a_part_without_a_group_or_a_class_says_which(chosen, message):
    with pytest.raises(ValueError, match=message):
        check().take(np.array(chosen)).check_present("the fold")


def test_a_part_whose_group_has_no_weight_says_which():
    rows = check(sample_weight=[1, 0, 1, 1]).take(np.array([1, 2, 3]))
    with pytest.raises(ValueError, match="the fold has rows of sensitive level 'F', but each has"):
        rows.check_present("the fold")


def test_rows_taken_from_rows_taken_are_copied_once_and_only_where_they_are_read(monkeypatch):
    X, copies = np.arange(20.0)[:, None], []
    monkeypatch.setattr(
        rows_module, "take", lambda table, rows: copies.append(len(rows)) or table[rows]
    )
    rows = Rows.check(X, np.arange(20) % 2, sensitive_features=np.arange(20) // 10)
    some = rows.take(np.arange(4, 16)).take(np.arange(0, 12, 3))
    assert (len(some), copies) == (4, [])
    assert some.X.ravel().tolist() == [4, 7, 10, 13]
    assert some.X is some.X
    assert copies == [4]
