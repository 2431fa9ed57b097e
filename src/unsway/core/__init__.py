"""Pure maths: penalties, the training objective, its curvature, and the training schedule."""

from .curvature import CURVATURES, diagonal
from .objective import LARGEST_MARGIN, Expansion, Losses, Objective, check_strength
from .penalty import FORMS, Distance, Penalty
from .schedule import Run, Schedule, Step, Trainable

__all__ = [
    "CURVATURES",
    "FORMS",
    "LARGEST_MARGIN",
    "Distance",
    "Expansion",
    "Losses",
    "Objective",
    "Penalty",
    "Run",
    "Schedule",
    "Step",
    "Trainable",
    "check_strength",
    "diagonal",
]
