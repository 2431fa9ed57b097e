"""The bound on the chance that one more candidate is better: exact, and right at any stop."""

import numpy as np
import pytest

from unsway.sweeps.stopping import Stopping, anytime_bounds, fixed_bound


def crossing_by_hand(bounds):
    """Return the chance that min U_i > q_m for some m of two, from areas of the unit square."""
    first, second = bounds
    # at 1: U_1 > q_1; at 2: U_1 ≤ q_1, and U_1 > q_2 and U_2 > q_2
    return (1 - first) + (first - second) * (1 - second)


def test_two_bounds_spend_their_share_exactly():
    bounds = anytime_bounds(2, 0.2)
    assert crossing_by_hand(bounds) == pytest.approx(0.2 * (1 - 3**-0.5), abs=1e-8)


def test_bounds_fall_and_do_not_depend_on_how_many_there_are():
    bounds = anytime_bounds(60, 0.05)
    assert list(bounds) == sorted(bounds, reverse=True)
    assert anytime_bounds(20, 0.05) == bounds[:20]


def test_looking_all_the_time_costs_something_but_less_than_a_union_bound():
    m, delta = 100, 0.05
    union = fixed_bound(m, delta / (m * (m + 1)))
    assert fixed_bound(m, delta) < anytime_bounds(m, delta)[m - 1] < union


@pytest.mark.parametrize("ties", [False, True])
def test_no_look_is_wrong_more_often_than_stated(ties):
    bounds, rng = np.array(anytime_bounds(150, 0.2)), np.random.default_rng(0)
    wrong, n_draws = 0, 4_000
    for _ in range(n_draws):
        values = rng.integers(0, 12, 150) / 12 if ties else rng.random(150)
        best = np.maximum.accumulate(values)
        better = 1 - (np.floor(best * 12) + 1) / 12 if ties else 1 - best  # P(J > best)
        wrong += np.any(better > bounds)
    assert wrong / n_draws <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / n_draws)
    if not ties:
        assert wrong / n_draws >= 0.12  # all but what the looks after 150 would spend


def test_a_search_stops_when_the_bound_is_small_enough():
    stopping = Stopping(chance=0.2, delta=0.05)
    enough = stopping.enough(100)
    assert stopping.holds(enough, 100)
    assert not stopping.holds(enough - 1, 100)
    assert stopping.enough(enough - 1) is None


def test_the_statement_has_the_bound_and_the_margin():
    said = Stopping(epsilon=0.02).statement(40, 40, "adverse impact ratio")
    assert f"at most {anytime_bounds(40, 0.05)[-1]:.3f}" in said
    assert "by more than 0.02" in said


@pytest.mark.parametrize("wrong", [{"chance": 0}, {"delta": 1}, {"epsilon": -1}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        Stopping(**wrong)
