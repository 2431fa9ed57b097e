"""Checks that a card is complete, and that it describes the model in its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..core import Loss
from ..files import parse_json
from ..outcome import NUMBER_LOSSES
from ..tables import MISSING
from .engine import Engine
from .features import Feature, one_hot_columns
from .number_objectives import objective_name

#: The field with the checksum of all other fields.
CHECKSUM = "checksum"
#: Field of the card → the type of its value.
FIELDS = {
    "created": str,
    "versions": dict,
    "engine": str,
    "files": dict,
    "roles": dict,
    "features": list,
    "criterion": dict,
    "strength": float,
    "settings": dict,
    "training": dict,
}
_FEATURE = {"name": str, "kind": str, "levels": list}
_KINDS = {str: "text", dict: "an object", list: "a list", float: "a number", int: "a whole number"}


def with_checksum(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card with the checksum of its other fields.

    Examples
    --------
    >>> with_checksum({"strength": 0.5})["checksum"][:12]
    'c56c1c4d9616'
    """
    content = {name: value for name, value in card.items() if name != CHECKSUM}
    as_read = json.loads(json.dumps(content))  # keys are text there, which sorts in another way
    text = json.dumps(as_read, sort_keys=True, separators=(",", ":"))
    return {**content, CHECKSUM: sha256(text.encode()).hexdigest()}


def check_card(card: Mapping[str, Any], path: Path) -> None:
    """Raise if a field of a card is missing or has a wrong type."""
    _refuse_damage(path, _card_faults(card), "restore it, or save the model again")


def _refuse_damage(path: Path, faults: Iterator[str], advice: str) -> None:
    fault = next(faults, None)
    if fault is not None:
        raise ValueError(f"{path} is damaged: {fault}; {advice}")


def _card_faults(card: Mapping[str, Any]) -> Iterator[str]:
    yield from _faults(card, FIELDS, "it")
    yield from _faults(card["criterion"], {"name": str}, "'criterion'")
    levels = card["roles"].get("sensitive_levels")
    if levels is not None and not (_is_texts(levels) and len(levels) >= 2):
        yield "'sensitive_levels' in 'roles' are not the names of at least two levels"
    for name, file in card["files"].items():
        yield from _faults(file, {"bytes": int, "sha256": str}, f"the entry of file {name!r}")
    if "outcome" in card:
        yield from _outcome_faults(card["outcome"])
    if "classes" in card and not (_is_texts(card["classes"]) and len(card["classes"]) > 2):
        yield "'classes' are not three names or more"
    for number, feature in enumerate(card["features"], 1):
        owner = f"feature {number} of {len(card['features'])}"
        yield from _faults(feature, _FEATURE, owner)
        if feature["kind"] not in ("number", "category"):
            yield f"{owner} is of kind {feature['kind']!r}; there are 'number' and 'category'"
        if not _is_texts(feature["levels"]) or (feature["kind"] == "number" and feature["levels"]):
            yield f"the levels of {owner} are not those of a {feature['kind']}"


def _outcome_faults(outcome: Any) -> Iterator[str]:
    """Yield what is wrong with the outcome of a model of numbers."""
    yield from _faults(outcome, {"loss": str}, "'outcome'")
    if outcome["loss"] not in NUMBER_LOSSES:
        yield f"the loss {outcome['loss']!r} is unknown"
    power = outcome.get("power")
    fits = outcome["loss"] == "tweedie" and _is_a(power, float) and 1 < power < 2
    if not (fits or (power is None and outcome["loss"] != "tweedie")):
        yield "'power' of 'outcome' is not that of the loss"


def _faults(value: Any, fields: Mapping[str, type], owner: str) -> Iterator[str]:
    """Yield why a value is not an object with these fields."""
    if not isinstance(value, dict):
        yield f"{owner} is not an object"
        return
    for name, kind in fields.items():
        if name not in value:
            yield f"{owner} has no {name!r}"
        elif not _is_a(value[name], kind):
            yield f"{name!r} of {owner} is not {_KINDS[kind]}".replace(" of it ", " ")


