"""A model as a folder of open files: the engine's own format and a card that describes it.

The folder contains no pickle and no row of the training table, and of the sensitive attribute only
the names of its two levels. A saved model does not need that attribute. A keyed fingerprint of the
training rows, without labels, tells whether a table to audit holds them.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..criteria import FairTarget
from ..files import (
    check_folder_writable,
    parse_json,
    read_folder,
    write_folder_atomically,
)
from ..tables import EngineTable
from .card import MARKDOWN, markdown_card
from .card_check import (
    check_card,
    check_checksum,
    class_count,
    difference,
    logistic_content,
    logistic_difference,
    read_checked,
    read_logistic,
    with_checksum,
)
from .engine import Engine
from .features import Feature, identifies_rows, one_hot_columns
from .lightgbm import LIGHTGBM
from .linear import LinearNumbers
from .logistic import Linear
from .row_fingerprint import TRAINING_ROWS, file_entry, read_fingerprint
from .saved_model import BOOSTERS, SavedModel, stored_loss
from .training import loss_of
from .xgboost import XGBOOST

#: The format that ``card.json`` names, and the version of its fields.
FORMAT, SCHEMA_VERSION = "unsway-model", 1
CARD = "card.json"
#: Engine → the file of its model.
MODEL_FILES = {
    engine.name: engine.model_file for engine in (Linear, LinearNumbers, XGBOOST, LIGHTGBM)
}


@dataclass(frozen=True)
class TrainingRoles:
    """The roles of the columns of the training table, by name."""

    target: str | None = None
    positive: str | None = None
    sensitive: str | None = None
    sensitive_levels: tuple[str, ...] | None = None
    weights: str | None = None
    dropped: tuple[str, ...] = ()
    exposure: str | None = None
    adjusted_for: tuple[str, ...] = ()


def save_model(
    model: Any,
    path: str | Path,
    *,
    features: Sequence[Feature] | None = None,
    roles: TrainingRoles | None = None,
    training: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted model as a folder of open files, without a pickle; `load_model` reads it.

    Parameters
    ----------
    model : FairXGBClassifier, FairLGBMClassifier, FairLogisticRegression, or a regressor
        Fitted; of the regressors `FairXGBRegressor`, `FairLGBMRegressor`, `FairLinearRegressor`.
    path : path
        The folder. It must be new or empty, or with ``overwrite`` a model folder.
    features : sequence of Feature, optional
        The columns of X; by default those that the model knows. A linear model fitted on the
        `one_hot` of a table needs the features of the table.
    roles : TrainingRoles, optional
        The roles of the columns of the training table; by default the model's classes and
        sensitive levels.
    training : mapping, optional
        Metrics and counts of the training, for the card.
    overwrite : bool, default=False
        Whether to replace an existing model.

    Returns
    -------
    Path
        The folder.
    """
    path = check_model_folder(path, overwrite=overwrite)
    check_is_fitted(model)
    engine = engine_name(model)
    features = tuple(_features_of(model) if features is None else features)
    _refuse_row_names(model, features)
    files = {MODEL_FILES[engine]: _model_bytes(engine, model, features)}
    if hasattr(model, "training_rows_"):
        files[TRAINING_ROWS] = model.training_rows_.to_bytes()
    card: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions_of(engine),
        "engine": engine,
        "files": {name: file_entry(content) for name, content in files.items()},
        "roles": asdict(_roles_of(model) if roles is None else roles),
        "features": [asdict(feature) for feature in features],
        "criterion": _criterion_of(model),
        "strength": float(model.strength_),
        "settings": _settings_of(model),
        "training": dict(training or {}),
    }
    if len(getattr(model, "classes_", ())) > 2:
        card["classes"] = list(map(str, model.classes_))
    if engine == Linear.name and hasattr(model, "column_means_"):
        card["column_means"] = model.column_means_.tolist()  # what reasons are compared with
    if loss_of(model) is not None:
        card["outcome"] = _outcome_of(model, card["roles"])
    text = json.dumps(with_checksum(card), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    files |= {CARD: text.encode(), MARKDOWN: markdown_card(card).encode()}
    return write_folder_atomically(path, files, replace=overwrite)


def check_model_folder(path: str | Path, *, overwrite: bool = False) -> Path:
    """Raise before any work if a model cannot be written there."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; give the name of a folder")
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    foreign = sorted(names - {CARD, MARKDOWN, TRAINING_ROWS, *MODEL_FILES.values()})
    if foreign or (names and CARD not in names):
        raise FileExistsError(
            f"{path} is no model folder: it holds {(foreign or sorted(names))[0]!r}; give another "
            "name"
        )
    if names and not overwrite:
        raise FileExistsError(
            f"{path} already holds a model; replace it with --overwrite (overwrite=True in Python)"
        )
    check_folder_writable(path.resolve())
    return path


def load_model(path: str | Path) -> SavedModel:
    """Read a model folder; a missing, damaged or newer folder is refused.

    The card is compared with the model. A model with other features, another objective or another
    number of classes is refused, since the card would not describe its scores.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    SavedModel
    """
    saved: SavedModel = read_folder(Path(path), _read_folder)
    return saved


def _read_folder(path: Path) -> SavedModel:
    card = _read_card(path)
    engine, name = card["engine"], MODEL_FILES[card["engine"]]
    content = read_checked(path / name, card["files"][name])
    features = tuple(
        Feature(each["name"], each["kind"], tuple(each["levels"])) for each in card["features"]
    )
    learned: dict[str, Any]
    if engine not in BOOSTERS:
        stored = read_logistic(content, path / name)
        differs = logistic_difference(stored, features, class_count(card))
        learned = read_weights(stored, features)
    else:
        booster = _load_booster(BOOSTERS[engine], path / name)
        differs = difference(
            BOOSTERS[engine], booster, content, features, stored_loss(card), class_count(card)
        )
        learned = {"booster": booster}
    if differs is not None:
        raise ValueError(
            f"{path}: {CARD} is not the card of {name}: {differs}; take both files from the same "
            "saved model, or save the model again"
        )
    check_checksum(card, path / CARD)
    known = read_fingerprint(path, card["files"])
    return SavedModel(card=card, features=features, training_rows=known, **learned)


# --- the engines ---------------------------------------------------------------------------------


def engine_name(model: Any) -> str:
    """Return the name of an estimator's engine in a card, or say that it cannot be saved."""
    name = getattr(getattr(model, "engine", None), "name", None)
    if name not in MODEL_FILES:
        raise TypeError(
            f"{type(model).__name__} cannot be saved as a model folder; give a "
            "FairLogisticRegression, FairXGBClassifier or FairLGBMClassifier, or a regressor of "
            "these engines"
        )
    return str(name)


def _refuse_row_names(model: Any, features: Sequence[Feature]) -> None:
    """Raise if the card would list names of rows as the levels of a column."""
    known = getattr(model, "training_rows_", None)
    n_rows = math.inf if known is None else known.n_rows
    for feature in features:
        if identifies_rows(len(feature.levels), n_rows):
            raise ValueError(
                f"column {feature.name!r} has {len(feature.levels):,} levels"
                + ("" if known is None else f" in {n_rows:,} rows")
                + ": they may name people, and the card of the model would list them; train "
                "without the column"
            )


def _model_bytes(engine: str, model: Any, features: Sequence[Feature]) -> bytes:
    """Return the model in the format of its engine."""
    n_classes = len(getattr(model, "classes_", (0, 1)))
    if engine in BOOSTERS:
        content = BOOSTERS[engine].save(model.booster_)
        differs = difference(
            BOOSTERS[engine], model.booster_, content, features, loss_of(model), n_classes
        )
        if differs is not None:
            raise ValueError(f"the features are not those of the model: {differs}")
        return content
    intercepts, weights = np.ravel(model.intercept_), np.atleast_2d(model.coef_)
    several = n_classes > 2
    stored = logistic_content(
        (weights.T if several else weights[0]).tolist(),
        intercepts.tolist() if several else float(intercepts[0]),
        features,
        model.imputer_,
    )
    return (json.dumps(stored, indent=1, ensure_ascii=False) + "\n").encode()


def read_weights(stored: Mapping[str, Any], features: Sequence[Feature]) -> dict[str, Any]:
    """Return what a linear model learned, as `SavedModel` holds it."""
    coefficients, start = stored["coefficients"], stored["intercept"]
    indicators = coefficients[len(one_hot_columns(features)) :]
    return {
        "coefficients": np.array([each["weight"] for each in coefficients]),
        "intercept": np.array(start) if isinstance(start, list) else float(start),
        "fill": dict(stored.get("fill", {})),
        "marked": tuple(each["feature"] for each in indicators),
    }


def _load_booster(engine: Engine, path: Path) -> Any:
    version = engine.version()  # says how to install a missing library
    try:
        return engine.load(str(path))
    except Exception as error:
        raise ValueError(f"{path} cannot be read by {engine.name} {version}") from error


def _features_of(model: Any) -> tuple[Feature, ...]:
    plain = [f"column {position}" for position in range(model.n_features_in_)]
    table = getattr(model, "table_", None)
    if table is None:
        table = EngineTable(tuple(map(str, getattr(model, "feature_names_in_", plain))), {})
    return tuple(
        Feature(name, "category", tuple(table.levels[name]))
        if name in table.levels
        else Feature(name, "number")
        for name in table.names
    )


# --- the card ------------------------------------------------------------------------------------


def versions_of(engine: str | None) -> dict[str, str]:
    """Return the versions of the packages that the numbers of a model depend on."""
    found = {"unsway": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "scikit-learn")}
    if engine in BOOSTERS:
        found[engine] = BOOSTERS[engine].version()
    return found


