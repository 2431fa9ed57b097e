"""The sensitive attribute is read alike from every kind of container, and found inside X."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from columns import TEXTS, each_column_of_numbers, each_column_of_text

from unsway.copies import find_copies, level_extremes
from unsway.grouping import Grouping
from unsway.groups import Groups


def groups(name=None):
    return Groups(codes=np.array([0, 1, 1], dtype=np.uint8), levels=("F", "M"), name=name)


# --- levels --------------------------------------------------------------------------------------


@each_column_of_numbers
def test_zero_and_one_need_no_stated_level(column):
    assert Groups.check(column, 3).z.tolist() == [1.0, 0.0, 1.0]


@each_column_of_text
def test_a_stated_level_becomes_one(column):
    assert Groups.check(column, 3, groups=Grouping(reference="F")).z.tolist() == [1.0, 0.0, 1.0]
    assert Groups.check(column, 3, groups=Grouping(reference="M")).z.tolist() == [0.0, 1.0, 0.0]


def test_levels_name_zero_first():
    assert Groups.check(TEXTS, 3, groups=Grouping(reference="M")).levels == ("M", "F")


def test_the_stated_level_may_turn_zero_and_one_around():
    assert Groups.check([0, 1, 1], 3, groups=Grouping(reference=1)).z.tolist() == [1.0, 0.0, 0.0]


def test_true_counts_as_one():
    checked = Groups.check([True, False, True], 3)
    assert checked.z.tolist() == [1.0, 0.0, 1.0]
    assert checked.z.dtype == np.float64


def test_false_may_be_the_stated_level():
    checked = Groups.check(np.array([True, False, True]), 3, groups=Grouping(reference=True))
    assert checked.z.tolist() == [0.0, 1.0, 0.0]


def test_what_z_stands_beside_is_named():
    with pytest.raises(ValueError, match="sensitive_features has 2 rows but y_pred has 3"):
        Groups.check([0, 1], 3, beside="y_pred")


def test_the_level_of_each_row_is_given_back_as_the_user_wrote_it():
    assert Groups.check(TEXTS, 3, groups=Grouping(reference="M")).as_given().tolist() == TEXTS
    assert Groups.check([5, 7, 5], 3, groups=Grouping(reference=7)).as_given().tolist() == [5, 7, 5]


def test_levels_weigh_the_same_in_the_fair_score_unless_told_otherwise():
    assert groups().weights_of() == (0.5, 0.5)
    chosen = Groups(codes=np.array([0, 1]), levels=(0, 1), weighting=(0.25, 0.75))
    assert chosen.weights_of() == (0.25, 0.75)


def test_some_rows_keep_the_levels_and_the_name():
    part = groups("sex").take(np.array([2, 0]))
    assert part.as_given().tolist() == ["M", "F"]
    assert (part.levels, part.name, len(part)) == (("F", "M"), "sex", 2)


def test_both_levels_with_weight_pass():
    groups().check_present(np.array([1.0, 0.0, 2.0]), "the fold")


def test_a_level_without_a_row_is_named():
    with pytest.raises(ValueError, match=r"^the fold has no row of sensitive level 'M'"):
        groups().take(np.array([0, 0])).check_present(None, "the fold")


def test_a_level_without_weight_is_named():
    with pytest.raises(ValueError, match="level 'F', but each has a sample_weight of zero"):
        groups().check_present(np.array([0.0, 1.0, 1.0]), "the fold")


# --- z inside X ----------------------------------------------------------------------------------


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
        groups().refuse_in(library({"age": [1, 2, 3], "gender": copy}))


@pytest.mark.parametrize(
    "column",
    [[0, 1, 0], [0, 1, 2], [1, 1, 1], [0.0, 1.0, np.nan], [np.nan, 1.0, 1.0]],
    ids=["one_differs", "three_values", "constant", "a_hole", "a_hole_for_a_level"],
)
def test_what_is_no_copy_passes(column):
    groups().refuse_in(np.column_stack([[1, 2, 3], column]))


def test_the_same_name_is_enough():
    with pytest.raises(ValueError, match="X contains the sensitive column 'sex'; drop it"):
        groups("sex").refuse_in(pd.DataFrame({"sex": [1, 2, 3]}))


def test_another_name_and_other_values_pass():
    groups("sex").refuse_in(pd.DataFrame({"age": [1, 2, 3]}))


def test_a_column_that_varies_only_after_the_first_thousand_rows_is_no_copy():
    z = np.tile([0, 1], 1_000)
    column = z.copy()
    column[-1] = 5
    groups = Groups.check(z, 2_000)
    groups.refuse_in(column[:, None])
    with pytest.raises(ValueError, match="'column 0' is the same as sensitive_features"):
        groups.refuse_in(z[:, None])


def test_a_copy_is_found_where_the_first_thousand_rows_hold_one_level():
    z = np.repeat([0, 1], [1_500, 500])
    with pytest.raises(ValueError, match="'column 0' is the same as sensitive_features"):
        Groups.check(z, 2_000).refuse_in(3.0 - z[:, None])


# --- copies of z in a table that is never in one place -------------------------------------------


def test_extremes_are_the_largest_and_minus_the_smallest_value_of_each_level():
    found = level_extremes(np.array([[1.0], [3.0], [-2.0]]), np.array([0, 0, 1]), 2)
    np.testing.assert_array_equal(found[:, :, 0], [[3.0, -1.0], [-2.0, 2.0]])


def test_a_missing_value_is_infinite_and_a_level_without_rows_is_minus_infinite():
    found = level_extremes(np.array([[np.nan], [1.0]]), np.array([0, 0]), 2)
    np.testing.assert_array_equal(found[:, :, 0], [[np.inf, np.inf], [-np.inf, -np.inf]])


def table_with_copies(n=300):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, n)
    hole = np.where(np.arange(n) == 7, np.nan, z)
    return np.column_stack([rng.normal(size=n), z, 5.0 - 2 * z, z > 1, hole, np.ones(n)]), z


def test_copies_are_constant_within_each_level_and_differ_between_two():
    matrix, z = table_with_copies()
    assert find_copies(level_extremes(matrix, z, 3)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("batch", [1, 7, 100, 1_000])
def test_batches_find_the_copies_that_are_found_in_memory(batch):
    matrix, z = table_with_copies()
    starts = range(0, len(z), batch)
    extremes = np.maximum.reduce(
        [level_extremes(matrix[k : k + batch], z[k : k + batch], 3) for k in starts]
    )
    np.testing.assert_array_equal(extremes, level_extremes(matrix, z, 3))
    assert find_copies(extremes).tolist() == [1, 2, 3]


def test_what_batches_find_is_what_the_check_of_a_table_refuses():
    matrix, z = table_with_copies()
    groups = Groups(codes=z, levels=("a", "b", "c"))
    refused = []
    for column in range(matrix.shape[1]):
        try:
            groups.refuse_in(matrix[:, [column]])
        except ValueError:
            refused.append(column)
    assert refused == find_copies(level_extremes(matrix, z, 3)).tolist()
