"""What the sensitive attribute does, how surely, and whether the data can tell."""

from .balance import Balance, balance
from .confounding import e_value, robustness_value
from .curve import CURVES, EffectCurve, effect_curve
from .direct_effect_left import direct_effect_left
from .estimate import Estimate
from .estimation import INTERVALS, METHODS, estimate_effects
from .fitting import HERE, Fitting
from .gap_parts import PARTS, GapParts, ScoreCalibration
from .influence import MEANINGS
from .level_effects import LevelEffects
from .mean_field import MeanField, mean_field
from .nuisance import CrossFit, Nuisances, TooFewRowsError
from .overlap import Overlap, overlap
from .propensity import Propensity, warn_about_overlap
from .result import Effects
from .sensitivity import Sensitivity, sensitivity
from .separation import OverlapWarning, refuse_separating_columns, separates
from .surrogate import (
    BASES,
    IllPosedSurrogateError,
    ScoreBasis,
    Surrogate,
    SurrogateDesign,
    fit_surrogate,
)
from .verdict import Thresholds, Verdict, verdict

__all__ = [
    "BASES",
    "CURVES",
    "HERE",
    "INTERVALS",
    "MEANINGS",
    "METHODS",
    "PARTS",
    "Balance",
    "CrossFit",
    "EffectCurve",
    "Effects",
    "Estimate",
    "Fitting",
    "GapParts",
    "IllPosedSurrogateError",
    "LevelEffects",
    "MeanField",
    "Nuisances",
    "Overlap",
    "OverlapWarning",
    "Propensity",
    "ScoreBasis",
    "ScoreCalibration",
    "Sensitivity",
    "Surrogate",
    "SurrogateDesign",
    "Thresholds",
    "TooFewRowsError",
    "Verdict",
    "balance",
    "direct_effect_left",
    "e_value",
    "effect_curve",
    "estimate_effects",
    "fit_surrogate",
    "mean_field",
    "overlap",
    "refuse_separating_columns",
    "robustness_value",
    "sensitivity",
    "separates",
    "verdict",
    "warn_about_overlap",
]
