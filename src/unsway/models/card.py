"""The model card as Markdown, with the content of ``card.json``.

It follows the headings of Mitchell et al. (2019), "Model cards for model reporting", FAccT, and
contains only what is known after training. Its use and an audit are added when it is deployed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

#: The file with the Markdown, in the folder of ``card.json``.
MARKDOWN = "card.md"
#: Names longer than this are shortened in the middle; ``card.json`` has the full names.
LONGEST = 80
#: The most features that are listed; of the others the card gives the number.
MOST_FEATURES = 200

_METRICS = {
    "rows": "rows",
    "z1": "rows with z = 1",
    "z0": "rows with z = 0",
    "positive_rate": "share of positive labels",
    "log_loss": "log-loss",
    "penalty": "penalty",
    "fair_log_loss": "log-loss against the fair targets",
    "accuracy": "accuracy",
    "label_gap": "gap of the labels, z = 1 minus z = 0",
    "score_gap": "gap of the scores, z = 1 minus z = 0",
    "label_spread": "largest gap of the labels between two levels",
    "score_spread": "largest gap of the scores between two levels",
    "exposure": "exposure",
    "mean_outcome": "mean of the target",
    "mean_score": "mean prediction",
    "deviance": "mean deviance",
    "deviance_explained": "share of the deviance explained (D²)",
    "rmse": "root mean squared error",
    "gini": "Gini coefficient",
    "actual_over_expected": "actual over expected",
    "fair_loss": "loss against the fair targets",
    "outcome_gap": "gap of the target, z = 1 minus z = 0",
}


def markdown_card(card: Mapping[str, Any]) -> str:
    """Return the card of a saved model as Markdown; special characters in names are escaped.

    Examples
    --------
    >>> card = {"engine": "logistic", "strength": 0.9, "roles": {"target": "hired"}}
    >>> print(markdown_card(card).splitlines()[0])
    # Model card: hired
    """
    roles, training = card.get("roles") or {}, card.get("training") or {}
    tables = (
        _settings("Model", _model(card)),
        _settings("Training data", _data(roles, training)),
        _metrics(training.get("metrics") or {}),
        _levels(training.get("groups") or ()),
        _features(card.get("features") or ()),
    )
    template = files(__package__).joinpath("card_template.md").read_text(encoding="utf-8")
    target = _text(roles.get("target") or "unnamed target")
    return Template(template).substitute(
        target=target, purpose=_purpose(card), tables="".join(tables)
    )


def _purpose(card: Mapping[str, Any]) -> str:
    """Return what the model is, in a sentence."""
    numbers = "outcome" in card
    what, on = ("regressor", "numbers") if numbers else ("classifier", "labels")
    scores = "predictions" if numbers else "scores"
    if card.get("strength") == 0:
        return (
            f"A {what} trained on the {on} as they are: at strength 0 nothing of what a sensitive "
            f"attribute does to its {scores} is removed."
        )
    return (
        f"A {what} trained so that the direct effect of a sensitive attribute on its {scores} is "
        "removed."
    )


def _model(card: Mapping[str, Any]) -> dict[str, Any]:
    versions = card.get("versions") or {}
    return {
        "engine": card.get("engine"),
        "criterion": (card.get("criterion") or {}).get("name"),
        "strength λ": card.get("strength"),
        "classes": ", ".join(card.get("classes") or ()),
        **_outcome(card.get("outcome") or {}, card.get("roles") or {}),
        "created": card.get("created"),
        "made with": ", ".join(f"{name} {number}" for name, number in versions.items()),
        **(card.get("settings") or {}),
    }


def _outcome(outcome: Mapping[str, Any], roles: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model of numbers predicts, and whether its total is that of the target."""
    if not outcome:
        return {}
    target = roles.get("target") or "the target"
    unit = roles.get("exposure") or "exposure"
    balance, log = outcome.get("balance"), outcome.get("loss") != "squared_error"
    total = "as the training left it"
    if balance is not None:
        how = f"multiplied by {balance:.6g}" if log else f"raised by {balance:.6g}"
        total = f"that of the training rows: predictions were {how}"
    return {
        "predictions": f"mean of {target}" + (f" per {unit}" if outcome["per_exposure"] else ""),
        "total of the predictions": total,
    }


def _data(roles: Mapping[str, Any], training: Mapping[str, Any]) -> dict[str, Any]:
    levels: Sequence[str] = roles.get("sensitive_levels") or ()
    low, high = levels if len(levels) == 2 else (None, None)
    several = {"reference level": "".join(levels[:1]), "other levels": ", ".join(levels[1:])}
    return {
        "target": roles.get("target"),
        "positive class": roles.get("positive"),
        "sensitive attribute": roles.get("sensitive"),
        "z = 1 stands for": high,
        "z = 0 stands for": low,
        **(several if len(levels) > 2 else {}),
        "weights": roles.get("weights"),
        "exposure": roles.get("exposure"),
        "adjusted for, and not used by the model": ", ".join(
            map(str, roles.get("adjusted_for") or ())
        ),
        "left out": ", ".join(map(str, roles.get("dropped") or ())),
        "rows": training.get("rows"),
        "rows without a sensitive value": training.get("rows_without_sensitive_value"),
    }


def _settings(title: str, values: Mapping[str, Any]) -> str:
    known = {name: value for name, value in values.items() if value not in (None, "", (), {})}
    return _table(title, "| | |\n|---|---|", ((_text(name), _text(known[name])) for name in known))


def _metrics(parts: Mapping[str, Mapping[str, Any]]) -> str:
    first = next(iter(parts.values()), {})
    head = f"| | {' | '.join(map(_text, parts))} |\n|---|" + "---:|" * len(parts)
    rows = (
        [_text(_METRICS.get(name, name)), *(_number(part.get(name)) for part in parts.values())]
        for name in {**_METRICS, **first}
        if name in first
    )
    return _table("Figures of the training", head, rows)


def _levels(groups: Sequence[Mapping[str, Any]]) -> str:
    rows = (
        [
            _text(each["level"]),
            _number(each["rows"]),
            *(_number(each.get(name)) for name in ("positive_rate", "mean_score")),
        ]
        for each in groups
    )
    head = "| level | rows | share of positive labels | mean score |\n|---|--:|--:|--:|"
    return _table("Sensitive levels, training rows", head, rows)


def _features(features: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [_text(each["name"]), _text(each["kind"]), str(len(each.get("levels") or ()) or "")]
        for each in features[:MOST_FEATURES]
    ]
    if len(features) > MOST_FEATURES:
        rows.append([f"and {len(features) - MOST_FEATURES} more in `card.json`", "", ""])
    head = "| name | kind | levels |\n|---|---|--:|"
    return _table(f"Features ({len(features)})", head, rows)


def _table(title: str, head: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a section with a table, or nothing where it has no rows."""
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    return f"\n## {title}\n\n{head}\n{''.join(lines)}" if lines else ""


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _text(value: Any) -> str:
    """Return a value as one line of Markdown text that is neither markup nor HTML."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(value))
    if len(line) > LONGEST:
        half = (LONGEST - 1) // 2
        line = f"{line[:half]}…{line[-half:]}"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$@:])", r"\\\1", line)
