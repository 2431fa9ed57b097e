"""Parity, equal opportunity and equalised odds."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close, make_people, penalty_of, rows_of

from unsway.criteria import EqualizedOdds, EqualOpportunity, Parity

Y, Z = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
LABELS = {Parity: (None,), EqualOpportunity: (1,), EqualizedOdds: (1, 0)}

each_group_criterion = pytest.mark.parametrize("kind", LABELS)


def gaps_by_means(kind, people, weights):
    """Return the gaps in mean score, each a difference of two averages."""
    found = []
    for label in LABELS[kind]:
        inside = np.full(len(people.y), True) if label is None else people.y == label
        means = [
            np.average(
                people.scores[inside & (people.z == group)],
                weights=weights[inside & (people.z == group)],
            )
            for group in (0, 1)
        ]
        found.append(means[1] - means[0])
    return np.array(found)


def test_parity_on_four_rows_is_as_by_hand():
    scores = np.array([0.9, 0.5, 0.4, 0.2])  # .7 against .3
    assert Parity().objective(rows_of(None, Y, Z)).penalty.value(scores) == pytest.approx(0.16)


def test_equal_opportunity_on_four_rows_is_as_by_hand():
    scores = np.array([0.9, 0.0, 0.4, 1.0])  # .9 against .4 where y = 1
    assert EqualOpportunity().objective(rows_of(None, Y, Z)).penalty.value(scores) == pytest.approx(
        0.25
    )


def test_equalized_odds_on_four_rows_is_as_by_hand():
    scores = np.array([0.9, 0.1, 0.4, 0.4])  # .5 where y = 1, −.3 where y = 0
    assert EqualizedOdds().objective(rows_of(None, Y, Z)).penalty.value(scores) == pytest.approx(
        0.34
    )


def test_equal_group_means_satisfy_parity():
    assert (
        Parity().objective(rows_of(None, Y, Z)).penalty.value(np.array([0.75, 0.25, 0.25, 0.75]))
        == 0.0
    )


def test_a_gap_among_negatives_does_not_trouble_equal_opportunity():
    scores = np.array([0.5, 1.0, 0.5, 0.0])
    assert EqualOpportunity().objective(rows_of(None, Y, Z)).penalty.value(scores) == 0.0
    assert EqualizedOdds().objective(rows_of(None, Y, Z)).penalty.value(scores) == 1.0


@each_group_criterion
def test_constant_scores_cost_nothing(kind):
    penalty = penalty_of(kind(), make_people(50))
    assert penalty.value(np.full(50, 0.3)) == pytest.approx(0.0, abs=1e-30)


@each_group_criterion
def test_statistics_are_differences_of_group_means(kind):
    people = make_people(50, seed=1)
    found = penalty_of(kind(), people).statistics(people.scores)
    assert_close(found, gaps_by_means(kind, people, np.ones(50)), 1e-12)


@each_group_criterion
def test_statistics_with_weights_are_differences_of_weighted_means(kind):
    people = make_people(50, seed=1)
    weights = np.random.default_rng(0).exponential(size=50)
    penalty = penalty_of(kind(), people, weights)
    expected = gaps_by_means(kind, people, weights)
    assert_close(penalty.statistics(people.scores), expected, 1e-12)
    assert_close(penalty.value(people.scores), (expected**2).sum(), 1e-12)


def test_equal_opportunity_looks_at_the_other_label_once_labels_are_swapped():
    people = make_people(50, seed=2)
    swapped = EqualOpportunity().objective(rows_of(None, 1 - people.y, people.z)).penalty
    odds = EqualizedOdds().objective(rows_of(None, people.y, people.z)).penalty
    assert odds.names == ("gap_y1", "gap_y0")
    assert_close(swapped.statistics(people.scores)[0], odds.statistics(people.scores)[1], 1e-12)


@pytest.mark.parametrize("group", [0, 1])
def test_a_missing_group_is_named(group):
    with pytest.raises(ValueError, match=rf"no row has z = {group}; both groups are needed there"):
        Parity().objective(rows_of(None, Y, np.full(4, 1.0 - group)))


@pytest.mark.parametrize(
    ("criterion", "y", "label"),
    [(EqualOpportunity(), [1, 0, 0, 0], 1), (EqualizedOdds(), [1, 1, 1, 0], 0)],
)
def test_a_group_missing_within_a_label_is_named_with_the_label(criterion, y, label):
    expected = rf"no row has z = [01] among rows with y = {label}; both groups are needed there"
    with pytest.raises(ValueError, match=expected):
        criterion.objective(rows_of(None, np.array(y, dtype=float), Z))


def test_a_group_without_weight_counts_as_missing():
    with pytest.raises(ValueError, match=r"no row has z = 1"):
        Parity().objective(rows_of(None, Y, Z, 1 - Z))
