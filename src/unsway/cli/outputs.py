"""Outputs of a long command, checked before any work, and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..extras import load
from ..files import check_writable

#: What a report is made with.
REPORT_PACKAGES = ("altair", "jinja2")


def check_installed(packages: Sequence[str], extra: str) -> None:
    """Raise, with the pip line, if a package is missing that writes an output."""
    for package in packages:
        load(package, extra)


def are_installed(packages: Sequence[str]) -> bool:
    """Return whether all of these packages are installed."""
    return all(find_spec(package) is not None for package in packages)


def check_html(output: Path) -> None:
    """Raise unless it is the name of an HTML file."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"-o {output}: give the name of an .html file")


@contextmanager
def places(paths: Sequence[Path], source: Path) -> Iterator[None]:
    """Check before any work that the outputs can be made; leave no new folder if that fails."""
    for path in paths:
        if path.resolve() == source.resolve():
            raise ValueError(f"{path} is the table itself; give another name")
    new = {folder for path in paths for folder in path.parents if not folder.exists()}
    try:
        for path in paths:
            check_writable(path)
        yield
    except BaseException:
        for folder in sorted(new, reverse=True):  # the deepest first
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C: compiled code may swallow it, or turn it into an error of another kind."""
    asked: list[int] = []

    def remember(number: int, frame: Any) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    def stop_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, remember)
    try:
        yield stop_if_asked
    except Exception:
        stop_if_asked()
        raise
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
