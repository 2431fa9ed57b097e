"""From predictions to a verdict, for any model."""

from .metrics import score_gap, selection_rate_difference

__all__ = ["score_gap", "selection_rate_difference"]
