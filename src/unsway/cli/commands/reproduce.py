"""``unsway reproduce``: its options. The work is in ``cli/reproduce.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import options

#: The experiments' engines, strengths and stand-ins of private data; a test compares them.
ENGINES = ("logistic", "xgboost")
STRENGTHS = tuple(round(0.025 * k, 3) for k in range(40))
STAND_INS = ("pakdd", "give-me-some-credit")


@click.group()
def reproduce() -> None:
    """Run the paper's experiments and draw its figures."""


def parse_strengths(text: str) -> tuple[float, ...]:
    """Return the strengths a user wrote as ``0,0.5,0.9``, in increasing order, each once."""
    from ...core import check_strength

    strengths = sorted(set(options.parse_numbers(text)))
    try:
        for strength in strengths:
            check_strength(strength)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None
    return tuple(strengths)


def sweep_options(folder: str) -> options.Option:
    """Return a decorator that adds the options of every experiment to a command."""
    return options.together(
        click.option("-o", "--output", type=options.NEW_FOLDER, default=Path(folder),
                     show_default=True, help="Folder for figure.svg and figure.png."),
        click.option("--json", "json_file", type=options.NEW_FILE,
                     help="Write every point of the sweep to this file."),
        click.option("--strengths", type=parse_strengths, default=",".join(map(str, STRENGTHS)),
                     metavar="λ,λ,…",
                     help="Strengths λ, such as 0,0.5,0.9. [default: 0 to 0.975 by 0.025]"),
        options.seed,
        options.quiet,
    )  # fmt: skip


engine_options = options.together(
    click.option("--engine", "engines", type=click.Choice(ENGINES), multiple=True, default=ENGINES,
                 help="logistic or xgboost; both by default."),
    click.option("--jobs", "n_jobs", type=click.IntRange(min=1), default=2, show_default=True,
                 help="Boosted fits at a time, a thread each."),
)  # fmt: skip


@reproduce.command(epilog=options.example("unsway reproduce synthetic -o synthetic"))
@sweep_options("synthetic")
@click.option("--samples", "n_samples", type=click.IntRange(min=1_000), default=1_000_000,
              show_default=True, help="Rows to train on.")  # fmt: skip
def synthetic(**given: Any) -> None:
    """Sweep both penalties over λ with logistic regression on the synthetic data."""
    from ..reproduce import synthetic as run

    run(**given)


@reproduce.command(epilog=options.example("unsway reproduce adult -o adult"))
@sweep_options("adult")
@engine_options
def adult(**given: Any) -> None:
    """Sweep over λ on UCI Adult, official split, sex being the sensitive attribute."""
    from ..reproduce import adult as run

    run(**given)


@reproduce.command(epilog=options.example("unsway reproduce credit -o credit"))
@sweep_options("credit")
@engine_options
@click.option("--stand-in", "data", type=click.Choice(STAND_INS), default="pakdd",
              show_default=True, help="The public data to use.")  # fmt: skip
@click.option("--data", "path", type=click.Path(exists=True, path_type=Path),
              help="File or folder of the data. [default: the folder in UNSWAY_DATA]")  # fmt: skip
def credit(**given: Any) -> None:
    """Sweep over λ on public credit data that stand in for the paper's private ones."""
    from ..reproduce import credit as run

    run(**given)
