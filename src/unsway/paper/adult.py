"""The paper's second experiment: income on UCI Adult, the sensitive attribute being sex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import DirectEffect
from ..datasets import load_adult
from .claims import Claim
from .tabular import TabularExperiment, run_tabular

#: The paper's degrees, and the two-sided norm with an outcome curve that can bend.
SETTINGS = {
    "paper (1,1)": DirectEffect(1, 1, form="interval"),
    "function norm (2,1)": DirectEffect(2, 1, norm="function"),
}

#: What the paper reports at λ = 0 and λ = .975: accuracy, SPD.
_PAPER = {"logistic": ((0.82, 0.09), (0.81, 0.07)), "xgboost": ((0.85, 0.10), (0.83, 0.06))}


def run_adult(**options: Any) -> TabularExperiment:
    """Sweep both settings on the official split; options are those of `run_tabular`."""
    return run_tabular(load_adult("train"), load_adult("test"), settings=SETTINGS, **options)


def adult_claims(experiment: TabularExperiment) -> Iterator[Claim]:
    """Yield the paper's figures and those found, for its own setting."""
    for (engine, setting), points in experiment.lines().items():
        if not setting.startswith("paper"):
            continue
        for point, (accuracy, spd) in zip((points[0], points[-1]), _PAPER[engine], strict=True):
            stated = {0: points[0], 0.975: points[-1]}.get(point.strength) is point
            close = abs(point.accuracy - accuracy) <= 0.015 and abs(point.spd - spd) <= 0.025
            yield Claim(
                f"{engine}, λ={point.strength:g}: accuracy, SPD",
                f"{accuracy:.2f}, {spd:.2f}" if stated else "–",
                f"{point.accuracy:.3f}, {point.spd:.3f}",
                close if stated else None,
            )
