"""``unsway reproduce``: the paper's experiments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ..files import check_writable, write_atomically
from ..paper import adult as adult_experiment
from ..paper import credit as credit_experiment
from ..paper.claims import Claim
from ..paper.plots import plot_synthetic, plot_tabular, to_bytes
from ..paper.synthetic import SyntheticExperiment, run_synthetic, spread
from .console import note, say, show_table, steps


def synthetic(quiet: bool, strengths: tuple[float, ...], **settings: Any) -> None:
    """Sweep both penalties over λ with logistic regression on the synthetic data."""
    experiment = run_experiment(
        run_synthetic, plot_synthetic, SyntheticExperiment.claims, quiet=quiet, strengths=strengths,
        n_models=2 * (len(strengths) + len(spread(strengths))), **settings,
    )  # fmt: skip
    if not quiet:
        _show_descents(experiment)


def adult(**settings: Any) -> None:
    """Sweep over λ on UCI Adult, official split, sex being the sensitive attribute."""
    run_experiment(
        adult_experiment.run_adult, partial(plot_tabular, measure="accuracy"),
        adult_experiment.adult_claims, n_models=_count(adult_experiment.SETTINGS, settings),
        **settings,
    )  # fmt: skip


def credit(**settings: Any) -> None:
    """Sweep over λ on public credit data that stand in for the paper's private ones."""
    run_experiment(
        credit_experiment.run_credit, partial(plot_tabular, measure="precision"),
        credit_experiment.credit_claims, n_models=_count(credit_experiment.SETTINGS, settings),
        **settings,
    )  # fmt: skip
    if not settings["quiet"]:
        note(f"the paper's credit data are private; {settings['data']} is another data set")


def _count(criteria: Any, settings: dict[str, Any]) -> int:
    """Return the number of models of an experiment on a table."""
    return len(criteria) * len(settings["engines"]) * len(settings["strengths"])


def run_experiment(
    run: Callable[..., Any], draw: Callable[[Any], Any], claims: Callable[[Any], Iterable[Claim]],
    *, n_models: int, output: Path, json_file: Path | None, quiet: bool, **settings: Any,
) -> Any:  # fmt: skip
    """Run an experiment, write its figure and its points, and print the paper's claims.

    The outputs are checked before any work.
    """
    figures = [output / f"figure.{kind}" for kind in ("svg", "png")]
    for path in filter(None, (*figures, json_file)):
        check_writable(path)
    with steps(n_models, "Fitting the propensity score", quiet=quiet) as progress:
        experiment = run(**settings, on_point=lambda: progress.next("Fitting models"))
    for path in figures:
        write_atomically(path, to_bytes(draw(experiment), path.suffix[1:]))
    if json_file is not None:
        write_atomically(json_file, json.dumps(experiment.to_records(), indent=1) + "\n")
    if not quiet:
        holds = {True: "yes", False: "no", None: "–"}
        rows = [
            (each.claim, each.paper, each.found, holds[each.holds]) for each in claims(experiment)
        ]
        show_table("The paper's claims", ("claim", "paper", "found", "holds"), rows, numbers=False)
        say(f"Figure: {figures[0]}, {figures[1]}")
    return experiment


def _show_descents(experiment: SyntheticExperiment) -> None:
    show_table(
        "Gradient descent with double early stopping, as in the paper, compared with the minimum",
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
