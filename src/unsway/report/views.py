"""What a slider moves: one result, or one for each of its positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .facts import AuditFacts, PointFacts
from .html import Moving, Table

#: What a section may be about.
View = AuditFacts | PointFacts

V = TypeVar("V", AuditFacts, PointFacts)


@dataclass(frozen=True)
class Views(Generic[V]):
    """One result, or one for every position of the slider, of which one is shown first.

    Parameters
    ----------
    each : sequence of AuditFacts or of PointFacts
    start : int
    """

    each: Sequence[V]
    start: int = 0

    @property
    def first(self) -> V:
        """The one with which the page opens."""
        return self.each[self.start]

    @property
    def position(self) -> int | None:
        """The position at which a chart opens, or None where nothing moves."""
        return self.start if len(self.each) > 1 else None

    @property
    def when(self) -> str:
        """What to add to the caption of a table that does not move."""
        return " at the strength the page opens with" if len(self.each) > 1 else ""

    def text(self, write: Callable[[V], str]) -> str | Moving:
        """Return a text of the result, or of each where they differ."""
        return self._join([write(each) for each in self.each])

    def table(
        self, caption: str, columns: Sequence[str], rows: Callable[[V], Iterable[Sequence[str]]]
    ) -> Table:
        """Return a table of the result; a cell has a text of each result where they differ."""
        tables = [list(rows(each)) for each in self.each]
        lines = [zip(*lines, strict=True) for lines in zip(*tables, strict=True)]
        return Table(caption, columns, [[self._join(cell) for cell in line] for line in lines])

    def _join(self, texts: Sequence[str]) -> str | Moving:
        return texts[0] if len(set(texts)) == 1 else Moving(list(texts), self.start)

    def rows(self, make: Callable[[V], Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Return the rows of a chart with the position each belongs to."""
        return [
            {**row, "position": place} for place, each in enumerate(self.each) for row in make(each)
        ]


AnyViews = Views[AuditFacts] | Views[PointFacts]
