"""What the sensitive attribute does: propensity scores and the surrogate of labels or scores."""

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
    "IllPosedSurrogateError",
    "OverlapWarning",
    "Propensity",
    "ScoreBasis",
    "Surrogate",
    "SurrogateDesign",
    "fit_surrogate",
    "warn_about_overlap",
]
