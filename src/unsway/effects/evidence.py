"""A ridge whose size the residuals decide, and the bounds of corrected means."""

from __future__ import annotations

import numpy as np

from .._typing import Floats

#: Standard deviations that the correction's coefficients may have before the residuals are seen:
#: points of probability for labels, for other outcomes shares of the residual's deviation.
PRIOR_DEVIATIONS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

#: The mean of a count or an amount in one group is at least this share of that in both.
LEAST_SHARE = 0.05

#: Counts and amounts, in units of their mean, have a mean of at least this at any X.
LEAST_MEAN = 1e-3


def expected_coefficients(
    gram: Floats, moments: Floats, variance: float, deviations: Floats
) -> Floats:
    """Return the expected coefficients given the residuals, every prior deviation as likely before.

    With eigenvalues g of the Gram matrix and moments a in its eigenvectors, the coefficients at t
    are at²/(σ² + t²g), and the log-likelihood less that of t = 0 is
    ½ Σ a²t²/(σ²(σ² + t²g)) − ½ Σ log(1 + t²g/σ²).
    """
    if not variance:
        return np.zeros(len(moments))
    values, vectors = np.linalg.eigh(gram)
    turned, ratios = vectors.T @ moments, deviations[:, None] ** 2 / variance
    shrunk = 1 + ratios * np.clip(values, 0, None)
    likelihood = (turned**2 / variance * ratios / shrunk - np.log(shrunk)).sum(axis=1) / 2
    shares = np.exp(likelihood - likelihood.max())
    return np.asarray(vectors @ (shares / shares.sum() @ (turned * ratios / shrunk)))
