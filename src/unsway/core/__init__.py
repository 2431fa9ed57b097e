"""Pure maths: losses, penalties, the training objective, its curvature, and the schedule."""

from .curvature import CURVATURES, diagonal
from .log_link import Gamma, Poisson, Tweedie
from .loss import LogLoss, Loss, SquaredError
from .multinomial import MultinomialLogLoss
from .objective import Expansion, Losses, Objective, check_strength
from .penalty import FORMS, Distance, Penalty
from .schedule import Run, Schedule, Step, Trainable

__all__ = [
    "CURVATURES",
    "FORMS",
    "Distance",
    "Expansion",
    "Gamma",
    "LogLoss",
    "Loss",
    "Losses",
    "MultinomialLogLoss",
    "Objective",
    "Penalty",
    "Poisson",
    "Run",
    "Schedule",
    "SquaredError",
    "Step",
    "Trainable",
    "Tweedie",
    "check_strength",
    "diagonal",
]
