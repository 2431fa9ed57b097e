"""Training that resumes after the steps of an earlier run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..core import Losses, Step
from ..core.schedule import Trainable


@dataclass
class Replay:
    """A training whose first steps were taken by an earlier run.

    A schedule decides by the losses alone. For the steps that are done it gets the recorded losses,
    and nothing is trained. Afterwards it is in the same state as in the earlier run.

    Parameters
    ----------
    training : Trainable
        What is trained, in the state after the steps that are done.
    n_done : int, default=0
        How many steps the earlier run took.
    losses : list of Losses, optional
        What ``evaluate`` returned in the earlier run; later losses are appended.

    Examples
    --------
    >>> from unsway import Schedule
    >>> class Counter:
    ...     steps = 0
    ...
    ...     def step(self, strength):
    ...         self.steps += 1
    ...
    ...     def evaluate(self):
    ...         return Losses(1 / (1 + self.steps), 0.0)
    ...
    ...     def snapshot(self):
    ...         return self.steps
    >>> counter, schedule = Counter(), Schedule(max_steps=3)
    >>> replay = Replay(counter, n_done=2, losses=[Losses(1.0, 0), Losses(0.9, 0), Losses(0.8, 0)])
    >>> [step.losses.utility for step in schedule.run(replay, 0.1).steps], counter.steps
    ([0.9, 0.8, 0.5], 1)
    """

    training: Trainable
    n_done: int = 0
    losses: list[Losses] = field(default_factory=list)
    n_steps: int = field(default=0, init=False)
    _n_evaluations: int = field(default=0, init=False)

    def step(self, strength: float) -> None:
        """Train one step at this λ, unless it is done."""
        self.n_steps += 1
        if self.n_steps > self.n_done:
            self.training.step(strength)

    def evaluate(self) -> Losses:
        """Return both losses on the early-stopping rows, from the record as far as it goes."""
        self._n_evaluations += 1
        if self._n_evaluations > len(self.losses):
            self.losses.append(self.training.evaluate())
        return self.losses[self._n_evaluations - 1]

    def snapshot(self) -> int:
        """Let the training keep its state, and return the number of steps."""
        if self.n_steps >= self.n_done:
            self.training.snapshot()
        return self.n_steps

    def after_step(
        self, save: Callable[[], None], show: Callable[[Step], None] | None, every: int = 1
    ) -> Callable[[Step], None]:
        """Return a function for a schedule to call after each step: it saves, then shows.

        It saves after every ``every``-th step. Steps that were done before are left out.
        """

        def after(step: Step) -> None:
            if step.number <= self.n_done:
                return
            if step.number % every == 0:
                save()
            if show is not None:
                show(step)

        return after
