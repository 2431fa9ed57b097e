"""``unsway reproduce synthetic``: both penalties on data whose truth is known."""

from __future__ import annotations

from pathlib import Path

import click

from ..paper.plots import plot_synthetic
from ..paper.synthetic import SyntheticExperiment, run_synthetic, spread
from .console import note, show_table, steps
from .sweeps import check_outputs, show_claims, sweep_options, write_outputs


@click.command()
@sweep_options("synthetic")
@click.option("--samples", type=click.IntRange(min=1_000), default=1_000_000, show_default=True,
              help="Rows to train on.")  # fmt: skip
def synthetic(
    output: Path,
    json_file: Path | None,
    strengths: tuple[float, ...],
    seed: int,
    samples: int,
    quiet: bool,
) -> None:
    """Sweep both penalties over λ with logistic regression on the synthetic data."""
    check_outputs(output, json_file)
    total = 2 * (len(strengths) + len(spread(strengths)))
    with steps(total, "Fitting the propensity score", quiet=quiet) as progress:

        def on_point() -> None:
            progress.describe("Fitting models")
            progress.advance()

        experiment = run_synthetic(
            strengths=strengths, random_state=seed, n_samples=samples, on_point=on_point
        )
    records = experiment.to_records()
    write_outputs(output, json_file, lambda: plot_synthetic(experiment), records)
    if not quiet:
        show_claims(experiment.claims(), output)
        _show_descents(experiment)


def _show_descents(experiment: SyntheticExperiment) -> None:
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
