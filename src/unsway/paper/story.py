"""Four models on the synthetic data: blind, parity, direct effect and fair target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import DirectEffect, FairLogisticRegression, FairTarget, Parity, make_synthetic
from ..core import check_strength
from ..datasets import SyntheticData, TrueEffects
from .synthetic import measure


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One model and its figures on fresh rows.

    ``direct_effect_left`` is the gap of the scores minus the gap that fair covariates explain;
    ``distance_to_fair`` the root mean square distance to the true fair score.
    """

    model: str
    accuracy: float
    spd: float
    gap: float
    direct_effect_left: float
    distance_to_fair: float
    safe: float
    indirect: float
    proxy: float


@dataclass(frozen=True, kw_only=True)
class Story:
    """The four models, and the truth they are judged by."""

    chapters: tuple[Chapter, ...]
    effects: TrueEffects
    n_samples: int
    strength: float


def tell_story(
    *,
    n_samples: int = 50_000,
    strength: float = 0.9,
    random_state: int = 0,
    on_model: Callable[[str], None] | None = None,
) -> Story:
    """Train the four models on the paper's synthetic data and judge them on fresh rows.

    Parameters
    ----------
    n_samples : int, default=50_000
        Rows to train on, and as many to judge by.
    strength : float, default=0.9
        λ of both penalties.
    random_state : int, default=0
        Seed of the rows.
    on_model : callable, default=None
        Called with the name of each model when it is trained.

    Returns
    -------
    Story
    """
    check_strength(strength)
    train, test = (make_synthetic(n_samples, random_state=2 * random_state + k) for k in (0, 1))
    models = {
        "blind": FairLogisticRegression(Parity(), strength=0),
        "parity": FairLogisticRegression(Parity(), strength=strength),
        "direct effect": FairLogisticRegression(DirectEffect(), strength=strength),
        "fair target": FairLogisticRegression(FairTarget()),
    }
    chapters = []
    for name, model in models.items():
        model.fit(train.X, train.y, sensitive_features=train.z)
        chapters.append(_judge(name, model, test))
        if on_model is not None:
            on_model(name)
    return Story(
        chapters=tuple(chapters), effects=train.effects, n_samples=n_samples, strength=strength
    )


def _judge(name: str, model: Any, test: SyntheticData) -> Chapter:
    p = model.predict_proba(test.X)[:, 1]
    found = measure(p, model, test)
    return Chapter(
        model=name,
        direct_effect_left=found["gap"] - test.effects.explained,
        distance_to_fair=float(np.sqrt(np.mean((p - test.fair_score) ** 2))),
        **found,
    )
