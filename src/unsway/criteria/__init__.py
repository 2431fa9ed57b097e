"""From data to what the scores are held to: a penalty, or fair targets."""

from ..effects import Nuisances, refuse_telling_columns, tells
from .criterion import (
    Criterion,
    FittedCriterion,
    NoCriterion,
    choose_strength,
    fit_criterion,
    needed_criterion,
)
from .direct_effect import BASE_RATES, NORMS, DirectEffect, FittedDirectEffect
from .fair_target import FairTarget, FittedFairTarget
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
    "FittedDirectEffect",
    "FittedFairTarget",
    "GroupCriterion",
    "NoCriterion",
    "Nuisances",
    "Parity",
    "choose_strength",
    "fit_criterion",
    "needed_criterion",
    "refuse_telling_columns",
    "tells",
]
