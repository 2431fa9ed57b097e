"""Worlds of counts, amounts and wages: their draws have the means and effects they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from unsway import make_world
from unsway.datasets import NUMBER_WORLDS
from unsway.datasets.number_worlds import NUMBER_WORLDS as WORLDS

N = 200_000
LOSSES = {
    "claims": "poisson",
    "severity": "gamma",
    "pure_premium": "tweedie",
    "wages": "squared_error",
}

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@pytest.fixture(scope="module")
def drawn():
    return {name: make_world(name, N, random_state=0) for name in NUMBER_WORLDS}


def exposure_of(data):
    return np.ones(N) if data.exposure is None else data.exposure


@each_world
def test_a_world_says_its_loss(world, drawn):
    assert drawn[world.name].loss == LOSSES[world.name]


@each_world
def test_rates_have_the_mean_of_their_group(world, drawn):
    data = drawn[world.name]
    means, exposure = world.means(data.X), exposure_of(data)
    for z in (0, 1):
        inside = data.z == z
        expected = (exposure * means[:, z])[inside]
        error = np.std(data.y[inside] - expected) / np.sqrt(inside.sum())
        assert abs(data.y[inside].mean() - expected.mean()) < 4 * error


@each_world
def test_the_fair_score_is_the_mean_of_both_groups(world, drawn):
    data = drawn[world.name]
    np.testing.assert_allclose(data.fair_score, world.means(data.X).mean(axis=1))
    gap = data.fair_score[data.z == 1].mean() - data.fair_score[data.z == 0].mean()
    assert abs(gap - data.effects.explained) < 0.02 * data.fair_score.mean()


@each_world
def test_the_effects_add_up(world):
    effects = world.effects()
    assert effects.total == pytest.approx(effects.direct_reference + effects.indirect_group)
    direct, indirect = effects.direct_everyone, effects.explained
    assert direct * indirect > 0  # z acts by itself and through X, in one direction


@each_world
def test_the_propensity_is_the_share_of_the_group(world, drawn):
    data = drawn[world.name]
    np.testing.assert_allclose(data.propensity, expit(world.log_odds(data.X)))
    assert abs(data.propensity.mean() - data.z.mean()) < 0.01
    high = data.propensity > 0.8
    assert abs(data.propensity[high].mean() - data.z[high].mean()) < 0.01


@each_world
def test_the_variance_grows_as_the_loss_has_it(world, drawn):
    data, power = drawn[world.name], {"claims": 1, "severity": 2, "pure_premium": 1.5, "wages": 0}
    means, exposure = world.means(data.X), exposure_of(data)
    mean = means[np.arange(N), data.z]
    squares = exposure * (data.y / exposure - mean) ** 2
    high = mean > np.median(mean)
    ratios = [
        squares[part].sum() / (mean[part] ** power[world.name]).sum() for part in (high, ~high)
    ]
    assert 0.85 < ratios[0] / ratios[1] < 1.15


def test_exposure_is_longer_in_the_group(drawn):
    for name in ("claims", "pure_premium"):
        exposure, z = drawn[name].exposure, drawn[name].z
        assert exposure[z == 1].mean() > exposure[z == 0].mean() + 0.1
        assert exposure.min() > 0
        assert exposure.max() <= 1
    assert drawn["wages"].exposure is None


def test_a_seed_gives_the_same_rows():
    one, other = (make_world("claims", 50, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.y, other.y)
    assert repr(one) == (
        "SyntheticData(world='claims', 50 rows, 3 safe + 3 indirect + 2 proxy columns)"
    )
