"""Many strengths of one estimator: what fairness costs, and which model to take."""

from .measures import MEASURES, PARTS, Point
from .result import Choice, Frontier
from .search import Found, seek_strength
from .store import Store
from .sweep import frontier

__all__ = [
    "MEASURES",
    "PARTS",
    "Choice",
    "Found",
    "Frontier",
    "Point",
    "Store",
    "frontier",
    "seek_strength",
]
