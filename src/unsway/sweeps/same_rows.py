"""Whether the rows of a sweep have the sensitive attribute that its store was made with.

A store keeps no digest of the attribute: the values of some rows could be guessed from one. It has
the measures of its models, though, and some of them depend on the attribute. On other groups the
same scores of the same rows have another gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..models.regression import scores_of
from .inputs import Inputs
from .measures import Part, Point
from .store import Store

#: Measures that are computed again differ by rounding only.
ROUNDING = 1e-9
#: Where scores are not the same to the last bit (another device), gaps may differ by so many times
#: as much as the Brier score, or the root mean squared error of numbers, and neither by more than
#: this.
_MORE, _MOST = 1_000.0, 1e-5


def refuse_other_groups(inputs: Inputs, store: Store, known: Mapping[float, Point]) -> None:
    """Raise if the sensitive attribute is not that of the finished strengths of a store.

    The scores of one finished model are computed again, and their gaps compared with the stored
    ones, on every part of the rows that the model scores. A sweep without a finished strength has
    nothing that another attribute could contradict.
    """
    for name, measure, before, now, allowed in _compared(inputs, store, known):
        if abs(before - now) > allowed:
            raise ValueError(
                f"{store.path} holds a sweep of other data or settings: with these "
                f"sensitive_features, {measure} of the {name} rows is {now:.6g} and was "
                f"{before:.6g}. Give another folder, or the data it was made with"
            )


def _compared(
    inputs: Inputs, store: Store, known: Mapping[float, Point]
) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield part, measure, its stored value, its value now, and how far apart they may be."""
    about: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # damaged facts are said where they are used
        about = (store.read_about() or {}).get("parts", {})
    strength = min(known, default=None)
    model = None if strength is None else store.model(strength)
    for name, rows, chosen in inputs.parts():
        here = rows if chosen is None else rows.take(chosen)
        part = Part(name=name, rows=here)
        facts = part.describe()
        for measure in facts.keys() & about.get(name, {}).keys():
            if isinstance(facts[measure], int | float):
                allowed = ROUNDING * max(1.0, abs(facts[measure]))
                yield name, measure, about[name][measure], facts[measure], allowed
        if model is None or strength is None or (inputs.folds and name == "validation"):
            continue  # the stored measures are those of the models of the folds
        table = here.X if store.features is not None else inputs.encoded(here).X
        scores = scores_of(model, table)
        yield from _measures(part, scores, known[strength].parts.get(name, {}), inputs.settings)


def _measures(
    part: Part, scores: Any, before: Mapping[str, float], settings: Mapping[str, Any]
) -> Iterator[tuple[str, str, float, float, float]]:
    now = part.measure(scores, settings["threshold"])
    error = "brier" if part.rows.outcome.is_label else "rmse"
    size = 1.0 if error == "brier" else now[error]
    apart = abs(now[error] - before.get(error, now[error])) / size
    allowed = size * (ROUNDING + min(_MORE * apart, _MOST))
    limits = {"score_gap": allowed, "selection_rate_difference": allowed, error: size * _MOST}
    for measure in limits.keys() & before.keys():  # the split, and so the score, depends on groups
        yield part.name, measure, before[measure], now[measure], limits[measure]
