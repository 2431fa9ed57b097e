"""Intervals: normal ones, simultaneous bands, and the bootstrap within levels."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close
from scipy import stats

from unsway.effects.estimate import (
    Estimate,
    bootstrap,
    check_confidence,
    resample,
    simultaneous_factor,
)
from unsway.effects.influence import Mean

Z = np.repeat([0.0, 1.0], [30, 12])


# --- one estimate --------------------------------------------------------------------------------


def test_a_95_percent_interval_is_1_96_standard_errors_wide_on_either_side():
    found = Estimate.normal(1.0, 0.1)
    assert found.low == pytest.approx(1 - 0.1959964, abs=1e-7)
    assert found.high == pytest.approx(1 + 0.1959964, abs=1e-7)


def test_more_confidence_makes_a_wider_interval():
    wide, narrow = (Estimate.normal(0.0, 1.0, share) for share in (0.99, 0.5))
    assert wide.high == pytest.approx(2.5758293)
    assert narrow.high == pytest.approx(0.6744898)


def test_turning_the_sign_turns_the_interval_around():
    assert -Estimate(0.2, 0.01, 0.1, 0.4) == Estimate(-0.2, 0.01, -0.4, -0.1)


def test_an_estimate_becomes_four_plains():
    found = Estimate.normal(np.float64(0.2), np.float64(0.01)).to_dict()
    assert list(found) == ["estimate", "se", "low", "high"]
    assert {type(value) for value in found.values()} == {float}


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, np.nan])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    with pytest.raises(
        ValueError, match="confidence must be a finite number above 0 and below 1; got"
    ):
        check_confidence(confidence)


# --- bands ---------------------------------------------------------------------------------------


def test_a_band_of_independent_estimates_is_that_of_sidak():
    # P(max |t_k| ≤ c) = (2Φ(c) − 1)^K
    expected = stats.norm.ppf(0.5 + 0.95 ** (1 / 5) / 2)
    found = simultaneous_factor(np.diag([1.0, 4.0, 0.1, 2.0, 9.0]), n_draws=200_000)
    assert found == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_band_is_never_narrower_than_a_single_interval(seed):
    found = simultaneous_factor(np.ones((4, 4)), n_draws=500, seed=seed)
    assert found >= stats.norm.ppf(0.975)


def test_a_band_needs_less_where_estimates_move_together():
    alone = simultaneous_factor(np.eye(6))
    together = simultaneous_factor(0.9 * np.ones((6, 6)) + 0.1 * np.eye(6))
    assert 1.96 < together < alone - 0.2


def test_estimates_without_any_uncertainty_need_no_wider_band():
    assert simultaneous_factor(np.zeros((3, 3))) == pytest.approx(1.959964, abs=1e-6)
    known_and_not = simultaneous_factor(np.diag([0.0, 1.0]), n_draws=200_000)
    assert known_and_not == pytest.approx(1.96, abs=0.02)


# --- bootstrap -----------------------------------------------------------------------------------


class MeanOf:
    """The mean of some values, a statistic that can be sent to workers."""

    def __init__(self, values):
        self.values = values

    def __call__(self, rows):
        return np.array([self.values[rows].mean()])


def test_a_resample_keeps_every_row_within_its_group():
    rows = resample(Z, 0, 0)
    assert (Z[rows] == Z).all()
    assert len(np.unique(rows)) < len(rows)


def test_a_resample_depends_on_its_seed_and_its_number_alone():
    assert (resample(Z, 3, 5) == resample(Z, 3, 5)).all()
    assert (resample(Z, 3, 5) != resample(Z, 3, 6)).any()
    assert (resample(Z, 3, 5) != resample(Z, 4, 5)).any()


def test_every_row_of_a_group_is_as_likely_as_another():
    counts = sum(np.bincount(resample(Z, 0, k), minlength=len(Z)) for k in range(2000))
    # 2000 draws of each place: the count of a row has mean 2000 and spread √2000
    assert np.abs(counts - 2000).max() < 4.5 * np.sqrt(2000)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_replicates_are_the_same_whatever_the_workers(n_jobs):
    values = np.random.default_rng(0).normal(size=len(Z))
    expected = [[values[resample(Z, 7, k)].mean()] for k in range(6)]
    found = bootstrap(MeanOf(values), Z, 6, seed=7, n_jobs=n_jobs)
    assert_close(found, expected, 1e-15)


def test_progress_is_told_after_every_replicate():
    told = []
    bootstrap(MeanOf(Z), Z, 3, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bootstrap_can_be_interrupted(n_jobs):
    told = []

    def stop(done, of):
        told.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bootstrap(MeanOf(Z), Z, 50, n_jobs=n_jobs, progress=stop)
    assert told == [1]


def test_an_error_in_a_replicate_is_raised():
    with pytest.raises(IndexError):
        bootstrap(MeanOf(np.zeros(3)), Z, 5)


@pytest.mark.parametrize("n_replicates", [0, 1, -3, 2.0, "many", None])
def test_fewer_than_two_replicates_are_refused(n_replicates):
    with pytest.raises(ValueError, match="n_bootstrap must be an integer of at least 2; got"):
        bootstrap(MeanOf(Z), Z, n_replicates)


def test_replicates_of_a_difference_spread_as_its_influence_says():
    values = np.random.default_rng(1).normal(size=400)
    z = np.repeat([0.0, 1.0], [250, 150])

    def difference(rows):
        return np.array([values[rows][z[rows] == 1].mean() - values[rows][z[rows] == 0].mean()])

    found = bootstrap(difference, z, 1000).std(ddof=1)
    expected = Mean.of(z * values, z) - Mean.of((1 - z) * values, 1 - z)
    assert found == pytest.approx(expected.se, rel=0.08)
