"""German credit is read as UCI published it, with age or sex set aside."""

from __future__ import annotations

import numpy as np
import pytest

from unsway.datasets import TabularData, load_german


def gap(data: TabularData) -> float:
    return data.y[data.z == 1].mean() - data.y[data.z == 0].mean()


def test_there_are_a_thousand_rows_and_seven_in_ten_are_good():
    data = load_german()
    assert (data.y.size, data.y.sum()) == (1000, 700)


def test_the_gaps_are_the_published_ones():
    assert round(gap(load_german()), 4) == 0.1494
    assert round(gap(load_german(age_threshold=50)), 4) == 0.0289
    assert round(gap(load_german("sex")), 4) == 0.0748


def test_the_threshold_sets_the_groups():
    assert np.bincount(load_german(age_threshold=50).z).tolist() == [887, 113]
    assert load_german(age_threshold=50).positive_sensitive == "> 50"


def test_age_is_no_feature_when_it_is_sensitive():
    data = load_german("age")
    assert len(data.feature_names) == 19
    assert "age" not in data.columns
    assert "personal_status" in data.columns


def test_personal_status_is_no_feature_when_sex_is_sensitive():
    data = load_german("sex")
    assert len(data.feature_names) == 19
    assert "personal_status" not in data.columns
    assert "age" in data.columns
    assert (data.sensitive, data.positive_sensitive) == ("sex", "male")


def test_the_first_row_is_read_whole():
    data = load_german("sex")
    found = [values[0] for values in data.columns.values()]
    texts = [value if isinstance(value, str) else f"{value:g}" for value in found]
    # As in the file, less A93 (a single man) after the 4, which is z.
    assert " ".join(texts) == (
        "A11 6 A34 A43 1169 A65 A75 4 A101 4 A121 67 A143 A152 2 A173 1 A192 A201"
    )
    assert (data.y[0], data.z[0]) == (1, 1)
    assert (data.y[1], data.z[1]) == (0, 0)


def test_nothing_is_missing():
    X, _ = load_german("sex").to_matrix()
    assert np.isfinite(X).all()


def test_the_matrix_has_a_column_per_number_and_per_level():
    data = load_german()
    X, names = data.to_matrix()
    # Counted in UCI's description, less A47 and A95, which nobody has.
    assert X.shape == (1000, 6 + 4 + 5 + 10 + 5 + 5 + 4 + 3 + 4 + 3 + 3 + 4 + 2 + 2)
    assert len(set(names)) == len(names)


def test_an_unknown_sensitive_attribute_is_refused():
    with pytest.raises(ValueError, match="unknown sensitive 'race'; choose from age, sex"):
        load_german("race")


@pytest.mark.parametrize("threshold", [0, 200, float("nan")])
def test_a_threshold_that_leaves_one_group_is_refused(threshold):
    with pytest.raises(ValueError, match="puts all rows in one group"):
        load_german(age_threshold=threshold)


@pytest.mark.parametrize("threshold", ["25", True, None])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    with pytest.raises(TypeError, match="age_threshold must be a number"):
        load_german(age_threshold=threshold)
