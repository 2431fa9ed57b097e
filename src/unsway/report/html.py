"""Pages that open from disk and ask the network for nothing: their content, and their HTML."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any

from ..auditing.verdict import Level
from ..extras import load
from ..frames import plain
from .charts import palette


@dataclass(frozen=True)
class Moving:
    """A text with one version for every position of the slider.

    Parameters
    ----------
    texts : sequence of str
        By position.
    start : int
        The position at which the page opens.
    """

    texts: Sequence[str]
    start: int = 0

    def __str__(self) -> str:
        return self.texts[self.start]


@dataclass(frozen=True)
class Text:
    """Paragraphs of text, below a heading unless it is empty."""

    heading: str
    paragraphs: Sequence[str | Moving]


@dataclass(frozen=True)
class Table:
    """A table with a caption; the first column names the rows, the others are right-aligned.

    Rows at the places in ``muted`` are grey.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Moving]]
    muted: Sequence[int] = ()


@dataclass(frozen=True)
class Figure:
    """A picture as SVG markup made by this library, with words for those who cannot see it."""

    caption: str
    alternative: str
    svg: str


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart with words for those who cannot see it, and its numbers as a table."""

    name: str
    caption: str
    alternative: str
    spec: Mapping[str, Any] = field(repr=False)
    table: Table


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    facts: Mapping[str, str]


@dataclass(frozen=True)
class Check:
    """A check, or something not checked, and its result."""

    level: Level
    sentence: str


@dataclass(frozen=True)
class Checks:
    """A list of checks under a heading."""

    heading: str
    checks: Sequence[Check]


@dataclass(frozen=True)
class SignOff:
    """Lines to sign on paper, one per role."""

    roles: Sequence[str]


Block = Text | Table | Figure | Chart | Facts | Checks | SignOff


@dataclass(frozen=True)
class Section:
    """A heading, a sentence or two, and blocks."""

    name: str
    heading: str
    lead: str | Moving
    blocks: Sequence[Block]


@dataclass(frozen=True)
class KeyNumber:
    """A number at the head of the page, large, with a line below it."""

    label: str
    value: str | Moving
    detail: str | Moving = ""


@dataclass(frozen=True)
class Headline:
    """The verdict: its level, a few words, a paragraph with its numbers, and what to do next."""

    level: str | Moving
    label: str | Moving
    paragraph: str | Moving
    next_steps: str | Moving = ""


@dataclass(frozen=True)
class Slider:
    """The strengths one may choose from, the chosen one first shown."""

    strengths: Sequence[float]
    start: int
    chosen: int | None = None


@dataclass(frozen=True)
class Page:
    """A whole page; everything but a figure's own markup is escaped.

    Only a page with charts has scripts.

    Parameters
    ----------
    title, lead : str
        What it is about.
    sections : sequence of Section, or of its blocks
        In the order of the page.
    kicker : str
        What kind of report it is, in two words.
    headline : Headline, optional
        The verdict. A page with one has a list of its sections, which then are `Section`.
    numbers : sequence of KeyNumber
        The few numbers to remember.
    about : mapping of str to str
        What was judged: names with their values, at the head of the page.
    slider : Slider, optional
        What moves the texts and charts.
    data : mapping
        The numbers of the report as JSON can hold them; embedded in a page with charts.
    """

    title: str
    lead: str
    sections: Sequence[Section | Block]
    kicker: str = ""
    headline: Headline | None = None
    numbers: Sequence[KeyNumber] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    slider: Slider | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def charts(self) -> dict[str, Mapping[str, Any]]:
        """Return the charts by name."""
        sections = (each for each in self.sections if isinstance(each, Section))
        blocks = (block for section in sections for block in section.blocks)
        return {block.name: block.spec for block in blocks if isinstance(block, Chart)}

    def render(self) -> str:
        """Return the page as HTML that holds its data, its charts and what draws them."""
        texts: list[Sequence[str]] = []

        def place(moving: Moving) -> int:
            texts.append(moving.texts)
            return len(texts) - 1

        scripts = [*map(read_script, ("vega.js", "page.js"))] if self.charts() else []
        jinja2 = load("jinja2", "report")
        environment = jinja2.Environment(
            autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        html = environment.from_string(read_template("page.html.j2")).render(
            page=self,
            place=place,
            kind=lambda block: type(block).__name__,
            style=palette() + read_template("page.css"),
            content=lambda: embedded_json({**_content(self), "texts": texts}),
            scripts=scripts,
            hashes=" ".join(f"'sha256-{_hash(each)}'" for each in scripts),
        )
        return str(html)


def _content(page: Page) -> dict[str, Any]:
    """Return what the page's script reads."""
    slider = page.slider or Slider([], 0)
    level = page.headline.level if page.headline else ""
    still = [level] * max(1, len(slider.strengths))
    return {
        "data": page.data,
        "strengths": slider.strengths,
        "start": slider.start,
        "levels": level.texts if isinstance(level, Moving) else still,
        "charts": page.charts(),
    }


def embedded_json(content: Any) -> str:
    r"""Return JSON that is safe inside a script element, for any names.

    Examples
    --------
    >>> embedded_json({"name": "</script>", "value": float("nan")})
    '{"name":"\\u003c/script\\u003e","value":null}'
    """
    text = json.dumps(plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def read_script(name: str) -> str:
    """Return a script that cannot end its element early; the break is inside strings only."""
    return read_template(name).replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


def read_template(name: str) -> str:
    """Return the text of a file in the folder of templates."""
    return files(__package__).joinpath(f"templates/{name}").read_text(encoding="utf-8")
