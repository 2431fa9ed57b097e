"""Every sentence about the direct effect in scores; no other place words it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .evidence import CLAIM, EQUIVALENCE, Evidence, State, needed_se, quantile
from .numbers import number, points
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
    margin = _margin(evidence.margin)
    if state == "below margin":
        return f"The direct effect in the scores is below {margin} points"
    if any(each["decisive"] for each in evidence.failed):
        return "These data cannot tell: the groups cannot be compared"
    if state == "cannot tell":
        low, high = map(points, evidence.interval(CLAIM))
        return f"Cannot tell: the direct effect in the scores lies between {low} and {high} points"
    size, whom = _size(evidence.direct["estimate"]), _whom(evidence)
    effect = f"The scores hold a direct effect {whom}".rstrip()
    side = "higher" if evidence.direct["estimate"] > 0 else "lower"
    return f"{effect}: {size} points {side} for {evidence.groups[1]} than the covariates explain"


def sentences(state: State, evidence: Evidence) -> Iterator[str]:
    """Yield at most three sentences; the first gives the interval."""
    if state == "not judged":
        yield f"{_sentence(evidence.why_not)}." if evidence.why_not else "No estimate is known."
        return
    low, high = evidence.groups
    narrow = state == "below margin"
    ends = evidence.interval(EQUIVALENCE if narrow else CLAIM)
    of = f"The direct effect in the scores, {high} minus {low}, lies"
    between = f"between {points(ends[0])} and {points(ends[1])} points"
    within = f", within the margin of ±{_margin(evidence.margin)}" if narrow else ""
    confidence = f"{EQUIVALENCE if narrow else CLAIM:.0%} interval"
    estimate = points(evidence.direct["estimate"])
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
        return "These rows cannot tell which share of the labels' direct effect is passed on."
    text = f"The scores pass on {_share(share)} of the direct effect that the labels hold"
    if share["high"] is not None and share["high"] < 0:
        text = f"More was removed than the labels hold: the scores pass on {_share(share)} of it"
    if evidence.blind is not None:
        text += f"; a blind reference model passes on {_percent(evidence.blind['estimate'])}"
    return f"{text}."


def _doubt(state: State, evidence: Evidence) -> str:
    """Return what keeps the decision from being another one, if anything does."""
    failed, small = evidence.failed, evidence.is_small
    if state == "below margin":
        away = f"{points(evidence.direct['estimate'])} points"
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
    se, need = (high - low) / (2 * quantile(CLAIM)), needed_se(evidence.margin)
    text = (
        f"To tell whether it is below {_margin(evidence.margin)} points takes a standard error of "
        f"at most {number(100 * need, 2)} points; here it is {number(100 * se, 2)}"
    )
    if se <= need:
        return f"{text}, so the effect lies near the margin."
    factor = (se / need) ** 2
    rows = f", some {_rounded(factor * evidence.n_rows)}" if evidence.n_rows else ""
    return f"{text}, which takes about {factor:.1f} times as many rows{rows}."


def basis(evidence: Evidence) -> Iterator[str]:
    """Yield what the decision rests on."""
    margin = _margin(evidence.margin)
    yield (
        "The direct effect in the scores is what of their gap neither the covariates nor the "
        "sharpness of the scores explain, on the scale of the labels."
    )
    yield (
        f"It is claimed if its {CLAIM:.0%} interval excludes 0, and called below {margin} points "
        f"only if its {EQUIVALENCE:.0%} interval lies within ±{margin} and the checks of overlap "
        "and balance passed."
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
        yield _calibration(evidence.calibration)
    if not evidence.is_checked:
        yield "Overlap and balance were not checked."
    elif not evidence.failed:
        yield "Overlap and balance passed under overlap, ATT and ATC weights."
    else:
        yield from (_quote(each) for each in evidence.failed)
    yield from evidence.notes


def _calibration(found: Mapping[str, Any]) -> str:
    if found["holds"]:
        return "The scores as given are on the scale of the labels: their calibration holds."
    error, slope = found["error"]["estimate"], found["slope"]["estimate"]
    text = (
        f"The scores as given are not calibrated: mean score less mean label {points(error)} "
        f"points, slope of the labels on the scores {number(slope, 2)}."
    )
    left = found.get("left_as_given")
    if left is None:
        return text
    return f"{text} As given, their gap less the explained one is {_estimate(left)} points."


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
            "Lower the strength: more was removed than the labels hold."
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


def _size(value: float) -> str:
    """Return the size of an effect in points."""
    text = number(100 * abs(value), 1)
    return "less than 0.1" if text == "0.0" else text


def _margin(value: float) -> str:
    return f"{100 * value:g}"


def _percent(value: float) -> str:
    return f"{number(100 * value, 0)}%"


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _share(found: Mapping[str, Any]) -> str:
    ends = [
        _percent(end) if _is_finite(end) else "no bound" for end in (found["low"], found["high"])
    ]
    return f"{_percent(found['estimate'])} ({ends[0]} to {ends[1]})"


def _estimate(found: Mapping[str, Any]) -> str:
    return f"{points(found['estimate'])} ({points(found['low'])} to {points(found['high'])})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def _quote(finding: Mapping[str, Any]) -> str:
    return short(finding["sentence"], 240)


def _rounded(rows: float) -> str:
    """Return a number of rows with two digits that count."""
    digits = 10 ** max(0, int(math.log10(rows)) - 1)
    return f"{round(rows / digits) * digits:,}"
