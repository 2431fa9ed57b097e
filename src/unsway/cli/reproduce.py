"""``unsway reproduce``: the paper's experiments."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..core import check_strength
from ..files import check_writable, write_atomically
from ..paper.plots import plot_synthetic, to_bytes
from ..paper.synthetic import STRENGTHS, SyntheticExperiment, run_synthetic, spread
from .console import note, say, show_table, steps


def parse_strengths(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[float, ...]:
    """Return the strengths a user wrote as ``0,0.5,0.9``, in increasing order, each once."""
    if value is None:
        return STRENGTHS
    try:
        strengths = sorted({float(part) for part in value.split(",")})
        for strength in strengths:
            check_strength(strength)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", context, option) from None
    return tuple(strengths)


@click.group()
def reproduce() -> None:
    """Run the paper's experiments and draw its figures."""


@reproduce.command()
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("synthetic"),
    show_default=True, help="Folder for figure.svg and figure.png.",
)  # fmt: skip
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path),
              help="Write every point of the sweep to this file.")  # fmt: skip
@click.option("--strengths", callback=parse_strengths, metavar="λ,λ,…",
              help="Strengths λ, such as 0,0.5,0.9. [default: 0 to 0.975 by 0.025]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--samples", type=click.IntRange(min=1_000), default=1_000_000, show_default=True,
              help="Rows to train on.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def synthetic(
    output: Path,
    json_file: Path | None,
    strengths: tuple[float, ...],
    seed: int,
    samples: int,
    quiet: bool,
) -> None:
    """Sweep both penalties over λ with logistic regression on the synthetic data."""
    for path in (output / "figure.svg", output / "figure.png", json_file):
        if path is not None:
            check_writable(path)
    total = 2 * (len(strengths) + len(spread(strengths)))
    with steps(total, "Fitting the propensity score", quiet=quiet) as progress:

        def on_point() -> None:
            progress.describe("Fitting models")
            progress.advance()

        experiment = run_synthetic(
            strengths=strengths, random_state=seed, n_samples=samples, on_point=on_point
        )
    for kind in ("svg", "png"):
        write_atomically(output / f"figure.{kind}", to_bytes(plot_synthetic(experiment), kind))
    if json_file is not None:
        write_atomically(json_file, json.dumps(experiment.to_records(), indent=1) + "\n")
    if not quiet:
        _print(experiment)
        say(f"Figure: {output / 'figure.svg'}, {output / 'figure.png'}")


def _print(experiment: SyntheticExperiment) -> None:
    verdicts = {True: "yes", False: "no", None: "–"}
    show_table(
        "The paper's claims",
        ("claim", "paper", "found", "holds"),
        [
            (claim.claim, claim.paper, claim.found, verdicts[claim.holds])
            for claim in experiment.claims()
        ],
        numbers=False,
    )
    show_table(
        "Gradient descent with double early stopping, as in the paper, beside the minimum",
        ("criterion", "λ", "steps", "objective above minimum", "largest coefficient error"),
        [
            (
                descent.criterion,
                f"{descent.strength:g}",
                str(descent.steps),
                f"{max(0.0, descent.excess):.3%}",
                f"{descent.coefficient_error:.4f}",
            )
            for descent in experiment.descents
        ],
    )
    note(
        f"{experiment.extreme_share:.0%} of the propensity scores lie outside [.05, .95]: the "
        "groups overlap poorly in the paper's own data"
    )
