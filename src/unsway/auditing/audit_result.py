"""What an audit of scores of labels found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..display import page
from ..frames import Numbered, plain
from .causal import CausalAudit
from .comparisons import Comparison
from .evidence import Evidence, from_parts, name_groups
from .metrics import BETWEEN, PLACES
from .notebook import audit_html
from .summary import facts
from .tables import Calibration, MetricTable, Table, short
from .training_rows import TrainingRows
from .verdict import Decision, decide

#: Version of what `Audit.to_dict` holds.
SCHEMA_VERSION = 2


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Audit(Numbered):
    """What an audit found; made by `audit`. Printed, it is the decision with its tables.

    Parameters
    ----------
    metrics : MetricTable
        Performance overall and by group, and differences between the groups, with intervals:
        ``audit.metrics["auc", "z=1"]``, ``audit.metrics["demographic_parity_difference"]``.
    calibration : Calibration
        Mean scores and shares of positive labels, overall and by group.
    causal : CausalAudit or None
        Effects of z on labels and scores, the direct effect left, and whether the data can tell.
    missing : str or None
        Why there is no causal part.
    comparison : Comparison or None
        The model compared with the baseline, if there is one.
    n_rows : tuple of int
        Rows with z=0 and with z=1.
    levels, classes : tuple of str
        What z = 0 and z = 1, and what y = 0 and y = 1 stand for.
    sensitive_name : str or None
        Name of the sensitive column.
    settings : mapping
        How the audit was made.
    training_rows : TrainingRows or None
        How many of the rows the model was trained on; None where the model was not given.
    about : mapping
        What was audited, in words, such as the file and the model; a report begins with it.
    """

    metrics: MetricTable
    calibration: Calibration
    causal: CausalAudit | None
    missing: str | None
    comparison: Comparison | None
    n_rows: tuple[int, int]
    levels: tuple[str, ...]
    classes: tuple[str, ...]
    sensitive_name: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    training_rows: TrainingRows | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds of the decisions."""
        return tuple(self.settings["thresholds"])

    @property
    def decision(self) -> Decision:
        """What is claimed of the direct effect in the scores, and on what it rests."""
        return decide(_evidence(self))

    @property
    def verdict(self) -> str:
        """The decision in one paragraph, and what else a reader must know."""
        return " ".join([self.decision.text, *_notes(self)])

    @property
    def performance(self) -> Table:
        """The metrics of all rows and of each group."""
        return self._part(PLACES)

    @property
    def groups(self) -> Table:
        """The metrics that compare the groups."""
        return self._part((BETWEEN,))

    def _part(self, places: tuple[str, ...]) -> Table:
        entries = {k: v for k, v in self.metrics.entries.items() if k.group in places}
        return MetricTable(entries=entries, levels=self.levels).table

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per metric, group and threshold."""
        return self.metrics.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "decision": self.decision.to_dict(),
            "facts": list(facts(self)),
            "about": self.about,
            "rows": dict(zip(PLACES[1:], self.n_rows, strict=True)),
            "sensitive": {"name": self.sensitive_name, "levels": self.levels},
            "classes": self.classes,
            "metrics": self.metrics.to_records(),
            "calibration": self.calibration.table.to_records(),
            "causal": self.causal and self.causal.to_dict(),
            "missing": self.missing,
            "training_rows": self.training_rows and vars(self.training_rows),
            "comparison": self.comparison and self.comparison.to_dict(),
            "settings": self.settings,
        }
        return dict(plain(found))

    def to_text(self) -> str:
        """Return the decision and the tables for a terminal."""
        from .text import audit_lines

        return "\n".join(audit_lines(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the selection rates of the groups by threshold; return the Axes."""
        from .plots import plot_groups

        return plot_groups(self, ax)

    def to_html(self) -> str:
        """Return verdict, charts and tables as a page of HTML that opens without the network.

        `write_audit_report` makes the whole report.
        """
        return page(self._heading(), self._repr_html_())

    def _heading(self) -> str:
        from .text import audit_lines

        return next(audit_lines(self))

    def _repr_html_(self) -> str:
        return audit_html(self, self._heading())

    def __repr__(self) -> str:
        return self.to_text()


def _evidence(found: Audit) -> Evidence:
    """Return what the decision on an audit rests on."""
    causal, how = found.causal, found.settings
    about: dict[str, Any] = {
        "groups": name_groups(found.levels, found.sensitive_name),
        "margin": how["margin"],
        "scored": short(found.classes[1]),
        "favourable": short(how["favourable"]),
        "notes": _notes(found),
    }
    if causal is None:
        unknown = dict.fromkeys(("estimate", "se", "low", "high"))
        return Evidence(direct=unknown, why_not=found.missing or "", **about)
    blind = None if causal.blind is None else causal.blind.pass_through
    return Evidence(
        **from_parts(causal.parts, causal.direct_effect_left),
        confidence=how["confidence"],
        blind=None if blind is None else blind.to_dict(),
        findings=causal.verdict.to_dict()["findings"],
        n_rows=causal.n_rows,
        **about,
    )


def _notes(found: Audit) -> list[str]:
    """Return what a reader must know of the rows."""
    note = None if found.training_rows is None else found.training_rows.note
    return [] if note is None else [note]
