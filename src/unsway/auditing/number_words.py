"""What an audit of predictions of numbers says beside its decision, in the units of the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..effects import Estimate
from .evidence import Evidence, from_parts, name_groups
from .numbers import Units, number

if TYPE_CHECKING:
    from .number_audits import NumberAudit


def number_evidence(found: NumberAudit) -> Evidence:
    """Return what the decision on an audit of numbers rests on."""
    causal = found.causal
    about: dict[str, Any] = {
        "groups": name_groups(found.levels, found.sensitive_name),
        "margin": found.settings["margin"],
        "units": found.units,
    }
    if causal is None:
        unknown = dict.fromkeys(("estimate", "se", "low", "high"))
        return Evidence(direct=unknown, why_not=found.missing or "", **about)
    return Evidence(
        **from_parts(causal.parts, causal.direct_effect_left),
        confidence=found.settings["confidence"],
        findings=causal.verdict.to_dict()["findings"],
        n_rows=causal.n_rows,
        **about,
    )


def number_facts(found: NumberAudit) -> Iterator[str]:
    """Yield what else the audit found, in a few sentences."""
    low, high = name_groups(found.levels, found.sensitive_name)
    units = found.units
    zeros, ones = (found.metrics["mean_outcome", place].estimate for place in ("z=0", "z=1"))
    yield (
        f"The mean of {found.unit} is {units.plain(ones)} for {high} and {units.plain(zeros)} "
        f"for {low}, a difference of {units.signed(ones - zeros)}; the predictions differ by "
        f"{units.signed(found.metrics['score_gap'].estimate)}."
    )
    if found.causal is not None:
        labels = found.causal.labels
        yield (
            f"The covariates explain {_interval(labels.explained, units)} of the difference; the "
            f"direct effect over everyone is {_interval(labels.direct_everyone, units)}."
        )
    places = ("overall", "z=1", "z=0")
    overall, of_high, of_low = (found.metrics["actual_over_expected", p].estimate for p in places)
    yield (
        f"Actual over expected is {number(overall, 3)}: {number(of_high, 3)} for {high} and "
        f"{number(of_low, 3)} for {low}. Where the target holds a direct effect, predictions "
        "without one differ from it by group."
    )


def _interval(each: Estimate, units: Units) -> str:
    low, high = units.signed(each.low), units.signed(each.high)
    return f"{units.signed(each.estimate)} ({low} to {high})"
