"""The fair pure premium of a model of claims and a model of their amounts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from .regression import for_exposure
from .training import number_loss_of
from .wrapped_numbers import MarginalizedRegressor


def fair_pure_premium(
    frequency: MarginalizedRegressor,
    severity: MarginalizedRegressor,
    X: Any,
    *,
    exposure: Any = None,
) -> Floats:
    """Return the mean of all claims of a row, averaged over the levels of z.

    ::

        f(X) = Σ_l w_l · N_l(X) · S_l(X)

    N_l is the number of claims in level l of z, and S_l the amount of one. The product of two fair
    models, (Σ_l w_l N_l)·(Σ_l w_l S_l), is not fair: it leaves out that both move with z.

    Parameters
    ----------
    frequency : MarginalizedRegressor
        Fitted on the numbers of claims, per unit of exposure if it was given one.
    severity : MarginalizedRegressor
        Fitted on the amounts of single claims, with the same levels and weights of z.
    X : table of shape (n_samples, n_features)
        Covariates that both models know.
    exposure : column of positive numbers, optional
        Multiplies the premiums, which are per unit of exposure without it.

    Returns
    -------
    array of shape (n_samples,)
        The premiums. They are not brought to a total: to keep it, multiply them by the observed
        total of the amounts over that of these premiums, on the rows of the training.

    Notes
    -----
    The other way is one model of the pure premium itself, such as
    ``FairXGBRegressor(loss="tweedie")``: it is a plain model, and needs no z and one prediction.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    z adds half to the number of claims and .3 to their amount. The mean over z is ½(1 + 1.5·1.3),
    and not the product of the means, 1.25·1.15 = 1.4375:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unsway import MarginalizedRegressor
    >>> X, z = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    >>> claims = MarginalizedRegressor(LinearRegression()).fit(X, 1 + z / 2, sensitive_features=z)
    >>> amount = MarginalizedRegressor(LinearRegression())
    >>> amount = amount.fit(X, 1 + 0.3 * z, sensitive_features=z)
    >>> fair_pure_premium(claims, amount, [[0.0]]).round(6).tolist()
    [1.475]
    """
    for name, model in (("frequency", frequency), ("severity", severity)):
        if not isinstance(model, MarginalizedRegressor):
            raise TypeError(
                f"{name} is a {type(model).__name__}, and the product of two fair means is no fair "
                "pure premium: it leaves out that both move with z. Fit a MarginalizedRegressor "
                "for the claims and one for their amounts, or one model of the pure premium with "
                "loss='tweedie'"
            )
        check_is_fitted(model)
        number_loss_of(model)
    if tuple(frequency.sensitive_levels_) != tuple(severity.sensitive_levels_):
        raise ValueError(
            "frequency and severity were fitted with different levels of z: "
            f"{frequency.sensitive_levels_} and {severity.sensitive_levels_}"
        )
    weights = np.array(frequency.weights_)
    if not np.allclose(weights, severity.weights_):
        raise ValueError(
            "frequency and severity have different weights of the levels of z, "
            f"{_shown(frequency.weights_)} and {_shown(severity.weights_)}; state the same for "
            "both: with 'prevalence' those of the claims differ from those of the policies"
        )
    premiums = (frequency.level_means(X) * severity.level_means(X)) @ weights
    return for_exposure(np.asarray(premiums), exposure)


def _shown(weights: Any) -> str:
    return f"({', '.join(f'{weight:.3f}' for weight in weights)})"
