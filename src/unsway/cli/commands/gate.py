"""``unsway gate``: its options. The work is in ``cli/gate.py``, imported when it is run."""

from __future__ import annotations

from typing import Any

import click

from .. import options


@click.command(
    short_help="Check the numbers of an audit against a policy.",
    epilog=options.example("unsway gate policy.toml audit.json"),
)
@click.argument("policy", type=options.ANY_PATH)
@click.argument("audit", type=options.ANY_PATH)
def gate(**given: Any) -> int:
    """Check the JSON file AUDIT against the rules of the TOML file POLICY, one line for each.

    The exit status is 0 if all pass, 1 if one fails, and 2 if a file cannot be read. AUDIT is the
    file of `unsway audit --json`, or any JSON that a result writes.
    """
    from ..gate import gate as run

    return run(**given)
