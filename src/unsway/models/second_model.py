"""A second booster on targets with less noise, where a criterion asks for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..core import Schedule
from ..core.schedule import Run

if TYPE_CHECKING:
    from .boosting import Boosting

#: A second model takes no more rounds than the first, unless rows times rounds are fewer than this.
MOST_ROW_ROUNDS = 5_000_000


def train_twice(
    boosting: Boosting,
    schedule: Schedule,
    train: Callable[[Boosting, Schedule], Run],
    strength: float,
) -> tuple[Boosting, Run]:
    """Train a model, and a second one if the criterion asks for it; return the better one.

    The second stops by its own objective on the held-out rows, whose targets have less noise. The
    two are compared there by the objective of the first.
    """
    run = train(boosting, schedule)
    if boosting.revise is None or strength == 0:
        return boosting, run
    margin = boosting.grower.validation_margin(max(1, run.best_state))
    objectives = boosting.revise(np.asarray(margin, dtype=np.float64))
    if objectives is None:
        return boosting, run
    second = boosting.restart(*objectives)
    most = max(len(run.steps), MOST_ROW_ROUNDS // second.count_rows())
    again = train(second, replace(schedule, max_steps=min(most, schedule.max_steps)))
    losses = boosting.losses_of(second, max(1, again.best_state))
    better = losses.whole(strength) < run.best.losses.whole(strength)
    if better:
        return replace(second, kept="second"), again
    return replace(boosting, kept="first"), run
