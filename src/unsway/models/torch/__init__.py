"""PyTorch: a loss for your own training loop, and a classifier."""

from .classifier import FairTorchClassifier
from .loss import FairLoss

__all__ = ["FairLoss", "FairTorchClassifier"]
