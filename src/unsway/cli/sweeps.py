"""What the ``unsway reproduce`` commands share: options, outputs, the table of claims."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from ..core import check_strength
from ..files import check_writable, write_atomically
from ..paper.claims import Claim
from ..paper.plots import to_bytes
from ..paper.synthetic import STRENGTHS
from .console import say, show_table
from .flags import parse_numbers


def parse_strengths(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[float, ...]:
    """Return the strengths a user wrote as ``0,0.5,0.9``, in increasing order, each once."""
    strengths = sorted(set(parse_numbers(context, option, value) or STRENGTHS))
    try:
        for strength in strengths:
            check_strength(strength)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", context, option) from None
    return tuple(strengths)


def sweep_options(folder: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a sweep to a command."""
    options = [
        click.option(
            "-o", "--output", type=click.Path(file_okay=False, path_type=Path),
            default=Path(folder), show_default=True, help="Folder for figure.svg and figure.png.",
        ),
        click.option(
            "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path),
            help="Write every point of the sweep to this file.",
        ),
        click.option(
            "--strengths", callback=parse_strengths, metavar="λ,λ,…",
            help="Strengths λ, such as 0,0.5,0.9. [default: 0 to 0.975 by 0.025]",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    ]  # fmt: skip

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def check_outputs(output: Path, json_file: Path | None) -> None:
    """Raise before any work if an output cannot be written."""
    for path in (output / "figure.svg", output / "figure.png", json_file):
        if path is not None:
            check_writable(path)


def write_outputs(
    output: Path, json_file: Path | None, draw: Callable[[], Any], records: list[dict[str, Any]]
) -> None:
    """Write the figure as SVG and PNG, and the points where they are asked for."""
    for kind in ("svg", "png"):
        write_atomically(output / f"figure.{kind}", to_bytes(draw(), kind))
    if json_file is not None:
        write_atomically(json_file, json.dumps(records, indent=1) + "\n")


def show_claims(claims: Iterable[Claim], output: Path) -> None:
    """Print the paper's claims beside what was found, and where the figure is."""
    verdicts = {True: "yes", False: "no", None: "–"}
    rows = [(claim.claim, claim.paper, claim.found, verdicts[claim.holds]) for claim in claims]
    show_table("The paper's claims", ("claim", "paper", "found", "holds"), rows, numbers=False)
    say(f"Figure: {output / 'figure.svg'}, {output / 'figure.png'}")
