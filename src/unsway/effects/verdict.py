"""Whether these data can tell what z does: overlap, balance and mean-field check in one answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from ..checks import check_number
from ..display import checks, fragment
from ..frames import frame_of, plain
from .balance import Balance
from .mean_field import MeanField
from .overlap import MAX_EXTREME_SHARE, Overlap

Level = Literal["ok", "caution", "cannot tell"]

#: The weightings whose balance is judged: the direct effects rest on them.
WEIGHTINGS = ("overlap", "ATT", "ATC")


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Where a finding begins to count; every one may be changed.

    Parameters
    ----------
    max_extreme_share : float, default=0.25
        Share of rows with a propensity beyond the bounds of the overlap (.05 and .95 by default).
        `estimate_effects` warns at the same share.
    min_effective_share : float, default=0.1
        Rows the smaller group is worth under overlap weights, as a share of its rows.
    min_effective_rows : float, default=100
        The same as a number of rows. Below it the data cannot tell.
    max_standardized_difference : float, default=0.1
        Largest absolute standardised difference left after weighting (Austin 2009 suggests .1).
    max_within_spread : float, default=0.2
        Spread of the effect within bins of the propensity, in standard deviations of y (of the
        effect's own unit where y was not given).

    Examples
    --------
    >>> Thresholds(max_extreme_share=0.3).max_standardized_difference
    0.1
    """

    max_extreme_share: float = MAX_EXTREME_SHARE
    min_effective_share: float = 0.1
    min_effective_rows: float = 100.0
    max_standardized_difference: float = 0.1
    max_within_spread: float = 0.2

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(getattr(self, field.name), field.name, at_least=0)


