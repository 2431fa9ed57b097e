"""``unsway gate``: rules on the numbers of an audit."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..auditing.gate import judge_rules, read_policy
from .console import one_line, say


def gate(policy: Path, audit: Path) -> int:
    """Print a line for each rule; return 0 if all pass, else 1."""
    try:
        rules = read_policy(policy)
        content = json.loads(audit.read_text("utf-8"))
    except OSError as error:
        name = error.filename or audit
        raise click.UsageError(f"{name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(_reason(error, audit)) from None
    if not isinstance(content, dict):
        raise click.UsageError(f"{audit} is no JSON of an audit")
    results = judge_rules(rules, content)
    for each in results:
        say(one_line(str(each)))
    return 0 if all(each.passed for each in results) else 1


def _reason(error: ValueError, audit: Path) -> str:
    broken = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    return f"{audit} is no JSON: {error}" if broken else str(error)
