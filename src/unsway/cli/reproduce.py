"""``unsway reproduce``: the paper's experiments."""

from __future__ import annotations

import click

from .reproduce_synthetic import synthetic
from .reproduce_tables import adult, credit


@click.group()
def reproduce() -> None:
    """Run the paper's experiments and draw its figures."""


for command in (synthetic, adult, credit):
    reproduce.add_command(command)
