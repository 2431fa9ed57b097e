"""The world of three classes: its draws have the shares and effects it says."""

from __future__ import annotations

import numpy as np
import pytest

from unsway import make_world
from unsway.datasets.class_worlds import CLASS_WORLDS

N = 200_000
WORLD = CLASS_WORLDS[0]


@pytest.fixture(scope="module")
def drawn():
    return make_world("classes", N, random_state=0)


def test_each_group_has_the_shares_that_are_known(drawn):
    shares = WORLD.means(drawn.X)
    np.testing.assert_allclose(shares.sum(axis=2), 1)
    for z in (0, 1):
        inside = drawn.z == z
        for one in range(3):
            expected = shares[inside, z, one]
            error = np.sqrt((expected * (1 - expected)).sum()) / inside.sum()
            assert abs(np.mean(drawn.y[inside] == one) - expected.mean()) < 4 * error


def test_the_fair_score_has_a_column_for_each_class(drawn):
    assert drawn.fair_score.shape == (N, 3)
    np.testing.assert_allclose(drawn.fair_score, WORLD.means(drawn.X).mean(axis=1))
    gap = drawn.fair_score[drawn.z == 1].mean(axis=0) - drawn.fair_score[drawn.z == 0].mean(axis=0)
    np.testing.assert_allclose(gap, drawn.effects.explained, atol=0.005)


def test_effects_are_a_number_for_each_class_and_sum_to_0(drawn):
    effects = drawn.effects
    direct, indirect = np.array(effects.direct_reference), np.array(effects.indirect_group)
    np.testing.assert_allclose(effects.total, direct + indirect)
    np.testing.assert_allclose(direct.sum(), 0, atol=1e-12)
    assert np.abs(direct).max() > 0.05
    gap = [
        np.mean(drawn.y[drawn.z == 1] == k) - np.mean(drawn.y[drawn.z == 0] == k) for k in (0, 1, 2)
    ]
    np.testing.assert_allclose(effects.total, gap, atol=0.01)


def test_a_seed_gives_the_same_rows():
    one, other = (make_world("classes", 50, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.y, other.y)
    assert repr(one) == (
        "SyntheticData(world='classes', 50 rows, 3 safe + 3 indirect + 2 proxy columns)"
    )
