"""What the sensitive attribute does, how surely, and whether the data can tell."""

from .curve import CURVES, EffectCurve, effect_curve
from .decomposition import INTERVALS, METHODS, direct_effect_left, estimate_effects
from .estimates import MEANINGS, Effects
from .intervals import Estimate
from .nuisance import CrossFit, Nuisances
from .overlap import Overlap, overlap
from .propensity import OverlapWarning, Propensity, warn_about_overlap
from .surrogate import (
    BASES,
    IllPosedSurrogateError,
    ScoreBasis,
    Surrogate,
    SurrogateDesign,
    fit_surrogate,
)

__all__ = [
    "BASES",
    "CURVES",
    "INTERVALS",
    "MEANINGS",
    "METHODS",
    "CrossFit",
    "EffectCurve",
    "Effects",
    "Estimate",
    "IllPosedSurrogateError",
    "Nuisances",
    "Overlap",
    "OverlapWarning",
    "Propensity",
    "ScoreBasis",
    "Surrogate",
    "SurrogateDesign",
    "direct_effect_left",
    "effect_curve",
    "estimate_effects",
    "fit_surrogate",
    "overlap",
    "warn_about_overlap",
]
