"""Every sentence about the direct effect in scores; no other place words it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .evidence import CLAIM, EQUIVALENCE, Evidence, State, needed_se, quantile
from .numbers import Units, number
from .tables import short


def _whom(evidence: Evidence) -> str:
    """Return whom the direct effect favours; empty where the favourable label was not stated.

    This is the only place that says so: a high score may be a loan or a suspicion of fraud.
    """
    if not evidence.favourable:
        return ""
    low, high = evidence.groups
    is_gain = (evidence.direct["estimate"] > 0) == (evidence.favourable == evidence.scored)
    return f"in favour of {high if is_gain else low}"


def headline(state: State, evidence: Evidence) -> str:
    """Return a decision in a few words."""
    if state == "not judged":
        return "The direct effect was not judged"
    units = evidence.units
    if state == "below margin":
        margin = units.margin(evidence.margin)
        return f"The direct effect in the {units.scores} is below {margin}"
    if any(each["decisive"] for each in evidence.failed):
        return "These data cannot tell: the groups cannot be compared"
    if state == "cannot tell":
        low, high = map(units.signed, evidence.interval(CLAIM))
        between = f"lies between {low} and {high} {units.name}"
        return f"Cannot tell: the direct effect in the {units.scores} {between}"
    size, whom = units.amount(evidence.direct["estimate"]), _whom(evidence)
    effect = f"The {units.scores} hold a direct effect {whom}".rstrip()
    side = "higher" if evidence.direct["estimate"] > 0 else "lower"
    return f"{effect}: {size} {side} for {evidence.groups[1]} than the covariates explain"


def sentences(state: State, evidence: Evidence) -> Iterator[str]:
    """Yield at most three sentences; the first gives the interval."""
    if state == "not judged":
        yield f"{_sentence(evidence.why_not)}." if evidence.why_not else "No estimate is known."
        return
    (low, high), units = evidence.groups, evidence.units
    narrow = state == "below margin"
    ends = evidence.interval(EQUIVALENCE if narrow else CLAIM)
    of = f"The direct effect in the {units.scores}, {high} minus {low}, lies"
    between = f"between {units.signed(ends[0])} and {units.signed(ends[1])} {units.name}"
    within = f", within the margin of ±{_margin(evidence)}" if narrow else ""
    confidence = f"{EQUIVALENCE if narrow else CLAIM:.0%} interval{_at_once(evidence)}"
    estimate = units.estimate(evidence.direct["estimate"])
    yield f"{of} {between} ({confidence}; estimate {estimate}){within}."
    yield _passed_on(evidence)
    last = _doubt(state, evidence)
    if last:
        yield last


def _passed_on(evidence: Evidence) -> str:
    share = evidence.pass_through
    if share is None:
        return f"{_sentence(evidence.why_not)}." if evidence.why_not else "No share is known."
    if not any(_is_finite(share[end]) for end in ("low", "high")):
        whose = "the target's" if evidence.units.share_of else "the labels'"
        return f"These rows cannot tell which share of {whose} direct effect is passed on."
    scores, hold = evidence.units.scores, _holders(evidence)
    text = f"The {scores} pass on {_share(share)} of the direct effect that {hold}"
    if share["high"] is not None and share["high"] < 0:
        text = f"More was removed than {hold}: the {scores} pass on {_share(share)} of it"
    if evidence.blind is not None:
        text += f"; a blind reference model passes on {_percent(evidence.blind['estimate'])}"
    return f"{text}."


def _doubt(state: State, evidence: Evidence) -> str:
    """Return what keeps the decision from being another one, if anything does."""
    failed, small = evidence.failed, evidence.is_small
    if state == "below margin":
        away = f"{evidence.units.signed(evidence.direct['estimate'])} {evidence.units.name}"
        return f"It is not zero, but small: {away}." if evidence.excludes_zero else ""
    first = next((each for each in failed if each["decisive"]), failed[0] if failed else None)
    if first is not None and first["decisive"]:
        return f"The interval cannot be relied on: {_quote(first)}"
    if state == "cannot tell" and not small:
        return _what_could_tell(evidence)
    if first is not None:
        what = "It is not called small" if small else "Read it with caution"
        return f"{what}, because a check of the data failed: {_quote(first)}"
    if not evidence.is_checked:
        return "Overlap and balance of these rows were not checked, so this is not the last word."
    return ""


def _what_could_tell(evidence: Evidence) -> str:
    low, high = evidence.interval(CLAIM)
    units = evidence.units
    se, need = (high - low) / (2 * quantile(CLAIM)), needed_se(evidence.largest_small)
    if evidence.at_once > 1:  # such an interval reaches further than that of one estimate
        se, need = evidence.direct["se"], need * evidence.direct["se"] / se
    text = (
        f"To tell whether it is below {units.margin(evidence.margin)} takes a standard error of "
        f"at most {units.plain(need, 1)} {units.name}; here it is {units.plain(se, 1)}"
    )
    if se <= need:
        return f"{text}, so the effect lies near the margin."
    factor = (se / need) ** 2
    rows = f", some {_rounded(factor * evidence.n_rows)}" if evidence.n_rows else ""
    return f"{text}, which takes about {factor:.1f} times as many rows{rows}."


def basis(evidence: Evidence) -> Iterator[str]:
    """Yield what the decision rests on."""
    units, margin = evidence.units, evidence.units.margin(evidence.margin)
    yield (
        f"The direct effect in the {units.scores} is what of their gap neither the covariates nor "
        f"the sharpness of the {units.scores} explain, on the scale of the {units.outcome}."
    )
    yield (
        f"It is claimed if its {CLAIM:.0%} interval excludes 0, and called below {margin} "
        f"only if its {EQUIVALENCE:.0%} interval lies within ±{_margin(evidence)} and the checks "
        "of overlap and balance passed."
    )
    if evidence.at_once > 1:
        yield (
            f"Intervals hold for all {evidence.at_once} comparisons with {evidence.groups[0]} at "
            "once."
        )
    if evidence.favourable:
        yield (
            f"A score is the chance of the label {evidence.scored}; the label that is good for a "
            f"person was stated to be {evidence.favourable}."
        )
    elif evidence.scored:
        yield (
            f"A score is the chance of the label {evidence.scored}; which label is good for a "
            "person was not stated."
        )
    if evidence.calibration is not None:
        yield _calibration(evidence.calibration, evidence.units)
    if not evidence.is_checked:
        yield "Overlap and balance were not checked."
    elif not evidence.failed:
        yield "Overlap and balance passed under overlap, ATT and ATC weights."
    else:
        yield from (_quote(each) for each in evidence.failed)
    yield from evidence.notes


def _calibration(found: Mapping[str, Any], units: Units) -> str:
    scores, outcome = units.scores, units.outcome
    if found["holds"]:
        return f"The {scores} as given are on the scale of the {outcome}: their calibration holds."
    error, slope = found["error"]["estimate"], found["slope"]["estimate"]
    means = f"mean {scores.removesuffix('s')} less mean {outcome.removesuffix('s')}"
    text = (
        f"The {scores} as given are not calibrated: {means} {units.signed(error)} {units.name}, "
        f"slope of the {outcome} on the {scores} {number(slope, 2)}."
    )
    left = found.get("left_as_given")
    if left is None:
        return text
    value, low, high = (units.signed(left[name]) for name in ("estimate", "low", "high"))
    gap = f"their gap less the explained one is {value} ({low} to {high}) {units.name}"
    return f"{text} As given, {gap}."


def next_steps(state: State, evidence: Evidence) -> Iterator[str]:
    """Yield what to do next."""
    share = evidence.pass_through
    if state == "not judged":
        yield "Give the covariates of the rows (X), and audit again."
    elif state == "below margin":
        yield "Nothing needs to change for this attribute; audit again when model or people change."
    elif state == "direct effect":
        over = share is not None and share["high"] is not None and share["high"] < 0
        yield (
            f"Lower the strength: more was removed than {_holders(evidence)}."
            if over
            else "Train again with a criterion that removes the direct effect, or at a larger "
            "strength, and audit rows that the model was not trained on."
        )
    elif evidence.failed:
        yield (
            "Compare people whom both groups have: look at overlap and balance, leave out columns "
            "that stand for the groups, or restrict the audit to where the groups overlap."
        )
    elif not evidence.is_checked and evidence.is_small:
        yield "Audit the model on rows with their covariates, which checks overlap and balance."
    else:
        yield "Audit more rows; until then neither an effect nor its absence is shown."
    if evidence.scored and not evidence.favourable:
        yield "State which label is good for a person (favourable) to have the direction worded."


# --- small words ----------------------------------------------------------------------------------


def _at_once(evidence: Evidence) -> str:
    """Return for how many comparisons an interval holds, if for more than one."""
    several = f" that holds for {evidence.at_once} comparisons at once"
    return several if evidence.at_once > 1 else ""


def _holders(evidence: Evidence) -> str:
    """Return who holds the direct effect of which a share is passed on."""
    return "the target holds" if evidence.units.share_of else "the labels hold"


def _margin(evidence: Evidence) -> str:
    """Return the margin on either side of 0."""
    return evidence.units.margin(evidence.margin).removesuffix(" points")


def _percent(value: float) -> str:
    return f"{number(100 * value, 0)}%"


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _share(found: Mapping[str, Any]) -> str:
    ends = [
        _percent(end) if _is_finite(end) else "no bound" for end in (found["low"], found["high"])
    ]
    return f"{_percent(found['estimate'])} ({ends[0]} to {ends[1]})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def _quote(finding: Mapping[str, Any]) -> str:
    return short(finding["sentence"], 240)


def _rounded(rows: float) -> str:
    """Return a number of rows with two digits that count."""
    digits = 10 ** max(0, int(math.log10(rows)) - 1)
    return f"{round(rows / digits) * digits:,}"
