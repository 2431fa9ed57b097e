"""The direct effect at each row's X: its correction by hand, and what it mends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contracts import EXACT, assert_close, rows_of
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression

from unsway.datasets import make_synthetic
from unsway.effects import CrossFit, conditional
from unsway.effects.conditional import (
    PRIOR_DEVIATIONS,
    ConditionalMeans,
    Correction,
    fit_correction,
)
from unsway.effects.nuisance import Nuisances


def random_rows(n=200, seed=0):
    """Return weighted labels and z, and nuisances that have little to do with them."""
    rng = np.random.default_rng(seed)
    b, outcome = rng.uniform(0.1, 0.9, n), rng.uniform(0.2, 0.8, (n, 2))
    z = (rng.random(n) < b).astype(float)
    y = (rng.random(n) < 0.5).astype(float)
    return rows_of(None, y, z, rng.integers(1, 4, n).astype(float)), Nuisances(b, outcome)


def test_a_constant_correction_is_the_residual_slope_by_hand(monkeypatch):
    # m̂ = ½ and s = 1. Residuals r of z: −¼, ¾, −½, ½; e of y: −½, ½, −½, ½; c = Σ r·e / (Σ r² + ρ)
    b = np.array([0.25, 0.25, 0.5, 0.5])
    z, y = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    nuisances = Nuisances(b, np.full((4, 2), 0.5))
    moment, square = 0.125 + 0.375 + 0.25 + 0.25, 0.0625 + 0.5625 + 0.25 + 0.25
    monkeypatch.setattr(conditional, "PRIOR_DEVIATIONS", (0.5,))  # σ² = ¼ = t²: the ridge is 1
    found = fit_correction(rows_of(None, y, z), nuisances, 0)
    assert_close(found.coefficients, [moment / (square + 1)], 1e-14)
    # t = 0 is as likely before, and exp(½·4/2.125)/√2.125 times less likely after
    monkeypatch.setattr(conditional, "PRIOR_DEVIATIONS", (0.0, 0.5))
    odds = np.exp(0.5 * 4 / 2.125) / np.sqrt(2.125)
    expected = odds / (1 + odds) * moment / (square + 1)
    assert_close(fit_correction(rows_of(None, y, z), nuisances, 0).coefficients, [expected], 1e-14)


def regression_of(rows, nuisances, degree):
    """Return the residuals of y and the columns that the correction fits to them."""
    b, mean = nuisances.propensity, nuisances.mean
    powers = np.column_stack([(2 * b - 1) ** k for k in range(degree + 1)])
    columns = (4 * mean * (1 - mean) * (rows.z - b))[:, None] * powers
    return rows.y - mean - (rows.z - b) * nuisances.effect, columns


def biased(by, n=200, seed=0):
    """Return labels without weights, and nuisances whose effect is too small by about this."""
    rng = np.random.default_rng(seed)
    b = rng.uniform(0.2, 0.8, n)
    z = (rng.random(n) < b).astype(float)
    y = (rng.random(n) < 0.5 + by * (z - b)).astype(float)
    return rows_of(None, y, z), Nuisances(b, np.full((n, 2), 0.5))


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("by", [0.0, 0.3, 0.6])
def test_priors_count_by_the_likelihood_of_the_residuals(by, degree):
    rows, nuisances = biased(by)
    residual, columns = regression_of(rows, nuisances, degree)
    variance = np.mean(residual**2)
    likelihoods, solutions = [], []
    for t in PRIOR_DEVIATIONS:
        covariance = variance * np.eye(len(rows)) + t**2 * columns @ columns.T
        likelihoods.append(multivariate_normal(cov=covariance).logpdf(residual))
        ridge = variance / max(t, 1e-12) ** 2 * np.eye(degree + 1)
        solutions.append(np.linalg.solve(columns.T @ columns + ridge, columns.T @ residual))
    expected = softmax(likelihoods) @ solutions
    assert_close(fit_correction(rows, nuisances, degree).coefficients, expected, 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_correction_minimises_the_penalised_residual_sum_of_squares(
    degree, weighted, monkeypatch
):
    rows, nuisances = random_rows()
    rows = rows if weighted else replace(rows, weights=None)
    residual, columns = regression_of(rows, nuisances, degree)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    ridge = np.average(residual**2, weights=weights) / 0.1**2

    def squares(c):
        return weights @ (residual - columns @ c) ** 2 + ridge * np.sum(np.square(c))

    monkeypatch.setattr(conditional, "PRIOR_DEVIATIONS", (0.1,))
    found = fit_correction(rows, nuisances, degree).coefficients
    general = minimize(squares, np.zeros(degree + 1), tol=1e-12)
    assert found.shape == (degree + 1,)
    assert squares(found) <= general.fun * (1 + 1e-10)
    assert general.fun < squares(np.zeros(degree + 1))


def test_weights_of_the_correction_equal_repeated_rows():
    rows, nuisances = random_rows(seed=1)
    again = np.repeat(np.arange(len(rows)), rows.weights.astype(int))
    copied = Nuisances(nuisances.propensity[again], nuisances.outcome[again])
    expected = fit_correction(replace(rows.take(again), weights=None), copied, 1)
    assert_close(fit_correction(rows, nuisances, 1).coefficients, expected.coefficients, 1e-10)


def test_nuisances_that_are_right_need_no_correction():
    data = make_synthetic(200_000, random_state=1)
    margin = data.X @ data.coefficients
    outcome = 1 / (1 + np.exp(-margin[:, None] - np.array([0.0, 1.25])))
    nuisances = Nuisances(data.propensity, outcome)
    found = fit_correction(rows_of(None, data.y, data.z), nuisances, 0)
    assert abs(found.coefficients[0]) < 0.02


def test_a_propensity_that_is_the_same_for_all_gets_a_finite_correction():
    rows, nuisances = random_rows(seed=2)
    flat = Nuisances(np.full(200, 0.5), nuisances.outcome)
    line = fit_correction(replace(rows, weights=None), flat, 1).coefficients
    assert np.isfinite(line).all()
    assert line[1] == 0  # 2b̂ − 1 is 0 for all


def test_few_rows_correct_less_than_many_rows_of_the_same_kind():
    rows, nuisances = random_rows(seed=3)
    rows = replace(rows, weights=None)
    again = np.tile(np.arange(200), 50)
    many = Nuisances(nuisances.propensity[again], nuisances.outcome[again])
    few_found = fit_correction(rows, nuisances, 0).coefficients[0]
    many_found = fit_correction(rows.take(again), many, 0).coefficients[0]
    assert 0 < few_found / many_found < 0.9


def test_residuals_of_zero_need_no_correction():
    y = np.tile([0.0, 1.0], 20)
    nuisances = Nuisances(np.full(40, 0.5), np.column_stack([y, y]))
    assert fit_correction(
        rows_of(None, y, np.repeat([0, 1], 20)), nuisances, 1
    ).coefficients.tolist() == [0, 0]


def test_the_corrected_effect_adds_a_curve_of_the_propensity_by_hand():
    # m̂ = .35 and .575, so that s = .91 and .9775
    nuisances = Nuisances(np.array([0.5, 0.25]), np.array([[0.2, 0.5], [0.6, 0.5]]))
    change = Correction(coefficients=np.array([0.1, 0.4]))
    assert_close(change.effect(nuisances), [0.3 + 0.91 * 0.1, -0.1 - 0.9775 * 0.1], 1e-14)
    assert_close(Correction(coefficients=np.zeros(0)).effect(nuisances), [0.3, -0.1], 1e-14)


def test_corrected_means_keep_the_mean_of_both_groups_by_hand():
    # m̂ = .35 and .575; the effects .391 and −.19775 lie half above and half below, and ¾ and ¼
    nuisances = Nuisances(np.array([0.5, 0.25]), np.array([[0.2, 0.5], [0.6, 0.5]]))
    change = Correction(coefficients=np.array([0.1, 0.4]))
    assert_close(
        change.means(nuisances),
        [[0.35 - 0.1955, 0.35 + 0.1955], [0.575 + 0.0494375, 0.575 - 0.1483125]],
        1e-14,
    )


def test_the_effect_on_a_number_is_corrected_in_its_own_units():
    nuisances = Nuisances(np.array([0.5, 0.25]), np.array([[20.0, 50.0], [60.0, 50.0]]))
    change = Correction(coefficients=np.array([1.0, 4.0]), binary=False)
    assert_close(change.effect(nuisances), [31.0, -11.0], 1e-14)


def test_an_effect_on_a_label_stays_a_difference_of_probabilities():
    nuisances = Nuisances(np.array([0.5, 0.5]), np.array([[0.1, 0.9], [0.9, 0.1]]))
    assert Correction(coefficients=np.array([3.0])).effect(nuisances).tolist() == [1.0, 1.0]
    assert Correction(coefficients=np.array([-3.0])).effect(nuisances).tolist() == [-1.0, -1.0]


@pytest.fixture(scope="module")
def shrunk():
    """Return the paper's world with its true effect, and outcome models that hardly see X."""
    data = make_synthetic(20_000, random_state=2)
    rows = rows_of(data.X, data.y, data.z)
    cross_fit = CrossFit.of(
        rows, outcome_model=LogisticRegression(C=1e-5), propensity_model=EXACT, cv=2
    )
    margin = data.X @ data.coefficients
    truth = 1 / (1 + np.exp(-margin - 1.25)) - 1 / (1 + np.exp(-margin))
    nuisances, models = cross_fit.fit_models()
    return data, truth, nuisances, models, fit_correction(rows, nuisances, 1)


def errors_by_bin(data, effect, truth):
    """Return the mean of effect − truth within fifths of the true propensity."""
    bins = np.digitize(data.propensity, [0.2, 0.4, 0.6, 0.8])
    return np.array([np.mean((effect - truth)[bins == k]) for k in range(5)])


def test_the_correction_mends_the_effect_of_outcome_models_that_hardly_see_x(shrunk):
    data, truth, nuisances, _, correction = shrunk
    raw = errors_by_bin(data, nuisances.effect, truth)
    mended = errors_by_bin(data, correction.effect(nuisances), truth)
    assert abs(raw).min() > 0.08
    assert (abs(mended) < 0.4 * abs(raw)).all()
    assert abs(np.mean(mended)) < 0.1 * abs(np.mean(raw))


def test_rows_the_models_have_not_seen_get_the_same_correction(shrunk):
    _, _, _, models, correction = shrunk
    fresh = make_synthetic(500, random_state=3).X
    nuisances = models.predict(fresh)
    expected = correction.effect(nuisances)
    assert not np.allclose(expected, nuisances.effect)
    means = ConditionalMeans(models, correction).predict(fresh)
    assert_close(means[:, 1] - means[:, 0], expected, 1e-12)