def read_checked(path: Path, expected: Mapping[str, Any]) -> bytes:
    """Return the content of a file, or say how it differs from what was saved."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: the model folder is not whole")
    content = path.read_bytes()
    if len(content) < expected["bytes"]:
        raise ValueError(f"{path} is truncated: it has {len(content)} of {expected['bytes']} bytes")
    if sha256(content).hexdigest() != expected["sha256"]:
        raise ValueError(f"{path} has changed since it was saved: its checksum differs")
    return content


def check_checksum(
    card: Mapping[str, Any], path: Path, advice: str = "restore it, or save the model again"
) -> None:
    """Raise if a card has changed since it was saved; cards of old versions have no checksum."""
    if CHECKSUM in card and with_checksum(card)[CHECKSUM] != card[CHECKSUM]:
        raise ValueError(f"{path} has changed since it was saved: its checksum differs; {advice}")


# --- the model of the card -----------------------------------------------------------------------


def difference(
    engine: Engine,
    booster: Any,
    content: bytes,
    features: Sequence[Feature],
    loss: Loss | None = None,
    n_classes: int = 2,
) -> str | None:
    """Return how a booster differs from the outcome and features of a card, None if it does not."""
    facts, held = engine.facts(booster, content), engine.stored_name
    objective = engine.objective if loss is None else objective_name(engine.name, loss)
    if n_classes > 2:
        objective = engine.class_objective(n_classes)
    if facts.classes != n_classes:
        return f"the model has {facts.classes} classes, not {n_classes}"
    if facts.objective != objective:
        return f"the model's objective is {facts.objective!r}, not {objective!r}"
    if facts.n_features != len(features):
        return f"the card names {len(features)} features and the model has {facts.n_features}"
    for position, feature in enumerate(features):
        where = f"feature {position + 1} of {len(features)} is {feature.name!r}"
        if facts.names is not None and held(facts.names[position]) != held(feature.name):
            return f"{where} in the card and {facts.names[position]!r} in the model"
        category = None if facts.categories is None else facts.categories[position]
        if category is not None and category != (feature.kind == "category"):
            return f"{where}, a {feature.kind} in the card but not in the model"
    return None


def class_count(card: Mapping[str, Any]) -> int:
    """Return how many classes the model of a card tells apart; 2 also where it predicts numbers.

    Examples
    --------
    >>> class_count({}), class_count({"classes": ["a", "b", "c"]})
    (2, 3)
    """
    return len(card.get("classes", (0, 1)))


def logistic_content(
    weights: Sequence[Any], intercept: Any, features: Sequence[Feature], imputer: Any = None
) -> dict[str, Any]:
    """Return a linear model as its file holds it; of several classes each weight is a list.

    ``fill`` has what replaces a missing number of each feature, if the model was trained on missing
    numbers; the coefficient of a number's level "(missing)" is then added where it is missing.
    """
    pairs, fill = one_hot_columns(features), {}
    if imputer is not None and len(imputer.statistics_) == len(pairs):
        fill = {
            name: float(value)
            for (name, level), value in zip(pairs, imputer.statistics_, strict=True)
            if level is None
        }
        pairs += [(pairs[column][0], MISSING) for column in imputer.indicator_.features_]
    if len(pairs) != len(weights):
        raise ValueError(f"the features make {len(pairs)} columns; the model has {len(weights)}")
    coefficients = [
        {"feature": name, "level": level, "weight": weight}
        for (name, level), weight in zip(pairs, weights, strict=True)
    ]
    stored = {"intercept": intercept, "coefficients": coefficients}
    return {**stored, "fill": fill} if fill else stored


def read_logistic(content: bytes, path: Path) -> dict[str, Any]:
    """Return intercept and coefficients of a logistic regression, or say what is wrong."""
    try:
        stored = parse_json(content)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: it is not JSON; save the model again") from error
    _refuse_damage(path, _logistic_faults(stored), "save the model again")
    return dict(stored)


def _logistic_faults(stored: Any) -> Iterator[str]:
    yield from _faults(stored, {"coefficients": list}, "it")
    if "intercept" not in stored:
        yield "it has no 'intercept'"
    elif not _is_weight(stored["intercept"]):
        yield "'intercept' is not a number"
    for number, each in enumerate(stored["coefficients"], 1):
        owner = f"coefficient {number} of {len(stored['coefficients'])}"
        yield from _faults(each, {"feature": str}, owner)
        if "weight" not in each:
            yield f"{owner} has no 'weight'"
        elif not _is_weight(each["weight"]):
            yield f"'weight' of {owner} is not a number"
        if not isinstance(each.get("level"), str | None):
            yield f"'level' of {owner} is not text"
    fill = stored.get("fill", {})
    if not isinstance(fill, dict) or not all(_is_a(value, float) for value in fill.values()):
        yield "'fill' does not hold a number for each feature"


def logistic_difference(
    stored: Mapping[str, Any], features: Sequence[Feature], n_classes: int = 2
) -> str | None:
    """Return how a logistic regression differs from the features of a card, or None."""
    size = 1 if n_classes == 2 else n_classes
    numbers_of = [stored["intercept"], *(each["weight"] for each in stored["coefficients"])]
    for each in numbers_of:
        held = len(each) if isinstance(each, list) else 1
        if held != size:
            return f"the model has weights of {held} classes and the card of {size}"
    weighed = [(each["feature"], each.get("level")) for each in stored["coefficients"]]
    named = one_hot_columns(features)
    numbers = {each.name for each in features if each.kind == "number"}
    if not numbers >= set(stored.get("fill", {})):
        return "the model fills in missing numbers of a column that is no number in the card"
    indicators = {(name, MISSING) for name in stored.get("fill", {})}
    named += [pair for pair in weighed[len(named) :] if pair in indicators]
    if len(weighed) != len(named):
        return f"the card's features make {len(named)} columns and the model has {len(weighed)}"
    for number, (ours, theirs) in enumerate(zip(named, weighed, strict=True), 1):
        if ours != theirs:
            return (
                f"column {number} of {len(named)} is {_column(ours)} in the card and "
                f"{_column(theirs)} in the model"
            )
    return None


def _column(column: tuple[str, str | None]) -> str:
    name, level = column
    return repr(name) if level is None else f"{name!r} = {level!r}"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_weight(value: Any) -> bool:
    """Return whether a weight is a number, or of several classes a list of numbers."""
    values = value if isinstance(value, list) and len(value) > 2 else [value]
    return all(_is_a(each, float) for each in values)


def _is_a(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, kind)
