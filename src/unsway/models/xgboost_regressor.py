"""XGBoost of counts and amounts without the direct effect of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from .boosted_regressor import BoostedRegressor
from .training import number_loss_of, refit
from .xgboost import XGBOOST


class FairXGBRegressor(BoostedRegressor):
    """XGBoost of numbers, counts or amounts, trained on fair targets or with a penalty.

    The sensitive attribute is needed in ``fit`` alone. ``booster_`` is XGBoost's own model in the
    units of y, with the objective ``reg:squarederror``, ``count:poisson``, ``reg:gamma`` or
    ``reg:tweedie``: save it with ``booster_.save_model`` and serve it without this library.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, or one fitted
        What the model is trained on or held to; by default `FairTarget`, whose propensity and
        outcome models XGBoost trains and which may ask for a second model (its ``smoothing``).
        Penalties need ``loss="squared_error"``.
    strength : float, optional
        λ: the share of the direct effect that fair targets take out, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default. At 0 the model is that of
        XGBoost's own objective on y as it is.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is: any numbers, counts, positive amounts, or totals that may be zero. All but the
        first have a log link.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    params : dict, optional
        Parameters of XGBoost, as in `FairXGBClassifier`. Above strength 0 they act on y in units of
        its mean under a log link, and those with a unit (``alpha``, ``gamma``, ``max_delta_step``)
        on y in standard deviations otherwise; ``max_delta_step`` is .7 under a log link unless it
        is given. ``device="cuda"`` keeps rows, margins and the objective on that device.
    schedule, validation_fraction, curvature, groups, callback, progress
        As in `FairXGBClassifier`.
    random_state, n_jobs
        As in `FairXGBClassifier`.
    rebalance : bool, optional
        Whether predictions are brought to the total of y over the rows of ``fit``. By default those
        of counts and amounts are where the strength is above 0.

    Attributes
    ----------
    booster_ : xgboost.Booster
        The best state, an ordinary model.
    balance_ : float or None
        By what predictions were multiplied to keep the total, or for ``loss="squared_error"`` what
        was added; None where they were not rebalanced.
    n_features_in_, feature_names_in_, feature_importances_
        As in scikit-learn.
    params_, best_iteration_, n_rounds_, kept_, evals_result_, strength_, sensitive_levels_
        As in `FairXGBClassifier`; losses are those of y in units of its mean, or less its mean.

    Notes
    -----
    The product of a fair model of the number of claims and one of their amounts is no fair pure
    premium: it leaves out that both move with z. Train on the pure premium (``loss="tweedie"``), or
    see `fair_pure_premium`.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    Claims per year, where both X and z add claims. Each group has half of z's effect left:

    >>> import numpy as np
    >>> X = np.tile([[0.0], [1.0]], (4_000, 1))
    >>> z = np.repeat([0, 1], 4_000)
    >>> claims = np.random.default_rng(0).poisson(np.exp(X[:, 0] + z))
    >>> model = FairXGBRegressor(loss="poisson", rebalance=False, n_jobs=1)
    >>> rates = model.fit(X, claims, sensitive_features=z).predict([[0.0], [1.0]])
    >>> bool(np.allclose(rates, [(1 + np.e) / 2, (np.e + np.e**2) / 2], rtol=0.03))
    True
    """

    engine = XGBOOST

    def fit_parquet(
        self,
        files: Any,
        *,
        target: str,
        sensitive: str,
        sample_weight: str | None = None,
        exposure: str | None = None,
        drop: Sequence[str] = (),
        criterion_rows: int = 1_000_000,
        folder: Any = None,
    ) -> Self:
        """Fit on Parquet files that need not fit in memory, as `FairXGBClassifier.fit_parquet`.

        The mean of the numbers, by which they are brought to their units, and the total that
        predictions keep are those of all rows.

        Parameters
        ----------
        files : path or sequence of paths
            Parquet files of the same columns; a folder stands for those in it.
        target : str
            The column of the numbers; with an exposure the totals of it.
        sensitive, sample_weight : str
            The columns of the sensitive attribute and of the weights.
        exposure : str, optional
            The column of the exposure: the model is of the target per unit of it, and rows weigh by
            it.
        drop : sequence of str
            Columns to leave out.
        criterion_rows : int, default=1_000_000
            The most rows that a criterion's models are fitted on.
        folder : path, optional
            Where the objective's columns are written while training lasts; the system's temporary
            folder by default.

        Returns
        -------
        self
            The fitted regressor.
        """
        from .external import fit_parquet

        def fit(model: Self) -> None:
            number_loss_of(model)
            fit_parquet(
                model, files, target=target, sensitive=sensitive, sample_weight=sample_weight,
                exposure=exposure, drop=drop, criterion_rows=criterion_rows, folder=folder,
            )  # fmt: skip

        return refit(self, fit)