def _roles_of(model: Any) -> TrainingRoles:
    levels = tuple(map(str, model.sensitive_levels_))
    classes: Any = getattr(model, "classes_", ())
    positive = str(classes[1]) if len(classes) == 2 else None
    name = getattr(model, "sensitive_name_", None)
    adjusted = getattr(model, "adjusted_for_", ())
    return TrainingRoles(
        positive=positive, sensitive=name, sensitive_levels=levels, adjusted_for=adjusted
    )


def _outcome_of(model: Any, roles: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model of numbers predicts."""
    return {
        "loss": model.loss,
        "power": float(model.power) if model.loss == "tweedie" else None,
        "per_exposure": bool(roles["exposure"] or model.per_exposure_),
        "balance": model.balance_,
    }


def _criterion_of(model: Any) -> dict[str, Any]:
    """Return name and settings of the criterion, without what it has learned."""
    criterion = getattr(model.criterion, "criterion", model.criterion)
    criterion = FairTarget() if criterion is None else criterion
    settings = criterion.get_params(deep=False) if hasattr(criterion, "get_params") else {}
    return {
        "name": type(criterion).__name__,
        "settings": {
            name: value if _is_plain(value) else repr(value) for name, value in settings.items()
        },
    }


def _settings_of(model: Any) -> dict[str, Any]:
    """Return the other settings of the model, as far as JSON can represent them."""
    elsewhere = ("criterion", "strength", "callback", "groups")
    return {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in elsewhere and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    """Return whether a setting can be written to a JSON file as it is."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return bool(np.isfinite(value)) and type(value) is float
    return value is None or type(value) in (bool, int, str)


def _read_card(path: Path) -> dict[str, Any]:
    """Return the card of a folder, or say what is wrong with it."""
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is no model folder: there is no such folder")
    if not (path / CARD).is_file():
        raise FileNotFoundError(f"{path} is no model folder: it has no {CARD}")
    try:
        card = parse_json((path / CARD).read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path / CARD} is damaged or truncated: it is not JSON") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{path / CARD} is not the card of an unsway model")
    if card.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"{path / CARD} has schema version {card.get('schema_version')!r}; unsway "
            f"{__version__} reads version {SCHEMA_VERSION}"
        )
    check_card(card, path / CARD)
    engine = card["engine"]
    if engine not in MODEL_FILES or MODEL_FILES[engine] not in card["files"]:
        raise ValueError(f"{path / CARD} is damaged: it knows no file of engine {engine!r}")
    return card
