"""Results as a notebook shows them: a title, text, charts and tables in one style, light or dark.

A fragment has no script and asks for nothing. Everything that comes from the data is escaped.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .colours import (
    AMBER,
    BLUE,
    DARK_PAGE,
    GREEN,
    GREY,
    GROUPS,
    LIGHT_PAGE,
    ON_DARK,
    PURPLE,
    SKY,
    VERMILION,
)
from .svg import number

#: Rows of a table that a notebook shows at most.
SHOWN = 60
#: Colours of the series, in order.
_SERIES = (GREY, BLUE, VERMILION, GREEN, PURPLE, SKY, AMBER)
#: What a page says that is dark: Jupyter, VS Code, and sites made with Sphinx themes.
_DARK_PAGES = (
    '[data-jp-theme-light="false"] .unsway',
    ".vscode-dark .unsway",
    'html[data-theme="dark"] .unsway',
)
_LIGHT_PAGES = (
    '[data-jp-theme-light="true"] .unsway',
    ".vscode-light .unsway",
    'html[data-theme="light"] .unsway',
)
_RULES = """
.unsway{font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:54em;padding:.6em .8em;overflow-x:auto}
.unsway h3{font-size:1.1em;margin:0 0 .4em;color:inherit}.unsway h4{font-size:1em;margin:1em 0 .3em;color:inherit}
.unsway p,.unsway ul{margin:.3em 0 .6em;padding-left:0;list-style:none;max-width:46em}
.unsway svg{display:block;width:100%;max-width:44em;height:auto;margin:.4em 0}
.unsway svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.unsway line{stroke:var(--soft);stroke-width:1}.unsway line.grid{stroke:var(--line)}
.unsway line.limit{stroke-dasharray:2 3}.unsway line.thick{stroke-width:2}.unsway line.thin{opacity:.5}
.unsway .curve{fill:none;stroke-width:2}.unsway .area{stroke:none;opacity:.2}.unsway .bar{stroke:var(--paper);stroke-width:.5}
.unsway table{border-collapse:collapse;margin:.4em 0;font-size:13px;color:inherit;background:none;width:auto}
.unsway caption{text-align:left;font-weight:600;padding:.2em 0}
.unsway th,.unsway td{padding:.15em .7em .15em 0;border:0;border-bottom:1px solid var(--line);text-align:right;background:none;color:inherit;font-variant-numeric:tabular-nums}
.unsway th{font-weight:600;color:var(--soft)}.unsway th:first-child,.unsway td.t,.unsway th.t{text-align:left}
.unsway .ok::before{content:"✓ ";color:var(--s3)}.unsway .no::before{content:"! ";font-weight:700;color:var(--s2)}
"""  # noqa: E501


def _variables(dark: bool) -> str:
    """Return the colours as variables of the style sheet, and what series and groups use."""
    own = DARK_PAGE if dark else LIGHT_PAGE
    shades = [ON_DARK.get(colour, DARK_PAGE["soft"]) if dark else colour for colour in _SERIES]
    groups = [ON_DARK[colour] if dark else colour for colour in GROUPS]
    found = {**own, **{f"s{k}": shade for k, shade in enumerate(shades)}}
    found |= {f"z{k}": shade for k, shade in enumerate(groups)}
    return ";".join(f"--{name}:{value}" for name, value in found.items())


def style() -> str:
    """Return the style sheet of a fragment."""
    names = [*(f"s{k}" for k in range(len(_SERIES))), "z0", "z1"]
    used = "".join(f".unsway .{name}{{fill:var(--{name});stroke:var(--{name})}}" for name in names)
    light, dark = _variables(dark=False), _variables(dark=True)
    return (
        f".unsway{{{light}}}@media (prefers-color-scheme:dark){{.unsway{{{dark}}}}}"
        f"{','.join(_LIGHT_PAGES)}{{{light}}}{','.join(_DARK_PAGES)}{{{dark}}}{used}{_RULES}"
    ).replace("\n", "")


def fragment(title: str, *parts: str) -> str:
    """Return parts of HTML under a title, with their style; empty parts are left out."""
    head = f"<h3>{html.escape(title)}</h3>" if title else ""
    return f'<div class="unsway"><style>{style()}</style>{head}{"".join(parts)}</div>'


def page(title: str, body: str) -> str:
    """Return a fragment as a whole page that opens from disk and asks the network for nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(title)}</title></head><body>{body}</body></html>\n"
    )


def heading(text: str) -> str:
    """Return a heading inside a fragment."""
    return f"<h4>{html.escape(text)}</h4>"


def paragraph(text: str) -> str:
    """Return a paragraph; nothing for an empty text."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def checks(sentences: Iterable[tuple[bool, str]]) -> str:
    """Return a list of checks: whether each passed, and its sentence."""
    lines = "".join(
        f'<li class="{"ok" if passed else "no"}">{html.escape(sentence)}</li>'
        for passed, sentence in sentences
    )
    return f"<ul>{lines}</ul>"


def folded(title: str, content: str) -> str:
    """Return content that opens by a click on its title."""
    return f"<details><summary>{html.escape(title)}</summary>{content}</details>"


def table(columns: Mapping[str, Sequence[Any]], caption: str = "", *, shown: int = SHOWN) -> str:
    """Return named columns as a table; of a long one, the first rows.

    Examples
    --------
    >>> table({"effect": ["a < b"], "estimate": [-0.41234]})
    '<table><tr><th class="t">effect</th><th>estimate</th></tr><tr><td class="t">a &lt; b</td><td>−0.4123</td></tr></table>'
    """  # noqa: E501
    rows = list(zip(*columns.values(), strict=True))
    words = [any(isinstance(each, str) for each in values) for values in columns.values()]
    head = "".join(
        f"<th{' class=' + chr(34) + 't' + chr(34) if word else ''}>{html.escape(str(name))}</th>"
        for name, word in zip(columns, words, strict=True)
    )
    lines = [f"<tr>{head}</tr>", *map(_row, rows[:shown])]
    if len(rows) > shown:
        more = f"… {len(rows) - shown} more rows"
        lines.append(f'<tr><td class="t" colspan="{len(columns)}">{more}</td></tr>')
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{''.join(lines)}</table>"


def _row(values: Sequence[Any]) -> str:
    cells = (
        f'<td class="t">{html.escape(value)}</td>'
        if isinstance(value, str)
        else f"<td>{html.escape(_cell(value))}</td>"
        for value in values
    )
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: Any) -> str:
    """Return a value as text: numbers short, nothing for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return number(value) if isinstance(value, float) else str(value)
