"""When to raise the strength and when to stop: the paper's double early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .objective import Losses, check_strength


class Trainable(Protocol):
    """What a schedule drives: any model that learns step by step."""

    def step(self, strength: float) -> None:
        """Train one step at this λ."""

    def evaluate(self) -> Losses:
        """Return both losses on the early-stopping rows."""

    def snapshot(self) -> Any:
        """Return what is needed to come back to the present state."""


@dataclass(frozen=True)
class Step:
    """One step of a run: its number, phase, the λ it was trained at and the losses after it."""

    number: int
    phase: str
    strength: float
    losses: Losses


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a schedule did: every step, and the best state of the last phase."""

    steps: tuple[Step, ...]
    best: Step
    best_state: Any = field(repr=False)
    stalled: bool

    @property
    def pretraining_steps(self) -> int:
        """How many steps the first phase took."""
        return sum(step.phase == "pretrain" for step in self.steps)


@dataclass(frozen=True)
class Schedule:
    """The paper's double early stopping, for any engine.

    1. *pretrain* at ``pretrain_strength`` until the utility loss on the early-stopping rows has not
       improved for ``pretrain_patience`` steps;
    2. *ramp* λ up linearly over ``ramp_steps`` steps;
    3. *train* at λ until the whole loss has not improved for ``patience`` steps.

    A λ of at most ``pretrain_strength`` needs no raising: the last phase is the whole run. The
    state kept is the best one trained at λ itself, by the whole loss. A model pushed to a
    large λ at once stays where the penalty alone is small: at a constant.

    Parameters
    ----------
    pretrain_strength : float, default=0.3
        λ of the first phase.
    pretrain_patience : int, default=5
        Steps without improvement that end the first phase.
    ramp_steps : int, default=50
        Length of the ramp.
    patience : int, default=20
        Steps without improvement that end the last phase.
    max_steps : int, default=10000
        Steps in all, after which training ends whatever the losses.
    min_improvement : float, default=0
        By how much a loss must fall to count as improved.
    patience_share : float, default=0.1
        Training on fair targets needs so many of its steps so far without improvement to end, if
        that is more than ``patience``. In a long run each step improves the loss by less than the
        noise of a few held-out rows, so that a fixed number of steps may end it far too early.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> Schedule().strengths_of_ramp(0.8)[:3]
    (0.31, 0.32, 0.33)
    """

    pretrain_strength: float = 0.3
    pretrain_patience: int = 5
    ramp_steps: int = 50
    patience: int = 20
    max_steps: int = 10_000
    min_improvement: float = 0.0
    patience_share: float = 0.1

    def __post_init__(self) -> None:
        check_strength(self.pretrain_strength, shifted=True)
        for name in ("pretrain_patience", "patience", "max_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)!r}")
        if self.ramp_steps < 0 or self.min_improvement < 0:
            raise ValueError("ramp_steps and min_improvement must not be negative")
        if not 0 <= self.patience_share < 1:
            raise ValueError(
                f"patience_share must be at least 0 and below 1; got {self.patience_share!r}"
            )

    def strengths_of_ramp(self, strength: float) -> tuple[float, ...]:
        """Return the λ of each ramp step: evenly spaced, ending at the full strength."""
        if strength <= self.pretrain_strength or self.ramp_steps == 0:
            return ()
        rise = (strength - self.pretrain_strength) / self.ramp_steps
        return tuple(
            round(self.pretrain_strength + rise * k, 12) for k in range(1, self.ramp_steps + 1)
        )

    def run(
        self, model: Trainable, strength: float, on_step: Callable[[Step], None] | None = None
    ) -> Run:
        """Drive a fresh model through all three phases."""
        return self.finish(model, strength, self.pretrain(model, strength, on_step), on_step)

    def run_directly(
        self, model: Trainable, strength: float, on_step: Callable[[Step], None] | None = None
    ) -> Run:
        """Drive a fresh model at λ from the start: for objectives that need no way there."""
        check_strength(strength, shifted=True)
        recorder = _Recorder(model, self, on_step)
        return recorder.train(strength, self.patience_share)

    def pretrain(
        self, model: Trainable, strength: float, on_step: Callable[[Step], None] | None = None
    ) -> tuple[Step, ...]:
        """Drive the first phase, the same for every λ above ``pretrain_strength``."""
        check_strength(strength, shifted=True)
        if strength <= self.pretrain_strength:
            return ()
        recorder = _Recorder(model, self, on_step)
        recorder.until_stall(
            "pretrain", self.pretrain_strength, self.pretrain_patience, lambda loss: loss.utility
        )
        return tuple(recorder.steps)

    def finish(
        self,
        model: Trainable,
        strength: float,
        pretraining: tuple[Step, ...],
        on_step: Callable[[Step], None] | None = None,
    ) -> Run:
        """Drive ramp and last phase on a model that stands at the end of its pre-training."""
        check_strength(strength, shifted=True)
        recorder = _Recorder(model, self, on_step, list(pretraining))
        for ramped in self.strengths_of_ramp(strength):
            if not recorder.exhausted:
                recorder.advance("ramp", ramped)
        return recorder.train(strength)


@dataclass
class _Recorder:
    """Takes steps, writes them down, and watches a loss until it stalls."""

    model: Trainable
    schedule: Schedule
    on_step: Callable[[Step], None] | None
    steps: list[Step] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return len(self.steps) >= self.schedule.max_steps

    def advance(self, phase: str, strength: float) -> Step:
        self.model.step(strength)
        step = Step(len(self.steps) + 1, phase, strength, self.model.evaluate())
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(step)
        return step

    def train(self, strength: float, share: float = 0.0) -> Run:
        """Take the steps of the last phase, and return the whole run."""
        best, state, stalled = self.until_stall(
            "train", strength, self.schedule.patience, lambda loss: loss.whole(strength), share
        )
        return Run(steps=tuple(self.steps), best=best, best_state=state, stalled=stalled)

    def until_stall(
        self,
        phase: str,
        strength: float,
        patience: int,
        watched: Callable[[Losses], float],
        share: float = 0.0,
    ) -> tuple[Step, Any, bool]:
        """Step until the watched loss has not improved for `patience` steps; return the best.

        They must also be that share of all steps so far.
        """
        best = Step(len(self.steps), phase, strength, self.model.evaluate())
        state = self.model.snapshot()
        while not self.exhausted:
            step = self.advance(phase, strength)
            if watched(step.losses) < watched(best.losses) - self.schedule.min_improvement:
                best, state = step, self.model.snapshot()
            elif step.number - best.number >= max(patience, share * step.number):
                return best, state, True
        return best, state, False
