"""PyTorch: a loss for your own training loop, a classifier and a regressor."""

from .classifier import FairTorchClassifier
from .loss import FairLoss
from .regressor import FairTorchRegressor

__all__ = ["FairLoss", "FairTorchClassifier", "FairTorchRegressor"]
