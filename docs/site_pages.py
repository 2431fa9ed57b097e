"""Pages of the site that come from the package itself: the API by task, and the benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import unsway

#: Task → the public names for it, in the order of the page.
TASKS: dict[str, tuple[str, ...]] = {
    "Train a classifier": (
        "FairXGBClassifier", "FairLGBMClassifier", "FairLogisticRegression",
        "FairTorchClassifier", "FairTargetClassifier",
    ),
    "Train on counts, amounts and other numbers": (
        "FairXGBRegressor", "FairLGBMRegressor", "FairLinearRegressor", "FairTargetRegressor",
        "FairTorchRegressor",
    ),
    "Choose what is removed": (
        "FairTarget", "DirectEffect", "Parity", "EqualOpportunity", "EqualizedOdds", "Grouping",
        "Schedule", "Propensity",
    ),
    "Other ways to a fair score": (
        "MarginalizedClassifier", "MarginalizedRegressor", "DirectEffectCorrector",
        "fair_pure_premium",
    ),
    "Estimate effects": (
        "estimate_effects", "Effects", "Estimate", "effect_curve", "direct_effect_left",
        "LevelEffects", "LevelsLeft", "LevelParts", "fit_surrogate",
    ),
    "Check what the data can tell": (
        "overlap", "balance", "mean_field", "sensitivity", "verdict", "Thresholds",
        "OverlapWarning",
    ),
    "Judge a model": (
        "audit", "Audit", "LevelAudit", "LevelComparison", "compare", "Comparison", "fair_log_loss",
        "FairLogLoss", "score_gap",
        "selection_rate_difference", "demographic_parity_difference", "demographic_parity_ratio",
        "equal_opportunity_difference", "equal_opportunity_ratio", "equalized_odds_difference",
        "equalized_odds_ratio", "adverse_impact", "AdverseImpact", "hiring_table",
        "calibration_by_group", "roc_by_group", "decision_flips", "swap_sets",
    ),
    "Judge predictions of numbers": (
        "actual_over_expected", "actual_over_expected_difference", "double_lift", "gini",
        "mean_deviance", "deviance_explained",
    ),
    "Compare strengths": ("frontier", "Frontier", "seek_strength"),
    "Search for alternatives": (
        "search_alternatives", "Alternatives", "Stopping", "write_alternatives_report",
    ),
    "Explain a score": ("reasons", "contributions", "points_table"),
    "Show the results": (
        "write_audit_report", "write_frontier_report", "ShowProgress",
    ),
    "Save, load and hand over": ("save_model", "load_model", "skops_trusted_types", "log_audit"),
    "Train on large data": ("FairDaskXGBClassifier", "FairDaskXGBRegressor"),
    "Write your own training loop": (
        "Objective", "Penalty", "Rows", "FairLoss", "fair_loss", "FairJaxLoss",
        "xgboost_objective", "lightgbm_objective",
    ),
    "Test against a known truth": ("make_world", "make_synthetic"),
}  # fmt: skip

_HEAD = """# API by task

Every public name, to be imported from `unsway`. {doc}`modules` documents the modules behind them.
"""
_TASK = """
## {task}

```{{eval-rst}}
.. currentmodule:: unsway

.. autosummary::
   :toctree: generated
   :nosignatures:

{names}
```
"""


def unlisted() -> list[str]:
    """Return the public names that no task has."""
    listed = {name for names in TASKS.values() for name in names}
    return sorted(set(unsway.__all__) - listed)


def api_page() -> str:
    """Return the page of all public names by task; those without a task come last."""
    tasks = {**TASKS, **({"Others": tuple(unlisted())} if unlisted() else {})}
    parts = [
        _TASK.format(task=task, names="\n".join(f"   {name}" for name in names))
        for task, names in tasks.items()
    ]
    return _HEAD + "".join(parts)


def modules_page(text: str) -> str:
    """Return the page of modules from ``api.md``; the index has each object by its public name."""
    text = text.replace("# API\n", "# Modules\n", 1)
    return re.sub(r"^(\.\. auto\w+:: .*)$", r"\1\n   :no-index:", text, flags=re.MULTILINE)


def benchmark_page(path: Path) -> str:
    """Return the last result of a benchmark, as its script wrote it, without links to files."""
    text = path.read_text("utf-8")
    return re.sub(r"\[([^\]]*)\]\((?!https?:|[\w.]+\.md\))[^)]*\)", r"\1", text)


def write_pages(docs: Path) -> None:
    """Write the pages where they differ from what is there."""
    reference = docs / "reference"
    pages = {
        reference / "names.md": api_page(),
        reference / "modules.md": modules_page((docs / "api.md").read_text("utf-8")),
    }
    results = sorted((docs.parent / "benchmarks").glob("*.md"))
    for each in results:
        if each.name != "README.md":
            pages[docs / "evidence" / "results" / each.name] = benchmark_page(each)
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
