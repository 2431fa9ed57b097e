"""The effects of the sensitive attribute as a result to read, plot and hand on."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import read_column
from ..frames import make_frame
from .influence import EFFECTS, Mean
from .intervals import Estimate, resample
from .nuisance import Nuisances
from .overlap import Overlap

#: What each effect is, in a few words.
MEANINGS = {
    "ATE": "whole difference between the groups",
    "D0": "direct, on people with z=0",
    "D1": "direct, on people with z=1",
    "d0": "through the covariates, at z=0",
    "d1": "through the covariates, at z=1",
    "symNIE": "through the covariates, mean of d0 and d1",
    "E_CDE": "direct, mean over everyone",
    "overlap_weighted": "direct, where the groups overlap",
}


@dataclass(frozen=True, repr=False, eq=False)
class Effects:
    """The effects of z on an outcome, "z=1 minus z=0", each with its uncertainty.

    The whole difference splits in two ways: ATE = D0 + d1 = D1 + d0.

    Parameters
    ----------
    ATE : Estimate
        E[y|z=1] − E[y|z=0].
    D0, D1 : Estimate
        Natural direct effects on the z=0 and the z=1 population: what changing z alone does.
    d0, d1 : Estimate
        Natural indirect effects: what the other group's covariates do, z held at 0 and at 1.
    symNIE : Estimate
        ½(d0 + d1), the difference a fair score shows.
    E_CDE : Estimate
        The direct effect averaged over everyone.
    overlap_weighted : Estimate
        The direct effect averaged with weights b(1−b): on people who could be of either group.
    levels : tuple
        What z = 0 and z = 1 stand for.
    overlap : Overlap
        Whether the groups can be compared.
    nuisances : Nuisances
        The cross-fitted models' predictions.
    settings : mapping
        How the estimates were made.
    """

    ATE: Estimate
    D0: Estimate
    D1: Estimate
    d0: Estimate
    d1: Estimate
    symNIE: Estimate
    E_CDE: Estimate
    overlap_weighted: Estimate
    levels: tuple[Any, ...]
    overlap: Overlap
    nuisances: Nuisances
    settings: Mapping[str, Any]
    _explained: Mean = field(repr=False)
    _z: Floats = field(repr=False)
    _weights: Floats = field(repr=False)
    _replicates: Floats | None = field(repr=False)

    def estimates(self) -> dict[str, Estimate]:
        """Return the effects by name."""
        return {name: getattr(self, name) for name in EFFECTS}

    def as_paper(self) -> dict[str, Estimate]:
        """Return the effects with the signs of Di Stefano et al. (2020).

        ATE = NIE(1) − NDE(0) = NDE(1) − NIE(0), which holds for the second line of their equation
        for the NDE; the first has the opposite sign.
        """
        return {
            "ATE": self.ATE,
            "NDE(0)": -self.D0,
            "NDE(1)": self.D1,
            "NIE(0)": -self.d0,
            "NIE(1)": self.d1,
        }

    def as_pearl(self) -> dict[str, Estimate]:
        """Return the effects with the signs of Pearl (2001): NDE(z) and NIE(z) start from z.

        The total effect is NDE(0) − NIE(1), and NIE(0) − NDE(1).
        """
        return {
            "TE": self.ATE,
            "NDE(0)": self.D0,
            "NDE(1)": -self.D1,
            "NIE(0)": self.d0,
            "NIE(1)": -self.d1,
        }

    def direct_effect_left(self, scores: Any) -> Estimate:
        """Return gap(p) − symNIE for a model's scores of the same rows: what z still does directly.

        The interval carries the uncertainty of the scores' gap and of symNIE together. The effects
        must be those on the labels, not on scores.

        Examples
        --------
        >>> from unsway import estimate_effects, make_world
        >>> people = make_world("no_direct_effect", 2000, random_state=0)
        >>> effects = estimate_effects(
        ...     people.X, people.y, sensitive_features=people.z, max_extreme_share=1
        ... )
        >>> left = effects.direct_effect_left(people.fair_score)
        >>> left.low < 0 < left.high
        True
        """
        p, _ = read_column(scores, "scores")
        if p.dtype.kind not in "biuf":
            raise TypeError("scores must hold numbers")
        if len(p) != len(self._z):
            raise ValueError(
                f"scores has {len(p)} rows but the effects were estimated on {len(self._z)}; score "
                "the same rows"
            )
        p = p.astype(np.float64)
        left = _gap(p, self._z, self._weights) - self._explained
        se = left.se
        if self._replicates is not None:
            gaps = [
                _gap(p[rows], self._z[rows], self._weights[rows]).value
                for rows in (
                    resample(self._z, self.settings["random_state"], k)
                    for k in range(len(self._replicates))
                )
            ]
            explained = self._replicates[:, EFFECTS.index("symNIE")]
            se = float(np.std(gaps - explained, ddof=1))
        return Estimate.normal(left.value, se, self.settings["confidence"])

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per effect."""
        found = self.estimates()
        return make_frame(
            {
                "effect": list(found),
                "meaning": [MEANINGS[name] for name in found],
                **{
                    key: [getattr(each, key) for each in found.values()]
                    for key in ("estimate", "se", "low", "high")
                },
            },
            backend,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates, the overlap and the settings, ready for JSON."""
        found = {name: each.to_dict() for name, each in self.estimates().items()}
        return {**found, "overlap": self.overlap.to_dict(), "settings": dict(self.settings)}

    def plot(self, ax: Any = None) -> Any:
        """Draw a forest plot; return the Axes."""
        from .plots import plot_forest

        return plot_forest(self.estimates(), ax, title=self._title())

    def _title(self) -> str:
        reference, positive = self.levels
        return f"Effects of {positive} against {reference}"

    def _about(self) -> str:
        how = self.settings
        return (
            f"{how['method'].replace('_', ' ')}, {len(self._z):,} rows, {how['confidence']:.0%} "
            f"intervals by {how['interval']}"
        )

    def __repr__(self) -> str:
        lines = [f"{self._title()} ({self._about()})"]
        lines.append(f"{'':<18}{'estimate':>9}{'se':>9}{'low':>9}{'high':>9}")
        for name, each in self.estimates().items():
            numbers = "".join(
                f"{value:>9.4f}" for value in (each.estimate, each.se, each.low, each.high)
            )
            lines.append(f"{name:<18}{numbers}   {MEANINGS[name]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{name}</th>"
            + "".join(f"<td>{v:.4f}</td>" for v in (each.estimate, each.se, each.low, each.high))
            + f"<td>{MEANINGS[name]}</td></tr>"
            for name, each in self.estimates().items()
        )
        title = html.escape(f"{self._title()} ({self._about()})")
        head = "".join(f"<th>{name}</th>" for name in ("", "estimate", "se", "low", "high", ""))
        return f"<table><caption>{title}</caption><tr>{head}</tr>{rows}</table>"


def _gap(scores: Floats, z: Floats, weights: Floats) -> Mean:
    """Return E[p|z=1] − E[p|z=0] with its influence function."""
    ones, zeros = weights * z, weights * (1 - z)
    return Mean.of(ones * scores, ones) - Mean.of(zeros * scores, zeros)
