"""Many strengths of one estimator: their measures, and the choice of one."""

from .alternatives import search_alternatives
from .alternatives_result import Alternatives
from .candidate import Candidate
from .finalists import Judged
from .measures import MEASURES, PARTS, Point
from .result import Choice, Frontier
from .search import Found, seek_strength
from .space import Space
from .stopping import Stopping
from .store import Store
from .sweep import frontier

__all__ = [
    "MEASURES",
    "PARTS",
    "Alternatives",
    "Candidate",
    "Choice",
    "Found",
    "Frontier",
    "Judged",
    "Point",
    "Space",
    "Stopping",
    "Store",
    "frontier",
    "search_alternatives",
    "seek_strength",
]
