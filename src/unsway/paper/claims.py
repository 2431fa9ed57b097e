"""What the paper says, and what was found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One claim of the paper; ``holds`` is None where it cannot be judged."""

    claim: str
    paper: str
    found: str
    holds: bool | None
