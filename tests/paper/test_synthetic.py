import numpy as np
import pytest
from contracts import objective_of, rows_of

from unsway import Parity, Schedule, make_synthetic
from unsway.paper.descent import GradientDescent, descend
from unsway.paper.plots import plot_story, plot_synthetic, to_bytes
from unsway.paper.story import tell_story
from unsway.paper.synthetic import (
    CRITERIA,
    ROLES,
    STRENGTHS,
    Point,
    SyntheticExperiment,
    run_synthetic,
    spread,
)


@pytest.fixture(scope="module")
def experiment():
    return run_synthetic(strengths=(0, 0.5, 0.9, 0.975), random_state=0, n_samples=20_000)


def test_the_strengths_are_the_papers_forty():
    assert len(STRENGTHS) == 40
    assert (STRENGTHS[0], STRENGTHS[1], STRENGTHS[-1]) == (0.0, 0.025, 0.975)


def test_there_is_a_point_per_criterion_and_strength(experiment):
    found = [(point.criterion, point.strength) for point in experiment.points]
    assert found == [
        (name, s) for name in ("direct_effect", "parity") for s in (0, 0.5, 0.9, 0.975)
    ]


def test_records_have_exactly_the_promised_keys(experiment):
    keys = [
        "criterion",
        "strength",
        "accuracy",
        "spd",
        "gap",
        "penalty",
        "safe",
        "indirect",
        "proxy",
    ]
    assert all(list(record) == keys for record in experiment.to_records())


def test_the_direct_effect_model_weighs_safe_and_indirect_alike_and_proxies_not(experiment):
    fair = next(p for p in experiment.of("direct_effect") if p.strength == 0.9)
    assert fair.safe == pytest.approx(experiment.oracle["safe"], abs=0.02)
    assert fair.indirect == pytest.approx(experiment.oracle["indirect"], abs=0.03)
    assert fair.proxy == pytest.approx(0, abs=0.04)


def test_the_best_linear_model_of_the_fair_score_is_flatter_than_the_outcome(experiment):
    assert experiment.oracle["safe"] == pytest.approx(0.2325, abs=0.002)
    assert experiment.oracle["indirect"] == pytest.approx(0.2325, abs=0.003)
    assert experiment.oracle["proxy"] == pytest.approx(0, abs=0.003)


def test_parity_brings_the_parity_difference_near_zero_at_a_cost_in_accuracy(experiment):
    parity, fair = experiment.of("parity")[-1], experiment.of("direct_effect")[-1]
    assert abs(parity.spd) <= 0.03
    assert parity.accuracy < fair.accuracy - 0.02


def hand_made(fair, parity):
    """An experiment of one strength, from (accuracy, spd, safe, indirect, proxy) per criterion."""
    points = []
    for name, (accuracy, spd, *coefficients) in (("direct_effect", fair), ("parity", parity)):
        by_role = dict(zip(ROLES, coefficients, strict=True))
        points.append(
            Point(
                criterion=name, strength=0.9, accuracy=accuracy, spd=spd, gap=0.1, penalty=0.0,
                **by_role,
            )
        )  # fmt: skip
    return SyntheticExperiment(
        points=tuple(points), descents=(), oracle={"safe": 0.23, "indirect": 0.23, "proxy": 0.0},
        label_gap=0.375, extreme_share=0.5,
    )  # fmt: skip


def test_claims_hold_where_the_figures_say_so():
    run = hand_made(fair=(0.75, 0.2, 0.24, 0.26, 0.03), parity=(0.7, -0.02, 0.2, 0.1, -0.1))
    assert [claim.holds for claim in run.claims()] == [True, True, True, None]
    assert "0.240 / 0.260 / 0.030 (best possible 0.230" in run.claims()[0].found


def test_claims_fail_where_the_figures_say_so():
    run = hand_made(fair=(0.7, 0.2, 0.22, 0.25, 0.0), parity=(0.7, 0.03, 0.2, 0.1, -0.1))
    assert [claim.holds for claim in run.claims()] == [False, False, False, None]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_papers_experiment_is_reproduced(seed):
    run = run_synthetic(strengths=(0.5, 0.7, 0.9, 0.975), random_state=seed)
    fair = next(point for point in run.of("direct_effect") if point.strength == 0.9)
    assert abs(fair.safe - 0.25) <= 0.02
    assert abs(fair.indirect - 0.25) <= 0.02
    assert abs(fair.proxy) <= 0.03
    assert abs(run.of("parity")[-1].spd) <= 0.02
    pairs = zip(run.of("direct_effect"), run.of("parity"), strict=True)
    assert all(fair.accuracy > parity.accuracy for fair, parity in pairs)


def test_gradient_descent_stops_above_the_minimum_and_near_it(experiment):
    for descent in experiment.descents:
        assert -1e-9 < descent.excess < 0.05
        assert descent.coefficient_error < 0.1


def test_a_longer_descent_comes_closer():
    data = make_synthetic(5_000, random_state=3)
    parity = Parity().fit(rows_of(data.X, data.y, data.z))
    short, long = (
        descend("parity", parity, 0.9, data, schedule=Schedule(max_steps=steps, patience=steps))
        for steps in (100, 1_000)
    )
    assert long.coefficient_error < short.coefficient_error
    assert long.excess < 1e-4


def test_a_descent_step_follows_the_gradient():
    data = make_synthetic(300, random_state=0)
    y, z = data.y * 1.0, data.z * 1.0
    objective = objective_of(Parity().objective(rows_of(None, y, z)).penalty, y, 0.5)
    model = GradientDescent(data.X, objective, data.X, objective, np.zeros(17), 1e-4)
    before = model.losses().whole(0.5)
    model.step(0.5)
    step = model.weights / -1e-4
    fallen = before - model.losses().whole(0.5)
    assert fallen == pytest.approx(1e-4 * float(step @ step), rel=1e-3)


def test_a_few_strengths_are_spread_over_many():
    assert spread([0.9]) == (0.9,)
    assert spread([0.1, 0.2]) == (0.1, 0.2)
    assert len(spread(STRENGTHS)) == 4


def test_the_criteria_are_the_papers():
    direct = CRITERIA["direct_effect"]
    assert (direct.outcome_degree, direct.effect_degree, direct.norm) == (1, 0, "coefficient")


def test_the_figure_has_four_panels_and_is_the_same_each_time(experiment):
    figure = plot_synthetic(experiment)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "Accuracy on fresh rows",
        "Statistical parity difference",
        "Mean coefficients, direct effect",
        "Mean coefficients, parity",
    ]
    assert to_bytes(figure, "svg") == to_bytes(plot_synthetic(experiment), "svg")


def test_every_line_lies_inside_its_panel(experiment):
    figure = plot_synthetic(experiment)
    for axis in figure.axes:
        low, high = axis.get_ylim()
        for line in axis.get_lines():
            assert low <= min(line.get_ydata())
            assert max(line.get_ydata()) <= high
    to_bytes(figure, "png")


def test_the_story_ends_with_the_direct_effect_removed():
    story = tell_story(n_samples=20_000, random_state=1)
    blind, parity, fair, target = story.chapters
    assert blind.direct_effect_left > 0.1
    assert parity.direct_effect_left < -0.1
    assert abs(fair.direct_effect_left) < 0.02
    assert fair.distance_to_fair < 0.03 < blind.distance_to_fair
    assert abs(target.direct_effect_left) < 0.01
    assert target.distance_to_fair < 0.02
    assert to_bytes(plot_story(story), "svg").startswith(b"<?xml")
