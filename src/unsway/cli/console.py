"""What the commands print: tables to standard output, progress, notes and errors to standard error.

Names of columns, levels and files come from the data. All that is printed passes through
`visible`, so that no name can move the cursor, clear the screen or write to the clipboard.
"""

from __future__ import annotations

import io
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING

import click

from .outputs import interrupts

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.progress import Progress

#: Control characters, among them those of the terminal; format characters, among them those that
#: turn the direction of text; halves of a character, as in file names that are not UTF-8; line and
#: paragraph separators.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
#: Format characters that are part of the text of some languages and of emoji.
JOINERS = "\u200c\u200d"


def visible(text: str) -> str:
    r"""Return text in which every unseen character but a line break is written out.

    Examples
    --------
    >>> print(visible("pay\x1b[2J \u202egap"))
    pay\x1b[2J \u202egap
    """
    if text.isprintable():
        return text
    return "".join(map(_visible_letter, text))


def one_line(text: str) -> str:
    r"""Return text as `visible` does, with line breaks written out: for names inside a sentence.

    Examples
    --------
    >>> print(one_line("pay\nError: none"))
    pay\nError: none
    """
    return visible(text).replace("\n", "\\n")


def _visible_letter(letter: str) -> str:
    if letter in JOINERS + "\n" or unicodedata.category(letter) not in UNSEEN:
        return letter
    return letter.encode("unicode_escape").decode("ascii")


class Steps:
    """A progress bar over a known number of steps; after Ctrl-C the next step stops the command."""

    def __init__(
        self, progress: Progress, total: int, description: str, stop_if_asked: Callable[[], None]
    ) -> None:
        self._progress = progress
        self._task = progress.add_task(one_line(description), total=total)
        self._stop_if_asked = stop_if_asked

    def describe(self, description: str) -> None:
        """Describe the current step."""
        self._progress.update(self._task, description=one_line(description))

    @property
    def quiet(self) -> bool:
        """Whether nothing is shown."""
        return self._progress.disable

    def advance(self) -> None:
        """Count one step as done."""
        self._stop_if_asked()
        self._progress.advance(self._task)

    def next(self, description: str) -> None:
        """Count one step as done and describe the next one."""
        self.advance()
        self.describe(description)


@contextmanager
def steps(total: int, description: str, *, quiet: bool) -> Iterator[Steps]:
    """Show a progress bar on standard error, unless `quiet`; Ctrl-C is never lost inside."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, emoji=False)
    progress = Progress(*columns, console=console, disable=quiet)
    # a disabled bar that is started and stopped prints an empty line in Rich before version 15
    with interrupts() as stop_if_asked, nullcontext() if quiet else progress:
        yield Steps(progress, total, description, stop_if_asked)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True
) -> None:
    """Print a table; the first column names the rows, the others hold numbers or text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(one_line(title)), title_justify="left", title_style="bold")
    for position, column in enumerate(columns):
        justify: JustifyMethod = "right" if position and numbers else "left"
        table.add_column(Text(visible(column)), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console(emoji=False).print(table)


def say(text: str) -> None:
    """Print a line."""
    from rich.console import Console
    from rich.text import Text

    Console(emoji=False).print(Text(visible(text)), soft_wrap=True)


def note(text: str) -> None:
    """Print a line on standard error."""
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(("Note:", "yellow"), " ", visible(text))
    Console(stderr=True, emoji=False).print(line, soft_wrap=True)


def fail(text: str) -> None:
    """Print an error on standard error."""
    click.secho(f"Error: {visible(text)}", fg="red", err=True)


class _Verbatim(io.StringIO):
    """A text that click takes for a terminal: it removes control codes from any other file."""

    def isatty(self) -> bool:
        return True


def fail_usage(error: click.ClickException) -> None:
    """Print the message of click about wrong usage."""
    shown = _Verbatim()
    error.show(shown)
    click.echo(visible(shown.getvalue()), err=True, nl=False)


def show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an unexpected error with its traceback, as Python does."""
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))
