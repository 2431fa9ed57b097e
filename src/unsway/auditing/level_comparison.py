"""Several models on the same rows, by the levels of a sensitive attribute with three or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Floats
from ..effects import Estimate
from ..effects.influence import Mean
from ..effects.level_left import LevelsLeft
from ..effects.reported_levels import reported_levels
from ..frames import Numbered, Tabular, plain
from ..rows import Rows
from .evidence import Evidence
from .inputs import Settings
from .level_causal import LevelCausal, refuse_for_levels
from .level_decisions import worst_level
from .level_measures import measure_rows
from .metrics import Key
from .non_inferiority import NonInferiority, judge_margins
from .numbers import number
from .tables import MetricTable, Table, short, show, text_table
from .verdict import Decision, decide


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelComparison(Numbered, Tabular):
    """Models beside a reference, the first of them, for three levels or more.

    As a frame it has a row per model and measure.

    Parameters
    ----------
    models : mapping of str to mapping of str to Estimate
        The measures of each model on all rows.
    differences : mapping of str to mapping of str to Estimate
        Of each model but the first: its measures minus the reference's, with paired intervals.
    left_differences : mapping of str to LevelsLeft
        The direct effect left by level minus the reference's. What X explains is the same for all
        models of the rows, so this is known without X.
    left : mapping of str to LevelsLeft, or None
        The direct effect left in each model's scores; None without X.
    decisions : mapping of str to Decision, or None
        What is claimed of the worst level of each model; None without X.
    missing : str or None
        Why there is no `left`.
    settings : mapping
        How the comparison was made.
    margins : mapping of str to float
        The loss of each measure that is accepted, named before the models were measured.
    """

    models: Mapping[str, Mapping[str, Estimate]]
    differences: Mapping[str, Mapping[str, Estimate]]
    left_differences: Mapping[str, LevelsLeft]
    left: Mapping[str, LevelsLeft] | None = None
    decisions: Mapping[str, Decision] | None = None
    missing: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    margins: Mapping[str, float] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The model the others are compared with."""
        return next(iter(self.models))

    @property
    def non_inferiority(self) -> tuple[NonInferiority, ...]:
        """Whether each model is not worse than the reference by more than each margin."""
        tables = {
            model: MetricTable(
                entries={Key(name, "overall"): each for name, each in found.items()}, levels=()
            )
            for model, found in self.differences.items()
        }
        return judge_margins(tables, self.reference, self.margins)

    @property
    def table(self) -> Table:
        """One row per model but the reference, and measure or level."""
        return Table.of(self._lines())

    def _lines(self) -> Iterator[dict[str, Any]]:
        base = self.models[self.reference]
        for model, measures in self.differences.items():
            about = {"model": model, "reference": self.reference}
            for name, each in measures.items():
                values = {
                    "value": self.models[model][name].estimate,
                    "reference_value": base[name].estimate,
                }
                yield {**about, "measure": name, "level": "", **values, **_ends(each)}
            apart = self.left_differences[model]
            for level, each in zip(apart.levels, apart.left, strict=True):
                values = {
                    "value": self._left_of(model, level),
                    "reference_value": self._left_of(self.reference, level),
                }
                line = {**about, "measure": "direct_effect_left", "level": level}
                yield {**line, **values, **_ends(each)}

    def _left_of(self, model: str, level: str) -> float:
        """Return the direct effect left of a level; NaN where it is not known."""
        left = None if self.left is None else self.left[model]
        if left is None or level not in left.levels:
            return float("nan")
        return left.left[left.levels.index(level)].estimate

    def _columns(self) -> Mapping[str, Any]:
        return self.table.columns

    def to_dict(self) -> dict[str, Any]:
        """Return every number, ready for JSON."""
        found = {
            "models": list(self.models),
            "reference": self.reference,
            "differences": self.table.to_records(),
            "direct_effect_left": _dicts(self.left),
            "decisions": _dicts(self.decisions),
            "missing": self.missing,
            "settings": dict(self.settings),
            "margins": dict(self.margins),
            "non_inferiority": [each.to_dict() for each in self.non_inferiority],
        }
        return dict(plain(found))

    def to_text(self) -> str:
        """Return the comparison for a terminal: each model's numbers, and its differences."""
        rows = []
        for name, each in self.models[self.reference].items():
            values = [f"{model[name].estimate:.4f}" for model in self.models.values()]
            apart = [show(found[name], "+.4f") for found in self.differences.values()]
            rows.append((name, f"{each.estimate:.4f}", *values[1:], *apart))
        for place, level in enumerate(next(iter(self.left_differences.values())).levels):
            values = [number(self._left_of(model, level), 4) for model in self.models]
            apart = [show(left.left[place], "+.4f") for left in self.left_differences.values()]
            rows.append((f"left, {short(level, 20)}", *values, *apart))
        labels = [short(name, 20) for name in self.models]
        heads = [f"{label} − {labels[0]}" for label in labels[1:]]
        lines = text_table(("", *labels, *heads), rows)
        for name, decision in (self.decisions or {}).items():
            lines.append(f"{short(name, 20)}: {decision.headline}.")
        if self.missing is not None:
            lines.append(f"Without the direct effect left: {self.missing}.")
        return "\n".join([*lines, *map(str, self.non_inferiority)])

    def _title(self) -> str:
        return f"Comparison of {len(self.models)} models with {short(self.reference)}"

    def __repr__(self) -> str:
        return self.to_text()


