"""Bridges to other tools: types for skops, and audits in MLflow."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from .auditing import Audit
from .extras import load
from .report import write_audit_report

#: What a fitted model of the library may hold: of this package, scikit-learn and the engines. None
#: of them runs code from the file when it is loaded.
_TYPES = {
    "core.schedule": ("Schedule",),
    "criteria.direct_effect": ("DirectEffect",),
    "criteria.fair_target": ("FairTarget",),
    "criteria.group": ("EqualOpportunity", "EqualizedOdds", "Parity"),
    "effects.encoding": ("TableEncoder", "_Numbers"),
    "effects.propensity": ("Propensity",),
    "effects.surrogate": ("ScoreBasis", "Surrogate"),
    "models.corrected": ("DirectEffectCorrector",),
    "models.fair_target": ("FairTargetClassifier",),
    "models.lightgbm": ("FairLGBMClassifier",),
    "models.lightgbm_regressor": ("FairLGBMRegressor",),
    "models.linear": ("FairLinearRegressor",),
    "models.logistic": ("FairLogisticRegression",),
    "models.marginalized": ("MarginalizedClassifier",),
    "models.row_fingerprint": ("RowFingerprint",),
    "models.wrapped_numbers": (
        "FairTargetRegressor",
        "MarginalizedRegressor",
        "TableBoostingRegressor",
    ),
    "models.wrapping": ("TableBoosting",),
    "models.xgboost": ("FairXGBClassifier",),
    "models.xgboost_regressor": ("FairXGBRegressor",),
    "tables": ("EngineTable",),
}
_OTHERS = (
    "lightgbm.basic.Booster",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "xgboost.core.Booster",
)


#: Metrics of an audit that need no threshold.
_METRICS = ("auc", "brier", "log_loss", "score_gap")


def skops_trusted_types() -> list[str]:
    """Return the names of all types that skops finds in a fitted model of this library.

    Give it to `skops.io.load` as ``trusted``, or to `mlflow.sklearn.log_model` as
    ``skops_trusted_types``. It does not include the types of an estimator of your own inside
    `FairTargetClassifier`.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> "unsway.models.logistic.FairLogisticRegression" in skops_trusted_types()
    True
    """
    ours = [f"unsway.{home}.{name}" for home, names in _TYPES.items() for name in names]
    return sorted([*ours, *_OTHERS])


def log_audit(found: Audit, *, name: str = "audit", title: str | None = None) -> None:
    """Log an audit to the active run of MLflow: its main numbers, its JSON and its report.

    The metrics are named ``{name}_auc``, ``{name}_direct_effect_left`` and so on, the tag
    ``{name}_verdict``; the files are ``{name}/audit.json`` and ``{name}/report.html``.

    Parameters
    ----------
    found : Audit
        What `audit` returned.
    name : str, default="audit"
        The start of the names, and the folder of the files.
    title : str, optional
        The title of the report.
    """
    mlflow = load("mlflow", "mlflow")
    mlflow.log_metrics({f"{name}_{key}": value for key, value in _numbers(found).items()})
    mlflow.set_tag(f"{name}_verdict", found.verdict)
    mlflow.log_text(found.to_json(), f"{name}/audit.json")
    with TemporaryDirectory() as folder:
        report = write_audit_report(found, Path(folder) / "report.html", title=title)
        mlflow.log_artifact(str(report), name)


def _numbers(found: Audit) -> dict[str, float]:
    """Return the numbers of an audit that a run is compared by."""
    numbers = {"rows": float(sum(found.n_rows))}
    for key, each in found.metrics.entries.items():
        if key.metric in _METRICS and key.group in ("overall", "between"):
            numbers[key.metric] = float(each.estimate)
    if found.causal is not None:
        left = found.causal.direct_effect_left
        numbers |= {
            "direct_effect_left": left.estimate,
            "direct_effect_left_low": left.low,
            "direct_effect_left_high": left.high,
        }
    return {key: value for key, value in numbers.items() if value == value}  # NaN is no metric
