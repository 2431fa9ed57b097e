"""``unsway demo``: the synthetic story, end to end, in under a minute."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from .. import FairLogisticRegression, Frontier, frontier, make_synthetic
from ..files import check_writable, write_atomically
from ..paper.plots import plot_story, to_bytes
from ..paper.story import Chapter, Story, tell_story
from ..report import Figure, Page, Table, Text, write_frontier_report
from .console import say, show_table, steps

COLUMNS = ("model", "accuracy", "SPD", "score gap", "direct effect left", "distance to fair score")


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
        choice = found.select()
        write_frontier_report(found, report, choice=choice, title="A model that is not swayed")
        write_atomically(page, build_page(story).render())
        progress.advance()
    if not quiet:
        show_table("On fresh rows", COLUMNS, [_row(chapter) for chapter in story.chapters])
        say(f"Fair covariates explain a gap of {story.effects.explained:.3f}; the rest is direct.")
        say(f"Report, with every strength: {report}")
        say(f"The four models and the truth: {page}")


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
    """Return the page that shows the four models next to the truth."""
    blind, parity, penalty, fair = story.chapters
    text = files(__package__).joinpath("demo.toml").read_text(encoding="utf-8")
    words = tomllib.loads(
        text.format(story=story, blind=blind, parity=parity, penalty=penalty, fair=fair)
    )
    svg = to_bytes(plot_story(story), "svg").decode()
    coefficients = [
        (c.model, f"{c.safe:.3f}", f"{c.indirect:.3f}", f"{c.proxy:.3f}") for c in story.chapters
    ]
    return Page(
        title=words["title"],
        lead=words["lead"],
        sections=[
            Figure(**words["figure"], svg=svg[svg.index("<svg") :]),
            Table("Figures on fresh rows", COLUMNS, [_row(chapter) for chapter in story.chapters]),
            Table(
                "Mean coefficients by role (truth .25, .25, 0)",
                ("model", "safe", "indirect", "proxy"),
                coefficients,
            ),
            *(Text(**each) for each in words["texts"]),
        ],
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
