"""Counts and amounts to test regressors by, with an effect of z of its own."""

from __future__ import annotations

import numpy as np
import pytest

LOSSES = ("squared_error", "poisson", "gamma", "tweedie")
LOG_LINK = LOSSES[1:]
POWERS = {"squared_error": 0, "poisson": 1, "gamma": 2, "tweedie": 1.5}

each_loss = pytest.mark.parametrize("loss", LOSSES)
each_log_link = pytest.mark.parametrize("loss", LOG_LINK)


def people(loss, n=4_000, seed=0, unit=1.0):
    """Return covariates, outcomes, z and exposures, where z has an effect of its own."""
    rng = np.random.default_rng([seed, 1])
    z = rng.integers(0, 2, n)
    X = np.column_stack([rng.normal(0.5 * z, 0.5), rng.normal(size=n) / 2])
    mean, exposure = np.exp(X @ [0.4, -0.3] + 0.4 * z), rng.uniform(0.2, 2, n)
    y = {
        "squared_error": lambda: mean + rng.normal(size=n),
        "poisson": lambda: rng.poisson(exposure * mean).astype(float),
        "gamma": lambda: exposure * mean * rng.gamma(2, 0.5, n),
        "tweedie": lambda: exposure * mean * rng.gamma(2, 1, n) * rng.integers(0, 2, n),
    }[loss]()
    return X, unit * y, z, exposure
