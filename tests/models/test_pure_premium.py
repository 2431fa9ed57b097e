"""The fair pure premium of two models is the mean over z of a product, and no product of means."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor

from unsway import (
    FairLinearRegressor,
    MarginalizedRegressor,
    fair_pure_premium,
    make_world,
)


@pytest.fixture(scope="module")
def models():
    claims = make_world("claims", 40_000, random_state=0)
    amounts = make_world("severity", 20_000, random_state=1)
    frequency = MarginalizedRegressor(PoissonRegressor(alpha=0, max_iter=500), loss="poisson")
    frequency.fit(claims.X, claims.y, sensitive_features=claims.z, exposure=claims.exposure)
    severity = MarginalizedRegressor(GammaRegressor(alpha=0, max_iter=500), loss="gamma")
    return frequency, severity.fit(amounts.X, amounts.y, sensitive_features=amounts.z)


@pytest.fixture(scope="module")
def new():
    return make_world("pure_premium", 20_000, random_state=2)


def test_premiums_have_the_level_of_the_truth_where_the_product_of_means_is_too_low(models, new):
    frequency, severity = models
    premiums = fair_pure_premium(frequency, severity, new.X)
    product = frequency.level_means(new.X).mean(axis=1) * severity.level_means(new.X).mean(axis=1)
    truth = new.fair_score.mean()
    assert abs(premiums.mean() / truth - 1) < 0.04
    assert product.mean() < 0.99 * premiums.mean()


def test_it_is_the_mean_over_the_levels(models, new):
    frequency, severity = models
    n, s = frequency.level_means(new.X), severity.level_means(new.X)
    expected = (n[:, 0] * s[:, 0] + n[:, 1] * s[:, 1]) / 2
    np.testing.assert_allclose(fair_pure_premium(frequency, severity, new.X), expected)
    half = fair_pure_premium(frequency, severity, new.X, exposure=np.full(len(new.X), 0.5))
    np.testing.assert_allclose(half, expected / 2)


def test_level_means_average_to_the_predictions(models, new):
    frequency, _ = models
    means = frequency.level_means(new.X)
    assert means.shape == (len(new.X), 2)
    np.testing.assert_allclose(means.mean(axis=1) * frequency.balance_, frequency.predict(new.X))


def test_two_fair_models_are_refused_with_both_ways_out(models, new):
    fair = FairLinearRegressor(loss="poisson")
    with pytest.raises(TypeError, match=r"product of two fair means.*Marginalized.*tweedie"):
        fair_pure_premium(fair, models[1], new.X)


def test_other_levels_and_other_weights_are_refused(models, new):
    frequency, _ = models
    amounts = make_world("severity", 2_000, random_state=3)
    other = MarginalizedRegressor(GammaRegressor(), loss="gamma", weights=(0.2, 0.8))
    other.fit(amounts.X, amounts.y, sensitive_features=amounts.z)
    with pytest.raises(ValueError, match=r"\(0\.500, 0\.500\) and \(0\.200, 0\.800\); state"):
        fair_pure_premium(frequency, other, new.X)
    words = MarginalizedRegressor(GammaRegressor(), loss="gamma")
    words.fit(amounts.X, amounts.y, sensitive_features=amounts.z == 1)
    words.sensitive_levels_ = ("f", "m")
    with pytest.raises(ValueError, match="different levels of z"):
        fair_pure_premium(frequency, words, new.X)
