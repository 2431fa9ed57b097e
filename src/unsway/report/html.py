"""A self-contained HTML page from text, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from ..extras import load


@dataclass(frozen=True)
class Text:
    """A heading and paragraphs of plain words."""

    heading: str
    paragraphs: Sequence[str]
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """A table with a caption; the first column names the rows, the others are right-aligned."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    kind: str = "table"


@dataclass(frozen=True)
class Figure:
    """A picture as SVG markup made by this library, with words for those who cannot see it."""

    caption: str
    alternative: str
    svg: str
    kind: str = "figure"


@dataclass(frozen=True)
class Page:
    """A page that opens from disk and asks the network for nothing.

    Everything but a figure's own markup is escaped.
    """

    title: str
    lead: str
    sections: Sequence[Text | Table | Figure]

    def render(self) -> str:
        """Return the page as HTML."""
        jinja2 = load("jinja2", "report")
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        source = files(__package__).joinpath("templates/page.html").read_text(encoding="utf-8")
        return str(environment.from_string(source).render(page=self))
