"""A network of numbers, counts or amounts without the direct effect of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator, RegressorMixin

from ..._typing import Floats
from ...core import Schedule, Step
from ...grouping import Grouping
from ..regression import (
    balance_of,
    balancing_step,
    check_rebalance,
    predict,
    score,
)
from ..row_fingerprint import share_trained_on
from ..summary import summary
from ..training import Part, number_loss_of, prepare, refit
from .network import check_network, encode, module_margins, train_network
from .training import raise_bias


class FairTorchRegressor(RegressorMixin, BaseEstimator):
    """A PyTorch network of numbers, counts or amounts, on fair targets or with a penalty.

    The sensitive attribute is needed in ``fit`` alone. ``module_`` is a plain module in the units
    of y: its outputs are means, or under a log link the logarithms of means. Save it with
    ``torch.save`` and serve it without this library, on the inputs that ``encode`` gives.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, or one fitted, optional
        Fair targets to train on, or a penalty; `FairTarget` by default. Penalties need
        ``loss="squared_error"``.
    strength : float, optional
        λ: the share of the direct effect that fair targets remove, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"
        What y is: any numbers, counts, positive amounts, or totals that may be zero. All but the
        first have a log link.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    rebalance : bool, optional
        Whether predictions are brought to the total of y over the rows of ``fit``. By default those
        of counts and amounts are where the strength is above 0.
    module : torch.nn.Module or callable, optional
        The network, as in `FairTorchClassifier`: it returns one number per row. ``module_`` has a
        layer behind it, which multiplies by the spread of y if there is no log link, and adds what
        brings the outputs to the units of y.
    batch_size, learning_rate, weight_decay, schedule, validation_fraction, device, checkpoint
        As in `FairTorchClassifier`.
    groups, callback, progress, random_state
        As in `FairTorchClassifier`.

    Attributes
    ----------
    module_ : torch.nn.Module
        The best state, an ordinary module.
    balance_ : float or None
        By what predictions were multiplied to keep the total, or for ``loss="squared_error"`` what
        was added; None where they were not rebalanced.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    best_epoch_, n_epochs_, history_, strength_, sensitive_levels_
        As in `FairTorchClassifier`; losses are those of y in units of its mean, or less its mean.

    References
    ----------
    Lindholm, Richman, Tsanakas & Wüthrich (2022), "Discrimination-free insurance pricing", ASTIN
    Bulletin 52(1), 55–89.

    Examples
    --------
    Claims per year, where both X and z add claims. Each group has half of z's effect left:

    >>> import numpy as np
    >>> from unsway import FairTorchRegressor, Schedule
    >>> X = np.tile([[0.0], [1.0]], (4_000, 1))
    >>> z = np.repeat([0, 1], 4_000)
    >>> claims = np.random.default_rng(0).poisson(np.exp(X[:, 0] + z))
    >>> quick = Schedule(patience=2, max_steps=8)
    >>> model = FairTorchRegressor(loss="poisson", rebalance=False, schedule=quick)
    >>> rates = model.fit(X, claims, sensitive_features=z).predict([[0.0], [1.0]])
    >>> bool(np.allclose(rates, [(1 + np.e) / 2, (np.e + np.e**2) / 2], rtol=0.1))
    True
    """

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        loss: str = "squared_error",
        power: float = 1.5,
        rebalance: bool | None = None,
        module: Any = None,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        weight_decay: float = 1.0,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        device: str = "auto",
        checkpoint: str | PathLike[str] | None = None,
        groups: Grouping | None = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.loss = loss
        self.power = power
        self.rebalance = rebalance
        self.module = module
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.device = device
        self.checkpoint = checkpoint
        self.groups = groups
        self.callback = callback
        self.progress = progress
        self.random_state = random_state

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

        The parameters are those of `FairXGBRegressor.fit`.

        Returns
        -------
        self
            The fitted regressor.
        """

        def fit(model: Self) -> None:
            number_loss_of(model)
            check_network(model)
            given = (X, y, sensitive_features, sample_weight, eval_set)
            rebalanced = check_rebalance(model)
            beside = {"exposure": exposure, "adjust_for": adjust_for}
            parts = train_network(model, *prepare(model, *given, model.strength_, **beside))
            _bring_to_units(model, parts if eval_set is None else parts[:1], rebalanced=rebalanced)

        return refit(self, fit)

    def margin(self, X: Any) -> Floats:
        """Return the margin of each row: its mean, or the logarithm of it under a log link."""
        return module_margins(self, self.encode(X))

    encode = encode
    share_trained_on = share_trained_on
    summary = summary
    predict = predict
    score = score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags


def _bring_to_units(
    model: FairTorchRegressor, parts: tuple[Part, ...], *, rebalanced: bool
) -> None:
    """Let the module predict in the user's units, and with the total of y where asked for."""
    loss, step, model.balance_ = number_loss_of(model), parts[0].rows.outcome.offset, None
    if rebalanced:
        raised = balancing_step([(part.rows, module_margins(model, part.rows.X)) for part in parts])
        model.balance_, step = balance_of(raised, loss), step + raised
    raise_bias(model.module_, step)
