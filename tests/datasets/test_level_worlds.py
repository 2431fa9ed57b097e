"""Worlds of attributes that are more than two groups know their fair score."""

import numpy as np
import pytest

from unsway.datasets import LEVEL_WORLDS, make_level_world

N = 40_000


@pytest.mark.parametrize("name", LEVEL_WORLDS)
@pytest.mark.parametrize("numbers", [False, True], ids=["labels", "numbers"])
def test_the_same_seed_gives_the_same_rows(name, numbers):
    one, two = (make_level_world(name, 50, numbers=numbers, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(one.X, make_level_world(name, 50, random_state=4).X)


def test_the_levels_have_their_shares():
    z = make_level_world("five_levels", N).z["origin"]
    np.testing.assert_allclose(np.bincount(z) / N, [0.5, 0.25, 0.15, 0.07, 0.03], atol=0.01)


def test_each_combination_of_sex_and_age_has_rows():
    people = make_level_world("sex_and_age", N)
    assert set(people.z) == {"sex", "age"}
    shares = np.bincount(people.cells) / N
    assert len(shares) == 8
    assert shares.min() > 0.015


def test_tenths_by_age_have_as_many_rows():
    people = make_level_world("age", N)
    np.testing.assert_allclose(np.bincount(people.cells) / N, 0.1, atol=0.01)
    assert len(np.unique(people.z["age"])) > 10_000


@pytest.mark.parametrize("name", ["five_levels", "sex_and_age"])
def test_where_the_attributes_are_drawn_evenly_y_has_the_mean_of_the_fair_score(name):
    """The mean of y over cells with equal weights, at rows alike in X, is the fair score."""
    people = make_level_world(name, 400_000, numbers=True)
    near = np.abs(people.X).max(axis=1) < 0.8
    cells = people.cells[near]
    counts = np.bincount(cells)
    apart = np.bincount(cells, (people.y - people.fair_score)[near]) / counts
    noise = 1 / np.sqrt(counts)
    assert abs(apart.mean()) < 0.15
    assert np.ptp(apart) > 10 * noise.max()  # each level by itself is far from it


def test_the_spread_is_the_largest_difference_between_two_cells():
    people = make_level_world("five_levels", 1_000)
    assert people.spread(people.fair_score) == 0
    assert people.spread(people.fair_score + 0.3 * (people.cells == 4)) == pytest.approx(0.3)


def test_an_unknown_world_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="five_levels"):
        make_level_world("six_levels")
