"""The same training where the rows are spread over processes and machines."""

from .collective import Collective
from .nuisances import NuisanceSettings
from .rows import Part
from .tracker import start_tracker, together
from .worker import Communication, Faults, fit_here

__all__ = [
    "Collective",
    "Communication",
    "Faults",
    "NuisanceSettings",
    "Part",
    "fit_here",
    "start_tracker",
    "together",
]
