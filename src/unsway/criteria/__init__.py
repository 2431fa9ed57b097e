"""From data to what the scores are held to: a penalty, or fair targets."""

from .criterion import Criterion, FittedCriterion, Plain, choose_strength, fit_criterion
from .direct_effect import BASE_RATES, NORMS, DirectEffect
from .fair_target import FairTarget
from .group import EqualizedOdds, EqualOpportunity, GroupCriterion, Parity

__all__ = [
    "BASE_RATES",
    "NORMS",
    "Criterion",
    "DirectEffect",
    "EqualOpportunity",
    "EqualizedOdds",
    "FairTarget",
    "FittedCriterion",
    "GroupCriterion",
    "Parity",
    "Plain",
    "choose_strength",
    "fit_criterion",
]
