"""What an audit of predictions of numbers says, in the units of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..effects import Estimate
from .evidence import CLAIM, EQUIVALENCE, Evidence, State, from_parts, name_groups
from .numbers import number, signed
from .verdict import Level, decide

if TYPE_CHECKING:
    from .number_audits import NumberAudit

Writer = Callable[[float | None], str]


@dataclass(frozen=True, kw_only=True)
class NumberDecision:
    """What is claimed of the direct effect in predictions of numbers.

    Parameters
    ----------
    state : {"direct effect", "below margin", "cannot tell", "not judged"}
        As in a `Decision`; the margin is a share of the mean of the target.
    level : {"good", "caution", "bad", "unknown"}
        How it stands, as a page colours it.
    headline : str
        The decision in a few words.
    sentences, next_steps : tuple of str
        The interval, what is passed on, and what to do.
    """

    state: State
    level: Level
    headline: str
    sentences: tuple[str, ...]
    next_steps: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the decision, ready for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}


def writer(size: float) -> Writer:
    """Return what writes numbers of about this size, its sign shown, four digits of it counting.

    Examples
    --------
    >>> writer(0.164)(0.05), writer(1900.0)(-25.3)
    ('+0.0500', '−25')
    """
    decimals = decimals_for(size)
    return lambda value: signed(value, decimals)


def decimals_for(size: float) -> int:
    """Return the decimals with which four digits of a number of this size count."""
    return max(0, 3 - math.floor(math.log10(abs(size)))) if size and math.isfinite(size) else 4


def evidence(found: NumberAudit) -> Evidence:
    """Return what the decision rests on, the direct effect as a share of the target's size."""
    causal = found.causal
    about: dict[str, Any] = {
        "groups": name_groups(found.levels, found.sensitive_name),
        "margin": found.settings["margin"],
    }
    if causal is None:
        unknown = dict.fromkeys(("estimate", "se", "low", "high"))
        return Evidence(direct=unknown, why_not=found.missing or "", **about)
    told = from_parts(causal.parts, causal.direct_effect_left)
    told["direct"] = {name: value / found.scale for name, value in told["direct"].items()}
    return Evidence(
        **told,
        confidence=found.settings["confidence"],
        findings=causal.verdict.to_dict()["findings"],
        n_rows=causal.n_rows,
        **about,
    )


def decide_numbers(found: NumberAudit) -> NumberDecision:
    """Return what the evidence allows to be claimed, in the units of the target."""
    known = evidence(found)
    judged = decide(known)
    return NumberDecision(
        state=judged.state,
        level=judged.level,
        headline=_headline(found, judged.state, known),
        sentences=tuple(_sentences(found, judged.state, known)),
        next_steps=tuple(_next(judged.state)),
    )


def _headline(found: NumberAudit, state: State, known: Evidence) -> str:
    write, group = writer(found.scale), known.groups[1]
    margin = f"{100 * known.margin:g}% of {found.size}"
    if state == "not judged":
        return "The direct effect was not judged"
    if state == "below margin":
        return f"The direct effect in the predictions is below {margin}"
    if any(each["decisive"] for each in known.failed):
        return "These data cannot tell: the groups cannot be compared"
    value = known.direct["estimate"]
    if state == "cannot tell":
        low, high = (write(found.scale * end) for end in known.interval(CLAIM))
        return f"Cannot tell: the direct effect lies between {low} and {high} {found.unit}"
    side = "higher" if value > 0 else "lower"
    amount = number(abs(found.scale * value), decimals_for(found.scale))
    return (
        f"The predictions hold a direct effect: {amount} {found.unit} {side} for {group} than the "
        "covariates explain"
    )


def _sentences(found: NumberAudit, state: State, known: Evidence) -> Iterator[str]:
    if state == "not judged":
        yield f"{known.why_not[:1].upper()}{known.why_not[1:]}."
        return
    write, (low, high) = writer(found.scale), known.groups
    confidence = EQUIVALENCE if state == "below margin" else CLAIM
    ends = [write(found.scale * end) for end in known.interval(confidence)]
    share = number(100 * known.direct["estimate"], 1)
    yield (
        f"The direct effect in the predictions, {high} minus {low}, lies between {ends[0]} and "
        f"{ends[1]} {found.unit} ({confidence:.0%} interval; estimate "
        f"{write(found.scale * known.direct['estimate'])}, {share}% of {found.size})."
    )
    yield _passed_on(known)
    yield from (each["sentence"] for each in known.failed[:1])


def _passed_on(known: Evidence) -> str:
    share = known.pass_through
    if share is None or None in (share["low"], share["high"]):
        why = known.why_not or "the covariates hardly tell the groups apart, or rows are too few"
        return f"The share of the target's direct effect that is passed on is not told: {why}."
    low, high = (f"{number(100 * share[end], 0)}%" for end in ("low", "high"))
    return (
        f"They pass on {number(100 * share['estimate'], 0)}% ({low} to {high}) of the direct "
        "effect that the target holds."
    )


def _next(state: State) -> Iterator[str]:
    yield {
        "not judged": "Give the covariates of the rows (X), and audit again.",
        "below margin": "Nothing needs to change for this attribute; audit again when model or "
        "people change.",
        "direct effect": "Train again with a criterion that removes the direct effect, or at a "
        "larger strength, and audit rows that the model was not trained on.",
        "cannot tell": "Audit more rows, and look at overlap and balance; until then neither an "
        "effect nor its absence is shown.",
    }[state]


def number_facts(found: NumberAudit) -> Iterator[str]:
    """Yield what else the audit found, in a few sentences."""
    low, high = name_groups(found.levels, found.sensitive_name)
    write = writer(found.scale)
    plain = decimals_for(found.scale)
    zeros, ones = (found.metrics["mean_outcome", place].estimate for place in ("z=0", "z=1"))
    yield (
        f"The mean of {found.unit} is {number(ones, plain)} for {high} and {number(zeros, plain)} "
        f"for {low}, a difference of {write(ones - zeros)}; the predictions differ by "
        f"{write(found.metrics['score_gap'].estimate)}."
    )
    if found.causal is not None:
        labels = found.causal.labels
        yield (
            f"The covariates explain {_interval(labels.explained, write)} of the difference; the "
            f"direct effect over everyone is {_interval(labels.direct_everyone, write)}."
        )
    places = ("overall", "z=1", "z=0")
    overall, of_high, of_low = (found.metrics["actual_over_expected", p].estimate for p in places)
    yield (
        f"Actual over expected is {number(overall, 3)}: {number(of_high, 3)} for {high} and "
        f"{number(of_low, 3)} for {low}. Where the target holds a direct effect, predictions "
        "without one differ from it by group."
    )


def _interval(each: Estimate, write: Writer) -> str:
    return f"{write(each.estimate)} ({write(each.low)} to {write(each.high)})"
