"""Many strengths of one estimator: their measures, and the choice of one."""

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
