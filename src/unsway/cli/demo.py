"""``unsway demo``: the synthetic story, end to end, in under a minute."""

from __future__ import annotations

from pathlib import Path

import click

from .. import FairLogisticRegression, Frontier, frontier, make_synthetic
from ..files import check_writable, write_atomically
from ..paper.plots import plot_story, to_bytes
from ..paper.story import Chapter, Story, tell_story
from ..report import Figure, Page, Table, Text, write_frontier_report
from . import options
from .console import say, show_table, steps

COLUMNS = ("model", "accuracy", "SPD", "score gap", "direct effect left", "distance to fair score")


@click.command()
@click.option("-o", "--output", type=options.NEW_FOLDER, default=Path("demo"), show_default=True,
              help="Folder for report.html and story.html.")  # fmt: skip
@click.option(
    "--samples", "n_samples", type=click.IntRange(min=1_000), default=50_000, show_default=True
)
@click.option("--strength", type=float, default=0.9, show_default=True, help="λ of both penalties.")
@options.seed
@options.quiet
def demo(output: Path, n_samples: int, strength: float, random_state: int, quiet: bool) -> None:
    """Train a blind model and three fair ones on data whose truth is known, and report on them."""
    report, page = (check_writable(output / name) for name in ("report.html", "story.html"))
    with steps(5, "Training the models", quiet=quiet) as progress:
        story = tell_story(
            n_samples=n_samples,
            strength=strength,
            random_state=random_state,
            on_model=lambda name: progress.next(f"Trained the {name} model"),
        )
        progress.describe("Training at every strength")
        found = sweep(n_samples, random_state)
        choice = found.select(max_accuracy_loss=0.05)
        write_frontier_report(found, report, choice=choice, title="A model that is not swayed")
        write_atomically(page, build_page(story).render())
        progress.advance()
    if not quiet:
        show_table("On fresh rows", COLUMNS, [_row(chapter) for chapter in story.chapters])
        say(f"Fair covariates explain a gap of {story.effects.explained:.3f}; the rest is direct.")
        say(f"Report, with every strength: {report}")
        say(f"The four models beside the truth: {page}")


def sweep(n_samples: int, random_state: int) -> Frontier:
    """Return the frontier of fair targets on the demo's people."""
    train, test = (make_synthetic(n_samples, random_state=2 * random_state + k) for k in (0, 1))
    return frontier(
        FairLogisticRegression(),
        train.X,
        train.y,
        sensitive_features=train.z,
        strengths=[k / 10 for k in range(11)],
        test_set=(test.X, test.y, test.z),
        effects={"max_extreme_share": 1.0},  # the paper's groups overlap little, and we know
    )


def build_page(story: Story) -> Page:
    """Return the page that tells the four models beside the truth."""
    blind, _, penalty, fair = story.chapters
    svg = to_bytes(plot_story(story), "svg").decode()
    coefficients = [
        (c.model, f"{c.safe:.3f}", f"{c.indirect:.3f}", f"{c.proxy:.3f}") for c in story.chapters
    ]
    return Page(
        title="A model that is not swayed",
        lead=(
            f"Of the blind model's score gap of {blind.gap:.3f}, {story.effects.explained:.3f} "
            f"goes through fair covariates and {blind.direct_effect_left:.3f} is the direct effect "
            "of z, learned through proxies. The model trained on fair targets leaves "
            f"{fair.direct_effect_left:+.3f} of it and keeps an accuracy of {fair.accuracy:.3f}, "
            f"the direct-effect penalty leaves {penalty.direct_effect_left:+.3f}; parity also "
            "removes what is fair."
        ),
        sections=[
            Figure(
                caption="Left: the line is the gap that fair covariates explain. Right: proxies "
                "should weigh nothing, safe and indirect variables alike.",
                alternative="Bars of score gap and mean coefficients for the four models; the "
                "numbers are in the tables below.",
                svg=svg[svg.index("<svg") :],
            ),
            Table("Figures on fresh rows", COLUMNS, [_row(chapter) for chapter in story.chapters]),
            Table(
                "Mean coefficients by role (truth .25, .25, 0)",
                ("model", "safe", "indirect", "proxy"),
                coefficients,
            ),
            *_explanations(story),
        ],
    )


def _explanations(story: Story) -> tuple[Text, Text]:
    """Return what the data are, and how the models are trained."""
    parity = story.chapters[1]
    return (
        Text(
            "What the data are",
            (
                f"{story.n_samples:,} synthetic people to train on and as many to judge by. A "
                "sensitive attribute z raises the odds of y = 1 directly, and again through "
                "four indirect variables. Two proxies know z but do not cause y; ten safe "
                "variables have nothing to do with z. No model sees z when it predicts.",
                f"The parity model brings the gap to {parity.gap:.3f}: it gives proxies a "
                f"weight of {parity.proxy:.3f} to undo what indirect variables fairly add.",
            ),
        ),
        Text(
            "How it works",
            (
                "Fair targets are the labels with the direct effect at each person's X, "
                "estimated by cross-fitted models, evened out between the groups: "
                "y + ½τ(X) for z = 0, y − ½τ(X) for z = 1. The model is then trained as usual.",
                "The penalties minimise (1−λ)·log-loss + λ·penalty with "
                f"λ = {story.strength:g}. The direct-effect penalty regresses the scores on "
                "the propensity score b = P(z=1 | X) and on z, and holds the slope in b to "
                "that of the labels with their direct effect evened out.",
                "Method: Di Stefano, Hickey & Vasileiou (2020), Counterfactual fairness: "
                "removing direct effects through regularization, arXiv:2002.10774.",
            ),
        ),
    )


def _row(chapter: Chapter) -> tuple[str, ...]:
    return (
        chapter.model,
        f"{chapter.accuracy:.3f}",
        f"{chapter.spd:+.3f}",
        f"{chapter.gap:+.3f}",
        f"{chapter.direct_effect_left:+.3f}",
        f"{chapter.distance_to_fair:.3f}",
    )
