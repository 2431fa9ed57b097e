"""What boosting libraries call the losses of numbers, and how their models are brought to units."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import Loss
from ..outcome import Outcome
from .engine import BoosterSettings

#: Parameters of XGBoost and LightGBM with a unit, and its power: y and y squared.
XGBOOST_UNITS: Mapping[str, int] = {
    **dict.fromkeys(("alpha", "reg_alpha", "max_delta_step"), 1),
    **dict.fromkeys(("gamma", "min_split_loss"), 2),
}
LIGHTGBM_UNITS: Mapping[str, int] = {
    **dict.fromkeys(("lambda_l1", "reg_alpha", "l1_regularization"), 1),
    **dict.fromkeys(("max_delta_step", "max_tree_output", "max_leaf_output"), 1),
    **dict.fromkeys(("min_gain_to_split", "min_split_gain"), 2),
}

_XGBOOST_NAMES = {
    "squared_error": "reg:squarederror",
    "poisson": "count:poisson",
    "gamma": "reg:gamma",
    "tweedie": "reg:tweedie",
}
_LIGHTGBM_NAMES = {**{name: name for name in _XGBOOST_NAMES}, "squared_error": "regression"}
_STEPS = ("max_delta_step", "max_tree_output", "max_leaf_output")


def xgboost_objective_of(settings: BoosterSettings) -> dict[str, Any]:
    """Return XGBoost's objective and what belongs to it.

    Its own objective starts from the mean of y. By derivatives of ours training starts from a
    margin of 0, and under a log link steps are capped.
    """
    loss = settings.loss
    if settings.n_classes:
        many = {"objective": "multi:softprob", "num_class": settings.n_classes}
        return {**many, "base_score": 0.0}
    if loss is None:
        return {"objective": "binary:logistic", "base_score": 0.5}
    params: dict[str, Any] = {"objective": _XGBOOST_NAMES[loss.name]}
    if loss.name == "tweedie":
        params["tweedie_variance_power"] = loss.power  # type: ignore[attr-defined]
    if settings.own_objective:
        return params
    return {**params, **_cap(settings), "base_score": 1.0 if loss.link == "log" else 0.0}


def start_of_counts(settings: BoosterSettings, outcome: Outcome, version: str) -> dict[str, float]:
    """Return where XGBoost 2 is to start its own model of counts: at their mean, as XGBoost 3 does.

    By itself it starts near the exponential of the mean, which is infinite from a mean of 200 on.
    """
    counts = settings.own_objective and outcome.loss.name == "poisson"
    if not counts or not version.startswith("2."):
        return {}
    return {"base_score": float(np.exp(outcome.offset))}


def lightgbm_objective_of(settings: BoosterSettings) -> dict[str, Any]:
    """Return LightGBM's objective and what belongs to it; "none" where derivatives are ours."""
    if settings.n_classes:
        return {"objective": "none", "num_class": settings.n_classes}
    if settings.loss is None or not settings.own_objective:
        return {"objective": "none", **_cap(settings)}
    params = {"objective": _LIGHTGBM_NAMES[settings.loss.name]}
    if settings.loss.name == "tweedie":
        params["tweedie_variance_power"] = settings.loss.power  # type: ignore[attr-defined]
    return params


def lightgbm_name(settings: BoosterSettings) -> str:
    """Return what LightGBM's model file calls the objective."""
    if settings.n_classes:
        return lightgbm_class_name(settings.n_classes)
    return "binary sigmoid:1" if settings.loss is None else _LIGHTGBM_NAMES[settings.loss.name]


def lightgbm_class_name(n_classes: int) -> str:
    """Return what LightGBM's model file calls the objective of several classes."""
    return f"multiclass num_class:{n_classes}"


def objective_name(engine: str, loss: Loss) -> str:
    """Return what the model files of an engine call the objective of a loss of numbers.

    Examples
    --------
    >>> from unsway.core import Poisson
    >>> objective_name("xgboost", Poisson()), objective_name("lightgbm", Poisson())
    ('count:poisson', 'poisson')
    """
    return (_XGBOOST_NAMES if engine == "xgboost" else _LIGHTGBM_NAMES)[loss.name]


def _cap(settings: BoosterSettings) -> dict[str, Any]:
    """Return the largest step of a tree, unless the user has set one."""
    loss = settings.loss
    if loss is None or not np.isfinite(loss.largest_step):
        return {}
    return {} if set(_STEPS) & set(settings.params) else {"max_delta_step": loss.largest_step}


def base_margin(booster: Any, loss: Loss) -> float:
    """Return the margin from which an XGBoost model of numbers starts."""
    learner = json.loads(booster.save_config())["learner"]
    before = float(learner["learner_model_param"]["base_score"].strip("[]"))
    return float(np.log(before)) if loss.link == "log" else before


def raise_base_score(booster: Any, step: float, loss: Loss) -> Any:
    """Return an XGBoost model whose margins are higher by a step everywhere.

    XGBoost keeps where it starts as a mean, not as a margin.
    """
    model = json.loads(booster.save_raw(raw_format="json"))
    sizes = model["learner"]["learner_model_param"]
    before = float(sizes["base_score"].strip("[]"))
    after = before * np.exp(step) if loss.link == "log" else before + step
    # The digits of single precision: XGBoost 2 takes 0.5 in place of a number with more of them.
    shown = np.format_float_scientific(np.float32(after), trim="-", exp_digits=1)
    shown = shown.replace("e+", "E").replace("e", "E")
    sizes["base_score"] = f"[{shown}]" if sizes["base_score"].startswith("[") else shown
    booster.load_model(bytearray(json.dumps(model).encode()))
    return booster


def raise_first_tree(model: str, step: float) -> str:
    r"""Return the text of a LightGBM model with a step added to each leaf of its first tree.

    Examples
    --------
    >>> print(raise_first_tree("Tree=0\nleaf_value=1 -1\n\nTree=1\nleaf_value=1\n", 0.5))
    Tree=0
    leaf_value=1.5 -0.5
    <BLANKLINE>
    Tree=1
    leaf_value=1
    <BLANKLINE>
    """

    def raised(found: re.Match[str]) -> str:
        values = " ".join(repr(float(value) + step) for value in found[2].split(" "))
        return f"{found[1]}={values}"

    head, mark, rest = model.partition("Tree=0\n")
    first, other, last = rest.partition("\nTree=1\n")
    changed = re.sub(r"^(leaf_value|leaf_const|internal_value)=(\S.*)$", raised, first, flags=re.M)
    # the sizes of the trees are only needed to read them in parallel
    head = re.sub(r"\ntree_sizes=[^\n]*", "", head)
    return head + mark + changed + other + last
