"""An audit of a model's scores by the levels of a sensitive attribute with several of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from .._typing import Floats
from ..effects.level_effects import LevelEffects
from ..effects.level_estimation import effects_of_levels
from ..effects.level_left import LevelsLeft
from ..effects.reported_levels import reported_levels, rows_not_reported
from ..frames import plain
from ..grouping import Grouping
from ..rows import Rows
from .inputs import MARGIN, Settings, check_rows
from .tables import Table, short, text_table

#: Version of what `LevelAudit.to_dict` holds.
LEVEL_SCHEMA_VERSION = 1

#: A level of fewer rows, or fewer effective rows, is marked: its figures are noisy.
FEW_ROWS = 100


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LevelAudit:
    """What an audit by levels found; made by `audit_levels`. Printed, the verdict with tables.

    Parameters
    ----------
    table : Table
        One row per level: rows, labels, scores, decisions, and the direct effect left.
    overall : mapping of str to float
        Performance on all rows.
    left : LevelsLeft or None
        The direct effect left by level, and its spread.
    effects : LevelEffects or None
        What each level does to the labels, against the reference.
    missing : str or None
        Why there are no effects.
    levels : tuple of str
        The levels, the reference first.
    sensitive_name : str or None
        Name of the sensitive column.
    settings : mapping
        How the audit was made.
    """

    table: Table
    overall: Mapping[str, float]
    left: LevelsLeft | None
    effects: LevelEffects | None
    missing: str | None
    levels: tuple[str, ...]
    sensitive_name: str | None
    settings: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        """The audit in one paragraph, the two levels that are furthest apart named."""
        return " ".join(_sentences(self))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per level."""
        return self.table.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON; None where a number is unknown."""
        found = {
            "schema_version": LEVEL_SCHEMA_VERSION,
            "verdict": self.verdict,
            "sensitive": {"name": self.sensitive_name, "levels": list(self.levels)},
            "overall": dict(self.overall),
            "groups": self.table.to_records(),
            "direct_effect_left": self.left and self.left.to_dict(),
            "effects": self.effects and self.effects.to_dict(),
            "missing": self.missing,
            "settings": dict(self.settings),
        }
        return dict(plain(found))

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_text(self) -> str:
        """Return the verdict and the tables for a terminal."""
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        return self.to_text()


def audit_levels(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    X: Any = None,
    groups: Grouping | None = None,
    threshold: Any = 0.5,
    sample_weight: Any = None,
    confidence: float = 0.95,
    propensity_model: Any = None,
    outcome_model: Any = None,
    cv: int = 5,
    clip: float = 0.01,
    max_rows_for_effects: int | None = 200_000,
    random_state: int = 0,
) -> LevelAudit:
    """Judge any model by its scores in each level of a sensitive attribute.

    The headline is the spread of the direct effect left: how much higher one level scores than
    another beyond what the covariates explain. Judge rows that the model was not trained on.

    Parameters
    ----------
    y_true : column of length n
        Labels of two classes; the second in sorted order is the positive one.
    y_pred : column of length n
        p, the model's probability of the positive class.
    sensitive_features : column of length n
        z, with two levels or more.
    X : frame or array, optional
        Covariates, z not among them. Without it there is no direct effect left.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    threshold : float, default=0.5
        A row is selected when its score exceeds it; of several the smallest counts.
    sample_weight : column of length n, optional
        Weights of the rows.
    confidence : float, default=0.95
        How often the intervals should hold the truth for all levels at once.
    propensity_model, outcome_model : scikit-learn model or list of them, optional
        As in `estimate_effects`.
    cv, clip : int and float, default=5 and 0.01
        As in `estimate_effects`.
    max_rows_for_effects : int or None, default=200_000
        With more rows than this the effects are estimated on a part.
    random_state : int, default=0
        Seed.

    Returns
    -------
    LevelAudit

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, z = rng.normal(size=(1500, 1)), rng.choice(["a", "b", "c"], 1500)
    >>> p = 1 / (1 + np.exp(-X[:, 0]))
    >>> y = rng.random(1500) < p
    >>> found = audit_levels(y, p, sensitive_features=z, X=X)
    >>> len(found.to_frame()), found.left.spread.low
    (3, 0.0)
    """
    settings = Settings.check(
        threshold,
        calibration_bins=10,
        calibration_strategy="uniform",
        n_bootstrap=0,
        confidence=confidence,
        max_rows_for_effects=max_rows_for_effects,
        random_state=random_state,
        n_jobs=None,
        margin=MARGIN,
        selection_rate=None,
        effects={},
    )
    given = {"y_pred": y_pred}
    rows, scores = check_rows(y_true, given, sensitive_features, X, sample_weight, groups)
    options: dict[str, Any] = {"cv": cv, "clip": clip}
    options |= {"propensity_model": propensity_model, "outcome_model": outcome_model}
    return audit_rows(rows, scores["y_pred"], settings, **options)


def audit_rows(rows: Rows, p: Floats, settings: Settings, **options: Any) -> LevelAudit:
    """Return `audit_levels` of checked rows and scores."""
    left, effects, missing = None, None, None
    if rows.X is None:
        missing = "X was not given: without covariates the direct effect is not known"
    else:
        part, some = settings.rows_for_effects(rows, {"y_pred": p})
        try:
            effects = effects_of_levels(
                part,
                confidence=settings.confidence,
                random_state=settings.random_state,
                **options,
            )
            left = effects.direct_effect_left(some["y_pred"])
        except ValueError as error:
            missing = str(error)
    threshold = settings.thresholds[0]
    return LevelAudit(
        table=Table.of(_by_level(rows, p, threshold, left, effects)),
        overall=_performance(rows.y, p, rows.weights, threshold),
        left=left,
        effects=effects,
        missing=missing,
        levels=tuple(rows.groups.names[code] for code in reported_levels(rows)),
        sensitive_name=rows.groups.name,
        settings={
            "threshold": threshold,
            "confidence": settings.confidence,
            "rows": len(rows),
            "rows_for_effects": 0 if effects is None else effects.settings["n_rows"],
            "weighted": rows.weights is not None,
            "random_state": settings.random_state,
            **rows_not_reported(rows, reported_levels(rows)),
        },
    )


def _by_level(
    rows: Rows,
    p: Floats,
    threshold: float,
    left: LevelsLeft | None,
    effects: LevelEffects | None,
) -> Iterator[dict[str, Any]]:
    """Yield what is known of each level."""
    for code in reported_levels(rows):
        level, inside = rows.groups.names[code], rows.groups.codes == code
        weights = None if rows.weights is None else rows.weights[inside]
        found = _performance(rows.y[inside], p[inside], weights, threshold)
        line: dict[str, Any] = {"level": level, "rows": int(inside.sum()), **found}
        if left is not None and effects is not None and level in effects.levels:
            place = effects.levels.index(level)
            line["effective_rows"] = effects.effective_rows[place]
            line["fair_mean"] = effects.fair_means[place].estimate
            each = left.left[place]
            line |= {"left": each.estimate, "left_low": each.low, "left_high": each.high}
        line["few_rows"] = bool(min(line["rows"], line.get("effective_rows", np.inf)) < FEW_ROWS)
        yield line


def _performance(
    y: Floats, p: Floats, weights: Floats | None, threshold: float
) -> dict[str, float]:
    """Return labels, scores and decisions of some rows; NaN where there is one class alone."""
    both = 0 < y.mean() < 1
    return {
        "positive_rate": float(np.average(y, weights=weights)),
        "mean_score": float(np.average(p, weights=weights)),
        "selection_rate": float(np.average(p > threshold, weights=weights)),
        "accuracy": float(np.average((p > threshold) == y, weights=weights)),
        "auc": float(roc_auc_score(y, p, sample_weight=weights)) if both else float("nan"),
    }


def _sentences(found: LevelAudit) -> Iterator[str]:
    left = found.left
    if left is None:
        yield f"The direct effect in the scores is not known: {found.missing}."
    else:
        points = 100 * left.spread.estimate
        highest, lowest = short(left.highest), short(left.lowest)
        yield (
            f"Beyond what the covariates explain, {highest!r} scores {points:.1f} points higher "
            f"than {lowest!r}, the largest difference between two levels (between "
            f"{100 * left.spread.low:.1f} and {100 * left.spread.high:.1f} at "
            f"{left.confidence:.0%} confidence for all pairs at once)."
        )
        if left.spread.low == 0:
            yield "These rows do not tell it from no difference, which is not proof of none."
    few = [short(line["level"]) for line in found.table.to_records() if line["few_rows"]]
    if few:
        yield f"Few rows, so that the figures are noisy: {', '.join(few)}."
    rest = found.settings.get("rows_not_reported")
    if rest:
        yield f"{rest:,} rows are in combinations of fewer than 50 rows, which have no line."
    if found.effects is not None:
        level, worst = found.effects.worst_overlap
        yield (
            f"Of all levels {short(level)!r} overlaps least with {short(found.levels[0])!r}: "
            f"{worst.share_outside:.0%} of their propensities are near 0 or 1."
        )


_SHOWN = ("rows", "positive_rate", "mean_score", "selection_rate", "auc", "left")


def _lines(found: LevelAudit) -> Iterator[str]:
    """Yield the audit as text, line by line."""
    name = short(found.sensitive_name or "z")
    yield f"Audit of {found.settings['rows']:,} rows by {len(found.levels)} levels of {name}"
    yield ""
    yield found.verdict
    yield ""
    records = found.table.to_records()
    shown = [column for column in _SHOWN if column in records[0]]
    yield from text_table(
        ("level", *shown),
        (
            (short(line["level"]) + (" *" if line["few_rows"] else ""),
             *(_number(line[column], column, line) for column in shown))
            for line in records
        ),
    )  # fmt: skip
    if any(line["few_rows"] for line in records):
        yield f"* fewer than {FEW_ROWS} rows, or as few effective ones"
    if found.effects is not None:
        yield ""
        yield repr(found.effects)


def _number(value: Any, column: str, line: Mapping[str, Any]) -> str:
    if column == "rows":
        return f"{value:,}"
    if value is None or value != value:
        return ""
    if column == "left":
        return f"{value:+.3f} [{line['left_low']:+.3f}, {line['left_high']:+.3f}]"
    return f"{value:.3f}"
