"""The decision on the direct effect in scores; no other place decides it.

Its sentences are those of `unsway.auditing.verdict_sentences`. Whether the data allow an estimate
at all is the verdict of `unsway.effects.verdict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from ..frames import plain
from . import verdict_sentences as sentences
from .evidence import CLAIM, EQUIVALENCE, Evidence, State

#: How a decision or a check stands, as a page colours it.
Level = Literal["good", "caution", "bad", "unknown"]

_LEVELS: Mapping[State, Level] = {
    "direct effect": "bad",
    "below margin": "good",
    "cannot tell": "caution",
    "not judged": "unknown",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Decision:
    """What is claimed of the direct effect in scores, in which words, and on what it rests.

    Parameters
    ----------
    state : {"direct effect", "below margin", "cannot tell", "not judged"}
        A direct effect is claimed if the 95% interval excludes 0; "below margin" if the 90%
        interval lies within ±margin and the checks of overlap and balance passed, which comes
        first where both hold.
    headline : str
        The decision in a few words.
    sentences : tuple of str
        At most three; the first gives the interval.
    basis : tuple of str
        What the decision rests on.
    next_steps : tuple of str
        What to do next.
    direct : mapping
        The direct effect in the scores with its 95% interval, and "equivalence", the 90% one.
    pass_through, blind_pass_through : mapping or None
        The shares of the labels' direct effect that are passed on.
    margin : float
        What counts as small.
    """

    state: State
    headline: str
    sentences: tuple[str, ...]
    basis: tuple[str, ...]
    next_steps: tuple[str, ...]
    direct: Mapping[str, Any]
    pass_through: Mapping[str, Any] | None
    blind_pass_through: Mapping[str, Any] | None
    margin: float

    @property
    def level(self) -> Level:
        """How the decision stands, as a page colours it."""
        return _LEVELS[self.state]

    @property
    def text(self) -> str:
        """Headline and sentences as a paragraph."""
        return " ".join([f"{self.headline}.", *self.sentences])

    def to_dict(self) -> dict[str, Any]:
        """Return the decision, ready for JSON."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return dict(plain(found))

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return a decision from what `to_dict` gave."""
        texts = {name: tuple(found[name]) for name in ("sentences", "basis", "next_steps")}
        return cls(**{**found, **texts})

    def __repr__(self) -> str:
        return f"Decision({self.state!r}: {self.text})"


def decide(evidence: Evidence) -> Decision:
    """Return what the evidence allows to be claimed.

    Examples
    --------
    >>> direct = {"estimate": 0.05, "se": 0.01, "low": 0.03, "high": 0.07}
    >>> found = decide(Evidence(direct=direct, groups=("men", "women")))
    >>> found.state, found.headline
    ('direct effect', 'The scores hold a direct effect: 5.0 points higher for women than the
    covariates explain')
    >>> small = {"estimate": 0.001, "se": 0.004, "low": -0.007, "high": 0.009}
    >>> from unsway.auditing.evidence import NEEDED
    >>> decide(Evidence(direct=small, groups=("men", "women"))).state  # no check of the data
    'cannot tell'
    >>> passed = [{"name": name, "passed": True, "decisive": False} for name in NEEDED]
    >>> decide(Evidence(direct=small, groups=("men", "women"), findings=passed)).state
    'below margin'
    """
    state = _state(evidence)
    judged = state != "not judged"
    ends = evidence.interval(CLAIM) if judged else (None, None)
    return Decision(
        state=state,
        headline=sentences.headline(state, evidence),
        sentences=tuple(sentences.sentences(state, evidence)),
        basis=tuple(sentences.basis(evidence)) if judged else tuple(evidence.notes),
        next_steps=tuple(sentences.next_steps(state, evidence)),
        direct={
            "estimate": evidence.direct["estimate"],
            "se": evidence.direct.get("se"),
            "low": ends[0],
            "high": ends[1],
            "equivalence": evidence.interval(EQUIVALENCE) if judged else None,
        },
        pass_through=evidence.pass_through,
        blind_pass_through=evidence.blind,
        margin=evidence.margin,
    )


def labels_direct(total: float | None, explained: float | None) -> float | None:
    """Return the direct part of the labels' gap, total − explained; None where one is unknown."""
    return None if total is None or explained is None else total - explained


def level_of(finding: Mapping[str, Any]) -> Level:
    """Return how a check of the data stands, by whether it passed and whether it is decisive."""
    return "good" if finding["passed"] else "bad" if finding["decisive"] else "caution"


def _state(evidence: Evidence) -> State:
    if not evidence.is_known:
        return "not judged"
    if any(each["decisive"] for each in evidence.failed):
        return "cannot tell"
    if evidence.is_small and evidence.is_checked and not evidence.failed:
        return "below margin"
    return "direct effect" if evidence.excludes_zero else "cannot tell"
