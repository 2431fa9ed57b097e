"""The table of impact ratios for hiring: by hand, and against the example of New York's rule."""

import json

import numpy as np
import pytest

from unsway.auditing import hiring_table

#: Selections of the example in 6 RCNY § 5-301, sex: (selected, people).
RULE = {"Male": (667, 1390), "Female": (555, 1181)}


def people(counts):
    chosen = np.concatenate([np.repeat([1, 0], (k, n - k)) for k, n in counts.values()])
    names = np.concatenate([[name] * n for name, (_, n) in counts.items()])
    return chosen, names


def line(table, category):
    return next(each for each in table.categories if each.category == category)


def test_the_example_of_the_rule_comes_out():
    chosen, sex = people(RULE)
    table = hiring_table(chosen, {"sex": sex}, threshold=0.5)
    assert line(table, "Male").ratio.estimate == 1.0
    ratio = (555 / 1181) / (667 / 1390)
    assert line(table, "Female").ratio.estimate == pytest.approx(ratio)
    assert line(table, "Female").n_chosen == 555


def test_intersections_are_formed_of_all_attributes():
    sex = ["f", "f", "m", "m"] * 2
    race = ["x"] * 4 + ["y"] * 4
    table = hiring_table([1, 0, 1, 1, 1, 1, 1, 0], {"sex": sex, "race": race}, threshold=0.5)
    assert [each.attributes for each in table.categories].count("sex × race") == 4
    assert line(table, "m × x").rate.estimate == 1.0
    assert line(table, "f × x").ratio.estimate == 0.5


def test_unknown_categories_are_counted_and_left_out():
    sex = ["f", None, "m", "Unknown", "f", "m"]
    race = ["x", "x", None, "y", "y", "x"]
    table = hiring_table([1, 0, 1, 1, 0, 1], {"sex": sex, "race": race}, threshold=0.5)
    assert table.unknown == {"sex": 2, "race": 1, "sex × race": 3}
    assert line(table, "f").n == 2
    assert "2 people of an unknown category" in str(table)


def test_without_a_rule_the_share_above_the_median_is_measured():
    table = hiring_table([5, 4, 3, 2, 1, 0], {"sex": ["m", "m", "f", "m", "f", "f"]})
    assert table.rate == "scoring"
    assert line(table, "m").rate.estimate == pytest.approx(2 / 3)
    assert line(table, "f").ratio.estimate == pytest.approx(0.5)


def test_a_small_category_sets_no_reference():
    chosen = [1] + [1, 0] * 50
    table = hiring_table(chosen, {"sex": ["x"] + ["m", "f"] * 50}, threshold=0.5)
    assert line(table, "x").small
    assert line(table, "m").ratio.estimate == 1.0
    assert not line(table, "f").small


def test_frames_of_any_library_are_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": ["f", "m", None, "m"]})
    table = hiring_table([1, 1, 0, 0], frame, threshold=0.5)
    assert table.unknown == {"sex": 1}
    json.dumps(table.to_dict(), allow_nan=False)
    assert len(table.to_frame()) == 2


@pytest.mark.parametrize(
    ("attributes", "options", "error", "message"),
    [
        ({}, {}, TypeError, "attributes must be"),
        ({"sex": ["f"]}, {}, ValueError, "1 rows"),
        ({"sex": [None, None]}, {}, ValueError, "every value is unknown"),
        ({"sex": ["f", "m"]}, {"threshold": 0.5, "approval_rate": 0.5}, ValueError, "either"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(attributes, options, error, message):
    with pytest.raises(error, match=message):
        hiring_table([1, 0], attributes, **options)
