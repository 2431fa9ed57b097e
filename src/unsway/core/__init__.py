"""Pure maths: losses, penalties, the training objective, its curvature, and the schedule."""

from .curvature import CURVATURES, diagonal
from .loss import LogLoss, Loss, SquaredError
from .objective import Expansion, Losses, Objective, check_strength
from .penalty import FORMS, Distance, Penalty
from .schedule import Run, Schedule, Step, Trainable

__all__ = [
    "CURVATURES",
    "FORMS",
    "Distance",
    "Expansion",
    "LogLoss",
    "Loss",
    "Losses",
    "Objective",
    "Penalty",
    "Run",
    "Schedule",
    "SquaredError",
    "Step",
    "Trainable",
    "check_strength",
    "diagonal",
]
