"""Train models without the direct effect of a sensitive attribute.

The public names live here; an engine is imported when its first name is used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .audit.audit import audit as audit  # type checkers would take the rooms of these names
    from .frontier.sweep import frontier as frontier

__version__ = "0.1.0"

#: Public name → the module that defines it.
_HOMES = {
    "Audit": "audit",
    "Comparison": "audit",
    "audit": "audit.audit",
    "compare": "audit",
    "demographic_parity_difference": "audit",
    "demographic_parity_ratio": "audit",
    "equal_opportunity_difference": "audit",
    "equal_opportunity_ratio": "audit",
    "equalized_odds_difference": "audit",
    "equalized_odds_ratio": "audit",
    "DirectEffect": "criteria",
    "EqualOpportunity": "criteria",
    "EqualizedOdds": "criteria",
    "FairTarget": "criteria",
    "Parity": "criteria",
    "Objective": "core",
    "Penalty": "core",
    "Schedule": "core",
    "Effects": "effects",
    "Estimate": "effects",
    "OverlapWarning": "effects",
    "Propensity": "effects",
    "Thresholds": "effects",
    "balance": "effects",
    "direct_effect_left": "effects",
    "effect_curve": "effects",
    "estimate_effects": "effects",
    "fit_surrogate": "effects",
    "mean_field": "effects",
    "overlap": "effects",
    "sensitivity": "effects",
    "verdict": "effects",
    "DirectEffectCorrector": "models.corrected",
    "FairLGBMClassifier": "models.lightgbm",
    "FairJaxLoss": "models.jax",
    "FairLogisticRegression": "models.logistic",
    "FairLoss": "models.torch",
    "FairTargetClassifier": "models.fair_target",
    "FairTorchClassifier": "models.torch",
    "FairXGBClassifier": "models.xgboost",
    "MarginalizedClassifier": "models.marginalized",
    "fair_loss": "models.jax",
    "lightgbm_objective": "models.lightgbm",
    "xgboost_objective": "models.xgboost",
    "FairDaskXGBClassifier": "distributed.dask",
    "Frontier": "frontier.result",
    "frontier": "frontier.sweep",
    "seek_strength": "frontier.seek",
    "score_gap": "audit.metrics",
    "selection_rate_difference": "audit.metrics",
    "write_audit_report": "report",
    "write_frontier_report": "report",
    "make_synthetic": "datasets",
    "make_world": "datasets",
}

__all__ = sorted(_HOMES)


class _Package(ModuleType):
    """The package, in which a public name is never the room that shares it.

    Python binds a room to its name here once it is loaded, which would hide `audit` and `frontier`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unsway' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
