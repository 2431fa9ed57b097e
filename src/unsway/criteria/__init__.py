"""From data to a penalty: what the scores are held to."""

from .criterion import Criterion, FittedCriterion, fit_criterion
from .direct_effect import NORMS, DirectEffect, FittedDirectEffect
from .group import EqualizedOdds, EqualOpportunity, GroupCriterion, Parity

__all__ = [
    "NORMS",
    "Criterion",
    "DirectEffect",
    "EqualOpportunity",
    "EqualizedOdds",
    "FittedCriterion",
    "FittedDirectEffect",
    "GroupCriterion",
    "Parity",
    "fit_criterion",
]
