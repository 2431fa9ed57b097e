"""A model card people read: what ``card.json`` says, as Markdown.

It follows the headings of Mitchell et al. (2019), "Model cards for model reporting", FAccT, and
says only what training knew: whoever deploys a model adds its use and its audit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: The file beside ``card.json``.
MARKDOWN = "card.md"
#: Names longer than this are cut in the middle; ``card.json`` has them whole.
LONGEST = 80
#: Features listed one by one; more are counted.
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
}


def markdown_card(card: Mapping[str, Any]) -> str:
    """Return the card of a saved model as Markdown; names come out as text, whatever they hold.

    Examples
    --------
    >>> card = {"engine": "logistic", "strength": 0.9, "roles": {"target": "hired"}}
    >>> print(markdown_card(card).splitlines()[0])
    # Model card: hired
    """
    return "\n".join(_lines(card)) + "\n"


def _lines(card: Mapping[str, Any]) -> Iterator[str]:
    roles, training = card.get("roles") or {}, card.get("training") or {}
    yield f"# Model card: {_text(roles.get('target') or 'unnamed target')}"
    yield ""
    if card.get("strength") == 0:
        purpose = (
            "A classifier trained on the labels as they are: at strength 0 nothing of what a "
            "sensitive attribute does to its scores is removed."
        )
    else:
        purpose = (
            "A classifier trained so that the direct effect of a sensitive attribute on its scores "
            "is removed."
        )
    yield f"{purpose} It does not need that attribute to score."
    yield from _section("Model", _model(card))
    yield from _section("Training data", _data(roles, training))
    yield from _metrics(training.get("metrics") or {})
    yield from _features(card.get("features") or ())
    yield from ("", "## Limits", "")
    yield (
        "- The figures above are those of the training table. Judge the model on other rows, for "
        "instance with `unsway audit`, before it is used and again as people change."
    )
    yield (
        "- What counts as direct is what the features do not explain. A cause that they do not "
        "hold may pass for it, and an unfair feature still has its effect."
    )
    yield "- Two groups were compared; nothing is said about others, or about groups within them."
    yield ""
    yield "Every setting, with checksums, is in `card.json`."


def _model(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    criterion = card.get("criterion") or {}
    yield "engine", card.get("engine")
    yield "criterion", criterion.get("name")
    yield "strength λ", card.get("strength")
    yield "created", card.get("created")
    versions = card.get("versions") or {}
    yield "made with", ", ".join(f"{name} {number}" for name, number in versions.items())
    for name, value in (card.get("settings") or {}).items():
        if value is not None:
            yield name, value


def _data(roles: Mapping[str, Any], training: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "target", roles.get("target")
    yield "positive class", roles.get("positive")
    yield "sensitive attribute", roles.get("sensitive")
    low, high = roles.get("sensitive_levels") or (None, None)
    yield "z = 1 stands for", high
    yield "z = 0 stands for", low
    yield "weights", roles.get("weights")
    yield "left out", ", ".join(map(str, roles.get("dropped") or ()))
    yield "rows", training.get("rows")


def _section(title: str, pairs: Iterator[tuple[str, Any]]) -> Iterator[str]:
    known = [(name, value) for name, value in pairs if value not in (None, "", (), {})]
    if not known:
        return
    yield from ("", f"## {title}", "", "| | |", "|---|---|")
    for name, value in known:
        yield f"| {_text(name)} | {_text(value)} |"


def _metrics(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if not parts:
        return
    yield from ("", "## Figures of the training", "")
    yield f"| | {' | '.join(map(_text, parts))} |"
    yield "|---|" + "---:|" * len(parts)
    first = next(iter(parts.values()))
    for name in (*_METRICS, *(each for each in first if each not in _METRICS)):
        if name in first:
            cells = (_number(part.get(name)) for part in parts.values())
            yield f"| {_text(_METRICS.get(name, name))} | {' | '.join(cells)} |"


def _features(features: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not features:
        return
    yield from (
        "",
        f"## Features ({len(features)})",
        "",
        "| name | kind | levels |",
        "|---|---|--:|",
    )
    for each in features[:MOST_FEATURES]:
        levels = len(each.get("levels") or ())
        yield f"| {_text(each['name'])} | {_text(each['kind'])} | {levels or ''} |"
    if len(features) > MOST_FEATURES:
        yield f"| and {len(features) - MOST_FEATURES} more in `card.json` | | |"


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
