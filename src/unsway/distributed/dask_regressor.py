"""Numbers, counts and amounts in Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from ..core import Schedule, Step
from ..grouping import Grouping
from ..models.regression import check_rebalance
from ..models.training import number_loss_of
from ..models.xgboost_regressor import FairXGBRegressor
from .dask import DaskBooster, given_to_stop_by, predict_lazily
from .nuisances import NuisanceSettings


class FairDaskXGBRegressor(DaskBooster):
    """`FairXGBRegressor` on Dask collections, whose partitions stay on their workers.

    Each worker with a partition runs one task under XGBoost's collective, as in
    `FairDaskXGBClassifier`. The mean of y, by which numbers are brought to their units, and the
    total that predictions keep are those of all rows. ``booster_`` is an ordinary XGBoost model in
    the units of y.

    Parameters
    ----------
    criterion, strength, loss, power, params, schedule, curvature, rebalance, groups, random_state
        As in `FairXGBRegressor`, with the same defaults.
    validation_fraction : float, default=0.33
        As there; the hold-out is chosen by a hash of each row, so that the share is not exact.
    callback, progress, n_jobs, nuisances, checkpoint, checkpoint_every, max_restarts, client
        As in `FairDaskXGBClassifier`.

    Attributes
    ----------
    booster_, balance_, n_features_in_, feature_names_in_, feature_importances_
        As in `FairXGBRegressor`.
    best_iteration_, n_rounds_, evals_result_, strength_, sensitive_levels_
        As there, too.
    model_ : FairXGBRegressor
        The same model without Dask, for tables in memory; its ``predict`` takes an ``exposure``.
    n_rows_, n_workers_, communication_, n_restarts_, resumed_at_
        As in `FairDaskXGBClassifier`.

    Examples
    --------
    >>> FairDaskXGBRegressor(loss="poisson")
    FairDaskXGBRegressor(loss='poisson')
    """

    plain = FairXGBRegressor

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        loss: str = "squared_error",
        power: float = 1.5,
        params: dict[str, Any] | None = None,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        curvature: str = "adaptive",
        rebalance: bool | None = None,
        groups: Grouping | None = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
        nuisances: NuisanceSettings | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 10,
        max_restarts: int = 3,
        client: Any = None,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.loss = loss
        self.power = power
        self.params = params
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.curvature = curvature
        self.rebalance = rebalance
        self.groups = groups
        self.callback = callback
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.nuisances = nuisances
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.max_restarts = max_restarts
        self.client = client

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on Dask collections with the same partitions.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Covariates, without the sensitive attribute.
        y : dask Series, DataFrame of one column, or Array
            Numbers; with an exposure the totals of it, such as claims in the time insured.
        sensitive_features : dask Series, DataFrame of one column, or Array
            The sensitive attribute, two levels.
        sample_weight : dask Series, DataFrame of one column, or Array, optional
            Weights of the rows.
        exposure : dask Series, DataFrame of one column, or Array, optional
            Positive numbers: the model is of y per unit of it, and rows weigh by it.
        eval_set : tuple (X, y, sensitive_features[, sample_weight[, exposure]]), optional
            Collections to stop early by; by default a part of the training rows.

        Returns
        -------
        self
            The fitted regressor.
        """
        number_loss_of(self)
        check_rebalance(self)
        given = X, y, sensitive_features, sample_weight, exposure
        other = given_to_stop_by(eval_set, 5)
        self._train(_with_weights(given), None if other is None else _with_weights(other))
        return self

    def predict(self, X: Any) -> Any:
        """Return the mean of each row per unit of exposure, lazily for a collection."""
        return predict_lazily(X, self, "predict")

    def margin(self, X: Any) -> Any:
        """Return the margin of each row, lazily for a collection."""
        return predict_lazily(X, self, "margin")


def _with_weights(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the collections with weights of 1 where there is an exposure alone."""
    *roles, weights, exposure = given
    if weights is None and exposure is not None and hasattr(exposure, "to_delayed"):
        weights = exposure * 0 + 1
    return (*roles, weights, exposure)
