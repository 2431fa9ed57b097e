"""Data to learn and test with; the synthetic worlds know their own truth."""

from unsway.datasets.synthetic import (
    WORLDS,
    SyntheticData,
    TrueEffects,
    make_synthetic,
    make_world,
)

__all__ = ["WORLDS", "SyntheticData", "TrueEffects", "make_synthetic", "make_world"]
