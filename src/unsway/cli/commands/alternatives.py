"""``unsway alternatives``: its options. The work is in ``cli/alternatives.py``."""

from __future__ import annotations

from typing import Any

import click

from .. import options

#: What a search may be for, and what candidates may lose little of.
AXES = ("adverse_impact_ratio", "direct_effect_left", "pass_through")


@click.command(
    short_help="Search for models with less adverse impact.",
    epilog=options.example(
        "unsway alternatives people.csv --target hired --sensitive sex=Male -o search"
    ),
)
@options.table_with_roles
@options.model_options
@click.option("--candidates", type=click.IntRange(min=1), default=100, show_default=True,
              help="At most so many; more continue the search.")  # fmt: skip
@click.option("--axis", type=click.Choice(AXES), default=AXES[0], show_default=True,
              help="What the search is for.")  # fmt: skip
@click.option("--utility", type=click.Choice(["auc", "ks"]), default="auc", show_default=True,
              help="What counts as useful.")  # fmt: skip
@click.option("--max-utility-loss", type=click.FloatRange(min=0), default=0.01, show_default=True,
              help="What a candidate may lose of it against the champion.")  # fmt: skip
@click.option("--approval-rate", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.25, show_default=True, help="The share of people approved.")  # fmt: skip
@click.option("--approve", type=click.Choice(["high", "low"]), default="high", show_default=True,
              help="Which scores are approved.")  # fmt: skip
@click.option("--without", multiple=True, metavar="COLUMN,…",
              help="Another feature set: all columns but these; may be given again.")  # fmt: skip
@click.option("--reach", type=click.FloatRange(min=0),
              help="Stop as soon as an allowed candidate is this good.")  # fmt: skip
@click.option("--chance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.1,
              show_default=True,
              help="Stop when one more is better with at most this chance.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True,
              help="Candidates trained at a time, each in a process of its own.")  # fmt: skip
@click.option("-o", "--output", type=options.ANY_PATH, required=True,
              help="Folder for models, record and report; what is finished is kept.")  # fmt: skip
@options.quiet
def alternatives(**given: Any) -> None:
    """Search for a model as useful as the plain one and with less adverse impact.

    Candidates are drawn at random: strength, engine parameters, seed and feature set. The best is
    chosen on validation rows, and looked at once on test rows. A run that was stopped goes on where
    it was when the same command is given again.
    """
    from ..alternatives import alternatives as run

    run(**given)
