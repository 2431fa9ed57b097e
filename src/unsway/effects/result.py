"""The effects of the sensitive attribute as a result to read, plot and hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Floats
from ..checks import read_numbers
from ..frames import Tabular
from ..rows import Rows
from ..svg import Interval, intervals
from .estimate import Estimate, decimals_of, resample
from .gap_parts import GapParts, gap_parts
from .influence import EFFECTS, MEANINGS, Mean, gap
from .nuisance import Nuisances
from .overlap import Overlap
from .plots import plot_forest
from .ratios import EffectRatios, effect_ratios


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Effects(Tabular):
    """The effects of z on an outcome, "z=1 minus z=0", each with its uncertainty.

    As a frame it has one row per effect.

    The total splits in two ways: into direct_reference + indirect_group, and into
    direct_group + indirect_reference.

    Parameters
    ----------
    total : Estimate
        E[y|z=1] − E[y|z=0], the whole difference between the groups.
    direct_reference, direct_group : Estimate
        Natural direct effects on the reference (z=0) and on the group (z=1): what changing z alone
        does to them.
    indirect_reference, indirect_group : Estimate
        Natural indirect effects: what the other group's covariates do, z held at the reference and
        at the group.
    explained : Estimate
        ½(indirect_reference + indirect_group), the difference that the covariates explain and that
        a fair score shows.
    direct_everyone : Estimate
        The direct effect averaged over everyone.
    direct_overlap : Estimate
        The direct effect averaged with weights b(1−b): on people who could be of either group.
    levels : tuple
        What z = 0 and z = 1 stand for.
    overlap : Overlap
        Whether the groups can be compared.
    nuisances : Nuisances
        The cross-fitted models' predictions.
    settings : mapping
        How the estimates were made.
    _means : mapping of str to Mean
        The effects with their influence functions.
    _rows : Rows or None
        The rows without their covariates; None in what was read from a pickle.
    _replicates : array, or None
        The explained difference in each bootstrap replicate; None without a bootstrap.
    keep_rows : bool, default=False
        Whether a pickle has the outcome and the sensitive attribute of each row.
    """

    total: Estimate
    direct_reference: Estimate
    direct_group: Estimate
    indirect_reference: Estimate
    indirect_group: Estimate
    explained: Estimate
    direct_everyone: Estimate
    direct_overlap: Estimate
    levels: tuple[Any, ...]
    overlap: Overlap
    nuisances: Nuisances
    settings: Mapping[str, Any]
    _means: Mapping[str, Mean]
    _rows: Rows | None
    _replicates: Floats | None
    keep_rows: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows, and the influence functions that tell them, out of a pickle."""
        state = dict(vars(self))
        return state if self.keep_rows else {**state, "_rows": None, "_means": {}}

    def __copy__(self) -> Effects:
        return self

    def __deepcopy__(self, memo: Any) -> Effects:
        return self

    def estimates(self) -> dict[str, Estimate]:
        """Return the effects by name."""
        return {name: getattr(self, name) for name in EFFECTS}

    def as_paper(self) -> dict[str, Estimate]:
        """Return the effects with the signs of Di Stefano et al. (2020).

        ATE = NIE(1) − NDE(0) = NDE(1) − NIE(0), which holds for the second line of their equation
        for the NDE; the first has the opposite sign.
        """
        return {
            "ATE": self.total,
            "NDE(0)": -self.direct_reference,
            "NDE(1)": self.direct_group,
            "NIE(0)": -self.indirect_reference,
            "NIE(1)": self.indirect_group,
        }

    def as_pearl(self) -> dict[str, Estimate]:
        """Return the effects with the signs of Pearl (2001): NDE(z) and NIE(z) start from z.

        The total effect is NDE(0) − NIE(1), and NIE(0) − NDE(1).
        """
        return {
            "TE": self.total,
            "NDE(0)": self.direct_reference,
            "NDE(1)": -self.direct_group,
            "NIE(0)": self.indirect_reference,
            "NIE(1)": -self.indirect_group,
        }

    def as_ratios(self) -> EffectRatios:
        """Return the effects on counts or amounts as ratios, "z=1 over z=0".

        They are ratios of the means m(z,z') whose differences the effects are. Intervals are by
        influence functions, symmetric on the log scale.

        Examples
        --------
        >>> from unsway import estimate_effects, make_world
        >>> people = make_world("claims", 4000, random_state=0)
        >>> effects = estimate_effects(
        ...     people.X,
        ...     people.y,
        ...     sensitive_features=people.z,
        ...     loss="poisson",
        ...     exposure=people.exposure,
        ...     max_extreme_share=1,
        ... )
        >>> ratio = effects.as_ratios().direct_everyone
        >>> bool(ratio.low < 1.34 < ratio.high)
        True
        """
        return effect_ratios(self._means, known_rows(self._rows), self.settings["confidence"])

    def direct_effect_left(self, y_pred: Any) -> Estimate:
        """Return gap(p) − explained for a model's scores p: what z still does directly.

        The scores must be those of the same rows, and the effects those on the labels. The interval
        carries the uncertainty of the scores' gap and of the explained one together.

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
        rows = known_rows(self._rows)
        p = read_scores(y_pred, rows)
        left = _gap(p, rows) - self._means["explained"]
        confidence, seed = self.settings["confidence"], self.settings["random_state"]
        if self._replicates is None:
            return left.interval(confidence)
        # the same resamples for the gap
        drawn = partial(resample, rows.z, seed, clusters=rows.clusters)
        draws = (drawn(k) for k in range(len(self._replicates)))
        gaps = [_gap(p[drawn], rows.take(drawn)).value for drawn in draws]
        se = float(np.std(gaps - self._replicates, ddof=1))
        return Estimate.normal(left.value, se, confidence)

    def gap_parts(self, y_pred: Any) -> GapParts:
        """Return where the gap of a model's scores comes from, and their pass-through.

        With f the fair score, D = (b−½)τ, r = z − b, products with overlap weights b(1−b) and P(·)
        the mean given a score's rank, the scores are taken for q = P(f + κD + εr), the mixture that
        the rank tells best. With λ the share it tells::

            gap(q) = gap(f) + (λ−1)·gap(f) + λκ·gap(D) + λε·gap(r) + rest
                     explained  sharpness    passed_on   z_itself

        κ is the pass-through: 1 for a blind score f + D, 0 for the fair score f, in whatever
        strictly increasing coding. The scores must be those of the same rows, and the effects those
        on the labels, doubly robust. Intervals are by influence functions.

        Examples
        --------
        >>> from unsway import estimate_effects, make_synthetic
        >>> people = make_synthetic(4000, random_state=0)
        >>> effects = estimate_effects(
        ...     people.X, people.y, sensitive_features=people.z, max_extreme_share=1
        ... )
        >>> share = effects.gap_parts(people.fair_score).pass_through
        >>> share.low < 0 < share.high < 1
        True
        """
        rows, confidence = known_rows(self._rows), self.settings["confidence"]
        p = read_scores(y_pred, rows)
        if not np.isfinite(self.nuisances.outcome).all():
            raise ValueError(
                "the effects were estimated without outcome models, which the parts of a gap need; "
                "estimate them with method='doubly_robust'"
            )
        return gap_parts(p, rows, self.nuisances, self._means, confidence)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {"effect": [*MEANINGS], "meaning": [*MEANINGS.values()]}
        for part in ("estimate", "se", "low", "high"):
            columns[part] = [getattr(each, part) for each in self.estimates().values()]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates, the overlap and the settings, ready for JSON."""
        found = {name: each.to_dict() for name, each in self.estimates().items()}
        return {**found, "overlap": self.overlap.to_dict(), "settings": dict(self.settings)}

    def plot(self, ax: Any = None) -> Any:
        """Draw a forest plot; return the Axes."""
        return plot_forest(self.estimates(), ax, title=self._subject())

    def _subject(self) -> str:
        reference, positive = self.levels
        return f"Effects of {positive} against {reference}"

    def _caption(self) -> str:
        how = self.settings
        unit = f" on y per {how['per']}" if "per" in how else ""
        return (
            f"{self._subject()}{unit} ({how['method'].replace('_', ' ')}, {how['n_rows']:,} rows, "
            f"{how['confidence']:.0%} intervals by {how['interval']}"
            + (f", {how['n_clusters']:,} clusters)" if "n_clusters" in how else ")")
        )

    def __repr__(self) -> str:
        lines, decimals = [self._caption()], decimals_of(self.estimates().values())
        lines.append(f"{'':<20}{'estimate':>9}{'se':>9}{'low':>9}{'high':>9}")
        for name, each in self.estimates().items():
            numbers = "".join(f"{value:>9.{decimals}f}" for value in each.to_dict().values())
            lines.append(f"{name:<20}{numbers}   {MEANINGS[name]}")
        return "\n".join(lines)

    def _title(self) -> str:
        return self._caption()

    def _charts(self) -> str:
        lines = [
            Interval(label=name, estimate=each.estimate, low=each.low, high=each.high)
            for name, each in self.estimates().items()
        ]
        return intervals(lines, title=self._caption())


def known_rows(rows: Rows | None) -> Rows:
    """Return the rows of effects, or say why they are not here."""
    if rows is None:
        raise ValueError(
            "these effects were read from a pickle, which has no rows: it would hold the "
            "sensitive attribute of each. Use them where they were estimated, or estimate "
            "them with keep_rows=True"
        )
    return rows


def read_scores(y_pred: Any, rows: Rows) -> Floats:
    """Return scores of the rows that effects were estimated on, or say what is wrong."""
    p = read_numbers(y_pred, "y_pred")
    if len(p) != len(rows):
        raise ValueError(
            f"y_pred has {len(p)} rows but the effects were estimated on {len(rows)}; score the "
            "same rows"
        )
    return p


def _gap(scores: Floats, rows: Rows) -> Mean:
    return gap(scores, rows.z, rows.mean_one_weights, rows.clusters)
