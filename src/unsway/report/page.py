"""What a report is made of: words, tables and charts in sections, and what a slider moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..auditing.verdict import Level
from .words import Moving, Table


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart with words for those who cannot see it, and its numbers as a table."""

    name: str
    caption: str
    alternative: str
    spec: Mapping[str, Any] = field(repr=False)
    table: Table
    kind: str = "chart"


@dataclass(frozen=True)
class Words:
    """Paragraphs."""

    paragraphs: Sequence[str | Moving]
    kind: str = "words"


@dataclass(frozen=True)
class Fact:
    """A name and what stands for it: a setting, a reference."""

    name: str
    value: str | Moving


@dataclass(frozen=True)
class Facts:
    """A list of names and values."""

    facts: Sequence[Fact]
    kind: str = "facts"


@dataclass(frozen=True)
class Check:
    """Something that was looked at, or was not, and what came of it."""

    level: Level
    sentence: str


@dataclass(frozen=True)
class Checks:
    """A list of checks under a heading."""

    heading: str
    checks: Sequence[Check]
    kind: str = "checks"


@dataclass(frozen=True)
class KeyNumber:
    """A number at the head of the page, large, with a line below it."""

    label: str
    value: str | Moving
    detail: str | Moving = ""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence or two, and what stands below them."""

    name: str
    heading: str
    lead: str | Moving
    blocks: Sequence[Chart | Words | Facts | Checks | Table]


@dataclass(frozen=True)
class Headline:
    """The verdict: how it stands, in a few words, and in a paragraph with its numbers."""

    levels: Sequence[Level]
    label: str | Moving
    paragraph: str | Moving
    start: int = 0

    @property
    def level(self) -> Level:
        """How the verdict stands where the page opens."""
        return self.levels[self.start]


@dataclass(frozen=True)
class Slider:
    """The strengths one may choose from, the chosen one first shown."""

    strengths: Sequence[float]
    start: int
    chosen: int | None = None


@dataclass(frozen=True)
class Report:
    """A whole report, ready to be rendered.

    Parameters
    ----------
    kicker : str
        What kind of report it is, in two words.
    title, subtitle : str
        What it is about.
    headline : Headline
        The verdict.
    numbers : sequence of KeyNumber
        The few numbers to remember.
    sections : sequence of Section
        In the order of the page.
    slider : Slider, optional
        What moves the texts and charts.
    data : mapping
        The numbers of the report as JSON can hold them; embedded in the page.
    """

    kicker: str
    title: str
    subtitle: str
    headline: Headline
    numbers: Sequence[KeyNumber]
    sections: Sequence[Section]
    slider: Slider | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def charts(self) -> dict[str, Mapping[str, Any]]:
        """Return the charts by name."""
        return {
            block.name: block.spec
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Chart)
        }
