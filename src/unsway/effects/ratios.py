"""The effects of z on an amount as ratios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats
from ..frames import Tabular
from ..rows import Rows
from .estimate import Estimate
from .influence import Mean

#: What each ratio is, in a few words, in the order of tables.
RATIO_MEANINGS = {
    "total": "mean of z=1 over that of z=0",
    "direct_reference": "direct, on people with z=0",
    "direct_group": "direct, on people with z=1",
    "indirect_reference": "through the covariates, at z=0",
    "indirect_group": "through the covariates, at z=1",
    "explained": "of the fair score, z=1 over z=0",
    "direct_everyone": "direct, over everyone",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class EffectRatios(Tabular):
    """The effects of z as ratios, "z=1 over z=0"; made by `Effects.as_ratios`.

    With m(z,z') = E[ E[y|z,X] | Z=z' ] the total is direct_reference · indirect_group, and
    direct_group · indirect_reference. As a frame it has one row per ratio.

    Parameters
    ----------
    total : Estimate
        m(1,1) / m(0,0).
    direct_reference, direct_group : Estimate
        m(1,0) / m(0,0) and m(1,1) / m(0,1).
    indirect_reference, indirect_group : Estimate
        m(0,1) / m(0,0) and m(1,1) / m(1,0).
    explained : Estimate
        (m(0,1) + m(1,1)) / (m(0,0) + m(1,0)): what a fair score shows.
    direct_everyone : Estimate
        E[ E[y|1,X] ] / E[ E[y|0,X] ] over everyone.
    """

    total: Estimate
    direct_reference: Estimate
    direct_group: Estimate
    indirect_reference: Estimate
    indirect_group: Estimate
    explained: Estimate
    direct_everyone: Estimate

    def estimates(self) -> dict[str, Estimate]:
        """Return the ratios by name."""
        return {name: getattr(self, name) for name in RATIO_MEANINGS}

    def _columns(self) -> Mapping[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "ratio": [*RATIO_MEANINGS],
            "meaning": [*RATIO_MEANINGS.values()],
        }
        for part in ("estimate", "se", "low", "high"):
            columns[part] = [getattr(each, part) for each in self.estimates().values()]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the ratios by name, ready for JSON."""
        return {name: each.to_dict() for name, each in self.estimates().items()}

    def __repr__(self) -> str:
        lines = [f"{'':<20}{'ratio':>9}{'se':>9}{'low':>9}{'high':>9}"]
        for name, each in self.estimates().items():
            numbers = "".join(f"{value:>9.4f}" for value in each.to_dict().values())
            lines.append(f"{name:<20}{numbers}   {RATIO_MEANINGS[name]}")
        return "\n".join(lines)


def effect_ratios(effects: Mapping[str, Mean], rows: Rows, confidence: float) -> EffectRatios:
    """Return the ratios of the four means m(z,z') behind the effects; see `Effects.as_ratios`."""
    weights = rows.mean_one_weights
    m00 = Mean.average(rows.y, weights * (1 - rows.z))
    m11, m10 = m00 + effects["total"], m00 + effects["direct_reference"]
    m01 = m11 - effects["direct_group"]
    for mean in (m00, m01, m10, m11):
        if not mean.value > 0:
            raise ValueError(
                f"a mean behind the effects is {mean.value:.4g}; ratios need means above 0"
            )
    ones = Mean.average(rows.z, weights)
    zeros = Mean(1 - ones.value, -ones.influence)
    pairs = {
        "total": (m11, m00),
        "direct_reference": (m10, m00),
        "direct_group": (m11, m01),
        "indirect_reference": (m01, m00),
        "indirect_group": (m11, m10),
        "explained": (m01 + m11, m00 + m10),
        "direct_everyone": (m10.times(zeros) + m11.times(ones), m00.times(zeros) + m01.times(ones)),
    }
    found = {name: _ratio(*pair, confidence) for name, pair in pairs.items()}
    return EffectRatios(**found)


def _ratio(above: Mean, below: Mean, confidence: float) -> Estimate:
    """Return a ratio; its interval is symmetric on the log scale."""
    log = Mean(
        float(np.log(above.value / below.value)),
        _relative(above) - _relative(below),
        above.clusters,
    )
    ends = log.interval(confidence)
    ratio = float(np.exp(log.value))
    return Estimate(ratio, ratio * log.se, float(np.exp(ends.low)), float(np.exp(ends.high)))


def _relative(mean: Mean) -> Floats:
    return mean.influence / mean.value
