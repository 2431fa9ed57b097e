"""``unsway reproduce adult`` and ``unsway reproduce credit``: the paper's real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..paper.adult import SETTINGS as ADULT_SETTINGS
from ..paper.adult import adult_claims, run_adult
from ..paper.credit import LOADERS, credit_claims, run_credit
from ..paper.plots import plot_tabular
from ..paper.tabular import ENGINES, TabularExperiment
from .console import note, steps
from .sweeps import check_outputs, show_claims, sweep_options, write_outputs

_engine_option = click.option(
    "--engine", "engines", type=click.Choice(ENGINES), multiple=True, default=ENGINES,
    help="logistic or xgboost; both by default.",
)  # fmt: skip
_jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), default=2, show_default=True,
    help="Boosted fits at a time, a thread each.",
)  # fmt: skip


@click.command()
@sweep_options("adult")
@_engine_option
@_jobs_option
def adult(
    output: Path,
    json_file: Path | None,
    strengths: tuple[float, ...],
    seed: int,
    quiet: bool,
    engines: tuple[str, ...],
    jobs: int,
) -> None:
    """Sweep over λ on UCI Adult, official split, sex being the sensitive attribute."""
    check_outputs(output, json_file)
    total = len(ADULT_SETTINGS) * len(engines) * len(strengths)
    options = {"engines": engines, "strengths": strengths, "random_state": seed, "n_jobs": jobs}
    experiment = _with_progress(run_adult, total, quiet, **options)
    draw = lambda: plot_tabular(experiment, "accuracy")  # noqa: E731
    write_outputs(output, json_file, draw, experiment.to_records())
    if not quiet:
        show_claims(adult_claims(experiment), output)


@click.command()
@sweep_options("credit")
@_engine_option
@_jobs_option
@click.option("--stand-in", type=click.Choice(list(LOADERS)), default="pakdd", show_default=True)
@click.option("--data", type=click.Path(exists=True, path_type=Path),
              help="File or folder of the data. [default: the folder in UNSWAY_DATA]")  # fmt: skip
def credit(
    output: Path,
    json_file: Path | None,
    strengths: tuple[float, ...],
    seed: int,
    quiet: bool,
    engines: tuple[str, ...],
    jobs: int,
    stand_in: str,
    data: Path | None,
) -> None:
    """Sweep over λ on public credit data that stand in for the paper's private ones."""
    check_outputs(output, json_file)
    options = {"engines": engines, "strengths": strengths, "random_state": seed, "n_jobs": jobs}
    total = len(engines) * len(strengths)
    experiment = _with_progress(run_credit, total, quiet, data=stand_in, path=data, **options)
    draw = lambda: plot_tabular(experiment, "precision")  # noqa: E731
    write_outputs(output, json_file, draw, experiment.to_records())
    if not quiet:
        show_claims(credit_claims(experiment), output)
        note(f"the paper's credit data are private; {stand_in} is another data set")


def _with_progress(
    run: Callable[..., TabularExperiment], total: int, quiet: bool, **options: Any
) -> TabularExperiment:
    with steps(total, "Fitting the propensity score", quiet=quiet) as progress:

        def on_point() -> None:
            progress.describe("Fitting models")
            progress.advance()

        return run(**options, on_point=on_point)
