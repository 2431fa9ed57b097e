"""The double early stopping, driven by scripted losses and by a real descent."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import make_people, objective_of, penalty_of

from unsway.core import Losses, Schedule
from unsway.core.newton import LinearProblem
from unsway.criteria import Parity


class Scripted:
    """A trainable whose losses are written down: the k-th pair stands after k steps."""

    def __init__(self, utility, penalty=(0.0,)):
        self.utility, self.penalty = utility, penalty
        self.position = 0
        self.strengths = []

    def step(self, strength):
        self.position += 1
        self.strengths.append(strength)

    def evaluate(self):
        return Losses(
            *(row[min(self.position, len(row) - 1)] for row in (self.utility, self.penalty))
        )

    def snapshot(self):
        return self.position


def phases(run):
    """Return how many steps each phase took."""
    names = [step.phase for step in run.steps]
    return {name: names.count(name) for name in ("pretrain", "ramp", "train")}


def test_pretraining_ends_after_five_steps_without_better_utility():
    model = Scripted(utility=[1.0, 0.9, 0.8])
    steps = Schedule().pretrain(model, 0.9)
    assert [step.losses.utility for step in steps] == [0.9, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]


def test_better_utility_starts_the_count_of_stalls_anew():
    model = Scripted(utility=[1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8])
    assert len(Schedule().pretrain(model, 0.9)) == 6 + 5


def test_a_falling_penalty_does_not_prolong_pretraining():
    model = Scripted(utility=[1.0], penalty=np.linspace(1, 0, 100))
    assert len(Schedule().pretrain(model, 0.9)) == 5


def test_pretraining_is_done_at_its_own_strength():
    model = Scripted(utility=[1.0])
    Schedule().pretrain(model, 0.9)
    assert set(model.strengths) == {0.3}


def test_the_ramp_is_linear_over_fifty_steps_and_ends_at_the_full_strength():
    run = Schedule().run(Scripted(utility=[1.0]), 0.9)
    ramp = [step.strength for step in run.steps if step.phase == "ramp"]
    np.testing.assert_allclose(ramp, np.linspace(0.3, 0.9, 51)[1:], atol=1e-12)
    assert ramp[-1] == 0.9


def test_the_last_phase_ends_after_twenty_steps_without_a_better_whole_loss():
    falling = [1.0] * 55 + [0.9, 0.8, 0.7]  # five of pre-training and fifty of ramp, then better
    run = Schedule().run(Scripted(utility=[1.0], penalty=[1.0, *falling]), 0.9)
    assert phases(run) == {"pretrain": 5, "ramp": 50, "train": 3 + 20}
    assert run.stalled


def test_the_last_phase_is_trained_at_the_full_strength():
    run = Schedule().run(Scripted(utility=[1.0]), 0.9)
    assert {step.strength for step in run.steps if step.phase == "train"} == {0.9}


def test_the_whole_loss_decides_even_where_utility_gets_worse():
    # .1·utility + .9·penalty falls while utility rises
    utility, penalty = [0.0] * 56 + [1.0, 2.0], [1.0] * 56 + [0.5, 0.2]
    run = Schedule().run(Scripted(utility, penalty), 0.9)
    assert run.best.number == 57
    assert run.best.losses == Losses(2.0, 0.2)


def test_the_best_state_is_kept_and_not_the_last():
    penalty = [1.0] * 56 + [0.9, 0.5, 0.7, 0.8]
    run = Schedule().run(Scripted([1.0], penalty), 0.9)
    assert run.best_state == run.best.number == 57
    assert run.steps[-1].number == 57 + 20


def test_a_better_state_before_the_full_strength_is_not_kept():
    penalty = [1.0] * 10 + [0.0] + [1.0] * 45 + [0.9]
    run = Schedule().run(Scripted([1.0], penalty), 0.9)
    assert run.best_state == 56


def test_the_state_at_the_start_of_the_last_phase_is_kept_where_nothing_beats_it():
    run = Schedule().run(Scripted([1.0], [1.0] * 56 + [2.0]), 0.9)
    assert run.best_state == run.best.number == 55


@pytest.mark.parametrize("strength", [0.0, 0.2, 0.3])
def test_a_strength_of_at_most_the_pretraining_one_has_no_ramp(strength):
    run = Schedule().run(Scripted([1.0, 0.9]), strength)
    assert phases(run) == {"pretrain": 0, "ramp": 0, "train": 1 + 20}
    assert {step.strength for step in run.steps} == {strength}
    assert run.pretraining_steps == 0


def test_without_ramp_steps_the_strength_is_raised_at_once():
    run = Schedule(ramp_steps=0).run(Scripted([1.0]), 0.9)
    assert phases(run) == {"pretrain": 5, "ramp": 0, "train": 20}


@pytest.mark.parametrize(
    ("max_steps", "expected"),
    [(3, (3, 0, 0)), (30, (5, 25, 0)), (55, (5, 50, 0)), (60, (5, 50, 5))],
)
def test_no_more_steps_are_taken_than_allowed(max_steps, expected):
    run = Schedule(max_steps=max_steps).run(Scripted([1.0]), 0.9)
    assert tuple(phases(run).values()) == expected
    assert not run.stalled


def test_a_run_is_its_pretraining_and_what_finishes_it():
    losses = np.linspace(1, 0, 40), np.linspace(2, 1, 90)
    schedule, model = Schedule(), Scripted(*losses)
    pretraining = schedule.pretrain(model, 0.8)
    assert schedule.finish(model, 0.8, pretraining) == schedule.run(Scripted(*losses), 0.8)


def test_pretraining_is_shared_by_every_strength_above_it():
    losses = np.linspace(1, 0, 10)
    one, other = (Schedule().pretrain(Scripted(losses), strength) for strength in (0.5, 0.95))
    assert one == other


def test_every_step_is_reported_once_in_order():
    seen = []
    run = Schedule().run(Scripted([1.0, 0.9]), 0.9, on_step=seen.append)
    assert tuple(seen) == run.steps
    assert [step.number for step in seen] == list(range(1, len(seen) + 1))


def test_a_run_counts_its_pretraining_steps():
    assert Schedule().run(Scripted([1.0, 0.9]), 0.9).pretraining_steps == 6


def test_an_improvement_below_the_least_one_counts_as_a_stall():
    losses = 1 - 1e-6 * np.arange(1000)
    run = Schedule(min_improvement=1e-3).run(Scripted(losses), 0.1)
    assert len(run.steps) == 20


def test_a_loss_that_is_not_a_number_counts_as_a_stall():
    run = Schedule().run(Scripted([1.0, 0.9, np.nan]), 0.1)
    assert run.best_state == 1
    assert len(run.steps) == 21


@pytest.mark.parametrize("strength", [0.0, 0.2, 0.9, 1.0])
def test_a_direct_run_trains_at_its_strength_from_the_start(strength):
    utility, penalty = [1.0, 0.9, 0.9, 0.8], [1.0, 0.9, 0.8, 0.9]
    model = Scripted(utility, penalty)
    run = Schedule().run_directly(model, strength)
    assert phases(run) == {"pretrain": 0, "ramp": 0, "train": run.best.number + 20}
    assert set(model.strengths) == {strength}
    whole = [(1 - strength) * u + strength * p for u, p in zip(utility, penalty, strict=True)]
    assert run.best_state == run.best.number == int(np.argmin(whole))


def test_a_direct_run_keeps_the_other_settings_and_reports_its_steps():
    seen = []
    schedule = Schedule(pretrain_strength=0.5, patience=3, max_steps=9)
    run = schedule.run_directly(Scripted([1.0]), 0.8, on_step=seen.append)
    assert tuple(seen) == run.steps
    assert len(seen) == 3
    assert schedule.pretrain_strength == 0.5


def test_a_long_direct_run_waits_for_a_tenth_of_its_steps():
    losses = [*np.linspace(1.0, 0.5, 501), *[0.5] * 49, 0.4]  # nothing improves from 501 to 549
    run = Schedule().run_directly(Scripted(losses), 0.0)
    assert run.best_state == 550
    assert len(run.steps) == 550 + 62  # a tenth of 612, rounded up
    assert Schedule(patience_share=0).run_directly(Scripted(losses), 0.0).best_state == 500


def test_a_run_of_all_phases_waits_for_its_patience_alone():
    run = Schedule().run(Scripted(np.linspace(1.0, 0.5, 501)), 0.1)
    assert len(run.steps) == 500 + 20


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_of_patience_outside_its_range_is_refused(share):
    with pytest.raises(ValueError, match=r"patience_share must be at least 0 and below 1; got"):
        Schedule(patience_share=share)


@pytest.mark.parametrize("strength", [-0.1, 1.1])
def test_a_direct_run_refuses_a_strength_outside_its_range_before_any_step(strength):
    model = Scripted([1.0])
    with pytest.raises(ValueError, match=r"strength must be at least 0 and at most 1"):
        Schedule().run_directly(model, strength)
    assert model.position == 0


@pytest.mark.parametrize("name", ["pretrain_patience", "patience", "max_steps"])
def test_a_count_below_one_is_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"{name} must be at least 1; got 0"):
        Schedule(**{name: 0})


@pytest.mark.parametrize("name", ["ramp_steps", "min_improvement"])
def test_a_negative_setting_is_refused(name):
    with pytest.raises(ValueError, match=r"ramp_steps and min_improvement must not be negative"):
        Schedule(**{name: -1})


@pytest.mark.parametrize("strength", [-0.1, 1.1])
def test_a_strength_outside_its_range_is_refused_before_any_step(strength):
    model = Scripted([1.0])
    with pytest.raises(ValueError, match=r"strength must be at least 0 and at most 1"):
        Schedule().run(model, strength)
    with pytest.raises(ValueError, match=r"strength must be at least 0 and at most 1"):
        Schedule(pretrain_strength=strength)
    assert model.position == 0


class Descent:
    """Logistic regression by gradient descent: a trainable that really trains."""

    def __init__(self, problem):
        self.problem = problem
        self.weights = np.zeros(problem.X.shape[1] + 1)

    def margin(self):
        return self.problem.X @ self.weights[:-1] + self.weights[-1]

    def step(self, strength):
        margin = self.margin()
        rows = self.problem.objective.at(strength).expand(margin).gradient / len(margin)
        self.weights = self.weights - 2 * np.append(self.problem.X.T @ rows, rows.sum())

    def evaluate(self):
        return self.problem.objective.losses(self.margin())

    def snapshot(self):
        return self.weights.copy()


def test_gradient_descent_under_the_schedule_ends_near_the_newton_optimum():
    people = make_people(300, seed=5)
    objective = objective_of(penalty_of(Parity(), people), people.y, strength=0.9)
    problem = LinearProblem(objective, np.column_stack([people.b - 0.5, people.X[:, 1]]))
    best = problem.minimize(tol=1e-10)
    model = Descent(problem)
    run = Schedule().run(model, 0.9)
    assert run.best.losses.whole(0.9) == pytest.approx(best.losses.whole(0.9), abs=1e-6)
    np.testing.assert_allclose(run.best_state, best.weights, atol=1e-2)
