"""An audit of a model's scores by the levels of a sensitive attribute with three or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Floats
from ..display import fragment, page, paragraph, table
from ..effects import Estimate
from ..effects.level_effects import LevelEffects
from ..effects.level_left import LevelsLeft
from ..effects.level_parts import LevelParts
from ..effects.reported_levels import reported_levels, rows_not_reported
from ..frames import Numbered, plain
from ..rows import Rows
from ..svg import Interval, intervals
from .evidence import Evidence
from .inputs import Settings
from .level_causal import LevelCausal, refuse_for_levels
from .level_comparison import LevelComparison, compare_levels
from .level_decisions import worst_level
from .level_measures import FEW_ROWS, columns_of, measure_rows, measures_by_level
from .level_text import level_audit_lines
from .tables import Table, short
from .training_rows import TrainingRows
from .verdict import Decision, decide

#: Version of what `LevelAudit.to_dict` holds.
LEVEL_SCHEMA_VERSION = 2


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelAudit(Numbered):
    """What `audit` finds for three levels or more. Printed, it is the decision with its tables.

    Parameters
    ----------
    table : Table
        One row per level: rows, labels, scores and decisions with their intervals, the direct
        effect left, the direct effect in the scores and the pass-through.
    overall : mapping of str to Estimate
        The measures on all rows.
    left : LevelsLeft or None
        The direct effect left by level, and its spread.
    parts, blind : LevelParts or None
        The direct effect in the scores and the pass-through of each level; the same of a blind
        reference model.
    effects : LevelEffects or None
        What each level does to the labels, against the reference.
    evidence : mapping of str to Evidence
        What the decision on each level against the reference rests on.
    comparison : LevelComparison or None
        The model compared with the baseline, if there is one.
    missing : str or None
        Why there are no effects.
    levels, left_out : tuple of str
        The levels, the reference first; and those with too few rows for effects.
    classes : tuple of str
        What y = 0 and y = 1 stand for.
    sensitive_name : str or None
        Name of the sensitive column.
    settings : mapping
        How the audit was made.
    training_rows : TrainingRows or None
        How many of the rows the model was trained on; None where the model was not given.
    about : mapping
        What was audited, such as the file and the model.
    """

    table: Table
    overall: Mapping[str, Estimate]
    left: LevelsLeft | None
    parts: LevelParts | None
    blind: LevelParts | None
    effects: LevelEffects | None
    evidence: Mapping[str, Evidence]
    comparison: LevelComparison | None
    missing: str | None
    levels: tuple[str, ...]
    left_out: tuple[str, ...]
    classes: tuple[str, ...]
    sensitive_name: str | None
    settings: Mapping[str, Any]
    training_rows: TrainingRows | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def decisions(self) -> Mapping[str, Decision]:
        """What is claimed of each level against the reference."""
        about: dict[str, Any] = {
            "scored": short(self.classes[1]),
            "favourable": short(self.settings["favourable"]),
            "notes": self.notes,
        }
        return {level: decide(replace(each, **about)) for level, each in self.evidence.items()}

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the rows."""
        note = None if self.training_rows is None else self.training_rows.note
        return [] if note is None else [note]

    @property
    def worst(self) -> str | None:
        """The level that the decision is about; None where no effects are known."""
        return worst_level(self.decisions) if self.decisions else None

    @property
    def decision(self) -> Decision | None:
        """What is claimed of the worst level; None where no effects are known."""
        return None if self.worst is None else self.decisions[self.worst]

    @property
    def verdict(self) -> str:
        """The audit in one paragraph, the worst level named."""
        return " ".join(_sentences(self))

    @property
    def few_rows(self) -> list[str]:
        """The levels whose figures are noisy."""
        return [line["level"] for line in self.table.to_records() if line["few_rows"]]

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per level."""
        return self.table.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": LEVEL_SCHEMA_VERSION,
            "verdict": self.verdict,
            "worst": self.worst,
            "decisions": {level: each.to_dict() for level, each in self.decisions.items()},
            "about": dict(self.about),
            "sensitive": {"name": self.sensitive_name, "levels": list(self.levels)},
            "classes": list(self.classes),
            "overall": {name: each.to_dict() for name, each in self.overall.items()},
            "groups": self.table.to_records(),
            "direct_effect_left": self.left and self.left.to_dict(),
            "parts": self.parts and self.parts.to_dict(),
            "blind_reference": self.blind and self.blind.to_dict(),
            "effects": self.effects and self.effects.to_dict(),
            "comparison": self.comparison and self.comparison.to_dict(),
            "missing": self.missing,
            "left_out": list(self.left_out),
            "training_rows": self.training_rows and vars(self.training_rows),
            "settings": dict(self.settings),
        }
        return dict(plain(found))

    def to_text(self) -> str:
        """Return the verdict and the tables for a terminal."""
        return "\n".join(level_audit_lines(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the direct effect in the scores of each level; return the Axes."""
        from ..effects.plots import plot_forest

        if self.parts is None:
            raise ValueError(f"there is no direct effect to draw: {self.missing}")
        title = f"Direct effect in the scores against {self.parts.reference}"
        return plot_forest(dict(self.parts.direct), ax, title=title)

    def to_html(self) -> str:
        """Return verdict, chart and table as a page of HTML that opens without the network.

        `write_audit_report` makes the whole report.
        """
        return page(self._title(), self._repr_html_())

    def _title(self) -> str:
        name = short(self.sensitive_name or "z")
        return f"Audit of {self.settings['rows']:,} rows by {len(self.levels)} levels of {name}"

    def _repr_html_(self) -> str:
        chart = ""
        if self.parts is not None:
            lines = [
                Interval(label=level, estimate=each.estimate, low=each.low, high=each.high)
                for level, each in self.parts.direct.items()
            ]
            chart = intervals(lines, title="Direct effect in the scores by level")
        return fragment(self._title(), paragraph(self.verdict), chart, table(self.table.columns))

    def __repr__(self) -> str:
        return self.to_text()


