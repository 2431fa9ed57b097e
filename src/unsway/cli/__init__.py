"""The command line, one command a file."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from ..extras import MissingExtraError, load


def main() -> None:
    """Run the command line; the entry point of ``unsway``."""
    try:
        load("click", "cli")
        if find_spec("rich") is None:  # it is imported where something is printed
            load("rich", "cli")
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
    from .app import run

    run()