@dataclass(frozen=True)
class Finding:
    """One check: its number, its threshold, and a sentence on what that means.

    Where a `decisive` check fails, the verdict is "cannot tell".
    """

    name: str
    value: float
    threshold: float
    passed: bool
    sentence: str
    decisive: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """What the diagnostics say together.

    Parameters
    ----------
    level : {"ok", "caution", "cannot tell"}
        "cannot tell" if a decisive check fails, "caution" if another does.
    findings : tuple of Finding
    thresholds : Thresholds
    """

    level: Level
    findings: tuple[Finding, ...]
    thresholds: Thresholds

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per finding."""
        return frame_of([asdict(finding) for finding in self.findings], backend)

    def to_dict(self) -> dict[str, Any]:
        """Return level and findings, ready for JSON; None where a number is unknown."""
        return dict(plain(asdict(self)))

    def _repr_html_(self) -> str:
        sentences = [(finding.passed, finding.sentence) for finding in self.findings]
        return fragment(f"Verdict: {self.level}", checks(sentences))

    def __repr__(self) -> str:
        marks = {True: "ok ", False: "!  "}
        lines = [f"  {marks[finding.passed]}{finding.sentence}" for finding in self.findings]
        return "\n".join([f"Verdict: {self.level}", *lines])


def verdict(
    overlap: Overlap | None = None,
    balance: Balance | None = None,
    mean_field: MeanField | None = None,
    *,
    thresholds: Thresholds | None = None,
    weighting: str | Sequence[str] = WEIGHTINGS,
) -> Verdict:
    """Say whether the data can tell the direct effect, from whichever diagnostics there are.

    Parameters
    ----------
    overlap, balance, mean_field : results of the functions of these names, optional
        At least one.
    thresholds : Thresholds, optional
        Where a finding begins to count.
    weighting : str or sequence of str, default=("overlap", "ATT", "ATC")
        The weightings of the balance that are judged. The explained difference, and with it the
        direct effect left in scores, rests on those of the ATT and the ATC.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.effects.overlap import overlap
    >>> b = np.linspace(0.3, 0.7, 400)
    >>> verdict(overlap(b, sensitive_features=np.arange(400) % 2)).level
    'ok'
    >>> z = np.repeat([0, 1], 200)
    >>> verdict(overlap(z, sensitive_features=z))
    Verdict: cannot tell
      !  The groups' propensities have no value in common: no two people can be compared.
      !  100% of the propensities lie outside [0.05, 0.95] (at most 25%): there the data hold almost
         one group only.
      !  Overlap weights leave no comparable row.
    """
    limits = Thresholds() if thresholds is None else thresholds
    for role, value, kind in (
        ("overlap", overlap, Overlap),
        ("balance", balance, Balance),
        ("mean_field", mean_field, MeanField),
        ("thresholds", limits, Thresholds),
    ):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{role} must be {kind.__name__}; got {type(value).__name__}")
    findings: list[Finding] = []
    if overlap is not None:
        findings += _overlap_findings(overlap, limits)
    if balance is not None:
        weightings = (weighting,) if isinstance(weighting, str) else tuple(weighting)
        for each in weightings:
            findings += _balance_findings(balance, limits, each)
    if mean_field is not None:
        findings.append(_mean_field_finding(mean_field, limits))
    if not findings:
        raise TypeError("give at least one of overlap, balance and mean_field")
    failed = [finding for finding in findings if not finding.passed]
    decided = any(finding.decisive for finding in failed)
    level: Level = "cannot tell" if decided else "caution" if failed else "ok"
    return Verdict(level=level, findings=tuple(findings), thresholds=limits)


def _overlap_findings(found: Overlap, limits: Thresholds) -> Iterator[Finding]:
    yield _support(found)
    share, most = found.share_outside, limits.max_extreme_share
    yield Finding(
        "extreme propensities",
        share,
        most,
        share <= most,
        f"{share:.0%} of the propensities lie outside [{found.low:g}, {found.high:g}] (at most "
        f"{most:.0%}): there the data hold almost one group only.",
    )
    if found.n_infinite:
        sentence = (
            f"{found.n_infinite:,} rows are of the group that their propensity of exactly 0 or 1 "
            "rules out: they would weigh infinitely much. Keep propensities within (0, 1)."
        )
        yield Finding("exact propensities", float(found.n_infinite), 0.0, False, sentence)
    yield from _sizes(found, limits)


def _support(found: Overlap) -> Finding:
    start, end = found.support
    sentence = "The groups' propensities have no value in common: no two people can be compared."
    if start <= end:
        sentence = (
            f"Both groups are found at propensities from {start:.3f} to {end:.3f}, where "
            f"{found.share_in_support:.0%} of the rows lie."
        )
    width = max(0.0, end - start)
    return Finding("common support", width, 0.0, start <= end, sentence, decisive=True)


def _sizes(found: Overlap, limits: Thresholds) -> Iterator[Finding]:
    sizes, enough = found.overlap_sizes, limits.min_effective_rows
    least = 0.0 if any(map(math.isnan, sizes)) else min(sizes)
    sentence = "Overlap weights leave no comparable row."
    if least > 0:
        sentence = (
            f"Under overlap weights the smaller group is worth {least:,.0f} rows (at least "
            f"{enough:,.0f})."
        )
    yield Finding("effective rows", least, enough, least >= enough, sentence, decisive=True)
    if least > 0:
        share = min(size / rows for size, rows in zip(sizes, found.n_rows, strict=True))
        enough = limits.min_effective_share
        sentence = (
            f"Of a group at least {share:.0%} of the rows count as comparable (at least "
            f"{enough:.0%}); effects speak of those people."
        )
        yield Finding("effective share", share, enough, share >= enough, sentence)


def _balance_findings(found: Balance, limits: Thresholds, weighting: str) -> Iterator[Finding]:
    which = f" ({weighting})" if weighting in WEIGHTINGS[1:] else ""
    yield _balance_finding(found, limits, weighting, f"balance{which}")
    if weighting in ("ATT", "ATC"):
        least = float(np.min(found.effective_sizes[found.position(weighting)]))
        enough = limits.min_effective_rows
        yield Finding(
            f"effective rows{which}",
            least,
            enough,
            least >= enough,
            f"Under {weighting} weights the smaller group is worth {least:,.0f} rows (at least "
            f"{enough:,.0f}).",
        )


def _balance_finding(found: Balance, limits: Thresholds, weighting: str, label: str) -> Finding:
    name, difference = found.worst(weighting)
    size, most = abs(difference), limits.max_standardized_difference
    compared = "as they are" if weighting == "raw" else f"under {weighting} weights"
    column = " ".join(name.split())  # a line break in a name starts no line of a report
    sentence = (
        f"The groups {compared} differ most in {column}: by {size:.3f} standard deviations (at "
        f"most {most:g})."
    )
    if math.isnan(size):
        sentence = "No column is known in both groups, so their balance is not known either."
    return Finding(label, size, most, size <= most, sentence)


def _mean_field_finding(found: MeanField, limits: Thresholds) -> Finding:
    spread = found.within / found.scale if found.scale > 0 else 0.0
    known = found.calibration
    confirmed = known is None or known.p_value <= 0.05
    passed = spread <= limits.max_within_spread or not confirmed
    unit = "" if known is None else " standard deviations of y"
    sentence = (
        f"Among people with like propensities the direct effect varies by {spread:.3f}{unit} (at "
        f"most {limits.max_within_spread:g})"
    )
    if known is None:
        sentence += ", noise of the models included"
    elif not confirmed:
        sentence += f", which may be chance (p = {known.p_value:.2f})"
    return Finding("mean field", spread, limits.max_within_spread, passed, f"{sentence}.")
