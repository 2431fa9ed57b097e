"""From predictions to a verdict, for any model."""

from .audits import Audit, audit
from .causal import CausalAudit
from .comparisons import Comparison, compare
from .fair_loss import FairLogLoss, fair_log_loss
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
from .number_metrics import (
    actual_over_expected,
    actual_over_expected_difference,
    deviance_explained,
    gini,
    mean_deviance,
)
from .number_tables import DecileTable, DoubleLift, double_lift
from .tables import Calibration, MetricTable, Table

__all__ = [
    "Audit",
    "Calibration",
    "CausalAudit",
    "Comparison",
    "DecileTable",
    "DoubleLift",
    "FairLogLoss",
    "MetricTable",
    "Table",
    "actual_over_expected",
    "actual_over_expected_difference",
    "audit",
    "compare",
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
    "mean_deviance",
    "score_gap",
    "selection_rate_difference",
]