def audit_levels(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: Settings,
) -> LevelAudit:
    """Return `audit` of checked rows of three levels or more; a baseline is compared with."""
    refuse_for_levels(rows, settings)
    causal, missing = None, None
    try:
        causal = LevelCausal.of(rows, scores, settings)
    except ValueError as error:
        missing = str(error)
    p, compared = scores["y_pred"], None
    if "baseline" in scores:
        models = {"baseline": "baseline", "y_pred": "model"}
        compared = compare_levels(rows, scores, settings, causal, missing, models)
    overall = measure_rows(rows, p, settings.thresholds[0])
    return LevelAudit(
        table=Table.of(_lines(rows, p, settings, causal)),
        overall={name: each.interval(settings.confidence) for name, each in overall.items()},
        left=None if causal is None else causal.left["y_pred"],
        parts=None if causal is None else causal.parts["y_pred"],
        blind=None if causal is None else causal.blind,
        effects=None if causal is None else causal.effects,
        evidence={} if causal is None else causal.evidence["y_pred"],
        comparison=compared,
        missing=missing,
        levels=tuple(rows.groups.names[code] for code in reported_levels(rows)),
        left_out=() if causal is None else causal.left_out,
        classes=rows.outcome.names,
        sensitive_name=rows.groups.name,
        settings=_settings(rows, settings, causal),
    )


def _settings(rows: Rows, settings: Settings, causal: LevelCausal | None) -> dict[str, Any]:
    """Return how the audit was made."""
    from .. import __version__

    known = ("confidence", "max_rows_for_effects", "random_state", "margin", "favourable")
    return {
        "unsway": __version__,
        "threshold": settings.thresholds[0],
        **settings.named(*known),
        "rows": len(rows),
        "rows_for_effects": 0 if causal is None else causal.effects.settings["n_rows"],
        "weighted": rows.weights is not None,
        **({} if rows.clusters is None else {"clusters": int(rows.clusters.max()) + 1}),
        **rows_not_reported(rows, reported_levels(rows)),
    }


def _lines(
    rows: Rows, p: Floats, settings: Settings, causal: LevelCausal | None
) -> Iterator[dict[str, Any]]:
    """Yield what is known of each level."""
    for line in measures_by_level(rows, p, settings.thresholds[0], settings.confidence):
        few = line["rows"] < FEW_ROWS
        if causal is not None:
            found = _effects_of(line["level"], causal)
            few = few or found["effective_rows"] < FEW_ROWS
            line |= found
        yield {**line, "few_rows": bool(few)}


def _effects_of(level: str, causal: LevelCausal) -> dict[str, Any]:
    """Return the causal columns of a level; NaN where it has too few rows."""
    effects, left, parts = causal.effects, causal.left["y_pred"], causal.parts["y_pred"]
    place = effects.levels.index(level) if level in effects.levels else None
    return {
        "effective_rows": np.nan if place is None else effects.effective_rows[place],
        "fair_mean": np.nan if place is None else effects.fair_means[place].estimate,
        **columns_of("left", None if place is None else left.left[place]),
        **columns_of("direct", parts.direct.get(level)),
        **columns_of("pass_through", parts.pass_through.get(level)),
    }


def _sentences(found: LevelAudit) -> Iterator[str]:
    """Yield the decision on the worst level, and what else a reader must know."""
    if found.decision is None or found.left is None:
        yield f"The direct effect in the scores is not known: {found.missing}."
    else:
        yield found.decision.text
        yield from _others(found)
        left = found.left
        yield (
            f"The direct effect left is largest between {short(left.highest)} and "
            f"{short(left.lowest)}: {100 * left.spread.estimate:.1f} points (between "
            f"{100 * left.spread.low:.1f} and {100 * left.spread.high:.1f} at "
            f"{left.confidence:.0%} confidence for all pairs at once)."
        )
    yield from found.notes
    if found.few_rows:
        yield f"Few rows, so that the figures are noisy: {', '.join(map(short, found.few_rows))}."
    rest = found.settings.get("rows_not_reported")
    if rest:
        yield f"{rest:,} rows are in combinations of fewer than 50 rows, which have no line."
    if found.left_out:
        yield f"Too few rows to estimate effects: {', '.join(map(short, found.left_out))}."
    if found.effects is not None:
        level, worst = found.effects.worst_overlap
        yield (
            f"Of all levels {short(level)} overlaps least with {short(found.levels[0])}: "
            f"{worst.share_outside:.0%} of their propensities are near 0 or 1."
        )


def _others(found: LevelAudit) -> Iterator[str]:
    """Yield which other levels have a direct effect, and how many levels were compared."""
    claimed = [
        short(level)
        for level, each in found.decisions.items()
        if each.state == "direct effect" and level != found.worst
    ]
    if claimed:
        yield f"The scores hold a direct effect for {', '.join(claimed)} too."
