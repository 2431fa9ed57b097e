"""The group of commands, and how their errors end."""

from __future__ import annotations

import sys
import warnings

import click

from .. import __version__
from ..extras import MissingExtraError
from .commands.alternatives import alternatives
from .commands.audit import audit_command
from .commands.demo import demo
from .commands.effects import effects
from .commands.fit import fit
from .commands.frontier import frontier
from .commands.gate import gate
from .commands.pack import pack, verify
from .commands.predict import predict
from .commands.report import report
from .commands.reproduce import reproduce
from .console import fail, fail_usage, note, show_traceback

#: What a command raises for bad input; anything else is a bug and keeps its traceback.
EXPECTED = (ValueError, TypeError, OSError, MissingExtraError)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unsway")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def app(context: click.Context, debug: bool) -> None:
    """Train models without the direct effect of a sensitive attribute."""
    context.obj = {"debug": debug}


for command in (
    alternatives,
    audit_command,
    demo,
    effects,
    fit,
    frontier,
    gate,
    pack,
    predict,
    report,
    reproduce,
    verify,
):
    app.add_command(command)


def run() -> None:
    """Run the app: exit 0 when done, 1 on bad input, 2 on bad usage, 130 when interrupted."""
    sys.excepthook = show_traceback
    warnings.showwarning = lambda message, *_, **__: note(str(message))
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except click.Abort:
        note("interrupted")
        sys.exit(130)
    except click.ClickException as error:
        fail_usage(error)
        sys.exit(error.exit_code)
    except EXPECTED as error:
        if "--debug" in sys.argv:
            raise
        fail(str(error))
        sys.exit(1)
