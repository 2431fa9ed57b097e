"""Strengths compared with a few reference strengths on the same rows: what they share cancels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from .._typing import Floats
from ..auditing.number_metrics import row_deviances
from ..criteria.criterion import choose_strength
from ..effects.fair_parts import FairParts
from ..effects.influence import Mean
from ..effects.pass_through import Equations, pass_through
from ..models.labels import criterion_of
from ..models.regression import scores_of
from ..rows import Rows
from .inputs import Inputs
from .judge import Judge
from .level_judge import LevelJudge
from .measures import Part, Point
from .number_measures import numbers_of
from .store import Store

#: Scores are kept this far from 0 and 1 where their logarithm is taken.
_SMALLEST = 1e-15

#: Returns the scores of a part's rows at a strength, or None where they are not known.
Scores = Callable[[float], Floats | None]


def reference_strengths(strengths: Sequence[float], default: float) -> dict[str, float]:
    """Return the strengths that others are compared with: none, the default, the largest.

    Examples
    --------
    >>> reference_strengths([0.0, 0.5, 0.95], 0.9)
    {'blind': 0.0, 'default': 0.95, 'full': 0.95}
    """
    nearest = min(strengths, key=lambda strength: abs(strength - default))
    return {"blind": min(strengths), "default": nearest, "full": max(strengths)}


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The loss of a strength, and the pass-through with its influence where it is known.

    The loss is the log-loss of labels, and the deviance of numbers.
    """

    loss: Mean
    name: str
    share: Mean | None

    def minus(self, other: Scored, name: str) -> Iterator[tuple[str, float]]:
        """Yield the differences to a reference with their standard errors."""
        differences = {self.name: self.loss - other.loss}
        if self.share is not None and other.share is not None:
            differences["pass_through"] = self.share - other.share
        for measure, difference in differences.items():
            yield f"{measure}_minus_{name}", difference.value
            yield f"{measure}_minus_{name}_se", difference.se


def paired_measures(
    rows: Rows,
    judge: Judge | LevelJudge | None,
    scores: Scores,
    strengths: Sequence[float],
    default: float,
) -> dict[str, dict[str, float]]:
    """Return the differences of each strength to the references, by the strength as text.

    A strength whose scores are not known is left out, and all are where a reference's are not.
    """
    references = reference_strengths(strengths, default)
    fair = None if judge is None else judge.fair_parts()

    def scored(strength: float) -> Scored | None:
        p = scores(strength)
        return None if p is None else _scored(p, rows, fair)

    known = {name: scored(strength) for name, strength in references.items()}
    if any(each is None for each in known.values()):
        return {}
    found = {}
    for strength in strengths:
        own = scored(strength)
        if own is not None:
            pairs = (own.minus(each, name) for name, each in known.items() if each is not None)
            found[repr(strength)] = dict(pair for some in pairs for pair in some)
    return found


def _scored(p: Floats, rows: Rows, fair: FairParts | None) -> Scored:
    name, losses = "log_loss", _log_losses(p, rows.y)
    if not rows.outcome.is_label:
        name, losses = "deviance", row_deviances(rows.outcome.loss, numbers_of(rows), p)
    share = None if fair is None or np.ptp(p) == 0 else _share(p, fair)
    return Scored(loss=Mean.average(losses, rows.mean_one_weights), name=name, share=share)


def _log_losses(p: Floats, y: Floats) -> Floats:
    kept = np.clip(p, _SMALLEST, 1 - _SMALLEST)
    return -np.log(np.where(y == 1, kept, 1 - kept))


def _share(p: Floats, fair: FairParts) -> Mean | None:
    found = pass_through(Equations.of(p, fair), 0.95)
    return None if found is None else found[1]


@dataclass(frozen=True)
class ScoresOf:
    """Where the scores of finished strengths come from: their models, or what folds left out."""

    inputs: Inputs
    store: Store | None
    models: Mapping[float, Any]
    held_out: Mapping[float, Mapping[str, Floats]]

    def compare(
        self, part: Part, known: Mapping[float, Point], earlier: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the default strength, and the paired differences on a part of the rows.

        Those of an earlier run are kept where the scores are not known any more.
        """
        default = default_strength(self.inputs.estimator)
        fine = sorted(strength for strength, point in known.items() if not point.error)
        if part.name == "train" or not fine:
            return {"default_strength": default}
        scores = partial(self._scores, part, self._rows(part.name))
        found = paired_measures(part.rows, part.judge, scores, fine, default)
        paired = {**earlier.get("paired", {}), **found}
        return {"default_strength": default, **({"paired": paired} if paired else {})}

    def _rows(self, name: str) -> Rows:
        found = {each: (rows, chosen) for each, rows, chosen in self.inputs.parts()}
        rows, chosen = found[name]
        return rows if chosen is None else rows.take(chosen)

    def _scores(self, part: Part, given: Rows, strength: float) -> Floats | None:
        if self.inputs.folds and part.name == "validation":
            return self.held_out.get(strength, {}).get(part.name)
        if strength in self.models:
            return scores_of(self.models[strength], part.rows.X)
        if self.store is None:
            return None
        table = part.rows.X if self.store.features is None else given.X
        return scores_of(self.store.model(strength), table)


def default_strength(estimator: Any) -> float:
    """Return the strength of an estimator, or its criterion, unless another one is stated."""
    stated = signature(type(estimator)).parameters["strength"].default
    return float(choose_strength(criterion_of(estimator), None) if stated is None else stated)
