"""LightGBM of counts and amounts without the direct effect of a sensitive attribute."""

from __future__ import annotations

from .boosted_regressor import BoostedRegressor
from .lightgbm import LIGHTGBM


class FairLGBMRegressor(BoostedRegressor):
    """LightGBM of numbers, counts or amounts, trained on fair targets or with a penalty.

    The sensitive attribute is needed in ``fit`` alone. ``booster_`` is LightGBM's own model in the
    units of y, with the objective ``regression``, ``poisson``, ``gamma`` or ``tweedie``: save it
    with ``booster_.save_model`` and serve it without this library.

    Parameters
    ----------
    criterion, strength, loss, power, rebalance
        As in `FairXGBRegressor`; LightGBM trains the propensity and outcome models of fair targets,
        and at strength 0 by its own objective.
    params : dict, optional
        Parameters of LightGBM, as in `FairLGBMClassifier`. Above strength 0 they act on y in units
        of its mean under a log link, and those with a unit (``lambda_l1``, ``min_gain_to_split``,
        ``max_delta_step``) on y in standard deviations otherwise.
    schedule, validation_fraction, curvature, groups, callback, progress
        As in `FairLGBMClassifier`.
    random_state, n_jobs
        As in `FairLGBMClassifier`.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The best state, an ordinary model.
    balance_, n_features_in_, feature_names_in_, feature_importances_
        As in `FairXGBRegressor`.
    params_, best_iteration_, n_rounds_, kept_, evals_result_, strength_, sensitive_levels_
        As in `FairXGBRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[0.0], [1.0]], (4_000, 1))
    >>> z = np.repeat([0, 1], 4_000)
    >>> claims = np.random.default_rng(0).poisson(np.exp(X[:, 0] + z))
    >>> model = FairLGBMRegressor(loss="poisson", rebalance=False, n_jobs=1)
    >>> rates = model.fit(X, claims, sensitive_features=z).predict([[0.0], [1.0]])
    >>> bool(np.allclose(rates, [(1 + np.e) / 2, (np.e + np.e**2) / 2], rtol=0.03))
    True
    """

    engine = LIGHTGBM
