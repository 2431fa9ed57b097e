"""A sensitive attribute is read by its specification: reference, levels kept, bands, merging."""

import warnings

import numpy as np
import pandas as pd
import pytest
from contracts import varied
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from unsway import FairLogisticRegression, Rows
from unsway.grouping import Grouping, check_large_weights
from unsway.groups import Groups

RACE = ["W", "B", "W", "A", "W", "B"]


def read(column, **settings):
    return Groups.check(column, len(column), groups=Grouping(**settings))


# --- levels --------------------------------------------------------------------------------------


def test_the_largest_of_three_levels_is_the_reference():
    found = read(RACE)
    assert found.names == ("W", "A", "B")
    assert found.codes.tolist() == [0, 2, 0, 1, 0, 2]


@pytest.mark.parametrize(
    "column", [RACE, np.array(RACE, object), pd.Series(RACE, dtype="category")]
)
def test_a_stated_reference_comes_first(column):
    assert read(column, reference="B").names == ("B", "A", "W")


def test_the_level_of_each_row_is_given_back():
    assert read(RACE).as_given().tolist() == RACE


def test_other_levels_are_left_out():
    found = read(RACE, only=["W", "B"], reference="W")
    assert found.names == ("W", "B")
    assert found.codes.tolist() == [0, 1, 0, 0, 1]
    assert found.kept.tolist() == [0, 1, 2, 4, 5]


def test_rows_of_other_levels_are_left_out_of_every_column():
    X = np.arange(6.0)[:, None]
    rows = Rows.check(
        X,
        [0, 1, 1, 0, 0, 1],
        sensitive_features=RACE,
        sample_weight=np.arange(1.0, 7.0),
        groups=Grouping(only=["W", "B"], reference="W"),
    )
    assert rows.X.ravel().tolist() == [0, 1, 2, 4, 5]
    assert rows.y.tolist() == [0, 1, 1, 0, 1]
    assert rows.weights.tolist() == [1, 2, 3, 5, 6]


def test_rare_levels_are_merged():
    found = read([*"aaaabbbbccd"], merge_below=3)
    assert found.names == ("a", "b", "other")
    assert found.counts().tolist() == [4, 4, 3]


def test_merging_takes_a_level_that_is_called_other_along():
    assert read([*"aaaabbbbc", *["other"] * 5], merge_below=3).counts().tolist() == [6, 4, 4]


def test_nothing_is_merged_where_all_levels_are_large():
    assert read(RACE, merge_below=1).names == ("W", "A", "B")


def test_bands_cut_numbers():
    found = read([18, 25, 39.5, 40, 70, 26], bands=[25, 40])
    assert sorted(found.names) == ["25-40", "<25", ">=40"]
    assert found.names[0] == "25-40"
    assert found.as_given().tolist() == ["<25", "25-40", "25-40", ">=40", ">=40", "25-40"]


def test_ten_integers_are_levels_and_eleven_must_be_named():
    assert read(list(range(10))).n_levels == 10
    with pytest.raises(ValueError, match=r"11 distinct numbers\. Say groups=Grouping\(bands="):
        read(list(range(11)))
    assert read(list(range(11)), sensitive_as="levels").n_levels == 11


def test_booleans_and_zero_one_need_no_reference():
    assert read([True, False]).levels == (False, True)
    assert read([1, 0]).levels == (0, 1)


# --- other rows ----------------------------------------------------------------------------------


def test_other_rows_are_read_by_the_levels_of_the_first():
    first = read([*"aaaabbbbccd"], merge_below=3)
    assert first.like([*"dbcaz"], 5).as_given().tolist() == ["other", "b", "other", "a", "other"]


def test_a_level_that_the_first_rows_have_not_is_refused():
    with pytest.raises(ValueError, match="a level that the training rows have not"):
        read(RACE).like(["W", "X"], 2)


def test_other_numbers_fall_into_the_same_bands():
    first = read([18, 25, 39.5, 40, 70, 26], bands=[25, 40])
    assert first.like([3, 30, 99], 3).as_given().tolist() == ["<25", "25-40", ">=40"]


def test_groups_are_read_as_they_are():
    found = read(RACE)
    assert Groups.check(found, 6).codes.tolist() == found.codes.tolist()


# --- weights -------------------------------------------------------------------------------------


def test_weights_of_the_levels():
    assert read(RACE).weights_of() == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert read(RACE, weights="prevalence").weights_of() == pytest.approx((1 / 2, 1 / 6, 1 / 3))
    stated = read(RACE, weights={"A": 0.2, "B": 0.3, "W": 0.5})
    assert stated.weights_of() == (0.5, 0.2, 0.3)


def test_a_weight_far_above_the_share_of_a_level_is_warned_about_or_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_large_weights((0.5, 0.5), (0.97, 0.03), ("a", "b"))
    with pytest.warns(UserWarning, match=r"level 'b' has a weight of 0.5 .* 50 times as much"):
        check_large_weights((0.5, 0.5), (0.99, 0.01), ("a", "b"))
    with pytest.raises(ValueError, match="250 times as much"):
        check_large_weights((0.5, 0.5), (0.998, 0.002), ("a", "b"))


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reference": "X"}, "reference='X' is not a level of sensitive_features, which has 'A'"),
        ({"only": ["W", "X"]}, "only: 'X' is not a level"),
        ({"only": ["W"]}, "sensitive_features has a single level, 'W'"),
        ({"bands": [1]}, "bands cut a column of numbers"),
        ({"weights": {"A": 1.0}}, "weights must have a number for each level of z: 'W', 'A', 'B'"),
        ({"weights": {"A": 0.5, "B": 0.1, "W": 0.1}}, "must sum to 1"),
    ],
)
def test_settings_that_do_not_fit_the_column_are_refused(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read(RACE, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"only": "White"}, "only must be a list"),
        ({"bands": [40, 25]}, "bands must be finite numbers that increase"),
        ({"bands": ["a"]}, "bands must be numbers"),
        ({"merge_below": 0}, "merge_below must be an integer of at least 1"),
        ({"weights": "volume"}, "unknown weights 'volume'"),
        ({"sensitive_as": "text"}, "unknown sensitive_as 'text'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Grouping(**settings)


def test_a_level_alone_is_no_specification():
    with pytest.raises(TypeError, match=r"groups=Grouping\(reference='Male'\)"):
        Groups.check(RACE, 6, groups="Male")


def test_two_levels_are_asked_for_where_more_cannot_be_taken():
    with pytest.raises(ValueError, match="needs a sensitive attribute of two levels, and there"):
        _ = read(RACE).z


# --- scikit-learn --------------------------------------------------------------------------------


def test_an_estimator_with_a_specification_can_be_cloned_and_shown():
    model = FairLogisticRegression(groups=Grouping(reference="W", only=["W", "B"]))
    twin = clone(model)
    assert twin.groups == model.groups
    assert "Grouping(reference='W', only=('W', 'B'))" in repr(twin)


# --- properties ----------------------------------------------------------------------------------


@varied
@given(st.lists(st.sampled_from("abcd"), min_size=4, max_size=30), st.permutations("pqrs"))
def test_other_names_give_the_same_groups_of_rows(column, names):
    if len(set(column)) < 3:
        return
    other = [names["abcd".index(each)] for each in column]
    first, second = read(column, reference=column[0]), read(other, reference=other[0])
    same = np.equal.outer(first.codes, first.codes) == np.equal.outer(second.codes, second.codes)
    assert same.all()
    assert (first.codes == 0).tolist() == (second.codes == 0).tolist()
