"""What a user hands to `audit` and `compare`, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from .._typing import Floats
from ..checks import (
    check_choice,
    check_integer,
    check_number,
    check_weights,
    read_clusters,
    read_column,
    read_numbers,
)
from ..core import Loss
from ..effects.estimate import check_confidence, check_replicates
from ..folds import fold_numbers, hold_out
from ..frames import plain
from ..grouping import Grouping
from ..groups import Groups
from ..outcome import NUMBER_LOSSES, Outcome, number_loss, outcome_reader
from ..rows import Rows
from ..tables import row_count
from .number_metrics import check_means

#: A direct effect within this, in the unit of the scores, is small, unless another margin is given.
MARGIN = 0.02

STRATEGIES = ("uniform", "quantile")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How models are judged; see `audit` for what each setting says.

    `effects` holds those of `estimate_effects` that the others do not tell; `favourable` is the
    name of a class, or empty.
    """

    thresholds: tuple[float, ...]
    calibration_bins: int
    calibration_strategy: str
    n_bootstrap: int
    confidence: float
    max_rows_for_effects: int | None
    random_state: int
    n_jobs: int | None
    effects: Mapping[str, Any]
    margin: float = MARGIN
    favourable: str = ""
    selection_rates: tuple[float, ...] = ()

    @classmethod
    def check(cls, threshold: Any, **given: Any) -> Settings:
        """Return the settings, or say which is wrong."""
        check_choice(given["calibration_strategy"], "calibration_strategy", STRATEGIES)
        check_confidence(given["confidence"])
        check_number(given.get("margin", MARGIN), "margin", above=0, below=1)
        if check_integer(given["n_bootstrap"], "n_bootstrap", at_least=0):
            check_replicates(given["n_bootstrap"])
        check_integer(given["random_state"], "random_state", at_least=0)
        check_integer(given["calibration_bins"], "calibration_bins", at_least=1)
        most = given["max_rows_for_effects"]
        if most is not None and (not isinstance(most, int | np.integer) or most < 100):
            raise ValueError(
                f"max_rows_for_effects must be an integer of at least 100, or None; got {most!r}"
            )
        rates = check_rates(given.pop("selection_rate", None))
        return cls(thresholds=check_thresholds(threshold), selection_rates=rates, **given)

    def named(self, *names: str) -> dict[str, Any]:
        """Return some of the settings by name, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in names}

    @property
    def effect_options(self) -> dict[str, Any]:
        """Options of `estimate_effects`; it need not warn of overlap, which the verdict judges."""
        known = {
            "confidence": self.confidence,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "max_extreme_share": 1,
        }
        return {**known, **self.effects}

    def rows_for_effects(
        self, rows: Rows, scores: Mapping[str, Floats]
    ) -> tuple[Rows, dict[str, Floats]]:
        """Return no more rows than are wanted, chosen by what they hold, with their scores.

        Each group and label keeps its share. Clusters are taken whole.
        """
        most = self.max_rows_for_effects
        if most is None or len(rows) <= most:
            return rows, dict(scores)
        if rows.clusters is not None:
            parts, seed = -(-len(rows) // most), self.random_state
            held = fold_numbers(rows.X, rows.z, parts, seed, clusters=rows.clusters) == 0
        else:
            held = hold_out(rows.X, rows.strata(), most / len(rows), self.random_state)
        kept = np.flatnonzero(held)
        return rows.take(kept), {name: column[kept] for name, column in scores.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """What ``y_true`` is where it holds counts or amounts.

    Parameters
    ----------
    loss : Loss
        What it is a target of.
    exposure : column, optional
        What totals are divided by.
    """

    loss: Loss
    exposure: Any = None

    @classmethod
    def check(cls, loss: Any, power: float = 1.5, exposure: Any = None) -> Numbers | None:
        """Return what was stated, None for labels, or say what is wrong."""
        if loss is not None:
            check_choice(loss, "loss", NUMBER_LOSSES)
            return cls(loss=number_loss(loss, power), exposure=exposure)
        outcome_reader(None, exposure=exposure)  # says that an exposure needs a loss
        return None

    def outcome(self, y_true: Any, n_rows: int) -> Outcome:
        """Return the numbers, per unit of exposure."""
        given = {"loss": self.loss, "exposure": self.exposure, "role": "y_true"}
        return Outcome.numbers(y_true, n_rows, **given)

    def means(self, values: Any, y: Floats, role: str) -> Floats:
        """Return predictions, or say why they cannot be means of y."""
        if values is None:
            raise TypeError(f"{role} is None; give the model's predictions")
        found = read_numbers(values, role, len(y), beside="y_true")
        check_means(self.loss, y, found, role)
        return found


def check_rows(
    y_true: Any,
    scores: Mapping[str, Any],
    sensitive_features: Any,
    X: Any,
    sample_weight: Any,
    groups: Grouping | None,
    cluster: Any = None,
    *,
    numbers: Numbers | None = None,
) -> tuple[Rows, dict[str, Floats]]:
    """Return the rows and each model's scores, or say what is wrong and where.

    The exposure of ``numbers`` is part of the weights.
    """
    labels, _ = read_column(y_true, "y_true")
    n_rows = len(labels)
    if numbers is None:
        found = {role: check_scores(values, n_rows, role) for role, values in scores.items()}
        advice = "; judge one of them at a time, as in y_true == 'a' with its column of scores"
        outcome = Outcome.labels(y_true, n_rows, "y_true", advice=advice)
    else:
        outcome = numbers.outcome(y_true, n_rows)
        found = {role: numbers.means(p, outcome.values, role) for role, p in scores.items()}
    sensitive = Groups.check(sensitive_features, n_rows, groups=groups, beside="y_true")
    weights = check_weights(sample_weight, n_rows, beside="y_true")
    if outcome.exposure is not None:
        weights = outcome.exposure if weights is None else weights * outcome.exposure
        outcome = replace(outcome, exposure=None)
    rows = Rows(
        X=X,
        outcome=outcome,
        groups=sensitive,
        weights=weights,
        clusters=read_clusters(cluster, n_rows, beside="y_true"),
    )
    if X is not None and row_count(X) != n_rows:
        raise ValueError(f"X has {row_count(X)} rows but y_true has {n_rows}; they must match")
    if sensitive.kept is not None:  # rows of other levels are left out
        codes = np.zeros(n_rows, dtype=sensitive.codes.dtype)
        codes[sensitive.kept] = sensitive.codes
        rows = replace(rows, groups=replace(sensitive, codes=codes)).take(sensitive.kept)
        found = {role: values[sensitive.kept] for role, values in found.items()}
    rows.outcome.check_present(rows.weights, "y_true")
    rows.groups.check_present(rows.weights, "sensitive_features")
    if X is not None:
        rows.groups.refuse_in(rows.X)
    named = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "X": X}
    _check_index({"y_true": y_true, **scores, **named, "cluster": cluster})
    return rows, found


def check_scores(values: Any, n_rows: int, role: str) -> Floats:
    """Return probabilities of the positive class, or say why they are none."""
    if values is None:
        raise TypeError(f"{role} is None; give the model's probability of the positive class")
    kind = "numbers, the probabilities of the positive class"
    found = read_numbers(values, role, n_rows, beside="y_true", kind=kind)
    outside = int(((found < 0) | (found > 1)).sum())
    if outside:
        raise ValueError(
            f"{role} has {outside:,} values outside [0, 1] in {n_rows:,} rows: it looks like "
            "margins (raw scores), not probabilities. Give predict_proba(X)[:, 1], or the margin "
            "through 1 / (1 + exp(-margin))"
        )
    return found


def check_thresholds(threshold: Any) -> tuple[float, ...]:
    """Return one threshold or several, in increasing order, each once."""
    several = isinstance(threshold, Sequence | np.ndarray) and not isinstance(threshold, str)
    values = list(threshold) if several else [threshold]
    if not values:
        raise ValueError("threshold is an empty list; give at least one number in [0, 1]")
    for value in values:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise ValueError(f"threshold must be a number in [0, 1], or several; got {value!r}")
    return tuple(sorted({float(value) for value in values}))


def check_rates(rate: Any) -> tuple[float, ...]:
    """Return the shares to select, in increasing order, each once."""
    several = isinstance(rate, Sequence | np.ndarray) and not isinstance(rate, str)
    values = list(rate) if several else [] if rate is None else [rate]
    for value in values:
        check_number(value, "selection_rate", above=0, below=1)
    return tuple(sorted({float(value) for value in values}))


def name_of(y_true: Any) -> str:
    """Return what a column of numbers is called; y if it has no name."""
    return read_column(y_true, "y_true")[1] or "y"


def name_favourable(favourable: Any, outcome: Outcome) -> str:
    """Return the name of the label that is good for a person, or "" where it was not stated."""
    if favourable is None:
        return ""
    names = outcome.names
    text = str(favourable)
    if isinstance(favourable, int | float | np.number | np.bool_) and text not in names:
        text = next((name for name in names if _as_number(name) == float(favourable)), text)
    if text not in names:
        raise ValueError(f"favourable must be {names[0]!r} or {names[1]!r}; got {favourable!r}")
    return text


def _as_number(name: str) -> float:
    try:
        return float({"True": "1", "False": "0"}.get(name, name))
    except ValueError:
        return np.nan


def _check_index(given: Mapping[str, Any]) -> None:
    """Raise where two columns of pandas name their rows differently: they would be mismatched."""
    first: tuple[str, Any] | None = None
    for role, values in given.items():
        native = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
        column = isinstance(native, nw.DataFrame | nw.Series)
        index = nw.maybe_get_index(native) if column else None
        if index is None:
            continue
        first = first or (role, index)
        if not first[1].equals(index):
            raise ValueError(
                f"{first[0]} and {role} have different indexes, so their rows may not be the same "
                "people; align them, or drop the indexes with reset_index(drop=True)"
            )
