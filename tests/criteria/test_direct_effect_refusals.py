"""What the direct effect refuses, and what it warns about, word by word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from contracts import direct_effect, make_people, penalty_of, rows_of

from unsway.criteria import DirectEffect
from unsway.effects import IllPosedSurrogateError, OverlapWarning

PEOPLE = make_people(80, seed=1)


def with_scores(b):
    """Return the people with another propensity."""
    return type(PEOPLE)(np.column_stack([b, PEOPLE.X[:, 1]]), *list(vars(PEOPLE).values())[1:])


def test_a_constant_propensity_is_refused_with_its_value_and_a_way_out():
    people = with_scores(np.full(80, 0.37))
    expected = r"the propensity score is 0.37 for every row: X says nothing about z.*Use Parity"
    with pytest.raises(IllPosedSurrogateError, match=expected):
        penalty_of(direct_effect(), people)


def test_groups_without_overlap_are_refused_with_a_way_out():
    people = with_scores(np.where(PEOPLE.z == 1, 0.6, 0.1) + 0.2 * PEOPLE.scores)
    expected = r"X predicts the sensitive attribute nearly exactly:.*'column 0'.*Drop every column"
    with pytest.raises(ValueError, match=expected):
        penalty_of(direct_effect(), people)


def test_a_degree_too_high_for_the_numbers_is_refused_with_the_condition_number():
    expected = r"condition number of \d\.\de\+\d+ \(at most 1e\+07 is allowed\) with 7\d distinct"
    with pytest.raises(IllPosedSurrogateError, match=expected):
        penalty_of(direct_effect(14, 0), PEOPLE)


def test_more_degrees_than_distinct_propensities_are_refused_with_their_number():
    people = with_scores(np.tile([0.2, 0.5, 0.8, 0.5], 20))
    with pytest.raises(IllPosedSurrogateError, match=r"with 3 distinct propensity scores. Lower"):
        penalty_of(direct_effect(4, 0), people)


def test_too_few_rows_are_refused_with_both_numbers():
    people = PEOPLE.rows(np.arange(4))
    with pytest.raises(IllPosedSurrogateError, match=r"4 rows cannot determine 6 surrogate coeff"):
        penalty_of(direct_effect(3, 1), people)


def test_a_single_group_is_refused():
    fitted = direct_effect().fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    with pytest.raises(IllPosedSurrogateError, match=r"z is 1 for every row; both groups are"):
        fitted.penalty(rows_of(None, PEOPLE.y, np.ones(80)))


def test_splines_are_refused_in_the_coefficient_norm():
    with pytest.raises(ValueError, match=r"'spline' has no coefficients.*use norm='function'"):
        direct_effect(basis="spline").fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))


@pytest.mark.parametrize("name", ["norm", "basis", "form"])
def test_an_unknown_choice_is_refused_by_name_with_the_choices(name):
    choices = {
        "norm": "coefficient, function",
        "basis": "polynomial, spline",
        "form": "match, interval, paper",
    }
    expected = rf"unknown {name} 'cubic'; choose from {choices[name]}"
    with pytest.raises(ValueError, match=expected):
        direct_effect(**{name: "cubic"}).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ((0, 0), "outcome_degree must be an integer of at least 1; got 0"),
        ((1.5, 0), "outcome_degree must be an integer of at least 1; got 1.5"),
        (("2", 0), "outcome_degree must be an integer of at least 1; got '2'"),
        ((2, -1), "effect_degree must be an integer of at least 0; got -1"),
    ],
)
def test_a_wrong_degree_is_refused_with_its_value(degrees, expected):
    with pytest.raises(ValueError, match=expected):
        direct_effect(*degrees).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))


def test_numpy_integers_serve_as_degrees():
    fitted = direct_effect(np.int64(2), np.int32(0)).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    assert fitted.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).names == (
        "alpha_1",
        "alpha_2",
        "beta_0",
    )


def test_a_criterion_fitted_on_other_rows_is_refused_with_a_way_out():
    fitted = direct_effect().fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    expected = r"fitted on 80 rows but there are 50; use at\(X\) for other rows"
    with pytest.raises(ValueError, match=expected):
        fitted.penalty(rows_of(None, PEOPLE.y[:50], PEOPLE.z[:50]))


def test_settings_are_checked_before_the_propensity_is_fitted():
    with pytest.raises(ValueError, match="unknown norm"):
        DirectEffect(norm="cubic").fit(PEOPLE.checked())


@pytest.mark.parametrize("degrees", [(1, 1), (1, 2), (2, 2)])
def test_an_effect_degree_not_below_the_outcome_degree_is_warned_of_with_the_numbers(degrees):
    outcome, effect = degrees
    expected = (
        rf"effect_degree={effect} is not below outcome_degree={outcome}:.*"
        rf"outcome_degree={effect + 1} avoids that"
    )
    with pytest.warns(UserWarning, match=expected):
        direct_effect(*degrees).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))


def test_the_papers_degrees_of_one_and_one_work_after_the_warning():
    with pytest.warns(UserWarning, match="effect_degree=1"):
        fitted = direct_effect(1, 1).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    assert fitted.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).names == (
        "alpha_1",
        "beta_0",
        "beta_1",
    )


def test_an_effect_of_higher_degree_raises_the_outcomes_to_its_own():
    with pytest.warns(UserWarning, match="effect_degree=2"):
        fitted = direct_effect(1, 2).fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    names = fitted.penalty(rows_of(None, PEOPLE.y, PEOPLE.z)).names
    assert names == ("alpha_1", "alpha_2", "beta_0", "beta_1", "beta_2")


def test_a_propensity_mostly_near_zero_and_one_is_warned_of_with_its_share():
    people = with_scores(np.r_[np.tile([0.01, 0.99], 30), np.linspace(0.1, 0.9, 20)])
    expected = r"75% .* outside \[0.05, 0.95\] \(more than 60%\).* extrapolated by the surrogate"
    with pytest.warns(OverlapWarning, match=expected):
        direct_effect().fit(rows_of(people.X, people.y, people.z))


def test_the_share_to_warn_at_is_the_users():
    people = with_scores(np.r_[np.tile([0.01, 0.99], 30), np.linspace(0.1, 0.9, 20)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        direct_effect(max_extreme_share=0.75).fit(rows_of(people.X, people.y, people.z))
    with pytest.warns(OverlapWarning, match=r"more than 70%"):
        direct_effect(max_extreme_share=0.7).fit(rows_of(people.X, people.y, people.z))
