"""Every call of the library that trains or transforms: one function per kind of call.

The cases call the library through these functions alone. Where a name, a parameter or the order of
arguments changes, it is changed here or in the other `api_` files. Every setting whose default may
change is passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import unsway
import unsway.core
from regression.api_criteria import CRITERIA as CRITERIA
from regression.api_criteria import direct_effect as direct_effect
from regression.api_criteria import exact_criteria as exact_criteria
from regression.api_criteria import fair_target as fair_target
from regression.api_criteria import fitted as fitted
from regression.api_criteria import linear_model as linear_model
from regression.api_criteria import objective_of as objective_of
from regression.api_criteria import propensity as propensity
from regression.api_criteria import strengths_of as strengths_of
from unsway import datasets

# --- data ----------------------------------------------------------------------------------------


def synthetic_world(world: str, n_rows: int, *, seed: int) -> Any:
    return unsway.make_world(world, n_rows, random_state=seed)


def world_names() -> tuple[str, ...]:
    return tuple(datasets.WORLDS)


def paper_world(n_rows: int, *, seed: int) -> Any:
    return unsway.make_synthetic(n_rows, random_state=seed)


def adult_table(split: str = "train", features: str = "paper") -> Any:
    return datasets.load_adult(split, features=features)


def german_table(sensitive: str, age_threshold: float) -> Any:
    return datasets.load_german(sensitive, age_threshold=age_threshold)


def berkeley_table() -> Any:
    return datasets.load_berkeley()


# --- roles ---------------------------------------------------------------------------------------


def levels(data: Any) -> dict[str, Any]:
    """Return the setting that says which level of z is compared with the other."""
    if data.positive is None:
        return {}
    other = next(level for level in np.unique(data.z).tolist() if level != data.positive)
    return {"groups": unsway.Grouping(reference=other)}


def roles(data: Any, weighted: bool) -> dict[str, Any]:
    """Return the columns beside X and y, as ``fit`` takes them."""
    weights = data.weights if weighted else None
    return {"sensitive_features": data.z, "sample_weight": weights}


# --- core ----------------------------------------------------------------------------------------


def penalty(matrix: Any, forms: list[str], targets: Any) -> Any:
    names = tuple(f"statistic_{k}" for k in range(len(forms)))
    distance = unsway.core.Distance.of(forms, np.asarray(targets))
    return unsway.Penalty(np.asarray(matrix), distance, names=names)


def objective(
    held_to: Any, y: Any, strength: float, sample_weight: Any = None, shift: Any = None
) -> Any:
    """Return an objective; without a penalty it has a shift."""
    return unsway.Objective(
        unsway.core.LogLoss(),
        y,
        penalty=held_to,
        shift=shift,
        strength=strength,
        sample_weight=sample_weight,
    )


def expansion(of: Any, margin: Any) -> dict[str, Any]:
    """Return an objective to second order: losses, statistics, gradient and what curves it."""
    found = of.expand(margin)
    names = ("statistics", "gradient", "utility_curvature", "bend", "density", "stiffness")
    return {
        "value": float(of.value(margin)),
        "utility": found.losses.utility,
        "penalty": found.losses.penalty,
        **{name: getattr(found, name) for name in names},
    }


def curvature(of: Any, margin: Any, kind: str, learning_rate: float) -> Any:
    return unsway.core.diagonal(of, of.expand(margin), kind, learning_rate)


def schedule(**settings: Any) -> Any:
    known = {
        "pretrain_strength": 0.3,
        "pretrain_patience": 3,
        "ramp_steps": 8,
        "patience": 6,
        "max_steps": 40,
        "min_improvement": 0.0,
    }
    return unsway.Schedule(**{**known, **settings})


def losses(utility: float, fairness: float) -> Any:
    return unsway.core.Losses(utility, fairness)


# --- estimators ----------------------------------------------------------------------------------


def logistic(criterion: Any, strength: float, data: Any, **settings: Any) -> Any:
    known = {
        "l2": 1e-2,
        "fit_intercept": True,
        "tol": 1e-9,
        "max_iter": 200,
        "warm_start": False,
        **levels(data),
    }
    return unsway.FairLogisticRegression(criterion, strength, **{**known, **settings})


def booster(engine: str, criterion: Any, strength: float, data: Any, **settings: Any) -> Any:
    """Return an XGBoost or a LightGBM classifier."""
    classes = {"xgboost": unsway.FairXGBClassifier, "lightgbm": unsway.FairLGBMClassifier}
    return classes[engine](
        criterion, strength, **{**_boosting_settings(), **levels(data), **settings}
    )


def _boosting_settings() -> dict[str, Any]:
    return {
        "params": {"max_depth": 3, "learning_rate": 0.2},
        "schedule": schedule(),
        "validation_fraction": 0.33,
        "curvature": "adaptive",
        "random_state": 0,
        "n_jobs": 1,
    }


def dask_booster(criterion: Any, strength: float, data: Any, client: Any) -> Any:
    return unsway.FairDaskXGBClassifier(
        criterion,
        strength,
        **_boosting_settings(),
        **levels(data),
        nuisances=nuisance_settings(),
        client=client,
    )


def nuisance_settings() -> Any:
    from unsway.distributed import NuisanceSettings

    return NuisanceSettings(n_rounds=20, params={}, linear=True, propensity="linear")


def fit_here(model: Any, data: Any, weighted: bool, port: int) -> Any:
    """Fit as the only process of a collective."""
    from unsway.distributed import Part, fit_here, together

    weights = data.weights if weighted else None
    with together(0, 1, "127.0.0.1", port):
        part = Part(data.X, data.labels, data.codes, weights)
        return fit_here(model, part, nuisances=nuisance_settings())


def torch_classifier(criterion: Any, strength: float, data: Any, **settings: Any) -> Any:
    known = {
        "module": None,
        "batch_size": 128,
        "learning_rate": 0.01,
        "weight_decay": 0.1,
        "schedule": schedule(ramp_steps=3, patience=3, pretrain_patience=2, max_steps=9),
        "validation_fraction": 0.33,
        "device": "cpu",
        "random_state": 0,
        **levels(data),
    }
    return unsway.FairTorchClassifier(criterion, strength, **{**known, **settings})


def torch_loss(criterion: Any, strength: float, data: Any, weighted: bool) -> Any:
    given = {"X": data.matrix, "y": data.y, **roles(data, weighted), **levels(data)}
    return unsway.FairLoss(criterion, strength, **given)


def torch_stream_loss(criterion: Any, strength: float, memory: int) -> Any:
    return unsway.FairLoss(criterion, strength, memory=memory)


def jax_loss(criterion: Any, strength: float, data: Any, weighted: bool) -> Any:
    given = {**roles(data, weighted), **levels(data)}
    return unsway.fair_loss(criterion, data.matrix, data.y, strength=strength, **given)


def fair_target_classifier(model: Any, criterion: Any, strength: float, data: Any) -> Any:
    return unsway.FairTargetClassifier(
        model, criterion=criterion, strength=strength, **levels(data)
    )


def marginalized(model: Any, weights: Any, learner: str, data: Any) -> Any:
    return unsway.MarginalizedClassifier(model, weights=weights, learner=learner, **levels(data))


def corrector(model: Any, criterion: Any, strength: float, calibrate: bool, data: Any) -> Any:
    return unsway.DirectEffectCorrector(
        model,
        criterion=criterion,
        strength=strength,
        calibrate=calibrate,
        max_clipped_share=1.0,
        **levels(data),
    )


def fit(model: Any, data: Any, weighted: bool = False, X: Any = None, **more: Any) -> Any:
    """Fit any estimator, on X as it is or on another table of the same rows."""
    return model.fit(data.X if X is None else X, data.y, **roles(data, weighted), **more)


def eval_set(data: Any, weighted: bool) -> tuple[Any, ...]:
    """Return other rows to stop early by, or to judge by."""
    given = (data.X, data.y, data.z)
    return (*given, data.weights) if weighted else given


def fit_path(
    model: Any, data: Any, strengths: Any, weighted: bool = False, X: Any = None
) -> Iterator[Any]:
    X = data.X if X is None else X
    yield from model.fit_path(X, data.y, strengths, **roles(data, weighted))


def fit_parquet(model: Any, files: Any, columns: Mapping[str, Any], criterion_rows: int) -> Any:
    return model.fit_parquet(files, criterion_rows=criterion_rows, **columns)


def engine_objective(
    engine: str, criterion: Any, data: Any, weighted: bool, strength: float, kind: str
) -> Any:
    makers = {"xgboost": unsway.xgboost_objective, "lightgbm": unsway.lightgbm_objective}
    return makers[engine](
        criterion,
        data.X,
        data.y,
        **roles(data, weighted),
        **levels(data),
        strength=strength,
        learning_rate=0.2,
        curvature=kind,
    )


def save_model(model: Any, folder: Any) -> Any:
    from unsway.models.folder import save_model

    return save_model(model, folder)


def load_model(folder: Any) -> Any:
    from unsway.models.folder import load_model

    return load_model(folder)
