"""Boosted trees of counts and amounts, whatever engine grows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from .._typing import Floats, Reduce
from ..core import Schedule, Step
from ..core.arrays import on_host
from ..grouping import Grouping
from ..outcome import Outcome
from ..tables import CodedTable
from .boosting import (
    check_booster,
    importances,
    margins_of,
    prepare_booster,
    start,
    train_booster,
)
from .engine import BoosterSettings, Engine, params_of, refuse_unknown, without_unknown
from .regression import (
    balance_of,
    balancing_step,
    check_rebalance,
    predict,
    score,
)
from .row_fingerprint import share_trained_on
from .summary import summary
from .training import Part, number_loss_of, refit


class BoostedRegressor(RegressorMixin, BaseEstimator):
    """Boosted trees of numbers on fair targets, or with a penalty to minimise.

    See `FairXGBRegressor` for the parameters; ``engine`` says how trees are grown.
    """

    engine: ClassVar[Engine]

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
        **unknown: Any,
    ) -> None:
        refuse_unknown(self, unknown)
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

    #: What tools see: `refuse_unknown` answers what is none of these.
    __signature__ = without_unknown(__init__)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        adjust_for: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on covariates X, numbers y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Covariates, without the sensitive attribute; with NaN and categories as they are.
        y : column of length n_samples
            Numbers; with an exposure the totals of it, such as claims in the time insured.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        exposure : column of positive numbers, optional
            The model is of y per unit of it, and rows weigh by it.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.
        eval_set : tuple (X, y, sensitive_features[, sample_weight[, exposure]])
            Rows to stop early by; a part of the training rows by default.

        Returns
        -------
        self
            The fitted regressor.
        """

        def fit(model: Self) -> None:
            number_loss_of(model)
            _check_device(model)
            check_booster(model)
            given = (X, y, sensitive_features, sample_weight, eval_set)
            check_rebalance(model)
            beside = {"exposure": exposure, "adjust_for": adjust_for}
            parts = prepare_booster(model, *given, model.strength_, **beside)
            train_regressor(model, parts, held_out=eval_set is None)

        return refit(self, fit)

    def margin(self, X: Any) -> Floats:
        """Return the margin of each row: its mean, or the logarithm of it under a log link."""
        return margins_of(self, X)

    share_trained_on = share_trained_on
    summary = summary
    predict = predict
    score = score

    feature_importances_ = property(importances)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags


def _check_device(model: BoostedRegressor) -> None:
    params = params_of(model)
    device = str(params.get("device", "cpu")) if isinstance(params, Mapping) else "cpu"
    known = model.engine.number_devices
    if device.partition(":")[0] not in known:
        raise ValueError(
            f"params['device'] is {device!r}; {model.engine.name} trains numbers on "
            f"{' or '.join(known)}"
        )


def train_regressor(model: BoostedRegressor, parts: tuple[Part, Part], *, held_out: bool) -> None:
    """Train on prepared rows, and bring what comes out to the user's units and the total of y.

    Parameters
    ----------
    model : BoostedRegressor
        With its strength noted on it.
    parts : pair of Part
        Rows to train on, and rows to stop by.
    held_out : bool
        Whether the latter were given to ``fit`` too, and so count in the total.
    """
    train_booster(model, start(model, *parts))
    balanced = parts if held_out else parts[:1]
    given = balanced if check_rebalance(model) else None
    bring_to_units(model, parts[0].rows.outcome, given)


def bring_to_units(
    model: BoostedRegressor,
    outcome: Outcome,
    parts: Sequence[Any] | None,
    *,
    margin: Callable[[Any], Floats] | None = None,
    reduce: Reduce | None = None,
) -> None:
    """Let the booster predict in the user's units, and with the total of y where asked for.

    Parameters
    ----------
    model : BoostedRegressor
        With its booster.
    outcome : Outcome
        Has the units.
    parts : sequence of Part, optional
        The rows whose total predictions are to have; none where they are not rebalanced.
    margin : callable, optional
        Returns the booster's margins of the rows of a part; by default they are in memory.
    reduce : callable, optional
        Sums over the workers that share the rows.
    """
    loss, own = number_loss_of(model), BoosterSettings.of(model).own_objective
    step, model.balance_ = 0.0 if own else outcome.offset, None

    def in_memory(X: CodedTable) -> Floats:
        table = CodedTable(on_host(X.matrix), X.layout)  # the finished booster is one for the CPU
        margin = model.engine.margin(model.booster_, table, model.n_jobs)
        return np.asarray(margin, dtype=np.float64)

    if parts is not None:
        offset, find = outcome.offset if own else 0.0, margin or in_memory
        margins = [(part.rows, find(part.rows.X) - offset) for part in parts]
        raised = balancing_step(margins, reduce)
        model.balance_, step = balance_of(raised, loss), step + raised
    if step:
        model.booster_ = model.engine.raise_margin(model.booster_, step, loss)
