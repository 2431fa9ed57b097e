"""What the outcome models' noise adds to influence functions, and how far intervals reach."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import make_people
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from unsway.effects.influence import Mean, doubly_robust, reach
from unsway.effects.model_noise import ModelNoise
from unsway.effects.nuisance import Nuisances

N = 400


def drawn():
    people = make_people(N, 3)
    b = np.clip(people.b, 0.05, 0.95)
    low = 0.2 + 0.5 * people.b
    return people.y, people.z, Nuisances(b, np.column_stack([low, low + 0.1 - 0.2 * b**2]))


def moved_mean(noise, level, counted, corrected, means, y, coefficients, *, numbers):
    """Return the mean of predictions and corrected residuals after a calibration."""
    shift = noise.functions @ coefficients
    mean = means + shift if numbers else expit(logit(means) + shift)
    return np.mean(counted * mean + corrected * (y - mean))


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_row_moves_the_mean_by_what_it_moves_the_calibration(level, numbers):
    y, z, nuisances = drawn()
    y = y + 0.3 * nuisances.propensity if numbers else y
    noise = ModelNoise.of(y, z, np.ones(N), nuisances)
    own, means = (z == level).astype(float), nuisances.outcome[:, level]
    counted, corrected = np.linspace(0, 2, N), own / (0.2 + nuisances.propensity)
    step, gradient = 1e-5, np.empty(4)
    for k, direction in enumerate(np.eye(4) * step):
        ends = [
            moved_mean(
                noise, level, counted, corrected, means, y, sign * direction, numbers=numbers
            )
            for sign in (1, -1)
        ]
        gradient[k] = (ends[0] - ends[1]) / (2 * step)
    slope = np.ones(N) if numbers else means * (1 - means)
    curvature = (noise.functions * (own * slope)[:, None]).T @ noise.functions + np.eye(4)
    by_row = noise.functions @ np.linalg.solve(curvature, gradient) * own * (y - means)
    np.testing.assert_allclose(
        noise.influence(level, counted, corrected), N * by_row, rtol=1e-4, atol=1e-8
    )


def test_nothing_is_added_where_the_weights_balance_the_groups():
    y, z, _ = drawn()
    half = Nuisances(np.full(N, z.mean()), np.full((N, 2), 0.4))
    known, found = (doubly_robust(y, z, np.ones(N), half, models_known=k) for k in (True, False))
    for name in ("direct_reference", "direct_group", "direct_everyone", "explained"):
        np.testing.assert_allclose(found[name].influence, known[name].influence, atol=1e-9)


def test_the_noise_moves_no_estimate_and_shortens_no_interval():
    y, z, nuisances = drawn()
    far = np.where(np.arange(N) % 3 == 0, 0.95, 0.4)
    for b in (far, nuisances.propensity, 1 - nuisances.propensity):
        at = Nuisances(b, nuisances.outcome)
        known, found = (doubly_robust(y, z, np.ones(N), at, models_known=k) for k in (True, False))
        for name in known:
            assert found[name].value == known[name].value
            if not name.startswith(("indirect", "explained")):  # sums with other means
                assert found[name].se >= 0.97 * known[name].se
        assert found["total"].se == known["total"].se


def test_intervals_hold_the_truth_where_overlap_is_poor():
    held = {False: 0, True: 0}
    for seed in range(60):
        rng = np.random.default_rng([seed, 3])
        x = rng.normal(size=(600, 3)) + [1.5, 0, 0] * (z := rng.random((600, 1)) < 0.5)
        z = z[:, 0].astype(float)
        margin = x @ [0.6, 0.5, 0.5] - 0.5
        y = (rng.random(600) < expit(margin)).astype(float)
        b = np.clip(expit(1.5 * (x[:, 0] - 0.75) * 1.5), 0.02, 0.98)  # too sure of itself
        halves = np.arange(600) % 2 == 0
        means = np.empty((600, 2))
        for level in (0, 1):
            for half in (halves, ~halves):
                inside = half & (z == level)
                model = LogisticRegression().fit(x[inside], y[inside])
                means[~half, level] = model.predict_proba(x[~half])[:, 1]
        for known in held:
            found = doubly_robust(y, z, np.ones(600), Nuisances(b, means), models_known=known)
            interval = found["direct_everyone"].interval()
            held[known] += interval.low < 0 < interval.high
    assert held[False] >= 52  # of 60; fewer have a chance of .005 at .95
    assert held[False] >= held[True]


def test_few_rows_with_large_weights_of_one_sign_make_an_interval_longer():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=4_000)
    assert reach(normal, 0.95) == pytest.approx(1.96, abs=0.005)
    skewed = np.abs(normal) * np.where(np.arange(4_000) < 10, 50, 1)
    assert reach(skewed - skewed.mean(), 0.95) > 2.2
    assert reach(np.zeros(5), 0.95) == pytest.approx(1.96, abs=1e-3)


def test_normal_influence_gives_the_quantile_of_a_t_distribution():
    normal = stats.norm.ppf((np.arange(60) + 0.5) / 60)
    assert reach(normal, 0.95) == pytest.approx(stats.t(59).ppf(0.975), abs=0.03)


def test_the_reach_counts_clusters_and_not_their_rows():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(50), 40)
    shared = rng.exponential(size=50)[clusters] - 1
    assert reach(shared, 0.95) < 1.98
    assert reach(shared, 0.95, clusters) > 2.2


def test_intervals_of_skewed_means_hold_more_often_than_normal_ones():
    rng, held = np.random.default_rng(4), {True: 0, False: 0}
    for _ in range(2_000):
        drawn = rng.exponential(size=20) ** 2
        mean = Mean(drawn.mean(), drawn - drawn.mean())
        interval = mean.interval()
        held[True] += interval.low < 2 < interval.high
        held[False] += abs(mean.value - 2) < 1.96 * mean.se
    assert held[True] > held[False] + 60
