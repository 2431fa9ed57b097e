"""From predictions to a verdict, for any model."""

from .audit_result import Audit
from .audits import audit
from .causal import CausalAudit
from .comparisons import Comparison, compare
from .fair_loss import FairLogLoss, fair_log_loss
from .flips import Flips, decision_flips
from .group_curves import GroupCurves, calibration_by_group, roc_by_group
from .group_metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    score_gap,
    selection_rate_difference,
)
from .hiring import HiringTable, hiring_table
from .impact import AdverseImpact, adverse_impact
from .impact_metrics import (
    adverse_impact_ratio,
    approval_rate,
    ks_statistic,
    scoring_rate_ratio,
    selection_shortfall,
    somers_d,
    standardised_mean_difference,
)
from .non_inferiority import NonInferiority
from .number_audits import NumberAudit
from .number_causal import NumberCausal
from .number_metrics import (
    actual_over_expected,
    actual_over_expected_difference,
    deviance_explained,
    gini,
    mean_deviance,
)
from .number_tables import DecileTable, DoubleLift, double_lift
from .swaps import SwapSets, swap_sets
from .tables import Calibration, MetricTable, Table

__all__ = [
    "AdverseImpact",
    "Audit",
    "Calibration",
    "CausalAudit",
    "Comparison",
    "DecileTable",
    "DoubleLift",
    "FairLogLoss",
    "Flips",
    "GroupCurves",
    "HiringTable",
    "MetricTable",
    "NonInferiority",
    "NumberAudit",
    "NumberCausal",
    "SwapSets",
    "Table",
    "actual_over_expected",
    "actual_over_expected_difference",
    "adverse_impact",
    "adverse_impact_ratio",
    "approval_rate",
    "audit",
    "calibration_by_group",
    "compare",
    "decision_flips",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "deviance_explained",
    "double_lift",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "fair_log_loss",
    "gini",
    "hiring_table",
    "ks_statistic",
    "mean_deviance",
    "roc_by_group",
    "score_gap",
    "scoring_rate_ratio",
    "selection_rate_difference",
    "selection_shortfall",
    "somers_d",
    "standardised_mean_difference",
    "swap_sets",
]
