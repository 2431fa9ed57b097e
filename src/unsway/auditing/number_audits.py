"""From predictions of counts and amounts to a verdict, for any model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._typing import Floats
from ..checks import check_number
from ..effects.estimate import Progress
from ..frames import Numbered, Tabular, plain
from ..rows import Rows
from .causal import why_no_effects
from .comparisons import Comparison, comparison
from .inputs import MARGIN, Numbers, Settings
from .metrics import PLACES
from .number_causal import NumberCausal, number_causal
from .number_tables import (
    DecileTable,
    DoubleLift,
    MeasuredNumbers,
    double_lift,
    measure_numbers_of,
    target_units,
)
from .number_text import number_lines
from .number_words import number_evidence, number_facts
from .numbers import Units, units_of
from .tables import MetricTable, Table
from .training_rows import TrainingRows
from .verdict import Decision, decide

#: Version of what `NumberAudit.to_dict` holds, and of what it shares with `Audit.to_dict`.
SCHEMA_VERSION = 2


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NumberAudit(Numbered, Tabular):
    """What an audit of predictions of numbers found; made by `audit` with ``loss=``.

    As a frame it has one row per metric and group.

    Parameters
    ----------
    metrics : MetricTable
        Deviance, D², Gini, actual over expected … overall and by group, with intervals.
    deciles : DecileTable
        Target and predictions by tenths of the predictions.
    lorenz : Table
        Points of the Lorenz curve; empty where the target has negative numbers.
    causal : NumberCausal or None
    missing : str or None
        Why there is no causal part.
    comparison : Comparison or None
        The model compared with the baseline, if there is one.
    lift : DoubleLift or None
        Where the two differ most.
    n_rows : tuple of int
        Rows with z=0 and with z=1.
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    sensitive_name : str or None
    unit : str
        What the target is, such as "claims per years".
    scale : float
        The mean of the target; of numbers of either sign the standard deviation.
    settings : mapping
    training_rows : TrainingRows or None
        How many of the rows the model was trained on; None where it was not given.
    about : mapping of str to str
        What was audited, for the head of a page.
    """

    metrics: MetricTable
    deciles: DecileTable
    lorenz: Table
    causal: NumberCausal | None
    missing: str | None
    comparison: Comparison | None
    lift: DoubleLift | None
    n_rows: tuple[int, int]
    levels: tuple[str, ...]
    sensitive_name: str | None
    unit: str
    scale: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    training_rows: TrainingRows | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def units(self) -> Units:
        """How effects are written, and what a margin is a share of."""
        return units_of(self.settings["loss"], self.unit, self.scale)

    @property
    def decision(self) -> Decision:
        """What is claimed of the direct effect in the predictions, and on what it rests."""
        return decide(number_evidence(self))

    def _columns(self) -> Mapping[str, Any]:
        return self.metrics.table.columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "kind": "numbers",
            "decision": self.decision.to_dict(),
            "facts": list(number_facts(self)),
            "rows": dict(zip(PLACES[1:], self.n_rows, strict=True)),
            "sensitive": {"name": self.sensitive_name, "levels": self.levels},
            "about": self.about,
            "unit": self.unit,
            "scale": self.scale,
            "metrics": self.metrics.to_records(),
            "deciles": self.deciles.table.to_records(),
            "lorenz": self.lorenz.to_records() if self.lorenz.columns else [],
            "causal": self.causal and self.causal.to_dict(),
            "missing": self.missing,
            "comparison": self.comparison and self.comparison.to_dict(),
            "double_lift": self.lift and self.lift.to_dict(),
            "training_rows": self.training_rows and vars(self.training_rows),
            "settings": self.settings,
        }
        return dict(plain(found))

    def to_text(self) -> str:
        """Return the decision and the tables for a terminal."""
        return "\n".join(number_lines(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw target and predictions by tenths of the predictions; return the Axes."""
        return self.deciles.plot(ax)

    def __repr__(self) -> str:
        return self.to_text()


def number_settings(*, effects: Mapping[str, Any], **given: Any) -> Settings:
    """Return checked settings of an audit of numbers, which has no thresholds."""
    check_number(given.get("margin", MARGIN), "margin", above=0, below=1)
    known = {"cv": 5, "clip": 0.01, "propensity_model": None, "outcome_model": None}
    options = {**known, **effects, "interval": "influence", "n_bootstrap": 200}
    return Settings.check(0.5, calibration_strategy="quantile", effects=options, **given)


def judge_numbers(
    rows: Rows,
    predictions: Mapping[str, Any],
    settings: Settings,
    *,
    target: str = "y",
    effects: bool = True,
    progress: Progress | None = None,
) -> NumberAudit:
    """Return the audit of the predictions "y_pred" of checked rows, beside "baseline" if given."""
    from .. import __version__

    rows.groups.require_two("an audit of numbers")
    numbers = Numbers(loss=rows.outcome.loss)
    scores = {name: numbers.means(p, rows.y, name) for name, p in predictions.items()}
    measured = {
        name: measure_numbers_of(p, rows, settings, progress if name == "y_pred" else None)
        for name, p in scores.items()
    }
    model, missing = measured["y_pred"], why_no_effects(rows, settings.effects["cv"])
    missing = missing if effects or missing else "effects were not asked for"
    causal = None if missing else number_causal(rows, scores, settings)
    loss, units = rows.outcome.loss, target_units(rows, target)
    return NumberAudit(
        metrics=model.metrics,
        deciles=model.deciles,
        lorenz=model.lorenz,
        causal=causal,
        missing=missing,
        **_beside(rows, scores, measured, settings, causal),
        n_rows=(int((rows.z == 0).sum()), int((rows.z == 1).sum())),
        levels=rows.groups.names,
        sensitive_name=rows.groups.name,
        unit=units.name,
        scale=units.size,
        settings={
            "unsway": __version__,
            "loss": loss.name,
            **({"power": loss.power} if loss.name == "tweedie" else {}),  # type: ignore[attr-defined]
            "exposure": rows.outcome.per,
            **settings.named("n_bootstrap", "confidence", "calibration_bins", "margin"),
            **settings.named("max_rows_for_effects", "random_state"),
            "cv": int(settings.effects["cv"]),
            "clip": float(settings.effects["clip"]),
            "weighted": rows.weights is not None,
        },
    )


def _beside(
    rows: Rows,
    scores: Mapping[str, Floats],
    measured: Mapping[str, MeasuredNumbers],
    settings: Settings,
    causal: NumberCausal | None,
) -> dict[str, Any]:
    """Return the comparison with a baseline, and where the two differ most."""
    if "baseline" not in scores:
        return {"comparison": None, "lift": None}
    left = None
    if causal is not None and causal.baseline_left is not None:
        left = {"baseline": causal.baseline_left, "model": causal.direct_effect_left}
    names = {"baseline": "baseline", "model": "y_pred"}
    models = {name: measured[role] for name, role in names.items()}
    compared, lift = comparison(models, rows, settings, left, None), None
    if all((scores[role] > 0).all() for role in names.values()):
        how = settings.named("n_bootstrap", "confidence", "random_state")
        pair = {name: scores[role] for name, role in names.items()}
        lift = double_lift(rows.y, pair, sample_weight=rows.weights, **how)
    return {"comparison": compared, "lift": lift}
