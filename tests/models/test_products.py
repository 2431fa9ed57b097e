"""Products of frequency and severity."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor

from unsway import FairLinearRegressor, MarginalizedRegressor, fair_product
from unsway.groups import Grouping

X, Z = np.tile([[0.0], [1.0]], (200, 1)), np.repeat([0, 1], 200)


def model(values, **options):
    return MarginalizedRegressor(LinearRegression(), **options).fit(X, values, sensitive_features=Z)


def test_the_product_is_averaged_over_the_levels():
    claims, euros = model(1 + X[:, 0] + 0.5 * Z), model(1 + 0.3 * Z)
    fair = fair_product([claims, euros], [[0.0], [1.0]])
    np.testing.assert_allclose(fair, [(1 + 1.5 * 1.3) / 2, (2 + 2.5 * 1.3) / 2])
    both = claims.predict([[0.0]]) * euros.predict([[0.0]])
    assert both.item() == pytest.approx(1.4375)


def test_weights_and_exposure_are_those_of_the_models():
    options = {"weights": (0.25, 0.75)}
    models = [model(1 + 0.5 * Z, **options), model(1 + 0.3 * Z, **options)]
    fair = fair_product(models, [[0.0], [0.0]], exposure=[1, 0.5])
    np.testing.assert_allclose(fair, (0.25 + 0.75 * 1.95) * np.array([1, 0.5]))


def test_a_product_of_generalised_linear_models_has_the_true_mean():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(20_000, 1)), rng.integers(0, 2, 20_000)
    rate, size = np.exp(0.3 * x[:, 0] + 0.4 * z), np.exp(0.1 * x[:, 0] + 0.26 * z)
    claims = MarginalizedRegressor(PoissonRegressor(alpha=0), loss="poisson", rebalance=False)
    claims.fit(x, rng.poisson(rate), sensitive_features=z)
    euros = MarginalizedRegressor(GammaRegressor(alpha=0), loss="gamma", rebalance=False)
    euros.fit(x, size * rng.gamma(2, 0.5, 20_000), sensitive_features=z)
    truth = np.exp(0.4 * x[:5, 0]) * (1 + np.exp(0.66)) / 2
    np.testing.assert_allclose(fair_product([claims, euros], x[:5]), truth, rtol=0.05)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: [model(1 + Z)], "at least two"),
        (lambda: [model(1 + Z), FairLinearRegressor()], "not the fair mean of the product"),
        (lambda: [model(1 + Z), model(1 + Z, weights=(0.2, 0.8))], "other weights"),
        (
            lambda: [
                model(1 + Z),
                MarginalizedRegressor(LinearRegression(), groups=Grouping(reference="a")).fit(
                    X, 1.0 + Z, sensitive_features=np.where(Z, "b", "a")
                ),
            ],
            "different levels",
        ),
    ],
)
def test_what_cannot_be_multiplied_is_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fair_product(make(), X)
