"""The numbers of an audit as the report reads them; the only place that knows an audit's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..auditing.verdict import labels_direct
from .words import Moving, group_name

#: The forms of `Audit.to_dict` this report can read.
SCHEMA_VERSIONS = (1,)
NOTHING: Mapping[str, Any] = {"estimate": None, "low": None, "high": None, "se": None}


@dataclass(frozen=True)
class AuditFacts:
    """What an audit found, by name.

    Parameters
    ----------
    sensitive : str
        Name of the sensitive column, or "z".
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    rows : tuple of int
        Rows with z = 0 and with z = 1.
    verdict : str
        The audit in one paragraph of plain words.
    metrics, calibration : sequence of mappings
        Rows of the audit's tables.
    causal : mapping or None
        The causal part.
    missing : str
        Why there is no causal part.
    comparison : mapping or None
        The model beside a baseline.
    settings : mapping
        How the audit was made.
    """

    sensitive: str
    levels: tuple[str, str]
    rows: tuple[int, int]
    verdict: str
    metrics: Sequence[Mapping[str, Any]] = field(repr=False)
    calibration: Sequence[Mapping[str, Any]] = field(repr=False)
    causal: Mapping[str, Any] | None = field(repr=False)
    missing: str
    comparison: Mapping[str, Any] | None = field(repr=False)
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, audit: Any) -> AuditFacts:
        """Read an `Audit`, or what its ``to_dict`` gave."""
        found = audit if isinstance(audit, Mapping) else _to_dict(audit)
        version = found.get("schema_version")
        if version not in SCHEMA_VERSIONS:
            raise ValueError(
                f"the audit has schema version {version!r}; this report reads {SCHEMA_VERSIONS[0]}"
            )
        settings, sensitive = found["settings"], found["sensitive"]
        low, high = sensitive["levels"]
        return cls(
            sensitive="z" if sensitive["name"] is None else str(sensitive["name"]),
            levels=(str(low), str(high)),
            rows=(int(found["rows"]["z=0"]), int(found["rows"]["z=1"])),
            verdict=str(found["verdict"]),
            metrics=found["metrics"],
            calibration=found["calibration"],
            causal=found["causal"],
            missing=str(found["missing"] or ""),
            comparison=found["comparison"],
            settings=settings,
        )

    @property
    def confidence(self) -> float:
        """Share of intervals that should hold the truth."""
        return float(self.settings["confidence"])

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Scores above one are selected."""
        return tuple(self.settings["thresholds"])

    @property
    def threshold(self) -> float:
        """The threshold the report speaks of, the first."""
        return self.thresholds[0]

    @property
    def groups(self) -> tuple[str, str]:
        """The names of z = 0 and z = 1 as they are shown."""
        first, second = (group_name(value, level) for value, level in enumerate(self.levels))
        return (first, second) if first != second else ("z = 0", "z = 1")

    def metric(
        self, name: str, group: str | None = None, threshold: float | None = None
    ) -> Mapping[str, Any]:
        """Return a metric by name and group, at a threshold (the first) if it needs one."""
        wanted = self.threshold if threshold is None else threshold
        for row in self.metrics:
            fits = row["threshold"] in (None, wanted) and group in (None, row["group"])
            if row["metric"] == name and fits:
                return row
        return NOTHING

    def effect(self, name: str, on: str = "labels") -> Mapping[str, Any]:
        """Return an effect of z on the labels or on the scores."""
        part = (self.causal or {}).get(on) or {}
        found: Mapping[str, Any] = part.get(name) or NOTHING
        return found

    @property
    def left(self) -> Mapping[str, Any]:
        """The direct effect left in the scores."""
        found: Mapping[str, Any] = (self.causal or {}).get("direct_effect_left") or NOTHING
        return found

    @property
    def label_direct(self) -> float | None:
        """The direct part of the labels' gap, total − explained: the other end of its bar."""
        return labels_direct(self.effect("total")["estimate"], self.effect("explained")["estimate"])

    @property
    def level(self) -> str:
        """Whether the data can tell: "ok", "caution", "cannot tell", or "" without X."""
        return str(((self.causal or {}).get("verdict") or {}).get("level", ""))


def _to_dict(audit: Any) -> Mapping[str, Any]:
    if not hasattr(audit, "to_dict"):
        raise TypeError(f"audit must be an Audit; got {type(audit).__name__}")
    found: Mapping[str, Any] = audit.to_dict()
    return found


#: One audit, or one per position of the slider.
Audits = Sequence[AuditFacts]


def moved(audits: Audits, start: int, write: Callable[[AuditFacts], str]) -> str | Moving:
    """Return a text of an audit, or of each where there are several."""
    texts = [write(audit) for audit in audits]
    return texts[0] if len(set(texts)) == 1 else Moving(texts, start)


def place_of(audits: Audits, start: int) -> int | None:
    """Return the place where a chart opens, or None where nothing moves."""
    return start if len(audits) > 1 else None


def at_start(audits: Audits) -> str:
    """Return what to add to the caption of a table that does not move."""
    return " at the strength the page opens with" if len(audits) > 1 else ""
