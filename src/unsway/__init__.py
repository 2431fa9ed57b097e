"""Train models without the direct effect of a sensitive attribute.

The public names live here; an engine is imported when its first name is used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

#: Public name → the module that defines it.
_HOMES = {
    "Audit": "auditing",
    "AdverseImpact": "auditing",
    "Comparison": "auditing",
    "FairLogLoss": "auditing",
    "actual_over_expected": "auditing",
    "actual_over_expected_difference": "auditing",
    "deviance_explained": "auditing",
    "double_lift": "auditing",
    "gini": "auditing",
    "mean_deviance": "auditing",
    "LevelAudit": "auditing.level_audit",
    "LevelComparison": "auditing.level_comparison",
    "LevelParts": "effects.level_parts",
    "LevelsLeft": "effects.level_left",
    "audit": "auditing.audits",
    "adverse_impact": "auditing.impact",
    "compare": "auditing",
    "decision_flips": "auditing",
    "swap_sets": "auditing",
    "demographic_parity_difference": "auditing",
    "demographic_parity_ratio": "auditing",
    "equal_opportunity_difference": "auditing",
    "equal_opportunity_ratio": "auditing",
    "equalized_odds_difference": "auditing",
    "equalized_odds_ratio": "auditing",
    "calibration_by_group": "auditing",
    "fair_log_loss": "auditing",
    "Grouping": "grouping",
    "log_audit": "interop",
    "skops_trusted_types": "interop",
    "ShowProgress": "progress",
    "hiring_table": "auditing",
    "roc_by_group": "auditing",
    "Rows": "rows",
    "DirectEffect": "criteria",
    "EqualOpportunity": "criteria",
    "EqualizedOdds": "criteria",
    "FairTarget": "criteria",
    "Parity": "criteria",
    "Objective": "core",
    "Penalty": "core",
    "Schedule": "core",
    "Effects": "effects",
    "LevelEffects": "effects",
    "Estimate": "effects",
    "OverlapWarning": "effects",
    "Propensity": "effects",
    "Thresholds": "effects",
    "balance": "effects",
    "direct_effect_left": "effects",
    "effect_curve": "effects",
    "estimate_effects": "effects",
    "estimate_effects_parquet": "models.parquet_effects",
    "fit_surrogate": "effects",
    "mean_field": "effects",
    "overlap": "effects",
    "sensitivity": "effects",
    "verdict": "effects",
    "DirectEffectCorrector": "models.corrected",
    "FairLGBMClassifier": "models.lightgbm",
    "FairLGBMRegressor": "models.lightgbm_regressor",
    "FairJaxLoss": "models.jax",
    "FairLinearRegressor": "models.linear",
    "FairLogisticRegression": "models.logistic",
    "FairLoss": "models.torch",
    "FairTargetClassifier": "models.fair_target",
    "FairTargetRegressor": "models.wrapped_numbers",
    "fair_pure_premium": "models.pure_premium",
    "FairTorchClassifier": "models.torch",
    "FairTorchRegressor": "models.torch",
    "FairXGBClassifier": "models.xgboost",
    "FairXGBRegressor": "models.xgboost_regressor",
    "MarginalizedClassifier": "models.marginalized",
    "MarginalizedRegressor": "models.wrapped_numbers",
    "fair_loss": "models.jax",
    "load_model": "models.folder",
    "save_model": "models.folder",
    "lightgbm_objective": "models.objectives",
    "contributions": "models.reasons",
    "points_table": "models.points",
    "reasons": "models.reasons",
    "xgboost_objective": "models.objectives",
    "FairDaskXGBClassifier": "distributed.dask",
    "FairDaskXGBRegressor": "distributed.dask_regressor",
    "Frontier": "sweeps.result",
    "Alternatives": "sweeps.alternatives_result",
    "Stopping": "sweeps.stopping",
    "frontier": "sweeps.sweep",
    "search_alternatives": "sweeps.alternatives",
    "seek_strength": "sweeps.search",
    "score_gap": "auditing.group_metrics",
    "selection_rate_difference": "auditing.group_metrics",
    "write_alternatives_report": "report",
    "write_audit_report": "report",
    "write_frontier_report": "report",
    "make_synthetic": "datasets",
    "make_world": "datasets",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unsway' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
