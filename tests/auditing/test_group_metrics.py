"""fairlearn's group metrics: against a reference written from their definitions, and fairlearn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsway.auditing import group_metrics

DIFFERENCES = (
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
)
RATIOS = ("demographic_parity_ratio", "equal_opportunity_ratio", "equalized_odds_ratio")
NAMES = DIFFERENCES + RATIOS
HARD = {"y_true": [0, 1, 0, 1], "y_pred": [1, 1, 0, 1], "sensitive_features": ["a", "a", "b", "b"]}


@st.composite
def people(draw):
    """Return labels, decisions, groups and weights, also without a positive label or decision."""
    size = draw(st.integers(2, 12))
    binary = st.lists(st.integers(0, 1), min_size=size, max_size=size)
    group = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    group[:2] = [0, 1]
    weights = st.one_of(
        st.none(),
        st.lists(st.integers(1, 5), min_size=size, max_size=size),
        st.lists(st.sampled_from([0.1, 0.3, 1.7]), min_size=size, max_size=size),
    )
    return draw(binary), draw(binary), group, draw(weights)


choices = st.tuples(
    st.sampled_from(["between_groups", "to_overall"]), st.sampled_from(["worst_case", "mean"])
)


def rate(rows, among):
    """Return the weighted share of decisions 1 among rows; 0 of no row, as fairlearn has it."""
    chosen = [row for row in rows if among(row)]
    whole = sum(weight for *_, weight in chosen)
    return sum(weight for _, decision, _, weight in chosen if decision) / whole if whole else 0.0


def expected(name, y, decision, group, weights, method, agg):
    """Return a metric from its definition, row by row."""
    rows = list(zip(y, decision, group, weights or [1] * len(y), strict=True))
    among = {
        "demographic_parity": [lambda row: True],
        "equal_opportunity": [lambda row: row[0] == 1],
        "equalized_odds": [lambda row: row[0] == 1, lambda row: row[0] == 0],
    }
    kind, _, contrast = name.rpartition("_")
    found = []
    for part in among[kind]:
        rates = [rate([r for r in rows if r[2] == level], part) for level in sorted(set(group))]
        whole = rate(rows, part)
        if contrast == "difference":
            between = max(rates) - min(rates)
            apart = max(abs(each - whole) for each in rates)
        else:
            between = min(rates) / max(rates) if max(rates) else math.nan
            ratios = [each / whole for each in rates] if whole else [math.nan]
            apart = min(1 / each if each > 1 else each for each in ratios)
        found.append(between if method == "between_groups" else apart)
    if agg == "mean" and kind == "equalized_odds":
        known = [each for each in found if not math.isnan(each)]
        return sum(known) / len(known) if known else math.nan
    return max(found) if contrast == "difference" else min(found)


def same(found, wanted, exact):
    if math.isnan(wanted):
        return math.isnan(found)
    return found == wanted if exact else abs(found - wanted) < 1e-12


def compute(module, name, y, decision, group, weights, method, agg):
    odds = {"agg": agg} if "odds" in name else {}
    return getattr(module, name)(
        y, decision, sensitive_features=group, method=method, sample_weight=weights, **odds
    )


@settings(deadline=None, max_examples=150)
@given(people(), st.sampled_from(NAMES), choices)
def test_a_metric_is_what_its_definition_says(rows, name, how):
    found = compute(group_metrics, name, *rows, *how)
    exact = rows[3] is None and how[0] == "between_groups" and how[1] == "worst_case"
    assert same(found, expected(name, *rows, *how), exact)


@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=150)
@given(people(), st.sampled_from(NAMES), choices)
def test_a_metric_is_fairlearns(rows, name, how):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    exact = rows[3] is None or all(float(weight).is_integer() for weight in rows[3])
    assert same(
        compute(group_metrics, name, *rows, *how), compute(fairlearn, name, *rows, *how), exact
    )


def test_four_rows_by_hand():
    found = {name: getattr(group_metrics, name)(**HARD) for name in NAMES}
    assert found == {
        "demographic_parity_difference": 0.5,
        "demographic_parity_ratio": 0.5,
        "equal_opportunity_difference": 0.0,
        "equal_opportunity_ratio": 1.0,
        "equalized_odds_difference": 1.0,
        "equalized_odds_ratio": 0.0,
    }


@pytest.mark.parametrize("name", RATIOS)
def test_a_ratio_is_unknown_where_nobody_is_selected(name):
    nobody = {**HARD, "y_pred": [0, 0, 0, 0]}
    assert math.isnan(getattr(group_metrics, name)(**nobody))


def test_labels_of_minus_one_and_one_are_those_of_zero_and_one():
    other = {**HARD, "y_true": [-1, 1, -1, 1], "y_pred": [True, True, False, True]}
    for name in NAMES:
        assert getattr(group_metrics, name)(**other) == getattr(group_metrics, name)(**HARD)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y_pred": [0.2, 0.9, 0.1, 0.5]}, ValueError, "compare scores with a threshold first"),
        ({"y_true": ["n", "y", "n", "y"]}, ValueError, "compare them with the positive class"),
        ({"y_true": [0, 1, 1]}, ValueError, "y_true has 3 rows but y_pred has 4"),
        ({"sensitive_features": ["a"] * 4}, ValueError, "a single level"),
        ({"sensitive_features": ["a", 1, "b", 2]}, None, ""),
        ({"sensitive_features": None}, TypeError, "sensitive_features is required"),
        ({"sample_weight": [0, 0, 1, 1]}, ValueError, "sample_weight of zero in every row"),
        ({"method": "pairs"}, ValueError, "unknown method 'pairs'"),
    ],
    ids=["scores", "words", "short", "one_group", "mixed", "no_z", "no_weight", "method"],
)
def test_bad_input_is_refused(name, change, error, message):
    call = getattr(group_metrics, name)
    if error is None:  # NumPy makes strings of numbers in a list that holds both
        assert call(**{**HARD, **change}) >= 0
        return
    with pytest.raises(error, match=message):
        call(**{**HARD, **change})


def test_an_unknown_way_to_put_two_rates_together_is_refused():
    with pytest.raises(ValueError, match="unknown agg 'sum'"):
        group_metrics.equalized_odds_ratio(**HARD, agg="sum")


def test_groups_that_cannot_be_sorted_are_refused():
    mixed = np.array(["a", 1, "b", 2], dtype=object)
    with pytest.raises(TypeError, match="mixes types"):
        group_metrics.demographic_parity_ratio(**{**HARD, "sensitive_features": mixed})
