"""The two differences between groups, by hand on four rows and by what must not matter."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unsway import score_gap, selection_rate_difference
from unsway.grouping import Grouping

METRICS = [score_gap, selection_rate_difference]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)

SCORES = [0.9, 0.6, 0.7, 0.2]
Z = [1, 1, 0, 0]


def test_score_gap_is_a_difference_of_means():
    assert score_gap(None, SCORES, sensitive_features=Z) == pytest.approx(0.75 - 0.45)


def test_score_gap_weighs_the_rows():
    gap = score_gap(None, SCORES, sensitive_features=Z, sample_weight=[3, 1, 0, 5])
    assert gap == pytest.approx((3 * 0.9 + 0.6) / 4 - 0.2)


def test_selection_rate_difference_counts_scores_above_a_half():
    assert selection_rate_difference(None, SCORES, sensitive_features=Z) == 1 - 0.5


def test_selection_rate_difference_has_a_sign():
    assert selection_rate_difference(None, SCORES, sensitive_features=[0, 0, 1, 1]) == 0.5 - 1


def test_a_score_at_the_threshold_is_not_selected():
    difference = selection_rate_difference(None, SCORES, sensitive_features=Z, threshold=0.7)
    assert difference == 0.5 - 0


def test_labels_give_the_difference_of_their_rates():
    assert selection_rate_difference(None, [1, 0, 0, 0], sensitive_features=Z) == 0.5
    assert score_gap(None, [True, False, False, False], sensitive_features=Z) == 0.5


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.uniform(size=50), rng.integers(0, 2, 50), rng.integers(0, 4, 50)


@every_metric
def test_a_weight_is_a_number_of_repeated_rows(metric, rows):
    scores, z, weights = rows
    repeated = metric(None, scores.repeat(weights), sensitive_features=z.repeat(weights))
    weighted = metric(None, scores, sensitive_features=z, sample_weight=weights)
    assert weighted == pytest.approx(repeated, abs=1e-14)


@every_metric
def test_the_size_of_the_weights_does_not_matter(metric, rows):
    scores, z, weights = rows
    small = metric(None, scores, sensitive_features=z, sample_weight=weights / 1e9)
    large = metric(None, scores, sensitive_features=z, sample_weight=weights * 1e9)
    assert small == pytest.approx(large, abs=1e-14)


@every_metric
def test_swapping_the_groups_swaps_the_sign(metric, rows):
    scores, z, _ = rows
    swapped = metric(None, scores, sensitive_features=1 - z)
    assert metric(None, scores, sensitive_features=z) == pytest.approx(-swapped, abs=1e-14)


@every_metric
def test_true_labels_play_no_part(metric, rows):
    scores, z, _ = rows
    without = metric(None, scores, sensitive_features=z)
    assert metric(1 - z, scores, sensitive_features=z) == without


@every_metric
@pytest.mark.parametrize(
    "container",
    [list, tuple, pd.Series, pl.Series, pa.array],
    ids=["list", "tuple", "pandas", "polars", "pyarrow"],
)
def test_the_container_does_not_matter(metric, container, rows):
    scores, z, weights = (container(column.tolist()) for column in rows)
    expected = metric(None, rows[0], sensitive_features=rows[1], sample_weight=rows[2])
    found = metric(None, scores, sensitive_features=z, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-14)


@every_metric
def test_text_groups_need_a_stated_level(metric):
    words = ["Male", "Male", "Female", "Female"]
    with pytest.raises(ValueError, match="reference='Male'"):
        metric(None, SCORES, sensitive_features=words)
    stated = metric(None, SCORES, sensitive_features=words, groups=Grouping(reference="Female"))
    assert stated == metric(None, SCORES, sensitive_features=Z)


@every_metric
def test_the_signature_is_fairlearns(metric):
    parameters = list(inspect.signature(metric).parameters.values())
    assert [parameter.name for parameter in parameters[:4]] == [
        "y_true",
        "y_pred",
        "sensitive_features",
        "sample_weight",
    ]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[2:])
    assert parameters[3].default is None


@every_metric
def test_the_result_is_a_plain_float(metric):
    assert type(metric(None, SCORES, sensitive_features=Z)) is float


@every_metric
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive_features": Z[:3]}, "sensitive_features has 3 rows but y_pred has 4"),
        ({"sensitive_features": [1, 1, 1, 1]}, "sensitive_features has a single level, 1"),
        ({"sensitive_features": [1, 2, 3, 1]}, "needs a sensitive attribute of two levels"),
        ({"sensitive_features": [1, 1, 0, None]}, "sensitive_features has 1 missing values"),
        ({"sample_weight": [1, 1, 1]}, "sample_weight has 3 rows but y_pred has 4"),
        ({"sample_weight": [1, 1, 1, -1]}, "sample_weight has 1 negative values"),
        ({"sample_weight": [1, 1, 0, 0]}, "rows of sensitive level 0, but each has a sample_weig"),
        ({"y_pred": [0.9, 0.6, np.nan, 0.2]}, "y_pred has 1 missing values"),
        ({"y_pred": [0.9, 0.6, np.inf, 0.2]}, "y_pred has infinite values"),
        ({"y_pred": np.zeros((4, 2))}, r"y_pred must be one column; got an array of shape \(4, 2"),
        ({"y_pred": ["yes", "no", "no", "no"]}, "y_pred must hold numbers"),
        ({"y_pred": []}, "y_pred is empty"),
    ],
    ids=[
        "short_z",
        "constant_z",
        "three_levels",
        "missing_z",
        "short_weights",
        "negative_weight",
        "no_weight_on_a_level",
        "missing_score",
        "infinite_score",
        "both_probabilities",
        "text_scores",
        "no_scores",
    ],
)
def test_bad_input_is_refused(metric, change, message):
    inputs = {"y_pred": SCORES, "sensitive_features": Z, **change}
    with pytest.raises(ValueError, match=message):
        metric(None, **inputs)


@every_metric
def test_no_sensitive_features_are_refused(metric):
    with pytest.raises(TypeError, match="sensitive_features is required"):
        metric(None, SCORES, sensitive_features=None)
