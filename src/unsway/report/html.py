"""Self-contained HTML pages: they open from disk and ask the network for nothing."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any

from ..extras import load
from .chart_style import palette
from .page import Report
from .words import Moving, Table


@dataclass(frozen=True)
class Text:
    """A heading and paragraphs of plain words."""

    heading: str
    paragraphs: Sequence[str]
    kind: str = "text"


@dataclass(frozen=True)
class Figure:
    """A picture as SVG markup made by this library, with words for those who cannot see it."""

    caption: str
    alternative: str
    svg: str
    kind: str = "figure"


@dataclass(frozen=True)
class Page:
    """A page of text, tables and pictures, without a script.

    Everything but a figure's own markup is escaped.
    """

    title: str
    lead: str
    sections: Sequence[Text | Table | Figure]

    def render(self) -> str:
        """Return the page as HTML."""
        return _fill("page.html", page=self)


@dataclass
class _Places:
    """Where moving texts stand on a page, in the order they were met."""

    texts: list[Sequence[str]] = field(default_factory=list)

    def add(self, moving: Moving) -> int:
        self.texts.append(list(moving.texts))
        return len(self.texts) - 1


def render(report: Report, library: str) -> str:
    """Return a report as HTML that holds its data, its charts and their library.

    Parameters
    ----------
    report : Report
    library : str
        The script that draws the charts.
    """
    places = _Places()
    body = _fill("report_body.html.j2", report=report, place=places.add)
    slider = report.slider
    content = {
        "data": report.data,
        "strengths": [] if slider is None else list(slider.strengths),
        "start": 0 if slider is None else slider.start,
        "levels": list(report.headline.levels),
        "texts": places.texts,
        "charts": report.charts(),
    }
    scripts = [_safe_script(library), _read("report.js")]
    return _fill(
        "report.html.j2",
        report=report,
        body=body,
        style=palette() + _read("report.css"),
        content=embedded_json(content),
        scripts=scripts,
        hashes=" ".join(f"'sha256-{_hash(script)}'" for script in scripts),
    )


def embedded_json(content: Any) -> str:
    r"""Return JSON that can stand inside a script element, whatever names it holds.

    Examples
    --------
    >>> embedded_json({"name": "</script>", "value": float("nan")})
    '{"name":"\\u003c/script\\u003e","value":null}'
    """
    text = json.dumps(
        plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str
    )
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(content: Any) -> Any:
    """Return content with None for every number JSON does not know."""
    if isinstance(content, Mapping):
        return {str(name): plain(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def _safe_script(script: str) -> str:
    """Return a script that cannot end its element early; the break is inside strings only."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


def _read(name: str) -> str:
    return files(__package__).joinpath(f"templates/{name}").read_text(encoding="utf-8")


def _fill(template: str, **facts: Any) -> str:
    jinja2 = load("jinja2", "report")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_read),
    )
    return str(environment.get_template(template).render(**facts))
