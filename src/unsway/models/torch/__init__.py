"""Networks trained with PyTorch: a loss for one's own loop, and a classifier."""

from .classifier import FairTorchClassifier
from .loss import FairLoss

__all__ = ["FairLoss", "FairTorchClassifier"]
