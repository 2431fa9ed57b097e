"""What the commands print: tables to standard output, progress and notes to standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text


class Steps:
    """Steps that are counted in silence; `ShownSteps` shows them."""

    def describe(self, description: str) -> None:
        """Say what is being done."""

    def advance(self) -> None:
        """Count one step as done."""


class ShownSteps(Steps):
    """A progress bar over a known number of steps."""

    def __init__(self, progress: Progress, total: int, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(escape(description), total=total)

    def describe(self, description: str) -> None:
        """Say what is being done."""
        self._progress.update(self._task, description=escape(description))

    def advance(self) -> None:
        """Count one step as done."""
        self._progress.advance(self._task)


@contextmanager
def steps(total: int, description: str, *, quiet: bool) -> Iterator[Steps]:
    """Show a progress bar with the time left on standard error."""
    if quiet:
        yield Steps()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, emoji=False)) as progress:
        yield ShownSteps(progress, total, description)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True
) -> None:
    """Print a table; the first column names the rows, the others hold numbers or words."""
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    for position, column in enumerate(columns):
        justify: JustifyMethod = "right" if position and numbers else "left"
        table.add_column(Text(column), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(emoji=False).print(table)


def say(text: str) -> None:
    """Print a line."""
    Console(emoji=False).print(Text(text), soft_wrap=True)


def note(text: str) -> None:
    """Print a line on standard error."""
    line = Text.assemble(("Note:", "yellow"), " ", text)
    Console(stderr=True, emoji=False).print(line, soft_wrap=True)
