"""Data to learn and test with: synthetic worlds that know their own truth, and real tables."""

from unsway.datasets.adult import load_adult
from unsway.datasets.bank import load_bank_marketing
from unsway.datasets.berkeley import load_berkeley
from unsway.datasets.credit import load_give_me_some_credit, load_pakdd
from unsway.datasets.german import load_german
from unsway.datasets.level_worlds import LEVEL_WORLDS, LevelData, make_level_world
from unsway.datasets.motor import load_pg15_motor
from unsway.datasets.synthetic import (
    CLASS_WORLDS,
    NUMBER_WORLDS,
    WORLDS,
    SyntheticData,
    make_synthetic,
    make_world,
)
from unsway.datasets.table import TabularData
from unsway.datasets.truth import TrueEffects

__all__ = [
    "CLASS_WORLDS",
    "LEVEL_WORLDS",
    "NUMBER_WORLDS",
    "WORLDS",
    "LevelData",
    "SyntheticData",
    "TabularData",
    "TrueEffects",
    "load_adult",
    "load_bank_marketing",
    "load_berkeley",
    "load_german",
    "load_give_me_some_credit",
    "load_pakdd",
    "load_pg15_motor",
    "make_level_world",
    "make_synthetic",
    "make_world",
]
