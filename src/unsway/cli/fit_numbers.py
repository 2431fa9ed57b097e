"""``unsway fit --loss``: models of counts and amounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from .. import FairLGBMRegressor, FairLinearRegressor, FairXGBRegressor
from ..criteria import choose_strength
from ..models.boosting import check_booster
from ..models.folder import TrainingRoles
from ..models.logistic import check_regression
from ..models.training import number_loss_of

#: Engine → its regressor.
REGRESSORS: dict[str, Any] = {
    "linear": FairLinearRegressor,
    "xgboost": FairXGBRegressor,
    "lightgbm": FairLGBMRegressor,
}
#: What a linear model lets a user set by --param.
LINEAR_PARAMS = ("fit_intercept", "l2", "max_iter", "rebalance", "tol")
#: Metric of a part of the rows → its line in the printed table, and its format.
NUMBER_METRICS = {
    "rows": ("rows", ","),
    "exposure": ("{exposure}", ",.6g"),
    "z1": ("{sensitive} = {group} (z = 1)", ","),
    "z0": ("{sensitive} = {reference} (z = 0)", ","),
    "mean_outcome": ("mean of {unit}", ",.5g"),
    "mean_score": ("mean prediction", ",.5g"),
    "actual_over_expected": ("actual over expected", ".4f"),
    "deviance": ("mean {loss} deviance", ",.5g"),
    "deviance_explained": ("share of the deviance explained", ".4f"),
    "rmse": ("root mean squared error", ",.5g"),
    "gini": ("Gini coefficient", ".4f"),
    "penalty": ("penalty", ",.5g"),
    "fair_loss": ("loss against the fair targets", ",.5g"),
    "outcome_gap": ("gap of the target, z = 1 over z = 0", "+,.5g"),
    "score_gap": ("gap of the predictions, z = 1 over z = 0", "+,.5g"),
    "outcome_spread": ("largest gap of the target between two levels", ",.5g"),
    "score_spread": ("largest gap of the predictions between two levels", ",.5g"),
}


def make_regressor(
    criterion: Any, *, engine: str, params: Sequence[tuple[str, Any]], random_state: int,
    threads: int | None, strength: float | None, loss: str, power: float | None,
) -> Any:  # fmt: skip
    """Return an unfitted regressor whose settings are checked."""
    if engine not in REGRESSORS:
        raise click.UsageError(
            "--engine logistic is for labels; counts and amounts have --engine linear, xgboost or "
            "lightgbm"
        )
    given: dict[str, Any] = {"criterion": criterion, "loss": loss}
    given["strength"] = choose_strength(criterion, strength)
    given |= {} if power is None else {"power": power}
    if engine != "linear":
        given |= {"params": dict(params) or None, "random_state": random_state, "n_jobs": threads}
        booster = REGRESSORS[engine](**given)
        number_loss_of(booster)
        check_booster(booster)
        return booster
    for each, _ in params:
        if each not in LINEAR_PARAMS:
            raise click.UsageError(
                f"--param: a linear model has no {each!r}; it takes {', '.join(LINEAR_PARAMS)}"
            )
    model = FairLinearRegressor(**given, **dict(params))
    check_regression(model)
    return model


def number_figures(found: Mapping[str, float], loss: str) -> dict[str, float]:
    """Return the figures of a card and a printed table, in their order."""
    named = {**found, "fair_loss": found.get(f"fair_{loss}")}
    return {name: named[name] for name in NUMBER_METRICS if named.get(name) is not None}  # type: ignore[misc]


def number_names(roles: TrainingRoles, loss: str) -> dict[str, str]:
    """Return what stands in the braces of `NUMBER_METRICS`."""
    unit = str(roles.target) + (f" per {roles.exposure}" if roles.exposure else "")
    exposure = roles.exposure or roles.weights or "weight"
    return {"unit": unit, "exposure": str(exposure), "loss": loss.replace("_", " ")}


def balance_line(model: Any) -> str:
    """Return a sentence on the total of a regressor's predictions."""
    if model.balance_ is None:
        return "The total of the predictions is as training left it."
    how = f"raised by {model.balance_:.6g}"
    if model.loss != "squared_error":
        how = f"multiplied by {model.balance_:.6g}"
    return f"Predictions were {how} to keep the target's total over these rows."
