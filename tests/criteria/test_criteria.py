"""What every criterion must keep, whatever it holds the scores to."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contracts import (
    CRITERIA,
    assert_base_rate_is_free,
    assert_close,
    assert_row_order_does_not_matter,
    assert_some_rows_are_as_good_as_a_fit,
    assert_weights_equal_repeated_rows,
    each_criterion,
    make_people,
    penalty_of,
    rows_of,
    with_groups_swapped,
    with_labels_swapped,
)
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from unsway.core import Penalty
from unsway.criteria import (
    Criterion,
    DirectEffect,
    EqualOpportunity,
    FittedCriterion,
    Parity,
    fit_criterion,
)

PEOPLE = make_people(80, seed=3)


@each_criterion
def test_weights_equal_repeated_rows(criterion):
    assert_weights_equal_repeated_rows(criterion, PEOPLE)


@each_criterion
def test_row_order_does_not_matter(criterion):
    assert_row_order_does_not_matter(criterion, PEOPLE)


@each_criterion
def test_the_base_rate_is_left_free(criterion):
    assert_base_rate_is_free(criterion, PEOPLE)


@each_criterion
def test_some_rows_are_as_good_as_a_fit_on_them(criterion):
    assert_some_rows_are_as_good_as_a_fit(criterion, PEOPLE)


@each_criterion
def test_equal_weights_are_as_good_as_none(criterion):
    equal = penalty_of(criterion, PEOPLE, np.full(80, 0.5))
    plain = penalty_of(criterion, PEOPLE)
    assert_close(equal.value(PEOPLE.scores), plain.value(PEOPLE.scores), 1e-10)
    assert_close(equal.gradient(PEOPLE.scores), plain.gradient(PEOPLE.scores), 1e-10)


@pytest.mark.parametrize(
    "criterion",
    [value for value in CRITERIA.values() if not isinstance(value, EqualOpportunity)],
    ids=[name for name in CRITERIA if name != "equal opportunity"],
)
def test_it_does_not_matter_which_label_is_called_one(criterion):
    swapped = with_labels_swapped(PEOPLE)
    expected = penalty_of(criterion, PEOPLE).value(PEOPLE.scores)
    assert_close(penalty_of(criterion, swapped).value(swapped.scores), expected, 1e-9)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CRITERIA
        if name not in ("direct effect (2,1)", "direct effect (3,0), paper")
    ],
)
def test_it_does_not_matter_which_group_is_called_one(name):
    swapped = with_groups_swapped(PEOPLE)
    expected = penalty_of(CRITERIA[name], PEOPLE).value(PEOPLE.scores)
    assert_close(penalty_of(CRITERIA[name], swapped).value(PEOPLE.scores), expected, 1e-9)


@each_criterion
def test_the_penalty_names_each_of_its_statistics_once(criterion):
    penalty = penalty_of(criterion, PEOPLE)
    assert isinstance(penalty, Penalty)
    assert len(set(penalty.names)) == penalty.matrix.shape[1]


@each_criterion
def test_fitting_leaves_the_criterion_as_it_was(criterion):
    fresh = clone(criterion)
    before = dict(vars(fresh))
    fresh.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    assert vars(fresh) == before


@each_criterion
def test_a_fitted_criterion_can_be_pickled(criterion):
    fitted = criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    one, other = (
        f.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).value(PEOPLE.scores) for f in (fitted, again)
    )
    assert one == other


@each_criterion
def test_a_criterion_keeps_its_protocol(criterion):
    assert isinstance(criterion, Criterion)
    assert isinstance(criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z)), FittedCriterion)


@each_criterion
def test_fitting_by_hand_is_the_same_as_letting_it_be_fitted(criterion):
    by_hand = criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    for fitted in (fit_criterion(criterion, rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z)), by_hand):
        again = fit_criterion(fitted, rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
        expected = by_hand.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).value(PEOPLE.scores)
        assert again.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).value(PEOPLE.scores) == expected


def test_letting_it_be_fitted_passes_the_weights_on():
    criterion, weights = DirectEffect(propensity=LogisticRegression()), 1 + 9 * PEOPLE.z
    found = fit_criterion(criterion, rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z, weights)).row_values
    assert_close(
        found, criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z, weights)).row_values, 1e-12
    )
    assert (
        found.mean() > criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z)).row_values.mean() + 0.1
    )


def test_a_fitted_direct_effect_is_passed_on_untouched():
    fitted = CRITERIA["direct effect (1,0)"].fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    assert fit_criterion(fitted, rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z)) is fitted


@pytest.mark.parametrize("wrong", ["parity", None, 0.5])
def test_something_else_is_refused_with_examples_of_what_is_wanted(wrong):
    with pytest.raises(
        TypeError, match=r"such as FairTarget\(\), DirectEffect\(\) or Parity\(\); got"
    ):
        fit_criterion(wrong, rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))


def test_criteria_tell_their_settings():
    assert repr(DirectEffect(2, 1)) == "DirectEffect(effect_degree=1, outcome_degree=2)"
    assert repr(Parity()) == "Parity()"
