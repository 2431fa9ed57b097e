"""What an audit refuses, before any work."""

import numpy as np
import pandas as pd
import pytest

from unsway.auditing import audit, compare
from unsway.grouping import Grouping

N = 60
RNG = np.random.default_rng(0)
Y, Z = RNG.integers(0, 2, N), np.arange(N) % 2
P = RNG.random(N)
X = RNG.normal(size=(N, 2))
GOOD = {"y_true": Y, "y_pred": P, "sensitive_features": Z, "n_bootstrap": 0}


def with_first(values, value):
    changed = np.array(values, dtype=float)
    changed[0] = value
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": 4 * P - 2}, "looks like margins .* predict_proba"),
        ({"y_pred": with_first(P, 1.001)}, "y_pred has 1 values outside"),
        ({"y_pred": with_first(P, np.nan)}, "y_pred has 1 missing values"),
        ({"y_pred": with_first(P, np.inf)}, "y_pred has infinite values"),
        ({"y_pred": P[:-1]}, "y_pred has 59 rows but y_true has 60"),
        (
            {"y_pred": np.column_stack([1 - P, P])},
            r"y_pred must be one column; got an array of shape",
        ),
        ({"baseline": 9 * P}, "baseline has .* looks like margins"),
        ({"y_true": np.ones(N)}, "y_true has a single class"),
        ({"y_true": with_first(Y, np.nan)}, "y_true has 1 missing values"),
        ({"y_true": np.arange(N) % 3}, "Only binary classification"),
        ({"sensitive_features": np.zeros(N)}, "sensitive_features has a single level"),
        ({"sensitive_features": Z[:-2]}, "sensitive_features has 58 rows but y_true has 60"),
        ({"sensitive_features": with_first(Z, np.nan)}, "sensitive_features has 1 missing"),
        ({"sensitive_features": np.where(Z, "m", "f")}, "reference='f'"),
        ({"groups": Grouping(reference=7)}, "reference=7 is not a level"),
        ({"sample_weight": np.ones(N - 1)}, "sample_weight has 59 rows but y_true has 60"),
        ({"sample_weight": 1.0 - Z}, "sensitive level 1, but each has a sample_weight of zero"),
        ({"sample_weight": -np.ones(N)}, "negative"),
        ({"X": X[:-1]}, "X has 59 rows but y_true has 60"),
        ({"X": np.column_stack([X, Z])}, "X contains the sensitive attribute"),
        ({"X": with_first(X, np.inf)}, "X contains infinity"),
        ({"threshold": 1.5}, r"threshold must be a number in \[0, 1\]"),
        ({"threshold": []}, "threshold is an empty list"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"n_bootstrap": -1}, "n_bootstrap must be an integer of at least 0"),
        ({"n_bootstrap": 1}, "n_bootstrap must be an integer of at least 2"),
        ({"confidence": 95}, "confidence must be a finite number above 0 and below 1"),
        ({"calibration_bins": 0}, "calibration_bins must be an integer of at least 1"),
        ({"calibration_strategy": "log"}, "unknown calibration_strategy 'log'"),
        ({"random_state": -3}, "random_state must be an integer"),
        ({"max_rows_for_effects": 5}, "max_rows_for_effects must be"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        audit(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": None}, "y_pred is None"),
        ({"y_pred": ["high"] * N}, "y_pred must hold numbers"),
        ({"sensitive_features": None}, "sensitive_features is required"),
    ],
)
def test_what_is_not_there_is_a_type_error(change, message):
    with pytest.raises(TypeError, match=message):
        audit(**{**GOOD, **change})


@pytest.mark.parametrize("role", ["y_pred", "sensitive_features", "X"])
def test_rows_that_are_named_differently_are_not_paired(role):
    frames = {"y_true": pd.Series(Y), "y_pred": pd.Series(P), "sensitive_features": pd.Series(Z)}
    frames["X"] = pd.DataFrame(X)
    frames[role] = frames[role].sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=f"y_true and {role} have different indexes"):
        audit(**frames, n_bootstrap=0)


def test_a_message_names_no_value_of_a_row():
    with pytest.raises(ValueError, match="values outside") as error:
        audit(**{**GOOD, "y_pred": with_first(P, 17.25)})
    assert "17.25" not in str(error.value)


def test_too_few_rows_of_a_group_leave_the_causal_part_out():
    few = np.r_[np.ones(5), np.zeros(N - 5)]
    found = audit(**{**GOOD, "sensitive_features": few}, X=X)
    assert "the group '1.0' has 5 rows; at least 20" in found.missing


@pytest.mark.parametrize("scores", [{"one": P}, P, {}])
def test_a_comparison_needs_two_models(scores):
    with pytest.raises(ValueError, match="at least two models"):
        compare(Y, scores, sensitive_features=Z)


def test_a_comparison_names_the_model_that_is_wrong():
    with pytest.raises(ValueError, match=r"y_pred\['b'\] has .* looks like margins"):
        compare(Y, {"a": P, "b": 9 * P}, sensitive_features=Z)


def test_two_models_need_two_names():
    with pytest.raises(ValueError, match="same name as text"):
        compare(Y, {"1": P, 1: P}, sensitive_features=Z)