def compare_levels(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: Settings,
    causal: LevelCausal | None,
    missing: str | None,
    names: Mapping[str, str],
    margins: Mapping[str, float] | None = None,
) -> LevelComparison:
    """Put models that were measured on the same rows side by side.

    ``names`` maps names of scores to those of the models, the reference first.
    """
    level, (first, *others) = settings.confidence, names
    measured = {key: _measure(rows, scores[key], settings) for key in names}
    compared = [rows.groups.names[code] for code in reported_levels(rows)]
    compared = compared if causal is None else list(causal.effects.levels)
    decisions = None
    if causal is not None:
        decisions = {called: _worst(causal.evidence[key]) for key, called in names.items()}
    return LevelComparison(
        models={
            called: {name: each.interval(level) for name, each in measured[key].items()}
            for key, called in names.items()
        },
        differences={
            names[key]: {
                name: (each - measured[first][name]).interval(level)
                for name, each in measured[key].items()
            }
            for key in others
        },
        left_differences={
            names[key]: _apart(scores[key] - scores[first], rows, compared, level) for key in others
        },
        left=None if causal is None else {names[key]: causal.left[key] for key in names},
        decisions=decisions,
        missing=missing,
        settings={
            **settings.named("thresholds", "confidence", "random_state", "margin", "favourable"),
            "rows": len(rows),
        },
        margins=dict(margins or {}),
    )


def compare_by_level(
    rows: Rows,
    scores: Mapping[str, Floats],
    settings: Settings,
    margins: Mapping[str, float],
) -> LevelComparison:
    """Return `compare` of checked rows of three levels or more."""
    refuse_for_levels(rows, settings)
    causal, missing = None, None
    try:
        causal = LevelCausal.of(rows, scores, settings)
    except ValueError as error:
        missing = str(error)
    names = {name: name for name in scores}
    return compare_levels(rows, scores, settings, causal, missing, names, margins)


def _worst(evidence: Mapping[str, Evidence]) -> Decision:
    decisions = {level: decide(each) for level, each in evidence.items()}
    return decisions[worst_level(decisions)]


def _measure(rows: Rows, p: Floats, settings: Settings) -> dict[str, Mean]:
    """Return the measures in which models differ."""
    found = measure_rows(rows, p, settings.thresholds[0])
    return {name: each for name, each in found.items() if name != "positive_rate"}


def _apart(moved: Floats, rows: Rows, levels: Sequence[str], confidence: float) -> LevelsLeft:
    """Return how much more is left by level where scores move by so much."""
    names, groups = rows.groups.names, rows.groups
    codes = [names.index(level) for level in levels]
    shares = np.asarray(groups.weights_of(groups.counts(rows.weights)))[codes]
    inside = [rows.mean_one_weights * (groups.codes == code) for code in codes]
    means = [Mean.average(moved, each, rows.clusters) for each in inside]
    return LevelsLeft.of(means, (shares / shares.sum()).tolist(), levels, confidence)


def _dicts(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if found is None else {name: each.to_dict() for name, each in found.items()}


def _ends(each: Estimate) -> dict[str, float]:
    """Return a difference as columns."""
    return {"difference": each.estimate, "se": each.se, "low": each.low, "high": each.high}
