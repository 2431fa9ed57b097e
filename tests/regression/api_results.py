"""Every call of the library that measures: effects, checks, audits, frontiers and the command line.

As in `api`, a change of names or arguments is made here and nowhere else, and every setting whose
default may change is passed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import unsway
from regression.api import levels, roles
from unsway import effects as effects_module

# --- effects -------------------------------------------------------------------------------------


def methods() -> tuple[str, ...]:
    return tuple(effects_module.METHODS)


def effects(data: Any, y: Any = None, weighted: bool = False, **settings: Any) -> Any:
    """Estimate the effects of z on the labels, or on another outcome."""
    known = {
        "method": "doubly_robust",
        "outcome_model": None,
        "propensity_model": None,
        "cv": 3,
        "clip": 0.01,
        "interval": "influence",
        "confidence": 0.9,
        "n_bootstrap": 6,
        "outcome_degree": 5,
        "effect_degree": 4,
        "basis": "spline",
        "max_extreme_share": 1.0,
        "random_state": 1,
        "n_jobs": 1,
    }
    return unsway.estimate_effects(
        data.X,
        data.y if y is None else y,
        **roles(data, weighted),
        **levels(data),
        **{**known, **settings},
    )


def effect_values(found: Any) -> dict[str, Any]:
    """Return every estimate under the name the library gives it."""
    return {
        "effects": {name: each.to_dict() for name, each in found.estimates().items()},
        "paper": {name: each.to_dict() for name, each in found.as_paper().items()},
        "pearl": {name: each.to_dict() for name, each in found.as_pearl().items()},
        "settings": dict(found.settings),
        "levels": [str(level) for level in found.levels],
    }


def nuisances_of(found: Any) -> dict[str, Any]:
    """Return propensity, both outcome means, and the shares of stacked models."""
    known = found.nuisances
    return {
        "propensity": known.propensity,
        "outcome_reference": known.outcome[:, 0],
        "outcome_group": known.outcome[:, 1],
        "effect": known.effect,
        "mean": known.mean,
        "n_clipped": known.n_clipped,
        "shares": {name: list(each) for name, each in known.shares.items()},
    }


def known_nuisances(propensity: Any, outcome: Any) -> Any:
    return effects_module.Nuisances(propensity, outcome)


def left(found: Any, scores: Any) -> Any:
    """Return the direct effect left, from effects that are known."""
    return found.direct_effect_left(scores)


def direct_effect_left(data: Any, scores: Any) -> Any:
    return unsway.direct_effect_left(
        data.y,
        scores,
        sensitive_features=data.z,
        X=data.X,
        cv=3,
        clip=0.01,
        confidence=0.9,
        max_extreme_share=1.0,
        random_state=1,
        n_jobs=1,
        **levels(data),
    )


def effect_curve(data: Any, weighted: bool = False, **settings: Any) -> dict[str, Any]:
    known = {
        "degree": 4,
        "n_bins": 8,
        "cv": 3,
        "clip": 0.01,
        "confidence": 0.9,
        "n_points": 9,
        "random_state": 1,
    }
    found = unsway.effect_curve(
        data.X, data.y, **roles(data, weighted), **levels(data), **{**known, **settings}
    )
    names = ("b", "estimate", "se", "low", "high", "band_low", "band_high", "factor")
    return {name: getattr(found, name) for name in names}


def surrogate(target: Any, b: Any, z: Any, weights: Any, **settings: Any) -> Any:
    return unsway.fit_surrogate(target, b, z, sample_weight=weights, **settings)


# --- checks --------------------------------------------------------------------------------------


def overlap(data: Any, b: Any, weighted: bool = False) -> Any:
    weights = data.weights if weighted else None
    given = {"sample_weight": weights, **levels(data)}
    return unsway.overlap(b, sensitive_features=data.z, low=0.05, high=0.95, bins=10, **given)


def balance(data: Any, b: Any = None, weighted: bool = False, weights: Any = None) -> Any:
    return unsway.balance(
        data.X,
        sensitive_features=data.z,
        propensity=b,
        weights=weights,
        sample_weight=data.weights if weighted else None,
        **levels(data),
    )


def mean_field(
    data: Any, effect: Any, b: Any, mu0: Any = None, weighted: bool = False, n_bins: int = 6
) -> Any:
    """Return the mean-field check; without μ₀ it is made without the labels."""
    given = (
        {}
        if mu0 is None
        else {"y": data.labels, "sensitive_features": data.z, "mu0": mu0, **levels(data)}
    )
    weights = data.weights if weighted else None
    return unsway.mean_field(
        effect, b, sample_weight=weights, n_bins=n_bins, confidence=0.9, **given
    )


def verdict(seen: Any, balanced: Any, field: Any, **thresholds: Any) -> Any:
    known = {
        "max_extreme_share": 0.25,
        "min_effective_share": 0.1,
        "min_effective_rows": 100.0,
        "max_standardized_difference": 0.1,
        "max_within_spread": 0.2,
    }
    limits = unsway.Thresholds(**{**known, **thresholds})
    return unsway.verdict(seen, balanced, field, thresholds=limits, weighting="overlap")


def sensitivity(data: Any, y: Any = None, weighted: bool = False, **settings: Any) -> Any:
    known = {"benchmarks": None, "strengths": (1.0, 2.0), "q": 1.0, "alpha": 0.1}
    y = data.y if y is None else y
    given = {**roles(data, weighted), **levels(data)}
    return unsway.sensitivity(data.X, y, **given, **{**known, **settings})


def robustness_value(t: float, dof: float, q: float, alpha: float) -> float:
    return effects_module.robustness_value(t, dof, q, alpha)


def e_value(*limits: float, **settings: Any) -> Any:
    return effects_module.e_value(*limits, **settings)


# --- audits --------------------------------------------------------------------------------------


def audit(data: Any, scores: Any, weighted: bool = False, **settings: Any) -> Any:
    """Audit scores; ``with_X=False`` leaves the causal part out."""
    X = data.X if settings.pop("with_X", True) else None
    known = {
        "threshold": [0.3, 0.5],
        "baseline": None,
        "n_bootstrap": 10,
        "confidence": 0.9,
        "calibration_bins": 8,
        "calibration_strategy": "uniform",
        "cv": 3,
        "clip": 0.01,
        "effect_interval": "influence",
        "outcome_degree": 1,
        "effect_degree": 0,
        "max_rows_for_effects": None,
        "random_state": 1,
        "n_jobs": 1,
    }
    weights = data.weights if weighted else None
    given = {"sample_weight": weights, **levels(data)}
    return unsway.audit(
        data.y, scores, sensitive_features=data.z, X=X, **given, **{**known, **settings}
    )


def compare(data: Any, scores: Mapping[str, Any], weighted: bool = False, **settings: Any) -> Any:
    X = data.X if settings.pop("with_X", True) else None
    known = {
        "threshold": [0.3, 0.5],
        "n_bootstrap": 10,
        "confidence": 0.9,
        "calibration_bins": 8,
        "calibration_strategy": "quantile",
        "max_rows_for_effects": None,
        "random_state": 1,
        "n_jobs": 1,
        **({"cv": 3, "clip": 0.01} if X is not None else {}),
    }
    weights = data.weights if weighted else None
    given = {"sample_weight": weights, **levels(data)}
    return unsway.compare(
        data.y, scores, sensitive_features=data.z, X=X, **given, **{**known, **settings}
    )


#: Group metrics by whether they take decisions, and whether they put two rates together.
DECISION_METRICS = (
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
)


def decision_metric(name: str, data: Any, decisions: Any, weighted: bool, **settings: Any) -> float:
    given = roles(data, weighted)
    return getattr(unsway, name)(data.labels.astype(int), decisions, **given, **settings)


def score_metric(name: str, data: Any, scores: Any, weighted: bool, **settings: Any) -> float:
    """Return ``score_gap`` or ``selection_rate_difference``."""
    given = {**roles(data, weighted), **levels(data)}
    return getattr(unsway, name)(data.y, scores, **given, **settings)


# --- frontiers -----------------------------------------------------------------------------------


def effect_options() -> dict[str, Any]:
    return {"cv": 3, "clip": 0.01, "confidence": 0.9, "max_extreme_share": 1.0, "n_jobs": 1}


def frontier(model: Any, data: Any, strengths: Any, weighted: bool = False, **settings: Any) -> Any:
    known = {
        "cv": None,
        "validation_fraction": 0.25,
        "effects": effect_options(),
        "threshold": 0.5,
        "n_jobs": 1,
        "random_state": 0,
    }
    X = settings.pop("X", data.X)
    given = roles(data, weighted)
    return unsway.frontier(model, X, data.y, strengths=strengths, **given, **{**known, **settings})


def load_frontier(folder: Any) -> Any:
    return unsway.Frontier.load(folder)


def seek_strength(model: Any, data: Any, **settings: Any) -> Any:
    known = {
        "max_direct_effect": 0.02,
        "precision": 0.05,
        "validation_fraction": 0.25,
        "effects": effect_options(),
        "random_state": 0,
    }
    X = settings.pop("X", data.X)
    given = roles(data, weighted=False)
    return unsway.seek_strength(model, X, data.y, **given, **{**known, **settings})


# --- the command line ----------------------------------------------------------------------------


def command(folder: Path, *words: Any) -> str:
    """Run ``unsway`` in a folder, and return what it prints."""
    code = "from unsway.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"unsway {' '.join(map(str, words))}: {done.stderr[-1000:]}")
    return done.stdout


def command_json(folder: Path, name: str, *words: Any) -> Any:
    """Run a command that writes JSON, and return what it wrote."""
    command(folder, *words, "--json", name, "--quiet")
    return json.loads((folder / name).read_text("utf-8"))
