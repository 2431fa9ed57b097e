"""Several sensitive attributes are read as the combinations of their levels."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contracts import varied
from hypothesis import given
from hypothesis import strategies as st

from unsway import Rows
from unsway.attributes import MOST_COMBINATIONS
from unsway.grouping import Grouping
from unsway.groups import Groups

PEOPLE = {"sex": ["F", "M", "M", "F", "F", "M"], "race": ["W", "B", "W", "A", "B", "W"]}
REFERENCE = {"sex": "F", "race": "W"}


def read(columns=PEOPLE, frame=pd.DataFrame, **settings):
    settings = {"reference": REFERENCE, **settings}
    return Groups.check(frame(columns), len(columns["sex"]), groups=Grouping(**settings))


# --- combinations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame, pl.DataFrame, pa.table, dict],
    ids=["pandas", "polars", "arrow", "mapping"],
)
def test_levels_are_the_combinations_and_the_references_come_first(frame):
    found = read(frame=frame)
    assert found.names == ("F × W", "F × A", "F × B", "M × W", "M × A", "M × B")
    assert found.codes.tolist() == [0, 5, 3, 1, 2, 3]
    assert found.name == "sex, race"


def test_each_attribute_has_columns_of_its_own_and_a_combination_only_if_asked():
    assert read().design[5].tolist() == [0, 1, 0, 0, 1]
    assert read(intersections=True).design[5].tolist() == [0, 1, 0, 0, 1, *np.eye(6)[5]]


def test_each_attribute_needs_rows_and_a_combination_only_if_asked():
    assert [each.names for each, _ in read().estimated] == [("F", "M"), ("W", "A", "B")]
    read().check_present(None, "the table")
    with pytest.raises(ValueError, match="no row of sensitive level 'M × A'"):
        read(intersections=True).check_present(None, "the table")


def test_a_frame_of_one_column_is_that_column():
    one = Groups.check(pd.DataFrame({"sex": PEOPLE["sex"]}), 6, groups=Grouping(reference="F"))
    assert (one.names, one.attributes, one.name) == (("F", "M"), None, "sex")
    named = Grouping(reference={"sex": "M"})
    assert Groups.check(pd.DataFrame({"sex": PEOPLE["sex"]}), 6, groups=named).names == ("M", "F")


def test_bands_of_one_column_and_levels_kept_of_another():
    columns = {"sex": PEOPLE["sex"], "age": [20, 30, 50, 44, 70, 18]}
    found = Groups.check(
        pd.DataFrame({**columns, "race": PEOPLE["race"]}),
        6,
        groups=Grouping(
            reference={"sex": "F", "race": "W"},
            bands={"age": [25, 40]},
            only={"race": ["W", "B"]},
        ),
    )
    assert found.kept.tolist() == [0, 1, 2, 4, 5]
    assert found.as_given().tolist() == [
        "F × <25 × W", "M × 25-40 × B", "M × >=40 × W", "F × >=40 × B", "M × <25 × W",
    ]  # fmt: skip


def test_rows_without_a_value_are_left_out_where_that_is_said():
    columns = {"sex": ["F", None, "M", "F", "M", "F"], "race": ["W", "B", "W", None, "B", "W"]}
    assert read(columns, missing="drop").kept.tolist() == [0, 2, 4, 5]


def test_other_rows_are_read_by_the_levels_of_the_first():
    other = pd.DataFrame({"race": ["A", "W"], "sex": ["M", "F"]})
    assert read().like(other, 2).as_given().tolist() == ["M × A", "F × W"]


def test_other_rows_need_the_same_columns():
    with pytest.raises(ValueError, match="must be a frame with the columns sex, race"):
        read().like(["F", "M"], 2)
    with pytest.raises(ValueError, match="a level that the training rows have not"):
        read().like(pd.DataFrame({"race": ["X"], "sex": ["M"]}), 1)


# --- weights -------------------------------------------------------------------------------------


def test_weights_are_the_products_of_the_weights_of_the_attributes():
    assert read().weights_of() == pytest.approx((1 / 6,) * 6)
    prevalence = np.outer([1 / 2, 1 / 2], [1 / 2, 1 / 6, 1 / 3]).ravel()
    assert read(weights="prevalence").weights_of() == pytest.approx(prevalence)
    stated = read(weights={"sex": {"F": 0.2, "M": 0.8}, "race": "prevalence"})
    expected = np.outer([0.2, 0.8], [1 / 2, 1 / 6, 1 / 3]).ravel()
    assert stated.weights_of() == pytest.approx(expected)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reference": {}}, r"groups=Grouping(reference={'sex': 'F'}) or"),
        ({"reference": "F"}, "say which of them reference='F' is for, as in reference={'sex': …}"),
        ({"only": ["W", "B"]}, "say which of them only=('W', 'B') is for"),
        ({"weights": {"F": 0.5, "M": 0.5}}, "say which of them weights="),
        ({"bands": {"age": [30]}}, "bands is given for 'age', and the columns of sensitive_"),
        ({"only": {"race": ["W", "X"]}}, "only: 'X' is not a level of sensitive_features['race']"),
        ({"missing": "use"}, "missing='use' is for one sensitive attribute"),
    ],
)
def test_settings_that_do_not_fit_the_columns_are_refused(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(**settings)


def test_intersections_are_for_several_columns():
    with pytest.raises(ValueError, match="intersections=True is for several attributes"):
        Groups.check([0, 1], 2, groups=Grouping(intersections=True))


def test_a_missing_value_is_refused_with_the_name_of_its_column():
    with pytest.raises(ValueError, match=r"sensitive_features\['race'\] has 1 missing values"):
        read({**PEOPLE, "race": ["W", None, "B", "A", "W", "W"]})


def test_an_array_of_several_columns_has_no_names():
    with pytest.raises(ValueError, match="2 columns without names; give a data frame"):
        Groups.check(np.zeros((4, 2)), 4)


def test_too_many_combinations_are_refused():
    n = MOST_COMBINATIONS + 2
    many = pd.DataFrame({"town": [str(k // 2) for k in range(n)], "sex": [0, 1] * (n // 2)})
    with pytest.raises(ValueError, match="the levels of town, sex have 202 combinations"):
        Groups.check(many, n)


@pytest.mark.parametrize("left", [{"race": PEOPLE["race"]}, {"colour": list("pqprqp")}])
def test_an_attribute_that_is_still_in_x_is_refused(left):
    X = pd.DataFrame({"skill": np.arange(6.0), **left})
    with pytest.raises(ValueError, match="X contains the sensitive"):
        Rows.check(
            X,
            [0, 1, 0, 1, 0, 1],
            sensitive_features=pd.DataFrame(PEOPLE),
            groups=Grouping(reference=REFERENCE),
        )


# --- properties ----------------------------------------------------------------------------------


@varied
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("cde")), min_size=6, max_size=30),
    st.permutations("pq"),
    st.permutations("rst"),
)
def test_other_names_give_the_same_combinations(rows, first, second):
    if len({a for a, _ in rows}) < 2 or len({b for _, b in rows}) < 3:
        return
    other = [(first["ab".index(a)], second["cde".index(b)]) for a, b in rows]
    found = []
    for each in (rows, other):
        names = {"one": each[0][0], "two": each[0][1]}
        frame = pd.DataFrame(each, columns=["one", "two"])
        found.append(Groups.check(frame, len(each), groups=Grouping(reference=names)).codes)
    same = [np.equal.outer(codes, codes) for codes in found]
    assert (same[0] == same[1]).all()
    assert ((found[0] == 0) == (found[1] == 0)).all()
